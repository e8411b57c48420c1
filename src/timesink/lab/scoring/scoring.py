"""Diagnosing every recording of a lab."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from timesink.errors import NoCyclesError, NotFoundError, TimesinkError, UnreadableError
from timesink.lab.driving.lab_folder import FAULT, read_about
from timesink.lab.faults.catalogue import FAULTS
from timesink.lab.scoring.answer import SILENT, answer_of, told
from timesink.lab.scoring.cases import FoundCase, cases_of, fault_files
from timesink.lab.scoring.expected import Expected
from timesink.lab.scoring.made import made_how
from timesink.lab.scoring.score import LabScore, ScoredCase

Progress = Callable[[int, int], None]
_Read = TypeVar("_Read")
_KNOWN = {fault.name: Expected(**fault.expected) for fault in FAULTS}
"""What is expected of faults of the lab that were recorded elsewhere."""
_WHICH = "name the folder that `timesink lab run -o` wrote"


def score(folder: Path, *, cache: bool = True, progress: Progress | None = None) -> LabScore:
    """Compare every recording with the one without a fault before it, and judge what is said.

    The folder is what `timesink lab run` wrote, or holds recordings with a `fault.json` each.
    `progress` is called with how many pairs were compared, and how many there are.
    """
    if not folder.is_dir():
        raise NotFoundError(
            f"{folder}: {'is no folder' if folder.exists() else 'no such folder'}", _WHICH
        )
    cases: list[ScoredCase] = []
    left_out: list[str] = []
    # The folder itself, and the folders of workloads in it.
    places = [folder, *sorted(one for one in folder.iterdir() if one.is_dir())]
    files = [(place, found) for place in places for found in fault_files(place)]
    every = [
        (place.resolve().name, case)
        for place, found in files
        for case in _if_readable(partial(_cases, found), left_out) or []
    ]
    about = _if_readable(lambda: read_about(folder), left_out) or {}
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
    made = made_how({found.parent for _, found in files})
    return LabScore(str(folder), about, tuple(cases), tuple(left_out), made)


def _cases(found: Path) -> list[FoundCase]:
    return list(cases_of(found, _KNOWN))


def _if_readable(read: Callable[[], _Read], left_out: list[str]) -> _Read | None:
    """What cannot be read is named, and the others are gone on with."""
    try:
        return read()
    except UnreadableError as error:
        left_out.append(error.message)
        return None


def _scored(workload: str, found: FoundCase, *, cache: bool) -> ScoredCase:
    if found.says_nothing:
        raise UnreadableError(f"its {FAULT} names neither an anomaly nor a cause to expect")
    try:
        said = answer_of(told(found.pairs(cache=cache)))
    except NoCyclesError:
        said = SILENT
    return ScoredCase(workload, found.name, found.fault, found.expected, said)
