"""The timeline of a trace behind the trace view: what is visible, what it is, where else it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from timesink.answers.plugin.query import Query
from timesink.answers.timeline.details import aggregate, details
from timesink.answers.timeline.opening import Timeline
from timesink.answers.timeline.pictures import counters, flows, search, slices, tracks

# Which function answers which question about a timeline.

TimelineAnswer: TypeAlias = Callable[[Timeline, Query], Any]

ROUTES: Mapping[str, TimelineAnswer] = {
    "tracks": tracks,
    "slices": slices,
    "counters": counters,
    "slice": details,
    "flows": flows,
    "aggregate": aggregate,
    "search": search,
}
"""Values JSON can hold, but `bytes` for slices and an `Aggregate` for the table of a range."""
