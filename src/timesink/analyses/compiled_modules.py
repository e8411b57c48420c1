"""Device time of compiled graphs by module, as the provenance of their code says.

Within a run of a graph its code makes the same calls in the same order, generated kernels and
operators alike.  Where the recorded calls are these, each belongs to the modules of its place in
the code.  What fuses the work of several modules counts for the innermost one around all of them:
nothing is divided.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import takewhile

import msgspec
import numpy as np
import polars as pl

from timesink.analyses.columns import memoize_per_trace
from timesink.analyses.compiled import GraphRuns, graph_runs
from timesink.analyses.forest import call_forest
from timesink.analyses.operators import node_times
from timesink.model.compiled_code import CompiledGraph
from timesink.model.trace import Trace

SCHEMA: dict[str, pl.DataType] = {
    **dict.fromkeys(("module", "kind"), pl.String()),
    **dict.fromkeys(("calls", "device_ns", "device_self_ns", "backward_ns"), pl.Int64()),
}
OUTSIDE = "outside of modules"


class _ModuleTime(msgspec.Struct):
    """What a module itself takes, in forward and backward graphs."""

    calls: int = 0
    forward_ns: int = 0
    backward_ns: int = 0


@memoize_per_trace
def compiled_modules(trace: Trace) -> pl.DataFrame:
    """One row per module of compiled graphs, after the one around it; empty without provenance.

    >>> import timesink
    >>> compiled_modules(timesink.open(timesink.sample())).height
    0
    """
    times, kinds = _times_of_modules(trace)
    if not times:
        return pl.DataFrame(schema=SCHEMA)
    # Every module around one that has a time, too.
    rows = dict.fromkeys(
        ".".join(path.split(".")[: depth + 1])
        for path in sorted(times, key=_order)
        for depth in range(path.count(".") + 1)
    )
    below: dict[str, _ModuleTime] = {path: _ModuleTime() for path in rows}
    for path, spent in times.items():
        for outer in [path, *_around(path)]:
            below[outer].calls += spent.calls
            below[outer].forward_ns += spent.forward_ns
            below[outer].backward_ns += spent.backward_ns
    return pl.DataFrame(
        [
            {
                "module": path or OUTSIDE,
                "kind": kinds.get(path),
                "calls": total.calls,
                "device_ns": total.forward_ns,
                "device_self_ns": times[path].forward_ns if path in times else 0,
                "backward_ns": total.backward_ns,
            }
            for path, total in below.items()
        ],
        schema=SCHEMA,
    )


def _around(path: str) -> list[str]:
    """The modules around one, the innermost first."""
    steps = path.split(".")
    return [".".join(steps[:depth]) for depth in range(len(steps) - 1, 0, -1)]


def _order(path: str) -> list[tuple[int, str]]:
    """Layers by their numbers, what is in no module last."""
    return [(int(step), "") if step.isdigit() else (-1, step or "\x7f") for step in path.split(".")]


def _times_of_modules(trace: Trace) -> tuple[dict[str, _ModuleTime], dict[str, str]]:
    """Times by the path of modules, and their classes, of all runs that go by their code."""
    code = trace.metadata.compiled
    graphs = {} if code is None else {key: graph for graph in code.graphs for key in graph.keys}
    times: dict[str, _ModuleTime] = defaultdict(_ModuleTime)
    kinds: dict[str, str] = {}
    if not graphs:
        return times, kinds
    runs, forest = graph_runs(trace), call_forest(trace)
    device_ns = node_times(trace).device_total
    for run, key in enumerate(runs.keys):
        graph = graphs.get(key)
        nodes = [] if graph is None else _calls_in(trace, runs, run, graph)
        if graph is None or len(nodes) != len(graph.calls):
            continue
        for node, call in zip(nodes, graph.calls, strict=True):
            if forest.names[forest.name[node]] != call.name:
                break
        else:
            for node, call in zip(nodes, graph.calls, strict=True):
                kinds.update(zip(call.use.modules, call.use.module_kinds, strict=False))
                spent = times[_common(call.use.modules)]
                spent.calls += 1
                spent.backward_ns += int(device_ns[node]) * graph.is_backward
                spent.forward_ns += int(device_ns[node]) * (not graph.is_backward)
    return times, kinds


def _calls_in(trace: Trace, runs: GraphRuns, run: int, graph: CompiledGraph) -> list[int]:
    """The outermost calls of a run that its code could have made, in order."""
    forest = call_forest(trace)
    names = {call.name for call in graph.calls}
    lane = tuple(runs.lanes[runs.lane[run]])
    thread = next((at for at, other in enumerate(forest.threads) if tuple(other) == lane), -1)
    # Calls of a thread lie side by side, in the order of their starts.
    first, beyond_thread = np.searchsorted(forest.thread, (thread, thread + 1))
    starts = forest.start[first:beyond_thread]
    begin, end = np.searchsorted(starts, (runs.start[run], runs.end[run])) + first
    inside = np.arange(begin, end)[forest.end[begin:end] <= runs.end[run]]
    calls: list[int] = []
    beyond = -1
    for node in inside.tolist():
        if node >= beyond and forest.names[forest.name[node]] in names:
            calls.append(node)
            beyond = node + int(forest.size[node])
    return calls


def _common(modules: Sequence[str]) -> str:
    """The innermost module around some; empty where that is none.

    >>> _common(["layers.0.up", "layers.0"]), _common(["layers.1", "head"])
    ('layers.0', '')
    """
    steps = zip(*(module.split(".") for module in modules), strict=False)
    shared = takewhile(lambda names: len(set(names)) == 1, steps)
    return ".".join(names[0] for names in shared)
