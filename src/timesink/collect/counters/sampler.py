"""Sampling counters into a file, beside a program that runs."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from timesink.collect.counters.catalogue import DEVICE_SOURCES, HOST_SOURCES, Source
from timesink.collect.counters.counter import Wanted
from timesink.collect.counters.lane import Lane
from timesink.collect.counters.missing import MissingBook, reason
from timesink.collect.counters.own_processes import OwnProcesses
from timesink.collect.counters.probing import Probe, Sample, Setting
from timesink.collect.counters.rows import Rows
from timesink.collect.counters.sampled import Missing, Sampled
from timesink.errors import UsageError

_LEAST_INTERVAL_MS = 1.0
_PATIENCE_S = 5.0
"""A library that does not answer is not waited for longer."""
_NO_VALUE = "no value was read before the recording ended"


class Sampler:
    """Writes counters at a steady interval, in threads of its own.

    >>> import os, tempfile
    >>> from timesink.collect.counters import wanted
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "counters.csv")
    ...     pids = lambda: [os.getpid()]
    ...     sampler = Sampler(file, wanted=wanted("memory"), interval_ms=20, pids=pids)
    ...     sampler.start()
    ...     sampled = sampler.stop()
    ...     header = file.read_text().splitlines()[0]
    >>> header, sampled.interval_ms
    ('timestamp_us,counter,device,value', 20)
    """

    def __init__(
        self,
        path: Path,
        *,
        wanted: Wanted,
        interval_ms: float,
        pids: Callable[[], Collection[int]],
        root: Path = Path("/"),
    ) -> None:
        """`pids` gives processes of the program; what they started is found from there.

        Each of them has counters of its own, so those that are traced should be among them.
        `root` is the folder that holds `proc` and `sys`.
        """
        if not interval_ms >= _LEAST_INTERVAL_MS:
            raise UsageError(
                f"an interval of {interval_ms:g} ms is too short", "take 10 ms or more; 50 is usual"
            )
        self._path = path
        self._wanted = wanted
        self._interval_ms = interval_ms
        self._setting = Setting(wanted, OwnProcesses(pids, root), MissingBook(), root)
        self._under_way: _UnderWay | None = None
        self._sampled: Sampled | None = None

    def start(self) -> None:
        """Begin; `OutputError` where the file cannot be written."""
        if self._wanted and self._under_way is None:
            rows = Rows(self._path)
            self._under_way = _UnderWay(self._setting, self._interval_ms / 1000, rows)
            self._under_way.start()

    def keep_from(self, ts_us: int) -> None:
        """Drop rows of more than a second before this moment, as often as one likes."""
        if self._under_way is not None:
            with suppress(OSError):
                # More rows than needed do no harm.
                self._under_way.rows.keep_from(ts_us)

    def rest(self) -> None:
        """Sample nothing until told to go on."""
        if self._under_way is not None:
            self._under_way.rest()

    def go_on(self) -> None:
        """Sample again after a rest."""
        if self._under_way is not None:
            self._under_way.go_on()

    def stop(self) -> Sampled:
        """End; the file is complete then.  A second call tells the same again."""
        if self._sampled is None:
            self._sampled = self._ended()
        return self._sampled

    def _ended(self) -> Sampled:
        if self._under_way is None:
            return Sampled(self._interval_ms, 0, (), (), None)
        cpu_pct = self._under_way.end()
        recorded = self._under_way.rows.counters
        moments = self._under_way.rows.moments
        missing = (*self._setting.missing.named(), *self._without_reason(recorded))
        order = sorted(missing, key=lambda one: one.counter)
        return Sampled(self._interval_ms, moments, recorded, tuple(order), cpu_pct)

    def _without_reason(self, recorded: Collection[str]) -> Iterable[Missing]:
        """Counters that were asked for, and neither came nor failed."""
        told = {one.counter for one in self._setting.missing.named()}
        otherwise = self._under_way.otherwise if self._under_way is not None else {}
        for counter in sorted(self._wanted.counters - told - set(recorded)):
            yield Missing(counter, otherwise.get(counter) or _NO_VALUE)


class _UnderWay:
    """Threads that sample, from the first to the last."""

    def __init__(self, setting: Setting, interval_s: float, rows: Rows) -> None:
        self.rows = rows
        self.otherwise: dict[str, str] = {}
        """Why counters may never have come."""
        self._setting = setting
        self._interval_s = interval_s
        self._lanes: list[Lane] = []
        self._lock = threading.Lock()
        self._ended = False
        self._resting = threading.Event()
        self._begun_s = time.monotonic()
        self._worked_s = 0.0
        self._opening = threading.Thread(
            target=self._open, args=(DEVICE_SOURCES,), name="timesink devices", daemon=True
        )

    def start(self) -> None:
        self._open(HOST_SOURCES)
        self._opening.start()

    def _open(self, sources: Iterable[Source]) -> None:
        """Find what can be read, and begin to."""
        probes: dict[str, list[Probe]] = defaultdict(list)
        for source in sources:
            try:
                for probe in source.probes(self._setting):
                    probes[probe.lane].append(_only(probe, self._setting.wanted))
            except Exception as error:  # noqa: BLE001, PERF203 - one that breaks is one less
                names = [counter.name for counter in source.counters]
                self._setting.miss(names, reason(error))
        with self._lock:
            if self._ended:
                return
            for name, members in probes.items():
                lane = Lane(
                    name, members, self._interval_s, self.rows, self._setting.missing,
                    resting=self._resting,
                )  # fmt: skip
                self._lanes.append(lane)
                for probe in members:
                    self.otherwise |= dict.fromkeys(probe.counters, probe.otherwise)
                lane.start()

    def rest(self) -> None:
        if not self._resting.is_set():
            self._resting.set()
            self._worked_s += time.monotonic() - self._begun_s

    def go_on(self) -> None:
        if self._resting.is_set():
            self._begun_s = time.monotonic()
            self._resting.clear()

    def end(self) -> float:
        """Stop all threads; the share of a core they took, in percent."""
        with self._lock:
            self._ended = True
        self.rest()
        for lane in self._lanes:
            lane.end()
        until_s = time.monotonic() + _PATIENCE_S
        for thread in (*self._lanes, self._opening):
            thread.join(max(until_s - time.monotonic(), 0.0))
        self.rows.close()
        cpu_s = sum(lane.cpu_s for lane in self._lanes)
        return round(100.0 * cpu_s / max(self._worked_s, 1e-3), 3)


def _only(probe: Probe, wanted: Wanted) -> Probe:
    """A probe that gives no more than what was asked for."""
    asked = tuple(counter for counter in probe.counters if wanted.has(counter))
    if asked == probe.counters:
        return probe

    def read(now_s: float) -> Iterable[Sample]:
        return [sample for sample in probe.read(now_s) if sample.counter in asked]

    return replace(probe, counters=asked, read=read)
