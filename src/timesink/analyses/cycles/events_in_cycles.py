"""Events that began in each cycle: how much of what was recorded the cycles hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.analyses.columns import device_columns, host_columns, host_names
from timesink.analyses.cycles.launching import launching_process
from timesink.analyses.cycles.waiting import is_wait
from timesink.analyses.once import once_per_trace
from timesink.model.arrays import Ints
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Trace

_WORTH_A_WORD = 0.05
_NO_WORK = ("annotation", "trace", "instant", "overhead")


@dataclass(frozen=True, eq=False)
class Work:
    """Events that began in each cycle, and in its process altogether."""

    events: Ints
    """One number per cycle."""
    total: int
    """Events of the processes that have cycles."""
    elsewhere: tuple[str, ...] = ()
    """Processes that have no cycles, but work: a twentieth of all events or more."""

    @property
    def coverage(self) -> float:
        """Share of the events that began in a cycle; 1 where there are none at all."""
        return min(1.0, float(self.events.sum()) / self.total) if self.total else 1.0


def work_in(trace: Trace, spans: pl.DataFrame, *, on_device: bool = False) -> Work:
    """Count the events of each cycle: calls on the host, or work on the device."""
    starts = _device_starts(trace) if on_device else _host_starts(trace)
    events = np.zeros(spans.height, dtype=np.int64)
    total = 0
    rows = spans.with_row_index("row")
    for (pid,), part in rows.partition_by("pid", as_dict=True).items():
        times = starts.get(str(pid))
        if times is None:
            continue
        total += len(times)
        low = np.searchsorted(times, part["start_ns"].to_numpy())
        high = np.searchsorted(times, part["end_ns"].to_numpy())
        events[part["row"].to_numpy()] = high - low
    found = set(spans["pid"].unique())
    enough = _WORTH_A_WORD * sum(map(len, starts.values()))
    elsewhere = [pid for pid, times in starts.items() if pid not in found and len(times) >= enough]
    return Work(events, total, tuple(sorted(elsewhere)))


def work_by_process(trace: Trace, *, on_device: bool = False) -> dict[str, int]:
    """How many events each process has."""
    starts = _device_starts(trace) if on_device else _host_starts(trace)
    return {pid: len(times) for pid, times in starts.items()}


def recorded_processes(trace: Trace) -> list[str]:
    """Processes with work, annotations or steps, in the order of their names."""
    annotated = trace.lazy("host").filter(pl.col("kind") == "annotation")
    marked = pl.concat(
        frame.select(pl.col("pid").cast(pl.String).fill_null("")).unique()
        for frame in (annotated, trace.lazy("steps"))
    ).collect()["pid"]
    return sorted({*_host_starts(trace), *_device_starts(trace), *marked})


def work_extent(trace: Trace, *, on_device: bool = False) -> dict[str, tuple[int, int]]:
    """When the first and the last event of each process began."""
    starts = _device_starts(trace) if on_device else _host_starts(trace)
    return {pid: (int(times[0]), int(times[-1])) for pid, times in starts.items()}


@once_per_trace
def _host_starts(trace: Trace) -> dict[str, Ints]:
    host = host_columns(trace)
    works = ~host["kind"].is_in(_NO_WORK) & ~pl.Series(host_names(trace).matching(is_wait))
    return _starts(host.filter(works))


@once_per_trace
def _device_starts(trace: Trace) -> dict[str, Ints]:
    device = device_columns(trace).with_columns(launching_process(trace).alias("pid"))
    return _starts(device.filter(pl.col("kind").is_in(BUSY_KINDS)))


def _starts(events: pl.DataFrame) -> dict[str, Ints]:
    chosen = events.select(pl.col("pid").cast(pl.String).fill_null(""), "ts_ns")
    found = chosen.partition_by("pid", as_dict=True)
    return {str(pid): np.sort(part["ts_ns"].to_numpy()) for (pid,), part in found.items()}
