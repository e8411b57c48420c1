"""What amdsmi tells about a device, in the units of all counters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from timesink.collect.counters.probing import Values

_IN_MICROWATTS = 100_000
"""Versions of the library differ in the unit of limits; no device may draw as many watts."""


class NotToldError(Exception):
    """A value that the device does not tell."""


def plain_values(library: Any, handle: Any) -> Mapping[tuple[str, ...], Values]:
    """Counters that are there at once, by their names."""
    clocks = library.AmdSmiClkType
    return {
        ("gpu_frequency",): lambda: (_clock(library, handle, clocks.GFX),),
        ("gpu_mem_frequency",): lambda: (_clock(library, handle, clocks.MEM),),
        ("gpu_power_mw",): lambda: (_power_mw(library, handle),),
        ("gpu_power_limit_mw",): lambda: (_limit_mw(library, handle),),
        ("gpu_temp",): lambda: (_hotspot(library, handle),),
        ("gpu_usage", "gpu_mem_util"): lambda: _activity(library, handle),
        ("gpu_mem_used",): lambda: (_vram_bytes(library, handle),),
    }


def first(values: Mapping[str, Any], *names: str) -> float:
    """The first of several names that has a number: the library writes N/A for the others."""
    for name in names:
        value = values.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    raise NotToldError("not told by this device")


def _clock(library: Any, handle: Any, kind: Any) -> float:
    return first(library.amdsmi_get_clock_info(handle, kind), "clk", "cur_clk")


def _power_mw(library: Any, handle: Any) -> float:
    names = ("current_socket_power", "socket_power", "average_socket_power")
    return _milliwatts(first(library.amdsmi_get_power_info(handle), *names))


def _limit_mw(library: Any, handle: Any) -> float:
    return _milliwatts(first(library.amdsmi_get_power_cap_info(handle), "power_cap"))


def _milliwatts(power: float) -> float:
    return power / 1000 if power > _IN_MICROWATTS else power * 1000


def _hotspot(library: Any, handle: Any) -> float:
    now = library.AmdSmiTemperatureMetric.CURRENT
    hotspot = library.AmdSmiTemperatureType.HOTSPOT
    return first({"": library.amdsmi_get_temp_metric(handle, hotspot, now)}, "")


def _activity(library: Any, handle: Any) -> tuple[float, float]:
    found = library.amdsmi_get_gpu_activity(handle)
    return first(found, "gfx_activity"), first(found, "umc_activity")


def _vram_bytes(library: Any, handle: Any) -> float:
    return first(library.amdsmi_get_gpu_vram_usage(handle), "vram_used") * 2**20
