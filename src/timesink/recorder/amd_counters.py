"""Devices of AMD: amdsmi, which comes with ROCm."""

from __future__ import annotations

import importlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from timesink.recorder.counter_probes import (
    GPU_COUNTERS,
    KB_PER_KIB,
    NotToldError,
    Probe,
    ProbeContext,
    UnavailableError,
    Values,
    describe_device,
    growth_reader,
    plain_probe,
    reason,
    seen_by_hip,
    sharing_probe,
)

_IN_MICROWATTS = 100_000
"""Versions of the library differ in the unit of limits; no device may draw as many watts."""
_POWER = ("current_socket_power", "socket_power", "average_socket_power")
_XGMI = {
    "gpu_link_transmit_kbps": "xgmi_write_data_acc",
    "gpu_link_receive_kbps": "xgmi_read_data_acc",
}
_SHARED = ("process_gpu_mem_bytes", "gpu_mem_of_others_bytes")
_MIN_PROCESSES_MS = 500.0


def probes(context: ProbeContext) -> Iterator[Probe]:
    """Counters of every device the program can see."""
    library = _load()
    available = {*_XGMI, *_SHARED}
    for handle, label in _devices(library, context.environment):
        for names, values in _plain_values(library, handle).items():
            available.update(names)
            if context.wants(*names):
                yield plain_probe(names, values, [label])
        if context.wants(*_XGMI):
            read = growth_reader(partial(_link_totals, library, handle), [label], KB_PER_KIB)
            yield Probe(tuple(_XGMI), read, label, "gpu links")
        used = _memory_of_processes(library, handle)
        yield from sharing_probe(context, _SHARED, used, [label], least_ms=_MIN_PROCESSES_MS)
    untold = [counter.name for counter in GPU_COUNTERS if counter.name not in available]
    context.miss(untold, "amdsmi does not tell it")


def describe(environment: Mapping[str, str]) -> list[dict[str, Any]]:
    """What is known about the devices the program can see."""
    library = _load()

    def of(handle: Any, label: str) -> dict[str, Any]:
        return describe_device(
            label,
            name=lambda: library.amdsmi_get_gpu_asic_info(handle)["market_name"],
            memory_bytes=lambda: int(library.amdsmi_get_gpu_vram_usage(handle)["vram_total"]) << 20,
            driver=lambda: library.amdsmi_get_gpu_driver_info(handle)["driver_version"],
            uuid=lambda: library.amdsmi_get_gpu_device_uuid(handle),
        )

    return [of(*device) for device in _devices(library, environment)]


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


def _first(values: Mapping[str, Any], *names: str) -> float:
    """The first of several names that has a number: the library writes N/A for the others."""
    for name in names:
        value = values.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    raise NotToldError("not told by this device")


def _milliwatts(power: float) -> float:
    return power / 1000 if power > _IN_MICROWATTS else power * 1000


def _plain_values(library: Any, handle: Any) -> Mapping[tuple[str, ...], Values]:
    """Counters that are there at once, in the units of all counters, by their names."""
    clocks, heat = library.AmdSmiClkType, library.AmdSmiTemperatureType
    now = library.AmdSmiTemperatureMetric.CURRENT

    def clock(kind: Any) -> Values:
        return lambda: (_first(library.amdsmi_get_clock_info(handle, kind), "clk", "cur_clk"),)

    def activity() -> tuple[float, float]:
        usage = library.amdsmi_get_gpu_activity(handle)
        return _first(usage, "gfx_activity"), _first(usage, "umc_activity")

    return {
        ("gpu_frequency",): clock(clocks.GFX),
        ("gpu_mem_frequency",): clock(clocks.MEM),
        ("gpu_power_mw",): lambda: (
            _milliwatts(_first(library.amdsmi_get_power_info(handle), *_POWER)),
        ),
        ("gpu_power_limit_mw",): lambda: (
            _milliwatts(_first(library.amdsmi_get_power_cap_info(handle), "power_cap")),
        ),
        ("gpu_temp",): lambda: (
            _first({"": library.amdsmi_get_temp_metric(handle, heat.HOTSPOT, now)}, ""),
        ),
        ("gpu_usage", "gpu_mem_util"): activity,
        ("gpu_mem_used",): lambda: (
            _first(library.amdsmi_get_gpu_vram_usage(handle), "vram_used") * 2**20,
        ),
    }


def _link_totals(library: Any, handle: Any) -> Mapping[str, float]:
    """What went over XGMI so far."""
    metrics = library.amdsmi_get_gpu_metrics_info(handle)
    totals = {}
    for name, key in _XGMI.items():
        value = metrics.get(key)
        many = value if isinstance(value, list | tuple) else ()
        links = [link for link in many if isinstance(link, int | float)]
        if not links:
            raise NotToldError("no XGMI links, or not told by this device")
        totals[name] = sum(links)
    return totals


def _memory_of_processes(library: Any, handle: Any) -> Callable[[], Mapping[int, float]]:
    def used() -> Mapping[int, float]:
        running = list(library.amdsmi_get_gpu_process_list(handle))
        if not all(isinstance(process, Mapping) for process in running):
            raise NotToldError("this version of amdsmi does not name processes")
        sums: dict[int, float] = defaultdict(float)
        for process in running:
            sums[process["pid"]] += _first(process["memory_usage"], "vram_mem")
        return sums

    return used
