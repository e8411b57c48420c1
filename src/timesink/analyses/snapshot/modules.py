"""Modules of a recording at the moments of allocations, where both are of one run."""

from __future__ import annotations

import numpy as np
import polars as pl

from timesink.analyses.forest import call_forest
from timesink.analyses.kernels.calls import module_paths
from timesink.model.intervals import Ints
from timesink.model.trace import Trace


def recorded_modules(trace: Trace, moments: pl.Series) -> pl.Series:
    """The path of modules at each moment; null where there is none, or no recording.

    Of the backward pass, that of the forward call it belongs to.
    """
    nothing = pl.Series("module", [None] * len(moments), dtype=pl.String)
    if not len(call_forest(trace)):
        return nothing
    return module_paths(trace, call_forest(trace), nodes_at(trace, moments))


def nodes_at(trace: Trace, moments: pl.Series) -> Ints:
    """The innermost call at each moment, of the thread whose call began last; -1 where none is.

    An allocator does not say which thread asked it; while the backward pass runs on a thread of its
    own, the main thread waits in a call that began before.
    """
    forest = call_forest(trace)
    best = np.full(len(moments), -1, dtype=np.int64)
    begun = np.full(len(moments), np.iinfo(np.int64).min)
    times = moments.fill_null(-1)
    for pid, tid in forest.threads:
        rows = pl.DataFrame({"ts_ns": times}).with_columns(
            pl.lit(pid, pl.Categorical).alias("pid"), pl.lit(tid, pl.Categorical).alias("tid")
        )
        node = forest.at(rows, beyond_ns=1)
        start = np.where(node >= 0, forest.start[node], np.iinfo(np.int64).min)
        is_later = (node >= 0) & (start > begun)
        best, begun = np.where(is_later, node, best), np.where(is_later, start, begun)
    return np.where(best >= 0, forest.stands_for[best], -1)
