"""Several runs of either side: which of them have a timeline, and how long their cycles are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from glob import has_magic, iglob
from pathlib import Path
from statistics import median

import numpy as np

from timesink.analyses.comparison import cycle_lengths, signals_of
from timesink.analyses.statistics.drift import warm_up
from timesink.analyses.statistics.repeats import TimedRun, timed_runs
from timesink.answers.comparison.kept_runs import Runs, read_sides
from timesink.answers.comparison.report import members_of
from timesink.answers.comparison.sides import RunSide, find_side
from timesink.errors import UnreadableError, UsageError
from timesink.model.diagnosis import PLAIN, RECORDED, SIDES
from timesink.model.units import counted
from timesink.sources import place_of
from timesink.sources.ab_folder import read_ab
from timesink.sources.sidecars import recorded_at

_UNDER_PROFILER = (
    "Not every run has plain cycles: cycle time is that under the profiler, on both sides."
)
ONE_PROCESS = "compare runs of one process a side, or one run a side"


@dataclass(frozen=True, slots=True, eq=False)
class RepeatedSide:
    """Runs of one side."""

    runs: tuple[RunSide, ...]
    leading: RunSide | None = None
    """The one that is compared in full; None where any may be."""
    timed: tuple[TimedRun, ...] = ()
    """Cycles of all of them, where these are known: those of a baseline."""


@dataclass(frozen=True, slots=True, eq=False)
class RepeatedRuns:
    """Runs of both sides."""

    base: RepeatedSide
    new: RepeatedSide
    detect_pct: float | None = None
    """What they were made for, until they decided; None of others."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class TimedSide:
    """How long the cycles of all runs of a side are, and the run that is compared in full."""

    timed: tuple[TimedRun, ...]
    leading: RunSide
    notes: tuple[str, ...] = ()


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


def distinct(paths: Iterable[Path]) -> list[Path]:
    """Each run once: given twice it is no second measurement."""
    return list({path.resolve(): path for path in paths}.values())


def runs_of_ab(folder: Path) -> RepeatedRuns:
    """The runs of a folder of `timesink ab`, and what to know of them."""
    ab = read_ab(folder)
    lines = ab.timelines()
    wanted = [*(run.folder for run in ab.counted), *lines.values()]
    found: dict[str, RunSide] = {}
    for one in wanted:
        with suppress(UnreadableError):
            found[one] = find_side(folder / one)
    lost = [one for one in wanted if one not in found]
    base, new = (
        RepeatedSide(
            tuple(
                found[run.folder] for run in ab.counted if run.side == side and run.folder in found
            ),
            found.get(lines.get(side, "")),
        )
        for side in SIDES
    )
    if not (base.runs and new.runs):
        hint = f"go on with  timesink ab --resume {folder}"
        raise UsageError(f"{folder}: holds no run of both sides", hint)
    failed = [run.folder for run in ab.runs if run.failed]
    notes = [] if ab.complete else [f"{folder} is not complete: {ab.why_partial}"]
    notes += [f"runs that failed are left out: {', '.join(failed)}"] if failed else []
    notes += [f"runs that are gone, or damaged, are left out: {', '.join(lost)}"] if lost else []
    return RepeatedRuns(base, new, ab.detect_pct, tuple(notes))


def timed_sides(given: RepeatedRuns, runs: Runs) -> tuple[TimedSide, TimedSide, tuple[str, ...]]:
    """Cycles of every run: plain ones where all have them, else those that were recorded."""
    every = [_timed(one) for one in (given.base, given.new)]
    is_plain = all(one is not None and one.by == PLAIN for side in every for one in side)
    base, new = (timed_side(one, runs, is_plain=is_plain) for one in (given.base, given.new))
    names = ["/".join(side.leading.path.parts[-2:]) for side in (base, new)]
    said = (
        f"{counted(len(base.timed), 'runs')} of base and {len(new.timed)} of new: cycle time is "
        f"that of all of them, everything else is of {names[0]} and {names[1]}."
    )
    notes = dict.fromkeys((*given.notes, *base.notes, *new.notes, said))
    return base, new, tuple(notes)


def device_times(given: RepeatedRuns, runs: Runs) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Device time per cycle of every run with a timeline, where either side has several of them."""
    lines = [
        [one for one in side.runs if not any(source.is_plain for source in one.sources)]
        for side in (given.base, given.new)
    ]
    if min(map(len, lines)) < 2:
        return (), ()
    found = []
    for side in lines:
        read = [read_sides(runs, [one.sources])[0][0] for one in side]
        roles = [member.role for one in read for member in members_of(one)]
        known = [signals_of(role).device_ns for role in roles]
        found.append(tuple(one for one in known if one))
    return (found[0], found[1]) if min(map(len, found)) > 1 else ((), ())


def timed_side(side: RepeatedSide, runs: Runs, *, is_plain: bool | None = None) -> TimedSide:
    """The same of one side."""
    timed, notes = _timed(side), tuple[str, ...]()
    if is_plain is None:
        is_plain = all(one is not None for one in timed)
    if not is_plain and any(one.by == PLAIN for one in side.timed):
        raise UsageError(
            f"{side.runs[0].path}: has plain cycles, and a run of the other side has none",
            "record that one with --plain 20, or compare recordings on both sides",
        )
    if not is_plain and not side.timed:
        timed = [_recorded(one, runs) for one in side.runs]
        notes = (_UNDER_PROFILER,)
    known = tuple(one for one in timed if one is not None)
    return TimedSide(known, side.leading or _leading(side.runs, known), notes)


def _timed(side: RepeatedSide) -> list[TimedRun | None]:
    return list(side.timed) or [_plain(one) for one in side.runs]


def _plain(side: RunSide) -> TimedRun | None:
    """The plain cycles of a run; None where its recorder timed none."""
    place = place_of(side.path)
    if not isinstance(place, Path) or not place.exists():
        return None
    return next(iter(timed_runs(recorded_at(place), str(side.path))), None)


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
