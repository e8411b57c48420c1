"""Why a device had nothing to do during the steps: one cause for every idle moment."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.columns import host_columns, host_names
from timesink.analyses.device.activities import Activities, device_activities
from timesink.analyses.forest import OPERATOR, call_forest
from timesink.analyses.names import waits_for_device
from timesink.analyses.once import once_per_trace
from timesink.analyses.roles import role_ranges
from timesink.analyses.steps import find_steps
from timesink.model import intervals
from timesink.model.intervals import IntervalSet
from timesink.model.trace import Trace

CAUSES = ("data_loading", "communication", "sync", "stalled", "host", "queued")
STALL_NS = 1_000_000
"""Python between two calls takes microseconds; this long without any call is something else."""
SCHEMA = {
    "device": pl.Int64(),
    "steps_ns": pl.Int64(),
    "idle_ns": pl.Int64(),
    **{f"{cause}_ns": pl.Int64() for cause in CAUSES},
}


@once_per_trace
def idle_causes(trace: Trace) -> pl.DataFrame:
    """Idle time of each device inside the complete steps, by cause; the parts add up to it.

    * `data_loading_ns`: the program was fetching data;
    * `communication_ns`: it was communicating on the host;
    * `sync_ns`: the host waited for the device and could not queue more; a gap counts up to the
      length of the wait it begins in, which is what the host would have been ahead without it;
    * `stalled_ns`: nothing of what the host did was recorded for a millisecond or more;
    * `host_ns`: the next activity was not launched yet, or no further one came: launch-bound;
    * `queued_ns`: the next activity was launched already and waited for something else.

    >>> import timesink
    >>> idle = idle_causes(timesink.open(timesink.sample()))
    >>> parts = idle.select(pl.sum_horizontal(f"{cause}_ns" for cause in CAUSES)).to_series()
    >>> bool((parts == idle["idle_ns"]).all())
    True
    """
    steps = intervals.merge(
        find_steps(trace).filter("complete").select("start_ns", "end_ns").to_numpy()
    )
    work = device_activities(trace)
    waits = _waiting(trace)
    quiet = _quiet(trace, steps)
    rows = [
        {"device": device, **_causes(trace, work, work.device == device, (steps, waits, quiet))}
        for device in np.unique(work.device).tolist()
    ]
    return pl.DataFrame(rows, schema=SCHEMA)


def _quiet(trace: Trace, steps: IntervalSet) -> IntervalSet:
    """Long stretches of the steps in which no host call was recorded; notes are no calls."""
    ranges, forest = role_ranges(trace), call_forest(trace)
    operators = forest.role == OPERATOR
    outer = operators & ~((forest.parent >= 0) & operators[forest.parent])
    active = [ranges[role] for role in ("runtime", "data_loader", "communication")]
    active.append(np.stack([forest.start[outer], forest.end[outer]]).T)
    silent = intervals.subtract(steps, np.concatenate(active))
    return silent[silent[:, 1] - silent[:, 0] >= STALL_NS]


def _waiting(trace: Trace) -> IntervalSet:
    """When some host thread waited for a device."""
    host = host_columns(trace)
    calls = host.select("ts_ns", "dur_ns")[host_names(trace).rows(waits_for_device)]
    return intervals.merge(
        intervals.from_starts(calls["ts_ns"].to_numpy(), calls["dur_ns"].to_numpy())
    )


def _causes(
    trace: Trace,
    work: Activities,
    mine: NDArray[np.bool_],
    frame: tuple[IntervalSet, IntervalSet, IntervalSet],
) -> dict[str, int]:
    steps, waits, quiet = frame
    ranges = role_ranges(trace)
    idle = intervals.subtract(steps, np.stack([work.start[mine], work.end[mine]]).T)
    loading = intervals.intersect(idle, ranges["data_loader"])
    rest = intervals.subtract(idle, loading)
    talking = intervals.intersect(rest, ranges["communication"])
    rest = intervals.subtract(rest, talking)
    length = intervals.coverage_within(rest, idle)
    queued = np.where(_was_queued(work, mine, idle), length, 0)
    silent = intervals.coverage_within(intervals.intersect(rest, quiet), idle)
    stalled = np.minimum(length - queued, silent)
    sync = np.minimum(length - queued - stalled, _waited(idle, waits))
    return {
        "steps_ns": intervals.coverage(steps),
        "idle_ns": intervals.coverage(idle),
        "data_loading_ns": intervals.coverage(loading),
        "communication_ns": intervals.coverage(talking),
        "sync_ns": int(sync.sum()),
        "stalled_ns": int(stalled.sum()),
        "host_ns": int((length - queued - sync - stalled).sum()),
        "queued_ns": int(queued.sum()),
    }


def _was_queued(work: Activities, mine: NDArray[np.bool_], idle: IntervalSet) -> NDArray[np.bool_]:
    """Gaps at whose beginning the activity that ends them was launched already."""
    order = np.argsort(work.start[mine], kind="stable")
    launched = np.where(work.launched[mine], work.call_start[mine], work.start[mine])[order]
    following = np.searchsorted(work.start[mine][order], idle[:, 1])
    at_hand: NDArray[np.bool_] = (
        np.append(launched, np.iinfo(np.int64).max)[following] <= idle[:, 0]
    )
    return at_hand


def _waited(idle: IntervalSet, waits: IntervalSet) -> NDArray[np.int64]:
    """Length of the wait in which each gap begins; 0 for the others."""
    if not len(waits):
        return np.zeros(len(idle), dtype=np.int64)
    place = np.searchsorted(waits[:, 0], idle[:, 0], side="right") - 1
    begin, end = waits[place, 0], waits[place, 1]
    return np.where((place >= 0) & (end >= idle[:, 0]), end - begin, 0)
