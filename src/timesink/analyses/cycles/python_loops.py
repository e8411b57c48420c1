"""Cycles from Python calls: the call at the top of the program's loop.

Calls that only frame the program (`<module>`, `main`, an endless loop) are taken away first, so
that what the loop calls is on top.  Of those, the call with the largest total marks the cycles.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict

import numpy as np
import polars as pl

from timesink.analyses.cycles.cycles import (
    MIN_REPEATS,
    NEARLY,
    Reading,
    decodes,
    extends,
    family_name,
    is_pass_call,
    spans_of,
    type_of_name,
)
from timesink.analyses.cycles.python_calls import (
    REPEATING,
    PythonCalls,
    inner_call,
    loop_bodies,
    main_call,
    python_calls,
    top_calls,
)
from timesink.analyses.forest import Nodes
from timesink.model import units
from timesink.model.arrays import Flags
from timesink.model.trace import Trace

SELDOM, LONGER = 0.1, 3.0
"""A prefill call comes at most this often, and lasts this many times as long, as a decode call."""
_LONGEST_SHARE = 80
"""Without names to tell, prefills are among the longest: above this percentile."""
_TOO_SHORT_NS = 1_000_000


def prefill_calls(calls: PythonCalls, top: Nodes, main_name: int, main: Nodes) -> Nodes:
    """Calls of the prefill function, where it is another one than the main one."""
    lanes = np.unique(calls.lane[main])
    beside: Nodes = top[np.isin(calls.lane[top], lanes) & (calls.name[top] != main_name)]
    beside = beside[~calls.barred[calls.name[beside]]]
    size = len(calls.names)
    count = np.bincount(calls.name[beside], minlength=size)
    total = np.bincount(calls.name[beside], weights=calls.length[beside], minlength=size)
    typical = calls.length[main].mean()
    fits = (count >= MIN_REPEATS) & (count <= SELDOM * len(main))
    fits &= total > LONGER * typical * count
    fits |= (count > 0) & calls.flags(lambda name: type_of_name(name) == "prefill")
    if not fits.any():
        return beside[:0]
    largest = int(np.argmax(np.where(fits, total, -1.0)))
    return np.asarray(beside[calls.name[beside] == largest])


def types_by_content(
    calls: PythonCalls, chosen: Nodes, early: Nodes
) -> tuple[list[str], tuple[str, ...]]:
    """What sort each marking call is: by its name, by what it calls, by its length at last."""
    if len(early):
        types = np.where(np.isin(chosen, early), "prefill", "decode")
        name = calls.names[int(calls.name[early[0]])]
        note = f"{units.counted(len(early), 'calls')} of {name!r} taken as prefill"
        return types.tolist(), (note,)
    # Text is encoded and decoded as well: then a bare `decode` says nothing.
    texts = any(_function(name) == "encode" for name in calls.names)
    tells = calls.flags(lambda name: decodes(name) and not (texts and _function(name) == "decode"))
    prefills, continues = (_holds(calls, chosen, flags) for flags in (calls.flags(extends), tells))
    types = np.where(prefills, "prefill", np.where(continues, "decode", "generic"))
    unknown, known = np.flatnonzero(types == "generic"), np.flatnonzero(types != "generic")
    if not len(known):
        return _by_length(calls, chosen)
    if not len(unknown):
        return types.tolist(), ()
    # Cycles that nothing tells about take the type of their neighbours, and are counted.
    length = calls.length[chosen]
    place = np.searchsorted(known, unknown)
    before, after = known[np.maximum(place - 1, 0)], known[np.minimum(place, len(known) - 1)]
    nearer = np.abs(length[before] - length[unknown]) <= np.abs(length[after] - length[unknown])
    types[unknown] = types[np.where(nearer, before, after)]
    takes = "takes" if len(unknown) == 1 else "take"
    count = units.counted(len(unknown), "cycles")
    return types.tolist(), (f"{count} {takes} the type of the neighbours",)


def _function(name: str) -> str:
    return name.rpartition(": ")[2].rpartition(".")[2]


def _holds(calls: PythonCalls, nodes: Nodes, wanted: Flags) -> Flags:
    """Whether each call is, or calls, one of the wanted names."""
    before = np.concatenate([[0], np.cumsum(wanted[calls.name])])
    return np.asarray(before[nodes + calls.size[nodes]] > before[nodes])


def _by_length(calls: PythonCalls, chosen: Nodes) -> tuple[list[str], tuple[str, ...]]:
    """Much longer calls are prefills if they also do something else than the others."""
    length = calls.length[chosen]
    generic = ["generic"] * len(chosen)
    counted = length[length > _TOO_SHORT_NS]
    if len(counted) < MIN_REPEATS:
        return generic, ()
    typical = float(np.median(counted))
    long = (length > np.percentile(counted, _LONGEST_SHARE)) & (length > LONGER * typical)
    if not long.any():
        return generic, ()
    # Something is called in all of some and in none of the others, or in turn.
    here, there = _presence(calls, chosen[long]), _presence(calls, chosen[~long])
    every = {name for name in here if here[name] == long.sum() and not there[name]}
    every |= {name for name in there if there[name] == (~long).sum() and not here[name]}
    if not every:
        slow = units.counted(int(long.sum()), "cycles")
        note = f"{slow} lasted over {LONGER:.0f} times as long as usual but did the same"
        return generic, (f"{note}, so not taken as prefill",)
    return np.where(long, "prefill", "decode").tolist(), ("prefill told by length and content",)


def _presence(calls: PythonCalls, nodes: Nodes) -> Counter[int]:
    """In how many of the calls each name occurs."""
    return Counter(
        name
        for node in nodes.tolist()
        for name in np.unique(calls.name[node : node + int(calls.size[node])]).tolist()
    )


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


def _reading(calls: PythonCalls, top: Nodes, code: int, asked_for: Nodes | None = None) -> Reading:
    main = calls.outermost(calls.name == code) if asked_for is None else asked_for
    # One thread per process, that with the most time in the calls.
    spent = np.bincount(calls.lane[main], weights=calls.length[main], minlength=len(calls.lanes))
    busiest: dict[str, int] = {}
    for lane in np.argsort(spent, kind="stable")[::-1].tolist():
        if spent[lane]:
            busiest.setdefault(calls.lanes[lane][0], lane)
    lanes = sorted(busiest.values())
    main = main[np.isin(calls.lane[main], lanes)]
    early = prefill_calls(calls, top, code, main)
    chosen = np.sort(np.concatenate([main, early]))
    types, notes = types_by_content(calls, chosen, early)
    bodies = [loop_bodies(calls, top, chosen, lane) for lane in lanes]
    type_of = dict(zip(chosen.tolist(), types, strict=True))
    nodes, start, end = (np.concatenate(part) for part in zip(*bodies, strict=True))
    types = [type_of[node] for node in nodes.tolist()]
    spans = spans_of(calls.processes(nodes), calls.named(nodes), start, end, types)
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


# Cycles of single layers: for those who ask for them, never a guess at the unit of a run.

_LAYER = re.compile(r"layer(?!_?norm)(?!s?/)", re.IGNORECASE)
"""A layer by its name; a norm of layers and a file in a folder `layers/` are none."""


def layers(trace: Trace) -> Reading | None:
    """Every call of the outermost function or module that is a layer by its name.

    Of several, the one that is called nearest to the top, then on average nearest, then the
    longest, the steadiest, the one with the largest total.
    """
    calls = python_calls(trace)
    # Modules that differ in their number are one.
    codes: defaultdict[str, list[int]] = defaultdict(list)
    for code, name in enumerate(calls.names):
        if _LAYER.search(name.rpartition("): ")[2]):
            codes[family_name(name) if name.startswith("nn.Module: ") else name].append(code)
    found = [
        (*_rank(calls, nodes), name, nodes)
        for name, own in codes.items()
        if len(nodes := calls.outermost(np.isin(calls.name, own))) >= MIN_REPEATS
    ]
    if not found:
        return None
    *_, name, nodes = min(found, key=lambda one: one[:-1])
    spans = spans_of(
        calls.processes(nodes), calls.named(nodes), calls.start[nodes], calls.end[nodes]
    )
    reason = f"{name!r} is the outermost call named as a layer, {len(nodes)} times"
    return Reading("layer", name, spans, 0.9, reason)


def _rank(calls: PythonCalls, nodes: Nodes) -> tuple[float, float, float, float, float]:
    depth, length = calls.depth[nodes], calls.length[nodes]
    mean = float(length.mean())
    spread = float(length.std()) / max(mean, 1.0)
    return (float(depth.min()), float(depth.mean()), -mean, spread, -float(length.sum()))
