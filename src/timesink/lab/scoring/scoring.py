"""Diagnosing every recording of a lab."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from timesink.errors import NotFoundError, TimesinkError, UnreadableError
from timesink.lab.driving.places import FAULT, read_about
from timesink.lab.faults.registry import FAULTS
from timesink.lab.scoring.cases import FoundCase, find_cases
from timesink.lab.scoring.expected import Expected
from timesink.lab.scoring.said import said_of, told
from timesink.lab.scoring.score import Score, ScoredCase

Progress = Callable[[int, int], None]
_KNOWN = {fault.name: Expected(**fault.expected) for fault in FAULTS}
"""What is expected of faults of the lab that were recorded elsewhere."""
_WHICH = "name the folder that `timesink lab run -o` wrote"


def score(folder: Path, *, cache: bool = True, progress: Progress | None = None) -> Score:
    """Compare every recording with the one without a fault before it, and judge what is said.

    The folder is what `timesink lab run` wrote, or holds recordings with a `fault.json` each.
    `progress` is called with how many pairs were compared, and how many there are.
    """
    if not folder.is_dir():
        raise NotFoundError(
            f"{folder}: {'is no folder' if folder.exists() else 'no such folder'}", _WHICH
        )
    every = list(_found(folder))
    cases: list[ScoredCase] = []
    left_out: list[str] = []
    for number, (workload, found) in enumerate(every, 1):
        try:
            cases.append(_scored(workload, found, cache=cache))
        except TimesinkError as error:
            left_out.append(f"{workload}/{found.recording}: {error.message}")
        if progress is not None:
            progress(number, len(every))
    left_out = list(dict.fromkeys(left_out))
    if not cases:
        raise NotFoundError(
            f"{folder}: no recording with a {FAULT} can be compared"
            + (f" ({left_out[0]})" if left_out else ""),
            _WHICH,
        )
    return Score(str(folder), read_about(folder), tuple(cases), tuple(left_out))


def _found(folder: Path) -> Iterator[tuple[str, FoundCase]]:
    """Cases of the folder itself, and of the folders of workloads in it."""
    for place in (folder, *sorted(one for one in folder.iterdir() if one.is_dir())):
        for found in find_cases(place, _KNOWN):
            yield place.resolve().name, found


def _scored(workload: str, found: FoundCase, *, cache: bool) -> ScoredCase:
    if found.says_nothing:
        raise UnreadableError(f"its {FAULT} names neither an anomaly nor a cause to expect")
    said = said_of(told(found.read(cache=cache).pairs))
    return ScoredCase(workload, found.name, found.fault, found.expected, said)
