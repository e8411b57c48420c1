"""Numbers for people: times, sizes, counts and shares, worded alike, and the units of counters."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from functools import cache
from itertools import groupby
from pathlib import Path

from timesink.model.data_files import csv_rows
from timesink.patterns import regex

_TIME_UNITS = ("ns", "us", "ms", "s")
_SIZE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_WHOLE_UNITS = ("ns", "B")
"""Of which there are no parts."""


def count(value: int) -> str:
    """Whole numbers with thin groups of three."""
    return f"{value:,}".replace(",", " ")


def count_noun(value: int, things: str) -> str:
    """How many of something."""
    if value == 1 and things.endswith("ies"):
        things = f"{things[:-3]}y"
    elif value == 1:
        things = things.removesuffix("es" if things.endswith("sses") else "s")
    return f"{count(value)} {things}"


def join_names(names: Sequence[str], most: int = 6, between: str = ", ") -> str:
    """Names in order, and how many there are beside the first ones."""
    text = between.join(names[:most])
    return f"{text} and {count(len(names) - most)} more" if len(names) > most else text


def ordinal(value: int) -> str:
    """A number as a rank."""
    endings = {1: "st", 2: "nd", 3: "rd"}
    ending = "th" if value % 100 in {11, 12, 13} else endings.get(value % 10, "th")
    return f"{value}{ending}"


def number(value: float) -> str:
    """Any number with three decimals, or three digits where that would show nothing."""
    if value and abs(value) < 0.0005:
        return f"{value:.3g}"
    return f"{value:,.3f}".replace(",", " ")


def duration_ns(value: float) -> str:
    """A length of time with three or four digits and its unit."""
    return _in_units(value, 1000, _TIME_UNITS, _digits)


def time_scale(longest_ns: float) -> tuple[float, str]:
    """The unit that suits times up to this one, as nanoseconds and as text.

    >>> time_scale(2_500_000)
    (1000000, 'ms')
    """
    unit = duration_ns(longest_ns).rsplit(" ", 1)[1]
    return 1000 ** _TIME_UNITS.index(unit), unit


def _in_units(value: float, step: int, units: Sequence[str], digits: Callable[[float], str]) -> str:
    """In the first of the units, each of them `step` times the one before, that is large enough."""
    for power, unit in enumerate(units):
        text = f"{value:.0f}" if unit in _WHOLE_UNITS else digits(value / step**power)
        # What rounds up to a whole step is one of the next unit.
        if abs(float(text)) < step:
            break
    return f"{text} {unit}"


def _digits(value: float) -> str:
    """Two decimals, or one where that makes too many digits; rounded once."""
    fine = f"{value:.2f}"
    return fine if abs(float(fine)) < 100 else f"{value:.1f}"


def moment_ns(value: int) -> str:
    """A point in time as milliseconds since another one, to the microsecond."""
    return f"{value / 1_000_000:,.3f} ms".replace(",", " ")


def brief_ns(value: float) -> str:
    """A length of time for a sentence: three digits.

    >>> brief_ns(286_340), brief_ns(33_620_000), brief_ns(1_023_000)
    ('286 us', '33.6 ms', '1.02 ms')
    """
    return _in_units(value, 1000, _TIME_UNITS, three_digits)


def three_digits(value: float, decimals: int = 2) -> str:
    """Three digits, or all before the point, with at most so many decimals; rounded once.

    >>> three_digits(3.346), three_digits(33.46), three_digits(334.6), three_digits(3.346, 1)
    ('3.35', '33.5', '335', '3.3')
    """
    for places in range(decimals, 0, -1):
        text = f"{value:.{places}f}"
        if abs(float(text)) < 10 ** (3 - places):
            return text
    return f"{value:.0f}"


def size_bytes(value: float) -> str:
    """Bytes in binary units, with one decimal."""
    return _in_units(value, 1024, _SIZE_UNITS, "{:.1f}".format)


def brief_bytes(value: float) -> str:
    """Bytes for a sentence: three digits.

    >>> brief_bytes(34_084_028_416), brief_bytes(344_813_568)
    ('31.7 GiB', '329 MiB')
    """
    return _in_units(value, 1024, _SIZE_UNITS, _one_decimal)


def share(part: float, total: float) -> str:
    """A part of a whole in percent for a sentence: three digits.

    >>> share(0.1297, 1), share(1.0464, 1)
    ('13.0 %', '105 %')
    """
    return percent(100 * part / total) if total else "-"


def percent(value: float) -> str:
    """Percent for a sentence: one decimal below a hundred.

    >>> percent(57.71), percent(99.96), percent(-104.6)
    ('57.7 %', '100 %', '-105 %')
    """
    return f"{_one_decimal(value)} %"


def _one_decimal(value: float) -> str:
    return three_digits(value, 1)


def brief_share(part: float, total: float) -> str:
    """A part of a whole in percent for a sentence: one decimal below 10 % and close to 100 %.

    >>> brief_share(0.974, 1), brief_share(0.0204, 1), brief_share(0.998, 1)
    ('97 %', '2.0 %', '99.8 %')
    """
    value = 100 * part / total if total else 0.0
    has_decimal = value < 9.95 or 99.5 <= value < 99.95
    return f"{value:.1f} %" if has_decimal else f"{value:.0f} %"


def rate(value: float, things: str) -> str:
    """How much a second, in decimal units with three or four digits."""
    return _in_units(value, 1000, _rate_units(things), _digits)


def brief_rate(value: float, things: str) -> str:
    """How much a second for a sentence: three digits.

    >>> brief_rate(989.4e12, "FLOP"), brief_rate(3.352e12, "B")
    ('989 TFLOP/s', '3.35 TB/s')
    """
    return _in_units(value, 1000, _rate_units(things), three_digits)


def _rate_units(things: str) -> list[str]:
    return [f"{prefix}{things}/s" for prefix in ("", *"kMGTP")]


_AMOUNT = regex(r"(.*\d) (\D.*)")
_TWICE = 2.0
_VERY_MANY = 1e15
_CERTAIN_P = 0.001
_MANY_TIMES = 1e6
"""Times above are no more than very many."""
_MAX_PCT = 200.0
"""A change with its interval is a factor from here on."""
_ONLY_FACTORS = 10.0
"""Percent say nothing beyond: then it is so many times as much."""
_MORE = ("more", "less", "as much")
_LONGER = ("longer", "less", "as long")


def from_to(base: str, new: str) -> str:
    """Two amounts with the unit they share named once."""
    amount, unit = _parts(base)
    return f"{amount if unit == _parts(new)[1] else base} → {new}"


def _parts(amount: str) -> tuple[str, str]:
    """The number and its unit, which may be several words: `103`, `% of a core`."""
    match = _AMOUNT.fullmatch(amount)
    return (match[1], match[2]) if match else (amount, "")


def times(base_ns: float, new_ns: float) -> str:
    """Time on both sides."""
    return from_to(brief_ns(base_ns), brief_ns(new_ns))


def range_ns(low: float, high: float) -> str:
    """From the shortest to the longest time.

    >>> range_ns(2e7, 6e8)
    '20.0 to 600 ms'
    """
    return from_to(brief_ns(low), brief_ns(high)).replace(" → ", " to ")


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
        return brief_rate(number, "B") if number else "0 B/s"
    if base_unit == "B":
        return brief_bytes(number)
    if base_unit == "ns":
        return brief_ns(number)
    return f"{digits(number)} {base_unit}".strip()


def digits(value: float) -> str:
    """Three digits, or all before the point, unless there are very many."""
    text = f"{value:.3g}"
    is_long_number = 1000 <= abs(float(text)) < _VERY_MANY
    return count(round(value)) if is_long_number else text


def change(base: float, new: float) -> str:
    """How much more or less the new side has."""
    if base == new:
        return "0 %"
    if not base:
        return "from 0"
    ratio = new / base
    return f"{factor(ratio)} x" if ratio >= _TWICE else signed_pct(100 * (ratio - 1))


def change_with_interval(base: float, new: float, bounds_pct: tuple[float, float]) -> str:
    """A change and its interval, both in percent or, above +200 %, both as factors.

    >>> change_with_interval(10, 11, (9.4, 10.6))
    '+10.0 %, 95 % interval +9.4 to +10.6 %'
    >>> change_with_interval(1.0, 4.062, (305.5, 307.0))
    '4.06 x, 95 % interval 4.05 to 4.07 x'
    """
    if base and new / base > 1 + _MAX_PCT / 100:
        low, high = (1 + end / 100 for end in bounds_pct)
        return f"{digits(new / base)} x, 95 % interval {digits(low)} to {digits(high)} x"
    by = signed_pct(100 * (new / base - 1)) if base else change(base, new)
    return f"{by}, 95 % interval {interval_pct(*bounds_pct)}"


def factor(ratio: float) -> str:
    """How many times as much."""
    if ratio > _MANY_TIMES:
        return f"> {count(round(_MANY_TIMES))}"
    return f"{ratio:.1f}" if ratio < 100 else count(round(ratio))


def more(base: float, new: float, what: str, peers: str = "", *, time: bool = False) -> str:
    """How much more or less of something there is than elsewhere.

    In percent; beyond ten times as a factor, and what is not elsewhere is only here.
    """
    above, below, many = _LONGER if time else _MORE
    if new > base * _MANY_TIMES:
        return f"{what} that is only here"
    if new >= base * _ONLY_FACTORS:
        parts = (factor(new / base), "times", many, what, f"as {peers}" if peers else "")
    else:
        word = above if new > base else below
        parts = (share(abs(new - base), base), word, what, "than" if peers else "", peers)
    return " ".join(filter(None, parts))


def signed_pct(value: float) -> str:
    """A change in percent, beyond ten times as a factor.

    The whole of it and nothing need no decimals.
    """
    if value >= 100 * (_ONLY_FACTORS - 1):
        return f"{factor(1 + value / 100)} x"
    text = f"{value:+.1f}"
    if text in {"+0.0", "-0.0"}:
        return "0 %"
    if text == "-100.0":
        return "-100 %" if value <= -100 else f"{max(value, -99.99):.2f} %"
    return f"{'+' if value > 0 else ''}{percent(value)}"


def signed_ns(value: float) -> str:
    """A change of time with its sign."""
    text = brief_ns(abs(value))
    return text if text == "0 ns" else f"{'+' if value > 0 else '-'}{text}"


def interval_ns(low: float, high: float) -> str:
    """Bounds of a change of time."""
    return from_to(signed_ns(low), signed_ns(high)).replace(" → ", " to ")


def interval_pct(low: float, high: float) -> str:
    """Bounds of a change in percent, rounded outward; nothing shrinks by more than all of it."""
    low_end = signed_pct(_outward(math.floor, max(low, -100.0)))
    high_end = signed_pct(_outward(math.ceil, max(high, -100.0)))
    return f"{low_end.removesuffix(high_end[-2:])} to {high_end}"


def _outward(rounding: Callable[[float], int], pct: float) -> float:
    """A bound to the last digit that is shown."""
    return rounding(pct) if abs(pct) >= 100 else rounding(pct * 10) / 10


def chance(p: float | None) -> str:
    """A p-value as precise as such are."""
    if p is None or math.isnan(p):
        return "-"
    return "< 0.001" if p < _CERTAIN_P else f"{p:.3f}"


def per_cycle(calls: float) -> str:
    """Calls in a cycle, which need not be whole."""
    return f"{calls:.3g}" if calls < 100 else count(round(calls))


_NUMBERS = regex(r"(\d+)")


def natural(text: str) -> list[tuple[int, str]]:
    """Sort key by which `GPU 2` comes before `GPU 10`."""
    parts = filter(None, _NUMBERS.split(text))
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


# In which unit a counter is, as data: `counter_units.csv` beside this file.
#
# The first line whose pattern fits decides.  `at_most` tells apart counters that some samplers
# write in another unit: the line holds where the counter's largest value is not above it.
# `recorded` is what samplers write.  `published` is what behaviour tables without a column for
# units hold, where that is special; all else there is 100 times the recorded value, or the recorded
# value itself where the name says that it is a share or a rate.

_DATA = Path(__file__).with_name("counter_units.csv")
_SCALES = {
    "B/s": {"KiB/s": 1024.0, "MiB/s": 1024.0**2, "GiB/s": 1024.0**3}
    | {"kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12},
    "B": {"KiB": 1024.0, "MiB": 1024.0**2, "GiB": 1024.0**3, "TiB": 1024.0**4}
    | {"kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12},
    "W": {"uW": 1e-6, "mW": 1e-3, "kW": 1e3},
    "J": {"uJ": 1e-6, "mJ": 1e-3, "kJ": 1e3},
    "MHz": {"Hz": 1e-6, "kHz": 1e-3, "GHz": 1e3},
    "ns": {"us": 1e3, "ms": 1e6, "s": 1e9},
}
"""Units of one quantity, and how many of its base unit each is."""
_BASES = {unit: (base, scale) for base, units in _SCALES.items() for unit, scale in units.items()}
_FACTOR = regex(r"([0-9.eE+-]+) (.+)")
_SHARES = ("usage", "rate", "util", "occupancy")
"""Counters with one of these in the name are published as recorded: divided by 100, times 100."""


def unit_of(counter: str, largest: float | None = None) -> str | None:
    """The unit samples of a counter are in; None where it is not known.

    With the largest value seen, counters that are written as a fraction here and as percent there
    are distinguished.
    """
    return _matching_unit("recorded", counter, largest)[1]


def published_unit(metric: str, typical: float) -> str | None:
    """The unit of a metric in a table of behaviour that does not say it."""
    is_special, unit = _matching_unit("published", metric, typical)
    if is_special:
        return unit
    unit = unit_of(metric, typical)
    if unit is None or any(word in metric.lower() for word in _SHARES):
        return unit
    return f"0.01 {unit}"


def quantity(value: float, unit: str | None) -> tuple[float, str]:
    """A value in the base unit of what it measures, without the factor its unit may begin with.

    Values of one quantity, however it was written down, have the same unit afterwards.
    """
    match = _FACTOR.fullmatch(unit or "")
    if match is not None:
        value, unit = _times(value, float(match[1])), match[2]
    base, scale = _BASES.get(unit or "", (unit or "", 1.0))
    return (value if scale == 1 else _times(value, scale)), base


def _times(value: float, factor: float) -> float:
    # A division by 100 is exact where a multiplication with 0.01 is not.
    return value * factor if factor >= 1 else value / round(1 / factor, 9)


def _matching_unit(form: str, counter: str, largest: float | None) -> tuple[bool, str | None]:
    """Whether there is a line for a counter, and its unit."""
    for line in _lines():
        limit = line["at_most"]
        is_below = not limit or (largest is not None and abs(largest) <= float(limit))
        if line["form"] == form and is_below and fnmatchcase(counter.lower(), line["pattern"]):
            return True, line["unit"] or None
    return False, None


@cache
def _lines() -> list[dict[str, str]]:
    return csv_rows(_DATA)


def the_ranks(ranks: Collection[int], most: int | None = 8) -> str:
    """Ranks by their numbers, with the word before them.

    >>> the_ranks([4, 2, 3])
    'ranks 2-4'
    """
    return f"rank{'' if len(ranks) == 1 else 's'} {ranges_of(ranks, most)}"


def ranges_of(ranks: Iterable[int], most: int | None = None) -> str:
    """Ranks in order, those in a row as from and to; at most so many ranges.

    >>> ranges_of([7, 1, 2, 0])
    '0-2, 7'
    """
    numbers = sorted(set(map(int, ranks)))
    rows = [
        [number for _, number in row]
        for _, row in groupby(enumerate(numbers), lambda place: place[1] - place[0])
    ]
    texts = [f"{row[0]}-{row[-1]}" if len(row) > 1 else str(row[0]) for row in rows]
    if most is not None and len(texts) > most:
        return f"{', '.join(texts[:most])}, ... ({len(numbers)} ranks)"
    return ", ".join(texts)
