"""Several runs of either side: which of them have a timeline, and how long their cycles are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import has_magic, iglob
from pathlib import Path
from statistics import median

import numpy as np

from timesink.analyses.comparison.pair import cycle_lengths
from timesink.analyses.statistics.drift import warm_up
from timesink.analyses.statistics.repeats import SIDES, TimedRun, timed_runs
from timesink.answers.comparison.kept_runs import Runs, read_sides
from timesink.answers.comparison.naming import members_of
from timesink.answers.comparison.sides import RunSide, find_side
from timesink.errors import UsageError
from timesink.model.diagnosis import RECORDED
from timesink.model.units import counted
from timesink.sources.ab_folder import read_ab
from timesink.sources.places import place_of
from timesink.sources.sidecars import find_run, run_file_in

ONE_PROCESS = "compare runs of one process a side, or one run a side"


@dataclass(frozen=True, slots=True, eq=False)
class RepeatedRuns:
    """Runs of both sides."""

    sides: tuple[tuple[RunSide, ...], tuple[RunSide, ...]]
    """Of the base, and of the new side."""
    leading: tuple[RunSide | None, RunSide | None] = (None, None)
    """Which of either is compared in full; None where any may be."""
    detect_pct: float | None = None
    """What they were made for, until they decided; None of others."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class TimedSides:
    """How long the cycles of all runs are, and the run of each side that is compared in full."""

    timed: tuple[tuple[TimedRun, ...], tuple[TimedRun, ...]]
    leading: tuple[RunSide, RunSide]
    notes: tuple[str, ...]


def expanded(paths: Sequence[str | Path]) -> Iterator[Path]:
    """Paths of several runs; a pattern stands for all that it fits."""
    for given in paths:
        text = str(given)
        if not has_magic(text) or Path(text).exists():
            yield Path(text)
            continue
        found = sorted(Path(one) for one in iglob(text))  # noqa: PTH207 - it may be absolute
        if not found:
            raise UsageError(f"{text}: nothing fits this pattern", "check it with ls")
        yield from found


def runs_of_ab(folder: Path) -> RepeatedRuns:
    """The runs of a folder of `timesink ab`, and what to know of them."""
    ab = read_ab(folder)
    counted_runs = [
        tuple(find_side(folder / run.folder) for run in ab.counted if run.side == side)
        for side in SIDES
    ]
    if not all(counted_runs):
        hint = f"go on with  timesink ab --resume {folder}"
        raise UsageError(f"{folder}: holds no run of both sides", hint)
    lines = ab.timelines()
    base, new = (find_side(folder / lines[side]) if side in lines else None for side in SIDES)
    failed = [run.folder for run in ab.runs if run.failed]
    notes = [] if ab.complete else [f"{folder} is not complete: {ab.why_partial}"]
    notes += [f"runs that failed are left out: {', '.join(failed)}"] if failed else []
    return RepeatedRuns(
        (counted_runs[0], counted_runs[1]), (base, new), ab.detect_pct, tuple(notes)
    )


def timed_sides(given: RepeatedRuns, runs: Runs) -> TimedSides:
    """Cycles of every run: plain ones where all have them, else those that were recorded."""
    timed = [[_plain(one) for one in side] for side in given.sides]
    notes: list[str] = []
    if not all(one is not None for side in timed for one in side):
        timed = [[_recorded(one, runs) for one in side] for side in given.sides]
        notes.append(
            "Not every run has plain cycles: cycle time is that under the profiler, on both sides."
        )
    known = [tuple(one for one in side if one is not None) for side in timed]
    leading = [
        chosen or _leading(side, own)
        for chosen, side, own in zip(given.leading, given.sides, known, strict=True)
    ]
    names = ["/".join(side.path.parts[-2:]) for side in leading]
    notes.append(
        f"{counted(len(known[0]), 'runs')} of base and {len(known[1])} of new: cycle time is "
        f"that of all of them, everything else is of {names[0]} and {names[1]}."
    )
    return TimedSides((known[0], known[1]), (leading[0], leading[1]), (*given.notes, *notes))


def _plain(side: RunSide) -> TimedRun | None:
    """The plain cycles of a run; None where its recorder timed none."""
    place = place_of(side.path)
    if not isinstance(place, Path) or not place.exists():
        return None
    found = run_file_in(place) if place.is_dir() else find_run(place)
    timed = timed_runs(None if found is None else found.run, str(side.path))
    return timed[0] if timed else None


def _recorded(side: RunSide, runs: Runs) -> TimedRun:
    """The recorded cycles of a run, without warm-up."""
    ((read,), _, _) = read_sides(runs, [side.sources])
    members = members_of(read)
    if len(members) != 1:
        raise UsageError(
            f"{side.path}: holds {counted(len(members), 'processes')}, and each run is to be one",
            ONE_PROCESS,
        )
    role = members[0].role
    lengths = cycle_lengths(role.behaviour).to_numpy().astype(np.float64)
    start_us = role.behaviour["cycle_ts_ns"].min()
    recorded = read[0].recorded
    started_us = recorded.started_us if recorded is not None else None
    when_us = started_us or (int(start_us) // 1000 if isinstance(start_us, int) else 0)
    return TimedRun("", lengths[warm_up(lengths) :], when_us, None, str(side.path), RECORDED)


def _leading(sides: Sequence[RunSide], timed: Sequence[TimedRun]) -> RunSide:
    """The run with a timeline whose cycles are nearest to the middle of its side."""
    middle = median(one.typical_ns for one in timed)
    far = {
        place: abs(one.typical_ns - middle)
        for place, (side, one) in enumerate(zip(sides, timed, strict=True))
        if not any(source.is_plain for source in side.sources)
    }
    return sides[min(far, key=lambda place: far[place])] if far else sides[0]
