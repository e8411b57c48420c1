"""Recordings with a known fault, each with the run it is compared with."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from timesink.analyses.comparison.pair import Pair
from timesink.answers.comparison import compare
from timesink.errors import NoCyclesError, NotFoundError, TimesinkError, UnreadableError
from timesink.lab.faults import FAULTS, NORMAL
from timesink.lab.order import FAULT, TRACE, read_about
from timesink.lab.score import (
    BETWEEN_RUNS,
    SILENT,
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

    @property
    def says_nothing(self) -> bool:
        """Whether it has a fault of which nobody says what it should be called."""
        return self.expected.is_nothing and not self.fault.startswith(NORMAL)

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
    about = read_fault(found)
    name, beside = found.parent.name, found.parent.parent
    folders = [beside / str(each) for each in (about.get("baseline") or NORMAL, name)]
    # The trace of one process, or the folder of several.
    base, new = (each / TRACE if (each / TRACE).is_file() else each for each in folders)
    if base == new:
        return
    expected = expected_of(about, known)
    whole = FoundCase(name, name, str(about.get("fault") or NORMAL), base, new, expected)
    yield from _both_orders(whole) if expected.is_nothing else (whole,)


def read_fault(path: Path) -> dict[str, Any]:
    """What a `fault.json` says."""
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UnreadableError(f"{path}: cannot be read ({error})", "record it again") from None
    if not isinstance(about, dict):
        raise UnreadableError(f"{path}: does not describe a fault", "record it again")
    return about


def _both_orders(one: FoundCase) -> Iterator[FoundCase]:
    back = {"regression": "improvement", "improvement": "regression"}
    verdict = one.expected.verdict
    turned = Expected(verdict=back.get(str(verdict), verdict))
    names = _run_name(one.base), _run_name(one.new)
    yield replace(one, name=BETWEEN_RUNS.join(names))
    yield replace(
        one, name=BETWEEN_RUNS.join(reversed(names)), base=one.new, new=one.base, expected=turned
    )


def _run_name(recording: Path) -> str:
    return recording.parent.name if recording.name == TRACE else recording.name


# Diagnosing every recording of a lab.

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


# What was run and where, as a page says it.


def facts_of(score: LabScore) -> Iterator[tuple[str, str]]:
    """What was run and where, in words; empty where nobody said so."""
    made, about = score.made, score.about
    yield (
        "device",
        "; ".join(made.devices) or str(about.get("gpu") or "none: the programs ran on the CPU"),
    )
    yield "host", "; ".join(made.host)
    yield "versions", "; ".join(made.versions)
    yield "workloads", ", ".join(dict.fromkeys(one.workload for one in score.cases))
    faults = dict.fromkeys(one.fault for one in score.faults)
    yield "faults", f"{len(faults)}: {', '.join(faults)}" if faults else ""
    each = f", {_span(repeats(score))} of each fault in each workload" if faults else ""
    partial = f", {made.partial} of them partial" if made.partial else ""
    yield "recordings", f"{made.recordings}{each}{partial}" if made.recordings else ""
    yield "cycles", f"{_span(made.cycles)} in each recording" if made.cycles else ""
    every = " and ".join(f"{one:g}" for one in made.interval_ms)
    yield "counters", f"every {every} ms" if every else ""
    pct = made.profiler_pct
    yield "cost of the profiler", "" if pct is None else f"cycles {pct:+.1f} % (median)"
    yield "when", " to ".join(dict.fromkeys((*made.days[:1], *made.days[-1:])))


def _span(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low}" if low == high else f"{low} to {high}"


def repeats(score: LabScore) -> list[int]:
    """How often each fault was recorded in each workload that had it."""
    made = [(one.workload, one.fault) for one in score.faults]
    return [made.count(one) for one in dict.fromkeys(made)]
