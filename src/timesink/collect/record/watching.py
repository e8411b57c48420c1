"""Following a program by its notes: counters are kept from its first recorded cycle to the last."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from timesink.collect.counters import Sampled, Sampler, Wanted
from timesink.collect.record.notes import ProcessNotes, read_notes

_LOOKS_EVERY_S = 0.25
_LATE_S = 2.0
"""Workers of one program begin and end their recordings within this time."""

_TRIMS_EVERY_S = 30.0
"""Until a first cycle comes, counters of about this time are kept, and older ones dropped."""


@dataclass(frozen=True)
class Sampling:
    """Which counters, how often, of which program."""

    wanted: Wanted
    interval_ms: float
    pid: int
    """The program as it was started; workers of it make themselves known."""


class Watch:
    """Samples counters as long as there is something to record."""

    def __init__(self, control: Path, counters: Path, sampling: Sampling) -> None:
        self._control = control
        self._interval_ms = sampling.interval_ms
        self._workers: frozenset[int] = frozenset()
        self._sampler = Sampler(
            counters,
            wanted=sampling.wanted,
            interval_ms=sampling.interval_ms,
            pids=lambda: {sampling.pid, *self._workers},
        )
        self._is_sampling = bool(sampling.wanted)
        self._sampled: Sampled | None = None
        self._is_kept = False
        self._looked_at = 0.0
        self._trimmed_at = time.monotonic()
        self._over_since: float | None = None
        if self._is_sampling:
            self._sampler.start()

    @property
    def is_over(self) -> bool:
        """Whether every process that recorded has written its recording."""
        return self._over_since is not None

    def look(self) -> None:
        """See how far the program is; cheap, and to be called often."""
        now = time.monotonic()
        if now - self._looked_at < _LOOKS_EVERY_S:
            return
        self._looked_at = now
        processes = read_notes(self._control)
        self._workers = _workers(processes)
        if self._is_sampling and not self._is_kept:
            self._keep(processes, now)
        if not _all_written(processes):
            self._over_since = None
        elif self._over_since is None:
            self._over_since = now
        elif now - self._over_since > _LATE_S:
            self.sampled()

    def is_ending(self) -> bool:
        """Whether a process is writing what it has because the program ends."""
        return any(process.last("ending") is not None for process in read_notes(self._control))

    def sampled(self) -> Sampled:
        """End sampling; what came of it."""
        if self._sampled is None:
            self._sampled = (
                self._sampler.stop()
                if self._is_sampling
                else Sampled(self._interval_ms, 0, (), (), None)
            )
        return self._sampled

    def _keep(self, processes: list[ProcessNotes], now: float) -> None:
        """Drop what was sampled too long before the first cycle."""
        starts_us = [
            window["started_us"] for process in processes if (window := process.last("window"))
        ]
        if starts_us:
            self._is_kept = True
            self._sampler.keep_from(min(starts_us))
        elif not any(process.last("torch") for process in processes):
            return  # a program without torch has counters alone: all of them are kept
        elif now - self._trimmed_at > _TRIMS_EVERY_S:
            self._trimmed_at = now
            self._sampler.keep_from(time.time_ns() // 1000 - round(_TRIMS_EVERY_S * 1e6))


def _workers(processes: list[ProcessNotes]) -> frozenset[int]:
    """Processes that may record cycles; of a program without torch, all that run Python."""
    able = [one for one in processes if one.last("torch") or one.last("window")]
    return frozenset(process.pid for process in able or processes)


def _all_written(processes: list[ProcessNotes]) -> bool:
    recording = [process for process in processes if process.last("window") is not None]
    return bool(recording) and all(
        process.last("exported") or process.last("failed") for process in recording
    )
