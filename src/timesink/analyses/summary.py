"""What is in a trace: counts, devices, spans."""

from __future__ import annotations

import msgspec
import polars as pl

from timesink.analyses.behaviour.summary import BehaviourCounts, count_behaviour
from timesink.analyses.columns import event_ranges
from timesink.analyses.kernels.calls import call_time, kernel_calls, sampling_of, with_weights
from timesink.model import intervals
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Trace
from timesink.model.units import unit_of

_NOT_WORK = ("trace", "instant")
"""Host kinds that frame or mark a recording and do not belong to its span."""


class Span(msgspec.Struct, frozen=True):
    """From the first start to the last end, in ns; both zero when there is nothing."""

    start_ns: int = 0
    end_ns: int = 0

    @property
    def length_ns(self) -> int:
        return self.end_ns - self.start_ns


class KernelTime(msgspec.Struct, frozen=True):
    """Time of the launches on one device; times of different devices are never added."""

    host: str | None
    device: int | None
    total_ns: int


class Summary(msgspec.Struct, frozen=True):
    """Counts and times of one trace."""

    events: int
    operators: int
    annotations: int
    python_calls: int
    runtime_calls: int
    driver_calls: int
    kernels: int
    memcpys: int
    memsets: int
    collectives: int
    memory_events: int
    counters: int
    flows: int
    steps: int
    span: Span
    device_span: Span
    device_busy_ns: int
    devices_used: tuple[int, ...]
    kernel_calls: int = 0
    """Launches measured one by one; they are on no timeline."""
    kernel_times: tuple[KernelTime, ...] = ()
    """What those, and of a sample the launches they stand for, took on each device."""
    behaviour: BehaviourCounts | None = None
    """What a behaviour table holds, where it is one."""

    @property
    def behaviour_rows(self) -> int:
        return 0 if self.behaviour is None else self.behaviour.rows

    @property
    def cycles(self) -> int:
        """Cycles a behaviour table holds; those of a timeline have to be found first."""
        return 0 if self.behaviour is None else self.behaviour.cycles


def summarise(trace: Trace) -> Summary:
    """Count what is in a trace and how long its devices were busy."""
    host = _count_kinds(trace, "host")
    device = _count_kinds(trace, "device")
    busy = (
        trace.lazy("device")
        .filter(pl.col("kind").is_in(BUSY_KINDS))
        .select("ts_ns", "dur_ns", "device")
        .collect()
    )
    measured = trace.lazy("kernel_calls").select("device", "dur_ns").collect()
    host_work = trace.lazy("host").filter(~pl.col("kind").is_in(_NOT_WORK))
    used = pl.concat([busy["device"], measured["device"]])
    kernel_times: tuple[KernelTime, ...] = ()
    if measured.height:
        calls = with_weights(kernel_calls(trace), sampling_of(trace.metadata))
        times = calls.group_by("host", "device").agg(call_time().sum().round().cast(pl.Int64()))
        ordered = times.sort(pl.col("host").cast(pl.String()), "device")
        kernel_times = tuple(KernelTime(*row) for row in ordered.iter_rows())
    # Instant events of a trace with memory profiling: records and the marks that frame them.
    records = _height(trace, "memory")
    marks = trace.metadata.phases.get("i", 0) + trace.metadata.phases.get("I", 0)
    return Summary(
        events=trace.metadata.events,
        operators=host.get("operator", 0),
        annotations=host.get("annotation", 0),
        python_calls=host.get("python_function", 0) + host.get("module", 0),
        runtime_calls=host.get("runtime", 0),
        driver_calls=host.get("driver", 0),
        kernels=device.get("kernel", 0),
        memcpys=device.get("memcpy", 0),
        memsets=device.get("memset", 0),
        collectives=device.get("collective", 0) + host.get("collective", 0),
        memory_events=max(records, marks) if records else 0,
        counters=_height(trace, "counters"),
        flows=_height(trace, "flows"),
        steps=_height(trace, "steps"),
        span=_span(host_work, trace.lazy("device")),
        device_span=_span(busy.lazy()),
        device_busy_ns=intervals.coverage(event_ranges(busy)),
        devices_used=tuple(used.drop_nulls().unique().sort().to_list()),
        kernel_calls=measured.height,
        kernel_times=kernel_times,
        behaviour=count_behaviour(trace),
    )


def _count_kinds(trace: Trace, table: str) -> dict[str, int]:
    return dict(trace.lazy(table).group_by("kind").len().collect().iter_rows())


def _height(trace: Trace, table: str) -> int:
    return int(trace.lazy(table).select(pl.len()).collect().item())


def _span(*frames: pl.LazyFrame) -> Span:
    start, length = pl.col("ts_ns"), pl.col("dur_ns")
    events = pl.concat([frame.select(start=start, end=start + length) for frame in frames])
    first, last = events.select(pl.col("start").min(), pl.col("end").max()).collect().row(0)
    return Span() if first is None else Span(first, last)


def sampled_counters(trace: Trace) -> pl.DataFrame:
    """One row per counter and device, in the order of names; values are in the unit."""
    value = pl.col("value")
    rows = (
        trace.lazy("counters")
        .filter(value.is_finite())
        .group_by(pl.col("counter", "device").cast(pl.String))
        .agg(
            samples=pl.len().cast(pl.Int64),
            lowest=value.min(),
            mean=value.mean(),
            highest=value.max(),
        )
        .sort("counter", "device")
        .collect()
    )
    largest = dict(rows.group_by("counter").agg(pl.col("highest").abs().max()).iter_rows())
    units = {counter: unit_of(counter, top) for counter, top in largest.items()}
    named = pl.Series("unit", [units[counter] for counter in rows["counter"]], dtype=pl.String)
    return rows.with_columns(named)


def sampled_span_ns(trace: Trace) -> int:
    """From the first sample to the last."""
    times = pl.col("ts_ns")
    span = trace.lazy("counters").select((times.max() - times.min()).fill_null(0)).collect()
    return int(span.item())
