# ruff: noqa: SLF001 - what is fitted is nobody else's matter
"""What recording a call costs the host, fitted to unprofiled steps, and how well that tells others.

    python benchmarks/recording_cost.py FOLDER...             fit, then leave every program out once
    python benchmarks/recording_cost.py FOLDER... --judge     tell with the table as it stands

Folders hold recordings of `clock_corpus.py`: each with its unprofiled steps in run.json, and in
plain.json how fast the machine was in each cycle, plain or profiled, as a short loop tells it: of a
shared machine cycles count at the speed that it had in the profiled ones, and recordings in which
there are too few do not.  The costs of `analyses/replay/recording_costs.csv` are fitted to all of
them; then, for every program, to those of all others, and its unprofiled steps are told from its
profiled ones alone.  Of a program that was recorded several times the middle counts.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl
from msgspec.structs import replace
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
        return clocks._estimate_clock(self.program, 1000 * self.recorded_us).why

    def own_us(self, costs: dict[Key, float]) -> float:
        """What a cycle takes by itself, with these costs."""
        cost, pause = clocks.costs_of(self.trace, self.program.graph, costs)
        played = replace(self.program, cost=cost, pause=pause).played(clocks._Dose(1.0))
        return min(self.program.cycle_ns(played) / 1000, self.recorded_us)


SPEED_TOLERANCE, FEWEST, UNEVEN = 0.13, 6, 1.35
"""Cycles at one speed differ by so much (as a logarithm); how many there must be; and how far apart
the middle half of the profiled ones may be."""


def plain_us(place: Path, plain: Sequence[float], busy: float) -> float | None:
    """A unprofiled step at the speed the machine had in the profiled ones; None where none was.

    Where the host runs ahead of a device that is busy for longer than that, blocks of cycles tell
    that end with a wait for the device.
    """
    timings = json.loads((place / "plain.json").read_text())
    if np.median(plain[-20:]) < busy:
        return float(min(timings["blocks_us"]))
    probes, profiled = (
        np.array(timings.get(f"{sort}_probes_us", ())) for sort in ("plain", "profiled")
    )
    many = min(len(plain), len(probes))
    if many < FEWEST or not len(profiled):
        return None
    low, middle, high = np.quantile(profiled, (0.25, 0.5, 0.75))
    is_same_speed = np.abs(np.log(probes[-many:] / middle)) < SPEED_TOLERANCE
    is_same_speed[:3] = False  # not settled yet
    if is_same_speed.sum() < FEWEST or high > UNEVEN * low:
        return None
    return float(np.median(np.array(plain)[-many:][is_same_speed]))


def busy_us(trace: Trace) -> float:
    """How long any device worked."""
    return sum(intervals.coverage(event_ranges(part)) for part in _devices(trace)) / 1000


def _devices(trace: Trace) -> list[pl.DataFrame]:
    rows = device_columns(trace).filter(pl.col("kind").is_in(BUSY_KINDS))
    return rows.partition_by("device")


def open_recordings(folders: Sequence[Path]) -> list[Recorded]:
    """Every recording of some folders that can be judged."""
    recordings = []
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
            recordings.append(Recorded(name, trace, program, plain, recorded))
    return recordings


def fit_costs(
    some: Sequence[Recorded], begin: dict[Key, float], rounds: int = ROUNDS
) -> dict[Key, float]:
    """Costs under which plain cycles come out best: Gauss-Newton with weights, never below 0."""
    costs = dict(begin)
    for _ in range(rounds):
        cycles_us = np.array([recording.own_us(costs) for recording in some])
        error = np.log(cycles_us / np.array([recording.plain_us for recording in some]))
        slopes = np.empty((len(some), len(costs)))
        for place, key in enumerate(costs):
            more = {**costs, key: costs[key] + STEP_NS}
            slopes[:, place] = np.log(
                np.array([recording.own_us(more) for recording in some]) / cycles_us
            )
        weight = 1 / np.maximum(np.abs(error), ROBUST)
        left = slopes.T @ (weight[:, None] * slopes) + PULL * np.diag(
            [(STEP_NS / 1000) ** 2] * len(costs)
        )
        move = -np.linalg.solve(left, slopes.T @ (weight * error)) * STEP_NS
        for place, key in enumerate(costs):
            costs[key] = max(0.0, costs[key] + 0.7 * float(move[place]))
    return costs


def accuracy_table(estimates: Sequence[tuple[Recorded, float]]) -> str:
    """A table of programs, each by the middle of its recordings."""
    rows, errors, refused = [], [], 0
    for name in dict.fromkeys(
        recording.name.partition("/")[0].rstrip("0123456789.") for recording, _ in estimates
    ):
        mine = [
            estimate
            for estimate in estimates
            if estimate[0].name.partition("/")[0].rstrip("0123456789.") == name
        ]
        plain, recorded = (
            float(np.median([getattr(recording, key) for recording, _ in mine]))
            for key in ("plain_us", "recorded_us")
        )
        cells = [name, str(len(mine)), f"{recorded / 1000:.2f} ms", f"{plain / 1000:.2f} ms"]
        if any(recording.why_not for recording, _ in mine):
            refused += 1
            rows.append([*cells, "cannot tell", ""])
            continue
        ratio = float(np.median([cycle_us / recording.plain_us for recording, cycle_us in mine]))
        errors.append(abs(ratio - 1))
        rows.append([*cells, f"{ratio * plain / 1000:.2f} ms", f"{100 * (ratio - 1):+.1f} %"])
    header = ["program", "recordings", "recorded", "plain", "told from recorded", "error"]
    table = markdown_table(machine(timesink.sample()), header, rows)
    summary = f"{len(errors)} told: median error {100 * np.median(errors):.1f} %, "
    return f"{table}\n{summary}worst {100 * max(errors):.1f} %; {refused} refused.\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--judge", action="store_true", help="tell, with the table as it stands")
    parser.add_argument("-o", "--output", type=Path, help="append the table to this file")
    options = parser.parse_args()
    recordings = open_recordings(options.folders)
    usable = [recording for recording in recordings if not recording.why_not]
    costs = dict(clocks._table()["kineto"]) if options.judge else fit_costs(usable, START)
    without = dict.fromkeys((recording.family for recording in recordings), costs)
    for family in () if options.judge else without:
        other_recordings = [recording for recording in usable if recording.family != family]
        without[family] = fit_costs(other_recordings, costs, rounds=2)
    estimates = [
        (recording, recording.own_us(without[recording.family])) for recording in recordings
    ]
    print({" ".join(key).strip(): round(cost) for key, cost in costs.items()})
    hand_over(accuracy_table(estimates), options.output)


if __name__ == "__main__":
    main()
