"""Which calls only wait, on threads that are none of the cycles' own."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from timesink.analyses.behaviour.classes import FUNCTION_CLASSES, SIDE_WAIT
from timesink.analyses.behaviour.functions import host_classes
from timesink.analyses.behaviour.untraced import WORK, is_mark
from timesink.analyses.columns import host_lanes, host_names
from timesink.analyses.cycles.cycles import Cycles
from timesink.model.trace import Trace

_WAITING = re.compile(
    r"\b(u?sleep|nanosleep|wait(_for|pid)?|acquire|select|poll|epoll(_p?wait)?|kevent|recv|accept"
    r"|join)\b"
)
_NO_WAIT = re.compile(r"Tensor|torch|str\b|path", re.IGNORECASE)
"""Methods that only share the name with calls that wait."""
_CALLS = tuple(FUNCTION_CLASSES.index(name) for name in ("cpu_python", "cpu_other"))


def is_waiting_call(name: str) -> bool:
    """Whether a Python or system call of this name does nothing but wait."""
    return _WAITING.search(name) is not None and _NO_WAIT.search(name) is None


def classes_with_waits(trace: Trace, cycles: Cycles) -> NDArray[np.int8]:
    """Class of every host event, with calls that wait beside the cycles in one of their own.

    A sampler that sleeps between samples, or a loader that waits for a queue, is in such a call
    nearly always.  On the thread that marks cycles, or without marks on threads that work, a wait
    is time the program loses.
    """
    classes = host_classes(trace)
    waits = np.isin(classes, _CALLS) & host_names(trace).matching(is_waiting_call)
    if not waits.any():
        return classes
    lanes = host_lanes(trace)[0]
    own = is_mark(trace, cycles)
    if not own.any():
        own = np.isin(classes, WORK)
    beside = waits & ~np.isin(lanes, np.unique(lanes[own]))
    return np.where(beside, FUNCTION_CLASSES.index(SIDE_WAIT), classes).astype(np.int8)
