"""Devices of AMD: amdsmi, which comes with ROCm."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from timesink.collect.counters.gpu.alike import KB_PER_KIB, if_told, least_ms_of
from timesink.collect.counters.gpu.amd_values import NotToldError, first, plain_values
from timesink.collect.counters.gpu.counters import NAMES
from timesink.collect.counters.gpu.numbering import FOREIGN, ToldApart, has_own_numbers
from timesink.collect.counters.gpu.visible import seen_by_hip
from timesink.collect.counters.missing import UnavailableError, reason
from timesink.collect.counters.probing import GPU_LANE, Probe, Rate, Sample, Setting, labelled

_XGMI = {
    "gpu_link_transmit_kbps": "xgmi_write_data_acc",
    "gpu_link_receive_kbps": "xgmi_read_data_acc",
}
_SHARED = ("process_gpu_mem_bytes", "gpu_mem_of_others_bytes")
_PROCESSES_LEAST_MS = 500.0


def probes(setting: Setting) -> Iterator[Probe]:
    """Counters of every device the program can see."""
    library = _load()
    told: set[str] = set()
    for handle, label in _devices(library, setting.environment):
        plain = plain_values(library, handle)
        for names, values in plain.items():
            told.update(names)
            if setting.wants(*names):
                read = labelled(names, values, [label])
                yield Probe(names, read, label, GPU_LANE, least_ms_of(names))
        links, shared = _Links(library, handle, label), _Shared(library, handle, setting)
        told.update((*_XGMI, *_SHARED))
        if setting.wants(*_XGMI):
            yield Probe(tuple(_XGMI), links.read, label, "gpu links")
        if setting.wants(*_SHARED):
            otherwise = FOREIGN if has_own_numbers(setting.root) else ""
            lane = "gpu processes"
            read = labelled(_SHARED, shared.own_and_others, [label])
            yield Probe(_SHARED, read, label, lane, _PROCESSES_LEAST_MS, otherwise)
    setting.miss([name for name in NAMES if name not in told], "amdsmi does not tell it")


def describe(environment: Mapping[str, str]) -> list[dict[str, Any]]:
    """What is known about the devices the program can see."""
    library = _load()
    return [_described(library, *device) for device in _devices(library, environment)]


def _described(library: Any, handle: Any, label: str) -> dict[str, Any]:
    return {
        "device": label,
        "name": if_told(lambda: library.amdsmi_get_gpu_asic_info(handle)["market_name"]),
        "memory_bytes": if_told(
            lambda: int(library.amdsmi_get_gpu_vram_usage(handle)["vram_total"]) << 20
        ),
        "driver": if_told(lambda: library.amdsmi_get_gpu_driver_info(handle)["driver_version"]),
        "uuid": if_told(lambda: library.amdsmi_get_gpu_device_uuid(handle)),
    }


def _load() -> Any:
    try:
        library = importlib.import_module("amdsmi")
        library.amdsmi_init()
    except ImportError as error:
        raise UnavailableError("amdsmi cannot be imported") from error
    except Exception as error:  # the library raises errors of its own, some when imported
        raise UnavailableError(f"amdsmi does not start ({reason(error)})") from error
    return library


def _devices(library: Any, environment: Mapping[str, str]) -> list[tuple[Any, str]]:
    try:
        handles = list(library.amdsmi_get_processor_handles())
        uuids = [str(library.amdsmi_get_gpu_device_uuid(handle)) for handle in handles]
    except Exception as error:  # as above
        raise UnavailableError(f"amdsmi lists no devices ({reason(error)})") from error
    if not handles:
        raise UnavailableError("amdsmi knows no device")
    seen = seen_by_hip(environment, uuids)
    if not seen:
        raise UnavailableError("ROCR_VISIBLE_DEVICES or HIP_VISIBLE_DEVICES hides all devices")
    return [(handles[place], f"GPU {number}") for number, place in enumerate(seen)]


class _Links:
    """Traffic over XGMI, from its totals."""

    def __init__(self, library: Any, handle: Any, label: str) -> None:
        self._library = library
        self._handle = handle
        self._label = label
        self._rate = Rate()

    def read(self, now_s: float) -> Iterator[Sample]:
        found = self._library.amdsmi_get_gpu_metrics_info(self._handle)
        for name, key in _XGMI.items():
            links = [each for each in _many(found.get(key)) if isinstance(each, int | float)]
            if not links:
                raise NotToldError("no XGMI links, or not told by this device")
            rate = self._rate.of(name, now_s, sum(links))
            if rate is not None:
                yield Sample(name, self._label, rate * KB_PER_KIB)


def _many(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list | tuple) else ()


class _Shared:
    """Memory of processes of the program, and of others."""

    def __init__(self, library: Any, handle: Any, setting: Setting) -> None:
        self._library = library
        self._handle = handle
        self._own = setting.own
        self._told = ToldApart(nested=has_own_numbers(setting.root))

    def own_and_others(self) -> list[float] | None:
        running = list(self._library.amdsmi_get_gpu_process_list(self._handle))
        if not all(isinstance(process, Mapping) for process in running):
            raise NotToldError("this version of amdsmi does not name processes")
        own, sums = self._own.members(), [0.0, 0.0]
        if not self._told.sees((process["pid"] for process in running), own):
            return None
        for process in running:
            sums[process["pid"] not in own] += first(process["memory_usage"], "vram_mem")
        return sums
