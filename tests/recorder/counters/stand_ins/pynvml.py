# ruff: noqa: ARG001, N802 - names and arguments are those of the library
"""A stand-in for the binding of nvidia-ml-py: its functions, errors and structures.

Tests change `DEVICES` to say what a machine has; nothing else is invented.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

NVML_ERROR_NOT_SUPPORTED = 3
NVML_ERROR_NO_PERMISSION = 4
NVML_ERROR_NOT_FOUND = 6
NVML_ERROR_GPU_IS_LOST = 15
_TEXTS = {
    3: "Not Supported",
    4: "Insufficient Permissions",
    6: "Not Found",
    9: "Driver Not Loaded",
    15: "GPU is lost",
}


class NVMLError(Exception):
    def __init__(self, value: int) -> None:
        super().__init__(value)
        self.value = value

    def __str__(self) -> str:
        return _TEXTS[self.value]


@dataclass
class Device:
    uuid: str = "GPU-aa11"
    errors: dict[str, int] = field(default_factory=dict)
    """Errors by function, or by number of a field."""
    running: list[Any] = field(default_factory=list)
    used: list[Any] = field(default_factory=list)
    links_kib: dict[int, int] = field(default_factory=lambda: {138: 0, 139: 0})
    link_step_kib: int = 1000
    noted: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    """What the driver notes down by itself, by kind: times and values."""


DEVICES: list[Device] = []
INIT_ERROR: list[int] = []
INSTANCES: dict[str, Device] = {}


def _check(device: Device, function: str) -> None:
    if function in device.errors:
        raise NVMLError(device.errors[function])


def nvmlInit() -> None:
    if INIT_ERROR:
        raise NVMLError(INIT_ERROR[0])


def nvmlDeviceGetSamples(device: Device, kind: int, since_us: int) -> tuple[int, list[Any]]:
    if kind not in device.noted:
        raise NVMLError(NVML_ERROR_NOT_SUPPORTED)
    new = [(ts_us, value) for ts_us, value in device.noted[kind] if ts_us > since_us]
    if not new:
        raise NVMLError(NVML_ERROR_NOT_FOUND)
    return 1, [
        SimpleNamespace(timeStamp=ts_us, sampleValue=SimpleNamespace(uiVal=value))
        for ts_us, value in new
    ]


def nvmlShutdown() -> None:
    pass


def nvmlSystemGetDriverVersion() -> str:
    return "570.10"


def nvmlDeviceGetCount() -> int:
    return len(DEVICES)


def nvmlDeviceGetHandleByIndex(index: int) -> Device:
    return DEVICES[index]


def nvmlDeviceGetHandleByUUID(uuid: str) -> Device:
    if uuid not in INSTANCES:
        raise NVMLError(NVML_ERROR_NOT_FOUND)
    return INSTANCES[uuid]


def nvmlDeviceGetDeviceHandleFromMigDeviceHandle(instance: Device) -> Device:
    return instance


def nvmlDeviceGetName(device: Device) -> bytes:
    return b"NVIDIA H200"


def nvmlDeviceGetUUID(device: Device) -> str:
    return device.uuid


def nvmlDeviceGetClockInfo(device: Device, kind: int) -> int:
    _check(device, "nvmlDeviceGetClockInfo")
    return (1980, 1965, 3201)[kind]


def nvmlDeviceGetPowerUsage(device: Device) -> int:
    _check(device, "nvmlDeviceGetPowerUsage")
    return 140_000


def nvmlDeviceGetEnforcedPowerLimit(device: Device) -> int:
    return 700_000


def nvmlDeviceGetTemperature(device: Device, sensor: int) -> int:
    _check(device, "nvmlDeviceGetTemperature")
    return 41


def nvmlDeviceGetUtilizationRates(device: Device) -> Any:
    _check(device, "nvmlDeviceGetUtilizationRates")
    return SimpleNamespace(gpu=37, memory=12)


def nvmlDeviceGetMemoryInfo(device: Device) -> Any:
    return SimpleNamespace(total=150_000_000_000, free=1, used=4_000_000_000)


def nvmlDeviceGetCurrentClocksThrottleReasons(device: Device) -> int:
    return 4


def nvmlDeviceGetPcieThroughput(device: Device, way: int) -> int:
    _check(device, "nvmlDeviceGetPcieThroughput")
    return (111, 222)[way]


def nvmlDeviceGetFieldValues(device: Device, fields: list[tuple[int, int]]) -> list[Any]:
    return [_field(device, *query) for query in fields]


def _field(device: Device, number: int, scope: int) -> Any:
    error = device.errors.get(str(number), 0)
    if number in device.links_kib:
        assert scope == 2**32 - 1, "without a scope it is the first link alone"
        device.links_kib[number] += device.link_step_kib
        return SimpleNamespace(
            nvmlReturn=error, valueType=3, value=SimpleNamespace(ullVal=device.links_kib[number])
        )
    assert number == 186
    return SimpleNamespace(nvmlReturn=error, valueType=1, value=SimpleNamespace(uiVal=155_000))


def nvmlDeviceGetComputeRunningProcesses(device: Device) -> list[Any]:
    return device.running


def nvmlDeviceGetGraphicsRunningProcesses(device: Device) -> list[Any]:
    return []


def nvmlDeviceGetProcessUtilization(device: Device, since_us: int) -> list[Any]:
    _check(device, "nvmlDeviceGetProcessUtilization")
    uses = [use for use in device.used if use.timeStamp > since_us]
    if not uses:
        raise NVMLError(NVML_ERROR_NOT_FOUND)
    return uses
