"""Which event counts for which function of a cycle, and what class that function has."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from timesink.analyses.behaviour.classes import FUNCTION_CLASSES
from timesink.analyses.columns import (
    Texts,
    device_kinds,
    encode,
    host_columns,
    host_names,
    memoize_per_trace,
)
from timesink.analyses.cycles.marks import family_name
from timesink.analyses.steps import is_communication
from timesink.model import vendors
from timesink.model.schema import BUSY_KINDS, HOST_KINDS
from timesink.model.trace import Trace
from timesink.model.vendors import CALL_PREFIXES
from timesink.patterns import regex

STEP_MARK = "ProfilerStep"
"""The profiler's mark of a step, as a function: the part of it in no other call."""
STEP_MARK_TOLD = "time between recorded calls"
"""The same to a reader: code of Python, mostly, or a wait for the thread of the backward pass."""
NO_CALL = "(no recorded call)"
"""Function of the time in which the thread of a cycle is in no recorded call, and nor is one that
it waits for: the program's own code, a sleep, a lock, the interpreter."""
WAITING = "(waiting for other threads)"
"""Function of the time in which it is in none, while threads it waits for are in some."""


NOT_COUNTED = -1
"""Class of events that are no work: marks, spans of the recording, the profiler's own time."""
ON_CPU, RUN_QUEUE = FUNCTION_CLASSES.index("oncpu"), FUNCTION_CLASSES.index("runq")
SCHEDULED = (ON_CPU, RUN_QUEUE)
"""What the scheduler tells of a thread; such events lie across calls and not inside of them."""

_STEP_NUMBER = regex(rf"^{STEP_MARK}#(?:\d+|#)$")
_SYSTEM_CLASSES: Mapping[str, str] = {
    "runq": "runq",
    **dict.fromkeys(("mmap", "munmap", "mprotect"), "cpu_os_syscall_mem"),
    **dict.fromkeys(("read", "readv", "write"), "disk_read_and_write"),
}
_CLASS_OF_KIND: Mapping[str, str] = {
    "operator": "cpu_operator",
    "collective": "cpu_operator",
    "annotation": "cpu_annotation",
    "python_function": "cpu_python",
    "module": "cpu_python",
    "runtime": "cpu_launch",
    "driver": "cpu_launch",
    "sync": "cpu_sync",
    "other": "cpu_other",
}
_OF_RUNTIME = ("runtime", "driver", "other")
_COPY_CALL = regex(
    rf"^(?:\w+@)?(?:{CALL_PREFIXES})(?!\w*Graph)\w*?"
    r"(?:Memcpy|Memset|MemoryCopy|MemoryFill|MemBufferCopy|MemBufferFill|USMFill)"
)
"""Calls that copy or fill memory, whether they wait for it or not: makers differ in that."""
_COPY_CLASSES: Mapping[str, str] = {
    "HtoD": "gpu_memcpy_h2d",
    "DtoH": "gpu_memcpy_d2h",
    "DtoD": "gpu_memcpy_d2d",
    "PtoP": "gpu_memcpy_d2d",
}
_OTHER_COPIES = "gpu_memcpy_h2d"
"""Copies of unknown direction and memsets, as in published tables."""


def function_name(name: str) -> str:
    """The function an event counts for: its name without what changes from cycle to cycle."""
    if name.startswith("oncpu"):
        return "oncpu"
    return STEP_MARK if _STEP_NUMBER.match(name) else name


def host_class(kind: str, name: str) -> str | None:
    """The class of a host event; None for one that is no work."""
    system = "oncpu" if name.startswith("oncpu") else _SYSTEM_CLASSES.get(name)
    if kind == "other" and system is not None:
        return system
    if kind in _OF_RUNTIME and _COPY_CALL.match(name) is not None:
        return "cpu_copy"
    if kind in _OF_RUNTIME and vendors.waits_for_device(name):
        return "cpu_sync"
    return _CLASS_OF_KIND.get(kind)


@memoize_per_trace
def host_classes(trace: Trace) -> NDArray[np.int8]:
    """Class of every row of `trace.host`, as a place in `FUNCTION_CLASSES`."""
    named = host_names(trace)
    kind = host_columns(trace)["kind"].to_physical().to_numpy()
    table = np.full((len(HOST_KINDS), len(named.texts) or 1), NOT_COUNTED, dtype=np.int8)
    for place, host_kind in enumerate(HOST_KINDS):
        table[place, : len(named.texts)] = [
            _place(host_class(host_kind, text)) for text in named.texts
        ]
    return np.asarray(table[kind, named.codes])


def _place(function_class: str | None) -> int:
    return NOT_COUNTED if function_class is None else FUNCTION_CLASSES.index(function_class)


@memoize_per_trace
def device_classes(trace: Trace) -> NDArray[np.int8]:
    """Class of every row of `trace.device`, as a place in `FUNCTION_CLASSES`."""
    kinds = device_kinds(trace)
    classes = np.full(len(kinds.codes), NOT_COUNTED, dtype=np.int8)
    classes[kinds.among(*BUSY_KINDS)] = _place("gpu_compute")
    classes[kinds.among("memcpy", "memset")] = _place(_OTHER_COPIES)
    copies = kinds.rows("memcpy".__eq__)
    if len(copies):
        direction = trace.lazy("device").select("copy_direction").collect(engine="in-memory")
        codes, texts = encode(direction.to_series()[copies])
        of_copy = [_place(_COPY_CLASSES.get(text or "", _OTHER_COPIES)) for text in texts]
        classes[copies] = np.array(of_copy)[codes]
    classes[is_communication(trace)] = _place("gpu_comm")
    return classes


def functions_of(named: Texts, marks: frozenset[str] = frozenset()) -> Texts:
    """The same events by the function they count for.

    Marks of cycles that are numbered, each its own name, are one function.
    """
    numbered = marks if len(marks) > 1 else frozenset()
    return named.renamed(
        lambda text: function_name(family_name(text) if text in numbered else text) or "(no name)"
    )
