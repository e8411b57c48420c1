"""Cycles as they come, read in a thread so that a small queue of the system does not fill up.

The last minutes of them are kept second by second, the last seconds as medians.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from math import exp
from pathlib import Path
from typing import Any, Protocol

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from timesink.errors import reason_of
from timesink.formats.cycle_rows import DURATION, JOB, START
from timesink.model import units
from timesink.recorder.cycle_channel import CycleBatch
from timesink.recorder.processes import is_alive
from timesink.sources.watch_folder import SERIES_SCHEMA
from timesink.watcher.expected.model import LiveModel, is_calmer
from timesink.watcher.expected.workload import BATCH, FIRST, MODE, TOKENS
from timesink.watcher.watch_json import (
    DurationsJson,
    PhaseDurationsJson,
    SeriesJson,
    WatchedProcessJson,
)

_MAX_ROWS = 250_000
"""More that wait to be taken are counted, and not kept."""
_MAX_COLUMNS = 64
_MAX_CELLS = 4_000_000
"""Values of workload in rows that wait; an ordinary row has three."""
_SHARE_OF_ONE = 0.5
"""Of the rows that wait those of one process of several are no more: others have room."""
_MAX_STREAMS = 1024
"""Of one process; cycles of more are not taken."""
_MAX_PROCESSES = 256
_MAX_SIZES = 20_000
"""A process that had as many has none that would be new."""
_READS_S = 0.25
_RESTS_S = 0.04
"""Programs send five times a second, and later what the queue of the system does not take."""


class Receiver(Protocol):
    """Where batches come from."""

    def read(self, timeout_s: float) -> list[CycleBatch]: ...


class WatchedProcess(msgspec.Struct):
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
    streams: set[int] = msgspec.field(default_factory=set)
    let_pass: dict[int, int] = msgspec.field(default_factory=dict)
    """Cycles of each stream that were skipped."""
    sizes: dict[str, set[float | None]] = msgspec.field(default_factory=dict)
    """All that its cycles had, by what they are of."""

    @property
    def json(self) -> WatchedProcessJson:
        """As the status has it."""
        return WatchedProcessJson(
            pid=self.pid,
            rank=self.rank,
            world_size=self.world_size,
            streams=sorted(self.streams),
            source=self.source,
            cycles=self.cycles,
            dropped=self.dropped,
            failed=self.failed,
            last_us=self.last_us,
        )

    def first_sizes(self, batch: CycleBatch) -> list[float]:
        """How many sizes of each cycle no cycle before had.

        >>> told = {"batch_size": [2.0, 2.0, 3.0], "tokens": [90.0, 90.0, 91.0]}
        >>> batch = CycleBatch(7, 0, [1, 2, 3], [5, 5, 5], told, 3, 0)
        >>> WatchedProcess(7, None, None, "").first_sizes(batch)
        [2.0, 0.0, 1.0]
        """
        counts = [0.0] * len(batch.start_us)
        for name, sizes in _sizes(batch.workload).items():
            seen = self.sizes.setdefault(name, set())
            if seen.issuperset(sizes):
                continue
            for place, size in enumerate(sizes):
                if size not in seen and len(seen) < _MAX_SIZES:
                    seen.add(size)
                    counts[place] += 1
        return counts

    def stream_name(self, stream: int) -> str:
        """What its cycles are called: by rank where that is known."""
        name = f"{self.pid}.{stream}" if self.rank is None else f"rank{self.rank}"
        return name if self.rank is None or not stream else f"{name}.{stream}"


def _sizes(workload: Mapping[str, list[float | None]]) -> dict[str, list[float | None]]:
    """What libraries may do something for when it comes first.

    Lengths that grow with each cycle are none, nor are means, which are of many.
    """
    writes = any("output" in name for name in workload)
    sizes = {
        name: values
        for name, values in workload.items()
        if name != MODE and not name.startswith("avg_") and not (writes and "length" in name)
    }
    if {BATCH, TOKENS} <= sizes.keys():
        # Each sequence has one that is written on; the others are read.
        pairs = zip(sizes[TOKENS], sizes[BATCH], strict=True)
        sizes[TOKENS] = [(tokens or 0.0) - (batch or 0.0) for tokens, batch in pairs]
    return sizes


class Backlog(msgspec.Struct):
    """How much has gone through one end of a queue."""

    rows: int = 0
    cells: int = 0
    rows_of: Counter[int] = msgspec.field(default_factory=Counter)
    """By process."""

    def add(self, batch: CycleBatch) -> None:
        """Count what a batch holds."""
        rows = len(batch.duration_ns)
        self.rows_of[batch.pid] += rows
        self.cells += rows * len(batch.workload)
        self.rows += rows  # the last: equal numbers of rows mean that all else is counted


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
        self._put, self._taken = Backlog(), Backlog()
        """Rows that came, and those that were asked for: each is counted by one thread."""
        self._columns: set[str] = set()
        self._gone: Counter[str] = Counter()
        self._is_over = False
        self._thread = threading.Thread(target=self._read, name="timesink steps", daemon=True)

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
            self.trouble = f"steps can no longer be read: {reason_of(error)}"

    def put(self, batches: Iterable[CycleBatch]) -> None:
        """Keep batches until rows are asked for."""
        if self._put.rows == self._taken.rows:
            # Nothing waits, so nobody else counts now; of processes that are gone nothing is kept.
            self._put.rows_of.clear()
            self._taken.rows_of.clear()
        for batch in batches:
            if self._has_room(batch):
                self._put.add(batch)
                self._batches.append(batch)
            else:
                self.lost += len(batch.duration_ns)

    def _has_room(self, batch: CycleBatch) -> bool:
        put, taken, rows = self._put, self._taken, len(batch.duration_ns)
        of_process = put.rows_of[batch.pid] - taken.rows_of[batch.pid]
        is_alone = len(self.processes) == (batch.pid in self.processes)
        return (
            put.rows - taken.rows + rows <= _MAX_ROWS
            and of_process + rows <= (1.0 if is_alone else _SHARE_OF_ONE) * _MAX_ROWS
            and put.cells - taken.cells + rows * len(batch.workload) <= _MAX_CELLS
        )

    @property
    def invalid(self) -> int:
        """Messages that were dropped, as no watched program sends such ones, or so many."""
        return int(getattr(self._receiver, "invalid", 0))

    @property
    def remarks(self) -> list[str]:
        """What is to be known of the messages that came."""
        dropped = units.count_noun(self.invalid, "messages")
        remark = f"{dropped} dropped: malformed, or too many at once"
        return [remark] if self.invalid else []

    @property
    def cycles(self) -> int:
        """Of all processes so far, those that were not told as well."""
        return self._gone["cycles"] + sum(process.cycles for process in self.processes.values())

    @property
    def last_us(self) -> int:
        """When the last cycle ended that was taken."""
        return max((process.last_us for process in self.processes.values()), default=0)

    @property
    def failed(self) -> int:
        """Cycles whose workload could not be told."""
        return self._gone["failed"] + sum(process.failed for process in self.processes.values())

    @property
    def dropped(self) -> int:
        """Rows that were never taken."""
        every = self.processes.values()
        return self.lost + self._gone["dropped"] + sum(process.dropped for process in every)

    def rows(self) -> pl.DataFrame | None:
        """All cycles since the last call, in order of time; None without any."""
        # One table, not one for each batch: that would take longer than all else.
        columns: dict[str, list[Any]] = {JOB: [], START: [], DURATION: []}
        while self._batches:
            batch = self._batches.popleft()
            self._taken.add(batch)
            first = self._first(batch)
            is_first: list[float | None] = [*self.processes[batch.pid].first_sizes(batch)]
            count = len(batch.start_us) - first
            if count <= 0:
                continue
            before = len(columns[JOB])
            columns[JOB] += [self.processes[batch.pid].stream_name(batch.stream)] * count
            columns[START] += [us / 1e6 for us in batch.start_us[first:]]
            columns[DURATION] += [ns / 1e3 for ns in batch.duration_ns[first:]]
            workload = {**batch.workload, FIRST: is_first} if batch.workload else {}
            for name, new in workload.items():
                if len(self._columns) < _MAX_COLUMNS:
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
        if len(self.processes) > _MAX_PROCESSES:
            for pid in [pid for pid in self.processes if not is_alive(pid)]:
                process = self.processes.pop(pid)
                self._gone.update(
                    cycles=process.cycles, dropped=process.dropped, failed=process.failed
                )

    def has_slow(self, limit_us: float, least: int) -> bool:
        """Whether so many of the cycles that wait, and a tenth of them, took longer than this."""
        waiting = [ns for batch in list(self._batches) for ns in batch.duration_ns]
        beyond = sum(ns > 1000 * limit_us for ns in waiting)
        return beyond >= max(least, len(waiting) / 10)

    def _first(self, batch: CycleBatch) -> int:
        """Note what a batch tells of its process; the first of its rows that is to be taken."""
        process = self.processes.get(batch.pid)
        if process is None:
            process = self.processes[batch.pid] = WatchedProcess(
                batch.pid, batch.rank, batch.world_size, batch.source
            )
        process.rank, process.world_size = batch.rank, batch.world_size
        process.source = batch.source or process.source
        process.cycles, process.dropped = (
            max(process.cycles, batch.count),
            max(process.dropped, batch.dropped),
        )
        process.failed = max(process.failed, batch.failed)
        if not batch.start_us:
            return 0
        if batch.stream not in process.streams and len(process.streams) >= _MAX_STREAMS:
            self.lost += len(batch.start_us)
            return len(batch.start_us)
        process.streams.add(batch.stream)
        process.last_us = batch.start_us[-1] + batch.duration_ns[-1] // 1000
        passed = process.let_pass.get(batch.stream, 0)
        first = min(max(self._skip - passed, 0), len(batch.start_us))
        process.let_pass[batch.stream] = passed + first
        return first


# The last minutes in buckets of a second, and the last seconds as medians.

_MAX_POINTS = 900
_RECENT_S = 10.0
LEARNING = "learning"
"""What cycles are called that nothing is known of yet."""
_OF_PHASE = ("cycles", "observed_us", "slowest_us", "expected_us", "limit_us")
_NOT_WORKLOAD = ("job_name", START, "duration_us", FIRST)
AT_MOST_US = tuple(float(f"{100 * 10 ** (step / 5):.3g}") for step in range(31))
"""Bounds of the histogram, from 0.1 ms to 100 s."""
_MEDIANS = (
    pl.len().alias("cycles"),
    pl.col("duration_us").median().alias("observed_us"),
    pl.col("duration_us").max().alias("slowest_us"),
    pl.col("expected_us").median(),
    pl.col("limit_us").median(),
)


def unjudged_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """Cycles without a model, in the columns of judged ones."""
    nothing = pl.lit(None, dtype=pl.Float64)
    return rows.select(
        "job_name", START, "duration_us", nothing.alias("expected_us"), nothing.alias("limit_us"),
        phase=pl.lit(LEARNING), outside=pl.lit(value=False), alarm=pl.lit(value=False),
    )  # fmt: skip


def learned_range(model: LiveModel) -> str:
    """What cycles took while they were learned, as a clause; empty where that is not known."""
    low, high = model.range_us
    return f" while steps took {units.range_ns(1e3 * low, 1e3 * high)}" if high > 0 else ""


def learned_sentence(model: LiveModel, *, is_more: bool) -> str:
    """What was learned, for the log; `is_more` where it was not for the first time."""
    how = " once more" if is_more else ""
    learned = f"{units.count_noun(model.cycles, 'steps')}{learned_range(model)}"
    return f"learned{how} from {learned}; slower steps now raise an alarm"


class WatchedSeries:
    """What the page draws; bounded, however long the program runs."""

    def __init__(self, started_us: int) -> None:
        self._started_us = started_us
        self._pending: list[pl.DataFrame] = []
        self._recent: deque[tuple[float, pl.DataFrame, pl.DataFrame]] = deque()
        self._phases: dict[str, dict[int, dict[str, Any]]] = {}
        self._took: dict[str, tuple[npt.NDArray[np.int64], float]] = {}
        """Of all cycles so far: how many are within each bound and beyond, and their sum in us."""
        self._workload: dict[int, dict[str, float]] = {}
        self._counters: dict[str, dict[str, list[float]]] = {}

    def add(self, judged: pl.DataFrame, rows: pl.DataFrame) -> None:
        """Cycles that came, and what they had to do."""
        self._pending.append(judged)
        self._recent.append((time.monotonic(), judged, rows))

    def add_counters(self, samples: list[tuple[float, str, float]]) -> None:
        """Values of counters: when, which, how much."""
        for at_s, name, value in samples:
            curve = self._counters.setdefault(name, {"t_s": [], "value": []})
            for values, new in zip(curve.values(), (at_s, value), strict=True):
                values.append(new)
                del values[:-_MAX_POINTS]

    def last_counters(self) -> dict[str, float]:
        return {name: curve["value"][-1] for name, curve in sorted(self._counters.items())}

    def recent(self) -> pl.DataFrame | None:
        """Workloads of the last seconds."""
        until = time.monotonic() - _RECENT_S
        while self._recent and self._recent[0][0] < until:
            self._recent.popleft()
        if not self._recent:
            return None
        return pl.concat([rows for _, _, rows in self._recent], how="diagonal")

    def recent_judged(self) -> pl.DataFrame | None:
        """Cycles of the last seconds beside what was expected of them."""
        if self.recent() is None:
            return None
        return pl.concat([judged for _, judged, _ in self._recent], how="vertical_relaxed")

    def phases(self, lasting: float | None = None) -> list[dict[str, Any]]:
        """Medians of the last seconds, phase by phase.

        `lasting` is the distance below which no shift is an alarm (`LiveAlarmLimits.lasting`).
        """
        table = self.recent_judged()
        if table is None:
            return []
        # Rows come in bunches: when they came is not when they were.
        table = table.filter(pl.col(START) > time.time() - _RECENT_S)
        rows = table.group_by("phase").agg(*_MEDIANS).sort("phase").to_dicts()
        for row in rows:
            expected_us = row["expected_us"]
            row["lasting_us"] = (
                None if lasting is None or not expected_us else expected_us * exp(lasting)
            )
            row["residual_pct"] = (
                100 * (row["observed_us"] / expected_us - 1) if expected_us else None
            )
        return rows

    def calmer_remarks(self, model: LiveModel | None, alarms: Sequence[Any]) -> list[str]:
        """That the start that was learned from was slow or restless, where steps are calmer now."""
        judged = None if model is None or alarms else self.recent_judged()
        if model is None or judged is None or not is_calmer(model, judged):
            return []
        took = judged["duration_us"].drop_nulls()
        low, high = (1e3 * float(took.quantile(part) or 0) for part in (0.05, 0.95))
        remark = (
            f"Learned{learned_range(model)}; now they take {units.range_ns(low, high)}, so limits "
            "are too wide. To learn from the present steps: timesink watch accept DIR"
        )
        return [remark]

    def workload(self) -> dict[str, float]:
        """Medians of what the last cycles had to do, as of the last second with any."""
        is_known = self._workload and self.recent() is not None
        return self._workload[next(reversed(self._workload))] if is_known else {}

    def close_second(self) -> None:
        """Put what came into buckets; late rows join the bucket that is there."""
        if not self._pending:
            return
        table = pl.concat(self._pending, how="vertical_relaxed")
        self._pending = []
        self._count(table)
        second = pl.col(START).floor().cast(pl.Int64).alias("second")
        for bucket in table.group_by("phase", second).agg(*_MEDIANS).sort("second").to_dicts():
            buckets = self._phases.setdefault(bucket.pop("phase"), {})
            at = bucket.pop("second")
            if at in buckets:
                before, bucket["slowest_us"] = (
                    buckets[at], max(bucket["slowest_us"], buckets[at]["slowest_us"]),
                )  # fmt: skip
                if before["cycles"] > bucket["cycles"]:
                    columns = ("observed_us", "expected_us", "limit_us")
                    bucket |= {name: before[name] for name in columns}
                bucket["cycles"] += before["cycles"]
            buckets[at] = bucket
            while len(buckets) > _MAX_POINTS:
                del buckets[next(iter(buckets))]
        now = int(time.time())
        self._workload[now] = medians(self.recent())
        while len(self._workload) > _MAX_POINTS:
            del self._workload[next(iter(self._workload))]

    def _count(self, table: pl.DataFrame) -> None:
        for (phase,), mine in table.select("phase", "duration_us").group_by("phase"):
            took = mine["duration_us"].drop_nulls().to_numpy()
            took = took[np.isfinite(took)]
            counts, total = self._took.get(str(phase), (0, 0.0))
            places = np.searchsorted(AT_MOST_US, took)
            counts = counts + np.bincount(places, minlength=len(AT_MOST_US) + 1)
            self._took[str(phase)] = counts, total + float(took.sum())

    def durations(self) -> DurationsJson:
        """What all cycles took so far, as a histogram for each phase."""
        phases = {
            phase: PhaseDurationsJson(total, counts.tolist())
            for phase, (counts, total) in sorted(self._took.items())
        }
        return DurationsJson(AT_MOST_US, phases)

    def json(self, alarms: list[dict[str, Any]]) -> SeriesJson:
        """The content of series.json."""
        phases = {}
        for name, buckets in self._phases.items():
            times = sorted(buckets)
            columns = {key: [buckets[at][key] for at in times] for key in _OF_PHASE}
            phases[name] = {"t_s": times, **columns}
        names = sorted({name for point in self._workload.values() for name in point})
        workload: dict[str, Any] = {"t_s": list(self._workload)}
        for name in names:
            workload[name] = [point.get(name) for point in self._workload.values()]
        return SeriesJson(
            schema=SERIES_SCHEMA,
            started_us=self._started_us,
            every_s=1,
            phases=phases,
            workload=workload,
            counters=dict(sorted(self._counters.items())),
            alarms=alarms,
        )


def medians(rows: pl.DataFrame | None) -> dict[str, float]:
    """Medians of the columns that tell the workload."""
    if rows is None or rows.is_empty():
        return {}
    records = rows.select(pl.exclude(_NOT_WORKLOAD).median()).to_dicts()
    return {
        name: value for name, value in (records[0] if records else {}).items() if value is not None
    }


class CounterTail:
    """New lines of a file of counters, which is shortened now and then."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._place: tuple[int, int] = (0, 0)
        self._last_us = 0

    def read(self) -> list[tuple[float, str, float]]:
        """When, which counter, how much; of several devices the name tells which."""
        samples: list[tuple[float, str, float]] = []
        with suppress(OSError), self._path.open("rb") as file:
            number, at = os.fstat(file.fileno()).st_ino, self._place[1]
            # Of a file that was shortened some lines are known; what was added to one is new,
            # whatever its clock says.
            known_us = 0
            if number != self._place[0]:
                at, known_us = 0, self._last_us
            file.seek(at)
            content = file.read()
            full_lines = content[: content.rfind(b"\n") + 1]
            self._place = (number, at + len(full_lines))
            for line in full_lines.decode(errors="replace").splitlines():
                with suppress(ValueError):
                    at_us, name, device, value = line.split(",")
                    if int(at_us) > known_us:
                        name = f"{name} {device}".strip() if device != "Host" else name
                        samples.append((int(at_us) / 1e6, name, float(value)))
                        self._last_us = int(at_us)
        return samples
