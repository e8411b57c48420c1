"""Why devices stand still: gaps between their activities, and what the host did meanwhile."""

from __future__ import annotations

import msgspec
import numpy as np
import polars as pl

from timesink.analyses import names
from timesink.analyses.columns import (
    device_columns,
    event_ranges,
    host_columns,
    host_lanes,
    host_names,
    memoize_per_trace,
    start_and_end,
    values_at,
)
from timesink.analyses.device_activities import (
    NO_CALL,
    Activities,
    Gaps,
    device_activities,
    find_gaps,
    spans_by,
)
from timesink.analyses.forest import OPERATOR, call_forest
from timesink.analyses.steps import complete_steps, find_steps, role_ranges, step_at
from timesink.model import intervals, vendors
from timesink.model.arrays import sums_by
from timesink.model.intervals import Flags, IntervalSet, Ints
from timesink.model.launches import LAUNCH_KINDS
from timesink.model.trace import Trace
from timesink.model.vendors import waits_for_device

_WAITING_OPERATORS = ("aten::item", "aten::_local_scalar_dense", "aten::is_nonzero")
"""Operators that need a value from the device and wait for it."""

_FRAMES = ("trace", "instant")
"""Host kinds that frame or mark a recording."""

_END_OF_TIME = np.iinfo(np.int64).max


MEANWHILE_SCHEMA: dict[str, pl.DataType] = {
    "row": pl.Int64(),
    "loading": pl.Boolean(),
    "waited_ns": pl.Int64(),
    "waits": pl.Boolean(),
}
"""What the host did during a gap: the row in `trace.host` of the event that covers most of it, -1
for none; how long a thread that launches had been waiting for the device when the gap began, and
whether it waited for most of the gap."""


def host_meanwhile(trace: Trace, work: Activities, gaps: Gaps) -> pl.DataFrame:
    """What the threads that feed the devices did during each of a few gaps."""
    host, called, (lane, lanes) = host_columns(trace), host_names(trace), host_lanes(trace)
    # The thread of the step marks, or else the one that launches most.
    marks = (
        trace.lazy("steps")
        .select(pl.col("pid", "tid").cast(pl.String).fill_null(""))
        .head(1)
        .collect()
    )
    launches = np.bincount(lane[work.call[work.launched]])
    main = NO_CALL
    if marks.height:
        main = lanes.index(marks.row(0)) if marks.row(0) in lanes else NO_CALL
    elif len(launches):
        main = int(launches.argmax())
    # Events long enough to cover half of a gap, and those that wait for the device.
    is_wait = called.matching(
        lambda name: vendors.waits_for_device(name) or name in _WAITING_OPERATORS
    )
    long_enough = 2 * host["dur_ns"].to_numpy() > gaps.length.min(initial=_END_OF_TIME)
    frames = host["kind"].is_in(_FRAMES).to_numpy() | called.matching(names.is_profiler_step)
    row = np.flatnonzero((long_enough | is_wait) & ~frames)
    begin, ended = start_and_end(host, row)
    thread, waits = lane[row], is_wait[row]
    loads = called.matching(names.is_data_loader)[row]
    rows = []
    for start, end, call in zip(gaps.start, gaps.end, work.call[gaps.after], strict=True):
        call_lane = int(lane[call]) if call != NO_CALL else NO_CALL
        feeding = [feeder for feeder in dict.fromkeys((call_lane, main)) if feeder != NO_CALL]
        waiting = waits & (begin <= start) & (ended > start) & np.isin(thread, feeding)
        waited = int(start - begin[waiting].min(initial=start))
        doing = (-1, False, waited, False)
        for feeder in feeding:
            # Events that cover more than half of the gap: nested, the innermost last.
            common = np.minimum(ended, end) - np.maximum(begin, start)
            most = np.flatnonzero((2 * common > end - start) & (thread == feeder))
            if len(most):
                most = most[np.lexsort((begin[most], begin[most] - ended[most]))]
                last = most[-1]
                doing = (int(row[last]), bool(loads[most].any()), waited, bool(waits[last]))
                break
        rows.append(doing)
    return pl.DataFrame(rows, schema=MEANWHILE_SCHEMA, orient="row")


SHORT_GAP_NS = 30_000
"""Gaps between queued activities up to this are the device's own pace: 1 to 20 us on most."""

GAP_CAUSES = ("host_wait", "sync", "data_loading", "kernel_wait", "other")
HOST_WAIT, SYNC, DATA_LOADING, KERNEL_WAIT, OTHER = GAP_CAUSES


@memoize_per_trace
def idle_breakdown(trace: Trace, *, short_gap_ns: int = SHORT_GAP_NS) -> pl.DataFrame:
    """How long each stream was idle between its activities, and for which of three reasons.

    `host_wait_ns`: the next activity was launched only after the gap had begun; the host was
    late.  `kernel_wait_ns`: it was launched before, and the gap is no longer than
    `short_gap_ns`; the device took that long from one to the next.  `other_ns`: everything else,
    such as waiting for another stream, or a launch that is not in the trace.
    """
    work = device_activities(trace)
    gaps = find_gaps(work.lane, work.start, work.end)
    late, is_launched = gaps.launched_late(work), work.launched[gaps.after]
    paced = is_launched & ~late & (gaps.length <= short_gap_ns)
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


@memoize_per_trace
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
    doing = meanwhile["row"].to_numpy()
    activity, host, steps = device_columns(trace), host_columns(trace), find_steps(trace)
    bounds = steps.select("start_ns", "end_ns").to_numpy()
    return pl.DataFrame(
        {
            "device": work.device[gaps.after],
            "start_ns": gaps.start,
            "gap_ns": gaps.length,
            "step": values_at(steps["name"], step_at(gaps.start, gaps.start + 1, bounds)),
            "before": activity["name"][work.row[gaps.before]].fill_null(""),
            "after": activity["name"][work.row[gaps.after]].fill_null(""),
            "host_name": values_at(host["name"], doing),
            "host_kind": values_at(host["kind"], doing),
            "cause": _causes_of_gaps(trace, work, gaps, meanwhile, short_gap_ns),
        }
    )


def _causes_of_gaps(
    trace: Trace, work: Activities, gaps: Gaps, meanwhile: pl.DataFrame, short_gap_ns: int
) -> pl.Series:
    late = gaps.launched_late(work)
    queued = work.launched[gaps.after] & ~late
    loading, waited, waits = (meanwhile[n].to_numpy() for n in ("loading", "waited_ns", "waits"))
    # How long the call of the copy before a gap had run, if it returned only in the gap.
    before = gaps.before
    copies = (device_columns(trace)["kind"] == "memcpy").to_numpy()[work.row[before]]
    blocked = copies & work.launched[before] & (work.call_end[before] > gaps.start)
    waited = np.maximum(waited, np.where(blocked, gaps.start - work.call_start[before], 0))
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


CAUSES = (
    "data_loading",
    "communication",
    "sync",
    "runtime_call",
    "stalled",
    "host",
    "queued",
    "unrecorded",
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


@memoize_per_trace
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
    * `unrecorded_ns`: the host waited for the device for a millisecond or more in which nothing
      ran there: what it waited for was launched before the recording, cut off, or is another's;
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
    quiet = _long(intervals.subtract(silent, called[_is_touching(called, silent)]))
    length = intervals.coverage(steps)
    rows = [
        {"device": device, "steps_ns": length, **_causes(trace, device, idle, quiet)}
        for device, idle in idle_ranges(trace).items()
    ]
    return pl.DataFrame(rows, schema=SCHEMA)


@memoize_per_trace
def idle_ranges(trace: Trace) -> dict[int, IntervalSet]:
    """When each device had nothing to do inside the complete steps, in time order."""
    steps, work = _complete_steps(trace), device_activities(trace)
    spans = np.stack([work.start, work.end]).T
    return {
        device: intervals.subtract(steps, spans[work.device == device])
        for device in work.lanes["device"].unique().sort().to_list()
    }


def _complete_steps(trace: Trace) -> IntervalSet:
    steps = complete_steps(trace)
    return intervals.merge(steps.select("start_ns", "end_ns").to_numpy())


class HoldingCalls(msgspec.Struct, frozen=True, eq=False):
    """Calls that hold up their thread: waits for a device, and long runtime calls."""

    row: Ints
    """Row in `trace.host`."""
    thread: Ints
    """As :func:`timesink.analyses.columns.host_lanes` numbers them."""
    ranges: IntervalSet
    waits: Flags


@memoize_per_trace
def holding_calls(trace: Trace) -> HoldingCalls:
    """Waits for a device, and runtime calls that take long for another reason."""
    host, named = host_columns(trace), host_names(trace)
    length = host["dur_ns"].to_numpy()
    waits = named.matching(waits_for_device)
    long = (length >= LONG_CALL_NS) & host["kind"].is_in(LAUNCH_KINDS).to_numpy()
    long &= (length >= LONG_LAUNCH_NS) | ~named.matching(lambda name: "Launch" in name)
    row = np.flatnonzero(waits | long)
    return HoldingCalls(
        row=row, thread=host_lanes(trace)[0][row], ranges=event_ranges(host, row), waits=waits[row]
    )


def _long(stretches: IntervalSet) -> IntervalSet:
    return stretches[stretches[:, 1] - stretches[:, 0] >= STALL_NS]


def _is_touching(many: IntervalSet, few: IntervalSet) -> Flags:
    """Which of many ranges overlap or meet one of a few disjoint ones."""
    if not len(few):
        return np.zeros(len(many), dtype=np.bool_)
    place = np.searchsorted(few[:, 1].copy(), many[:, 0])
    return np.asarray(np.append(few[:, 0], _END_OF_TIME)[place] <= many[:, 1])


def _causes(trace: Trace, device: int, idle: IntervalSet, quiet: IntervalSet) -> dict[str, int]:
    ranges = role_ranges(trace)
    loading = intervals.intersect(idle, ranges["data_loader"])
    talking = intervals.intersect(idle, ranges["communication"])
    talking = intervals.subtract(talking, loading)
    explained = np.concatenate([loading, talking])
    length = idle[:, 1] - idle[:, 0] - intervals.coverage_within(explained, idle)
    is_queued, thread = _next_work(trace, device, idle)
    unknown = np.where(thread == _NONE, length, 0)
    queued = np.where(is_queued, length, 0)
    open_ns = length - unknown - queued
    waiting, holding, missing = _waiting_times(idle, thread, holding_calls(trace), explained)
    unrecorded = np.minimum(open_ns, missing)
    open_ns = open_ns - unrecorded
    runtime_call = np.minimum(open_ns, holding)
    silent = _inside(idle, intervals.subtract(quiet, explained))
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
        "unrecorded_ns": int(unrecorded.sum()),
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


def _waiting_times(
    idle: IntervalSet, thread: Ints, calls: HoldingCalls, explained: IntervalSet
) -> tuple[Ints, Ints, Ints]:
    """How long the launching thread waited in each gap, sat in other calls, and waited in vain.

    A wait ends when the device is done: one that goes on for long with nothing to do there is for
    work that was not recorded.
    """
    sync, runtime_call, missing = np.zeros((3, len(idle)), dtype=np.int64)
    for number in np.unique(calls.thread).tolist():
        here = calls.thread == number
        waits = intervals.merge(calls.ranges[here & calls.waits])
        other_calls = intervals.subtract(calls.ranges[here & ~calls.waits], waits)
        both = intervals.merge(np.concatenate([waits, other_calls]))
        mine = np.flatnonzero((thread == number) & _is_touching(idle, both))
        gaps = idle[mine]
        if len(waits):
            # The length of the wait in which a gap begins counts, and all of a wait inside it.
            place = np.searchsorted(waits[:, 0], gaps[:, 0], side="right") - 1
            goes_on = (place >= 0) & (waits[place, 1] >= gaps[:, 0])
            vain = _long(intervals.intersect(intervals.subtract(waits, explained), gaps))
            missing[mine] = _inside(gaps, vain)
            waited = np.where(goes_on, waits[place, 1] - waits[place, 0], 0) - missing[mine]
            inside = _inside(gaps, intervals.subtract(waits, explained)) - missing[mine]
            sync[mine] = np.maximum(np.maximum(inside, waited), 0)
        runtime_call[mine] = _inside(gaps, intervals.subtract(other_calls, explained))
    return sync, runtime_call, missing


def _inside(gaps: IntervalSet, few: IntervalSet) -> Ints:
    """How much of each gap a few disjoint ranges cover."""
    covered = np.zeros(len(gaps), dtype=np.int64)
    near = np.flatnonzero(_is_touching(gaps, few))
    covered[near] = intervals.coverage_within(few, gaps[near])
    return covered
