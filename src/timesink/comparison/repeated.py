"""Several runs of either side: which of them have a timeline, and how long their cycles are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from glob import has_magic, iglob
from pathlib import Path
from statistics import median

import msgspec
import numpy as np

from timesink.analyses.statistics.change_points import warm_up
from timesink.comparison.inputs import RunInput, find_side
from timesink.comparison.reading import RunReader, processes_of, read_sides
from timesink.comparison.repeated_runs import TimedRun, timed_runs
from timesink.comparison.results import cycle_lengths
from timesink.comparison.signals import signals_of
from timesink.errors import UnreadableError, UsageError
from timesink.model.diagnosis import PLAIN, RECORDED, SIDES
from timesink.model.units import count_noun
from timesink.sources.ab_folder import read_ab
from timesink.sources.places import place_of
from timesink.sources.sidecars import recorded_at

_UNDER_PROFILER = (
    "Not every run has unprofiled steps: step times are as recorded, for base and new."
)
ONE_PROCESS = "compare runs of one process each, or one run each"


class RepeatedSide(msgspec.Struct, frozen=True, eq=False):
    """Runs of one side."""

    runs: tuple[RunInput, ...]
    leading: RunInput | None = None
    """The one that is compared in full; None where any may be."""
    timed: tuple[TimedRun, ...] = ()
    """Cycles of all of them, where these are known: those of a baseline."""


class RepeatedRuns(msgspec.Struct, frozen=True, eq=False):
    """Runs of both sides."""

    base: RepeatedSide
    new: RepeatedSide
    detect_pct: float | None = None
    """What they were made for, until they decided; None of others."""
    notes: tuple[str, ...] = ()


class TimedSide(msgspec.Struct, frozen=True, eq=False):
    """How long the cycles of all runs of a side are, and the run that is compared in full."""

    timed: tuple[TimedRun, ...]
    leading: RunInput
    notes: tuple[str, ...] = ()


def expand_paths(paths: Sequence[str | Path]) -> Iterator[Path]:
    """Paths of several runs; a pattern stands for all that it fits."""
    for path in paths:
        text = str(path)
        if not has_magic(text) or Path(text).exists():
            yield Path(text)
            continue
        matches = sorted(Path(name) for name in iglob(text))  # noqa: PTH207 - it may be absolute
        if not matches:
            raise UsageError(f"{text}: nothing matches this pattern", "check it with ls")
        yield from matches


def distinct(paths: Iterable[Path]) -> list[Path]:
    """Each run once: given twice it is no second measurement."""
    return list({path.resolve(): path for path in paths}.values())


def runs_of_ab(folder: Path) -> RepeatedRuns:
    """The runs of a folder of `timesink ab`, and what to know of them."""
    ab = read_ab(folder)
    lines = ab.timelines()
    wanted = [*(run.folder for run in ab.counted), *lines.values()]
    sides: dict[str, RunInput] = {}
    for name in wanted:
        with suppress(UnreadableError):
            sides[name] = find_side(folder / name)
    lost = [name for name in wanted if name not in sides]
    base, new = (
        RepeatedSide(
            tuple(
                sides[run.folder] for run in ab.counted if run.side == side and run.folder in sides
            ),
            sides.get(lines.get(side, "")),
        )
        for side in SIDES
    )
    if not (base.runs and new.runs):
        hint = f"continue with  timesink ab --resume {folder}"
        raise UsageError(f"{folder}: has no runs of both base and new", hint)
    failed = [run.folder for run in ab.runs if run.failed]
    notes = [] if ab.complete else [f"{folder} is not complete: {ab.why_partial}"]
    notes += [f"failed runs are left out: {', '.join(failed)}"] if failed else []
    notes += [f"missing or damaged runs are left out: {', '.join(lost)}"] if lost else []
    return RepeatedRuns(base, new, ab.detect_pct, tuple(notes))


def timed_sides(
    repeated_runs: RepeatedRuns, runs: RunReader
) -> tuple[TimedSide, TimedSide, tuple[str, ...]]:
    """Cycles of every run: plain ones where all have them, else those that were recorded."""
    every = [_timed_runs(side) for side in (repeated_runs.base, repeated_runs.new)]
    is_plain = all(
        timed_run is not None and timed_run.by == PLAIN for side in every for timed_run in side
    )
    base, new = (
        timed_side(side, runs, is_plain=is_plain)
        for side in (repeated_runs.base, repeated_runs.new)
    )
    names = ["/".join(side.leading.path.parts[-2:]) for side in (base, new)]
    note = (
        f"{count_noun(len(base.timed), 'runs')} of base and {len(new.timed)} of new: step time is "
        f"measured on all of them, everything else on {names[0]} and {names[1]}."
    )
    notes = dict.fromkeys((*repeated_runs.notes, *base.notes, *new.notes, note))
    return base, new, tuple(notes)


def device_times(
    repeated_runs: RepeatedRuns, runs: RunReader
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Device time per cycle of every run with a timeline, where either side has several of them."""
    lines = [
        [
            run_side
            for run_side in side.runs
            if not any(source.is_plain for source in run_side.sources)
        ]
        for side in (repeated_runs.base, repeated_runs.new)
    ]
    if min(map(len, lines)) < 2:
        return (), ()
    times = []
    for side in lines:
        read = [read_sides(runs, [run_side.sources])[0][0] for run_side in side]
        roles = [process for side_run in read for process in processes_of(side_run)]
        device_ns = [signals_of(role).device_ns for role in roles]
        times.append(tuple(time_ns for time_ns in device_ns if time_ns))
    return (times[0], times[1]) if min(map(len, times)) > 1 else ((), ())


def timed_side(side: RepeatedSide, runs: RunReader, *, is_plain: bool | None = None) -> TimedSide:
    """The same of one side."""
    timed, notes = _timed_runs(side), tuple[str, ...]()
    if is_plain is None:
        is_plain = all(run is not None for run in timed)
    if not is_plain and any(run.by == PLAIN for run in side.timed):
        raise UsageError(
            f"{side.runs[0].path}: has unprofiled steps, and a run of the other side has none",
            "record that one with --plain 20, or compare recordings for both",
        )
    if not is_plain and not side.timed:
        timed = [_recorded_run(run_side, runs) for run_side in side.runs]
        notes = (_UNDER_PROFILER,)
    complete_runs = tuple(run for run in timed if run is not None)
    return TimedSide(complete_runs, side.leading or _leading_run(side.runs, complete_runs), notes)


def _timed_runs(side: RepeatedSide) -> list[TimedRun | None]:
    return list(side.timed) or [_plain(run_side) for run_side in side.runs]


def _plain(side: RunInput) -> TimedRun | None:
    """The unprofiled steps of a run; None where its recorder timed none."""
    place = place_of(side.path)
    if not isinstance(place, Path) or not place.exists():
        return None
    return next(iter(timed_runs(recorded_at(place), str(side.path))), None)


def _recorded_run(side: RunInput, runs: RunReader) -> TimedRun:
    """The recorded cycles of a run, without warm-up."""
    ((read,), _, _) = read_sides(runs, [side.sources])
    processes = processes_of(read)
    if len(processes) != 1:
        raise UsageError(
            f"{side.path}: contains {count_noun(len(processes), 'processes')}; each run must be "
            "one process",
            ONE_PROCESS,
        )
    role = processes[0]
    lengths = cycle_lengths(role.behaviour).to_numpy().astype(np.float64)
    start_us = role.behaviour["cycle_ts_ns"].min()
    recorded = read[0].recorded
    started_us = recorded.started_us if recorded is not None else None
    when_us = started_us or (int(start_us) // 1000 if isinstance(start_us, int) else 0)
    return TimedRun("", lengths[warm_up(lengths) :], when_us, None, str(side.path), RECORDED)


def _leading_run(sides: Sequence[RunInput], timed: Sequence[TimedRun]) -> RunInput:
    """The run with a timeline whose cycles are nearest to the middle of its side."""
    middle = median(run.typical_ns for run in timed)
    far = {
        place: abs(run.typical_ns - middle)
        for place, (side, run) in enumerate(zip(sides, timed, strict=True))
        if not any(source.is_plain for source in side.sources)
    }
    return sides[min(far, key=lambda place: far[place])] if far else sides[0]
