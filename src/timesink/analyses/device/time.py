"""How devices spend their time: computing, communicating, moving memory, or nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.columns import device_columns, once_per_trace
from timesink.analyses.device.activities import Activities, device_activities
from timesink.analyses.roles import is_communication
from timesink.analyses.steps import find_steps
from timesink.model import intervals
from timesink.model.arrays import Flags, Ints
from timesink.model.intervals import IntervalSet
from timesink.model.trace import Trace

COMPUTATION, COMMUNICATION, MEMORY = range(3)
CLASS_NAMES = ("computation", "communication", "memory")

Classes: TypeAlias = NDArray[np.int8]


@once_per_trace
def activity_classes(trace: Trace) -> Classes:
    """For each row of `trace.device`: whether it computes, communicates or moves memory.

    Copies and sets are `MEMORY`, collectives `COMMUNICATION`, everything else `COMPUTATION`.
    """
    moves = device_columns(trace)["kind"].is_in(["memcpy", "memset"]).to_numpy()
    classes = np.where(moves, MEMORY, COMPUTATION).astype(np.int8)
    classes[is_communication(trace)] = COMMUNICATION
    return classes


def device_time(trace: Trace, *, classes: Classes | None = None) -> pl.DataFrame:
    """What each device did between its first and its last activity.

    Times are lengths of unions: what runs at the same time counts once.  Communication is exposed
    while the device does not compute, memory work while it neither computes nor communicates, so
    compute, exposed communication, exposed memory and idle time add up to the span.
    `compute_only_ns` is computation with nothing beside it, `communication_overlap_pct` the part
    of communication that is hidden under computation.  Other `classes` than those of
    :func:`activity_classes` may be given, one for each row of `trace.device`.
    """
    frames = [
        _timed(work, np.array([work.span])).with_columns(
            device=pl.lit(work.device, dtype=pl.Int64),
            activities=pl.lit(sum(work.counts), dtype=pl.Int64),
        )
        for work in _devices(trace, classes)
    ]
    return pl.concat([_NO_TIMES, *frames], how="diagonal").select(_NO_TIMES.columns)


def overlap_by_step(trace: Trace, *, classes: Classes | None = None) -> pl.DataFrame:
    """The same as :func:`device_time` for every step of every device."""
    steps = find_steps(trace)
    bounds = steps.select("start_ns", "end_ns").to_numpy().reshape(-1, 2)
    about = steps.select(step="name", start_ns="start_ns", complete="complete")
    frames = [
        pl.concat([about, _timed(work, bounds)], how="horizontal").with_columns(
            device=pl.lit(work.device, dtype=pl.Int64)
        )
        for work in _devices(trace, classes)
    ]
    return pl.concat([about.clear(), _NO_TIMES, *frames], how="diagonal").select(
        "device", *about.columns, *_TIMES, "communication_overlap_pct"
    )


def kernel_kinds(trace: Trace, *, classes: Classes | None = None) -> pl.DataFrame:
    """Time of each class of work by itself, and of classes that ran at the same time.

    `time_ns` of a row is how long exactly these classes ran, so the rows of a device add up to
    its busy time.  `activities` and `sum_ns` (their lengths added up) are given for single
    classes.
    """
    rows = [row for work in _devices(trace, classes) for row in _kind_rows(work)]
    return pl.DataFrame(rows, schema=_KINDS, orient="row")


_TIMES = (
    "span_ns",
    "busy_ns",
    "idle_ns",
    "compute_ns",
    "communication_ns",
    "memory_ns",
    "compute_only_ns",
    "exposed_communication_ns",
    "exposed_memory_ns",
)
_NO_TIMES = pl.DataFrame(
    schema={
        "device": pl.Int64(),
        "activities": pl.Int64(),
        **dict.fromkeys(_TIMES, pl.Int64()),
        "communication_overlap_pct": pl.Float64(),
    }
)
_KINDS = {
    "device": pl.Int64(),
    "kind": pl.String(),
    "activities": pl.Int64(),
    "sum_ns": pl.Int64(),
    "time_ns": pl.Int64(),
}


# -- which classes ran when ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _DeviceWork:
    """The busy time of a device, divided by the classes that ran at the same time."""

    device: int
    span: tuple[int, int]
    exactly: Mapping[int, IntervalSet]
    """Where these classes ran and no other; a set of classes is a number with their bits."""
    counts: tuple[int, ...]
    sums: tuple[int, ...]
    """Number and added lengths of the activities of each class."""

    def within(self, windows: IntervalSet) -> dict[int, Ints]:
        """How long exactly these classes ran inside each window."""
        return {
            mixture: intervals.coverage_within(ranges, windows)
            for mixture, ranges in self.exactly.items()
        }


def _devices(trace: Trace, classes: Classes | None) -> list[_DeviceWork]:
    return _usual_devices(trace) if classes is None else _divide(trace, classes)


@once_per_trace
def _usual_devices(trace: Trace) -> list[_DeviceWork]:
    return _divide(trace, activity_classes(trace))


def _divide(trace: Trace, classes: Classes) -> list[_DeviceWork]:
    work = device_activities(trace)
    kind = classes[work.row]
    found = []
    for device in pl.Series(work.device).unique().sort():
        mine = work.device == device
        parts = [_pairs(work, mine & (kind == number)) for number in range(len(CLASS_NAMES))]
        found.append(
            _DeviceWork(
                device=device,
                span=(int(work.start[mine].min()), int(work.end[mine].max())),
                exactly=_by_mixture([intervals.merge(part) for part in parts]),
                counts=tuple(len(part) for part in parts),
                sums=tuple(int((part[:, 1] - part[:, 0]).sum()) for part in parts),
            )
        )
    return found


def _pairs(work: Activities, chosen: Flags) -> IntervalSet:
    return np.stack([work.start[chosen], work.end[chosen]]).T


def _by_mixture(merged: Sequence[IntervalSet]) -> dict[int, IntervalSet]:
    """Cut time where a class starts or ends; the pieces by the classes that run in them."""
    bits = np.concatenate([np.full(len(part), 1 << number) for number, part in enumerate(merged)])
    ranges = np.concatenate(merged)
    # Ranges of a class are disjoint, so the sum of the bits of what runs is a set of classes.
    borders, mixture = intervals.sweep(ranges[:, 0], ranges[:, 1], bits)
    pieces = np.stack([borders[:-1], borders[1:]]).T
    return {number: pieces[mixture == number] for number in range(1, 1 << len(merged))}


def _timed(work: _DeviceWork, windows: IntervalSet) -> pl.DataFrame:
    """The times of one device inside each window."""
    compute, communication, memory = (1 << number for number in range(len(CLASS_NAMES)))
    parts = work.within(windows)
    nothing = np.zeros(len(windows), dtype=np.int64)

    def with_any(bits: int, without: int = 0) -> Ints:
        chosen = (time for mix, time in parts.items() if mix & bits and not mix & without)
        return sum(chosen, start=nothing)

    span, busy = windows[:, 1] - windows[:, 0], with_any(compute | communication | memory)
    times = {
        "span_ns": span,
        "busy_ns": busy,
        "idle_ns": span - busy,
        "compute_ns": with_any(compute),
        "communication_ns": with_any(communication),
        "memory_ns": with_any(memory),
        "compute_only_ns": parts[compute],
        "exposed_communication_ns": with_any(communication, without=compute),
        "exposed_memory_ns": parts[memory],
    }
    talk, exposed = pl.col("communication_ns"), pl.col("exposed_communication_ns")
    return pl.DataFrame(times, schema=dict.fromkeys(times, pl.Int64())).with_columns(
        communication_overlap_pct=pl.when(talk > 0).then((talk - exposed) / talk * 100),
    )


def _kind_rows(work: _DeviceWork) -> Iterator[tuple[int, str, int | None, int | None, int]]:
    """Single classes first, then mixtures."""
    for mixture in sorted(work.exactly, key=lambda bits: (bits.bit_count(), bits)):
        members = [number for number in range(len(CLASS_NAMES)) if mixture >> number & 1]
        name = "+".join(CLASS_NAMES[number] for number in members)
        time = intervals.coverage(work.exactly[mixture])
        if len(members) > 1 and time:
            yield work.device, name, None, None, time
        elif len(members) == 1 and work.counts[members[0]]:
            yield work.device, name, work.counts[members[0]], work.sums[members[0]], time
