"""Trace health: what was repaired, lost or looks wrong, as values a report can show.

A reader never drops anything silently.  It counts it under one of the codes of `health.csv` beside
this file; the code carries the consequence for the numbers and what the user can do about it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path


class Severity(str, Enum):
    """How much a finding weakens the numbers."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Rule:
    """What a health code means."""

    code: str
    severity: Severity
    title: str
    consequence: str
    advice: str


@dataclass(frozen=True, slots=True)
class HealthEntry:
    """One finding about one trace: a rule, how often it was met, and an example."""

    code: str
    count: int
    example: str = ""

    @property
    def rule(self) -> Rule:
        return RULES[self.code]

    @property
    def is_told(self) -> bool:
        """Whether the example says what this one is about, in words of its own."""
        return self.code in _TOLD and bool(self.example)

    def to_dict(self) -> dict[str, str | int]:
        rule = self.rule
        return {
            "code": self.code,
            "severity": rule.severity.value,
            "count": self.count,
            "title": rule.title,
            "example": self.example,
            "consequence": rule.consequence,
            "advice": rule.advice,
        }


def merge_entries(entries: Iterable[HealthEntry]) -> tuple[HealthEntry, ...]:
    """Add up entries with the same code, keep the first example, order by severity then code."""
    merged: dict[str, HealthEntry] = {}
    for entry in entries:
        known = merged.get(entry.code, HealthEntry(entry.code, 0))
        example = known.example or entry.example
        merged[entry.code] = HealthEntry(entry.code, known.count + entry.count, example)
    order = list(Severity)
    return tuple(
        sorted(
            (entry for entry in merged.values() if entry.count),
            key=lambda entry: (-order.index(entry.rule.severity), entry.code),
        )
    )


def _rules() -> dict[str, Rule]:
    with Path(__file__).with_name("health.csv").open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(line for line in file if not line.startswith("#"))
    return {code: Rule(code, Severity(severity), *words) for code, severity, *words in rows}


_TOLD = frozenset(
    {
        "lost_recording",
        "partial_recording",
        "heavy_profiling",
        "counter_clock_offset",
        "profiler_overhead",
        "missing_counters",
        "counters_only",
    }
)
"""Codes whose example is no example but the case itself."""

RULES = _rules()
"""What every code means: `health.csv` beside this file."""
