"""Ranges that a recorder puts into the timeline of a program, and that are no work of it."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from timesink.analyses.behaviour.classes import STEP_MARK
from timesink.analyses.behaviour.functions import function_name
from timesink.analyses.columns import host_columns, host_names
from timesink.analyses.cycles.cycles import Cycles
from timesink.collect.record.marks import CUT_MARK
from timesink.model.trace import Trace

_BY_FUNCTION = "function"


def without_recorders_ranges(trace: Trace, cycles: Cycles) -> Trace:
    """The trace without its recorder's marks of cycles, where cycles go by something else.

    These are the steps of the profiler and, where it was told of a function, a range around each
    call of that.  A recording of the same program that tells cycles apart in another way has none,
    so they explain no difference between the two.
    """
    run = trace.metadata.run
    if run is None:
        return trace
    own = {STEP_MARK, CUT_MARK}
    if run.cycles.by == _BY_FUNCTION and run.cycles.name:
        own.add(run.cycles.name)
    own -= {function_name(name) for name in cycles.table["name"].drop_nulls().unique()}
    is_range = (host_columns(trace)["kind"] == "annotation").to_numpy()
    is_own = is_range & host_names(trace).matching(lambda name: function_name(name) in own)
    if not is_own.any():
        return trace
    host = trace.host.filter(pl.Series(~is_own))
    return replace(trace, frames={**trace.frames, "host": host.lazy()})
