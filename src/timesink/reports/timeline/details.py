"""Everything known about one slice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from timesink.analyses.timeline.lanes import Lanes
from timesink.analyses.timeline.tracks import HOST
from timesink.analyses.timeline.windows import stretches
from timesink.reports.plugin.query import Query
from timesink.reports.timeline.asked import asked_slice
from timesink.reports.timeline.facts import facts_of
from timesink.reports.timeline.opening import Timeline
from timesink.reports.timeline.places import Place, place_of, places_of

_MOST_FLOWS = 100
_PAGES = {"operator": "operators", "module": "modules"}
_KERNELS = ("kernel", "collective", "memcpy", "memset")


def details(timeline: Timeline, query: Query) -> dict[str, Any]:
    """A slice with its arguments, what is around it, and where its arrows lead."""
    number = asked_slice(query, timeline)
    lanes = timeline.layout.lanes
    own = place_of(timeline, number)
    kind = kind_of(lanes, number)
    is_host = number < timeline.layout.host_rows
    around = _around(timeline, own)
    flows: list[dict[str, Any]] = [
        {"kind": what, "direction": direction, "place": place_of(timeline, other)}
        for what, direction, other in timeline.whole.arrows.at(number)
    ]
    callers = around
    if not is_host:
        # What was going on where the work was launched, the outermost first.
        launches = [one["place"] for one in flows if one["direction"] == "from"]
        callers = _around(timeline, launches[0]) if launches else []
    return {
        **own,
        "self_ns": _self_ns(lanes, own) if is_host else own["dur_ns"],
        "kind": kind,
        "facts": [*_about(timeline, own, kind, callers), *facts_of(timeline, number)],
        "around": around,
        "flows": flows[:_MOST_FLOWS],
        "links": list(_links(lanes, own, kind, callers)),
    }


def kind_of(lanes: Lanes, slice_id: int) -> str:
    return lanes.kinds[int(lanes.slices.label[lanes.place[slice_id]])]


def _around(timeline: Timeline, own: Place) -> list[Place]:
    """Slices of the same track that hold this one, the outermost first."""
    lanes = timeline.layout.lanes
    if lanes.tracks[own["track"]].kind != HOST:
        return []
    first = int(lanes.first_lane[own["track"]])
    end = own["from_ns"] + own["dur_ns"]
    found: list[int] = []
    above = np.arange(first, first + own["row"])
    for low, high in stretches(lanes.slices, above, own["from_ns"], own["from_ns"] + 1):
        places = np.arange(low, high)
        holds = lanes.slices.start[places] + lanes.slices.dur[places] >= end
        found.extend(lanes.slices.id[places[holds]].tolist())
    return places_of(timeline, np.array(found, dtype=np.int64))


def _self_ns(lanes: Lanes, own: Place) -> int:
    """Time not in the slices on the row below."""
    track, begin = own["track"], own["from_ns"]
    below = int(lanes.first_lane[track]) + own["row"] + 1
    if below >= int(lanes.first_lane[track + 1]):
        return int(own["dur_ns"])
    end = begin + own["dur_ns"]
    [(low, high)] = stretches(lanes.slices, np.array([below]), begin, end)
    start = lanes.slices.start[low:high]
    inside = np.minimum(start + lanes.slices.dur[low:high], end) - np.maximum(start, begin)
    return int(own["dur_ns"] - inside.sum())


def _about(
    timeline: Timeline, own: Place, kind: str, callers: list[Place]
) -> Iterator[tuple[str, str]]:
    lanes = timeline.layout.lanes
    track = lanes.tracks[own["track"]]
    yield "where", f"{track.group}, {track.name}"
    parts = ("module",) if kind == "operator" else ("operator", "module")
    for part in parts:
        inner = [one["name"] for one in callers if kind_of(lanes, one["id"]) == part]
        if inner:
            yield part, inner[-1]


def _links(lanes: Lanes, own: Place, kind: str, callers: list[Place]) -> Iterator[dict[str, str]]:
    """Pages that say more: of the slice itself, and of what it is part of."""
    if kind in _KERNELS and lanes.tracks[own["track"]].kind != HOST:
        yield {"label": own["name"], "page": "kernels", "search": own["name"]}
    chain = [*callers, own]
    for wanted, page in _PAGES.items():
        names = [one["name"] for one in chain if kind_of(lanes, one["id"]) == wanted]
        if names:
            yield {"label": names[-1], "page": page, "search": names[-1]}
