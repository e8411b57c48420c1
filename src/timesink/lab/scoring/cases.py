"""Recordings with a known fault, each with the run it is compared with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from timesink.analyses.comparison.pair import Pair
from timesink.errors import UnreadableError
from timesink.lab.driving.lab_folder import FAULT, TRACE
from timesink.lab.faults.fault import NORMAL
from timesink.lab.scoring.expected import Expected, expected_of
from timesink.lab.scoring.score import BETWEEN_RUNS
from timesink.reports.comparison import compare


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
