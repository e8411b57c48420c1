"""What is drawn: the tracks there are, the slices and curves of a window, arrows between slices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesink.analyses.timeline.curves import visible_points
from timesink.analyses.timeline.windows import visible
from timesink.reports.plugin.query import Query
from timesink.reports.timeline.asked import asked_pixels, asked_range, asked_tracks
from timesink.reports.timeline.opening import Timeline
from timesink.reports.timeline.packed import packed
from timesink.reports.timeline.places import places_of

MOST_ARROWS = 500
_NAME_LENGTH = 160
_OF_TRACK = ("id", "kind", "group", "name", "rows", "events", "unit", "lowest", "highest")


def tracks(timeline: Timeline, _query: Query) -> dict[str, Any]:
    """The tracks of a recording and its steps."""
    layout = timeline.layout
    return {
        "start_ns": str(layout.start_ns),
        "length_ns": layout.length_ns,
        "events": len(layout.lanes.slices),
        "tracks": [
            {name: getattr(track, name) for name in _OF_TRACK} for track in layout.lanes.tracks
        ],
        "steps": [
            {"name": step.name, "from_ns": step.from_ns, "to_ns": step.to_ns}
            for step in layout.steps
        ],
    }


def slices(timeline: Timeline, query: Query) -> bytes:
    """The slices of a window, merged below a pixel, as arrays."""
    layout, lanes = timeline.layout, timeline.layout.lanes
    first, last = asked_range(query, timeline)
    shown = lanes.lanes_of(asked_tracks(query, timeline, curves=False))
    window = visible(layout.levels, shown, first, last, pixels=asked_pixels(query))
    pieces = window.pieces
    lane = np.repeat(shown, np.diff(pieces.first))
    track = np.searchsorted(lanes.first_lane, lane, side="right") - 1
    head = {
        "slices": len(pieces),
        "names": {
            str(code): lanes.names[code][:_NAME_LENGTH] for code in np.unique(pieces.label).tolist()
        },
        "resolution_ns": window.resolution,
    }
    arrays: dict[str, NDArray[Any]] = {
        "track": track.astype(np.uint16),
        "row": (lane - lanes.first_lane[track]).astype(np.uint16),
        "start": pieces.start.astype(np.float64),
        "dur": pieces.dur.astype(np.float64),
        "name": pieces.label,
        "count": pieces.count,
        "busy": pieces.busy.astype(np.float64),
        "id": pieces.id,
    }
    answer = packed(head, arrays)
    # The first picture is there: time to make the next ones quick.
    timeline.finish()
    return answer


def counters(timeline: Timeline, query: Query) -> dict[str, Any]:
    """The curves of a window, about a point per pixel."""
    layout = timeline.layout
    first, last = asked_range(query, timeline)
    pixels = asked_pixels(query)
    wanted = asked_tracks(query, timeline, curves=True)
    curve_of = {track: curve for curve, track in enumerate(layout.curve_tracks)}
    told = []
    for track in wanted:
        points = visible_points(layout.curves, curve_of[track], first, last, pixels=pixels)
        told.append(
            {
                "track": track,
                **{of: getattr(points, of).tolist() for of in ("x", "low", "mean", "high")},
            }
        )
    return {"tracks": told}


def flows(timeline: Timeline, query: Query) -> dict[str, Any]:
    """Arrows that start or end in a range, evenly chosen where they are too many."""
    lanes, arrows = timeline.layout.lanes, timeline.whole.arrows
    found = arrows.between(*asked_range(query, timeline))
    shown = np.zeros(len(lanes.tracks), dtype=np.bool_)
    shown[asked_tracks(query, timeline, curves=False)] = True
    if not shown.all():
        for ends in (arrows.tail, arrows.head):
            track, _ = lanes.lanes_at(lanes.place[ends[found]])
            found = found[shown[track]]
    most = min(len(found), MOST_ARROWS)
    chosen = found[np.linspace(0, len(found) - 1, most).round().astype(np.int64)]
    return {
        "total": len(found),
        "from": places_of(timeline, arrows.tail[chosen]),
        "to": places_of(timeline, arrows.head[chosen]),
    }
