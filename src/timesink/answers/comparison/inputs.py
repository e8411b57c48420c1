"""What `timesink.compare` was given: sources, processes and options that fit each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from timesink.answers.comparison.kept_runs import Runs
from timesink.answers.comparison.runs import CycleSearch, SideRun, by_units_of, with_common_unit
from timesink.answers.comparison.sides import (
    LEFT_OUT,
    CaseFolder,
    RunSide,
    SideSource,
    find_side,
    of_rank,
    side_of_trace,
)
from timesink.errors import UnreadableError, UsageError
from timesink.model.trace import Trace
from timesink.sources.places import place_of, shown

if TYPE_CHECKING:
    from timesink.answers.comparison.baseline_content import Baseline


Given: TypeAlias = "Path | Trace | Baseline"

WHAT_COMPARES = "give two recordings, folders or behaviour tables, or a folder with both sides"
"""What to give instead of what cannot be compared."""


def finding_for(given: Sequence[Given], asked: CycleSearch) -> CycleSearch:
    """How cycles are looked for: as asked, which baselines must fit, else as baselines were."""
    kept = [one for one in given if not isinstance(one, Path | Trace)]
    ways = [one.finding_for(asked) for one in kept]
    _check_units(kept)
    if len(kept) == len(given):
        return CycleSearch()
    return next((way for way in ways if way.says_unit), asked)


def _check_units(kept: Sequence[Baseline]) -> None:
    """Refuse baselines of other cycles than the first: nothing can be looked for in them again."""
    for other in kept[1:]:
        pairs = product(kept[0].runs, other.runs)
        if not all(one.unit.is_that_of(another.unit) for one, another in pairs):
            sides = [f"{one.side.path} ({one.units_said})" for one in (kept[0], other)]
            raise UsageError(
                f"{' and '.join(sides)}: these baselines were saved with other cycles",
                "save one of them again, with the --marker or --by of the other",
            )


def known_runs(given: Sequence[Given]) -> dict[object, SideRun]:
    """What baselines say, which is not read again."""
    kept = [one for one in given if not isinstance(one, Path | Trace)]
    return {run.source.key: run for one in kept for run in one.runs}


def check_given(given: Sequence[Given]) -> None:
    """Refuse what is not there before anything is read."""
    if not given:
        raise UsageError("nothing to compare", WHAT_COMPARES)
    for one in given:
        # A pattern and a URL are looked for when they are read.
        if isinstance(one, Path) and place_of(one) == one and not one.exists():
            raise UnreadableError.missing(one)


def path_of(given: Given) -> Path:
    """Where a source is, or was read from."""
    if isinstance(given, Path):
        return given
    return Path(given.metadata.source) if isinstance(given, Trace) else given.side.path


def source_of(given: Given) -> str:
    """Where it lies, as it may be shown: a URL without its password."""
    return shown(place_of(path_of(given)))


def side_of(given: Given, rank: int | None) -> RunSide:
    """What a source has to compare."""
    if isinstance(given, Path):
        return find_side(given, rank)
    return side_of_trace(given) if isinstance(given, Trace) else of_rank(given.side, rank)


def is_for_exploring(given: Sequence[object], cases: Sequence[list[CaseFolder]]) -> bool:
    """Whether what was given is neither two sides nor cases."""
    return len(given) != 2 and not all(cases)


def all_cases(given: Sequence[Given], cases: Sequence[list[CaseFolder]]) -> list[CaseFolder]:
    """The cases of all paths, each once; refused where a path holds none."""
    for one, found in zip(given, cases, strict=True):
        if not found:
            raise UsageError(
                f"{path_of(one)}: no case, but the other path holds a normal and an abnormal run",
                "give two runs, or only cases; --explore takes everything together",
            )
    return list({case.folder.resolve(): case for found in cases for case in found}.values())


def one_pid(pid: str | int | None, side: int) -> str | None:
    """The process of one side: `1,2` names one of each."""
    if pid is None:
        return None
    names = [name.strip() for name in str(pid).split(",")]
    if len(names) > 2 or not all(names):
        raise UsageError(f"--pid {pid}: not one process, nor two", "write --pid 12 or --pid 12,34")
    return names[side % len(names)]


def check_recordings(runs: Sequence[SideRun], finding: CycleSearch) -> None:
    """Refuse to look for cycles where all of them are given."""
    if all(run.trace is None for run in runs):
        option = "--by" if finding.marker is None else "--marker"
        raise UsageError(
            f"{runs[0].source.path}: a behaviour table has the cycles it has, {option} finds none",
            f"leave out {option}, or give the recordings the tables were made from",
        )


# Sides read: every run of each, with cycles of one unit, and what was left out.


@dataclass(frozen=True, slots=True, eq=False)
class ReadSides:
    """The runs of each side, with cycles of one unit."""

    sides: list[list[SideRun]]
    notes: tuple[str, ...]
    """What was left out, and which cycles were taken."""
    left_out: tuple[str, ...]
    """Why files could not be read; notes name them as well."""


def read_sides(
    runs: Runs, finding: CycleSearch, sides: Sequence[Sequence[SideSource]]
) -> ReadSides:
    """The runs of each side, with cycles of one unit, and what was left out."""
    runs.of([source for side in sides for source in side])  # all of them at once
    read = [runs.of(side) for side in sides]
    everything = [run for found, _ in read for run in found]
    given: list[list[SideRun]] = []
    lost: list[str] = []
    for found, failures in read:
        tried = [(one, by_units_of(one, everything, finding)) for one in failures]
        given.append([*found, *(run for _, run in tried if run is not None)])
        lost += [one.error.message for one, run in tried if run is None]
        if not given[-1]:
            raise failures[0].error
    common, noted = _with_common_unit(given, finding)
    notes = (*(f"{LEFT_OUT}{one}" for one in lost), *noted)
    return ReadSides(common, notes, tuple(lost))


def _with_common_unit(
    sides: Sequence[list[SideRun]], finding: CycleSearch
) -> tuple[list[list[SideRun]], list[str]]:
    runs = [run for side in sides for run in side]
    if finding.says_unit:
        check_recordings(runs, finding)
        return list(sides), []
    common, notes = with_common_unit(runs, finding)
    each = iter(common)
    return [list(islice(each, len(side))) for side in sides], notes
