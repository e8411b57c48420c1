"""Recordings with a known fault, each compared with a run without it, and judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from timesink.analyses.comparison.pair import Pair
from timesink.answers.comparison.work import compare
from timesink.errors import NoCyclesError, NotFoundError, TimesinkError, UnreadableError
from timesink.lab.faults import FAULTS, NORMAL
from timesink.lab.order import FAULT, TRACE, read_about, read_json
from timesink.lab.score import (
    BETWEEN_RUNS,
    SILENT,
    DiagnosisAnswer,
    Expected,
    LabScore,
    ScoredCase,
    answer_of,
    expected_of,
    made_how,
    told,
)


@dataclass(frozen=True)
class FoundCase:
    """One fault, beside a run without it, before anything is read."""

    name: str
    recording: str
    """Whose fault it is."""
    fault: str
    base: Path
    new: Path
    expected: Expected

    def pairs(self, *, cache: bool = True) -> tuple[Pair, ...]:
        """Every process of the run with the fault beside that of the other."""
        return tuple(one.pair for one in compare(self.base, self.new, cache=cache).pairs)


def fault_files(folder: Path) -> list[Path]:
    """What says of each recording in a folder what was wrong with it."""
    return sorted(folder.glob(f"*/{FAULT}"))


def cases_of(found: Path, known: Mapping[str, Expected]) -> Iterator[FoundCase]:
    """The recording that a `fault.json` describes, beside the one without a fault.

    `fault.json` names the `fault`, and may name the `baseline` (a folder beside it; `normal`
    otherwise) and what is expected: `anomaly`, `cause`, `verdict`.  Runs whose fault is unknown
    here and that expect nothing are runs without a fault: they are compared in both orders.
    """
    about = read_json(found, "record it again")
    if not isinstance(about, dict):
        raise UnreadableError(f"{found}: does not describe a fault", "record it again")
    name, beside = found.parent.name, found.parent.parent
    folders = [beside / str(each) for each in (about.get("baseline") or NORMAL, name)]
    # The trace of one process, or the folder of several.
    base, new = (each / TRACE if (each / TRACE).is_file() else each for each in folders)
    if base == new:
        return
    expected = expected_of(about, known)
    one = FoundCase(name, name, str(about.get("fault") or NORMAL), base, new, expected)
    if not expected.is_nothing:
        yield one
        return
    names = [each.parent.name if each.name == TRACE else each.name for each in (base, new)]
    yield replace(one, name=BETWEEN_RUNS.join(names))
    back = {"regression": "improvement", "improvement": "regression"}
    turned = Expected(verdict=back.get(str(expected.verdict), expected.verdict))
    names.reverse()
    yield replace(one, name=BETWEEN_RUNS.join(names), base=new, new=base, expected=turned)


Progress = Callable[[int, int], None]
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
    every: list[tuple[str, FoundCase]] = []
    about: dict[str, Any] = {}
    # What cannot be read is named, and the others are gone on with.
    for place, found in files:
        try:
            every += [(place.resolve().name, case) for case in cases_of(found, _KNOWN)]
        except UnreadableError as error:  # noqa: PERF203
            left_out.append(error.message)
    try:
        about = read_about(folder)
    except UnreadableError as error:
        left_out.append(error.message)
    for number, (workload, one) in enumerate(every, 1):
        try:
            said = _answer(one, cache=cache)
            cases.append(ScoredCase(workload, one.name, one.fault, one.expected, said))
        except TimesinkError as error:
            left_out.append(f"{workload}/{one.recording}: {error.message}")
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


def _answer(found: FoundCase, *, cache: bool) -> DiagnosisAnswer:
    if found.expected.is_nothing and not found.fault.startswith(NORMAL):
        raise UnreadableError(f"its {FAULT} names neither an anomaly nor a cause to expect")
    try:
        return answer_of(told(found.pairs(cache=cache)))
    except NoCyclesError:
        return SILENT
