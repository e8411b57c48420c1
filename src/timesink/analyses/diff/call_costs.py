"""What stretches of calls cost, with everything they call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from timesink.analyses.call_times import node_times
from timesink.analyses.call_tree import CallTree
from timesink.analyses.forest import CallForest, call_forest
from timesink.analyses.modules.table import is_module_call
from timesink.analyses.once import once_per_trace
from timesink.model.arrays import Flags, Ints
from timesink.model.trace import Trace


@dataclass(frozen=True, slots=True)
class OperatorCost:
    """The calls of one operator."""

    name: str
    calls: int
    host_ns: int
    device_ns: int
    host_self_ns: int
    device_self_ns: int


@dataclass(frozen=True, slots=True)
class Cost:
    """What some calls took; `total_ns` counts each by its device work, or its length without."""

    host_ns: int
    device_ns: int
    total_ns: int
    operators: tuple[OperatorCost, ...]
    """Operators among them and below, in the order in which they first finished."""


@dataclass(frozen=True, eq=False)
class CallCosts:
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
        host, device = self.times[0, roots], self.times[1, roots]
        return Cost(
            host_ns=int(host.sum()),
            device_ns=int(device.sum()),
            total_ns=int(np.where(device > 0, device, host).sum()),
            operators=tuple(self._operators(self._below(roots))),
        )

    def _below(self, roots: Ints) -> Ints:
        sizes = self.size[roots]
        skipped = np.repeat(roots - (np.cumsum(sizes) - sizes), sizes)
        places = skipped + np.arange(len(skipped))
        return places[self.is_operator[places]]

    def _operators(self, places: Ints) -> list[OperatorCost]:
        codes, group = np.unique(self.name[places], return_inverse=True)
        first = np.full(len(codes), len(self.size))
        np.minimum.at(first, group, self.finished[places])
        sums = np.zeros((4, len(codes)), dtype=np.int64)
        for total, values in zip(sums, self.times, strict=True):
            np.add.at(total, group, values[places])
        rows = zip(codes, np.bincount(group, minlength=len(codes)), *sums, strict=True)
        found = [OperatorCost(self.names[row[0]], *map(int, row[1:])) for row in rows]
        return [found[place] for place in np.argsort(first, kind="stable")]


@once_per_trace
def costs_of_forest(trace: Trace) -> CallCosts:
    """Of the calls of every thread, as recorded."""
    forest = call_forest(trace)
    return CallCosts(
        size=forest.size,
        finished=forest.post_order,
        name=forest.name,
        is_operator=_is_operator(trace, forest),
        times=_times(trace),
        names=forest.names,
    )


def costs_of_tree(trace: Trace, tree: CallTree) -> CallCosts:
    """Of the calls of a tree; a backward pass costs what the calls in it cost."""
    forest = call_forest(trace)
    passes, inside = tree.is_backward_pass, tree.parent >= 0
    times = _times(trace)[:, tree.node]
    directly_inside = inside & ~passes & passes[tree.parent]
    for values in times:
        before = np.concatenate([[0], np.cumsum(np.where(directly_inside, values, 0))])
        places = np.flatnonzero(passes)
        values[places] = before[places + tree.size[places]] - before[places]
    return CallCosts(
        size=tree.size,
        finished=np.arange(len(tree)) + tree.size - 1 - tree.depth,
        name=forest.name[tree.node],
        is_operator=_is_operator(trace, forest)[tree.node] & ~passes,
        times=times,
        names=forest.names,
    )


def _times(trace: Trace) -> Ints:
    times = node_times(trace)
    return np.stack([times.host_total, times.device_total, times.host_self, times.device_self])


def _is_operator(trace: Trace, forest: CallForest) -> Flags:
    return np.asarray(forest.is_operator & ~is_module_call(trace))
