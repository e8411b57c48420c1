"""Cycles from Python calls: the call at the top of the program's loop.

Calls that only frame the program (`<module>`, `main`, an endless loop) are taken away first, so
that what the loop calls is on top.  Of those, the call with the largest total marks the cycles.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.cycles.loop_body import Body, loop_bodies
from timesink.analyses.cycles.prefill import prefill_calls, types_by_content
from timesink.analyses.cycles.python_calls import PythonCalls, python_calls
from timesink.analyses.cycles.reading import MIN_REPEATS, Reading, spans_of
from timesink.analyses.cycles.types import type_of_name
from timesink.analyses.nesting import Nodes
from timesink.model.trace import Trace

NEARLY = 0.9
"""Totals this close together are taken as equal; the longer call is then the outer one."""
REPEATING = 0.5
"""A loop is found where calls that repeat make up this share of the time on top."""
_WRAPPER = re.compile(r": (decorate_context|wrapper|inner|_fn|wrapped|_wrapped\w*)$")
_PASS = re.compile(
    r"(^nn\.Module|[.: _](execute_model|run_batch\w*|_run_batch_inner|forward\w*|_?model_forward"
    r"|step|train_step|training_step|backward|prefill|decode)$)"
)
"""Calls that are one pass of the work: what repeats inside of one is a part of it, a layer."""


def python_anchor(trace: Trace) -> Reading | None:
    """Cycles by the call that the program's loop makes again and again; None without one."""
    calls = python_calls(trace)
    if not len(calls):
        return None
    top = _top_calls(calls)
    ranked = _ranked(calls, top)
    if not ranked:
        return None
    return _reading(calls, top, _main(calls, ranked))


def lone_pass(trace: Trace) -> str | None:
    """The call that is one pass of the work and holds most of the recording; None without one.

    What repeats inside of it are its parts.
    """
    calls = python_calls(trace)
    if not len(calls):
        return None
    inside = calls.flags(_PASS.search)[calls.name]
    extent = int(calls.end.max() - calls.start.min())
    longest = np.flatnonzero(inside & (calls.length >= REPEATING * extent))
    return calls.names[int(calls.name[longest[0]])] if len(longest) else None


def anchored(trace: Trace, names: frozenset[str]) -> Reading | None:
    """Cycles by Python calls that were asked for by name."""
    calls = python_calls(trace)
    chosen = calls.flags(names.__contains__)
    if not len(calls) or not chosen.any():
        return None
    top = _top_calls(calls)
    nodes = calls.outermost(chosen[calls.name])
    code = int(np.flatnonzero(chosen)[0])
    anchor = _Anchor(code, len(nodes), int(calls.length[nodes].sum()))
    return _reading(calls, top, anchor, nodes)


@dataclass(frozen=True, slots=True)
class _Anchor:
    name: int
    count: int
    total_ns: int

    @property
    def mean_ns(self) -> float:
        return self.total_ns / self.count


# -- what is on top --------------------------------------------------------------------------------


def _top_calls(calls: PythonCalls) -> Nodes:
    """Calls on top of each thread once its frames are taken away."""
    roots = np.flatnonzero(calls.parent < 0)
    parts = [_peeled(calls, roots[calls.lane[roots] == lane]) for lane in np.unique(calls.lane)]
    return np.sort(np.concatenate(parts)) if parts else roots


def _peeled(calls: PythonCalls, top: Nodes) -> Nodes:
    """Take away the one call that holds most of the time, until calls that repeat do.

    Nothing is left where they never do.
    """
    frame_like = ~calls.flags(_PASS.search)
    while len(top):
        length = np.where(calls.waits[calls.name[top]], 0, calls.length[top])
        total = int(length.sum())
        counts = np.bincount(calls.name[top], minlength=len(calls.names))
        repeats = (counts[calls.name[top]] >= MIN_REPEATS) & ~calls.barred[calls.name[top]]
        if not total:
            return top[:0]
        if length[repeats].sum() >= REPEATING * total:
            return top
        longest = int(np.argmax(length))
        node = int(top[longest])
        if length[longest] < REPEATING * total or not frame_like[calls.name[node]]:
            return top[:0]
        below = slice(node + 1, node + int(calls.size[node]))
        inside = np.flatnonzero(calls.parent[below] == node) + node + 1
        top = np.sort(np.concatenate([np.delete(top, longest), inside]))
    return top


# -- which of them ---------------------------------------------------------------------------------


def _ranked(calls: PythonCalls, top: Nodes) -> list[_Anchor]:
    """Names that repeat on top of a thread, the best first.

    The order is a total one: the largest total leads with all that come near it, and of these the
    longest calls win, because they hold the others.
    """
    lanes = len(calls.lanes)
    pair = calls.name[top] * lanes + calls.lane[top]
    size = len(calls.names) * lanes
    counts = np.bincount(pair, minlength=size).reshape(-1, lanes)
    totals = np.bincount(pair, weights=calls.length[top], minlength=size).reshape(-1, lanes)
    enough = (counts >= MIN_REPEATS) & ~calls.barred[:, None]
    count, total = (counts * enough).sum(axis=1), (totals * enough).sum(axis=1)
    left = [_Anchor(int(n), int(count[n]), int(total[n])) for n in np.flatnonzero(count)]
    ranked: list[_Anchor] = []
    while left:
        most = max(anchor.total_ns for anchor in left)
        near = [anchor for anchor in left if anchor.total_ns >= NEARLY * most]
        best = max(near, key=lambda a: (a.mean_ns, a.total_ns, calls.names[a.name]))
        ranked.append(best)
        left.remove(best)
    return ranked


def _main(calls: PythonCalls, ranked: list[_Anchor]) -> _Anchor:
    """The best; where that is a prefill by its name, the decode beside it."""
    types = [type_of_name(calls.names[anchor.name]) for anchor in ranked]
    if types[0] == "prefill" and "decode" in types:
        return ranked[types.index("decode")]
    return ranked[0]


# -- its cycles ------------------------------------------------------------------------------------


def _reading(
    calls: PythonCalls, top: Nodes, anchor: _Anchor, nodes: Nodes | None = None
) -> Reading:
    asked = nodes is not None
    main = calls.outermost(calls.name == anchor.name) if nodes is None else nodes
    main, lanes = _busiest_lanes(calls, main)
    early = prefill_calls(calls, top, anchor.name, main)
    chosen = np.sort(np.concatenate([main, early]))
    types, notes = types_by_content(calls, chosen, early)
    bodies = [loop_bodies(calls, top, chosen, lane) for lane in lanes]
    spans = spans_of(*_columns(calls, bodies, dict(zip(chosen.tolist(), types, strict=True))))
    name = _inner_name(calls, main)
    own = calls.names[int(calls.name[main[0]])]
    spans = spans.with_columns(pl.col("name").replace({own: name}))
    reason = f"{name!r} is called {len(main)} times on top of the program's loop"
    if asked:
        reason = f"asked for by name; {name!r} was called {len(main)} times"
    return Reading(
        "marker" if asked else "python", name, spans, 1.0 if asked else 0.9, reason, notes
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


def _columns(
    calls: PythonCalls, bodies: list[Body], type_of: dict[int, str]
) -> tuple[list[str], list[str], NDArray[np.int64], NDArray[np.int64], list[str]]:
    nodes = np.concatenate([body.nodes for body in bodies])
    return (
        [calls.lanes[lane][0] for lane in calls.lane[nodes].tolist()],
        [calls.names[name] for name in calls.name[nodes].tolist()],
        np.concatenate([body.start for body in bodies]),
        np.concatenate([body.end for body in bodies]),
        [type_of[node] for node in nodes.tolist()],
    )
