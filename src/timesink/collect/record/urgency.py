"""Signals that ask to stop, and how much they want it."""

from __future__ import annotations

import signal
import time
from collections.abc import Collection
from dataclasses import dataclass

AGAIN = "(once more: stop at once)"
_ONE_REQUEST_S = 2.0
"""Signals that follow each other closely are one request: a dropped connection or a scheduler may
send several, and the program is to write what it has."""
_ONE_KEY_S = 0.3
"""The same for Ctrl-C, which a person presses again on purpose."""


@dataclass
class Urgency:
    """Whether a signal wants more than what was done about those before it."""

    _level: int = 0
    _grew_at: float = 0.0

    @property
    def is_at_once(self) -> bool:
        """Whether stopping in good order was asked for before."""
        return self._level > 1

    def grows(self, numbers: Collection[int]) -> bool:
        """Take note of signals that came at a time; whether more is to be done now."""
        now = time.monotonic()
        # Whoever has had the program killed may hit the key once too often.
        is_key = signal.SIGINT in numbers and not self.is_at_once
        if self._level and now - self._grew_at <= (_ONE_KEY_S if is_key else _ONE_REQUEST_S):
            return False
        self._level, self._grew_at = self._level + 1, now
        return True
