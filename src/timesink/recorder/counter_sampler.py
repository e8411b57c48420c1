"""Sampling counters into a file, beside a program that runs; and the devices of this machine."""

from __future__ import annotations

import errno
import math
import os
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from timesink.errors import OutputError, UsageError
from timesink.recorder import amd_counters, nvidia_counters
from timesink.recorder.counter_probes import (
    GPU_COUNTERS,
    HOST,
    CounterSource,
    Missing,
    MissingBook,
    Probe,
    ProbeContext,
    Sample,
    UnavailableError,
    reason,
)
from timesink.recorder.host_counters import HOST_SOURCES
from timesink.recorder.processes import OwnProcesses

_MIN_INTERVAL_MS = 1.0
_PATIENCE_S = 5.0
"""A library that does not answer is not waited for longer."""
_NO_VALUE = "no value was read before the recording ended"


@dataclass(frozen=True, slots=True)
class SampledCounters:
    """What a sampler wrote and what it cost."""

    interval_ms: float
    """As it was asked for; counters that take longer to read come less often."""
    samples: int
    """Moments at which something was read; of notes alone, those at which they were taken."""
    recorded: tuple[str, ...]
    missing: tuple[Missing, ...]
    cpu_pct: float | None
    """Share of one core the sampling took; None where nothing was sampled."""


class Sampler:
    """Writes counters at a steady interval, in threads of its own."""

    def __init__(
        self,
        path: Path,
        *,
        wanted: frozenset[str],
        interval_ms: float,
        pids: Callable[[], Collection[int]],
        root: Path = Path("/"),
    ) -> None:
        """`pids` gives processes of the program; what they started is found from there.

        Each of them has counters of its own, so those that are traced should be among them.
        `root` is the folder that holds `proc` and `sys`.
        """
        if not interval_ms >= _MIN_INTERVAL_MS:
            raise UsageError(
                f"an interval of {interval_ms:g} ms is too short", "take 10 ms or more; 50 is usual"
            )
        self._path = path
        self._interval_ms = interval_ms
        self._context = ProbeContext(wanted, OwnProcesses(pids, root), MissingBook(), root)
        self._rows: Rows | None = None
        """There once sampling has begun."""
        self._otherwise: dict[str, str] = {}
        """Why counters may never have come."""
        self._lanes: list[Lane] = []
        self._lock = threading.Lock()
        self._is_over = False
        self._resting = threading.Event()
        self._begun_s = 0.0
        self._worked_s = 0.0
        self._opening = threading.Thread(
            target=self._open, args=([GPU_SOURCE],), name="timesink devices", daemon=True
        )
        self._sampled: SampledCounters | None = None

    def start(self) -> None:
        """Begin; `OutputError` where the file cannot be written."""
        if self._context.wanted and self._rows is None:
            self._rows = Rows(self._path)
            self._begun_s = time.monotonic()
            self._open(HOST_SOURCES)
            self._opening.start()

    def _open(self, sources: Iterable[CounterSource]) -> None:
        """Find what can be read, and begin to."""
        probes: dict[str, list[Probe]] = defaultdict(list)
        for source in sources:
            for probe in source.probes(self._context):
                # No more than what was asked for.
                counters = tuple(
                    counter for counter in probe.counters if self._context.wants(counter)
                )
                probes[probe.lane].append(replace(probe, counters=counters))
        with self._lock:
            if self._is_over or self._rows is None:
                return
            for name, members in probes.items():
                lane = Lane(
                    name, members, self._interval_ms / 1000, self._rows, self._context.missing,
                    resting=self._resting,
                )  # fmt: skip
                self._lanes.append(lane)
                for probe in members:
                    self._otherwise |= dict.fromkeys(probe.counters, probe.otherwise)
                lane.start()

    def keep_from(self, ts_us: int) -> None:
        """Drop rows of more than a second before this moment, as often as one likes."""
        if self._rows is not None:
            with suppress(OSError):
                # More rows than needed do no harm.
                self._rows.keep_from(ts_us)

    def pace(self, interval_ms: float) -> None:
        """Sample so often from now on."""
        if interval_ms != self._interval_ms:
            with self._lock:
                self._interval_ms = interval_ms
                for lane in self._lanes:
                    lane.pace(interval_ms / 1000)

    def rest(self) -> None:
        """Sample nothing until told to go on."""
        if self._rows is not None:
            self._pause()

    def _pause(self) -> None:
        if not self._resting.is_set():
            self._resting.set()
            self._worked_s += time.monotonic() - self._begun_s

    def go_on(self) -> None:
        """Sample again after a rest."""
        if self._resting.is_set():
            self._begun_s = time.monotonic()
            self._resting.clear()

    def stop(self) -> SampledCounters:
        """End; the file is complete then.  A second call tells the same again."""
        if self._sampled is None:
            self._sampled = self._ended()
        return self._sampled

    def _ended(self) -> SampledCounters:
        if self._rows is None:
            return SampledCounters(self._interval_ms, 0, (), (), None)
        with self._lock:
            self._is_over = True
        self._pause()
        for lane in self._lanes:
            lane.end()
        until_s = time.monotonic() + _PATIENCE_S
        for thread in (*self._lanes, self._opening):
            thread.join(max(until_s - time.monotonic(), 0.0))
        self._rows.close()
        recorded, missing = self._rows.counters, list(self._context.missing.named())
        # Counters that were asked for, and neither came nor failed.
        silent = self._context.wanted - {entry.counter for entry in missing} - set(recorded)
        missing += [Missing(name, self._otherwise.get(name) or _NO_VALUE) for name in silent]
        cpu_s = sum(lane.cpu_s for lane in self._lanes)
        return SampledCounters(
            self._interval_ms,
            self._rows.moments,
            recorded,
            tuple(sorted(missing, key=lambda entry: entry.counter)),
            round(100.0 * cpu_s / max(self._worked_s, 1e-3), 3),
        )


# -- the file: whole lines at any moment ---------------------------------------------------------

HEADER = b"timestamp_us,counter,device,value\n"
_EARLIER_US = 1_000_000
"""Rows so much older than asked are kept: what a counter read before is needed in between."""


class Rows:
    """Lines of samples; written to from several threads.

    Lines of one moment are handed over in one piece, so that a program that is killed leaves none
    that is cut off.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._many: Counter[tuple[str, str]] = Counter()
        self._noted: set[tuple[str, str]] = set()
        try:
            self._file = _open_new(path)
            os.write(self._file, HEADER)
        except OSError as error:
            raise OutputError.unwritable(path, error) from error
        self._end = len(HEADER)
        self._closed = False

    @property
    def counters(self) -> tuple[str, ...]:
        """Names of all that is in the file."""
        return tuple(sorted({counter for counter, _ in self._many}))

    @property
    def moments(self) -> int:
        """How often the counter was read that was read most.

        What a driver notes down by itself says nothing about that, unless there is nothing else.
        """
        read = [many for what, many in self._many.items() if what not in self._noted]
        return max(read or self._many.values(), default=0)

    def write(self, ts_us: int, samples: Iterable[Sample]) -> None:
        """Add what was read at a moment; OSError where it cannot be written."""
        sample_list = list(samples)
        text = "".join(
            f"{ts_us if at_us is None else at_us},{counter},{device},{_number(value)}\n"
            for counter, device, value, at_us in sample_list
        ).encode()
        with self._lock:
            if self._closed:
                # A thread that was waited for in vain: its file may be somebody else's by now.
                return
            try:
                if os.write(self._file, text) < len(text):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fspath(self._path))  # noqa: TRY301
            except OSError:
                # A full disk takes part of it: rather none than half a line.
                os.ftruncate(self._file, self._end)
                raise
            self._end += len(text)
            self._many.update((sample.counter, sample.device) for sample in sample_list)
            self._noted.update(
                (sample.counter, sample.device)
                for sample in sample_list
                if sample.at_us is not None
            )

    def keep_from(self, ts_us: int) -> None:
        """Drop rows of more than a second before a moment."""
        first_us = ts_us - _EARLIER_US
        with self._lock:
            if self._closed:
                return
            # Lines of different threads may be out of order.
            lines = os.pread(self._file, self._end, len(HEADER)).splitlines(keepends=True)
            recent_lines = [line for line in lines if int(line.partition(b",")[0]) >= first_us]
            content = HEADER + b"".join(recent_lines)
            beside = self._path.with_name(f".{self._path.name}.new")
            file = _open_new(beside)
            try:
                view = memoryview(content)
                while view:
                    view = view[os.write(file, view) :]
                beside.replace(self._path)
            except OSError:
                os.close(file)
                beside.unlink(missing_ok=True)
                raise
            os.close(self._file)
            self._file, self._end = file, len(content)
            cells = (line.decode().split(",") for line in recent_lines)
            self._many = Counter((counter, device) for _, counter, device, _ in cells)

    def close(self) -> None:
        """No more lines."""
        with self._lock:
            if not self._closed:
                self._closed = True
                os.close(self._file)


def _open_new(path: Path) -> int:
    # Never through a link: what it leads to is somebody else's.
    path.unlink(missing_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
    return os.open(path, flags, 0o666)


def _number(value: float) -> str:
    """A value without digits that say nothing."""
    integer = int(value)
    return str(integer) if integer == value else f"{value:.7g}"


# -- probes that take turns ----------------------------------------------------------------------

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
        self._turns = [_Turn(probe) for probe in sorted(probes, key=lambda probe: probe.device)]
        self._interval_s = interval_s
        self._rows = rows
        self._missing = missing
        self._ending = threading.Event()
        self._turning = threading.Event()
        """Set where it is not to wait any longer."""
        self._resting = resting or threading.Event()
        self.cpu_s = 0.0
        """Processor time it took."""

    def end(self) -> None:
        """Let the turn under way be the last."""
        self._ending.set()
        self._turning.set()

    def pace(self, interval_s: float) -> None:
        """Read so often from now on; what is due by that, at once."""
        self._interval_s = interval_s
        self._turning.set()

    def run(self) -> None:
        begun_s = time.monotonic()
        wait_s = 0.0
        while True:
            self._turning.wait(wait_s)
            self._turning.clear()
            if self._ending.is_set():
                break
            if self._resting.is_set():
                self._sleep()
                continue
            self.round(time.monotonic())
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

    def round(self, now_s: float) -> None:
        """One moment: read what is due; half an interval early is near enough."""
        latest_s = now_s + self._interval_s / 2
        self._read_all(turn for turn in self._turns if turn.due_s <= latest_s)

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
            samples = turn.read()
        except Exception as error:  # noqa: BLE001 - no counter may end the others
            if not turn.failed_before:
                # Said once, however often it fails.
                turn.failed_before = True
                lasted_s = time.monotonic() - turn.begun_s
                stopped = f"stopped after {lasted_s:.0f} s: " if turn.gave else ""
                self._say_missing(
                    turn.probe.counters, f"{stopped}{reason(error)}", turn.probe.device
                )
            return []
        wanted_samples = [sample for sample in samples if sample.counter in turn.probe.counters]
        for sample in wanted_samples:
            if not math.isfinite(sample.value):
                self._say_missing([sample.counter], _NOT_FINITE, sample.device)
        return [sample for sample in wanted_samples if math.isfinite(sample.value)]

    def _say_missing(self, counters: Iterable[str], why: str, device: str) -> None:
        # There is one host: it need not be told.
        self._missing.name(counters, why, "" if device == HOST else device)

    def _write(self, ts_us: int, samples: list[Sample]) -> None:
        if not samples:
            return
        try:
            self._rows.write(ts_us, samples)
        except OSError as error:
            names = {sample.counter for sample in samples}
            self._missing.name(names, f"not written to the end: {reason(error)}")


def next_moment_s(now_s: float, due_s: float, interval_s: float) -> float:
    """The next whole interval at which something is due, half an interval early at most.

    One that was missed is not made up for, and none shifts those that follow.
    """
    return max(math.floor(now_s / interval_s) + 1, math.ceil(due_s / interval_s - 0.5)) * interval_s


class _Turn:
    """A probe and when it is its turn again."""

    def __init__(self, probe: Probe) -> None:
        self.probe = probe
        self.gave = False
        """Whether it ever read something."""
        self.failed_before = False
        self.begun_s = time.monotonic()
        self.due_s = 0.0
        self._rest_s = _FIRST_REST_S

    def read(self) -> list[Sample]:
        """What it reads now; after an error it rests, the longer the more there were."""
        now_s = time.monotonic()
        try:
            samples = list(self.probe.read(now_s))
        except Exception:
            self.due_s = now_s + self._rest_s
            self._rest_s = min(2 * self._rest_s, _LONGEST_REST_S)
            raise
        self.due_s = now_s + self.probe.least_ms / 1000
        self._rest_s = _FIRST_REST_S
        self.gave = self.gave or bool(samples)
        return samples


# Counters of accelerators, from the management library that knows the devices of this machine.

_MAKERS = (nvidia_counters, amd_counters)


def _probes(context: ProbeContext) -> Iterator[Probe]:
    """Counters of all devices the program can see, of the first maker that has some."""
    reasons = []
    for maker in _MAKERS:
        try:
            yield from maker.probes(context)
        except UnavailableError as error:  # noqa: PERF203
            reasons.append(str(error))
        else:
            return
    raise UnavailableError("; ".join(reasons))


GPU_SOURCE = CounterSource(tuple(counter.name for counter in GPU_COUNTERS), _probes)
"""Opened in a thread: a management library may take seconds to start."""


def describe_devices(environment: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """Every device the program can see, under the label its counters have."""
    for maker in _MAKERS:
        try:
            variables = os.environ if environment is None else environment
            return list(maker.describe(variables))
        except UnavailableError:  # noqa: PERF203
            continue
    return []
