"""Gates of diagnoses made by hand."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from compared import diagnosed, named, two_runs
from timesink.answers.comparison.gate_result import GateAnswer
from timesink.answers.comparison.report import ComparisonAnswer
from timesink.comparison.results import Pair
from timesink.model.diagnosis import CycleTime, Diagnosis
from timesink.model.findings import GateCheck

MS = 1e6


def comparison_of(diagnoses: Mapping[str, Diagnosis], **parts: Any) -> ComparisonAnswer:
    """A comparison of cases, by what they are called, each with the diagnosis given."""
    pairs = []
    for title, diagnosis in diagnoses.items():
        pairs.append(diagnosed(named(_any_pair(), title), diagnosis))
    return ComparisonAnswer(("base", "new"), tuple(pairs), (), **parts)


@cache
def _any_pair() -> Pair:
    return two_runs(cycles=4)


def lengths(change_pct: float, half_pct: float = 2.0) -> CycleTime:
    """Cycles of 100 ms that became longer by some percent, known to half the interval."""
    bounds = (change_pct - half_pct, change_pct + half_pct)
    return CycleTime(100 * MS, (100 + change_pct) * MS, change_pct, bounds, 0.01)


def gate_check(
    kind: str, name: str, outcome: str, sentence: str, time_ns: float = 0.0, **parts: Any
) -> GateCheck:
    """One thing that was looked at; `time_ns` is what was measured in the new run."""
    return GateCheck(kind, sentence, name, outcome, time_ns=time_ns or None, **parts)


def failed_gate(**parts: Any) -> GateAnswer:
    """Cycles became longer, and nothing says why."""
    check = gate_check(
        "cycle time", "cycle time", "failed", "Cycles take longer.", time_ns=1.5 * MS
    )
    usual: dict[str, Any] = {
        "subject": "base vs new",
        "options": "--fail-on 5%",
        "checks": (check,),
        "command": ("timesink", "compare", "base", "new", "--fail-on", "5%"),
    }
    return GateAnswer(**{**usual, **parts})
