"""Steps of a run, from the first host event to the last device activity they caused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import polars as pl

from timesink.analyses.columns import (
    device_columns,
    device_kinds,
    host_columns,
    host_kinds,
    once_per_trace,
    start_and_end,
)
from timesink.analyses.forest import is_python_region
from timesink.analyses.links import launching_calls
from timesink.model.arrays import Flags, Ints
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Trace

_BEGINNING_OF_TIME, _END_OF_TIME = np.iinfo(np.int64).min, np.iinfo(np.int64).max

CUT_SHARE = 0.8
"""A last step with less than this share of the device events before it was cut."""

SCHEMA = {
    "name": pl.String(),
    "start_ns": pl.Int64(),
    "end_ns": pl.Int64(),
    "host_start_ns": pl.Int64(),
    "host_end_ns": pl.Int64(),
    "device_events": pl.Int64(),
    "complete": pl.Boolean(),
    "marked": pl.Boolean(),
}


@once_per_trace
def find_steps(trace: Trace) -> pl.DataFrame:
    """One row per step.  A step lasts until its device work is done; the next starts after it.

    Without marks in the recording the whole of it is one step, named `0`.  A last step whose
    device work was not recorded is kept and marked as not `complete`; averages leave it out.
    """
    marks = _marked_steps(trace)
    steps = marks or _whole_trace(trace)
    if not steps:
        return pl.DataFrame(schema=SCHEMA)
    bounds = np.array([(start, end) for _, start, end in steps], dtype=np.int64)
    reach = _device_reach(trace, bounds)
    start, end = _extended(bounds, reach) if reach.count.any() else bounds.T.copy()
    return pl.DataFrame(
        {
            "name": [name for name, _, _ in steps],
            "start_ns": start,
            "end_ns": end,
            "host_start_ns": bounds[:, 0].copy(),
            "host_end_ns": bounds[:, 1].copy(),
            "device_events": reach.count,
            "complete": _complete(reach.count),
            "marked": np.full(len(steps), bool(marks)),
        },
        schema=SCHEMA,
    )


def bounds_of(rows: pl.DataFrame) -> Ints:
    """Start and end of each row, of steps or of whatever takes time."""
    return np.stack([rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy()], axis=1)


def window(steps: pl.DataFrame) -> tuple[int, int]:
    """From the start of the first complete step to the last end; (0, 0) without steps."""
    complete = steps.filter("complete")
    if complete.is_empty():
        return (0, 0)
    return int(complete["start_ns"][0]), int(complete["end_ns"].to_numpy().max())


def step_at(start: Ints, end: Ints, bounds: Ints) -> Ints:
    """The latest step that holds a stretch of time wholly, -1 where none does.

    `bounds` are the starts and ends of the steps, in the order of their starts.
    """
    step = np.searchsorted(bounds[:, 0], start, side="right") - 1
    latest_end = np.maximum.accumulate(bounds[:, 1]) if len(bounds) else bounds[:, 1]
    while True:
        # A step inside another, or one that overlaps it: an earlier one may still hold it.
        outside = (step >= 0) & (bounds[step, 1] < end) if len(bounds) else step >= 0
        if not outside.any():
            return step
        hopeless = outside & (latest_end[step] < end)
        step = np.where(hopeless, -1, np.where(outside, step - 1, step))


# -- what the host says ----------------------------------------------------------------------------


def step_names() -> pl.Expr:
    """The number of each mark as text; as written where it does not fit the column."""
    written = pl.col("name").cast(pl.String).str.strip_prefix("ProfilerStep#")
    return pl.coalesce(pl.col("step").cast(pl.String), written)


_HostStep: TypeAlias = tuple[str, int, int]
"""Name, start and end."""


def _marked_steps(trace: Trace) -> list[_HostStep]:
    """Marks in the order of their starts; those of one number that overlap are one step.

    Several processes in one recording mark the same steps, each for itself.
    """
    marks = trace.lazy("steps").select(step_names().alias("name"), "ts_ns", "dur_ns").collect()
    steps: list[_HostStep] = []
    latest: dict[str, int] = {}
    for name, start, length in sorted(marks.iter_rows(), key=lambda mark: mark[1]):
        place = latest.get(name)
        if place is not None and start < steps[place][2]:
            _, begun, end = steps[place]
            steps[place] = (name, begun, max(end, start + length))
        else:
            latest[name] = len(steps)
            steps.append((name, start, start + length))
    return steps


def _whole_trace(trace: Trace) -> list[_HostStep]:
    """One step over the operators; over what else there is where no operator was recorded."""
    host, device, kinds = host_columns(trace), device_columns(trace), host_kinds(trace)
    for events, chosen in (
        (host, kinds.among("operator") | is_python_region(trace)),
        (host, kinds.among("annotation")),
        (device, device_kinds(trace).among(*BUSY_KINDS)),
        (host, ~kinds.among("trace", "instant")),
    ):
        rows = np.flatnonzero(chosen)
        if len(rows):
            start, end = start_and_end(events, rows)
            return [("0", int(start.min()), int(end.max()))]
    return []


# -- what the device adds --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Reach:
    """Device work launched inside each step."""

    first: Ints
    last: Ints
    count: Ints
    warm_up_end: int
    """End of the device work before the first step, as far as it belongs to none."""


def _device_reach(trace: Trace, bounds: Ints) -> _Reach:
    device = device_columns(trace)
    busy = np.flatnonzero(device_kinds(trace).among(*BUSY_KINDS))
    start, end = start_and_end(device, busy)
    step = _step_of_launch(trace, launching_calls(trace), bounds)[busy]
    inside = step >= 0
    first = np.full(len(bounds), _END_OF_TIME)
    last = np.full(len(bounds), _BEGINNING_OF_TIME)
    np.minimum.at(first, step[inside], start[inside])
    np.maximum.at(last, step[inside], end[inside])
    count = np.bincount(step[inside], minlength=len(bounds))
    before = end[~inside & (end < first[0])] if count[0] else end[:0]
    warm_up_end = int(before.max(initial=_BEGINNING_OF_TIME))
    return _Reach(first, last, count, warm_up_end)


def _step_of_launch(trace: Trace, call_row: Ints, bounds: Ints) -> Ints:
    """The step in which each device event was launched, -1 outside of all."""
    host = host_columns(trace)
    call = np.maximum(call_row, 0)
    if not host.height:
        return np.full(len(call), -1, dtype=np.int64)
    start, end = start_and_end(host, call)
    return np.where(call_row >= 0, step_at(start, end, bounds), -1)


def _extended(bounds: Ints, reach: _Reach) -> tuple[Ints, Ints]:
    """Steps that end with their device work; what is left of one delays the next."""
    starts, ends = bounds[:, 0].copy(), bounds[:, 1].copy()
    free_from = max(int(starts[0]), int(reach.warm_up_end))
    for step in range(len(bounds)):
        starts[step] = max(free_from, int(starts[step]))
        last = int(reach.last[step]) if reach.count[step] else int(starts[step])
        ends[step] = max(int(ends[step]), last, int(starts[step]))
        free_from = int(ends[step])
    return starts, ends


def _complete(count: Ints) -> Flags:
    """Steps whose device work was recorded; all of them where no device work is known."""
    complete = np.ones(len(count), dtype=np.bool_)
    if len(count) < 2 or not count.any():
        return complete
    last = int(np.flatnonzero(count)[-1])
    complete[last + 1 :] = False
    if last > 0 and CUT_SHARE * count[last - 1] > count[last]:
        complete[last] = False
    return complete
