"""How long runs take: a guess at first, then what was measured."""

from __future__ import annotations

import time

_START_S = 11.0
"""Starting Python and PyTorch, building the model, writing the recording."""
_CYCLE_S = 0.08
"""A cycle with the profiler and, for some of the runs, a load beside it."""
_LATEST = 5


class Clock:
    """What is left of the time that was given, and how long runs take."""

    def __init__(self, cycles: int, limit_s: float | None = None) -> None:
        self._cycles = cycles
        self._limit_s = limit_s
        self._started_s = time.monotonic()
        self._took_s: list[float] = []

    def took(self, seconds: float) -> None:
        """A run took so long."""
        self._took_s.append(seconds)

    def estimate_s(self, runs: int) -> float:
        """How long so many runs take.

        >>> Clock(cycles=50).estimate_s(4)
        60.0
        """
        return runs * self._mean_s

    @property
    def has_room(self) -> bool:
        """Whether one more run fits into the time given.

        >>> Clock(cycles=50).has_room, Clock(cycles=50, limit_s=10).has_room
        (True, False)
        """
        if self._limit_s is None:
            return True
        longest_s = max(self._took_s[-_LATEST:], default=self._mean_s)
        return time.monotonic() - self._started_s + longest_s <= self._limit_s

    @property
    def _mean_s(self) -> float:
        if not self._took_s:
            return _START_S + _CYCLE_S * self._cycles
        return sum(self._took_s) / len(self._took_s)
