"""How much one request may ask for."""

from __future__ import annotations

from contextlib import suppress

from timesink.errors import UsageError
from timesink.reports.plugin.query import Query

MOST_ROWS = 100_000
MOST_PIXELS = 8192
MOST_TRACKS = 1024


def row_limit(query: Query) -> int | None:
    """How many rows of a table are wanted; None where the request does not say."""
    value = query.whole("rows")
    if value is not None and not 1 <= value <= MOST_ROWS:
        raise UsageError(f"the parameter 'rows' is {value}", f"give 1 to {MOST_ROWS}")
    return value


def check_bounds(query: Query) -> None:
    """Refuse to draw more than any screen shows."""
    pixels = 0.0
    with suppress(ValueError):
        # A number as browsers write it; what is none is told by whoever uses it.
        pixels = float(query.text("pixels") or 0)
    if pixels > MOST_PIXELS:
        raise UsageError("the picture is too wide", f"ask for at most {MOST_PIXELS} pixels")
    asked = query.text("tracks").count(",") + 1
    if asked > MOST_TRACKS:
        raise UsageError(
            f"the parameter 'tracks' names {asked} tracks", f"name at most {MOST_TRACKS} at once"
        )
