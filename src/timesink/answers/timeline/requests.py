"""What a trace view asks of a timeline: a range, tracks, a slice, another clock, arrows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from timesink.analyses.timeline.overlays import (
    recording_costs,
)
from timesink.analyses.timeline.tracks import CURVES
from timesink.answers.common_json import ClockJson
from timesink.answers.plugin.query import Query
from timesink.answers.timeline.opening import _MAX_PIXELS, _USUAL_PIXELS, Place, Timeline, places_of
from timesink.errors import NotFoundError, UsageError
from timesink.model.intervals import Ints

# Arrays for browsers: a JSON head that lists them, then their bytes, each at a multiple of 8.

_ALIGNMENT = 8
_LENGTH_BYTES = 4
_TYPES = {"<f8": "f64", "<u4": "u32", "<i4": "i32", "<u2": "u16", "|u1": "u8"}


def pack_arrays(head: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    r"""A head and arrays as one run of bytes, little-endian."""
    little = {
        name: np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        for name, array in arrays.items()
    }
    listed = [[name, _TYPES[array.dtype.str], len(array)] for name, array in little.items()]
    text = msgspec.json.encode({**head, "arrays": listed})
    text += b" " * (-(len(text) + _LENGTH_BYTES) % _ALIGNMENT)
    parts: list[bytes] = [len(text).to_bytes(_LENGTH_BYTES, "little"), text]
    for array in little.values():
        parts += [array.tobytes(), bytes(-array.nbytes % _ALIGNMENT)]
    return b"".join(parts)


# -- what requests say: a range, tracks, a width in pixels, a slice --------------------------------

MAX_ARROWS = 500
_MAX_TRACKS = 1024


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
    if pixels > _MAX_PIXELS:
        raise UsageError("the picture is too wide", f"ask for at most {_MAX_PIXELS} pixels")
    return max(pixels, 1)


def asked_tracks(query: Query, timeline: Timeline, *, curves: bool) -> list[int]:
    """Tracks of slices (or of `curves`) by id, in order; all of them where none is named."""
    tracks = timeline.layout.lanes.tracks
    chosen: Iterable[int] = range(len(tracks))
    if "tracks" in query.params:
        text = query.text("tracks")
        parts = [part for part in text.split(",") if part]
        most = len(tracks)
        if len(parts) > _MAX_TRACKS:
            raise UsageError(
                f"the parameter 'tracks' names {len(parts)} tracks",
                f"name at most {_MAX_TRACKS} at once",
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
    number = query.integer("id")
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


# -- the two clocks of a timeline, and the path that decides how long it takes ---------------------


def clock(timeline: Timeline, _query: Query) -> dict[str, Any]:
    """How long a cycle takes by itself, and what of the host's time was spent on recording."""
    costs = recording_costs(timeline.trace)
    return {
        **msgspec.to_builtins(ClockJson.of_trace(timeline.trace)),
        "recording_ns": int((costs.end - costs.start).sum()),
    }


def other_clock(timeline: Timeline, query: Query) -> dict[str, Any]:
    """Where a range is on the other clock: as far into the host call that began last before it."""
    here, there = (
        timeline.layout,
        structs.replace(timeline, is_corrected=not timeline.is_corrected).layout,
    )
    slices, other_slices = here.lanes.slices, there.lanes.slices
    # What frames the recording began before anything, and tells nothing.
    of_host = np.flatnonzero((slices.id < here.host_rows) & (slices.start >= 0))
    moments = []
    for moment in asked_range(query, timeline):
        before = of_host[slices.start[of_host] <= moment]
        if not len(before):
            moments.append(moment)
            continue
        last = before[np.argmax(slices.start[before])]
        place = there.lanes.place[slices.id[last]]
        since, dur = moment - int(slices.start[last]), int(slices.dur[last])
        inside = int(min(since / max(dur, 1), 1.0) * other_slices.dur[place])
        moments.append(int(other_slices.start[place]) + inside + max(since - dur, 0))
    return {"from_ns": moments[0], "to_ns": max(moments)}


def evenly_chosen(arrows: Ints) -> Ints:
    """As many of them as are drawn, spread evenly."""
    most = min(len(arrows), MAX_ARROWS)
    return np.asarray(arrows[np.linspace(0, len(arrows) - 1, most).round().astype(np.int64)])


def path(timeline: Timeline, query: Query) -> dict[str, Any]:
    """What led from one slice of the critical path to the next, in a range; as `flows`."""
    lanes, pieces = timeline.layout.lanes, timeline.overlay("path").pieces
    if pieces is None or not len(pieces):
        return {"total": 0, "from": [], "to": []}
    first, last = asked_range(query, timeline)
    number = pieces.row + np.where(pieces.of_device, timeline.layout.host_rows, 0)
    start, end = (edge - timeline.layout.start_ns for edge in (pieces.start, pieces.end))
    # From one row of a stream or thread to the same, time itself leads.
    head = np.flatnonzero(pieces.way[1:] > 0) + 1
    head = head[(lanes.place[number[head]] >= 0) & (lanes.place[number[head - 1]] >= 0)]
    tracks = (lanes.lanes_at(lanes.place[number[indices]])[0] for indices in (head - 1, head))
    head = head[np.not_equal(*tracks) & (end[head] >= first) & (start[head - 1] <= last)]
    chosen = evenly_chosen(head)

    def places(which: Ints) -> list[Place]:
        slice_places = places_of(timeline, number[which])
        spans = zip(start[which].tolist(), end[which].tolist(), strict=True)
        return [
            {**place, "from_ns": low, "dur_ns": high - low}
            for place, (low, high) in zip(slice_places, spans, strict=True)
        ]

    return {"total": len(head), "from": places(chosen - 1), "to": places(chosen)}
