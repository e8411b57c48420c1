"""Cycles as a watched program would send them."""

from __future__ import annotations

import random
import time

from timesink.recorder.cycle_channel import CycleBatch


class MadeCycles:
    """Stands in for the receiver of cycles: what is put is read."""

    def __init__(self, pid: int = 4711, duration_us: float = 100_000.0) -> None:
        self.count = 0
        self._pid = pid
        self._duration_us = duration_us
        self._start_us = int(time.time() * 1e6)
        self._waiting: list[CycleBatch] = []
        self._random = random.Random(3)  # noqa: S311

    @property
    def now_us(self) -> int:
        """When the last one ended."""
        return self._start_us

    def put(self, cycles: int, times: float = 1.0, batch: float = 8.0) -> None:
        starts, lasted = [], []
        for _ in range(cycles):
            duration = self._duration_us * times * self._random.uniform(0.98, 1.02)
            starts.append(self._start_us)
            lasted.append(int(duration * 1000))
            self._start_us += int(duration)
        self.count += cycles
        self._waiting.append(
            CycleBatch(
                self._pid, 0, starts, lasted, {"batch_size": [batch] * cycles},
                self.count, 0, None, None, "optimizer step SGD", "loop",
            )
        )  # fmt: skip

    def read(self, timeout_s: float) -> list[CycleBatch]:
        batches, self._waiting = self._waiting, []
        if not batches:
            time.sleep(min(timeout_s, 0.02))
        return batches
