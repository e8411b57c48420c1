"""Why a device had nothing to do during the steps: one cause for every idle moment."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.columns import host_columns, host_names
from timesink.analyses.device.activities import Activities, device_activities
from timesink.analyses.names import waits_for_device
from timesink.analyses.once import once_per_trace
from timesink.analyses.roles import role_ranges
from timesink.analyses.steps import find_steps
from timesink.model import intervals
from timesink.model.intervals import IntervalSet
from timesink.model.trace import Trace

CAUSES = ("data_loading", "communication", "sync", "host", "queued")
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
    * `sync_ns`: the gap began while the host waited for the device, so nothing was queued, and
      is no longer than that wait explains;
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
    rows = [
        {"device": device, **_causes(trace, work, work.device == device, steps, waits)}
        for device in np.unique(work.device).tolist()
    ]
    return pl.DataFrame(rows, schema=SCHEMA)


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
    steps: IntervalSet,
    waits: IntervalSet,
) -> dict[str, int]:
    ranges = role_ranges(trace)
    busy = np.stack([work.start[mine], work.end[mine]]).T
    idle = intervals.subtract(steps, busy)
    loading = intervals.intersect(idle, ranges["data_loader"])
    rest = intervals.subtract(idle, loading)
    talking = intervals.intersect(rest, ranges["communication"])
    rest = intervals.subtract(rest, talking)
    cause = _cause_of_gap(work, mine, idle, waits)
    length = intervals.coverage_within(rest, idle)
    return {
        "steps_ns": intervals.coverage(steps),
        "idle_ns": intervals.coverage(idle),
        "data_loading_ns": intervals.coverage(loading),
        "communication_ns": intervals.coverage(talking),
        **{
            f"{name}_ns": int(length[cause == number].sum())
            for number, name in enumerate(CAUSES[2:])
        },
    }


def _cause_of_gap(
    work: Activities, mine: NDArray[np.bool_], idle: IntervalSet, waits: IntervalSet
) -> NDArray[np.int64]:
    """Of each gap: 0 the host waited for the device, 1 it had not launched, 2 work was queued."""
    order = np.argsort(work.start[mine], kind="stable")
    starts = work.start[mine][order]
    launched = np.where(work.launched[mine], work.call_start[mine], work.start[mine])[order]
    following = np.searchsorted(starts, idle[:, 1])
    at_hand = np.append(launched, np.iinfo(np.int64).max)[following] <= idle[:, 0]
    return np.where(at_hand, 2, np.where(_waited(idle, waits), 0, 1))


def _waited(idle: IntervalSet, waits: IntervalSet) -> NDArray[np.bool_]:
    """Gaps that begin while the host waits, and are no longer than the wait explains.

    A host that waits shortly and then does something else for long is late for another reason.
    """
    if not len(waits):
        return np.zeros(len(idle), dtype=np.bool_)
    place = np.searchsorted(waits[:, 0], idle[:, 0], side="right") - 1
    begin, end = waits[place, 0], waits[place, 1]
    length = idle[:, 1] - idle[:, 0]
    waiting = (place >= 0) & (end >= idle[:, 0])
    explained = (idle[:, 0] - begin >= length) | (2 * (end - idle[:, 0]) > length)
    found: NDArray[np.bool_] = waiting & explained
    return found
