"""What links of a device carry, what power it draws: ``hardware.csv``, ``rates.csv``.

How fast its memory is stands in the table of peaks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from timesink.analyses.diagnosis.anomalies.resources import table
from timesink.analyses.roofline.peaks import find_peaks

_HARDWARE = Path(__file__).with_name("hardware.csv")
_RATES = Path(__file__).with_name("rates.csv")
_GIGA = 1e9
_FILLED = 0.9
"""Part of the rate of a link that is left for data, beside headers and acknowledgements."""


@dataclass(frozen=True, slots=True)
class Hardware:
    """One sort of device; rates per direction in bytes per second, None where not published."""

    device: str
    match: str = ""
    pcie: float | None = None
    link: float | None = None
    memory_bandwidth: float | None = None
    power_w: float | None = None


@dataclass(frozen=True, slots=True)
class _Rate:
    """What links of a kind carry, in bytes per second."""

    kind: str
    most: float
    usual: bool


@lru_cache(maxsize=64)
def hardware_of(name: str | None) -> Hardware | None:
    """What is known about a device of that name.

    >>> found = hardware_of("NVIDIA H200")
    >>> found and (found.pcie, found.link, found.memory_bandwidth, found.power_w)
    (63000000000.0, 450000000000.0, 4800000000000.0, 700.0)
    """
    if not name:
        return None
    found = next((one for one in _devices() if re.search(one.match, name)), None)
    peaks = find_peaks(name).peaks
    if peaks is None:
        return found
    return replace(found or Hardware(peaks.device), memory_bandwidth=peaks.dram_bytes_per_s)


def capacity_of(
    kind: str, hardware: Hardware | None, seen: float, steady: float | None = None
) -> float:
    """What a link of a kind carries: known from the device, else the slowest that carries `seen`.

    `steady` is traffic that stays where it is, as that of a full link does: it tells of links that
    are slower than usual.

    >>> capacity_of("pcie", hardware_of("NVIDIA A100-SXM4-80GB"), 0)
    31500000000.0
    >>> capacity_of("link", None, 2e11)
    300000000000.0
    >>> capacity_of("network", None, 1.18e9), capacity_of("network", None, 1.18e9, steady=1.18e9)
    (12500000000.0, 1250000000.0)
    """
    known = getattr(hardware, kind, None)
    if known is not None and seen <= known:
        return float(known)
    of_kind = [rate for rate in _rates() if rate.kind == kind and rate.most >= seen]
    fitting = [rate.most for rate in of_kind if rate.usual or _fills(steady, rate.most)]
    return min(fitting, default=seen)


def _fills(steady: float | None, most: float) -> bool:
    return steady is not None and _FILLED * most <= steady <= most


@lru_cache(maxsize=1)
def _devices() -> tuple[Hardware, ...]:
    return tuple(
        Hardware(
            row["device"],
            row["match"],
            pcie=_rate(row["pcie_gb_per_s"]),
            link=_rate(row["link_gb_per_s"]),
            power_w=float(row["power_w"]) if row["power_w"] else None,
        )
        for row in table(_HARDWARE)
    )


def _rate(text: str) -> float | None:
    return float(text) * _GIGA if text else None


@lru_cache(maxsize=1)
def _rates() -> tuple[_Rate, ...]:
    return tuple(
        _Rate(row["kind"], float(row["gb_per_s"]) * _GIGA, row["usual"] == "yes")
        for row in table(_RATES)
    )
