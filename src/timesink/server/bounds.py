"""How much one request may ask for."""

from __future__ import annotations

from timesink.errors import UsageError
from timesink.reports.plugin.query import Query

MOST_ROWS = 100_000
MOST_PIXELS = 8192
MOST_TRACKS = 1024


def row_limit(query: Query) -> int | None:
    """How many rows of a table are wanted; None where the request does not say."""
    return _within(query, "rows", MOST_ROWS)


def check_bounds(query: Query) -> None:
    """Refuse to draw more than any screen shows."""
    if _number(query, "pixels") > MOST_PIXELS:
        raise UsageError("the picture is too wide", f"ask for at most {MOST_PIXELS} pixels")
    asked = query.text("tracks").count(",") + 1
    if asked > MOST_TRACKS:
        raise UsageError(
            f"the parameter 'tracks' names {asked} tracks", f"name at most {MOST_TRACKS} at once"
        )


def _within(query: Query, name: str, most: int) -> int | None:
    value = query.whole(name)
    if value is not None and not 1 <= value <= most:
        raise UsageError(f"the parameter {name!r} is {value}", f"give 1 to {most}")
    return value


def _number(query: Query, name: str) -> float:
    """A number as browsers write it; what is none is told by whoever uses it."""
    try:
        return float(query.text(name) or 0)
    except ValueError:
        return 0.0
