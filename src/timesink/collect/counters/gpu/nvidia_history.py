"""What the driver of a device has noted down by itself, with the time it did.

Power every 20 ms, load every 200 ms (an H200): finer, or truer in time, than asking what it is now.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from timesink.collect.counters.probing import Probe, Sample, Setting

_POWER, _LOAD, _MEMORY_LOAD = 0, 1, 2
_NOT_FOUND = 6
_LEAST_MS = 500.0
"""Asking for them costs the driver a millisecond or two; it keeps the last two seconds at least."""
_PATIENCE_S = 0.5
"""A driver that was asleep has no notes yet."""
_SAME_CLOCK_US = 60_000_000
"""Latest notes older or newer than that have times of another clock."""
_LONGEST_SPAN_US = 2_000_000
"""Notes further apart than that do not belong together: the driver had stopped in between."""


def history(
    library: Any, handle: Any, labels: tuple[str, ...], setting: Setting
) -> Iterator[tuple[str, Probe]]:
    """Counters that a driver notes down, each by its name; none where it keeps no notes."""
    for name, kind, is_mean in (
        ("gpu_power_instant_mw", _POWER, False),
        ("gpu_usage", _LOAD, True),
        ("gpu_mem_util", _MEMORY_LOAD, True),
    ):
        notes = _Notes(library, handle, kind, is_mean=is_mean)
        if setting.wants(name) and notes.are_kept():
            lane = f"notes of {labels[0]}"
            read = notes.reader(name, labels)
            yield name, Probe((name,), read, labels[0], lane, _LEAST_MS, looks_back=True)


class _Notes:
    """One kind of notes, from when it was first asked for."""

    def __init__(self, library: Any, handle: Any, kind: int, *, is_mean: bool) -> None:
        self._library = library
        self._handle = handle
        self._kind = kind
        self._is_mean = is_mean
        self._seen_us = time.time_ns() // 1000

    def are_kept(self) -> bool:
        """Whether this driver keeps them, for this device."""
        until_s = time.monotonic() + _PATIENCE_S
        try:
            while not (notes := self._since(0)) and time.monotonic() < until_s:
                time.sleep(_PATIENCE_S / 10)
        except Exception:  # noqa: BLE001 - bindings and drivers without them say so in many ways
            return False
        latest_us = max((ts_us for ts_us, _ in notes), default=0)
        return abs(time.time_ns() // 1000 - latest_us) < _SAME_CLOCK_US

    def reader(self, name: str, labels: tuple[str, ...]) -> Callable[[float], Iterable[Sample]]:
        """What a probe reads: all that is new."""

        def read(_now_s: float) -> Iterable[Sample]:
            return [
                Sample(name, label, value, ts_us)
                for ts_us, value in self._new()
                for label in labels
            ]

        return read

    def _new(self) -> Iterator[tuple[int, float]]:
        for ts_us, value in sorted(self._since(self._seen_us)):
            if ts_us > self._seen_us:
                yield self._moment_us(ts_us), value
                self._seen_us = ts_us

    def _moment_us(self, ts_us: int) -> int:
        """A mean holds for the middle of the time since the note before."""
        span_us = ts_us - self._seen_us
        return ts_us - span_us // 2 if self._is_mean and span_us < _LONGEST_SPAN_US else ts_us

    def _since(self, seen_us: int) -> list[tuple[int, float]]:
        try:
            _, found = self._library.nvmlDeviceGetSamples(self._handle, self._kind, seen_us)
        except self._library.NVMLError as error:
            if getattr(error, "value", None) != _NOT_FOUND:
                raise
            # Nothing new.
            return []
        return [(int(note.timeStamp), float(note.sampleValue.uiVal)) for note in found]
