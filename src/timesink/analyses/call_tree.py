"""The calls of one thread as a tree, with the backward pass beside the modules it belongs to.

The engine runs backward calls on a thread of its own, where nothing tells which module they are
for.  In the tree of the main thread they stand under `<module>.backward`, nested as the modules
are.  Trees of other threads show them as recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.columns import host_columns
from timesink.analyses.forest import (
    MODULE,
    PYTHON,
    STEP,
    CallForest,
    Nodes,
    call_forest,
    enclosing,
    within,
)
from timesink.analyses.modules import backward_passes, link_backward
from timesink.analyses.names import LIGHTNING, LIGHTNING_ACTION, LIGHTNING_MODULE
from timesink.model import intervals
from timesink.model.arrays import Flags, Ints
from timesink.model.trace import Trace

Thread: TypeAlias = tuple[str, str]
"""Process and thread, as recorded."""

BACKWARD = "backward"
_TYPES = (
    *("Operator", "ProfilerStep", "Module", "Python", "user_annotation"),
    *("pl_module", "pl_profile", BACKWARD),
)


@dataclass(frozen=True, eq=False)
class CallTree:
    """Calls in pre-order: every caller stands before what it calls, subtrees in one stretch."""

    node: Nodes
    """The call in the forest; for the backward pass of a module the call of the module."""
    is_backward_pass: Flags
    parent: Ints
    """Place of the caller in this tree, -1 on top."""
    size: Ints
    """How many calls a subtree has, the call itself included."""
    start: Ints
    end: Ints

    def __len__(self) -> int:
        return len(self.node)

    @cached_property
    def depth(self) -> Ints:
        # Every stretch opened before a place and not yet closed is a caller.
        opened = np.arange(len(self))
        closed = np.cumsum(np.bincount(opened + self.size, minlength=len(self) + 1))[: len(self)]
        return opened - closed


def threads(trace: Trace) -> list[Thread]:
    """Every thread with calls, the main one first: the one with the steps, else the longest."""
    forest = call_forest(trace)
    if not forest.threads:
        return []
    count, tops = len(forest.threads), forest.parent < 0
    steps = np.bincount(forest.thread[forest.role == STEP], minlength=count)
    backward = link_backward(trace).node
    serves = np.bincount(forest.thread[backward[tops[backward]]], minlength=count) > 0
    length = np.zeros(count, dtype=np.int64)
    np.add.at(length, forest.thread[tops], (forest.end - forest.start)[tops])
    main = max(range(count), key=lambda number: (steps[number], not serves[number], length[number]))
    others = [thread for number, thread in enumerate(forest.threads) if number != main]
    return [forest.threads[main], *others]


def call_tree(trace: Trace, thread: Thread | None = None) -> pl.DataFrame:
    """The calls of a thread, the main one if none is named; callers before what they call.

    `parent_id` is the `id` of the caller.  `node` is the place in the forest of calls, null for
    the backward pass of a module.  Of a Lightning recording the tree has its actions alone.
    """
    forest = call_forest(trace)
    is_lightning = trace.metadata.framework == LIGHTNING
    actions = _starting_with(LIGHTNING_ACTION, forest)
    tree = grow_tree(trace, thread, only=actions if is_lightning and actions.any() else None)
    # What each call is, a place in `_TYPES`.
    role = forest.role[tree.node]
    noted = (host_columns(trace)["kind"] == "annotation").to_numpy()[forest.row[tree.node]]
    kind = np.where(noted, _TYPES.index("user_annotation"), _TYPES.index("Operator"))
    for code, text in ((STEP, "ProfilerStep"), (MODULE, "Module"), (PYTHON, "Python")):
        kind = np.where(role == code, _TYPES.index(text), kind)
    if is_lightning:
        for prefix, text in ((LIGHTNING_MODULE, "pl_module"), (LIGHTNING_ACTION, "pl_profile")):
            marked = _starting_with(prefix, forest)[tree.node]
            kind = np.where(marked, _TYPES.index(text), kind)
    kind = np.where(tree.is_backward_pass, _TYPES.index(BACKWARD), kind)
    names = [name.removeprefix(LIGHTNING_ACTION) for name in forest.names]
    number = forest.thread[tree.node]
    passes = pl.col("is_backward_pass")
    suffix = pl.when(passes).then(pl.lit(f".{BACKWARD}")).otherwise(pl.lit(""))
    return pl.DataFrame(
        {
            "id": np.arange(len(tree)),
            "parent_id": tree.parent,
            "name": _texts(names, forest.name[tree.node]),
            "type": _texts(_TYPES, kind),
            "pid": _texts([pid for pid, _ in forest.threads], number),
            "tid": _texts([tid for _, tid in forest.threads], number),
            "start_ns": tree.start,
            "end_ns": tree.end,
            "node": tree.node,
            "is_backward_pass": tree.is_backward_pass,
        }
    ).select(
        "id",
        pl.when(pl.col("parent_id") >= 0).then("parent_id").alias("parent_id"),
        pl.col("name") + suffix,
        *("type", "pid", "tid", "start_ns", "end_ns"),
        pl.when(~passes).then("node").alias("node"),
    )


def _texts(texts: Sequence[str], codes: NDArray[np.integer[Any]]) -> pl.Series:
    return pl.Series(texts, dtype=pl.String).gather(pl.Series(codes, dtype=pl.Int64))


def _starting_with(prefix: str, forest: CallForest) -> Flags:
    return forest.named(lambda name: name.startswith(prefix))


def grow_tree(trace: Trace, thread: Thread | None = None, *, only: Flags | None = None) -> CallTree:
    """The same as places in the forest, for further analysis; on request of some calls only."""
    forest, order = call_forest(trace), threads(trace)
    shown = forest.stands_for == np.arange(len(forest)) if only is None else only
    if not order:
        return _as_recorded(forest, np.zeros(0, dtype=np.int64), shown)
    number = forest.threads.index(thread or order[0])
    is_main = number == forest.threads.index(order[0])
    passes = backward_passes(trace) if is_main and only is None else None
    if passes is None or not len(passes.module):
        return _as_recorded(forest, np.flatnonzero(shown & (forest.thread == number)), shown)
    # Backward calls move from where they ran to their pass, and that into the step around it.
    moved = within(passes.call, forest.size)
    real = np.flatnonzero(shown & (moved | (forest.thread == number)))
    caller = enclosing(forest.parent[real], forest.parent, shown)
    parent = np.where(caller >= 0, np.searchsorted(real, caller), -1)
    parent[np.searchsorted(real, passes.call)] = len(real) + passes.call_pass
    steps = np.flatnonzero((forest.role[real] == STEP) & (forest.thread[real] == number))
    begun, ended = forest.start[real[steps]], forest.end[real[steps]]
    step = np.append(steps, -1)[intervals.holding(passes.start, begun, ended)]
    above = np.where(passes.caller >= 0, len(real) + passes.caller, step)
    return _arranged(
        node=np.concatenate([real, passes.module]),
        is_backward_pass=np.repeat([False, True], [len(real), len(passes.module)]),
        parent=np.concatenate([parent, above]),
        start=np.concatenate([forest.start[real], passes.start]),
        end=np.concatenate([forest.end[real], passes.end]),
    )


def _as_recorded(forest: CallForest, node: Nodes, shown: Flags) -> CallTree:
    caller = enclosing(forest.parent[node], forest.parent, shown)
    return CallTree(
        node=node,
        is_backward_pass=np.zeros(len(node), dtype=np.bool_),
        parent=np.where(caller >= 0, np.searchsorted(node, caller), -1),
        size=forest.subtree_sum(shown.astype(np.int64))[node],
        start=forest.start[node],
        end=forest.end[node],
    )


def _arranged(
    *, node: Nodes, is_backward_pass: Flags, parent: Ints, start: Ints, end: Ints
) -> CallTree:
    """Calls given in any order, put in pre-order; those of one caller by start."""
    levels = list(_levels(parent, np.lexsort((-end, start, parent))))
    size = np.ones(len(parent), dtype=np.int64)
    for level in reversed(levels[1:]):
        np.add.at(size, parent[level], size[level])
    place = np.zeros(len(parent), dtype=np.int64)
    for level in levels:
        before = np.cumsum(size[level]) - size[level]
        first = np.append(True, np.diff(parent[level]) != 0)
        before -= np.maximum.accumulate(np.where(first, before, 0))
        place[level] = before + np.where(parent[level] < 0, 0, place[parent[level]] + 1)
    order = np.argsort(place)
    return CallTree(
        node=node[order],
        is_backward_pass=is_backward_pass[order],
        parent=np.where(parent[order] < 0, -1, place[parent[order]]),
        size=size[order],
        start=start[order],
        end=end[order],
    )


def _levels(parent: Ints, by_parent: Ints) -> Iterator[Ints]:
    """Calls on top, then those they make, and so on; children of one caller stay together."""
    counts = np.bincount(parent + 1, minlength=len(parent) + 1)
    first = np.cumsum(counts) - counts
    level = by_parent[: counts[0]]
    while len(level):
        yield level
        many = counts[level + 1]
        skipped = np.repeat(first[level + 1] - (np.cumsum(many) - many), many)
        level = by_parent[skipped + np.arange(len(skipped))]
