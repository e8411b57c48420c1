"""Every N-th launch of each kernel function, in the words Nsight Compute understands."""

from __future__ import annotations

from dataclasses import dataclass

SMALLEST, LARGEST = 2, 1000

_ENOUGH_PICKS = 10
"""With fewer picks in a period the period itself, a power of ten, would be the stride."""


@dataclass(frozen=True, slots=True)
class LaunchPicks:
    """Launches 1, N + 1, 2 N + 1, ... of every kernel function; the count restarts each period.

    Nsight Compute selects launches by a regular expression on their number, and an expression can
    tell numbers by their last digits only.  So the pattern repeats after a power of ten, which
    makes one stride in each period a little shorter or longer than N.
    """

    every: int
    period: int
    picked: int

    @property
    def expression(self) -> str:
        """Matches the numbers of the launches picked, counted from 1; holds no colon."""
        numbers = [1 + self.every * pick for pick in range(self.picked)]
        digits = len(str(self.period)) - 1
        # A number too short to end in that many digits is listed as it is.
        short = [str(number) for number in numbers if number < self.period // 10]
        padded = "|".join(f"{number:0{digits}d}" for number in numbers)
        return "|".join([*short, f"[0-9]*({padded})"])


def sampling(every: int) -> LaunchPicks:
    """How to pick one launch in `every`, 2 to 1000, to less than a hundredth."""
    period = 10
    while True:
        picked = round(period / every)
        missed = abs(picked * every - period)
        if not missed or (picked >= _ENOUGH_PICKS and missed * 100 < period):
            return LaunchPicks(every, period, picked)
        period *= 10
