"""Cycles from Python calls: the call at the top of the program's loop.

Calls that only frame the program (`<module>`, `main`, an endless loop) are taken away first, so
that what the loop calls is on top.  Of those, the call with the largest total marks the cycles.
"""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from timesink.analyses.cycles.python.calls import PythonCalls, python_calls
from timesink.analyses.cycles.python.inner import inner_call
from timesink.analyses.cycles.python.loop_body import loop_bodies
from timesink.analyses.cycles.python.main_call import main_call
from timesink.analyses.cycles.python.prefill import prefill_calls, types_by_content
from timesink.analyses.cycles.python.top import REPEATING, top_calls
from timesink.analyses.cycles.ranking import NEARLY
from timesink.analyses.cycles.reading import Reading, spans_of
from timesink.analyses.cycles.types import is_pass_call
from timesink.analyses.nesting import Nodes
from timesink.model import units
from timesink.model.trace import Trace

_WRAPPER = re.compile(r": (decorate_context|wrapper|inner|_fn|wrapped|_wrapped\w*)$")


def python_anchor(trace: Trace) -> Reading | None:
    """Cycles by the call that the program's loop makes again and again; None without one."""
    calls = python_calls(trace)
    if not len(calls):
        return None
    top = top_calls(calls)
    main = main_call(calls, top)
    return None if main is None else _reading(calls, top, main)


def lone_pass(trace: Trace) -> str | None:
    """The call that is one pass of the work and holds most of the recording; None without one.

    What repeats inside of it are its parts.
    """
    calls = python_calls(trace)
    if not len(calls):
        return None
    inside = calls.flags(is_pass_call)[calls.name]
    extent = int(calls.end.max() - calls.start.min())
    longest = np.flatnonzero(inside & (calls.length >= REPEATING * extent))
    return calls.names[int(calls.name[longest[0]])] if len(longest) else None


def anchored(trace: Trace, names: frozenset[str]) -> Reading | None:
    """Cycles by Python calls that were asked for by name."""
    calls = python_calls(trace)
    chosen = calls.flags(names.__contains__)
    if not len(calls) or not chosen.any():
        return None
    top = top_calls(calls)
    nodes = calls.outermost(chosen[calls.name])
    code = int(np.flatnonzero(chosen)[0])
    return _reading(calls, top, code, nodes)


# -- its cycles ------------------------------------------------------------------------------------


def _reading(calls: PythonCalls, top: Nodes, code: int, asked_for: Nodes | None = None) -> Reading:
    main = calls.outermost(calls.name == code) if asked_for is None else asked_for
    main, lanes = _busiest_lanes(calls, main)
    early = prefill_calls(calls, top, code, main)
    chosen = np.sort(np.concatenate([main, early]))
    types, notes = types_by_content(calls, chosen, early)
    bodies = [loop_bodies(calls, top, chosen, lane) for lane in lanes]
    type_of = dict(zip(chosen.tolist(), types, strict=True))
    nodes = np.concatenate([body.nodes for body in bodies])
    spans = spans_of(
        calls.processes(nodes),
        calls.named(nodes),
        np.concatenate([body.start for body in bodies]),
        np.concatenate([body.end for body in bodies]),
        [type_of[node] for node in nodes.tolist()],
    )
    name = _inner_name(calls, main)
    own = calls.names[int(calls.name[main[0]])]
    spans = spans.with_columns(pl.col("name").replace({own: name}))
    reason = f"{name!r} is called {len(main)} times on top of the program's loop"
    if asked_for is not None:
        reason = f"asked for by name; {name!r} was called {units.counted(len(main), 'times')}"
        return Reading("marker", name, spans, 1.0, reason, notes)
    inside = inner_call(calls, main)
    return Reading(
        "python", name, spans, 0.9, reason, notes, inside=() if inside is None else (inside,)
    )


def _inner_name(calls: PythonCalls, nodes: Nodes) -> str:
    """What a call is known by: a wrapper goes by the name of what it wraps."""
    wraps = calls.flags(_WRAPPER.search)
    while wraps[calls.name[nodes[0]]]:
        inside = np.flatnonzero(np.isin(calls.parent, nodes))
        spent = np.bincount(calls.name[inside], weights=calls.length[inside])
        if not len(spent) or spent.max() < NEARLY * calls.length[nodes].sum():
            break
        nodes = inside[calls.name[inside] == int(spent.argmax())]
    return calls.names[int(calls.name[nodes[0]])]


def _busiest_lanes(calls: PythonCalls, nodes: Nodes) -> tuple[Nodes, list[int]]:
    """Calls of one thread per process, that with the most time in them."""
    spent = np.bincount(calls.lane[nodes], weights=calls.length[nodes], minlength=len(calls.lanes))
    busiest: dict[str, int] = {}
    for lane in np.argsort(spent, kind="stable")[::-1].tolist():
        if spent[lane]:
            busiest.setdefault(calls.lanes[lane][0], lane)
    lanes = sorted(busiest.values())
    return nodes[np.isin(calls.lane[nodes], lanes)], lanes
