"""Why devices stand still: gaps between their activities, and what the host did meanwhile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.analyses import names
from timesink.analyses.arrays import sums_by, values_at
from timesink.analyses.columns import (
    device_columns,
    host_columns,
    host_lanes,
    host_names,
    once_per_trace,
)
from timesink.analyses.device.activities import (
    NO_CALL,
    Activities,
    Gaps,
    device_activities,
    find_gaps,
    spans_by,
)
from timesink.analyses.steps import find_steps, step_at
from timesink.model import vendors
from timesink.model.arrays import Flags, Ints
from timesink.model.trace import Trace

# What the host did while a device stood still.

_WAITING_OPERATORS = ("aten::item", "aten::_local_scalar_dense", "aten::is_nonzero")
"""Operators that need a value from the device and wait for it."""

_FRAMES = ("trace", "instant")
"""Host kinds that frame or mark a recording."""

_END_OF_TIME = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class _HostEvents:
    """Host events that can explain a gap; arrays have one entry per event."""

    row: Ints
    start: Ints
    end: Ints
    thread: Ints
    """Place in `threads`."""
    threads: list[tuple[str, str]]
    loads: Flags
    """Data loaders."""
    waits: Flags
    """Calls that return when the device has finished something."""

    def covering_most(self, start: int, end: int, thread: int) -> Ints:
        """Places of those that cover more than half of a gap: nested, the innermost last."""
        common = np.minimum(self.end, end) - np.maximum(self.start, start)
        found = np.flatnonzero((2 * common > end - start) & (self.thread == thread))
        return found[np.lexsort((self.start[found], self.start[found] - self.end[found]))]

    def waited(self, time: int, thread: int) -> int:
        """How long a thread had been waiting for the device then."""
        open_then = (self.start <= time) & (self.end > time) & (self.thread == thread)
        return int(time - self.start[open_then & self.waits].min(initial=time))


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """What the host did during one gap."""

    row: int = -1
    """The event that covers most of it, a row of `trace.host`; -1 for none."""
    loading: bool = False
    waited_ns: int = 0
    """How long a thread that launches had been waiting for the device when the gap began."""
    waits: bool = False
    """Whether it waited for most of the gap."""


def _meanwhile(events: _HostEvents, start: int, end: int, threads: list[int]) -> Meanwhile:
    waited = max((events.waited(start, thread) for thread in threads), default=0)
    for thread in threads:
        covering = events.covering_most(start, end, thread)
        if len(covering):
            innermost = covering[-1]
            return Meanwhile(
                row=int(events.row[innermost]),
                loading=bool(events.loads[covering].any()),
                waited_ns=waited,
                waits=bool(events.waits[innermost]),
            )
    return Meanwhile(waited_ns=waited)


def host_meanwhile(trace: Trace, work: Activities, gaps: Gaps) -> list[Meanwhile]:
    """What the threads that feed the devices did during each of a few gaps."""
    events = _explaining_events(trace, gaps)
    number_of = {thread: number for number, thread in enumerate(events.threads)}
    # The thread of the step marks, or else the one that launches most.
    steps = trace.lazy("steps").select("pid", "tid").head(1).collect()
    if steps.height:
        pid, tid = steps.row(0)
        main: tuple[str, str] | None = (pid or "", tid or "")
    else:
        thread, threads = host_lanes(trace)
        launches = np.bincount(thread[work.call[work.launched]])
        main = threads[int(launches.argmax())] if len(launches) else None
    launching = _threads_of(trace, work.call[gaps.after])
    return [
        _meanwhile(
            events,
            int(start),
            int(end),
            [number_of[lane] for lane in dict.fromkeys((own, main)) if lane in number_of],
        )
        for start, end, own in zip(gaps.start, gaps.end, launching, strict=True)
    ]


def _explaining_events(trace: Trace, gaps: Gaps) -> _HostEvents:
    """Those long enough to cover half of a gap, and those that wait for the device."""
    host, called = host_columns(trace), host_names(trace)
    waits = called.matching(_waits)
    long_enough = 2 * host["dur_ns"].to_numpy() > gaps.length.min(initial=_END_OF_TIME)
    frames = host["kind"].is_in(_FRAMES).to_numpy() | called.matching(names.is_profiler_step)
    row = np.flatnonzero((long_enough | waits) & ~frames)
    start = host["ts_ns"].to_numpy()[row]
    thread, threads = host_lanes(trace)
    return _HostEvents(
        row=row,
        start=start,
        end=start + host["dur_ns"].to_numpy()[row],
        thread=thread[row],
        threads=threads,
        loads=called.matching(names.is_data_loader)[row],
        waits=waits[row],
    )


def _waits(name: str) -> bool:
    return vendors.waits_for_device(name) or name in _WAITING_OPERATORS


def _threads_of(trace: Trace, calls: Ints) -> list[tuple[str, str] | None]:
    """Process and thread of calls; none for a call that is not in the trace."""
    thread, threads = host_lanes(trace)
    return [threads[thread[call]] if call != NO_CALL else None for call in calls.tolist()]


SHORT_GAP_NS = 30_000
"""Gaps between queued activities up to this are the device's own pace: 1 to 20 us on most."""

HOST_WAIT, SYNC, DATA_LOADING, KERNEL_WAIT, OTHER = (
    "host_wait",
    "sync",
    "data_loading",
    "kernel_wait",
    "other",
)
CAUSES = (HOST_WAIT, SYNC, DATA_LOADING, KERNEL_WAIT, OTHER)


@once_per_trace
def idle_breakdown(trace: Trace, *, short_gap_ns: int = SHORT_GAP_NS) -> pl.DataFrame:
    """How long each stream was idle between its activities, and for which of three reasons.

    `host_wait_ns`: the next activity was launched only after the gap had begun; the host was
    late.  `kernel_wait_ns`: it was launched before, and the gap is no longer than
    `short_gap_ns`; the device took that long from one to the next.  `other_ns`: everything else,
    such as waiting for another stream, or a launch that is not in the trace.
    """
    work = device_activities(trace)
    gaps = find_gaps(work.lane, work.start, work.end)
    late, known = _launched_late(work, gaps), work.launched[gaps.after]
    paced = known & ~late & (gaps.length <= short_gap_ns)
    lane, lanes = work.lane[gaps.after], work.lanes.height
    span = spans_by(work.lane, work.start, work.end, lanes)
    idle = sums_by(lane, gaps.length, lanes)
    host_wait = sums_by(lane[late], gaps.length[late], lanes)
    kernel_wait = sums_by(lane[paced], gaps.length[paced], lanes)
    columns = {
        "activities": np.bincount(work.lane, minlength=lanes),
        "gaps": np.bincount(lane, minlength=lanes),
        "span_ns": span,
        "busy_ns": span - idle,
        "idle_ns": idle,
        "host_wait_ns": host_wait,
        "kernel_wait_ns": kernel_wait,
        "other_ns": idle - host_wait - kernel_wait,
    }
    return work.lanes.with_columns(
        pl.Series(name, values, dtype=pl.Int64) for name, values in columns.items()
    )


def _launched_late(work: Activities, gaps: Gaps) -> Flags:
    return np.asarray(work.launched[gaps.after] & (work.call_start[gaps.after] > gaps.start))


# -- the largest gaps of a device ------------------------------------------------------------------


@once_per_trace
def largest_gaps(
    trace: Trace, count: int = 20, *, short_gap_ns: int = SHORT_GAP_NS
) -> pl.DataFrame:
    """The longest stretches in which no stream of a device worked, the longest first.

    `host_name` and `host_kind` tell what the host did: the innermost event that covers more than
    half of the gap on the thread that launched the next activity, or on the main thread; null
    where no single event covers so much.  The `cause` is

    * `kernel_wait`: the next activity was queued, and the gap is short;
    * `data_loading`: a data loader covers more than half of the gap;
    * `sync`: when the gap began a thread that launches had been waiting for the device for longer
      than the gap lasted, and so could have launched in time; or it waited most of the gap;
    * `host_wait`: the next activity was launched after the gap had begun, for another reason;
    * `other`: the next activity was queued all the time, or its launch is not in the trace.
    """
    work = device_activities(trace)
    gaps = find_gaps(work.device, work.start, work.end).longest(count)
    meanwhile = host_meanwhile(trace, work, gaps)
    doing = np.array([found.row for found in meanwhile], dtype=np.int64)
    activity, host = device_columns(trace), host_columns(trace)
    return pl.DataFrame(
        {
            "device": work.device[gaps.after],
            "start_ns": gaps.start,
            "gap_ns": gaps.length,
            "step": _steps_at(trace, gaps.start),
            "before": activity["name"][work.row[gaps.before]].fill_null(""),
            "after": activity["name"][work.row[gaps.after]].fill_null(""),
            "host_name": values_at(host["name"], doing),
            "host_kind": values_at(host["kind"], doing),
            "cause": _causes(trace, work, gaps, meanwhile, short_gap_ns),
        }
    )


def _causes(
    trace: Trace, work: Activities, gaps: Gaps, meanwhile: list[Meanwhile], short_gap_ns: int
) -> pl.Series:
    late = _launched_late(work, gaps)
    queued = work.launched[gaps.after] & ~late
    loading = np.array([found.loading for found in meanwhile], dtype=np.bool_)
    waits = np.array([found.waits for found in meanwhile], dtype=np.bool_)
    waited = np.array([found.waited_ns for found in meanwhile], dtype=np.int64)
    waited = np.maximum(waited, _waited_for_copy(trace, work, gaps))
    causes = np.select(
        [
            queued & (gaps.length <= short_gap_ns),
            queued,
            loading,
            waits,
            waited >= gaps.length,
            late,
        ],
        [KERNEL_WAIT, OTHER, DATA_LOADING, SYNC, SYNC, HOST_WAIT],
        OTHER,
    )
    return pl.Series(causes.tolist(), dtype=pl.String)


def _waited_for_copy(trace: Trace, work: Activities, gaps: Gaps) -> Ints:
    """How long the call of the copy before a gap had run, if it returned only in the gap."""
    before = gaps.before
    copies = (device_columns(trace)["kind"] == "memcpy").to_numpy()[work.row[before]]
    blocked = copies & work.launched[before] & (work.call_end[before] > gaps.start)
    return np.where(blocked, np.maximum(gaps.start - work.call_start[before], 0), 0)


def _steps_at(trace: Trace, times: Ints) -> pl.Series:
    """Names of the steps that include these times; null where none does."""
    steps = find_steps(trace)
    bounds = steps.select("start_ns", "end_ns").to_numpy()
    return values_at(steps["name"], step_at(times, times + 1, bounds))
