"""What to say when no cycles are found; the error knows what could mark one."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from timesink.analyses.columns import host_columns
from timesink.analyses.cycles.cycles import METHODS
from timesink.analyses.cycles.marks.families import is_own
from timesink.analyses.cycles.reading import MIN_REPEATS, Reading
from timesink.analyses.kernel_names.display import short_kernel_name
from timesink.errors import NoCyclesError, NotFoundError, UsageError
from timesink.model import units
from timesink.model.trace import Trace

_MARKS, _LONGEST = 3, 60
"""How many marks are proposed, and how long a name may be that somebody is to write."""
_PROCESSES = 8


def unknown_method(by: str) -> UsageError:
    """There is no such way to find cycles."""
    return UsageError(
        f"no way to find cycles is called {by!r}", f"choose from {', '.join(METHODS)}"
    )


def no_such_process(trace: Trace, pid: str, processes: Sequence[str]) -> NotFoundError:
    """The recording has no such process; it says which it has."""
    named = [process or "one without a number" for process in processes]
    shown = ", ".join(named[:_PROCESSES]) + (", ..." if len(named) > _PROCESSES else "")
    return NotFoundError(
        f"{trace.metadata.source}: no process {pid}",
        f"the recording has {shown}" if named else "the recording holds no process",
    )


def no_such_marker(trace: Trace, marker: str, pid: str | None) -> NoCyclesError:
    """The recording has no such event; it says which would do."""
    return NoCyclesError.no_such_mark(
        f"{trace.metadata.source}: no event is called {marker!r}{_where(pid)}", _marks(trace)
    )


def nothing_repeats(
    trace: Trace, methods: Sequence[str], considered: Sequence[Reading], pid: str | None
) -> NoCyclesError:
    """Nothing was seen to repeat well enough; it says what came nearest."""
    near = "; ".join(
        f"{_name(one)!r} came {units.counted(one.count, 'times')}" for one in considered
    )
    asked = f" by {methods[0]}" if len(methods) == 1 else ""
    return NoCyclesError.nothing_repeats(
        f"{trace.metadata.source}: no cycles found{asked}{_where(pid)}: nothing is seen to repeat "
        f"{MIN_REPEATS} times or more" + (f" well enough ({near})" if near else ""),
        _marks(trace),
    )


def _where(pid: str | None) -> str:
    return f" in process {pid}" if pid else ""


def _name(reading: Reading) -> str:
    return short_kernel_name(reading.anchor) if reading.on_device else reading.anchor


def _marks(trace: Trace) -> list[str]:
    """The program's own annotations that last longest."""
    annotations = host_columns(trace).lazy().filter(pl.col("kind") == "annotation")
    longest = (
        annotations.group_by(pl.col("name").cast(pl.String))
        .agg(pl.col("dur_ns").sum())
        .sort("dur_ns", "name", descending=[True, False])
        .collect()["name"]
    )
    return [name for name in longest if is_own(name) and len(name) <= _LONGEST][:_MARKS]
