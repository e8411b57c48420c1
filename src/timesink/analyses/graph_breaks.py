"""Where a compiler broke its graph, and how long the host is between the graphs on both sides.

Reasons come from what lies beside the recording.  Without it Python functions, where they were
recorded, still say the lines: the rest of a function has a name of its own after a break.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np
from msgspec import structs

from timesink.analyses.columns import (
    host_columns,
    host_lanes,
    host_names,
    memoize_per_trace,
    start_and_end,
)
from timesink.analyses.steps import complete_steps
from timesink.model.compiled_code import RESUMED, GraphBreak
from timesink.model.intervals import Ints
from timesink.model.trace import Trace
from timesink.patterns import regex

_RESUMED_FUNCTION = regex(rf"^(?P<file>.+)\(\d+\): {RESUMED}(?P<function>\w+)_at_(?P<line>\d+)$")
_REGION = regex(r"^Torch-Compiled Region: (\d+/\d+)")
_GRAPH_RUN = regex(r"^## Call CompiledFxGraph|^CompiledFunction$")


class BreakCost(msgspec.Struct, frozen=True):
    """A graph break, and what the host does there in the complete steps."""

    graph_break: GraphBreak
    times: int = 0
    """How often a graph after it ran; 0 where the recording does not tell."""
    between_ns: int = 0
    """From the end of the graph before it to the graph after it, in all.

    Breaks at one place have it in common."""


@memoize_per_trace
def graph_breaks(trace: Trace) -> tuple[BreakCost, ...]:
    """The graph breaks of a program, the costliest first.

    >>> import timesink
    >>> graph_breaks(timesink.open(timesink.sample()))
    ()
    """
    code = trace.metadata.compiled
    if code is None:
        return tuple(BreakCost(graph_break) for graph_break in _of_python_functions(trace))
    resumed = {
        compilation.number: compilation.place
        for compilation in code.compilations
        if compilation.function.startswith(RESUMED)
    }
    times: dict[str, int] = {}
    spent: dict[str, int] = {}
    for number, between_ns in _resumed_runs(trace):
        place = resumed.get(number)
        if place is not None:
            times[place] = times.get(place, 0) + 1
            spent[place] = spent.get(place, 0) + between_ns
    costs = [
        BreakCost(graph_break, times.get(graph_break.place, 0), spent.get(graph_break.place, 0))
        for graph_break in code.breaks
    ]
    return tuple(sorted(costs, key=lambda cost: (-cost.between_ns, -cost.graph_break.times)))


def _of_python_functions(trace: Trace) -> Iterator[GraphBreak]:
    breaks: dict[str, GraphBreak] = {}
    for name in filter(None, host_names(trace).texts):
        match = _RESUMED_FUNCTION.match(name) if RESUMED in name else None
        if match is not None:
            place = f"{match['file']}:{match['line']}"
            graph_break = breaks.get(
                place, GraphBreak("", place, function=match["function"], times=0)
            )
            breaks[place] = structs.replace(graph_break, times=graph_break.times + 1)
    yield from breaks.values()


def _resumed_runs(trace: Trace) -> Iterator[tuple[str, int]]:
    """Runs of compiled code after another graph of the same complete step, by their numbers.

    With each the time since that graph ended.
    """
    named, host = host_names(trace), host_columns(trace)
    regions = named.rows(lambda name: _REGION.match(name) is not None)
    graphs = named.rows(lambda name: _GRAPH_RUN.match(name) is not None)
    start, end = start_and_end(host)
    lane, _ = host_lanes(trace)
    ends: dict[int, Ints] = {
        number: np.sort(end[graphs[lane[graphs] == number]])
        for number in np.unique(lane[graphs]).tolist()
    }
    complete = complete_steps(trace)
    steps = complete.select("start_ns", "end_ns").to_numpy().reshape(-1, 2)
    for row in regions.tolist():
        before = ends.get(int(lane[row]))
        name = named.texts[named.codes[row]]
        match = _REGION.match(name or "")
        step = steps[(steps[:, 0] <= start[row]) & (start[row] < steps[:, 1])]
        if before is None or match is None or not len(step):
            continue
        place = int(np.searchsorted(before, start[row], side="right")) - 1
        if place >= 0 and before[place] >= step[0, 0]:
            yield match[1], int(start[row] - before[place])
