"""What NVML tells about a device: clocks, power, heat, load, memory, links."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from timesink.collect.counters.gpu.alike import KB_PER_KIB, least_ms_of
from timesink.collect.counters.probing import (
    GPU_LANE,
    Probe,
    Rate,
    Sample,
    Setting,
    Values,
    labelled,
)

_GRAPHICS, _SM, _MEMORY = 0, 1, 2
_DIE = 0
_TRANSMIT, _RECEIVE = 0, 1
_POWER_INSTANT = 186
_LINK_DATA = {"gpu_link_transmit_kbps": 138, "gpu_link_receive_kbps": 139}
_ALL_LINKS = 2**32 - 1
_DOUBLE, _UINT, _ULONG, _ULONGLONG, _SLONGLONG, _INT = range(6)
_MEMBERS = {
    _DOUBLE: "dVal",
    _UINT: "uiVal",
    _ULONG: "ulVal",
    _ULONGLONG: "ullVal",
    _SLONGLONG: "sllVal",
    _INT: "siVal",
}
"""Where a field's value is, by the type it says it has."""
_PCIE_LEAST_MS = 100.0
_ERRORS = {3: "not supported by this device", 4: "no permission", 15: "the GPU is lost"}


class FieldError(Exception):
    """A field that the device does not tell."""


def gauges(
    library: Any,
    handle: Any,
    labels: tuple[str, ...],
    setting: Setting,
    *,
    noted: AbstractSet[str],
) -> Iterator[Probe]:
    """Each counter by itself: what one device does not tell says nothing about the others.

    Those that the driver notes down need not be asked for.
    """
    for names, read in _plain(library, handle).items():
        if setting.wants(*names) and not noted >= set(names):
            found = labelled(names, read, labels)
            yield Probe(names, found, labels[0], GPU_LANE, least_ms_of(names))
    for way, name in ((_TRANSMIT, "gpu_pcie_transmit_kbps"), (_RECEIVE, "gpu_pcie_receive_kbps")):
        if setting.wants(name):
            read_pcie = labelled((name,), _pcie(library, handle, way), labels)
            yield Probe((name,), read_pcie, labels[0], f"pcie of {labels[0]}", _PCIE_LEAST_MS)
    for name, field in _LINK_DATA.items():
        if setting.wants(name):
            read_links = _Links(library, handle, name, field, labels).read
            yield Probe((name,), read_links, labels[0], GPU_LANE)


def _plain(library: Any, handle: Any) -> Mapping[tuple[str, ...], Values]:
    """Counters that are there at once, by their names."""
    return {
        ("gpu_sm_frequency",): lambda: (library.nvmlDeviceGetClockInfo(handle, _SM),),
        ("gpu_frequency",): lambda: (library.nvmlDeviceGetClockInfo(handle, _GRAPHICS),),
        ("gpu_mem_frequency",): lambda: (library.nvmlDeviceGetClockInfo(handle, _MEMORY),),
        ("gpu_power_mw",): lambda: (library.nvmlDeviceGetPowerUsage(handle),),
        ("gpu_power_instant_mw",): lambda: (field_value(library, handle, _POWER_INSTANT),),
        ("gpu_power_limit_mw",): lambda: (library.nvmlDeviceGetEnforcedPowerLimit(handle),),
        ("gpu_temp",): lambda: (library.nvmlDeviceGetTemperature(handle, _DIE),),
        ("gpu_usage", "gpu_mem_util"): lambda: _utilisation(library, handle),
        ("gpu_mem_used",): lambda: (library.nvmlDeviceGetMemoryInfo(handle).used,),
        ("gpu_throttle_reasons",): lambda: (_reasons(library)(handle),),
    }


def _utilisation(library: Any, handle: Any) -> tuple[float, float]:
    rates = library.nvmlDeviceGetUtilizationRates(handle)
    return rates.gpu, rates.memory


def _reasons(library: Any) -> Callable[[Any], int]:
    """Newer bindings call events what older ones call throttling."""
    new = getattr(library, "nvmlDeviceGetCurrentClocksEventReasons", None)
    found: Callable[[Any], int] = new or library.nvmlDeviceGetCurrentClocksThrottleReasons
    return found


def _pcie(library: Any, handle: Any, way: int) -> Values:
    return lambda: (library.nvmlDeviceGetPcieThroughput(handle, way),)


class _Links:
    """Traffic over all links of a device, from its totals."""

    def __init__(
        self, library: Any, handle: Any, name: str, field: int, labels: tuple[str, ...]
    ) -> None:
        self._library = library
        self._handle = handle
        self._field = field
        self._name = name
        self._labels = labels
        self._rate = Rate()

    def read(self, now_s: float) -> Iterable[Sample]:
        total = field_value(self._library, self._handle, self._field, _ALL_LINKS)
        rate = self._rate.of(self._name, now_s, total)
        if rate is None:
            return ()
        return [Sample(self._name, label, rate * KB_PER_KIB) for label in self._labels]


def field_value(library: Any, handle: Any, field: int, scope: int = 0) -> float:
    """A value that NVML tells by the number of its field."""
    found = library.nvmlDeviceGetFieldValues(handle, [(field, scope)])[0]
    if found.nvmlReturn:
        told = _ERRORS.get(found.nvmlReturn, f"error {found.nvmlReturn} of NVML")
        raise FieldError(told)
    return float(getattr(found.value, _MEMBERS.get(found.valueType, "ullVal")))
