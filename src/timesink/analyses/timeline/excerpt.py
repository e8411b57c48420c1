"""A part of a trace for viewing: some of its steps, some sorts of its events."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from timesink.analyses.steps import within_steps
from timesink.model.trace import Trace

DETAILS = ("all", "operators", "device")
"""How much is kept: everything; without Python calls; device work, its launches and annotations."""
_LEFT_OUT = {
    "all": (),
    "operators": ("python_function", "overhead", "trace"),
    "device": ("python_function", "overhead", "trace", "operator", "module", "other", "instant"),
}
_TABLES_LEFT_OUT = {"all": (), "operators": (), "device": ("memory", "event_args")}


def excerpt(trace: Trace, *, steps: str | None = None, detail: str = "all") -> Trace:
    """The trace with these steps alone, and the sorts of events of a detail.

    >>> import timesink
    >>> trace = timesink.open(timesink.sample())
    >>> excerpt(trace, detail="device").host.height < trace.host.height
    True
    """
    part = trace if steps is None else within_steps(trace, steps)
    if detail == "all":
        return part
    kinds = part.lazy("host").filter(~pl.col("kind").cast(pl.String).is_in(_LEFT_OUT[detail]))
    frames = {**part.frames, "host": kinds}
    frames |= {name: part.lazy(name).head(0) for name in _TABLES_LEFT_OUT[detail]}
    return replace(part, frames=frames)
