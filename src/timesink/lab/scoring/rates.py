"""Shares of few trials, with how far they may be off."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt

_NORMAL_95 = 1.959964
"""Standard deviations around the middle that hold 95 % of a normal distribution."""


@dataclass(frozen=True)
class Rate:
    """How many of how many."""

    hits: int
    trials: int

    @property
    def share(self) -> float | None:
        """Part of the trials; None without any."""
        return self.hits / self.trials if self.trials else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % interval of the share, by Wilson's formula; None without trials."""
        if not self.trials:
            return None
        share, extra = self.hits / self.trials, _NORMAL_95**2 / self.trials
        middle = share + extra / 2
        reach = _NORMAL_95 * sqrt((share * (1 - share) + extra / 4) / self.trials)
        low, high = ((middle + sign * reach) / (1 + extra) for sign in (-1, 1))
        return max(0.0, low), min(1.0, high)

    @property
    def cells(self) -> tuple[str, str, str]:
        """For a table: how many, the share, its interval."""
        if self.share is None or self.interval is None:
            return "not tried", "", ""
        low, high = (100 * bound for bound in self.interval)
        return (
            f"{self.hits} of {self.trials}",
            f"{100 * self.share:.0f} %",
            f"{low:.0f} to {high:.0f} %",
        )

    @property
    def words(self) -> str:
        """For people."""
        how_many, share, interval = self.cells
        return f"{how_many} ({share}, 95 % interval {interval})" if self.trials else how_many


def rate_of(outcomes: Iterable[bool]) -> Rate:
    """How many are true."""
    every = list(outcomes)
    return Rate(sum(every), len(every))
