"""What requests about a timeline say: a range, tracks, a width in pixels, a slice."""

from __future__ import annotations

import math
from collections.abc import Iterable

from timesink.analyses.timeline.tracks import CURVES
from timesink.answers.plugin import Query
from timesink.answers.timeline import Timeline
from timesink.errors import NotFoundError, UsageError

MOST_ARROWS = 500
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
