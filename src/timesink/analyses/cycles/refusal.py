"""What to say when no cycles are found, and what to try then."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import polars as pl

from timesink.analyses.columns import host_columns
from timesink.analyses.cycles.cycles import METHODS
from timesink.analyses.cycles.markers import is_own
from timesink.analyses.cycles.reading import MIN_REPEATS, Reading
from timesink.errors import NotFoundError, UsageError
from timesink.model.trace import Trace

_SHOWN, _LONGEST = 3, 60


def unknown_method(by: str) -> UsageError:
    return UsageError(
        f"no way to find cycles is called {by!r}", f"choose from {', '.join(METHODS)}"
    )


def no_such_marker(trace: Trace, marker: str, pid: str | None) -> NotFoundError:
    """The recording has no such event; it says which would do."""
    where = f" in process {pid}" if pid else ""
    return NotFoundError(
        f"{trace.metadata.source}: no event is called {marker!r}{where}",
        _suggestion(trace)
        or "see the names with  timesink query PATH 'SELECT DISTINCT name FROM host'",
    )


def nothing_repeats(
    trace: Trace, methods: Sequence[str], considered: Sequence[Reading], pid: str | None
) -> NotFoundError:
    """Nothing was seen to repeat well enough; it says what came nearest."""
    where = f" in process {pid}" if pid else ""
    near = "; ".join(f"{_short(one.anchor)!r} came {one.count} times" for one in considered)
    asked = f" by {methods[0]}" if len(methods) == 1 else ""
    return NotFoundError(
        f"{trace.metadata.source}: no cycles found{asked}{where}: nothing is seen to repeat "
        f"{MIN_REPEATS} times or more" + (f" well enough ({near})" if near else ""),
        _suggestion(trace)
        or "name what marks a cycle with --marker NAME, or record with profiler steps",
    )


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def _suggestion(trace: Trace) -> str:
    """The program's own annotations that last longest, as values of the option."""
    annotations = host_columns(trace).lazy().filter(pl.col("kind") == "annotation")
    longest = (
        annotations.group_by(pl.col("name").cast(pl.String))
        .agg(pl.col("dur_ns").sum())
        .sort("dur_ns", "name", descending=[True, False])
        .collect()["name"]
    )
    own = [name for name in longest if is_own(name) and len(name) <= _LONGEST][:_SHOWN]
    if not own:
        return ""
    return "name what marks a cycle: " + ", ".join(f"--marker {shlex.quote(name)}" for name in own)
