"""Trace health: what was repaired, lost or looks wrong, as values a report can show.

A reader never drops anything silently.  It counts it under one of the codes of `health.csv` beside
this file; the code carries the consequence for the numbers and what the user can do about it.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from pathlib import Path

import msgspec

from timesink.model.data_files import csv_rows
from timesink.model.units import count_noun

MAX_TIMES_FULL = 10
"""A device that seems to hold more than this many times its memory was recorded wrongly."""


class Severity(str, Enum):
    """How much a finding weakens the numbers."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Rule(msgspec.Struct, frozen=True):
    """What a health code means: a row of `health.csv`."""

    code: str
    severity: Severity
    title: str
    consequence: str
    advice: str
    note: str = ""
    said_of_tables: str = ""
    note_of_tables: str = ""


class HealthEntry(msgspec.Struct, frozen=True):
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
        return bool(self.rule.note_of_tables and self.example)


def behaviour_notes(health: Iterable[HealthEntry], *, of_table: bool = False) -> list[str]:
    """What weakens the numbers of behaviour, in sentences: what was lost on the way to it.

    In a trace values and text concern single events, and do not touch its behaviour; in a behaviour
    table they do.
    """
    notes = []
    for entry in health:
        note = (of_table and entry.rule.said_of_tables) or entry.rule.note
        if note or entry.rule.severity is Severity.ERROR:
            notes.append(_sentence(entry, note or "{title}{times}: {consequence}"))
    return notes


def recording_notes(health: Iterable[HealthEntry]) -> list[str]:
    """How a recording fell short, by its recorder's own words."""
    return [_sentence(entry, entry.rule.note) for entry in health if entry.code in _OF_RECORDERS]


def _sentence(entry: HealthEntry, form: str) -> str:
    file, _, row = entry.example.partition(": ")
    count, single = entry.count, entry.count == 1
    return form.format(
        **{things: count_noun(count, things) for things in ("rows", "values", "lines")},
        times=f" ({count} times)" if count > 1 else "",
        name="names" if single else "name",
        hold="holds" if single else "hold",
        file=file,
        row=row,
        example=entry.example,
        title=entry.rule.title,
        consequence=entry.rule.consequence,
    )


def merge_entries(entries: Iterable[HealthEntry]) -> tuple[HealthEntry, ...]:
    """Add up entries with the same code, keep the first example, order by severity then code."""
    merged: dict[str, HealthEntry] = {}
    for entry in entries:
        previous = merged.get(entry.code, HealthEntry(entry.code, 0))
        example = previous.example or entry.example
        merged[entry.code] = HealthEntry(entry.code, previous.count + entry.count, example)
    order = list(Severity)
    return tuple(
        sorted(
            (entry for entry in merged.values() if entry.count),
            key=lambda entry: (-order.index(entry.rule.severity), entry.code),
        )
    )


def _rules() -> dict[str, Rule]:
    rows = map(dict.values, csv_rows(Path(__file__).with_name("health.csv")))
    return {code: Rule(code, Severity(severity), *words) for code, severity, *words in rows}


_OF_RECORDERS = ("lost_recording", "partial_recording", "heavy_profiling")

RULES = _rules()
"""What every code means: `health.csv` beside this file."""
