"""The calls of one thread as a tree, and the trees of two runs side by side.

The engine runs backward calls on a thread of its own, where nothing tells which module they are
for.  In the tree of the main thread they stand under `<module>.backward`, nested as the modules
are.  Trees of other threads show them as recorded.

Side by side stand the same sections of two trees, with what each run spent in them.  A section is
a stretch of neighbouring calls of the main thread.  Calls that mark a place in the program (data
loading, modules and their backward passes, optimizers, steps) are aligned as the longest common
subsequence of both runs; what lies between two of them is a section as well.
Names come first.  What they leave between two matches has no name in common, and is aligned by
sort inside that section: two classes of data loaders or optimizers, modules of one class.
Work of the other threads belongs to the section during which it started.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.columns import host_columns, memoize_per_trace
from timesink.analyses.forest import (
    DATA_LOADER,
    MODULE,
    OPTIMIZER,
    PYTHON,
    STEP,
    CallForest,
    call_forest,
    callers_among,
    children_of,
    descendant_mask,
)
from timesink.analyses.modules import backward_passes, is_module_call, link_backward
from timesink.analyses.names import LIGHTNING, LIGHTNING_ACTION, LIGHTNING_MODULE
from timesink.analyses.operators import node_times
from timesink.model import intervals
from timesink.model.alignment import common_subsequence
from timesink.model.arrays import (
    exclusive_cumsum,
    grouped_cumsum,
    prefix_sums,
    ragged_ranges,
    run_starts,
    sums_by,
)
from timesink.model.intervals import Flags, Ints
from timesink.model.nested_calls import Nodes, depth_when_nested
from timesink.model.trace import Trace
from timesink.patterns import regex

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
        return depth_when_nested(opened, opened + self.size)


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
    rest = [thread for number, thread in enumerate(forest.threads) if number != main]
    return [forest.threads[main], *rest]


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
    is_shown = forest.stands_for == np.arange(len(forest)) if only is None else only
    if not order:
        return _as_recorded(forest, np.zeros(0, dtype=np.int64), is_shown)
    number = forest.threads.index(thread or order[0])
    is_main = number == forest.threads.index(order[0])
    passes = backward_passes(trace) if is_main and only is None else None
    if passes is None or not len(passes.module):
        return _as_recorded(forest, np.flatnonzero(is_shown & (forest.thread == number)), is_shown)
    # Backward calls move from where they ran to their pass, and that into the step around it.
    moved = descendant_mask(passes.call, forest.size)
    real = np.flatnonzero(is_shown & (moved | (forest.thread == number)))
    parent = callers_among(real, forest.parent, is_shown)
    parent[np.searchsorted(real, passes.call)] = len(real) + passes.call_pass
    steps = np.flatnonzero((forest.role[real] == STEP) & (forest.thread[real] == number))
    begins, ended = forest.start[real[steps]], forest.end[real[steps]]
    step = np.append(steps, -1)[intervals.enclosing_interval(passes.start, begins, ended)]
    above = np.where(passes.caller >= 0, len(real) + passes.caller, step)
    return _arrange_calls(
        node=np.concatenate([real, passes.module]),
        is_backward_pass=np.repeat([False, True], [len(real), len(passes.module)]),
        parent=np.concatenate([parent, above]),
        start=np.concatenate([forest.start[real], passes.start]),
        end=np.concatenate([forest.end[real], passes.end]),
    )


def _as_recorded(forest: CallForest, node: Nodes, is_shown: Flags) -> CallTree:
    return CallTree(
        node=node,
        is_backward_pass=np.zeros(len(node), dtype=np.bool_),
        parent=callers_among(node, forest.parent, is_shown),
        size=forest.subtree_sum(is_shown.astype(np.int64))[node],
        start=forest.start[node],
        end=forest.end[node],
    )


def _arrange_calls(
    *, node: Nodes, is_backward_pass: Flags, parent: Ints, start: Ints, end: Ints
) -> CallTree:
    """Calls given in any order, put in pre-order; those of one caller by start."""
    levels = list(_levels(parent, np.lexsort((-end, start, parent))))
    size = np.ones(len(parent), dtype=np.int64)
    for level in reversed(levels[1:]):
        np.add.at(size, parent[level], size[level])
    place = np.zeros(len(parent), dtype=np.int64)
    for level in levels:
        before = grouped_cumsum(size[level], run_starts(parent[level])) - size[level]
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
    first = exclusive_cumsum(counts)
    level = by_parent[: counts[0]]
    while len(level):
        yield level
        level = by_parent[ragged_ranges(first[level + 1], counts[level + 1])]


Pairs: TypeAlias = list[tuple[int, int]]


def align(left: Sequence[str], right: Sequence[str]) -> Pairs:
    """Places of a longest common subsequence in both, in order.

    What is left out has to be deleted or inserted, so this is the shortest edit as well.
    """
    codes: dict[str, int] = {}
    ours, theirs = common_subsequence(
        *(
            np.array([codes.setdefault(key, len(codes)) for key in side], dtype=np.int64)
            for side in (left, right)
        )
    )
    return list(zip(ours.tolist(), theirs.tolist(), strict=True))


class OperatorCost(msgspec.Struct, frozen=True):
    """The calls of one operator."""

    name: str
    calls: int
    host_ns: int
    device_ns: int
    host_self_ns: int
    device_self_ns: int


class Cost(msgspec.Struct, frozen=True):
    """What some calls took; `total_ns` counts each by its device work, or its length without."""

    host_ns: int
    device_ns: int
    total_ns: int
    operators: tuple[OperatorCost, ...]
    """Operators among them and below, in the order in which they first finished."""


class CallCosts(msgspec.Struct, frozen=True, eq=False):
    """Times of calls in pre-order; arrays have one entry per call."""

    size: Ints
    finished: Ints
    """Rank by which calls finish."""
    name: Ints
    is_operator: Flags
    times: Ints
    """One row each: host, device, host self, device self."""
    names: Sequence[str]

    def of(self, roots: Ints) -> Cost:
        """What these calls cost with everything below them."""
        host, device, sizes = self.times[0, roots], self.times[1, roots], self.size[roots]
        below = ragged_ranges(roots, sizes)
        return Cost(
            host_ns=int(host.sum()),
            device_ns=int(device.sum()),
            total_ns=int(np.where(device > 0, device, host).sum()),
            operators=tuple(self._operators(below[self.is_operator[below]])),
        )

    def _operators(self, places: Ints) -> list[OperatorCost]:
        codes, group = np.unique(self.name[places], return_inverse=True)
        first = np.full(len(codes), len(self.size))
        np.minimum.at(first, group, self.finished[places])
        sums = [sums_by(group, values[places], len(codes)) for values in self.times]
        rows = zip(codes, np.bincount(group, minlength=len(codes)), *sums, strict=True)
        operators = [OperatorCost(self.names[row[0]], *map(int, row[1:])) for row in rows]
        return [operators[place] for place in np.argsort(first, kind="stable")]


def costs_of(trace: Trace, tree: CallTree | None = None) -> CallCosts:
    """Of the calls of every thread, as recorded, or of those of a tree.

    A backward pass in a tree costs what the calls in it cost.
    """
    forest, of_nodes = call_forest(trace), node_times(trace)
    times = np.stack(
        [of_nodes.host_total, of_nodes.device_total, of_nodes.host_self, of_nodes.device_self]
    )
    is_operator = np.asarray(forest.is_operator & ~is_module_call(trace))
    if tree is None:
        return CallCosts(
            forest.size, forest.post_order, forest.name, is_operator, times, forest.names
        )
    passes, inside = tree.is_backward_pass, tree.parent >= 0
    times = times[:, tree.node]
    directly_inside = inside & ~passes & passes[tree.parent]
    for values in times:
        before = prefix_sums(np.where(directly_inside, values, 0))
        places = np.flatnonzero(passes)
        values[places] = before[places + tree.size[places]] - before[places]
    return CallCosts(
        size=tree.size,
        finished=np.arange(len(tree)) + tree.size - 1 - tree.depth,
        name=forest.name[tree.node],
        is_operator=is_operator[tree.node] & ~passes,
        times=times,
        names=forest.names,
    )


Window: TypeAlias = tuple[int, int]

BLANK = "Blank"
COMPOSITE = "CompositeNodes"
_ALWAYS = (int(np.iinfo(np.int64).min), int(np.iinfo(np.int64).max))
_BY_KIND = {DATA_LOADER: "data loader", OPTIMIZER: "optimizer", STEP: "step"}
"""Calls that mark a place in the program whatever their name, as that tells their class."""

_INSTANCE = regex(r"_\d+(?=\.|$)")
"""What tells two modules of one class apart."""


def compare_trees(left: Trace, right: Trace) -> TreeSection:
    """The whole of two runs; sections inside are worked out when they are asked for."""
    return TreeSection(_full_stretch(_prepare(left)), _full_stretch(_prepare(right)))


@dataclass(frozen=True, eq=False)
class TreeSection:
    """The same place in both runs."""

    left: Stretch
    right: Stretch

    @cached_property
    def children(self) -> tuple[TreeSection, ...]:
        """Sections inside this one; none where nothing inside can be matched."""
        return tuple(_align_calls(self.left, self.right))


@dataclass(frozen=True, eq=False)
class Stretch:
    """Neighbouring calls of the main thread of one run."""

    run: _Run = field(repr=False)
    calls: Ints
    """Places in the tree of the run."""
    window: Window
    """What other threads start then belongs to it."""

    @property
    def name(self) -> str:
        if len(self.calls) != 1:
            return COMPOSITE if len(self.calls) else BLANK
        return self.run.name_of(int(self.calls[0]))

    @property
    def cost(self) -> Cost:
        """Of the main thread alone."""
        return self.run.costs.of(self.calls)

    @property
    def cost_of_other_threads(self) -> Cost:
        first, last = np.searchsorted(self.run.elsewhere_start, self.window)
        return self.run.elsewhere_costs.of(self.run.elsewhere[first:last])


class _Run(msgspec.Struct, frozen=True, eq=False):
    forest: CallForest
    tree: CallTree
    is_module: Flags
    """Of the calls of the tree: modules, not their backward passes."""
    costs: CallCosts
    elsewhere: Ints
    """Topmost calls of other threads that are not in the tree, by start; nodes of the forest."""
    elsewhere_start: Ints
    elsewhere_costs: CallCosts

    def name_of(self, place: int) -> str:
        name = self.forest.names[self.forest.name[self.tree.node[place]]]
        return f"{name}.{BACKWARD}" if self.tree.is_backward_pass[place] else name

    def callees(self, place: int) -> Ints:
        return children_of(place, self.tree.parent, self.tree.size)

    def anchors(self, calls: Ints) -> Ints:
        """Which of the calls mark a place in the program."""
        role = self.forest.role[self.tree.node[calls]]
        of_module = self.is_module[calls] | self.tree.is_backward_pass[calls]
        return np.flatnonzero(of_module | np.isin(role, list(_BY_KIND)))

    def sort_of(self, place: int) -> str:
        """What a call is, whatever its name; of modules the class."""
        role = int(self.forest.role[self.tree.node[place]])
        of_module = self.is_module[place] or self.tree.is_backward_pass[place]
        return _INSTANCE.sub("", self.name_of(place)) if of_module else _BY_KIND[role]


@memoize_per_trace
def _prepare(trace: Trace) -> _Run:
    forest, tree = call_forest(trace), grow_tree(trace)
    elsewhere = forest.parent < 0
    elsewhere[tree.node] = False
    nodes = np.flatnonzero(elsewhere)
    nodes = nodes[np.argsort(forest.start[nodes], kind="stable")]
    return _Run(
        forest=forest,
        tree=tree,
        is_module=is_module_call(trace)[tree.node] & ~tree.is_backward_pass,
        costs=costs_of(trace, tree),
        elsewhere=nodes,
        elsewhere_start=forest.start[nodes],
        elsewhere_costs=costs_of(trace),
    )


def _full_stretch(run: _Run) -> Stretch:
    """What the steps of the main thread call; all it calls where there are no steps."""
    tops = np.flatnonzero(run.tree.parent < 0)
    steps = tops[run.forest.role[run.tree.node[tops]] == STEP]
    if not len(steps):
        return Stretch(run, tops, _ALWAYS)
    calls = np.concatenate([run.callees(int(step)) for step in steps])
    return Stretch(run, calls, (int(run.tree.start[steps[0]]), int(run.tree.end[steps].max())))


def _align_calls(left: Stretch, right: Stretch) -> Iterator[TreeSection]:
    """Matched calls and what lies before, between and after them; nothing without a match."""
    ours, theirs = left.calls, right.calls
    if len(ours) == len(theirs) == 1:
        # What two single calls call; otherwise the calls themselves.
        ours, theirs = left.run.callees(int(ours[0])), right.run.callees(int(theirs[0]))
    our_anchors, their_anchors = left.run.anchors(ours), right.run.anchors(theirs)
    sides = ((left.run, ours[our_anchors]), (right.run, theirs[their_anchors]))
    # Calls that belong together, by name, or where no name is common by sort.
    pairs = align(*([run.name_of(at) for at in calls] for run, calls in sides))
    pairs = pairs or align(*([run.sort_of(at) for at in calls] for run, calls in sides))
    if not pairs:
        return
    left_parts = _cut_stretch(left, ours, our_anchors[[place for place, _ in pairs]])
    right_parts = _cut_stretch(right, theirs, their_anchors[[place for _, place in pairs]])
    for left_part, other in zip(left_parts, right_parts, strict=True):
        if len(left_part.calls) or len(other.calls):
            yield TreeSection(left_part, other)


def _cut_stretch(stretch: Stretch, calls: Ints, cuts: Ints) -> list[Stretch]:
    """In turn what lies before a cut and the call at the cut; at the end what is left."""
    borders = [0, *np.stack([cuts, cuts + 1]).T.ravel().tolist(), len(calls)]
    parts = [calls[first:last] for first, last in pairwise(borders)]
    # The window of the whole is divided: a part lasts until the next one starts.
    opens, until = stretch.window
    first = next(number for number, part in enumerate(parts) if len(part))
    stretches: list[Stretch] = []
    for number, part in reversed(list(enumerate(parts))):
        start = int(stretch.run.tree.start[part[0]]) if len(part) else until
        window = (opens if number == first else start, until)
        stretches.append(Stretch(stretch.run, part, window))
        until = window[0]
    return stretches[::-1]
