"""What is on top of a thread once the calls that only frame the program are taken away."""

from __future__ import annotations

import numpy as np

from timesink.analyses.cycles.python.calls import PythonCalls
from timesink.analyses.cycles.reading import MIN_REPEATS
from timesink.analyses.cycles.types import is_pass_call
from timesink.analyses.nesting import Nodes

REPEATING = 0.5
"""A loop is found where calls that repeat make up this share of the time on top."""


def top_calls(calls: PythonCalls) -> Nodes:
    """Calls on top of each thread once its frames are taken away."""
    roots = np.flatnonzero(calls.parent < 0)
    parts = [peeled(calls, roots[calls.lane[roots] == lane]) for lane in np.unique(calls.lane)]
    return np.sort(np.concatenate(parts)) if parts else roots


def peeled(calls: PythonCalls, top: Nodes) -> Nodes:
    """Take away the one call that holds most of the time, until calls that repeat do.

    Nothing is left where they never do.
    """
    frame_like = ~calls.flags(is_pass_call)
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
        top = np.sort(np.concatenate([np.delete(top, longest), calls.children(node)]))
    return top
