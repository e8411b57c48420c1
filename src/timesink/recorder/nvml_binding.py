"""A small binding of NVIDIA's management library, for images without nvidia-ml-py.

Functions are called as there, and return what they return there.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import Structure, Union, byref, c_char_p, c_int, c_uint, c_ulonglong
from functools import partial
from typing import Any

UNKNOWN_MEMORY = 2**64 - 1

_LIBRARY = "libnvidia-ml.so.1"
_TEXT_BYTES = 96
_TOO_SMALL = 7
_ROOM = 32
_ERRORS = {
    1: "not initialised",
    2: "invalid argument",
    3: "not supported",
    4: "no permission",
    6: "not found",
    9: "the driver is not loaded",
    13: "the driver is too old for this function",
    15: "the GPU is lost",
    18: "the driver and the library have different versions",
    999: "unknown error",
}


# -- structures, as nvml.h lays them out ---------------------------------------------------------


def _laid_out(name: str, fields: str, kind: Any = Structure) -> Any:
    """A structure, or a union, with the types of C before the names of its fields."""
    written = (field.split() for field in fields.split(", "))
    laid_out = [
        (field_name, _FieldUnion if of == "union" else getattr(ctypes, f"c_{of}"))
        for of, field_name in written
    ]
    return type(kind)(name, (kind,), {"_fields_": laid_out})


Utilization = _laid_out("Utilization", "uint gpu, uint memory")
"""Percent of time of kernels, and of reads and writes."""
Memory = _laid_out("Memory", "ulonglong total, ulonglong free, ulonglong used")
"""Bytes."""
ProcessInfo = _laid_out(
    "ProcessInfo",
    "uint pid, ulonglong usedGpuMemory, uint gpuInstanceId, uint computeInstanceId",
)
"""A process that has a context on a device."""
ProcessUtilization = _laid_out(
    "ProcessUtilization",
    "uint pid, ulonglong timeStamp, uint smUtil, uint memUtil, uint encUtil, uint decUtil",
)
"""Percent of time of one process."""
_FieldUnion = _laid_out(
    "_FieldUnion",
    "double dVal, uint uiVal, ulong ulVal, ulonglong ullVal, longlong sllVal, int siVal",
    Union,
)
FieldValue = _laid_out(
    "FieldValue",
    "uint fieldId, uint scopeId, longlong timestamp, longlong latencyUsec, uint valueType, "
    "uint nvmlReturn, union value",
)
"""A value asked for by number, with an error of its own."""
NotedSample = _laid_out("NotedSample", "ulonglong timeStamp, union sampleValue")
"""A value the driver noted down, with the Unix time in microseconds."""


# -- functions -----------------------------------------------------------------------------------

_NUMBERS = (c_uint, c_ulonglong)
_FILLED: dict[str, Any] = {
    "nvmlInit": None,
    "nvmlShutdown": None,
    "nvmlSystemGetDriverVersion": str,
    "nvmlDeviceGetCount": c_uint,
    "nvmlDeviceGetHandleByIndex": ctypes.c_void_p,
    "nvmlDeviceGetHandleByUUID": ctypes.c_void_p,
    "nvmlDeviceGetDeviceHandleFromMigDeviceHandle": ctypes.c_void_p,
    "nvmlDeviceGetName": str,
    "nvmlDeviceGetUUID": str,
    "nvmlDeviceGetClockInfo": c_uint,
    "nvmlDeviceGetPowerUsage": c_uint,
    "nvmlDeviceGetEnforcedPowerLimit": c_uint,
    "nvmlDeviceGetTemperature": c_uint,
    "nvmlDeviceGetPcieThroughput": c_uint,
    "nvmlDeviceGetCurrentClocksThrottleReasons": c_ulonglong,
    "nvmlDeviceGetUtilizationRates": Utilization,
    "nvmlDeviceGetMemoryInfo": Memory,
}
"""Functions that fill one thing, which is their last argument, and what that is."""
_SECOND_VERSION = ("nvmlInit", "nvmlDeviceGetCount", "nvmlDeviceGetHandleByIndex")


class NVMLError(Exception):
    """An error of the library, with its number as `value`."""

    def __init__(self, value: int) -> None:
        super().__init__(_ERRORS.get(value, f"error {value} of NVML"))
        self.value = value


def load() -> Binding:
    """The binding; OSError where there is no such library."""
    return Binding(ctypes.CDLL(_LIBRARY))


class Binding:
    """The functions that counters need, under the names they have in nvidia-ml-py."""

    NVMLError = NVMLError

    def __init__(self, library: Any) -> None:
        self._library = library

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """One of the functions that fill one thing, or that list processes."""
        if name.endswith("RunningProcesses"):
            return partial(self._processes, name)
        if name not in _FILLED:
            raise AttributeError(name)
        kind = _FILLED[name]

        def call(*arguments: Any) -> Any:
            converted = [
                c_uint(argument)
                if isinstance(argument, int)
                else c_char_p(argument.encode())
                if isinstance(argument, str)
                else argument
                for argument in arguments
            ]
            versioned = f"{name}_v2" if name in _SECOND_VERSION else name
            if kind is None:
                return self._call(versioned, *converted)
            if kind is str:
                text = ctypes.create_string_buffer(_TEXT_BYTES)
                self._call(versioned, *converted, text, c_uint(_TEXT_BYTES))
                return text.value.decode("utf-8", "replace")
            filled = kind()
            self._call(versioned, *converted, byref(filled))
            return filled.value if kind in _NUMBERS else filled

        return call

    def nvmlDeviceGetFieldValues(self, device: Any, fields: list[Any]) -> Any:  # noqa: N802
        values = (FieldValue * len(fields))()
        for value, field in zip(values, fields, strict=True):
            value.fieldId, value.scopeId = field if isinstance(field, tuple) else (field, 0)
        self._call("nvmlDeviceGetFieldValues", device, c_int(len(fields)), values)
        return values

    def nvmlDeviceGetSamples(self, device: Any, kind: int, since_us: int) -> Any:  # noqa: N802
        name, since = "nvmlDeviceGetSamples", c_ulonglong(since_us)
        value_type, count = c_uint(), c_uint()
        at = device, c_uint(kind), since, byref(value_type), byref(count)
        self._call(name, *at, None)
        buffer = (NotedSample * max(count.value, 1))()
        self._call(name, *at, buffer)
        return value_type.value, list(buffer[: count.value])

    def nvmlDeviceGetProcessUtilization(self, device: Any, since_us: int) -> Any:  # noqa: N802
        name, since = "nvmlDeviceGetProcessUtilization", c_ulonglong(since_us)
        count = c_uint(0)
        status = self._status(name, device, None, byref(count), since)
        if status not in (0, _TOO_SMALL):
            raise NVMLError(status)
        buffer = (ProcessUtilization * max(count.value, 1))()
        if count.value:
            self._call(name, device, buffer, byref(count), since)
        return list(buffer[: count.value])

    def _processes(self, name: str, device: Any) -> list[Any]:
        """Of the third version of the function, or the second: both fill the same structure."""
        versioned = f"{name}_v3" if hasattr(self._library, f"{name}_v3") else f"{name}_v2"
        room = _ROOM
        while True:
            buffer, count = (ProcessInfo * room)(), c_uint(room)
            status = self._status(versioned, device, byref(count), buffer)
            if status != _TOO_SMALL:
                break
            room = max(2 * room, count.value)
        if status:
            raise NVMLError(status)
        for process in buffer[: count.value]:
            if process.usedGpuMemory == UNKNOWN_MEMORY:
                process.usedGpuMemory = 0
        return list(buffer[: count.value])

    def _call(self, name: str, *arguments: Any) -> None:
        status = self._status(name, *arguments)
        if status:
            raise NVMLError(status)

    def _status(self, name: str, *arguments: Any) -> int:
        try:
            function = getattr(self._library, name)
        except AttributeError:
            raise NVMLError(13) from None
        return int(function(*arguments))
