"""Time per kernel: by name, and by name, operator and launch properties."""

from __future__ import annotations

import numpy as np
import polars as pl

from timesink.analyses import names
from timesink.analyses.columns import (
    device_columns,
    device_numbers,
    host_columns,
    memoize_per_trace,
    memoize_structure,
)
from timesink.analyses.forest import call_forest
from timesink.analyses.graphs import captured_rows
from timesink.analyses.links import link_launches
from timesink.analyses.names import (
    has_tensor_cores,
    is_eligible,
    short_kernel_name,
    tensor_core_use,
)
from timesink.model.intervals import Floats, Ints
from timesink.model.schema import KERNEL_KINDS
from timesink.model.trace import Trace
from timesink.model.vendors import names_where

_TASK_TOPOLOGY = names_where("task_topology", value=True)

SHAPE = tuple(f"{shape}_{axis}" for shape in ("grid", "block") for axis in "xyz")
GEOMETRY = (*SHAPE, "registers_per_thread", "shared_memory_bytes")
"""Launch properties that tell apart the launches of one kernel."""

ESTIMATES = ("blocks_per_sm", "occupancy_pct")
MEASURES = ("calls", "total_ns", "mean_ns", "max_ns", "min_ns", *ESTIMATES)


def launched_blocks() -> pl.Expr:
    """How many blocks a launch has; null where its grid is not recorded."""
    blocks = pl.col("grid_x").cast(pl.Float64)
    for axis in ("grid_y", "grid_z"):
        blocks = blocks * pl.col(axis).fill_null(1)
    return blocks


@memoize_structure
def kernel_rows(trace: Trace) -> Ints:
    """Rows of `trace.device` that are kernels, communication included."""
    return np.flatnonzero(device_columns(trace)["kind"].is_in(KERNEL_KINDS).to_numpy())


def known_occupancy(*, zeros: bool = False) -> pl.Expr:
    """The occupancy that a profiler estimated; null where it knows none.

    Profilers write 0 for kernels they cannot estimate, but one that runs has warps in flight.
    The former plugin counts such `zeros` as values.
    """
    recorded = pl.col("occupancy_pct")
    unknown = (recorded == 0) & (pl.col("dur_ns") > 0) & (not zeros)
    return pl.when(recorded.is_finite() & (recorded >= 0) & ~unknown).then(recorded)


@memoize_per_trace
def kernel_launches(trace: Trace, *, zeros: bool = False) -> pl.DataFrame:
    """One row per kernel launch, in the order of `trace.device`.

    `zeros` is as in `known_occupancy`, here and in what is made of launches.
    """
    rows = kernel_rows(trace)
    estimates = _kernels(trace).select("blocks_per_sm", known_occupancy(zeros=zeros))
    launches = (
        device_columns(trace)
        .select("name", "ts_ns", "dur_ns")[rows]
        .with_columns(
            pl.Series("device", device_numbers(trace)[rows]),
            tensor_core_use(trace).gather(rows).alias("tensor_cores"),
        )
    )
    return launches.hstack(estimates.collect())


def _kernels(trace: Trace) -> pl.LazyFrame:
    return trace.lazy("device").filter(pl.col("kind").is_in(KERNEL_KINDS))


@memoize_per_trace
def kernel_table(trace: Trace, *, zeros: bool = False) -> pl.DataFrame:
    """One row per kernel name, the longest in total first.

    Blocks per SM and occupancy are means weighted by duration over the launches that state
    them; null where none does.
    """
    return (
        _group_figures(kernel_launches(trace, zeros=zeros), ["name"])
        .sort("total_ns", "name", descending=True)
        .select("name", "short_name", "tensor_cores", *MEASURES)
    )


@memoize_per_trace
def kernel_groups(trace: Trace, *, zeros: bool = False) -> pl.DataFrame:
    """One row per kernel name, launching operator and launch properties, the longest first.

    `operator` is the innermost call the launch was made in, or the thread itself where there is
    none.  Where the launch is not in the trace, `launched` is False and `operator` is null.
    """
    by_task = trace.metadata.vendor in _TASK_TOPOLOGY
    recorded = _task_properties(trace) if by_task else _kernels(trace).select(GEOMETRY)
    properties = recorded.collect()
    keys = ["name", "operator", "launched", "captured", *properties.columns]
    launches = kernel_launches(trace, zeros=zeros).hstack(properties).hstack(_origin(trace))
    first_rank = pl.col("rank").min()
    first_call = pl.col("call_start").filter(pl.col("rank") == first_rank).min()
    texts = [*call_forest(trace).names, names.ROOT]
    operator = pl.col("operator").replace_strict(
        list(range(len(texts))), texts, return_dtype=pl.String, default=None
    )
    eligible = pl.col("operator").map_elements(is_eligible, return_dtype=pl.Boolean)
    return (
        _group_figures(
            launches, keys, first_rank.alias("first_rank"), first_call.alias("first_call")
        )
        .with_columns(operator)
        .with_columns(eligible=eligible.fill_null(False) & has_tensor_cores(trace))
        .sort(
            "total_ns",
            "first_rank",
            "first_call",
            *(key for key in keys if key != "launched"),
            descending=[True, *[False] * (len(keys) + 1)],
        )
        .select(
            *("name", "short_name", "operator", "launched", "captured", *properties.columns),
            *("tensor_cores", "eligible", *MEASURES),
        )
    )


def _group_figures(launches: pl.DataFrame, keys: list[str], *more: pl.Expr) -> pl.DataFrame:
    """Groups of launches with the same keys, `name` among them, and what is measured of each."""
    dur = pl.col("dur_ns")
    groups = (
        launches.with_row_index("launch")
        .group_by(keys)
        .agg(
            pl.col("launch"),
            pl.col("tensor_cores").first(),
            *more,
            calls=pl.len().cast(pl.Int64),
            total_ns=dur.sum(),
            mean_ns=dur.mean(),
            max_ns=dur.max(),
            min_ns=dur.min(),
        )
    )
    members = groups["launch"].explode().to_numpy()
    group = np.repeat(np.arange(groups.height), groups["calls"].to_numpy())
    estimates = launches.select(ESTIMATES)[members]
    weight = launches["dur_ns"].to_numpy()[members] / 1000
    means = [_weighted_means(column, weight, group, groups.height) for column in estimates]
    text = pl.col("name").cast(pl.String)
    short = text.map_elements(short_kernel_name, return_dtype=pl.String)
    return groups.drop("launch").with_columns(*means, name=text, short_name=short)


def _weighted_means(column: pl.Series, weight: Floats, group: Ints, groups: int) -> pl.Series:
    """Means of the values that are there, by group; null where there are none.

    Microseconds as weights and sums in the order of the recording keep the last digit as users
    of the former plugin know it.
    """
    has_value = column.is_not_null().to_numpy()
    value, weight, group = (
        column.fill_null(0).to_numpy()[has_value],
        weight[has_value],
        group[has_value],
    )
    amount = np.bincount(group, value * weight, groups)
    total = np.bincount(group, weight, groups)
    stated = np.bincount(group, minlength=groups) > 0
    # Launches without any length have no weight to give: their mean is zero, not undefined.
    means = np.divide(amount, total, out=np.zeros(groups), where=total > 0)
    return (
        pl.select(pl.when(pl.Series(stated)).then(pl.Series(means))).to_series().alias(column.name)
    )


def _origin(trace: Trace) -> pl.DataFrame:
    """For each launch: the code of its operator's name, and its place in the call trees."""
    rows = kernel_rows(trace)
    forest, links = call_forest(trace), link_launches(trace)
    node, call = links.node[rows], links.call_row[rows]
    inside, launched = node >= 0, call >= 0
    operator = np.full(len(rows), len(forest.names))
    operator[inside] = forest.name[node[inside]]
    rank = np.where(launched, len(forest), len(forest) + 1)
    rank[inside] = forest.post_order[node[inside]]
    start = np.zeros(len(rows), dtype=np.int64)
    start[launched] = host_columns(trace)["ts_ns"].to_numpy()[call[launched]]
    columns = {"launched": launched, "rank": rank, "call_start": start}
    captured = pl.Series("captured", captured_rows(trace)[rows])
    return pl.DataFrame([*pl.DataFrame(columns), captured]).with_columns(
        operator=pl.when("launched").then(pl.Series(operator))
    )


def _task_properties(trace: Trace) -> pl.LazyFrame:
    """Types and task topologies of kernels that have no grids and blocks."""
    sizes = ("dimx", "dimy", "dimz")
    kernels = _kernels(trace).select("index")
    arguments = trace.lazy("event_args").unique(["index", "key"], keep="first")
    for key in ("kernel type", "dim", *sizes, "tasktopo", "tasktopo_node"):
        column = arguments.filter(pl.col("key") == key).select("index", pl.col("value").alias(key))
        kernels = kernels.join(column, on="index", how="left", maintain_order="left")
    return kernels.select(
        pl.col("kernel type").alias("kernel_type"),
        pl.coalesce("dim", pl.format("[{}, {}, {}]", *sizes)).alias("dim"),
        *("tasktopo", "tasktopo_node"),
    )


def tensor_core_shares(trace: Trace) -> tuple[float, float, float]:
    """Parts of the time of all kernels, whoever launched them.

    Those that surely use matrix units, that do not, and of which nobody knows; without any kernel
    time nothing uses them.
    """
    by_use = kernel_launches(trace).group_by("tensor_cores").agg(pl.col("dur_ns").sum())
    time_of = dict(by_use.iter_rows())
    using, not_using, unknown = (time_of.get(use, 0) for use in (True, False, None))
    total = using + not_using + unknown
    return (using / total, not_using / total, unknown / total) if total else (0.0, 1.0, 0.0)


def device_tensor_core_share(trace: Trace) -> pl.DataFrame:
    """Per device, the part of the time of its kernels that surely uses matrix units.

    No rows where makers of the device have none; null where names of kernels do not tell: of most
    of the time, or of any of it while none is known to use them.
    """
    dur, use = pl.col("dur_ns"), pl.col("tensor_cores")
    using, with_use, every = dur.filter(use).sum(), dur.filter(use.is_not_null()).sum(), dur.sum()
    tells = (every > 0) & (2 * with_use >= every) & ((using > 0) | (with_use == every))
    launches = kernel_launches(trace)
    if not has_tensor_cores(trace):
        launches = launches.clear()
    return launches.group_by("device").agg(ratio=pl.when(tells).then(using / every)).sort("device")


@memoize_per_trace
def operator_tensor_core_share(trace: Trace) -> pl.DataFrame:
    """Per device, the time of kernels launched directly by operators; no rows without any.

    `ratio` is what surely uses matrix units as a part of all, null where there is no time.
    """
    dur, use = pl.col("dur_ns"), pl.col("tensor_cores")
    # Which kernels an operator launched itself, not a step, an optimizer or a module.
    forest = call_forest(trace)
    node = link_launches(trace).node[kernel_rows(trace)]
    launched = np.zeros(len(node), dtype=np.bool_)
    inside = node >= 0
    launched[inside] = forest.is_operator[forest.stands_for[node[inside]]]
    return (
        kernel_launches(trace)
        .filter(pl.Series(launched))
        .group_by("device")
        .agg(
            kernel_ns=dur.sum(),
            tensor_core_ns=dur.filter(use).sum(),
            unknown_ns=dur.filter(use.is_null()).sum(),
        )
        .with_columns(ratio=(pl.col("tensor_core_ns") / pl.col("kernel_ns")).fill_nan(None))
        .sort("device")
    )
