"""Units as Nsight Compute prints them, and the base unit each is a power of ten of.

The same metric is printed as `26,336 ns`, `26.34 us` or `26.34 usecond`, depending on the size of
the value, the version and `--print-units`.  The power of ten is written behind the printed digits
before they become a number (`26.34e3`), so no value passes through a product that rounds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

_SECONDS = {"second": 0, "s": 0, "sec": 0, "m": -3, "u": -6, "µ": -6, "n": -9, "p": -12}
_TIME = re.compile(r"^(?P<prefix>[munpµ]?)(?:s|sec|second)s?$")
_PREFIXED = re.compile(r"^(?P<prefix>[KMGTPk])(?P<unit>[a-z]\w*|Hz|B)$")
_POWERS = {"K": 3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15}
_SAME = {
    "Hz": "hz",
    "B": "byte",
    "bytes": "byte",
    "cycle/s": "hz",
    "cycles": "cycle",
    "percent": "%",
}
_NANO = 9


@dataclass(frozen=True, slots=True)
class PrintedUnit:
    """A base unit, and the power of ten that leads to it."""

    base: str
    power: int = 0

    @property
    def exponent(self) -> str:
        """The power as it is written behind a number; empty for the base unit itself."""
        return f"e{self.power}" if self.power else ""


@cache
def unit_of(printed: str) -> PrintedUnit:
    """What a printed unit means."""
    above, slash, below = printed.strip().partition("/")
    if not slash:
        return _single(above, of_time="ns", time_power=_NANO)
    upper = _single(above, of_time="ns", time_power=_NANO)
    # Rates are per second whatever time they are printed for.
    lower = _single(below, of_time="s", time_power=0)
    base = f"{upper.base}/{lower.base}"
    return PrintedUnit(_SAME.get(base, base), upper.power - lower.power)


def _single(printed: str, *, of_time: str, time_power: int) -> PrintedUnit:
    time = _TIME.match(printed)
    if time:
        return PrintedUnit(of_time, _SECONDS.get(time["prefix"], 0) + time_power)
    prefixed = _PREFIXED.match(printed)
    if prefixed:
        return PrintedUnit(
            _SAME.get(prefixed["unit"], prefixed["unit"]), _POWERS[prefixed["prefix"]]
        )
    return PrintedUnit(_SAME.get(printed, printed))
