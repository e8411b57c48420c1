"""What is drawn: the tracks there are, the slices and curves of a window, arrows between slices."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesink.analyses.timeline.levels import visible, visible_points
from timesink.analyses.timeline.tracks import CURVES
from timesink.answers.plugin import Query
from timesink.answers.timeline import Timeline, packed, places_of
from timesink.errors import NotFoundError, UsageError

# What requests about a timeline say: a range, tracks, a width in pixels, a slice.

_MOST_PIXELS, _USUAL_PIXELS = 8192, 1920
_MOST_TRACKS = 1024


def asked_range(query: Query, timeline: Timeline) -> tuple[int, int]:
    """`from` and `to` in ns since the start of the recording; the whole of it where not given."""
    first = _moment(query, "from", 0)
    last = _moment(query, "to", timeline.layout.length_ns)
    if last < first:
        raise UsageError(f"the range ends before it starts: {first} to {last}", "swap from and to")
    return first, last


def asked_pixels(query: Query) -> int:
    """The width of the picture; more than any screen shows is refused."""
    pixels = _moment(query, "pixels", _USUAL_PIXELS)
    if pixels > _MOST_PIXELS:
        raise UsageError("the picture is too wide", f"ask for at most {_MOST_PIXELS} pixels")
    return max(pixels, 1)


def asked_tracks(query: Query, timeline: Timeline, *, curves: bool) -> list[int]:
    """Tracks of slices (or of `curves`) by id, in order; all of them where none is named."""
    tracks = timeline.layout.lanes.tracks
    chosen: Iterable[int] = range(len(tracks))
    if "tracks" in query.params:
        text = query.text("tracks")
        parts = [part for part in text.split(",") if part]
        most = len(tracks)
        if len(parts) > _MOST_TRACKS:
            raise UsageError(
                f"the parameter 'tracks' names {len(parts)} tracks",
                f"name at most {_MOST_TRACKS} at once",
            )
        if not all(part.isascii() and part.isdigit() and int(part[:9]) < most for part in parts):
            raise UsageError(
                f"the parameter 'tracks' is {text[:80]!r}",
                "give numbers of tracks, as tracks=1,2,3",
            )
        chosen = map(int, parts)
    return sorted({number for number in chosen if (tracks[number].kind in CURVES) == curves})


def asked_slice(query: Query, timeline: Timeline) -> int:
    """The id of a slice that is shown."""
    number = query.whole("id")
    if number is None:
        raise UsageError("the parameter 'id' is missing", "add id=... to the request")
    place = timeline.layout.lanes.place
    if not 0 <= number < len(place) or place[number] < 0:
        raise NotFoundError(f"no slice has the id {number}", "the recording may have changed")
    return number


def _moment(query: Query, name: str, default: int) -> int:
    """A whole number of nanoseconds; browsers count in floats."""
    text = query.text(name)
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or abs(value) > 2**62:
        raise UsageError(f"the parameter {name!r} is {text!r}, not a number", f"give {name}=123")
    return round(value)


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
        "steps": [asdict(step) for step in layout.steps],
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
    # Ids of the slices that match and start in the range, the earliest.
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
    return {
        "total": int(timeline.whole.calls[labels].sum()),
        "names": _names(timeline, labels.tolist()),
        "hits": places_of(timeline, slices.id[places[np.argsort(start, kind="stable")]]),
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
