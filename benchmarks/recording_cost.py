"""What recording a call costs the host, fitted to cycles that nobody recorded, and how well it fits.

    python benchmarks/recording_cost.py FOLDER [--judge OTHER]

FOLDER holds recordings of `timesink record`, or of `clock_corpus.py`, as PROGRAM[-options]: each
with its plain cycles in run.json.  The costs of `analyses/replay/recording_costs.csv` are fitted
to all of them; then, for every program, to all the others, and its plain cycles are told from its
profiled ones alone.  `--judge` tells those of another folder from the table as it stands.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import timesink
from run import hand_over, machine, markdown_table
from timesink.analyses.replay import own_clock as clocks
from timesink.analyses.steps import find_steps
from timesink.model.trace import Trace

Floats = NDArray[np.float64]
Key = tuple[str, str]
"""Sort of call, and the option of the profiler that makes it cost more."""
START: dict[Key, float] = {
    ("operator", ""): 4000,
    ("annotation", ""): 6000,
    ("runtime", ""): 2000,
    ("python", ""): 500,
    ("module", ""): 500,
    ("module", "where"): 15000,
    ("kernel", ""): 700,
    ("operator", "shapes"): 500,
    ("operator", "stack"): 500,
    ("operator", "memory"): 500,
}
"""Costs in ns where the fit begins."""
STEP_NS, ROUNDS, PULL = 300.0, 8, 0.02
ROBUST = 0.08
"""Errors beyond this count less and less: a machine shared with others has them."""


@dataclass(eq=False)
class Recorded:
    """One recording, with what it took without the profiler."""

    name: str
    trace: Trace
    program: clocks._Program
    plain_us: float
    recorded_us: float

    @property
    def group(self) -> str:
        return self.name.partition("-")[0]

    def own_us(self, costs: dict[Key, float]) -> float:
        """What a cycle takes by itself, with these costs."""
        cost = clocks.costs_of(self.trace, self.program.graph, costs)
        played = self.program.with_costs(*cost).played(clocks._Dose(1.0))
        return min(self.program.cycle_ns(played) / 1000, self.recorded_us)


def opened(folder: Path) -> list[Recorded]:
    """Every recording of a folder with enough plain cycles."""
    found = []
    for place in sorted(path.parent for path in folder.rglob("run.json")):
        try:
            trace = timesink.open(place)
        except timesink.TimesinkError:
            continue  # several ranks, or cut off
        run, steps = trace.metadata.run, find_steps(trace).filter("complete")
        if run is None or not run.overhead.cycle_us or not steps.height:
            continue
        recorded = float(np.median((steps["end_ns"] - steps["start_ns"]).to_numpy())) / 1000
        program = clocks._Program.of(trace, steps)
        name = str(place.relative_to(folder))
        found.append(Recorded(name, trace, program, run.overhead.cycle_us, recorded))
    return found


def fitted(some: Sequence[Recorded], begin: dict[Key, float]) -> dict[Key, float]:
    """Costs under which plain cycles come out best: Gauss-Newton with weights, never below 0."""
    costs = dict(begin)
    for _ in range(ROUNDS):
        own = np.array([one.own_us(costs) for one in some])
        error = np.log(own / np.array([one.plain_us for one in some]))
        slopes = np.empty((len(some), len(costs)))
        for place, key in enumerate(costs):
            more = {**costs, key: costs[key] + STEP_NS}
            slopes[:, place] = np.log(np.array([one.own_us(more) for one in some]) / own)
        weight = 1 / np.maximum(np.abs(error), ROBUST)
        left = slopes.T @ (weight[:, None] * slopes) + PULL * np.diag(
            [(STEP_NS / 1000) ** 2] * len(costs)
        )
        move = -np.linalg.solve(left, slopes.T @ (weight * error)) * STEP_NS
        for place, key in enumerate(costs):
            costs[key] = max(0.0, costs[key] + 0.7 * float(move[place]))
    return costs


def row(one: Recorded, own_us: float, why: str) -> list[str]:
    told = "cannot tell" if why else f"{own_us / 1000:.2f} ms"
    error = "" if why else f"{100 * (own_us / one.plain_us - 1):+.1f} %"
    return [
        one.name,
        f"{one.recorded_us / 1000:.2f} ms",
        f"{one.plain_us / 1000:.2f} ms",
        told,
        error,
    ]


def judged(rows: list[tuple[Recorded, float, str]]) -> str:
    errors = np.array([abs(own / one.plain_us - 1) for one, own, why in rows if not why])
    header = ["program", "recorded", "plain", "told from recorded", "error"]
    table = markdown_table(machine(timesink.sample()), header, [row(*each) for each in rows])
    refused = sum(bool(why) for *_, why in rows)
    said = f"{len(errors)} told: median error {100 * np.median(errors):.1f} %, "
    return f"{table}\n{said}worst {100 * errors.max():.1f} %; {refused} refused.\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--judge", action="store_true", help="tell, with the table as it stands")
    parser.add_argument("-o", "--output", type=Path, help="append the table to this file")
    options = parser.parse_args()
    found = opened(options.folder)
    if options.judge:
        told = [
            (one, one.own_us(dict(clocks._table()["kineto"])), clocks._why_not(one.program))
            for one in found
        ]
        hand_over(judged(told), options.output)
        return
    usable = [one for one in found if not clocks._why_not(one.program)]
    costs = fitted(usable, START)
    print({key: round(cost) for key, cost in costs.items()})
    told = []
    for one in found:
        others = [other for other in usable if other.group != one.group]
        own = one.own_us(fitted(others, costs)) if one in usable else 0.0
        told.append((one, own, clocks._why_not(one.program)))
    hand_over(judged(told), options.output)


if __name__ == "__main__":
    main()
