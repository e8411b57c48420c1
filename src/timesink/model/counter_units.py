"""In which unit a counter is, as data: ``counter_units.csv`` beside this file.

The first line whose pattern fits decides.  ``at_most`` tells apart counters that some samplers
write in another unit: the line holds where the counter's largest value is not above it.
``recorded`` is what samplers write.  ``published`` is what behaviour tables without a column for
units hold, where that is special; all else there is 100 times the recorded value, or the recorded
value itself where the name says that it is a share or a rate.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path

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
_FACTOR = re.compile(r"([0-9.eE+-]+) (.+)")
_SHARES = ("usage", "rate", "util", "occupancy")
"""Counters with one of these in the name are published as recorded: divided by 100, times 100."""


@dataclass(frozen=True, slots=True)
class _Line:
    pattern: str
    at_most: float | None
    unit: str | None

    def fits(self, counter: str, largest: float | None) -> bool:
        if not fnmatchcase(counter, self.pattern):
            return False
        return self.at_most is None or (largest is not None and abs(largest) <= self.at_most)


def unit_of(counter: str, largest: float | None = None) -> str | None:
    """The unit samples of a counter are in; None where it is not known.

    With the largest value seen, counters that are written as a fraction here and as percent there
    are told apart.
    """
    line = _fitting("recorded", counter, largest)
    return None if line is None else line.unit


def published_unit(metric: str, typical: float) -> str | None:
    """The unit of a metric in a table of behaviour that does not say it."""
    line = _fitting("published", metric, typical)
    if line is not None:
        return line.unit
    unit = unit_of(metric, typical)
    if unit is None or any(word in metric.lower() for word in _SHARES):
        return unit
    return f"0.01 {unit}"


def quantity(value: float, unit: str | None) -> tuple[float, str]:
    """A value in the base unit of what it measures, without the factor its unit may begin with.

    Values of one quantity, however it was written down, have the same unit afterwards.
    """
    found = _FACTOR.fullmatch(unit or "")
    if found is not None:
        value, unit = _times(value, float(found[1])), found[2]
    base, scale = _BASES.get(unit or "", (unit or "", 1.0))
    return (value if scale == 1 else _times(value, scale)), base


def _times(value: float, factor: float) -> float:
    # A division by 100 is exact where a multiplication with 0.01 is not.
    return value * factor if factor >= 1 else value / round(1 / factor, 9)


def _fitting(form: str, counter: str, largest: float | None) -> _Line | None:
    name = counter.lower()
    return next((line for line in _lines()[form] if line.fits(name, largest)), None)


@lru_cache(maxsize=1)
def _lines() -> dict[str, tuple[_Line, ...]]:
    with _DATA.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {
        form: tuple(_line(row) for row in rows if row["form"] == form)
        for form in ("recorded", "published")
    }


def _line(row: dict[str, str]) -> _Line:
    at_most = float(row["at_most"]) if row["at_most"] else None
    return _Line(row["pattern"], at_most, row["unit"] or None)
