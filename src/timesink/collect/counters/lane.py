"""Probes that take turns in one thread, at a steady interval."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress

from timesink.collect.counters.counter import HOST
from timesink.collect.counters.missing import MissingBook, reason
from timesink.collect.counters.probing import Probe, Sample
from timesink.collect.counters.rows import Rows

_LOOKS_UP_EVERY_S = 0.1
_FIRST_REST_S = 1.0
_LONGEST_REST_S = 60.0
_NOT_FINITE = "values that are not finite were left out"


class Lane(threading.Thread):
    """Reads its probes at times that do not drift; a time that was missed is left out."""

    def __init__(
        self,
        name: str,
        probes: Sequence[Probe],
        interval_s: float,
        rows: Rows,
        missing: MissingBook,
        *,
        resting: threading.Event | None = None,
    ) -> None:
        """Nothing is read as long as `resting` is set."""
        super().__init__(name=f"timesink {name}", daemon=True)
        # Probes of a device come together: they share a moment.
        self._turns = [_Turn(probe) for probe in sorted(probes, key=lambda each: each.device)]
        self._interval_s = interval_s
        self._rows = rows
        self._missing = missing
        self._ending = threading.Event()
        self._resting = resting or threading.Event()
        self.cpu_s = 0.0
        """Processor time it took."""

    def end(self) -> None:
        """Let the turn under way be the last."""
        self._ending.set()

    def run(self) -> None:
        begun_s = time.monotonic()
        wait_s = 0.0
        while not self._ending.wait(wait_s):
            if self._resting.is_set():
                self._sleep()
                continue
            self._round(time.monotonic())
            self.cpu_s = time.thread_time()
            now_s = time.monotonic() - begun_s
            due_s = min(turn.due_s for turn in self._turns) - begun_s
            wait_s = next_moment_s(now_s, due_s, self._interval_s) - now_s
        self._look_back()

    def _sleep(self) -> None:
        self._look_back()
        while self._resting.is_set() and not self._ending.wait(_LOOKS_UP_EVERY_S):
            pass
        if self._ending.is_set():
            return
        for turn in self._turns:
            # What happened meanwhile is part of no rate and no mean.
            with suppress(Exception):
                turn.read()

    def _look_back(self) -> None:
        self._read_all(turn for turn in self._turns if turn.probe.looks_back)

    def _round(self, now_s: float) -> None:
        """One moment."""
        self._read_all(turn for turn in self._turns if turn.is_due(now_s, self._interval_s))

    def _read_all(self, turns: Iterable[_Turn]) -> None:
        """Probes of a device share the time that is written down."""
        device, ts_us = "", 0
        samples: list[Sample] = []
        for turn in turns:
            if turn.probe.device != device:
                self._write(ts_us, samples)
                device, ts_us, samples = turn.probe.device, time.time_ns() // 1000, []
            samples += self._read(turn)
        self._write(ts_us, samples)

    def _read(self, turn: _Turn) -> list[Sample]:
        try:
            return [sample for sample in turn.read() if self._is_usable(sample)]
        except Exception as error:  # noqa: BLE001 - no counter may end the others
            self._say_missing(turn, reason(error))
            return []

    def _is_usable(self, sample: Sample) -> bool:
        """Whether a value is a number; one that is not is named."""
        if math.isfinite(sample.value):
            return True
        self._missing.name(sample.counter, _NOT_FINITE, _told_device(sample.device))
        return False

    def _say_missing(self, turn: _Turn, why: str) -> None:
        """Say what is missing; once, however often it fails."""
        if turn.failed_before:
            return
        turn.failed_before = True
        told = f"stopped after {turn.lasted_s():.0f} s: {why}" if turn.gave else why
        self._missing.name_all(turn.probe.counters, told, _told_device(turn.probe.device))

    def _write(self, ts_us: int, samples: list[Sample]) -> None:
        if not samples:
            return
        try:
            self._rows.write(ts_us, samples)
        except OSError as error:
            names = {sample.counter for sample in samples}
            self._missing.name_all(names, f"not written to the end: {reason(error)}")


def _told_device(device: str) -> str:
    """There is one host: it need not be told."""
    return "" if device == HOST else device


def next_moment_s(now_s: float, due_s: float, interval_s: float) -> float:
    """The next whole interval at which something is due, half an interval early at most.

    One that was missed is not made up for, and none shifts those that follow.

    >>> [round(next_moment_s(now_s, 0.0, 0.05), 3) for now_s in (0.0, 0.049, 0.05, 0.13)]
    [0.05, 0.05, 0.1, 0.15]
    >>> [round(next_moment_s(0.013, due_s, 0.05), 3) for due_s in (0.11, 0.13)]
    [0.1, 0.15]
    """
    return max(math.floor(now_s / interval_s) + 1, math.ceil(due_s / interval_s - 0.5)) * interval_s


class _Turn:
    """A probe and when it is its turn again."""

    def __init__(self, probe: Probe) -> None:
        self.probe = probe
        self.gave = False
        """Whether it ever read something."""
        self.failed_before = False
        self._begun_s = time.monotonic()
        self.due_s = 0.0
        self._rest_s = _FIRST_REST_S

    def is_due(self, now_s: float, interval_s: float) -> bool:
        """Whether it is long enough ago; half an interval early is near enough."""
        return now_s >= self.due_s - interval_s / 2

    def lasted_s(self) -> float:
        """Time since it was first read."""
        return time.monotonic() - self._begun_s

    def read(self) -> list[Sample]:
        """What it reads now; after an error it rests, the longer the more there were."""
        now_s = time.monotonic()
        try:
            found = list(self.probe.read(now_s))
        except Exception:
            self.due_s = now_s + self._rest_s
            self._rest_s = min(2 * self._rest_s, _LONGEST_REST_S)
            raise
        self.due_s = now_s + self.probe.least_ms / 1000
        self._rest_s = _FIRST_REST_S
        self.gave = self.gave or bool(found)
        return found
