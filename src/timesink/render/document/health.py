"""Trace health as a block."""

from __future__ import annotations

from collections.abc import Iterable

from timesink.model.health import HealthEntry, Severity
from timesink.output.blocks import Health, HealthItem, Section, Text


def health_section(entries: Iterable[HealthEntry]) -> Section:
    """What was repaired, lost or looks wrong; a sentence where nothing is.

    >>> health_section([]).blocks[0].text
    'Nothing odd was found in the recording.'
    """
    items = tuple(map(_item, entries))
    shown = Health(items) if items else Text("Nothing odd was found in the recording.", "good")
    return Section("health", "Health of the recording", (shown,))


def grave_entries(entries: Iterable[HealthEntry]) -> list[str]:
    """What makes the figures those of a part of the recording: errors, by their titles.

    >>> grave_entries([])
    []
    """
    return [entry.rule.title for entry in entries if entry.rule.severity is Severity.ERROR]


def _item(entry: HealthEntry) -> HealthItem:
    rule = entry.rule
    return HealthItem(
        code=entry.code,
        severity=rule.severity.value,
        count=entry.count,
        title=rule.title,
        told="; ".join(entry.example.splitlines()),
        consequence=rule.consequence,
        advice=rule.advice,
    )
