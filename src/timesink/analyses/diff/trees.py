"""Two runs side by side: the same sections of their call trees, and what each spent in them.

A section is a stretch of neighbouring calls of the main thread.  Calls that mark a place in the
program (data loading, modules and their backward passes, optimizers, steps) are aligned as the
longest common subsequence of both runs; what lies between two of them is a section as well.
Names come first.  What they leave between two matches has no name in common, and is aligned by
sort inside that section: two classes of data loaders or optimizers, modules of one class.
Work of the other threads belongs to the section during which it started.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from timesink.analyses.call_tree import BACKWARD, CallTree, grow_tree
from timesink.analyses.diff.alignment import align
from timesink.analyses.diff.call_costs import CallCosts, Cost, costs_of_forest, costs_of_tree
from timesink.analyses.forest import DATA_LOADER, OPTIMIZER, STEP, CallForest, call_forest
from timesink.analyses.modules.table import is_module_call
from timesink.analyses.nesting import children_of
from timesink.analyses.once import once_per_trace
from timesink.model.arrays import Flags, Ints
from timesink.model.trace import Trace

Window: TypeAlias = tuple[int, int]

BLANK = "Blank"
COMPOSITE = "CompositeNodes"
_ALWAYS = (int(np.iinfo(np.int64).min), int(np.iinfo(np.int64).max))
_BY_KIND = {DATA_LOADER: "data loader", OPTIMIZER: "optimizer", STEP: "step"}
"""Calls that mark a place in the program whatever their name, as that tells their class."""

_INSTANCE = re.compile(r"_\d+(?=\.|$)")
"""What tells two modules of one class apart."""


def compare_trees(left: Trace, right: Trace) -> Section:
    """The whole of two runs; sections inside are worked out when they are asked for."""
    return Section(_everything(_prepare(left)), _everything(_prepare(right)))


@dataclass(frozen=True, eq=False)
class Section:
    """The same place in both runs."""

    left: Stretch
    right: Stretch

    @cached_property
    def children(self) -> tuple[Section, ...]:
        """Sections inside this one; none where nothing inside can be matched."""
        return tuple(_aligned(self.left, self.right))


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


# -- one run ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Run:
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


@once_per_trace
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
        costs=costs_of_tree(trace, tree),
        elsewhere=nodes,
        elsewhere_start=forest.start[nodes],
        elsewhere_costs=costs_of_forest(trace),
    )


def _everything(run: _Run) -> Stretch:
    """What the steps of the main thread call; all it calls where there are no steps."""
    tops = np.flatnonzero(run.tree.parent < 0)
    steps = tops[run.forest.role[run.tree.node[tops]] == STEP]
    if not len(steps):
        return Stretch(run, tops, _ALWAYS)
    calls = np.concatenate([run.callees(int(step)) for step in steps])
    return Stretch(run, calls, (int(run.tree.start[steps[0]]), int(run.tree.end[steps].max())))


# -- both runs -------------------------------------------------------------------------------------


def _aligned(left: Stretch, right: Stretch) -> Iterator[Section]:
    """Matched calls and what lies before, between and after them; nothing without a match."""
    left_calls, right_calls = _to_match(left, right)
    left_anchors = left.run.anchors(left_calls)
    right_anchors = right.run.anchors(right_calls)
    pairs = _matches(left.run, left_calls[left_anchors], right.run, right_calls[right_anchors])
    if not pairs:
        return
    left_parts = _cut(left, left_calls, left_anchors[[place for place, _ in pairs]])
    right_parts = _cut(right, right_calls, right_anchors[[place for _, place in pairs]])
    for ours, theirs in zip(left_parts, right_parts, strict=True):
        if len(ours.calls) or len(theirs.calls):
            yield Section(ours, theirs)


def _to_match(left: Stretch, right: Stretch) -> tuple[Ints, Ints]:
    """What two single calls call; otherwise the calls themselves."""
    if len(left.calls) == len(right.calls) == 1:
        return left.run.callees(int(left.calls[0])), right.run.callees(int(right.calls[0]))
    return left.calls, right.calls


def _matches(left: _Run, ours: Ints, right: _Run, theirs: Ints) -> list[tuple[int, int]]:
    """Places of calls that belong together, by name or where no name is common by sort."""
    by_name = align([left.name_of(at) for at in ours], [right.name_of(at) for at in theirs])
    if by_name:
        return by_name
    return align([left.sort_of(at) for at in ours], [right.sort_of(at) for at in theirs])


def _cut(stretch: Stretch, calls: Ints, cuts: Ints) -> list[Stretch]:
    """In turn what lies before a cut and the call at the cut; at the end what is left."""
    borders = [0, *np.stack([cuts, cuts + 1]).T.ravel().tolist(), len(calls)]
    parts = [calls[first:last] for first, last in pairwise(borders)]
    return [
        Stretch(stretch.run, part, window)
        for part, window in zip(parts, _windows(stretch, parts), strict=True)
    ]


def _windows(stretch: Stretch, parts: Sequence[Ints]) -> list[Window]:
    """The window of the whole, divided: a part lasts until the next one starts."""
    opens, until = stretch.window
    first = next(number for number, part in enumerate(parts) if len(part))
    windows: list[Window] = []
    for number, part in reversed(list(enumerate(parts))):
        start = int(stretch.run.tree.start[part[0]]) if len(part) else until
        windows.append((opens if number == first else start, until))
        until = windows[-1][0]
    return windows[::-1]
