"""Time per module of the network, along the hierarchy in which modules call one another."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import polars as pl

from timesink.analyses.columns import (
    device_columns,
    host_columns,
    memoize_per_trace,
    memoize_structure,
)
from timesink.analyses.forest import MODULE, STEP, CallForest, call_forest, callers_among, chains
from timesink.analyses.links import launching_calls
from timesink.analyses.names import LIGHTNING, LIGHTNING_MODULE
from timesink.analyses.operators import node_times, python_frames
from timesink.model.arrays import latest_true, sums_by
from timesink.model.intervals import Flags, Ints
from timesink.model.nested_calls import Nodes, depth_when_nested, enclosing_calls
from timesink.model.schema import BUSY_KINDS, CAPTURED_KINDS, MODULE_PREFIX
from timesink.model.trace import Trace

# Which forward call a backward call belongs to.
#
# The recording ties them by arrows.  Where it has none, they carry the same sequence number: the
# forward call that made a gradient function is the last one with its number, as calls that make
# none leave the number to the next.  Numbers count per thread, and backward calls name their
# forward thread by a number of its own, so threads are matched by the numbers they share.

_ENGINE = "autograd::engine::evaluate_function: "
ACCUMULATE = "torch::autograd::AccumulateGrad"
"""The call that adds a gradient to that of its parameter."""


class BackwardLinks(msgspec.Struct, frozen=True, eq=False):
    """Backward calls, each with everything below it; arrays have one entry per call."""

    node: Nodes
    """The call in the forest."""
    forward: Nodes
    """The forward call it belongs to, -1 where it is not known."""


@memoize_per_trace
def link_backward(trace: Trace) -> BackwardLinks:
    """Tie the calls of the backward pass to those of the forward pass."""
    forest = call_forest(trace)
    # Sequence number (-1: none) and forward thread (0: none) of every call.
    ids = (
        trace.lazy("host")
        .select(
            sequence=pl.col("sequence_number").fill_null(-1),
            forward_thread=pl.col("fwd_thread_id").fill_null(0),
        )
        .collect()[forest.row]
    )
    # Roots of backward trees: calls of the engine, or the functions themselves without it.
    engine = forest.named(lambda name: name.startswith(_ENGINE))
    function = (ids["forward_thread"] > 0).to_numpy()
    function = function | forest.named(lambda name: name == ACCUMULATE)
    backward: Flags = engine | function
    # A graph's own backward calls stand for the call that replays it.
    kinds = trace.lazy("host").select(pl.col("kind").is_in(CAPTURED_KINDS)).collect()["kind"]
    captured = backward & kinds.to_numpy()[forest.row]
    backward &= captured | (forest.subtree_sum(captured.astype(np.int64)) == 0)
    # What runs inside another backward call is part of it, however deep: it would count twice.
    inside = enclosing_calls(forest.parent, forest.parent, backward) >= 0
    node = np.flatnonzero(backward & ~inside)
    # A gradient is summed right after the call that computes it, and goes with that call.
    follows = forest.named(lambda name: name.endswith(ACCUMULATE))[node]
    # Calls with the same caller side by side; those without one are apart by thread.
    caller = np.where(forest.parent[node] < 0, -1 - forest.thread[node], forest.parent[node])
    order = np.argsort(caller, kind="stable")
    place = np.arange(len(node))
    latest = latest_true(~follows[order])
    related = (latest >= 0) & (caller[order] == caller[order[latest]])
    leader = np.empty(len(node), dtype=np.int64)
    leader[order] = order[np.where(related, latest, place)]
    # The forward call at the tail of the first arrow into each backward call; -1 without one.
    forward = np.full(len(node), -1, dtype=np.int64)
    tails, heads = _arrows(trace)
    is_backward = np.zeros(len(forest), dtype=np.bool_)
    is_backward[node] = True
    source = forest.at(tails)
    target = enclosing_calls(forest.at(heads), forest.parent, is_backward)
    linked = np.flatnonzero((source >= 0) & (target >= 0))[::-1]
    forward[np.searchsorted(node, target[linked])] = source[linked]
    unknown = np.flatnonzero(forward < 0)
    forward[unknown] = _by_sequence(forest, ids, node[unknown])
    forward = np.where(forward < 0, forward[leader], forward)
    return BackwardLinks(node, forward)


def _arrows(trace: Trace) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Both ends of every complete arrow from forward to backward, row by row."""
    ends = (
        trace.lazy("flows")
        .filter(pl.col("kind") == "forward_backward")
        .select("phase", "flow_id", "pid", "tid", "ts_ns")
        .collect()
    )
    tails = ends.filter(pl.col("phase") == "start").unique("flow_id", maintain_order=True)
    heads = ends.filter(pl.col("phase") == "end").unique("flow_id", maintain_order=True)
    tails = tails.join(heads.select("flow_id"), on="flow_id", how="semi").sort("flow_id")
    heads = heads.join(tails.select("flow_id"), on="flow_id", how="semi").sort("flow_id")
    return tails, heads


def _by_sequence(forest: CallForest, ids: pl.DataFrame, node: Nodes) -> Nodes:
    """The last forward call with the number of each backward call; -1 where none is found."""
    calls = ids.with_columns(
        node=pl.int_range(pl.len(), dtype=pl.Int64),
        thread=pl.Series(forest.thread),
        start=pl.Series(forest.start),
    )
    numbered = calls.filter((pl.col("sequence") >= 0) & (pl.col("forward_thread") == 0))
    # Backward calls with their numbers, which some recordings put on the function inside.
    inner = np.minimum(node + 1, max(len(forest) - 1, 0))
    inner = np.where(forest.parent[inner] == node, inner, node)
    outer, below = calls[node], calls[inner]
    takes_below = (outer["sequence"] < 0) & (below["forward_thread"] > 0)
    candidates = (
        outer.with_columns(
            place=pl.int_range(pl.len(), dtype=pl.Int64),
            sequence=pl.when(takes_below).then(below["sequence"]).otherwise(pl.col("sequence")),
            forward_thread=pl.when(takes_below)
            .then(below["forward_thread"])
            .otherwise(pl.col("forward_thread")),
        )
        .filter(pl.col("sequence") >= 0)
        .join(numbered, on="sequence", suffix="_of_forward")
        .filter(
            # What one replay runs was captured at one moment: there the order of calls tells.
            (pl.col("start_of_forward") < pl.col("start"))
            | (
                (pl.col("start_of_forward") == pl.col("start"))
                & (pl.col("node_of_forward") < pl.col("node"))
            )
        )
        .sort("start_of_forward", "node_of_forward")
        .group_by("place", "forward_thread", "thread_of_forward")
        .agg(pl.col("node_of_forward").last())
    )
    # For each number of a forward thread the thread that shares most with it, taken once each.
    shared = (
        candidates.group_by("forward_thread", "thread_of_forward")
        .len()
        .sort("len", "forward_thread", "thread_of_forward", descending=[True, False, False])
    )
    matched: dict[int, int] = {}
    for number, thread, _ in shared.iter_rows():
        if number not in matched and thread not in matched.values():
            matched[number] = thread
    chosen = candidates.join(
        pl.DataFrame(
            {"forward_thread": list(matched), "thread_of_forward": list(matched.values())},
            schema={"forward_thread": pl.Int64, "thread_of_forward": pl.Int64},
        ),
        on=["forward_thread", "thread_of_forward"],
    )
    forward = np.full(len(node), -1, dtype=np.int64)
    forward[chosen["place"].to_numpy()] = chosen["node_of_forward"].to_numpy()
    return forward


PREFIX = MODULE_PREFIX

SCHEMA: dict[str, pl.DataType] = {
    **dict.fromkeys(("id", "parent_id"), pl.Int64()),
    "name": pl.String(),
    **dict.fromkeys(("module_id", "occurrences", "operators"), pl.Int64()),
    **dict.fromkeys(("host_total_ns", "host_self_ns", "device_total_ns"), pl.Int64()),
    **dict.fromkeys(("device_self_ns", "device_with_operators_ns"), pl.Int64()),
    **dict.fromkeys(("backward_host_ns", "backward_device_ns"), pl.Int64()),
    "avg_duration_ns": pl.Float64(),
    "captured_pct": pl.Float64(),
}


@memoize_per_trace
def module_table(trace: Trace) -> pl.DataFrame:
    """One row per module and place in the hierarchy; callers before the modules they call.

    `operators` are those a module calls itself.  `device_self_ns` is work it launched itself,
    `device_with_operators_ns` adds the work of the operators it calls itself; replayed graphs
    count for the module that replays them.  Backward time counts for a module and those around
    it, as totals do.  `avg_duration_ns` is device time per call, or host time without any.
    """
    modules = find_modules(trace)
    if not len(modules.node):
        return pl.DataFrame(schema=SCHEMA)
    row, rows = modules.row, len(modules.name)
    sums = {name: sums_by(row, of[modules.node], rows) for name, of in _values(trace).items()}
    on_device = pl.col("device_total_ns") > 0
    total = pl.when(on_device).then("device_total_ns").otherwise("host_total_ns")
    return (
        pl.DataFrame(
            {
                "row": np.arange(rows),
                "outer": modules.outer,
                "name": modules.name,
                "module_id": modules.module_id,
                "occurrences": np.bincount(row, minlength=rows),
                **sums,
            }
        )
        .join(_layout(modules.outer, modules.name, modules.first_start), on="row")
        .with_columns(
            avg_duration_ns=total / pl.col("occurrences"),
            captured_pct=pl.when(on_device).then(
                100 * pl.col("captured_ns") / pl.col("device_total_ns")
            ),
        )
        .sort("id")
        .select(pl.col(name).cast(dtype) for name, dtype in SCHEMA.items())
    )


class Modules(msgspec.Struct, frozen=True, eq=False):
    """Calls of modules, and the rows of the hierarchy they add up to."""

    node: Nodes
    """The call in the forest, in its order."""
    row: Ints
    """For each call: its row."""
    outer: Ints
    """For each row: the row of the module around it, -1 on top."""
    name: Sequence[str]
    module_id: Sequence[int | None]
    first_start: Ints
    """For each row: when it was first called."""

    @property
    def paths(self) -> list[str]:
        """Each row by all modules around it, with dots between; some names are paths already."""
        paths: dict[int, str] = {}

        def path(row: int) -> str:
            if row not in paths:
                outer, name = int(self.outer[row]), self.name[row]
                above = path(outer) if outer >= 0 else ""
                is_full_path = not above or name.startswith(f"{above}.")
                paths[row] = name if is_full_path else f"{above}.{name}"
            return paths[row]

        return [path(row) for row in range(len(self.name))]


@memoize_structure
def is_module_call(trace: Trace) -> Flags:
    """Which calls of the forest are modules; Lightning marks its own."""
    forest = call_forest(trace)
    marked = forest.named(lambda name: name.startswith(LIGHTNING_MODULE))
    if trace.metadata.framework == LIGHTNING and marked.any():
        return marked
    return np.asarray(forest.role == MODULE)


@memoize_per_trace
def find_modules(trace: Trace) -> Modules:
    """The calls of modules and the rows they belong to."""
    forest, is_module = call_forest(trace), is_module_call(trace)
    node = np.flatnonzero(is_module)
    if trace.metadata.framework == LIGHTNING and (forest.role[node] != MODULE).all():
        # A row per dotted path; the module around it has the path without its last part.
        codes, row = np.unique(forest.name[node], return_inverse=True)
        name = [forest.names[code].partition(": ")[2] for code in codes]
        row_of = {path: number for number, path in enumerate(name)}
        above = [row_of.get(path.rpartition(".")[0], -1) if "." in path else -1 for path in name]
        outer, ids = np.array(above, dtype=np.int64), [0] * len(name)
    else:
        # A row per chain of modules that call one another: equal calls under equal callers.
        column = trace.lazy("host").select("python_module_id").collect()["python_module_id"]
        module_id = column[forest.row[node]]
        caller = callers_among(node, forest.parent, is_module)
        code = pl.Series("name", forest.name[node])
        kind = pl.struct(code, module_id.alias("module"), eager=True)
        depth = depth_when_nested(node, node + forest.size[node])
        row, first = chains(caller, depth, kind.rank("dense").to_numpy())
        name = [forest.names[code].removeprefix(PREFIX) for code in forest.name[node[first]]]
        outer = np.where(caller[first] >= 0, row[caller[first]], -1)
        ids = module_id[first].to_list()
    first_start = np.full(len(name), np.iinfo(np.int64).max)
    np.minimum.at(first_start, row, forest.start[node])
    return Modules(node, row.astype(np.int64), outer, name, ids, first_start)


def _layout(outer: Ints, name: Sequence[str], first_start: Ints) -> pl.DataFrame:
    """Numbers of the rows: by name on top, in order of first call below."""
    below: dict[int, list[int]] = {}
    for row in np.argsort(first_start, kind="stable").tolist():
        below.setdefault(int(outer[row]), []).append(row)
    waiting = sorted(below.get(-1, []), key=lambda row: name[row])[::-1]
    order: list[int] = []
    while waiting:
        row = waiting.pop()
        order.append(row)
        waiting.extend(reversed(below.get(row, [])))
    number = {row: place for place, row in enumerate(order)}
    parents = [number.get(int(outer[row])) for row in order]
    return pl.DataFrame(
        {"row": order, "id": range(len(order)), "parent_id": parents},
        schema={"row": pl.Int64, "id": pl.Int64, "parent_id": pl.Int64},
    )


def _values(trace: Trace) -> dict[str, Ints]:
    """Times of every call of the forest, by the column they add up to."""
    forest, times, links = call_forest(trace), node_times(trace), link_backward(trace)
    operators = np.flatnonzero(forest.is_operator & ~is_module_call(trace) & (forest.parent >= 0))
    caller, has_forward = forest.parent[operators], links.forward >= 0

    def backward(spent: Ints) -> Ints:
        """Time of the backward calls that belong to a call or to what it calls."""
        direct = sums_by(links.forward[has_forward], spent[links.node[has_forward]], len(forest))
        return np.asarray(forest.subtree_sum(direct))

    return {
        "operators": np.bincount(caller, minlength=len(forest)),
        "host_total_ns": times.host_total,
        "host_self_ns": times.host_self,
        "device_total_ns": times.device_total,
        "device_self_ns": times.device_self,
        "captured_ns": times.captured_total,
        "device_with_operators_ns": times.device_self
        + sums_by(caller, times.device_total[operators], len(forest)),
        "backward_host_ns": backward(times.host_total),
        "backward_device_ns": backward(times.device_total),
    }


PYTHON_SCHEMA: dict[str, pl.DataType] = {
    **{name: SCHEMA[name] for name in ("id", "parent_id", "name")},
    "calls": pl.Int64(),
    **dict.fromkeys((f"{of}_ns" for of in ("host_total", "host_self")), pl.Int64()),
    **dict.fromkeys((f"{of}_ns" for of in ("device_total", "device_self")), pl.Int64()),
}


@memoize_per_trace
def python_table(trace: Trace) -> pl.DataFrame:
    """One row per Python function, or module, and chain of callers; callers before their callees.

    Device work counts for the function that makes the launching call.
    """
    frames = python_frames(trace)
    calls, row, rows = frames.calls, frames.row, len(frames.outer)
    if not rows:
        return pl.DataFrame(schema=PYTHON_SCHEMA)
    device, launch = device_columns(trace), launching_calls(trace)
    work = np.flatnonzero(device["kind"].is_in(BUSY_KINDS).to_numpy() & (launch >= 0))
    maker = calls.at(host_columns(trace)[launch[work]])
    work, maker = work[maker >= 0], maker[maker >= 0]
    device_self = sums_by(maker, device["dur_ns"].to_numpy()[work], len(calls))
    length, called = calls.end - calls.start, calls.parent >= 0
    below = sums_by(calls.parent[called], length[called], len(calls))
    values = {
        "calls": np.ones(len(calls), dtype=np.int64),
        "host_total_ns": length,
        "host_self_ns": np.maximum(length - below, 0),
        "device_total_ns": calls.subtree_sum(device_self),
        "device_self_ns": device_self,
    }
    sums = {name: sums_by(row, of, rows) for name, of in values.items()}
    return (
        pl.DataFrame({"row": np.arange(rows), "name": frames.name, **sums})
        .join(_layout(frames.outer, frames.name, frames.first_start), on="row")
        .sort("id")
        .select(pl.col(name).cast(dtype) for name, dtype in PYTHON_SCHEMA.items())
    )


# The backward pass of every module call: from the first to the last of its backward calls.


class BackwardPasses(msgspec.Struct, frozen=True, eq=False):
    """Backward passes of module calls, and the backward calls that belong to them."""

    module: Nodes
    caller: Ints
    """Place of the pass of the module around, -1 on top."""
    start: Ints
    end: Ints
    call: Nodes
    call_pass: Ints


@memoize_per_trace
def backward_passes(trace: Trace) -> BackwardPasses:
    """The backward passes of a trace: of modules whose operators have backward calls."""
    forest = call_forest(trace)
    links, is_module = link_backward(trace), is_module_call(trace)
    top = (forest.parent[links.node] < 0) | (forest.role[forest.parent[links.node]] == STEP)
    owner = enclosing_calls(np.where(top, links.forward, -1), forest.parent, is_module)
    call, owner = links.node[owner >= 0], owner[owner >= 0]
    # These module calls and all around them, once each and in order.
    levels = [np.unique(owner)]
    while len(levels[-1]):
        around = np.unique(enclosing_calls(forest.parent[levels[-1]], forest.parent, is_module))
        levels.append(around[around >= 0])
    module = np.unique(np.concatenate(levels))
    caller = callers_among(module, forest.parent, is_module)
    call_pass = np.searchsorted(module, owner)
    start = np.full(len(module), np.iinfo(np.int64).max)
    end = np.full(len(module), np.iinfo(np.int64).min)
    np.minimum.at(start, call_pass, forest.start[call])
    np.maximum.at(end, call_pass, forest.end[call])
    for depth in np.unique(forest.depth[module])[::-1]:
        inner = np.flatnonzero((forest.depth[module] == depth) & (caller >= 0))
        np.minimum.at(start, caller[inner], start[inner])
        np.maximum.at(end, caller[inner], end[inner])
    return BackwardPasses(module, caller, start, end, call, call_pass)
