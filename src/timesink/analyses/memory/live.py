"""What was allocated when a device had most: by operator, module and part of a training step."""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from timesink.analyses.enclosing import enclosing
from timesink.analyses.forest import DATA_LOADER, MODULE, OPTIMIZER, CallForest, call_forest
from timesink.analyses.gathering import names_of
from timesink.analyses.memory.curve import memory_peaks, peak_records
from timesink.analyses.memory.devices import memory_device_names, memory_records
from timesink.analyses.memory.events import memory_blocks
from timesink.analyses.memory.operators import record_nodes, record_operators
from timesink.analyses.nesting import Nodes
from timesink.analyses.once import once_per_trace
from timesink.model.arrays import Flags
from timesink.model.trace import Trace

FORWARD, BACKWARD, OPTIMIZING, LOADING = "forward", "backward", "optimizer", "data_loader"
OUTSIDE, BEFORE, UNKNOWN = "outside_operators", "before_recording", "no_addresses"
CATEGORIES = (FORWARD, BACKWARD, OPTIMIZING, LOADING, OUTSIDE, BEFORE, UNKNOWN)
_IS_BACKWARD = re.compile(r"autograd::engine::evaluate_function|Backward\d*$")


@once_per_trace
def live_at_peak(trace: Trace) -> pl.DataFrame:
    """What was allocated at the highest point of each device, the largest first.

    By the operator that took it, the innermost module around that and the part of the step
    (`category`).  The rows of a device add up to its peak: what was there before the recording is
    a row of its own, and so is everything in recordings without addresses.  Only where records
    are missing may more be live than the peak.
    """
    known = _live_blocks(trace)
    named = (
        known.group_by("device", "category", "operator", "module")
        .agg(pl.len().cast(pl.Int64).alias("blocks"), pl.col("bytes").sum())
        .select("device", "category", "operator", "module", "blocks", "bytes")
    )
    return pl.concat([named, _rest(trace, known)]).sort(
        "device", "bytes", "category", "operator", "module", descending=[False, True] + [False] * 3
    )


def _live_blocks(trace: Trace) -> pl.DataFrame:
    """Blocks taken up to the peak of their device and not released by then."""
    records, blocks = memory_records(trace), memory_blocks(trace)
    device = records["device"].to_physical().to_numpy()
    peak_of = peak_records(trace)
    peak = np.array([peak_of.get(name, -1) for name in memory_device_names(trace)])
    known = np.flatnonzero(blocks.taken >= 0)
    taken, released = blocks.taken[known], blocks.released[known]
    at = peak[device[taken]] if len(taken) else taken
    taken = taken[(taken <= at) & ((released < 0) | (released > at))]
    forest, node = call_forest(trace), record_nodes(trace)[taken]
    module = enclosing(node, forest.parent, forest.role == MODULE)
    return records.select("device", "bytes")[taken].with_columns(
        category=_categories(forest, node, record_operators(trace)[taken] >= 0),
        operator=names_of(forest, record_operators(trace)[taken]),
        module=names_of(forest, module),
    )


def _categories(forest: CallForest, node: Nodes, in_operator: Flags) -> pl.Series:
    category = np.where(in_operator, CATEGORIES.index(FORWARD), CATEGORIES.index(OUTSIDE))
    for part, calls in (
        (BACKWARD, forest.named(lambda name: _IS_BACKWARD.search(name) is not None)),
        (OPTIMIZING, forest.role == OPTIMIZER),
        (LOADING, forest.role == DATA_LOADER),
    ):
        category[enclosing(node, forest.parent, calls) >= 0] = CATEGORIES.index(part)
    return pl.Series(CATEGORIES, dtype=pl.Enum(CATEGORIES)).gather(category)


def _rest(trace: Trace, known: pl.DataFrame) -> pl.DataFrame:
    """What the peaks hold beyond the blocks that are known."""
    sums = known.group_by("device").agg(pl.col("bytes").sum())
    addressed = memory_records(trace).group_by("device").agg(pl.col("address").is_not_null().any())
    category = pl.when("address").then(pl.lit(BEFORE)).otherwise(pl.lit(UNKNOWN))
    missing = pl.lit(None, dtype=pl.String)
    return (
        memory_peaks(trace)
        .join(sums, on="device", how="left")
        .join(addressed, on="device", how="left")
        .with_columns(rest=pl.col("peak_allocated_bytes") - pl.col("bytes").fill_null(0))
        .filter(pl.col("rest") > 0)
        .select(
            "device",
            category=category.cast(pl.Enum(CATEGORIES)),
            operator=missing,
            module=missing,
            blocks=pl.lit(None, dtype=pl.Int64),
            bytes="rest",
        )
    )
