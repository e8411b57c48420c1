"""Cycles as they come: read in a thread, so that a small queue of the system does not fill up."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import polars as pl

from timesink.analyses.expected.workload import BATCH, FIRST, MODE, TOKENS
from timesink.formats.cycle_rows import DURATION, JOB, START
from timesink.recorder.cycle_channel import CycleBatch
from timesink.recorder.processes import is_alive

_MOST_ROWS = 250_000
"""More that wait to be taken are counted, and not kept."""
_MOST_COLUMNS = 64
_MOST_PROCESSES = 256
_MOST_SIZES = 20_000
"""A process that had as many has none that would be new."""
_READS_S = 0.25
_RESTS_S = 0.04
"""Programs send five times a second, and later what the queue of the system does not take."""


class Receiver(Protocol):
    """Where batches come from."""

    def read(self, timeout_s: float) -> list[CycleBatch]: ...


@dataclass
class WatchedProcess:
    """One process that tells its cycles."""

    pid: int
    rank: int | None
    world_size: int | None
    source: str
    cycles: int = 0
    """As it counts them itself, those that were not told as well."""
    dropped: int = 0
    failed: int = 0
    """Cycles whose workload could not be told."""
    last_us: int = 0
    streams: set[int] = field(default_factory=set)
    let_pass: dict[int, int] = field(default_factory=dict)
    """Cycles of each stream that were skipped."""
    sizes: dict[str, set[float | None]] = field(default_factory=dict)
    """All that its cycles had, by what they are of."""

    def told(self) -> dict[str, Any]:
        return {
            "pid": self.pid, "rank": self.rank, "world_size": self.world_size,
            "streams": sorted(self.streams), "source": self.source, "cycles": self.cycles,
            "dropped": self.dropped, "failed": self.failed, "last_us": self.last_us,
        }  # fmt: skip

    def first_sizes(self, batch: CycleBatch) -> list[float]:
        """How many sizes of each cycle no cycle before had.

        >>> told = {"batch_size": [2.0, 2.0, 3.0], "tokens": [90.0, 90.0, 91.0]}
        >>> batch = CycleBatch(7, 0, [1, 2, 3], [5, 5, 5], told, 3, 0)
        >>> WatchedProcess(7, None, None, "").first_sizes(batch)
        [2.0, 0.0, 1.0]
        """
        found = [0.0] * len(batch.start_us)
        for name, sizes in _sizes(batch.workload).items():
            seen = self.sizes.setdefault(name, set())
            if seen.issuperset(sizes):
                continue
            for place, size in enumerate(sizes):
                if size not in seen and len(seen) < _MOST_SIZES:
                    seen.add(size)
                    found[place] += 1
        return found

    def stream_name(self, stream: int) -> str:
        """What its cycles are called: by rank where that is known."""
        name = f"{self.pid}.{stream}" if self.rank is None else f"rank{self.rank}"
        return name if self.rank is None or not stream else f"{name}.{stream}"


def _sizes(workload: Mapping[str, list[float | None]]) -> dict[str, list[float | None]]:
    """What libraries may do something for when it comes first.

    Lengths that grow with each cycle are none, nor are means, which are of many.
    """
    writes = any("output" in name for name in workload)
    found = {
        name: values
        for name, values in workload.items()
        if name != MODE and not name.startswith("avg_") and not (writes and "length" in name)
    }
    if {BATCH, TOKENS} <= found.keys():
        # Each sequence has one that is written on; the others are read.
        pairs = zip(found[TOKENS], found[BATCH], strict=True)
        found[TOKENS] = [(tokens or 0.0) - (batch or 0.0) for tokens, batch in pairs]
    return found


class CycleIntake:
    """Takes batches as they come; what is asked of it comes as rows."""

    def __init__(self, receiver: Receiver, skip: int) -> None:
        self.processes: dict[int, WatchedProcess] = {}
        self.lost = 0
        """Rows that came faster than they were taken."""
        self.trouble = ""
        self._receiver = receiver
        self._skip = skip
        self._batches: deque[CycleBatch] = deque()
        self._put = self._taken = 0
        """Rows that came, and those that were asked for: each is counted by one thread."""
        self._columns: set[str] = set()
        self._gone: Counter[str] = Counter()
        self._is_over = False
        self._thread = threading.Thread(target=self._read, name="timesink cycles", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._is_over = True
        if self._thread.is_alive():
            self._thread.join(2 * _READS_S)

    def _read(self) -> None:
        try:
            while not self._is_over:
                self.put(self._receiver.read(_READS_S))
                time.sleep(_RESTS_S)
            # What a program sends at its end came meanwhile.
            self.put(self._receiver.read(0))
        except OSError as error:
            self.trouble = f"cycles can no longer be read: {error.strerror or error}"

    def put(self, batches: Iterable[CycleBatch]) -> None:
        """Keep batches until rows are asked for."""
        for batch in batches:
            rows = len(batch.duration_ns)
            if self._put - self._taken + rows > _MOST_ROWS:
                self.lost += rows
            else:
                self._put += rows
                self._batches.append(batch)

    @property
    def cycles(self) -> int:
        """Of all processes so far, those that were not told as well."""
        return self._gone["cycles"] + sum(one.cycles for one in self.processes.values())

    @property
    def last_us(self) -> int:
        """When the last cycle ended that was taken."""
        return max((one.last_us for one in self.processes.values()), default=0)

    @property
    def failed(self) -> int:
        """Cycles whose workload could not be told."""
        return self._gone["failed"] + sum(one.failed for one in self.processes.values())

    @property
    def dropped(self) -> int:
        """Rows that were never taken."""
        every = self.processes.values()
        return self.lost + self._gone["dropped"] + sum(one.dropped for one in every)

    def rows(self) -> pl.DataFrame | None:
        """All cycles since the last call, in order of time; None without any."""
        # One table, not one for each batch: that would take longer than all else.
        columns: dict[str, list[Any]] = {JOB: [], START: [], DURATION: []}
        while self._batches:
            batch = self._batches.popleft()
            self._taken += len(batch.duration_ns)
            first = self._first(batch)
            is_first: list[float | None] = [*self.processes[batch.pid].first_sizes(batch)]
            count = len(batch.start_us) - first
            if count <= 0:
                continue
            before = len(columns[JOB])
            columns[JOB] += [self.processes[batch.pid].stream_name(batch.stream)] * count
            columns[START] += [us / 1e6 for us in batch.start_us[first:]]
            columns[DURATION] += [ns / 1e3 for ns in batch.duration_ns[first:]]
            told = {**batch.workload, FIRST: is_first} if batch.workload else {}
            for name, new in told.items():
                if len(self._columns) < _MOST_COLUMNS:
                    self._columns.add(name)
                elif name not in self._columns:
                    continue
                values = columns.setdefault(name, [])
                values += [None] * (before - len(values))
                values += new[first:]
        self._forget_gone()
        rows = len(columns[JOB])
        if not rows:
            return None
        series = [
            pl.Series(name, values + [None] * (rows - len(values)), pl.Float64)
            for name, values in columns.items()
            if name != JOB
        ]
        table = pl.DataFrame([pl.Series(JOB, columns[JOB]), *series])
        return table if table[START].is_sorted() else table.sort(START, maintain_order=True)

    def _forget_gone(self) -> None:
        """Of very many processes those that have ended count together."""
        if len(self.processes) > _MOST_PROCESSES:
            for pid in [pid for pid in self.processes if not is_alive(pid)]:
                one = self.processes.pop(pid)
                self._gone.update(cycles=one.cycles, dropped=one.dropped, failed=one.failed)

    def has_slow(self, limit_us: float, least: int) -> bool:
        """Whether so many of the cycles that wait, and a tenth of them, took longer than this."""
        waiting = [ns for batch in list(self._batches) for ns in batch.duration_ns]
        beyond = sum(ns > 1000 * limit_us for ns in waiting)
        return beyond >= max(least, len(waiting) / 10)

    def _first(self, batch: CycleBatch) -> int:
        """Note what a batch tells of its process; the first of its rows that is to be taken."""
        one = self.processes.get(batch.pid)
        if one is None:
            one = self.processes[batch.pid] = WatchedProcess(
                batch.pid, batch.rank, batch.world_size, batch.source
            )
        one.rank, one.world_size = batch.rank, batch.world_size
        one.source = batch.source or one.source
        one.cycles, one.dropped = max(one.cycles, batch.count), max(one.dropped, batch.dropped)
        one.failed = max(one.failed, batch.failed)
        one.streams.add(batch.stream)
        if not batch.start_us:
            return 0
        one.last_us = batch.start_us[-1] + batch.duration_ns[-1] // 1000
        passed = one.let_pass.get(batch.stream, 0)
        first = min(max(self._skip - passed, 0), len(batch.start_us))
        one.let_pass[batch.stream] = passed + first
        return first
