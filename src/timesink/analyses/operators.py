"""Time per operator: self and total, on the host and on the device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec
import numpy as np
import polars as pl

from timesink.analyses.columns import (
    Texts,
    device_columns,
    host_columns,
    host_kinds,
    memoize_per_trace,
    memoize_structure,
    start_and_end,
)
from timesink.analyses.forest import (
    ROLE_NAMES,
    CallForest,
    NestedCalls,
    call_forest,
    chains,
    nested_calls,
    outermost,
)
from timesink.analyses.graphs import captured_rows
from timesink.analyses.links import Links, link_launches
from timesink.analyses.names import has_tensor_cores, is_eligible, tensor_core_use, without_address
from timesink.model import intervals
from timesink.model.arrays import sums_by
from timesink.model.intervals import Flags, Ints
from timesink.model.schema import BUSY_KINDS, KERNEL_KINDS
from timesink.model.trace import Trace

_LONGEST_LINE = 1 << 62


class NodeTimes(msgspec.Struct, frozen=True, eq=False):
    """Times of every call of the forest; those merged into another call have none of their own."""

    host_total: Ints
    host_self: Ints
    """Without the time inside callees and runtime calls."""
    device_self: Ints
    """Sum over the device work the call launched itself, parallel streams counted each."""
    device_total: Ints
    """The same, with everything it called."""
    kernel_self: Ints
    """The part of `device_self` that is kernels."""
    tensor_core_self: Ints
    tensor_core_total: Ints
    captured_self: Ints
    """The part of `device_self` whose call comes from a capture."""
    captured_total: Ints
    eligible: Flags
    """Whether the call, or one it made, could use tensor cores."""
    eligible_by_name: Flags


@memoize_per_trace
def node_times(trace: Trace) -> NodeTimes:
    """Host and device time of every call of the forest."""
    forest, links = call_forest(trace), link_launches(trace)
    device = device_columns(trace)
    busy = device["kind"].is_in(BUSY_KINDS).to_numpy()
    kernels = device["kind"].is_in(KERNEL_KINDS).to_numpy()
    tensor = kernels & tensor_core_use(trace).fill_null(value=False).to_numpy()
    durations = device["dur_ns"].to_numpy()
    device_self = _launched_time(forest, links, durations, busy)
    tensor_self = _launched_time(forest, links, durations, tensor)
    captured_self = _launched_time(forest, links, durations, busy & captured_rows(trace))
    by_name = forest.named(is_eligible) & has_tensor_cores(trace)
    return NodeTimes(
        host_total=forest.end - forest.start,
        host_self=_host_self(trace, forest, links),
        device_self=device_self,
        device_total=forest.subtree_sum(device_self),
        kernel_self=_launched_time(forest, links, durations, kernels),
        tensor_core_self=tensor_self,
        tensor_core_total=forest.subtree_sum(tensor_self),
        captured_self=captured_self,
        captured_total=forest.subtree_sum(captured_self),
        eligible=forest.subtree_sum((by_name | (tensor_self > 0)).astype(np.int64)) > 0,
        eligible_by_name=by_name,
    )


def operator_device_ns(trace: Trace) -> int:
    """How long devices worked for operators: the sum of what their table has."""
    forest, device = call_forest(trace), device_columns(trace)
    node = link_launches(trace).node
    mine = device["kind"].is_in(BUSY_KINDS).to_numpy() & (node >= 0)
    mine[mine] = forest.is_operator[forest.stands_for[node[mine]]]
    return int(device["dur_ns"].to_numpy()[mine].sum())


def _launched_time(forest: CallForest, links: Links, durations: Ints, chosen: Flags) -> Ints:
    """Device time launched by each call itself, including the calls merged into it."""
    mine = chosen & (links.node >= 0)
    if not mine.any():
        return np.broadcast_to(np.int64(0), len(forest))  # takes no memory
    owner = forest.stands_for[links.node[mine]]
    return sums_by(owner, durations[mine], len(forest))


def _host_self(trace: Trace, forest: CallForest, links: Links) -> Ints:
    """Time of each call that no callee and no runtime call covers."""
    # Ranges inside calls: first those of their callees, then those of runtime calls.
    callees = np.flatnonzero((forest.parent >= 0) & (forest.stands_for == np.arange(len(forest))))
    linked = np.flatnonzero(links.call_node >= 0)
    called = np.concatenate([forest.parent[callees], links.call_node[linked]]).astype(np.int64)
    owner = forest.stands_for[called]
    call_start, call_end = start_and_end(host_columns(trace), links.calls[linked])
    start = np.concatenate([forest.start[callees], call_start])
    end = np.concatenate([forest.end[callees], call_end])
    own_start = np.minimum(forest.self_start, forest.end)
    self_time = forest.end - own_start - sums_by(owner, end - start, len(forest))
    # Ranges rarely overlap each other or reach out of the call; where they may, their union is
    # taken instead of their sum.
    unsure = forest.crossing.copy()
    crossed = forest.parent[forest.crossing]
    unsure[forest.stands_for[crossed[crossed >= 0]]] = True
    makers = owner[len(callees) :]
    unsure[makers[~links.call_alone[linked]]] = True
    order = np.lexsort((call_start, makers))
    again = makers[order[1:]] == makers[order[:-1]]
    unsure[makers[order[1:]][again & (call_start[order[1:]] < call_end[order[:-1]])]] = True
    nodes = np.flatnonzero(unsure)
    if not len(nodes):
        return self_time
    # All calls side by side on one line, so that a single union serves them all.
    number = np.full(len(forest), -1, dtype=np.int64)
    number[nodes] = np.arange(len(nodes))
    mine = np.flatnonzero(number[owner] >= 0)
    place = number[owner[mine]]
    begin = own_start[nodes]
    length = np.minimum(forest.end[nodes] - begin, _LONGEST_LINE // len(nodes))
    offset = np.cumsum(length + 1) - (length + 1)
    first, last = (
        np.clip(side[mine] - begin[place], 0, length[place]) + offset[place]
        for side in (start, end)
    )
    line = np.stack([first, np.maximum(first, last)]).T
    self_time[nodes] = length - intervals.coverage_within(
        line, np.stack([offset, offset + length]).T
    )
    return self_time


# Call stacks: as recorded, else from the Python functions that an operator lies in.

_MAX_FRAMES = 128
"""Of a call stack, from the innermost call on."""


class PythonFrames(msgspec.Struct, frozen=True, eq=False):
    """Calls of Python functions and modules, and the chains of callers they add up to."""

    calls: NestedCalls
    row: Ints
    """For each call: its chain."""
    outer: Ints
    """For each chain: that of its caller, -1 on top; callers come first."""
    name: Sequence[str]
    first_start: Ints

    def stack(self, chain: int) -> str:
        """A chain as profilers write it, the innermost call first."""
        names: list[str] = []
        while chain >= 0 and len(names) < _MAX_FRAMES:
            names.append(self.name[chain])
            chain = int(self.outer[chain])
        return ";".join(names)


@memoize_per_trace
def python_frames(trace: Trace) -> PythonFrames:
    """Python functions and modules by who calls them; methods of any object are the same."""
    is_frame = host_kinds(trace).among("python_function", "module")
    calls = nested_calls(host_columns(trace).filter(is_frame), NestedCalls)
    named = Texts(calls.name, calls.names).renamed(without_address)
    row, first = chains(calls.parent, calls.depth, named.codes)
    outer = np.where(calls.parent[first] >= 0, row[calls.parent[first]], -1)
    names = [named.texts[code] for code in named.codes[first].tolist()]
    return PythonFrames(calls, row, outer, names, calls.start[first])


class FrameStacks(msgspec.Struct, frozen=True, eq=False):
    """The frames around operators that have no recorded stack; rows of `trace.host`."""

    recorded: pl.Series
    is_recorded: Flags
    """By row: whether a stack was recorded."""
    row: Ints
    """Operators that frames stand for."""
    place: Ints
    """Place of each of them in `texts`."""
    texts: list[str]

    @property
    def has_stack(self) -> Flags:
        """By row: whether there is a stack, recorded or from frames."""
        present = self.is_recorded.copy()
        present[self.row] = np.array([text != "" for text in self.texts], np.bool_)[self.place]
        return present


@memoize_structure
def _frame_stacks(trace: Trace) -> FrameStacks:
    recorded = trace.lazy("host").select("call_stack").collect()["call_stack"]
    frames, host = python_frames(trace), host_columns(trace)
    is_recorded = (recorded != "").fill_null(value=False).to_numpy()
    bare = np.flatnonzero(~is_recorded & host_kinds(trace).among("operator"))
    if not len(frames.row) or not len(bare):
        return FrameStacks(recorded, is_recorded, bare[:0], bare[:0], [""])
    # Clocks are rounded: an operator is called by what it spends most of its time in.
    most = host["dur_ns"].to_numpy()[bare] // 2 + 1
    caller = frames.calls.at(host[bare], most)
    used, place = np.unique(frames.row[caller[caller >= 0]], return_inverse=True)
    texts = [frames.stack(chain) for chain in used.tolist()]
    return FrameStacks(recorded, is_recorded, bare[caller >= 0], place, texts)


@memoize_structure
def call_stacks(trace: Trace) -> pl.Series:
    """For each row of `trace.host`: the call stack, or of an operator that has none its frames."""
    frames = _frame_stacks(trace)
    if not len(frames.row):
        return frames.recorded
    stack = np.full(len(frames.recorded), len(frames.texts))
    stack[frames.row] = frames.place
    # As categories: a text of a hundred frames stands on many rows.
    texts = pl.Series([*frames.texts, None], dtype=pl.Categorical)
    around = texts.gather(pl.Series(stack))
    return around.zip_with(around.is_not_null(), frames.recorded).alias("call_stack")


def with_call_stacks(trace: Trace) -> Trace:
    """The trace with the call stacks that it does not tell itself, for tables that leave."""
    stacks = call_stacks(trace).cast(pl.Categorical)
    host = trace.lazy("host").with_columns(call_stack=stacks)
    return replace(trace, frames={**trace.frames, "host": host}) if len(stacks) else trace


_LATER_THAN_ALL = 1 << 62


@memoize_per_trace
def operator_table(
    trace: Trace, *, by_shape: bool = False, by_stack: bool = False, as_plugin: bool = False
) -> pl.DataFrame:
    """Operators by name, and on request by input shape and by call stack as well.

    Call stacks that were not recorded come from the Python functions around an operator.  Totals
    hold everything a call calls, so a call inside another of its row adds nothing to them.  The
    former plugin knew recorded stacks only and counted such calls again: `as_plugin`.

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
    frames = _frame_stacks(trace)
    stack_columns = [frames.recorded if as_plugin else call_stacks(trace)] if by_stack else []
    group, keys = _groups(trace, forest, nodes, stack_columns, by_shape=by_shape)
    has_stack = (frames.is_recorded if as_plugin else frames.has_stack)[forest.row[nodes]]
    count = keys.height
    finished, turn = np.full(count, _LATER_THAN_ALL), forest.post_order[nodes]
    np.minimum.at(finished, group, turn)
    first = np.zeros(count, dtype=np.int64)
    is_first = finished[group] == turn
    first[group[is_first]] = nodes[is_first]
    totals = slice(None) if as_plugin else outermost(nodes, group, forest.size)
    table = keys.with_columns(
        pl.Series("calls", np.bincount(group, minlength=count), dtype=pl.Int64),
        pl.Series("calls_with_device_work", sums_by(group, times.device_total[nodes] > 0, count)),
        *(
            pl.Series(f"{time}_{of}_ns", sums_by(group[rows], values[nodes][rows], count))
            for time in ("device", "host", "tensor_core")
            for of, rows in (("self", slice(None)), ("total", totals))
            for values in (getattr(times, f"{time}_{of}"),)
        ),
        pl.Series(
            "captured_ns", sums_by(group[totals], times.captured_total[nodes][totals], count)
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
            (100 * _ratio("captured_ns", "device_total_ns")).alias("captured_pct"),
            pl.int_range(pl.len()).alias("first_place"),
        )
        .drop("captured_ns")
        .sort(order, descending=True, maintain_order=True)
    )


def _groups(
    trace: Trace,
    forest: CallForest,
    nodes: Ints,
    extra_columns: Sequence[pl.Series],
    *,
    by_shape: bool,
) -> tuple[Ints, pl.DataFrame]:
    """The group of each call, and what the calls of each group have in common."""
    names = pl.Series("name", forest.names, dtype=pl.String)
    columns = ["input_dims"] * by_shape + [column.name for column in extra_columns]
    if not columns:
        used = np.bincount(forest.name[nodes], minlength=len(names)) > 0
        return (np.cumsum(used) - 1)[forest.name[nodes]], names.filter(pl.Series(used)).to_frame()
    shapes = trace.lazy("host").select(columns[:by_shape]).collect()
    texts = pl.DataFrame([*shapes, *extra_columns])[forest.row[nodes]]
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


def _ratio(part: str, total: str) -> pl.Expr:
    return pl.when(pl.col(total) > 0).then(pl.col(part) / pl.col(total))


NO_CALLER = "outside of recorded calls"
NO_LAUNCH = "launch not in trace"
FROM_CAPTURE = "from capture"
"""What stands beside names that were not recorded where they are said."""


def launch_sites(trace: Trace) -> pl.DataFrame:
    """Device work by where it was launched from; all of it, so that the rows add up."""
    forest, links = call_forest(trace), link_launches(trace)
    device = device_columns(trace)
    names = [*ROLE_NAMES, NO_CALLER, NO_LAUNCH, *(f"{role}, {FROM_CAPTURE}" for role in ROLE_NAMES)]
    site = np.full(device.height, len(ROLE_NAMES), dtype=np.int64)
    inside = links.node >= 0
    site[inside] = forest.role[links.node[inside]]
    site[links.call_row < 0] = len(ROLE_NAMES) + 1
    captured = captured_rows(trace) & inside
    site[captured] += len(ROLE_NAMES) + 2
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
