"""Devices of NVIDIA."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from timesink.collect.counters.gpu import nvml_library
from timesink.collect.counters.gpu.alike import if_told
from timesink.collect.counters.gpu.nvidia_gauges import gauges
from timesink.collect.counters.gpu.nvidia_history import history, kept_notes
from timesink.collect.counters.gpu.nvidia_sharing import sharing
from timesink.collect.counters.gpu.visible import seen_by_cuda
from timesink.collect.counters.missing import UnavailableError, reason
from timesink.collect.counters.probing import Probe, Setting


@dataclass(frozen=True, slots=True, eq=False)
class Device:
    """A device and what the program calls it."""

    index: int
    """Its number in the management library."""
    handle: Any
    uuid: str
    labels: tuple[str, ...]
    """Several where the program sees several instances of it."""


def probes(setting: Setting) -> Iterator[Probe]:
    """Counters of every device the program can see."""
    library = nvml_library.load()
    devices = _devices(library, setting.environment)
    noted = kept_notes(library, [device.handle for device in devices], setting)
    for device, notes in zip(devices, noted, strict=True):
        yield from history(notes, device.labels)
        yield from gauges(library, device.handle, device.labels, setting, noted=notes.keys())
        yield from sharing(library, device.handle, device.labels, setting)


def describe(environment: Mapping[str, str]) -> list[dict[str, Any]]:
    """What is known about the devices the program can see."""
    library = nvml_library.load()
    return [
        _described(library, device, label)
        for device in _devices(library, environment)
        for label in device.labels
    ]


def _described(library: Any, device: Device, label: str) -> dict[str, Any]:
    return {
        "device": label,
        "name": if_told(lambda: _text(library.nvmlDeviceGetName(device.handle))),
        "memory_bytes": if_told(lambda: int(library.nvmlDeviceGetMemoryInfo(device.handle).total)),
        "driver": if_told(lambda: _text(library.nvmlSystemGetDriverVersion())),
        "uuid": device.uuid,
        "index": device.index,
    }


def _devices(library: Any, environment: Mapping[str, str]) -> list[Device]:
    try:
        handles = [
            library.nvmlDeviceGetHandleByIndex(index)
            for index in range(library.nvmlDeviceGetCount())
        ]
        uuids = [_text(library.nvmlDeviceGetUUID(handle)) for handle in handles]
    except Exception as error:  # bindings raise errors of their own
        raise UnavailableError(f"NVML lists no devices ({reason(error)})") from error
    if not handles:
        raise UnavailableError("NVML knows no device")
    seen = seen_by_cuda(environment, uuids, lambda instance: _parent(library, instance))
    if not seen:
        raise UnavailableError("CUDA_VISIBLE_DEVICES hides all devices")
    return [
        Device(
            index,
            handles[index],
            uuids[index],
            tuple(f"GPU {number}" for number, place in enumerate(seen) if place == index),
        )
        for index in dict.fromkeys(seen)
    ]


def _parent(library: Any, instance: str) -> str | None:
    """The UUID of the device an instance is part of."""
    try:
        handle = library.nvmlDeviceGetHandleByUUID(instance)
        whole = library.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(handle)
        return _text(library.nvmlDeviceGetUUID(whole))
    except Exception:  # noqa: BLE001 - old libraries know no instances
        return None


def _text(value: Any) -> str:
    """Old bindings return bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
