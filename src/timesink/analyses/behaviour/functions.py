"""What a recorded event is: the function it counts for, and the class of that function."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses import names
from timesink.analyses.behaviour.classes import FUNCTION_CLASSES, STEP_MARK
from timesink.analyses.columns import device_columns, host_columns, host_names
from timesink.analyses.cycles.reading import family_name
from timesink.analyses.once import once_per_trace
from timesink.analyses.roles import is_communication
from timesink.analyses.texts import Texts
from timesink.model.schema import BUSY_KINDS, COPY_DIRECTIONS, HOST_KINDS
from timesink.model.trace import Trace
from timesink.model.vendors import CALL_PREFIXES

NOT_COUNTED = -1
"""Class of events that are no work: marks, spans of the recording, the profiler's own time."""
ON_CPU, RUN_QUEUE = FUNCTION_CLASSES.index("oncpu"), FUNCTION_CLASSES.index("runq")
SCHEDULED = (ON_CPU, RUN_QUEUE)
"""What the scheduler tells of a thread; such events lie across calls and not inside of them."""

_STEP_NUMBER = re.compile(rf"^{STEP_MARK}#(?:\d+|#)$")
_MEMORY_CALLS = frozenset({"mmap", "munmap", "mprotect"})
_FILE_CALLS = frozenset({"read", "readv", "write"})
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
_COPY_CALL = re.compile(
    rf"^(?:\w+@)?(?:{CALL_PREFIXES})(?!\w*Graph)\w*?"
    r"(?:Memcpy|Memset|MemoryCopy|MemoryFill|MemBufferCopy|MemBufferFill|USMFill)"
)
"""Calls that copy or fill memory, whether they wait for it or not: makers differ in that."""
_SYSTEM_KINDS = ("other",)
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
    if kind in _SYSTEM_KINDS:
        system = _system_class(name)
        if system is not None:
            return system
    if kind in _OF_RUNTIME and _COPY_CALL.match(name) is not None:
        return "cpu_copy"
    if kind in _OF_RUNTIME and names.waits_for_device(name):
        return "cpu_sync"
    return _CLASS_OF_KIND.get(kind)


def _system_class(name: str) -> str | None:
    if name.startswith("oncpu"):
        return "oncpu"
    if name == "runq":
        return "runq"
    if name in _MEMORY_CALLS:
        return "cpu_os_syscall_mem"
    return "disk_read_and_write" if name in _FILE_CALLS else None


@once_per_trace
def host_classes(trace: Trace) -> NDArray[np.int8]:
    """Class of every row of `trace.host`, as a place in `FUNCTION_CLASSES`."""
    named = host_names(trace)
    kind = host_columns(trace)["kind"].to_physical().to_numpy()
    table = np.full((len(HOST_KINDS), len(named.texts) or 1), NOT_COUNTED, dtype=np.int8)
    for place, each in enumerate(HOST_KINDS):
        table[place, : len(named.texts)] = [_place(host_class(each, text)) for text in named.texts]
    return np.asarray(table[kind, named.codes])


def _place(function_class: str | None) -> int:
    return NOT_COUNTED if function_class is None else FUNCTION_CLASSES.index(function_class)


@once_per_trace
def device_classes(trace: Trace) -> NDArray[np.int8]:
    """Class of every row of `trace.device`, as a place in `FUNCTION_CLASSES`."""
    kind = device_columns(trace)["kind"]
    direction = trace.lazy("device").select("copy_direction").collect().to_series()
    classes = np.full(len(kind), NOT_COUNTED, dtype=np.int8)
    classes[kind.is_in(BUSY_KINDS).to_numpy()] = _place("gpu_compute")
    copies = (kind == "memcpy").to_numpy()
    classes[copies] = _copy_classes(direction)[copies]
    classes[(kind == "memset").to_numpy()] = _place(_OTHER_COPIES)
    classes[is_communication(trace)] = _place("gpu_comm")
    return classes


def _copy_classes(direction: pl.Series) -> NDArray[np.int8]:
    of_direction = [_place(_COPY_CLASSES.get(name, _OTHER_COPIES)) for name in COPY_DIRECTIONS]
    table = np.array([*of_direction, _place(_OTHER_COPIES)], dtype=np.int8)
    unknown = len(COPY_DIRECTIONS)
    return np.asarray(table[direction.to_physical().fill_null(unknown).to_numpy()])


def functions_of(named: Texts, marks: frozenset[str] = frozenset()) -> Texts:
    """The same events by the function they count for.

    Marks of cycles that are numbered, each its own name, are one function.
    """
    functions: dict[str, int] = {}
    numbered = marks if len(marks) > 1 else frozenset()
    place = [
        functions.setdefault(
            function_name(family_name(text) if text in numbered else text) or "(no name)",
            len(functions),
        )
        for text in named.texts
    ]
    return Texts(np.array(place or [0], dtype=np.int64)[named.codes], list(functions))
