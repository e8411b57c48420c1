"""Numbers of two sides beside each other, for people."""

from __future__ import annotations

import math
import re

from timesink.model import units
from timesink.model.counter_units import quantity

_AMOUNT = re.compile(r"(.*\d) (\D.*)")
_TWICE = 2.0
_VERY_MANY = 1e15
_CERTAIN_P = 0.001
_MANY_TIMES = 1e6
"""Times and percent above are no more than very many."""


def from_to(base: str, new: str) -> str:
    """Two amounts with the unit they share named once."""
    amount, unit = _parts(base)
    return f"{amount if unit == _parts(new)[1] else base} → {new}"


def _parts(amount: str) -> tuple[str, str]:
    """The number and its unit, which may be several words: `103`, `% of a core`."""
    found = _AMOUNT.fullmatch(amount)
    return (found[1], found[2]) if found else (amount, "")


def times(base_ns: float, new_ns: float) -> str:
    """Time on both sides."""
    return from_to(units.brief_ns(base_ns), units.brief_ns(new_ns))


def shares(base_pct: float, new_pct: float) -> str:
    """Shares of the cycle on both sides."""
    return from_to(f"{base_pct:.2f} %", f"{new_pct:.2f} %")


def amounts(base: float, new: float, unit: str | None) -> str:
    """A counter on both sides, in the unit it is in and not in the one it was written in."""
    return from_to(amount(base, unit), amount(new, unit))


def amount(value: float, unit: str | None) -> str:
    """A counter with its unit."""
    number, base_unit = quantity(value, unit)
    if not math.isfinite(number):
        return f"{number:g} {base_unit}".strip()
    if base_unit == "B/s":
        return units.rate(number, "B") if number else "0 B/s"
    if base_unit == "B":
        return units.size_bytes(number)
    if base_unit == "ns":
        return units.brief_ns(number)
    return f"{digits(number)} {base_unit}".strip()


def digits(value: float) -> str:
    """Three digits, or all before the point, unless there are very many."""
    shown = f"{value:.3g}"
    whole = 1000 <= abs(float(shown)) < _VERY_MANY
    return units.count(round(value)) if whole else shown


def change(base: float, new: float) -> str:
    """How much more or less the new side has."""
    if base == new:
        return "0 %"
    if not base:
        return "from 0"
    ratio = new / base
    if ratio > _MANY_TIMES:
        return f"> {units.count(round(_MANY_TIMES))} x"
    if ratio >= _TWICE:
        return f"{ratio:.1f} x" if ratio < 100 else f"{units.count(round(ratio))} x"
    return signed_pct(100 * (ratio - 1))


def signed_pct(value: float) -> str:
    """A change in percent; the whole of it and nothing need no decimals."""
    if value > _MANY_TIMES:
        return f"> +{units.count(round(_MANY_TIMES))} %"
    shown = f"{value:+.1f}"
    if shown in {"+0.0", "-0.0"}:
        return "0 %"
    if shown == "-100.0":
        return "-100 %" if value <= -100 else f"{max(value, -99.99):.2f} %"
    return f"{shown} %"


def signed_ns(value: float) -> str:
    """A change of time with its sign."""
    said = units.brief_ns(abs(value))
    return said if said == "0 ns" else f"{'+' if value > 0 else '-'}{said}"


def interval_ns(low: float, high: float) -> str:
    """Bounds of a change of time.

    >>> interval_ns(5_000_000.0, 5_600_000.0)
    '+5.00 to +5.60 ms'
    """
    return from_to(signed_ns(low), signed_ns(high)).replace(" → ", " to ")


def interval_pct(low: float, high: float) -> str:
    """Bounds of a change in percent, rounded outward; nothing shrinks by more than all of it."""
    down, up = math.floor(max(low, -100.0) * 10) / 10, math.ceil(max(high, -100.0) * 10) / 10
    return f"{signed_pct(down).removesuffix(' %')} to {signed_pct(up)}"


def chance(p: float | None) -> str:
    """A p-value as precise as such are."""
    if p is None or math.isnan(p):
        return "-"
    return "< 0.001" if p < _CERTAIN_P else f"{p:.3f}"


def per_cycle(calls: float) -> str:
    """Calls in a cycle, which need not be whole."""
    return f"{calls:.3g}" if calls < 100 else units.count(round(calls))
