"""Cycles from Python calls: the call at the top of the program's loop.

Calls that only frame the program (`<module>`, `main`, an endless loop) are taken away first, so
that what the loop calls is on top.  Of those, the call with the largest total marks the cycles.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from functools import cached_property

import numpy as np
import polars as pl

from timesink.analyses.columns import host_columns, memoize_per_trace
from timesink.analyses.cycles.marks import (
    decodes,
    extends,
    family_name,
    is_pass_call,
    is_wait,
    type_of_name,
)
from timesink.analyses.cycles.spans import Candidate, Cycles, Timed, best_first, period_ns, spans_of
from timesink.analyses.forest import NestedCalls, descendant_mask, nested_calls
from timesink.analyses.thresholds import PythonCallsLimits, SpansLimits
from timesink.model import intervals, units
from timesink.model.arrays import prefix_sums, wide
from timesink.model.intervals import Flags, Ints, union_starts
from timesink.model.nested_calls import Nodes
from timesink.model.trace import Trace
from timesink.patterns import regex

_NOT_AN_ANCHOR = regex(r"(^|[.: ])_(wrapped_)?call_impl$|torch/(autograd/)?profiler|^<built-in")
"""Calls that are no unit of anybody's work: dispatch, the profiler itself, builtins."""


class PythonCalls(NestedCalls):
    """Python calls and those of modules."""

    @cached_property
    def length(self) -> Ints:
        return self.end - self.start

    @cached_property
    def waits(self) -> Flags:
        """For each of `names`: whether such a call only waits."""
        return self.flags(is_wait)

    @cached_property
    def barred(self) -> Flags:
        """For each of `names`: whether such a call cannot mark a cycle."""
        return self.waits | self.flags(_NOT_AN_ANCHOR.search)

    def processes(self, nodes: Nodes) -> list[str]:
        """The process of each of some calls."""
        return [self.threads[thread][0] for thread in self.thread[nodes].tolist()]

    def outermost(self, chosen: Flags) -> Nodes:
        """Of the chosen calls those that are inside no other chosen one."""
        nodes = np.flatnonzero(chosen)
        return nodes[union_starts(nodes, nodes + self.size[nodes])]


@memoize_per_trace
def python_calls(trace: Trace) -> PythonCalls:
    """Nest the Python and module calls of a recording; threads with a single call are left out."""
    host = host_columns(trace)
    kinds = pl.col("kind").is_in(["python_function", "module"])
    calls = host.filter(kinds & (pl.col("dur_ns") > 0))
    calls = calls.filter(pl.len().over("pid", "tid") > 1)
    return nested_calls(calls, PythonCalls)


def top_calls(calls: PythonCalls) -> Nodes:
    """Calls on top of each thread once its frames are taken away."""
    roots = np.flatnonzero(calls.parent < 0)
    parts = [
        peel_frames(calls, roots[calls.thread[roots] == lane]) for lane in np.unique(calls.thread)
    ]
    return np.sort(np.concatenate(parts)) if parts else roots


def peel_frames(calls: PythonCalls, top: Nodes) -> Nodes:
    """Take away the one call that holds most of the time, until calls that repeat do.

    Nothing is left where they never do.
    """
    frame_like = ~calls.flags(is_pass_call)
    while len(top):
        length = np.where(calls.waits[calls.name[top]], 0, calls.length[top])
        total = int(length.sum())
        counts = np.bincount(calls.name[top], minlength=len(calls.names))
        repeats = (counts[calls.name[top]] >= SpansLimits.min_repeats) & ~calls.barred[
            calls.name[top]
        ]
        if not total:
            return top[:0]
        if length[repeats].sum() >= PythonCallsLimits.repeating * total:
            return top
        longest = int(np.argmax(length))
        node = int(top[longest])
        if (
            length[longest] < PythonCallsLimits.repeating * total
            or not frame_like[calls.name[node]]
        ):
            return top[:0]
        top = np.sort(np.concatenate([np.delete(top, longest), calls.children(node)]))
    return top


def main_call(calls: PythonCalls, top: Nodes) -> int | None:
    """The name with the largest total on top, as its place in `names`; None where none repeats.

    Where that is a prefill by its name, the best of the decodes beside it.
    """
    # Names that repeat on top of a thread.
    lanes = len(calls.threads)
    pair = wide(calls.name[top]) * lanes + calls.thread[top]
    size = len(calls.names) * lanes
    counts = np.bincount(pair, minlength=size).reshape(-1, lanes)
    totals = np.bincount(pair, weights=calls.length[top], minlength=size).reshape(-1, lanes)
    enough = (counts >= SpansLimits.min_repeats) & ~calls.barred[:, None]
    count, total = (counts * enough).sum(axis=1), (totals * enough).sum(axis=1)
    repeating = [
        Timed(calls.names[code], int(count[code]), int(total[code]))
        for code in np.flatnonzero(count).tolist()
    ]
    if not repeating:
        return None
    ranked = best_first(repeating)
    best = next(ranked)
    if type_of_name(best.name) == "prefill":
        best = next((other for other in ranked if type_of_name(other.name) == "decode"), best)
    return calls.names.index(best.name)


def inner_call(calls: PythonCalls, main: Nodes) -> Candidate | None:
    """What the marking call of typical length calls again and again for most of its time.

    None where that is one pass of the work: what repeats inside of it are its layers.
    """
    typical = int(main[np.argsort(calls.length[main], kind="stable")[len(main) // 2]])
    if is_pass_call(calls.names[int(calls.name[typical])]):
        return None
    code = main_call(calls, peel_frames(calls, calls.children(typical)))
    if code is None:
        return None
    nodes = calls.outermost((calls.name == code) & descendant_mask(main, calls.size))
    name = calls.names[code]
    spans = spans_of(calls.processes(nodes), name, calls.start[nodes], calls.end[nodes])
    reason = f"{name!r} is called repeatedly within the steps"
    return Candidate("python", name, len(nodes), period_ns(spans), reason, name)


# Where the body of a loop begins and ends around the call that marks it.
#
# A loop does more than its main call: it fetches before and hands on after.  Calls between two
# marking calls belong to the later one, unless they follow the last marking call of the recording
# and do not precede the first: those close a body.

_BREAK_LENGTHS, _BREAK_NS = 5, 50_000_000
"""A pause of so many typical calls, and at least so long, ends a chain of cycles."""
_NEVER = np.iinfo(np.int64).max


def loop_bodies(
    calls: PythonCalls, top: Nodes, chosen: Nodes, lane: int
) -> tuple[Nodes, Ints, Ints]:
    """Widen the marking calls of one thread to the bodies of the loop they are in.

    The marking call of each cycle, its start and its end.
    """
    nodes = chosen[calls.thread[chosen] == lane]
    on_top = top[calls.thread[top] == lane]
    # The call on top each marking call is in, or is; -1 where it is in none.
    above = np.searchsorted(on_top, nodes, side="right") - 1
    holder = on_top[np.maximum(above, 0)] if len(on_top) else np.full(len(nodes), -1)
    holder = np.where((above >= 0) & (nodes < holder + calls.size[holder]), holder, -1)
    # The call on top that holds just one marking call; else the marking call itself.
    is_only = np.bincount(holder + 1, minlength=len(calls) + 1)[holder + 1] == 1
    core = np.where((holder >= 0) & is_only, holder, nodes)
    start, end = calls.start[core], calls.end[core]
    # Calls on top that are no marking calls, and how many marking calls began before each.
    inside = intervals.enclosing_interval(calls.start[on_top], start, end) >= 0
    rest = on_top[~inside & ~np.isin(on_top, holder) & ~calls.barred[calls.name[on_top]]]
    name, begin = calls.name[rest], calls.start[rest]
    gap = np.searchsorted(start, begin)
    # Which of them close a body, and which open one; both come in most gaps.
    count = len(nodes)
    size = int(name.max(initial=0)) + 1
    inner = (gap > 0) & (gap < count)
    seen = np.unique(np.stack([name[inner], gap[inner]]), axis=1)[0]
    usual = np.bincount(seen, minlength=size) >= max(1, PythonCallsLimits.usual * (count - 1))
    first = np.bincount(name[gap == 0], minlength=size) > 0
    last = np.bincount(name[gap == count], minlength=size) > 0
    closes = usual & last & ~first
    closing, opening = closes[name], (usual & ~closes)[name]
    # Ends moved behind the closing calls that follow at once.
    stop = np.full(len(end) + 1, _NEVER)
    np.minimum.at(stop, gap[~closing], begin[~closing])
    closing &= (gap > 0) & (begin < stop[gap])
    np.maximum.at(end, gap[closing] - 1, calls.end[rest][closing])
    return nodes, _open_starts(name[opening], begin[opening], gap[opening], start, end), end


def _open_starts(name: Ints, begin: Ints, gap: Ints, start: Ints, end: Ints) -> Ints:
    """Starts moved before the opening calls; after a long pause before the last round of them."""
    longest = max(_BREAK_LENGTHS * float(np.median(end - start)), _BREAK_NS)
    free_from = np.concatenate([[start[0] - longest], end[:-1]]).astype(np.int64)
    free = np.flatnonzero(gap < len(start))
    free = free[begin[free] >= free_from[gap[free]]]
    if not len(free):
        return start
    name, begin, gap = name[free], begin[free], gap[free]
    earliest = start.copy()
    np.minimum.at(earliest, gap, begin)
    # The call that most often comes first between two marking calls.
    rows = np.flatnonzero(gap > 0)
    rows = rows if len(rows) else np.arange(len(gap))
    firsts = rows[np.unique(gap[rows], return_index=True)[1]]
    leads = name == int(np.bincount(name[firsts]).argmax())
    latest = free_from - 1
    np.maximum.at(latest, gap[leads], begin[leads])
    near = start - free_from < longest
    recent = (latest >= free_from) & (start - latest < longest)
    return np.where(near, earliest, np.where(recent, latest, start))


SELDOM, LONGER = 0.1, 3.0
"""A prefill call comes at most this often, and lasts this many times as long, as a decode call."""


def prefill_calls(calls: PythonCalls, top: Nodes, main_name: int, main: Nodes) -> Nodes:
    """Calls of the prefill function, where it is another one than the main one."""
    lanes = np.unique(calls.thread[main])
    beside: Nodes = top[np.isin(calls.thread[top], lanes) & (calls.name[top] != main_name)]
    beside = beside[~calls.barred[calls.name[beside]]]
    size = len(calls.names)
    count = np.bincount(calls.name[beside], minlength=size)
    total = np.bincount(calls.name[beside], weights=calls.length[beside], minlength=size)
    typical = calls.length[main].mean()
    fits = (count >= SpansLimits.min_repeats) & (count <= SELDOM * len(main))
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
        note = f"{units.count_noun(len(early), 'calls')} of {name!r} classified as prefill"
        return types.tolist(), (note,)
    # Text is encoded and decoded as well: then a bare `decode` says nothing.
    texts = any(_function(name) == "encode" for name in calls.names)
    tells = calls.flags(lambda name: decodes(name) and not (texts and _function(name) == "decode"))
    prefills, continues = (_holds(calls, chosen, flags) for flags in (calls.flags(extends), tells))
    types = np.where(prefills, "prefill", np.where(continues, "decode", "generic"))
    unknown, typed = np.flatnonzero(types == "generic"), np.flatnonzero(types != "generic")
    if not len(typed):
        return _by_length(calls, chosen)
    if not len(unknown):
        return types.tolist(), ()
    # Cycles that nothing tells about take the type of their neighbours, and are counted.
    length = calls.length[chosen]
    place = np.searchsorted(typed, unknown)
    before, after = typed[np.maximum(place - 1, 0)], typed[np.minimum(place, len(typed) - 1)]
    nearer = np.abs(length[before] - length[unknown]) <= np.abs(length[after] - length[unknown])
    types[unknown] = types[np.where(nearer, before, after)]
    count = units.count_noun(len(unknown), "steps")
    return types.tolist(), (f"{count} classified by their neighbours",)


def _function(name: str) -> str:
    return name.rpartition(": ")[2].rpartition(".")[2]


def _holds(calls: PythonCalls, nodes: Nodes, wanted: Flags) -> Flags:
    """Whether each call is, or calls, one of the wanted names."""
    before = prefix_sums(wanted[calls.name])
    return np.asarray(before[nodes + calls.size[nodes]] > before[nodes])


def _by_length(calls: PythonCalls, chosen: Nodes) -> tuple[list[str], tuple[str, ...]]:
    """Much longer calls are prefills if they also do something else than the others."""
    length = calls.length[chosen]
    generic = ["generic"] * len(chosen)
    counted = length[length > PythonCallsLimits.too_short_ns]
    if len(counted) < SpansLimits.min_repeats:
        return generic, ()
    typical = float(np.median(counted))
    long = (length > np.percentile(counted, PythonCallsLimits.longest_share)) & (
        length > LONGER * typical
    )
    if not long.any():
        return generic, ()
    # Something is called in all of some and in none of the others, or in turn.
    here, there = _presence(calls, chosen[long]), _presence(calls, chosen[~long])
    every = {name for name in here if here[name] == long.sum() and not there[name]}
    every |= {name for name in there if there[name] == (~long).sum() and not here[name]}
    if not every:
        slow = units.count_noun(int(long.sum()), "steps")
        note = f"{slow} took over {LONGER:.0f} times as long as usual for the same work"
        return generic, (f"{note}, so not classified as prefill",)
    return np.where(long, "prefill", "decode").tolist(), (
        "prefill classified by length and content",
    )


def _presence(calls: PythonCalls, nodes: Nodes) -> Counter[int]:
    """In how many of the calls each name occurs."""
    return Counter(
        name
        for node in nodes.tolist()
        for name in np.unique(calls.name[node : node + int(calls.size[node])]).tolist()
    )


_WRAPPER = regex(r": (decorate_context|wrapper|inner|_fn|wrapped|_wrapped\w*)$")


def python_anchor(trace: Trace) -> Cycles | None:
    """Cycles by the call that the program's loop makes again and again; None without one."""
    calls = python_calls(trace)
    if not len(calls):
        return None
    top = top_calls(calls)
    main = main_call(calls, top)
    return None if main is None else _cycles_of_calls(calls, top, main)


def lone_pass(trace: Trace) -> str | None:
    """The call that is one pass of the work and holds most of the recording; None without one.

    What repeats inside of it are its parts.
    """
    calls = python_calls(trace)
    if not len(calls):
        return None
    inside = calls.named(is_pass_call)
    extent = int(calls.end.max() - calls.start.min())
    longest = np.flatnonzero(inside & (calls.length >= PythonCallsLimits.repeating * extent))
    return calls.names[int(calls.name[longest[0]])] if len(longest) else None


def anchored_cycles(trace: Trace, names: frozenset[str]) -> Cycles | None:
    """Cycles by Python calls that were asked for by name."""
    calls = python_calls(trace)
    chosen = calls.flags(names.__contains__)
    if not len(calls) or not chosen.any():
        return None
    nodes = calls.outermost(chosen[calls.name])
    return _cycles_of_calls(calls, top_calls(calls), int(np.flatnonzero(chosen)[0]), nodes)


def _cycles_of_calls(
    calls: PythonCalls, top: Nodes, code: int, asked_for: Nodes | None = None
) -> Cycles:
    main = calls.outermost(calls.name == code) if asked_for is None else asked_for
    # One thread per process, that with the most time in the calls.
    spent = np.bincount(
        calls.thread[main], weights=calls.length[main], minlength=len(calls.threads)
    )
    busiest: dict[str, int] = {}
    for lane in np.argsort(spent, kind="stable")[::-1].tolist():
        if spent[lane]:
            busiest.setdefault(calls.threads[lane][0], lane)
    lanes = sorted(busiest.values())
    main = main[np.isin(calls.thread[main], lanes)]
    early = prefill_calls(calls, top, code, main)
    chosen = np.sort(np.concatenate([main, early]))
    types, notes = types_by_content(calls, chosen, early)
    bodies = [loop_bodies(calls, top, chosen, lane) for lane in lanes]
    type_of = dict(zip(chosen.tolist(), types, strict=True))
    nodes, start, end = (np.concatenate(part) for part in zip(*bodies, strict=True))
    types = [type_of[node] for node in nodes.tolist()]
    spans = spans_of(calls.processes(nodes), calls.names_of(nodes), start, end, types)
    name = _inner_name(calls, main)
    code_name = calls.names[int(calls.name[main[0]])]
    spans = spans.with_columns(pl.col("name").replace({code_name: name}))
    reason = f"{name!r} is called {len(main)} times by the main loop of the program"
    if asked_for is not None:
        reason = f"chosen with --marker; {name!r} was called {units.count_noun(len(main), 'times')}"
        return Cycles(spans, "marker", name, 1.0, reason, notes)
    inside = inner_call(calls, main)
    return Cycles(
        spans, "python", name, 0.9, reason, notes, alternatives=() if inside is None else (inside,)
    )


def _inner_name(calls: PythonCalls, nodes: Nodes) -> str:
    """What a call is known by: a wrapper goes by the name of what it wraps."""
    wraps = calls.flags(_WRAPPER.search)
    while wraps[calls.name[nodes[0]]]:
        inside = np.flatnonzero(np.isin(calls.parent, nodes))
        spent = np.bincount(calls.name[inside], weights=calls.length[inside])
        if not len(spent) or spent.max() < SpansLimits.nearly * calls.length[nodes].sum():
            break
        nodes = inside[calls.name[inside] == int(spent.argmax())]
    return calls.names[int(calls.name[nodes[0]])]


# Cycles of single layers: for those who ask for them, never a guess at the unit of a run.

_LAYER = regex(r"layer(?!_?norm)(?!s?/)", re.IGNORECASE)
"""A layer by its name; a norm of layers and a file in a folder `layers/` are none."""


def layers(trace: Trace) -> Cycles | None:
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
    candidates = [
        (*_rank(calls, nodes), name, nodes)
        for name, name_codes in codes.items()
        if len(nodes := calls.outermost(np.isin(calls.name, name_codes))) >= SpansLimits.min_repeats
    ]
    if not candidates:
        return None
    *_, name, nodes = min(candidates, key=lambda candidate: candidate[:-1])
    spans = spans_of(
        calls.processes(nodes), calls.names_of(nodes), calls.start[nodes], calls.end[nodes]
    )
    reason = f"{name!r} is the outermost call that is a layer by its name, {len(nodes)} times"
    return Cycles(spans, "layer", name, 0.9, reason)


def _rank(calls: PythonCalls, nodes: Nodes) -> tuple[float, float, float, float, float]:
    depth, length = calls.depth[nodes], calls.length[nodes]
    mean = float(length.mean())
    spread = float(length.std()) / max(mean, 1.0)
    return (float(depth.min()), float(depth.mean()), -mean, spread, -float(length.sum()))
