"""Which function answers which question about a timeline."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from timesink.reports.plugin.query import Query
from timesink.reports.timeline.aggregating import aggregate
from timesink.reports.timeline.details import details
from timesink.reports.timeline.opening import Timeline
from timesink.reports.timeline.pictures import counters, flows, slices, tracks
from timesink.reports.timeline.searching import search

Answer: TypeAlias = Callable[[Timeline, Query], Any]

ROUTES: Mapping[str, Answer] = {
    "tracks": tracks,
    "slices": slices,
    "counters": counters,
    "slice": details,
    "flows": flows,
    "aggregate": aggregate,
    "search": search,
}
"""Values JSON can hold, but `bytes` for slices and an `Aggregate` for the table of a range."""
