# ruff: noqa: SLF001 - what is fitted is nobody else's matter
"""What recording a call costs the host, fitted to plain cycles, and how well that tells others.

    python benchmarks/recording_cost.py FOLDER...             fit, then leave every program out once
    python benchmarks/recording_cost.py FOLDER... --judge     tell with the table as it stands

Folders hold recordings of `clock_corpus.py`: each with its plain cycles in run.json, and in
plain.json how fast the machine was in each cycle, plain or profiled, as a short loop tells it: of a
shared machine cycles count at the speed that it had in the profiled ones, and recordings in which
there are too few do not.  The costs of `analyses/replay/recording_costs.csv` are fitted to all of
them; then, for every program, to those of all others, and its plain cycles are told from its
profiled ones alone.  Of a program that was recorded several times the middle counts.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

import timesink
from run import hand_over, machine, markdown_table
from timesink.analyses.columns import device_columns, event_ranges
from timesink.analyses.replay import own_clock as clocks
from timesink.analyses.steps import find_steps
from timesink.model import intervals
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Trace

Floats = NDArray[np.float64]
Key = tuple[str, str]
"""Sort of call, and the option of the profiler that makes it cost more."""
START: dict[Key, float] = {
    ("operator", ""): 4000,
    ("annotation", ""): 6000,
    ("runtime", ""): 2000,
    ("python", ""): 500,
    ("triton", ""): 15000,
    ("module", ""): 500,
    ("module", "where"): 15000,
    ("kernel", ""): 700,
    ("operator", "shapes"): 500,
    ("operator", "stack"): 500,
    ("operator", "memory"): 500,
}
"""Costs in ns where the fit begins."""
STEP_NS, ROUNDS, PULL = 300.0, 6, 0.02
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
    def family(self) -> str:
        """Programs of one model, whatever is different in them."""
        return self.name.partition("/")[0].partition("-")[0].partition("_")[0]

    @cached_property
    def why_not(self) -> str:
        return clocks._estimated(self.program, 1000 * self.recorded_us).why

    def own_us(self, costs: dict[Key, float]) -> float:
        """What a cycle takes by itself, with these costs."""
        cost, pause = clocks.costs_of(self.trace, self.program.graph, costs)
        played = replace(self.program, cost=cost, pause=pause).played(clocks._Dose(1.0))
        return min(self.program.cycle_ns(played) / 1000, self.recorded_us)


ALIKE, FEWEST, UNEVEN = 0.13, 6, 1.35
"""Cycles at one speed differ by so much (as a logarithm); how many there must be; and how far apart
the middle half of the profiled ones may be."""


def plain_us(place: Path, plain: Sequence[float], busy: float) -> float | None:
    """A plain cycle at the speed the machine had in the profiled ones; None where none was.

    Where the host runs ahead of a device that is busy for longer than that, blocks of cycles tell
    that end with a wait for the device.
    """
    told = json.loads((place / "plain.json").read_text())
    if np.median(plain[-20:]) < busy:
        return float(min(told["blocks_us"]))
    probes, profiled = (
        np.array(told.get(f"{sort}_probes_us", ())) for sort in ("plain", "profiled")
    )
    many = min(len(plain), len(probes))
    if many < FEWEST or not len(profiled):
        return None
    low, middle, high = np.quantile(profiled, (0.25, 0.5, 0.75))
    alike = np.abs(np.log(probes[-many:] / middle)) < ALIKE
    alike[:3] = False  # not settled yet
    if alike.sum() < FEWEST or high > UNEVEN * low:
        return None
    return float(np.median(np.array(plain)[-many:][alike]))


def busy_us(trace: Trace) -> float:
    """How long any device worked."""
    return sum(intervals.coverage(event_ranges(part)) for part in _devices(trace)) / 1000


def _devices(trace: Trace) -> list[pl.DataFrame]:
    rows = device_columns(trace).filter(pl.col("kind").is_in(BUSY_KINDS))
    return rows.partition_by("device")


def opened(folders: Sequence[Path]) -> list[Recorded]:
    """Every recording of some folders that can be judged."""
    found = []
    for folder in folders:
        for place in sorted(path.parent for path in folder.rglob("plain.json")):
            try:
                trace = timesink.open(place)
            except timesink.TimesinkError:
                continue  # several ranks, or cut off
            run, steps = trace.metadata.run, find_steps(trace).filter("complete")
            plain = None
            if run is not None and steps.height:
                busy = busy_us(trace) / steps.height
                plain = plain_us(place, run.overhead.plain_cycles_us, busy)
            if plain is None:
                print(f"{place.name}: the machine was not steady")
                continue
            recorded = float(np.median((steps["end_ns"] - steps["start_ns"]).to_numpy())) / 1000
            program = clocks._Program.of(trace, steps)
            name = str(place.relative_to(folder))
            found.append(Recorded(name, trace, program, plain, recorded))
    return found


def fitted(
    some: Sequence[Recorded], begin: dict[Key, float], rounds: int = ROUNDS
) -> dict[Key, float]:
    """Costs under which plain cycles come out best: Gauss-Newton with weights, never below 0."""
    costs = dict(begin)
    for _ in range(rounds):
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


def judged(told: Sequence[tuple[Recorded, float]]) -> str:
    """A table of programs, each by the middle of its recordings."""
    rows, errors, refused = [], [], 0
    for name in dict.fromkeys(one.name.partition("/")[0].rstrip("0123456789.") for one, _ in told):
        mine = [
            each for each in told if each[0].name.partition("/")[0].rstrip("0123456789.") == name
        ]
        plain, recorded = (
            float(np.median([getattr(one, key) for one, _ in mine]))
            for key in ("plain_us", "recorded_us")
        )
        cells = [name, str(len(mine)), f"{recorded / 1000:.2f} ms", f"{plain / 1000:.2f} ms"]
        if any(one.why_not for one, _ in mine):
            refused += 1
            rows.append([*cells, "cannot tell", ""])
            continue
        ratio = float(np.median([own / one.plain_us for one, own in mine]))
        errors.append(abs(ratio - 1))
        rows.append([*cells, f"{ratio * plain / 1000:.2f} ms", f"{100 * (ratio - 1):+.1f} %"])
    header = ["program", "recordings", "recorded", "plain", "told from recorded", "error"]
    table = markdown_table(machine(timesink.sample()), header, rows)
    said = f"{len(errors)} told: median error {100 * np.median(errors):.1f} %, "
    return f"{table}\n{said}worst {100 * max(errors):.1f} %; {refused} refused.\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--judge", action="store_true", help="tell, with the table as it stands")
    parser.add_argument("-o", "--output", type=Path, help="append the table to this file")
    options = parser.parse_args()
    found = opened(options.folders)
    usable = [one for one in found if not one.why_not]
    costs = dict(clocks._table()["kineto"]) if options.judge else fitted(usable, START)
    without = dict.fromkeys((one.family for one in found), costs)
    for family in () if options.judge else without:
        others = [one for one in usable if one.family != family]
        without[family] = fitted(others, costs, rounds=2)
    told = [(one, one.own_us(without[one.family])) for one in found]
    print({" ".join(key).strip(): round(cost) for key, cost in costs.items()})
    hand_over(judged(told), options.output)


if __name__ == "__main__":
    main()
