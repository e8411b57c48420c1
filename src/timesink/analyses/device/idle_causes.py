"""Why a device had nothing to do during the steps: one cause for every idle moment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.analyses.columns import host_columns, host_lanes, host_names, once_per_trace
from timesink.analyses.device.activities import Activities, device_activities
from timesink.analyses.forest import OPERATOR, call_forest
from timesink.analyses.links import LAUNCH_KINDS
from timesink.analyses.roles import role_ranges
from timesink.analyses.steps import find_steps
from timesink.model import intervals
from timesink.model.arrays import Flags, Ints
from timesink.model.intervals import IntervalSet
from timesink.model.trace import Trace
from timesink.model.vendors import waits_for_device

CAUSES = (
    "data_loading",
    "communication",
    "sync",
    "runtime_call",
    "stalled",
    "host",
    "queued",
    "unknown",
)
STALL_NS = 1_000_000
"""Python between two calls takes microseconds; this long without any call is something else."""
LONG_CALL_NS = 100_000
"""Runtime calls take microseconds; one this long holds up its thread."""
LONG_LAUNCH_NS = 1_000_000
"""A launch may take longer: graphs of many kernels, kernels with many arguments."""
SCHEMA = {
    "device": pl.Int64(),
    "steps_ns": pl.Int64(),
    "idle_ns": pl.Int64(),
    **{f"{cause}_ns": pl.Int64() for cause in CAUSES},
}

_NONE = -1
_END_OF_TIME = np.iinfo(np.int64).max


@once_per_trace
def idle_causes(trace: Trace) -> pl.DataFrame:
    """Idle time of each device inside the complete steps, by cause; the parts add up to it.

    * `data_loading_ns`: the program was fetching data;
    * `communication_ns`: it was communicating on the host;
    * `sync_ns`: the host waited for the device, or copied and waited for the copy, and could not
      queue more; a gap counts up to the length of the wait it begins in, which is what the host
      would have been ahead without it, and all of a wait inside it;
    * `runtime_call_ns`: the thread that launches next sat in another runtime call, for long;
    * `stalled_ns`: the host ran no operator and made no runtime call for a millisecond or more;
    * `host_ns`: the next activity was not launched yet, or no further one came: launch-bound;
    * `queued_ns`: the next activity was launched already and waited for something else;
    * `unknown_ns`: the launch of the next activity is not in the trace.
    """
    if not idle_ranges(trace):
        return pl.DataFrame(schema=SCHEMA)
    steps = _complete_steps(trace)
    # Long stretches of the steps in which no host call was recorded; notes are no calls.
    ranges, forest, silent = role_ranges(trace), call_forest(trace), steps
    for role in ("runtime", "data_loader", "communication"):
        silent = _long(intervals.subtract(silent, ranges[role]))
    operators = forest.role == OPERATOR
    outer = operators & ~((forest.parent >= 0) & operators[forest.parent])
    called = np.stack([forest.start[outer], forest.end[outer]]).T
    quiet = _long(intervals.subtract(silent, called[_touching(called, silent)]))
    length = intervals.coverage(steps)
    rows = [
        {"device": device, "steps_ns": length, **_causes(trace, device, idle, quiet)}
        for device, idle in idle_ranges(trace).items()
    ]
    return pl.DataFrame(rows, schema=SCHEMA)


@once_per_trace
def idle_ranges(trace: Trace) -> dict[int, IntervalSet]:
    """When each device had nothing to do inside the complete steps, in time order."""
    steps, work = _complete_steps(trace), device_activities(trace)
    return {
        device: intervals.subtract(steps, np.stack([work.start[mine], work.end[mine]]).T)
        for device, mine in _by_device(work)
    }


def _complete_steps(trace: Trace) -> IntervalSet:
    steps = find_steps(trace).filter("complete")
    return intervals.merge(steps.select("start_ns", "end_ns").to_numpy())


def _by_device(work: Activities) -> Iterator[tuple[int, Flags]]:
    for device in work.lanes["device"].unique().sort().to_list():
        yield device, work.device == device


# -- what the host did -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class HoldingCalls:
    """Calls that hold up their thread: waits for a device, and long runtime calls."""

    row: Ints
    """Row in `trace.host`."""
    thread: Ints
    """As :func:`timesink.analyses.columns.host_lanes` numbers them."""
    ranges: IntervalSet
    waits: Flags

    def of_thread(self, thread: int, *, waits: bool) -> IntervalSet:
        chosen = (self.thread == thread) & (self.waits == waits)
        return intervals.merge(self.ranges[chosen])


@once_per_trace
def holding_calls(trace: Trace) -> HoldingCalls:
    """Waits for a device, and runtime calls that take long for another reason."""
    host, named = host_columns(trace), host_names(trace)
    length = host["dur_ns"].to_numpy()
    waits = named.matching(waits_for_device)
    long = (length >= LONG_CALL_NS) & host["kind"].is_in(LAUNCH_KINDS).to_numpy()
    long &= (length >= LONG_LAUNCH_NS) | ~named.matching(lambda name: "Launch" in name)
    row = np.flatnonzero(waits | long)
    return HoldingCalls(
        row=row,
        thread=host_lanes(trace)[0][row],
        ranges=intervals.from_starts(host["ts_ns"].to_numpy()[row], length[row]),
        waits=waits[row],
    )


def _long(stretches: IntervalSet) -> IntervalSet:
    return stretches[stretches[:, 1] - stretches[:, 0] >= STALL_NS]


def _touching(many: IntervalSet, few: IntervalSet) -> Flags:
    """Which of many ranges overlap or meet one of a few disjoint ones."""
    if not len(few):
        return np.zeros(len(many), dtype=np.bool_)
    place = np.searchsorted(few[:, 1].copy(), many[:, 0])
    return np.asarray(np.append(few[:, 0], _END_OF_TIME)[place] <= many[:, 1])


# -- gap by gap ------------------------------------------------------------------------------------


def _causes(trace: Trace, device: int, idle: IntervalSet, quiet: IntervalSet) -> dict[str, int]:
    ranges = role_ranges(trace)
    loading = intervals.intersect(idle, ranges["data_loader"])
    talking = intervals.intersect(idle, ranges["communication"])
    talking = intervals.subtract(talking, loading)
    told = np.concatenate([loading, talking])
    length = idle[:, 1] - idle[:, 0] - intervals.coverage_within(told, idle)
    is_queued, thread = _next_work(trace, device, idle)
    unknown = np.where(thread == _NONE, length, 0)
    queued = np.where(is_queued, length, 0)
    open_ns = length - unknown - queued
    waiting, holding = _held(idle, thread, holding_calls(trace), told)
    runtime_call = np.minimum(open_ns, holding)
    silent = _inside(idle, intervals.subtract(quiet, told))
    stalled = np.minimum(open_ns - runtime_call, silent)
    sync = np.minimum(open_ns - runtime_call - stalled, waiting)
    return {
        "idle_ns": intervals.coverage(idle),
        "data_loading_ns": intervals.coverage(loading),
        "communication_ns": intervals.coverage(talking),
        "sync_ns": int(sync.sum()),
        "runtime_call_ns": int(runtime_call.sum()),
        "stalled_ns": int(stalled.sum()),
        "host_ns": int((open_ns - runtime_call - stalled - sync).sum()),
        "queued_ns": int(queued.sum()),
        "unknown_ns": int(unknown.sum()),
    }


def _next_work(trace: Trace, device: int, idle: IntervalSet) -> tuple[Flags, Ints]:
    """Whether what follows each gap was launched before it, and the thread that launched it.

    Where nothing follows, the thread of the last launch; -1 where that is not in the trace.
    """
    work = device_activities(trace)
    mine = np.flatnonzero(work.device == device)
    mine = mine[np.argsort(work.start[mine], kind="stable")]
    place = np.searchsorted(work.start[mine], idle[:, 1])
    none = place == len(mine)
    following = mine[np.minimum(place, len(mine) - 1)]
    launched = work.launched[following]
    threads = np.append(host_lanes(trace)[0], _NONE)
    queued = launched & ~none & (work.call_start[following] <= idle[:, 0])
    return queued, threads[np.where(launched, work.call[following], _NONE)]


def _held(
    idle: IntervalSet, thread: Ints, calls: HoldingCalls, told: IntervalSet
) -> tuple[Ints, Ints]:
    """How long the launching thread waited in each gap, and sat in other calls."""
    sync, runtime_call = np.zeros((2, len(idle)), dtype=np.int64)
    for number in np.unique(calls.thread).tolist():
        waits = calls.of_thread(number, waits=True)
        others = intervals.subtract(calls.of_thread(number, waits=False), waits)
        both = intervals.merge(np.concatenate([waits, others]))
        mine = np.flatnonzero((thread == number) & _touching(idle, both))
        gaps = idle[mine]
        inside = _inside(gaps, intervals.subtract(waits, told))
        sync[mine] = np.maximum(inside, _waited(gaps, waits))
        runtime_call[mine] = _inside(gaps, intervals.subtract(others, told))
    return sync, runtime_call


def _inside(gaps: IntervalSet, few: IntervalSet) -> Ints:
    """How much of each gap a few disjoint ranges cover."""
    covered = np.zeros(len(gaps), dtype=np.int64)
    near = np.flatnonzero(_touching(gaps, few))
    covered[near] = intervals.coverage_within(few, gaps[near])
    return covered


def _waited(idle: IntervalSet, waits: IntervalSet) -> Ints:
    """Length of the wait in which each gap begins; 0 for the others."""
    if not len(waits):
        return np.zeros(len(idle), dtype=np.int64)
    place = np.searchsorted(waits[:, 0], idle[:, 0], side="right") - 1
    begin, end = waits[place, 0], waits[place, 1]
    return np.where((place >= 0) & (end >= idle[:, 0]), end - begin, 0)
