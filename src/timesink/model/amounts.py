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
    """Two amounts with the unit they share named once.

    >>> from_to("34.0 ms", "121.3 ms"), from_to("631.4 ms", "2.46 s"), from_to("3", "4")
    ('34.0 → 121.3 ms', '631.4 ms → 2.46 s', '3 → 4')
    """
    amount, unit = _parts(base)
    return f"{amount if unit == _parts(new)[1] else base} → {new}"


def _parts(amount: str) -> tuple[str, str]:
    """The number and its unit, which may be several words: `103`, `% of a core`."""
    found = _AMOUNT.fullmatch(amount)
    return (found[1], found[2]) if found else (amount, "")


def times(base_ns: float, new_ns: float) -> str:
    """Time on both sides.

    >>> times(34_000_000, 121_300_000)
    '34.0 → 121.3 ms'
    """
    return from_to(units.brief_ns(base_ns), units.brief_ns(new_ns))


def shares(base_pct: float, new_pct: float) -> str:
    """Shares of the cycle on both sides.

    >>> shares(2.7123, 8.6207)
    '2.71 → 8.62 %'
    """
    return from_to(f"{base_pct:.2f} %", f"{new_pct:.2f} %")


def amounts(base: float, new: float, unit: str | None) -> str:
    """A counter on both sides, in the unit it is in and not in the one it was written in.

    >>> amounts(118687.5, 21000, "0.01 MHz"), amounts(0, 1.5e12, "0.01 B/s")
    ('1 187 → 210 MHz', '0 B/s → 15.00 GB/s')
    >>> amounts(103, 26.8, "% of a core")
    '103 → 26.8 % of a core'
    """
    return from_to(amount(base, unit), amount(new, unit))


def amount(value: float, unit: str | None) -> str:
    """A counter with its unit.

    >>> amount(0.2643, "100 %"), amount(650_000, "mW"), amount(3.5, None)
    ('26.4 %', '650 W', '3.5')
    >>> amount(2.6e11, "B/s"), amount(3_641_245_696, "B"), amount(38_500, "ns")
    ('260.0 GB/s', '3.4 GiB', '38.5 us')
    """
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
    """Three digits, or all before the point, unless there are very many.

    >>> digits(1186.875), digits(6.3248), digits(0), digits(1234567.0), digits(1e308)
    ('1 187', '6.32', '0', '1 234 567', '1e+308')
    """
    shown = f"{value:.3g}"
    whole = 1000 <= abs(float(shown)) < _VERY_MANY
    return units.count(round(value)) if whole else shown


def change(base: float, new: float) -> str:
    """How much more or less the new side has.

    >>> change(100, 104.66), change(34, 121.3), change(100, 20), change(0, 5), change(5, 0)
    ('+4.7 %', '3.6 x', '-80.0 %', 'from 0', '-100 %')
    >>> change(1e-6, 1e9)
    '> 1 000 000 x'
    """
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
    """A change in percent; the whole of it and nothing need no decimals.

    >>> signed_pct(4.66), signed_pct(-100), signed_pct(-0.01), signed_pct(-99.99)
    ('+4.7 %', '-100 %', '0 %', '-99.99 %')
    """
    if value > _MANY_TIMES:
        return f"> +{units.count(round(_MANY_TIMES))} %"
    shown = f"{value:+.1f}"
    if shown in {"+0.0", "-0.0"}:
        return "0 %"
    if shown == "-100.0":
        return "-100 %" if value <= -100 else f"{max(value, -99.99):.2f} %"
    return f"{shown} %"


def signed_ns(value: float) -> str:
    """A change of time with its sign.

    >>> signed_ns(5_310_000), signed_ns(-310_000), signed_ns(0.2)
    ('+5.31 ms', '-310.0 us', '0 ns')
    """
    said = units.brief_ns(abs(value))
    return said if said == "0 ns" else f"{'+' if value > 0 else '-'}{said}"


def interval_ns(low: float, high: float) -> str:
    """Bounds of a change of time.

    >>> interval_ns(5_000_000.0, 5_600_000.0)
    '+5.00 to +5.60 ms'
    """
    return from_to(signed_ns(low), signed_ns(high)).replace(" → ", " to ")


def interval_pct(low: float, high: float) -> str:
    """Bounds of a change in percent, rounded outward; nothing shrinks by more than all of it.

    >>> interval_pct(15.82, 30.17), interval_pct(-130.0, -20.06), interval_pct(-0.01, 5e9)
    ('+15.8 to +30.2 %', '-100 to -20.0 %', '-0.1 to > +1 000 000 %')
    """
    down, up = math.floor(max(low, -100.0) * 10) / 10, math.ceil(max(high, -100.0) * 10) / 10
    return f"{signed_pct(down).removesuffix(' %')} to {signed_pct(up)}"


def chance(p: float | None) -> str:
    """A p-value as precise as such are.

    >>> chance(0.0000123), chance(0.0432), chance(float("nan"))
    ('< 0.001', '0.043', '-')
    """
    if p is None or math.isnan(p):
        return "-"
    return "< 0.001" if p < _CERTAIN_P else f"{p:.3f}"


def per_cycle(calls: float) -> str:
    """Calls in a cycle, which need not be whole.

    >>> per_cycle(64.0), per_cycle(0.0126), per_cycle(125820.5)
    ('64', '0.0126', '125 820')
    """
    return f"{calls:.3g}" if calls < 100 else units.count(round(calls))
