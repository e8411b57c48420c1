"""Prefill or decode: which of the calls that mark cycles start an answer, which continue one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from timesink.analyses.cycles.python.calls import PythonCalls
from timesink.analyses.cycles.reading import MIN_REPEATS
from timesink.analyses.cycles.types import decodes, extends, type_of_name
from timesink.analyses.nesting import Nodes
from timesink.model import units
from timesink.model.arrays import Flags

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
    prefills = _holds(calls, chosen, calls.flags(extends))
    continues = _holds(calls, chosen, calls.flags(_decode_test(calls)))
    types = np.where(prefills, "prefill", np.where(continues, "decode", "generic"))
    if (types != "generic").any():
        # Cycles that nothing tells about take the type of their neighbours, and are counted.
        unknown = np.flatnonzero(types == "generic")
        if not len(unknown):
            return types.tolist(), ()
        known = np.flatnonzero(types != "generic")
        length = calls.length[chosen]
        place = np.searchsorted(known, unknown)
        before, after = known[np.maximum(place - 1, 0)], known[np.minimum(place, len(known) - 1)]
        nearer = np.abs(length[before] - length[unknown]) <= np.abs(length[after] - length[unknown])
        settled = types.copy()
        settled[unknown] = types[np.where(nearer, before, after)]
        takes = "takes" if len(unknown) == 1 else "take"
        count = units.counted(len(unknown), "cycles")
        return settled.tolist(), (f"{count} {takes} the type of the neighbours",)
    return _by_length(calls, chosen)


def _decode_test(calls: PythonCalls) -> Callable[[str], bool]:
    """Text is encoded and decoded as well: then a bare `decode` says nothing."""
    texts = any(_function(name) == "encode" for name in calls.names)
    return lambda name: decodes(name) and not (texts and _function(name) == "decode")


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
    if not _do_differ(calls, chosen[long], chosen[~long]):
        slow = units.counted(int(long.sum()), "cycles")
        note = f"{slow} lasted over {LONGER:.0f} times as long as usual but did the same"
        return generic, (f"{note}, so not taken as prefill",)
    return np.where(long, "prefill", "decode").tolist(), ("prefill told by length and content",)


def _do_differ(calls: PythonCalls, some: Nodes, others: Nodes) -> bool:
    """Whether something is called in all of some and in none of the others, or in turn."""
    here, there = _presence(calls, some), _presence(calls, others)
    names = set(here) | set(there)
    return any(
        (here[name] == len(some) and not there[name])
        or (there[name] == len(others) and not here[name])
        for name in names
    )


def _presence(calls: PythonCalls, nodes: Nodes) -> Counter[int]:
    """In how many of the calls each name occurs."""
    return Counter(
        name
        for node in nodes.tolist()
        for name in np.unique(calls.name[node : node + int(calls.size[node])]).tolist()
    )
