"""What the driver of a device has noted down by itself, with the time it did.

Power every 20 ms, load every 200 ms (an H200): finer, or truer in time, than asking what it is now.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from timesink.collect.counters.probing import Probe, Sample, Setting

_POWER, _LOAD, _MEMORY_LOAD = 0, 1, 2
_KINDS = (
    ("gpu_power_instant_mw", _POWER, False),
    ("gpu_usage", _LOAD, True),
    ("gpu_mem_util", _MEMORY_LOAD, True),
)
"""Counters, which notes they come from, and whether these are means over time."""
_NOT_FOUND = 6
_LEAST_MS = 500.0
"""Asking for them costs the driver a millisecond or two; it keeps the last two seconds at least."""
_PATIENCE_S = 0.5
"""A driver that was asleep has no notes yet; all of all devices together are waited for so long."""
_SAME_CLOCK_US = 60_000_000
"""Latest notes older or newer than that have times of another clock."""
_LONGEST_SPAN_US = 2_000_000
"""Notes further apart than that do not belong together: the driver had stopped in between."""


def kept_notes(library: Any, handles: Sequence[Any], setting: Setting) -> list[Mapping[str, Notes]]:
    """What the driver notes down of each device, by counter; nothing where it keeps no notes."""
    asked = [
        {
            name: Notes(library, handle, kind, is_mean=is_mean)
            for name, kind, is_mean in _KINDS
            if setting.wants(name)
        }
        for handle in handles
    ]
    kept = _kept([notes for each in asked for notes in each.values()])
    return [{name: notes for name, notes in each.items() if notes in kept} for each in asked]


def _kept(asked: Sequence[Notes]) -> set[Notes]:
    """Those that the driver keeps, on the clock of the counters."""
    kept, waiting = set(), list(asked)
    until_s = time.monotonic() + _PATIENCE_S
    while waiting:
        latest = {notes: notes.latest_us() for notes in waiting}
        now_us = time.time_ns() // 1000
        kept |= {
            notes
            for notes, ts_us in latest.items()
            if ts_us is not None and abs(now_us - ts_us) < _SAME_CLOCK_US
        }
        waiting = [notes for notes, ts_us in latest.items() if ts_us is None]
        if time.monotonic() >= until_s:
            break
        if waiting:
            time.sleep(_PATIENCE_S / 10)
    return kept


def history(noted: Mapping[str, Notes], labels: tuple[str, ...]) -> Iterator[Probe]:
    """Counters of one device that its driver notes down."""
    lane = f"notes of {labels[0]}"
    for name, notes in noted.items():
        read = notes.reader(name, labels)
        yield Probe((name,), read, labels[0], lane, _LEAST_MS, looks_back=True)


class Notes:
    """One kind of notes, from when it was first asked for."""

    def __init__(self, library: Any, handle: Any, kind: int, *, is_mean: bool) -> None:
        self._library = library
        self._handle = handle
        self._kind = kind
        self._is_mean = is_mean
        self._seen_us = time.time_ns() // 1000

    def latest_us(self) -> int | None:
        """When the last of them was taken; None where there is none yet, 0 where none will come."""
        try:
            return max((ts_us for ts_us, _ in self._since(0)), default=None)
        except Exception:  # noqa: BLE001 - bindings and drivers without them say so in many ways
            return 0

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
