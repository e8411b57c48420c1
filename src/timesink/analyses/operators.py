"""Time per operator: self and total, on the host and on the device."""

from __future__ import annotations

import numpy as np
import polars as pl

from timesink.analyses.call_times import node_times
from timesink.analyses.columns import device_columns
from timesink.analyses.forest import ROLE_NAMES, CallForest, call_forest
from timesink.analyses.links import link_launches
from timesink.analyses.once import once_per_trace
from timesink.analyses.sums import sums_by
from timesink.model.arrays import Flags, Ints
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Trace

_LATER_THAN_ALL = 1 << 62


@once_per_trace
def operator_table(trace: Trace, *, by_shape: bool = False, by_stack: bool = False) -> pl.DataFrame:
    """Operators by name, and on request by input shape and by call stack as well.

    Sorted by device self time, or by host self time where nothing ran on a device; equal ones in
    the order in which they first finished (`first_place`).  Device times are sums: work on
    parallel streams counts each.  Ratios are null where there is nothing to divide by.

    >>> import timesink
    >>> table = operator_table(timesink.open(timesink.sample()))
    >>> table["device_self_ns"][0] >= table["device_self_ns"][-1]
    True
    """
    forest, times = call_forest(trace), node_times(trace)
    nodes = np.flatnonzero(forest.is_operator)
    group, keys = _groups(trace, forest, nodes, by_shape=by_shape, by_stack=by_stack)
    has_stack = _has_stack(trace)[forest.row[nodes]]
    count = keys.height
    finished = np.full(count, _LATER_THAN_ALL)
    np.minimum.at(finished, group, forest.post_order[nodes])
    first = np.zeros(count, dtype=np.int64)
    is_first = finished[group] == forest.post_order[nodes]
    first[group[is_first]] = nodes[is_first]
    table = keys.with_columns(
        pl.Series("calls", np.bincount(group, minlength=count), dtype=pl.Int64),
        pl.Series("calls_with_device_work", sums_by(group, times.device_total[nodes] > 0, count)),
        *(
            pl.Series(f"{name}_ns", sums_by(group, getattr(times, name)[nodes], count))
            for name in _SUMMED
        ),
        pl.Series("tensor_core_eligible", times.eligible[first]),
        pl.Series("has_call_stack", sums_by(group, has_stack, count) > 0),
        pl.Series("finished", finished),
    )
    order = "device_self_ns" if (table["device_total_ns"] > 0).any() else "host_self_ns"
    return (
        table.sort("finished")
        .drop("finished")
        .with_columns(
            _ratio("tensor_core_self_ns", "device_self_ns").alias("tensor_core_self_ratio"),
            _ratio("tensor_core_total_ns", "device_total_ns").alias("tensor_core_total_ratio"),
            pl.int_range(pl.len()).alias("first_place"),
        )
        .sort(order, descending=True, maintain_order=True)
    )


_SUMMED = (
    "device_self",
    "device_total",
    "host_self",
    "host_total",
    "tensor_core_self",
    "tensor_core_total",
)


def _groups(
    trace: Trace, forest: CallForest, nodes: Ints, *, by_shape: bool, by_stack: bool
) -> tuple[Ints, pl.DataFrame]:
    """The group of each call, and what the calls of each group have in common."""
    names = pl.Series("name", forest.names, dtype=pl.String)
    columns = ["input_dims"] * by_shape + ["call_stack"] * by_stack
    if not columns:
        used = np.bincount(forest.name[nodes], minlength=len(names)) > 0
        return (np.cumsum(used) - 1)[forest.name[nodes]], names.filter(pl.Series(used)).to_frame()
    texts = trace.lazy("host").select(columns).collect()[forest.row[nodes]]
    if by_shape:
        # No shapes and no inputs are written alike.
        texts = texts.with_columns(pl.col("input_dims").fill_null("[]"))
    keyed = texts.with_columns(pl.Series("name", forest.name[nodes])).select("name", *columns)
    keys = keyed.unique(maintain_order=True).with_row_index("group")
    joined = keyed.join(
        keys, on=["name", *columns], how="left", nulls_equal=True, maintain_order="left"
    )
    group = joined["group"].cast(pl.Int64).to_numpy()
    return group, keys.drop("group").with_columns(names.gather(keys["name"]).alias("name"))


def _has_stack(trace: Trace) -> Flags:
    stacks = trace.lazy("host").select("call_stack").collect()["call_stack"]
    if stacks.null_count() == len(stacks):
        return np.zeros(len(stacks), dtype=np.bool_)
    return (stacks != "").fill_null(value=False).to_numpy()


def _ratio(part: str, whole: str) -> pl.Expr:
    return pl.when(pl.col(whole) > 0).then(pl.col(part) / pl.col(whole))


# -- so that the table adds up to the trace --------------------------------------------------------

NO_CALLER = "outside of every call"
NO_LAUNCH = "launch not in trace"


def launch_sites(trace: Trace) -> pl.DataFrame:
    """Device work by where it was launched from; all of it, so that the rows add up."""
    forest, links = call_forest(trace), link_launches(trace)
    device = device_columns(trace)
    names = [*ROLE_NAMES, NO_CALLER, NO_LAUNCH]
    site = np.full(device.height, len(ROLE_NAMES), dtype=np.int64)
    inside = links.node >= 0
    site[inside] = forest.role[links.node[inside]]
    site[links.call_row < 0] = len(ROLE_NAMES) + 1
    return (
        device.select("kind", "dur_ns")
        .with_columns(site=pl.Series(names, dtype=pl.String).gather(pl.Series(site)))
        .filter(pl.col("kind").is_in(BUSY_KINDS))
        .group_by("site")
        .agg(pl.len().cast(pl.Int64).alias("events"), pl.col("dur_ns").sum().alias("device_ns"))
        .sort("device_ns", "site", descending=[True, False])
    )


def eligible_share(trace: Trace) -> float | None:
    """Share of the operators' kernel time that could use tensor cores; None without kernels.

    Counted at the innermost eligible operators, so that nothing counts twice.
    """
    forest, times = call_forest(trace), node_times(trace)
    operators = forest.is_operator
    total = int(times.kernel_self[operators].sum())
    if not total:
        return None
    eligible = operators & times.eligible
    below = forest.subtree_sum(eligible.astype(np.int64)) - eligible
    innermost = eligible & (below == 0)
    return int(times.kernel_self[innermost].sum()) / total
