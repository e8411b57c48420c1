"""Slices found by a part of their name."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesink.reports.plugin.query import Query
from timesink.reports.timeline.asked import asked_range
from timesink.reports.timeline.opening import Timeline
from timesink.reports.timeline.places import places_of

MOST_HITS = 1000
MOST_NAMES = 200


def search(timeline: Timeline, query: Query) -> dict[str, Any]:
    """Slices whose name holds a text, whatever its case; hits are those that start in the range."""
    lanes = timeline.layout.lanes
    wanted = query.text("q").strip().lower()
    matches = np.array([wanted in name.lower() for name in lanes.names] or [False])
    if not wanted or not matches.any():
        return {"total": 0, "names": [], "hits": []}
    labels = np.flatnonzero(matches)
    return {
        "total": int(timeline.whole.calls[labels].sum()),
        "names": _names(timeline, labels.tolist()),
        "hits": places_of(timeline, _first_hits(timeline, query, matches)),
    }


def _names(timeline: Timeline, labels: list[int]) -> list[dict[str, Any]]:
    """The names that match, those that take most time first; kinds of one name are one."""
    layout = timeline.whole
    found: dict[str, dict[str, Any]] = {}
    for label in labels:
        name = layout.lanes.names[label]
        entry = found.setdefault(name, {"name": name, "count": 0, "total_ns": 0})
        entry["count"] += int(layout.calls[label])
        entry["total_ns"] += int(layout.total_ns[label])
    return sorted(found.values(), key=lambda entry: -entry["total_ns"])[:MOST_NAMES]


def _first_hits(timeline: Timeline, query: Query, matches: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Ids of the slices that match and start in the range, the earliest."""
    slices = timeline.layout.lanes.slices
    first, last = asked_range(query, timeline)
    places = np.flatnonzero(matches[slices.label])
    start = slices.start[places]
    if "from" in query.params or "to" in query.params:
        inside = np.flatnonzero((start >= first) & (start <= last))
        places, start = places[inside], start[inside]
    if len(places) > MOST_HITS:
        earliest = np.argpartition(start, MOST_HITS - 1)[:MOST_HITS]
        places, start = places[earliest], start[earliest]
    return slices.id[places[np.argsort(start, kind="stable")]]
