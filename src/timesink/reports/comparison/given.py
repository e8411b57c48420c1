"""What `timesink.compare` was given: sources, processes and options that fit each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from timesink.errors import UnreadableError, UsageError
from timesink.model.trace import Trace
from timesink.reports.comparison.runs import Finding, Run
from timesink.reports.comparison.sides import Case, Side, find_side, side_of_trace

WHAT_COMPARES = "give two recordings, folders or behaviour tables, or a folder with both sides"
"""What to give instead of what cannot be compared."""


def check_given(given: Sequence[Path | Trace]) -> None:
    """Refuse what is not there before anything is read."""
    if not given:
        raise UsageError("nothing to compare", WHAT_COMPARES)
    for one in given:
        if isinstance(one, Path) and not one.exists():
            raise UnreadableError.missing(one)


def path_of(given: Path | Trace) -> Path:
    """Where a source is, or was read from."""
    return given if isinstance(given, Path) else Path(given.metadata.source)


def side_of(given: Path | Trace, rank: int | None) -> Side:
    """What a source has to compare."""
    return find_side(given, rank) if isinstance(given, Path) else side_of_trace(given)


def is_for_exploring(given: Sequence[object], cases: Sequence[list[Case]]) -> bool:
    """Whether what was given is neither two sides nor cases."""
    return len(given) != 2 and not all(cases)


def all_cases(given: Sequence[Path | Trace], cases: Sequence[list[Case]]) -> list[Case]:
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


def check_recordings(runs: Sequence[Run], finding: Finding) -> None:
    """Refuse to look for cycles where all of them are given."""
    if all(run.trace is None for run in runs):
        option = "--by" if finding.marker is None else "--marker"
        raise UsageError(
            f"{runs[0].source.path}: a behaviour table has the cycles it has, {option} finds none",
            f"leave out {option}, or give the recordings the tables were made from",
        )
