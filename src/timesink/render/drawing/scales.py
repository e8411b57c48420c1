"""From values to pixels, and the values worth a mark on an axis."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Linear:
    """Values from `low` to `high` spread evenly from pixel `start` to pixel `end`.

    >>> Linear(0, 100, 50, 250)(25)
    100.0
    """

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        width = self.high - self.low or 1.0
        return self.start + (self.end - self.start) * (value - self.low) / width


@dataclass(frozen=True, slots=True)
class Log:
    """Positive values, every decade as long as the next.

    >>> Log(1, 100, 0, 200)(10)
    100.0
    """

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        decades = math.log10(self.high / self.low) or 1.0
        return self.start + (self.end - self.start) * math.log10(value / self.low) / decades


def nice_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round values in a range: two or more, at most `most`, which is at least three.

    >>> nice_ticks(0, 69.5), nice_ticks(0, 1, most=3), nice_ticks(0, 0)
    ([0.0, 20.0, 40.0, 60.0], [0.0, 0.5, 1.0], [0])
    """
    if high <= low:
        return [low]
    rough = (high - low) / max(most - 1, 1)
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(
        step
        for step in (size * factor for factor in (1, 2, 5, 10, 20))
        # A hair of tolerance: a range may end just short of its last mark.
        if math.floor(high / step + 1e-9) - math.ceil(low / step - 1e-9) < most
    )
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    # Rounded away: 3 * 0.1 is not 0.3.
    digits = max(0, 1 - math.floor(math.log10(step)))
    return [round(number * step, digits) for number in range(first, last + 1)]


def decades(low: float, high: float) -> list[float]:
    """The powers of ten in a range.

    >>> decades(0.5, 200), decades(0.01, 1)
    ([1.0, 10.0, 100.0], [0.01, 0.1, 1.0])
    """
    first = math.ceil(math.log10(low) - 1e-9)
    last = math.floor(math.log10(high) + 1e-9)
    return [float(f"1e{power}") for power in range(first, last + 1)]
