"""How long runs take, a guess at first and then as measured, and what time is left for them."""

from __future__ import annotations

import math
import time

_START_S = 11.0
"""Starting Python and PyTorch, building the model, writing the recording."""
_CYCLE_S = 0.08
"""A cycle with the profiler and, for some of the runs, a load beside it."""
_LATEST = 5


class TimeLeft:
    """What is left of the time that was given, from now on."""

    def __init__(self, cycles: int, limit_s: float | None = None) -> None:
        self._cycles = cycles
        self._until_s = time.monotonic() + (math.inf if limit_s is None else limit_s)
        self._took_s: list[float] = []

    def took(self, seconds: float) -> None:
        """A run took so long."""
        self._took_s.append(seconds)

    def estimate_s(self, runs: int) -> float:
        """How long so many runs take."""
        return runs * self._mean_s

    @property
    def left_s(self) -> float:
        """Seconds until all is to be over; infinite without a limit."""
        return self._until_s - time.monotonic()

    @property
    def has_room(self) -> bool:
        """Whether one more run fits."""
        return max(self._took_s[-_LATEST:], default=self._mean_s) <= self.left_s

    @property
    def _mean_s(self) -> float:
        if not self._took_s:
            return _START_S + _CYCLE_S * self._cycles
        return sum(self._took_s) / len(self._took_s)
