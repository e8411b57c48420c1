"""Columns of the tables of kernels, as people see them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from timesink.model import units
from timesink.render.kernels.words import peak_share


@dataclass(frozen=True, slots=True)
class Column:
    """A column for people: where it comes from, how it reads, how easily it is spared."""

    title: str
    source: str
    form: Callable[[Any], str]
    spare: int = 0
    """Columns with the highest number go first where there is no room; those with 0 stay."""


def _whole(value: float) -> str:
    return units.count(round(value))


def _percent(value: float) -> str:
    return units.share(value, 100)


def _short(value: float, unit: float) -> str:
    """Three digits or all before the point: rates and intensities span many magnitudes."""
    shown = value / unit
    return f"{shown:.0f}" if shown >= 100 else f"{shown:.3g}"


CALLS = Column("calls", "calls", _whole, 3)
SEEN = Column("seen", "calls", _whole, 3)
LAUNCHES = Column("launches", "launches", _whole, 4)
SHARE = Column("share", "share_pct", _percent)
TOTAL = Column("total", "total_ns", units.duration_ns)
MEAN = Column("mean", "mean_ns", units.duration_ns, 6)
TENSOR = Column("tensor", "tensor_pct", peak_share)
DRAM = Column("DRAM", "dram_pct", peak_share)
SM = Column("SM", "sm_pct", peak_share)
OCCUPANCY = Column("occup.", "occupancy_pct", peak_share, 4)
CLASS = Column("class", "class", str, 2)
VARIANTS = Column("variants", "variants", _whole, 5)
KERNELS = Column("kernels", "variants", _whole, 5)
HEADROOM = Column("headroom", "headroom_ns", units.duration_ns, 3)
HEADROOM_SHARE = Column("of all", "headroom_share_pct", _percent)
NEAREST = Column("nearest roof", "nearest", str)
INTENSITY = Column("FLOP/byte", "intensity", lambda value: _short(value, 1), 2)
RATE = Column("TFLOP/s", "achieved_flop_per_s", lambda value: _short(value, 1e12))
BANDWIDTH = Column("GB/s", "achieved_bytes_per_s", lambda value: f"{value / 1e9:.0f}")
OF_ROOF = Column("of roof", "roof_share_pct", peak_share)
BOUND = Column("bound by", "bound", str)
PRECISION = Column("mostly", "precision", lambda value: value.replace("_", " "), 3)
WORDS = (CLASS, BOUND, PRECISION)
"""Columns of words that are never cut."""

MAIN = (SHARE, TOTAL, MEAN, TENSOR, DRAM, SM, OCCUPANCY, CLASS)
"""Columns of the tables of a summary, behind the name and the number of calls."""
WHOLE = (SHARE, TOTAL, MEAN, TENSOR, DRAM, SM, OCCUPANCY, CLASS, HEADROOM, VARIANTS)
"""Columns of a table on its own."""
ROOFLINE = (SHARE, INTENSITY, RATE, BANDWIDTH, OF_ROOF, BOUND, PRECISION)
"""Columns of the table of kernels against their roofs."""
LEFT_ON = (
    replace(HEADROOM, spare=0),
    HEADROOM_SHARE,
    replace(TOTAL, spare=2),
    replace(NEAREST, spare=1),
)
"""Columns of the table of what is left to gain."""
