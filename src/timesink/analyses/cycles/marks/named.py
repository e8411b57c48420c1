"""Cycles as a mark gives them that was asked for by name."""

from __future__ import annotations

import fnmatch

import polars as pl

from timesink.analyses.cycles.marks.events import (
    device_events,
    host_annotations,
    host_events,
    outermost,
)
from timesink.analyses.cycles.marks.families import Family, one_family
from timesink.analyses.cycles.marks.mark_to_mark import mark_note, mark_to_mark, spanned
from timesink.analyses.cycles.python.anchor import anchored
from timesink.analyses.cycles.python.calls import python_calls
from timesink.analyses.cycles.reading import Reading, family_name
from timesink.analyses.cycles.types import type_of_name
from timesink.model import units
from timesink.model.trace import Trace

SPARSE = 0.1
"""A mark that lasts for less of the time only marks a place in its cycle."""


def named_mark(trace: Trace, marker: str) -> Reading | None:
    """Cycles as the named mark gives them; None where the recording has no such event.

    A name fits as it is, without its numbers, or with `*` and `?`.  Annotations are asked first,
    then Python calls and every other host event, then annotations and kernels of the device.
    """
    fitting = _fitting(host_annotations(trace), marker)
    if fitting.is_empty():
        names = python_calls(trace).names
        called = anchored(trace, frozenset(_names_that_fit(list(names), marker)))
        if called is not None:
            return called
        fitting = _fitting(host_events(trace), marker)
    if not fitting.is_empty():
        return _as_asked(trace, one_family(marker, outermost(fitting)), on_device=False)
    fitting = _fitting(device_events(trace), marker)
    if fitting.is_empty():
        return None
    return _as_asked(trace, one_family(marker, outermost(fitting)), on_device=True)


def _fitting(events: pl.DataFrame, marker: str) -> pl.DataFrame:
    chosen = _names_that_fit(events["name"].unique().to_list(), marker)
    return events.filter(pl.col("name").is_in(chosen))


def _names_that_fit(names: list[str], marker: str) -> list[str]:
    """The closest that fit: as written, without numbers, as a pattern, as the end of a name."""
    bare = family_name(marker).rstrip("#_ .:")
    for fits in (
        lambda name: name == marker,
        lambda name: family_name(name).rstrip("#_ .:") == bare,
        lambda name: fnmatch.fnmatchcase(name, marker),
        lambda name: name.endswith((f": {marker}", f".{marker}")),
    ):
        chosen = [name for name in names if fits(name)]
        if chosen:
            return chosen
    return []


def _as_asked(trace: Trace, family: Family, *, on_device: bool) -> Reading:
    reason = (
        f"asked for by name; {family.name!r} was recorded {units.counted(family.count, 'times')}"
    )
    if family.coverage >= SPARSE or family.count == 1:
        types = [type_of_name(name) for name in family.events["name"].to_list()]
        spans = spanned(family.events, types)
        return Reading("marker", family.name, spans, 1.0, reason, (), on_device)
    spans = mark_to_mark(trace, family, on_device=on_device)
    return Reading("marker", family.name, spans, 1.0, reason, (mark_note(family.name),), on_device)
