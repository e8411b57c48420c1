"""A small binding of NVIDIA's management library, for images without nvidia-ml-py.

Functions are called as there, and return what they return there.
"""

from __future__ import annotations

import ctypes
from ctypes import byref, c_char_p, c_int, c_uint, c_ulonglong, c_void_p, create_string_buffer
from typing import Any

from timesink.collect.counters.gpu.nvml_structures import (
    UNKNOWN_MEMORY,
    FieldValue,
    Memory,
    NotedSample,
    ProcessInfo,
    ProcessUtilization,
    Utilization,
)

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

    # -- the library -------------------------------------------------------------------------------

    def nvmlInit(self) -> None:  # noqa: N802
        self._call("nvmlInit_v2")

    def nvmlShutdown(self) -> None:  # noqa: N802
        self._call("nvmlShutdown")

    def nvmlSystemGetDriverVersion(self) -> str:  # noqa: N802
        return self._text("nvmlSystemGetDriverVersion")

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return self._number("nvmlDeviceGetCount_v2")

    # -- devices -----------------------------------------------------------------------------------

    def nvmlDeviceGetHandleByIndex(self, index: int) -> Any:  # noqa: N802
        return self._handle("nvmlDeviceGetHandleByIndex_v2", c_uint(index))

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> Any:  # noqa: N802
        return self._handle("nvmlDeviceGetHandleByUUID", c_char_p(uuid.encode()))

    def nvmlDeviceGetDeviceHandleFromMigDeviceHandle(self, instance: Any) -> Any:  # noqa: N802
        return self._handle("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", instance)

    def nvmlDeviceGetName(self, device: Any) -> str:  # noqa: N802
        return self._text("nvmlDeviceGetName", device)

    def nvmlDeviceGetUUID(self, device: Any) -> str:  # noqa: N802
        return self._text("nvmlDeviceGetUUID", device)

    # -- counters ----------------------------------------------------------------------------------

    def nvmlDeviceGetClockInfo(self, device: Any, kind: int) -> int:  # noqa: N802
        return self._number("nvmlDeviceGetClockInfo", device, c_uint(kind))

    def nvmlDeviceGetPowerUsage(self, device: Any) -> int:  # noqa: N802
        return self._number("nvmlDeviceGetPowerUsage", device)

    def nvmlDeviceGetEnforcedPowerLimit(self, device: Any) -> int:  # noqa: N802
        return self._number("nvmlDeviceGetEnforcedPowerLimit", device)

    def nvmlDeviceGetTemperature(self, device: Any, sensor: int) -> int:  # noqa: N802
        return self._number("nvmlDeviceGetTemperature", device, c_uint(sensor))

    def nvmlDeviceGetPcieThroughput(self, device: Any, way: int) -> int:  # noqa: N802
        return self._number("nvmlDeviceGetPcieThroughput", device, c_uint(way))

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, device: Any) -> int:  # noqa: N802
        mask = c_ulonglong()
        self._call("nvmlDeviceGetCurrentClocksThrottleReasons", device, byref(mask))
        return mask.value

    def nvmlDeviceGetUtilizationRates(self, device: Any) -> Utilization:  # noqa: N802
        rates = Utilization()
        self._call("nvmlDeviceGetUtilizationRates", device, byref(rates))
        return rates

    def nvmlDeviceGetMemoryInfo(self, device: Any) -> Memory:  # noqa: N802
        memory = Memory()
        self._call("nvmlDeviceGetMemoryInfo", device, byref(memory))
        return memory

    def nvmlDeviceGetFieldValues(self, device: Any, fields: list[Any]) -> Any:  # noqa: N802
        values = (FieldValue * len(fields))()
        for value, field in zip(values, fields, strict=True):
            value.fieldId, value.scopeId = field if isinstance(field, tuple) else (field, 0)
        self._call("nvmlDeviceGetFieldValues", device, c_int(len(fields)), values)
        return values

    def nvmlDeviceGetSamples(  # noqa: N802
        self, device: Any, kind: int, since_us: int
    ) -> tuple[int, list[NotedSample]]:
        name, since = "nvmlDeviceGetSamples", c_ulonglong(since_us)
        value_type, count = c_uint(), c_uint()
        at = device, c_uint(kind), since, byref(value_type), byref(count)
        self._call(name, *at, None)
        found = (NotedSample * max(count.value, 1))()
        self._call(name, *at, found)
        return value_type.value, list(found[: count.value])

    # -- processes ---------------------------------------------------------------------------------

    def nvmlDeviceGetComputeRunningProcesses(self, device: Any) -> list[ProcessInfo]:  # noqa: N802
        return self._processes("nvmlDeviceGetComputeRunningProcesses", device)

    def nvmlDeviceGetGraphicsRunningProcesses(self, device: Any) -> list[ProcessInfo]:  # noqa: N802
        return self._processes("nvmlDeviceGetGraphicsRunningProcesses", device)

    def nvmlDeviceGetProcessUtilization(  # noqa: N802
        self, device: Any, since_us: int
    ) -> list[ProcessUtilization]:
        name, since = "nvmlDeviceGetProcessUtilization", c_ulonglong(since_us)
        count = c_uint(0)
        status = self._status(name, device, None, byref(count), since)
        if status not in (0, _TOO_SMALL):
            raise NVMLError(status)
        found = (ProcessUtilization * max(count.value, 1))()
        if count.value:
            self._call(name, device, found, byref(count), since)
        return list(found[: count.value])

    # -- how they are called -----------------------------------------------------------------------

    def _processes(self, name: str, device: Any) -> list[ProcessInfo]:
        """Of the third version of the function, or the second: both fill the same structure."""
        versioned = f"{name}_v3" if hasattr(self._library, f"{name}_v3") else f"{name}_v2"
        room = _ROOM
        while True:
            found, count = (ProcessInfo * room)(), c_uint(room)
            status = self._status(versioned, device, byref(count), found)
            if status != _TOO_SMALL:
                break
            room = max(2 * room, count.value)
        if status:
            raise NVMLError(status)
        for process in found[: count.value]:
            if process.usedGpuMemory == UNKNOWN_MEMORY:
                process.usedGpuMemory = 0
        return list(found[: count.value])

    def _number(self, name: str, *arguments: Any) -> int:
        value = c_uint()
        self._call(name, *arguments, byref(value))
        return value.value

    def _text(self, name: str, *arguments: Any) -> str:
        text = create_string_buffer(_TEXT_BYTES)
        self._call(name, *arguments, text, c_uint(_TEXT_BYTES))
        return text.value.decode("utf-8", "replace")

    def _handle(self, name: str, *arguments: Any) -> Any:
        handle = c_void_p()
        self._call(name, *arguments, byref(handle))
        return handle

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
