"""The backward pass of every module call: from the first to the last of its backward calls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from timesink.analyses.enclosing import enclosing
from timesink.analyses.forest import STEP, CallForest, call_forest
from timesink.analyses.modules.backward import link_backward
from timesink.analyses.modules.table import is_module_call
from timesink.analyses.nesting import Nodes
from timesink.analyses.once import once_per_trace
from timesink.model.arrays import Flags, Ints
from timesink.model.trace import Trace


@dataclass(frozen=True, eq=False)
class BackwardPasses:
    """Backward passes of module calls, and the backward calls that belong to them."""

    module: Nodes
    caller: Ints
    """Place of the pass of the module around, -1 on top."""
    start: Ints
    end: Ints
    call: Nodes
    call_pass: Ints


@once_per_trace
def backward_passes(trace: Trace) -> BackwardPasses:
    """The backward passes of a trace: of modules whose operators have backward calls."""
    forest = call_forest(trace)
    links, is_module = link_backward(trace), is_module_call(trace)
    top = (forest.parent[links.node] < 0) | (forest.role[forest.parent[links.node]] == STEP)
    own = enclosing(np.where(top, links.forward, -1), forest.parent, is_module)
    call, own = links.node[own >= 0], own[own >= 0]
    module = _with_callers(own, forest, is_module)
    around = enclosing(forest.parent[module], forest.parent, is_module)
    caller = np.where(around >= 0, np.searchsorted(module, around), -1)
    call_pass = np.searchsorted(module, own)
    start = np.full(len(module), np.iinfo(np.int64).max)
    end = np.full(len(module), np.iinfo(np.int64).min)
    np.minimum.at(start, call_pass, forest.start[call])
    np.maximum.at(end, call_pass, forest.end[call])
    for depth in np.unique(forest.depth[module])[::-1]:
        inner = np.flatnonzero((forest.depth[module] == depth) & (caller >= 0))
        np.minimum.at(start, caller[inner], start[inner])
        np.maximum.at(end, caller[inner], end[inner])
    return BackwardPasses(module, caller, start, end, call, call_pass)


def _with_callers(modules: Nodes, forest: CallForest, is_module: Flags) -> Nodes:
    """These module calls and all around them, once each and in order."""
    found = [np.unique(modules)]
    while len(found[-1]):
        around = np.unique(enclosing(forest.parent[found[-1]], forest.parent, is_module))
        found.append(around[around >= 0])
    return np.unique(np.concatenate(found))
