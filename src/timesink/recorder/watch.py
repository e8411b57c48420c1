"""Following a program by its notes: counters are kept from its first recorded cycle to the last."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from timesink.errors import TimesinkError
from timesink.recorder.counter_probes import Missing
from timesink.recorder.counter_sampler import SampledCounters, Sampler, describe_devices
from timesink.recorder.folder import ProcessNotes, is_ending, read_notes
from timesink.recorder.host_counters import describe_host
from timesink.recorder.processes import is_alive
from timesink.recorder.run_file import Watched

# The machine a program runs on, asked while it runs: some of it cannot be told afterwards.

_PATIENCE_S = 5.0
"""A driver that does not answer is not waited for longer."""


class Machine:
    """The host as the program sees it, and the devices."""

    def __init__(self, pid: int) -> None:
        self._started = (pid, "")
        self._seen: tuple[int, str] | None = None
        self._host: dict[str, Any] | None = None
        self._devices: list[dict[str, Any]] | None = None
        # Some drivers never answer, and what waits for them cannot be ended.
        self._asking = threading.Thread(target=self._ask, name="timesink machine", daemon=True)
        with suppress(RuntimeError):
            self._asking.start()

    def look(self, processes: Sequence[ProcessNotes]) -> None:
        """See what the program may use: it is told that by itself, or by who starts it."""
        # The process that is furthest in what is recorded, and how far it is.
        working = next(
            (
                (process.pid, event)
                for event in ("window", "torch", "python")
                for process in processes
                if process.last(event) is not None
            ),
            self._started,
        )
        if working != self._seen:
            self._seen = working
            with suppress(OSError):
                self._host = describe_host(pid=working[0])

    @property
    def host(self) -> dict[str, Any]:
        """Of the process that does the work; of this one where that was too short to be seen."""
        return self._host or describe_host()

    def devices(self) -> list[dict[str, Any]] | None:
        """None where their driver does not answer."""
        if self._asking.is_alive():
            self._asking.join(_PATIENCE_S)
        return self._devices

    def _ask(self) -> None:
        # Whatever a driver says to that, the recording matters more.
        with suppress(Exception):
            self._devices = describe_devices()


# The program itself, by its notes.

_LOOKS_EVERY_S = 0.25
_LATE_S = 2.0
"""Sampling goes on for so long after the last recording that is known of."""

_LATE_WORKERS_S = 30.0
"""And for so long where a process that uses torch has not begun to record: it may still."""

_TRIMS_EVERY_S = 30.0
"""Until a first cycle comes, counters of about this time are kept, and older ones dropped."""


class Watch:
    """Samples counters as long as there is something to record."""

    def __init__(
        self, control: Path, counters: Path, pid: int, *, wanted: frozenset[str], interval_ms: float
    ) -> None:
        """`pid` is the program as it was started; workers of it make themselves known."""
        self._control = control
        self._machine = Machine(pid)
        self._workers: frozenset[int] = frozenset()
        self._sampler = Sampler(
            counters, wanted=wanted, interval_ms=interval_ms, pids=lambda: {pid, *self._workers}
        )
        self._sampled: SampledCounters | None = None
        try:
            self._sampler.start()
        except (OSError, RuntimeError, TimesinkError) as error:
            why = f"sampling cannot be started: {error}"
            missing = tuple(Missing(name, why) for name in sorted(wanted))
            self._sampled = SampledCounters(interval_ms, 0, (), missing, None)
        self._is_kept = False
        self._looked_at = 0.0
        self._trimmed_at = time.monotonic()
        self._over_since: float | None = None
        self.has_one_ended = False
        """Whether any process that recorded has written its recording."""
        self._known: frozenset[int] = frozenset()
        """All that ever were workers: one that is not among them may still record."""

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
        # A folder that cannot be read now may be later; the program is worth more than a look.
        with suppress(OSError):
            self._consider(read_notes(self._control), now)

    def _consider(self, processes: list[ProcessNotes], now: float) -> None:
        self._machine.look(processes)
        # Those that may record cycles; of a program without torch, all that run Python.
        able = [process for process in processes if process.last("torch") or process.last("window")]
        self._workers = frozenset(process.pid for process in able or processes)
        is_new = not self._workers <= self._known
        self._known |= self._workers
        if self._sampled is None and not self._is_kept:
            self._keep(processes, now)
        recording = [process for process in processes if process.last("window")]
        self.has_one_ended = any(process.last("exported") for process in recording)
        if not recording or not all(
            process.last("exported") or process.last("failed") for process in recording
        ):
            self._over_since = None
            self._sampler.go_on()
        elif self._over_since is None or is_new:
            self._over_since = now
            self._sampler.go_on()
        else:
            # One that is there, uses torch and has not recorded may be a late worker.
            may_begin = any(
                process.last("torch") and not process.last("window") and is_alive(process.pid)
                for process in processes
            )
            if now - self._over_since > (_LATE_WORKERS_S if may_begin else _LATE_S):
                self._sampler.rest()

    def is_ending(self) -> bool:
        """Whether a process is writing what it has because the program ends."""
        return is_ending(self._control)

    def watched(self) -> Watched:
        """End watching; what came of it."""
        with suppress(OSError):
            # A program may have begun and ended since the last look.
            self._consider(read_notes(self._control), time.monotonic())
        return Watched(self.sampled(), self._machine.host, self._machine.devices())

    def sampled(self) -> SampledCounters:
        """End sampling; what came of it."""
        if self._sampled is None:
            self._sampled = self._sampler.stop()
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
