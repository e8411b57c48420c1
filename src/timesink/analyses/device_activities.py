"""Work of the accelerators with its place, time and launch: what timeline analyses start from."""

from __future__ import annotations

import msgspec
import numpy as np
import polars as pl

from timesink.analyses import names
from timesink.analyses.columns import (
    device_columns,
    device_numbers,
    encode,
    host_columns,
    host_lanes,
    host_names,
    memoize_per_trace,
    memoize_structure,
    start_and_end,
    values_at,
)
from timesink.analyses.forest import OPERATOR, call_forest
from timesink.analyses.graphs import captured_nodes
from timesink.analyses.links import link_launches, origin_rows
from timesink.analyses.steps import step_at
from timesink.model.arrays import sums_by
from timesink.model.intervals import Flags, Ints
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Trace

NO_CALL = -1


class Activities(msgspec.Struct, frozen=True, eq=False, weakref=True):
    """Kernels, copies, sets and collectives of a trace; arrays have one entry per activity."""

    row: Ints
    """Row in `trace.device`."""
    device: Ints
    lane: Ints
    """Place in `lanes`: activities of one stream of one device share it."""
    start: Ints
    end: Ints
    call: Ints
    """Row in `trace.host` of the launching call, `NO_CALL` where it is not in the trace."""
    call_start: Ints
    """Start of that call; of the activity itself where there is none, and so `call_end`."""
    call_end: Ints
    origin: Ints
    """Row in `trace.host` of that call, else of the operator whose external id the activity has."""
    origin_start: Ints
    """Start of that; of the activity itself where there is none, and so `origin_end`."""
    origin_end: Ints
    lanes: pl.DataFrame
    """`device` and `stream` of every lane, streams in the order of their numbers."""

    def __len__(self) -> int:
        return len(self.row)

    @property
    def launched(self) -> Flags:
        """Which activities have a launching call."""
        return np.asarray(self.call != NO_CALL)


@memoize_per_trace
def device_activities(trace: Trace) -> Activities:
    """Where and when the devices worked, and which calls made them."""
    row, device, lane, lanes, call, origin = _rows_of_work(trace)
    start, end = start_and_end(device_columns(trace), row)
    call_start, call_end = start.copy(), start.copy()
    launched = np.flatnonzero(call != NO_CALL)
    call_start[launched], call_end[launched] = start_and_end(host_columns(trace), call[launched])
    origin_start, origin_end = call_start, call_end
    named = np.flatnonzero((origin != NO_CALL) & (call == NO_CALL))
    if len(named):
        origin_start, origin_end = call_start.copy(), call_end.copy()
        around = start_and_end(host_columns(trace), origin[named])
        origin_start[named], origin_end[named] = around
    calls = (call, call_start, call_end)
    return Activities(
        row, device, lane, start, end, *calls, origin, origin_start, origin_end, lanes
    )


@memoize_structure
def _rows_of_work(trace: Trace) -> tuple[Ints, Ints, Ints, pl.DataFrame, Ints, Ints]:
    """Rows of what devices did, and what no clock changes: device, lane, lanes, call, origin."""
    columns = device_columns(trace)
    row = np.flatnonzero(columns["kind"].is_in(BUSY_KINDS).to_numpy())
    device = device_numbers(trace)[row]
    lane, lanes = _lanes(device, columns["stream"][row])
    return row, device, lane, lanes, link_launches(trace).call_row[row], origin_rows(trace)[row]


def _lanes(device: Ints, stream: pl.Series) -> tuple[Ints, pl.DataFrame]:
    """A number per device and stream, and what each stands for."""
    code, texts = encode(stream)
    devices = np.sort(pl.Series(device).unique().to_numpy())
    joint = np.searchsorted(devices, device) * max(len(texts), 1) + code
    used = np.flatnonzero(np.bincount(joint, minlength=1))
    numbers = [int(devices[pair // len(texts)]) for pair in used]
    streams = [texts[pair % len(texts)] for pair in used]

    def key(place: int) -> tuple[int, bool, int, str]:
        # Streams by number where they have one (7 before 13), then those with other names.
        text = streams[place] or ""
        number = int(text) if text.isdecimal() else -1
        return (numbers[place], number < 0, number, text)

    order = sorted(range(len(numbers)), key=key)
    place = np.zeros(len(devices) * len(texts), dtype=np.int64)
    place[used[order]] = np.arange(len(used))
    lanes = {"device": [numbers[i] for i in order], "stream": [streams[i] for i in order]}
    return place[joint], pl.DataFrame(
        lanes, schema={"device": pl.Int64(), "stream": pl.Categorical()}
    )


class Gaps(msgspec.Struct, frozen=True, eq=False):
    """Stretches in which nothing of a group ran, between two of its activities."""

    start: Ints
    end: Ints
    before: Ints
    """The activity whose end begins the gap."""
    after: Ints
    """The activity whose start ends it."""

    @property
    def length(self) -> Ints:
        return self.end - self.start

    def launched_late(self, work: Activities) -> Flags:
        """Which of them had begun when the call was made that launched what ended them."""
        return np.asarray(work.launched[self.after] & (work.call_start[self.after] > self.start))

    def longest(self, count: int) -> Gaps:
        """The longest ones, of equal ones the earliest first."""
        length = self.length
        beaten = max(len(length) - count, 0)
        least = np.partition(length, beaten)[beaten] if count and len(length) else 0
        chosen = np.flatnonzero(length >= least)
        chosen = chosen[np.lexsort((self.start[chosen], -length[chosen]))][:count]
        return Gaps(self.start[chosen], self.end[chosen], self.before[chosen], self.after[chosen])


def find_gaps(group: Ints, start: Ints, end: Ints) -> Gaps:
    """Gaps in the union of the activities of each group, group by group."""
    by_start, by_end = np.lexsort((start, group)), np.lexsort((end, group))
    # Where as many activities have ended as have started none is running: a gap lies between the
    # i-th end and the next start, if these are in order.
    before, after = by_end[:-1], by_start[1:]
    apart = np.flatnonzero((end[before] < start[after]) & (group[before] == group[after]))
    before, after = before[apart], after[apart]
    return Gaps(end[before], start[after], before, after)


def spans_by(group: Ints, start: Ints, end: Ints, groups: int) -> Ints:
    """From the first start to the last end of each group; zero for a group without activities."""
    first = np.full(groups, np.iinfo(np.int64).max)
    last = first.copy()
    np.minimum.at(first, group, start)
    last[group] = first[group]
    np.maximum.at(last, group, end)
    return np.asarray(last - first)


def busy_by(group: Ints, start: Ints, end: Ints, groups: int) -> Ints:
    """How long at least one activity of each group ran."""
    gaps = find_gaps(group, start, end)
    return spans_by(group, start, end, groups) - sums_by(group[gaps.after], gaps.length, groups)


@memoize_structure
def has_device_work(trace: Trace) -> bool:
    """Whether a kernel, copy, memset or collective ran; annotations and ranges are no work."""
    return bool(device_columns(trace)["kind"].is_in(BUSY_KINDS).any())


def kernels_by_annotation(trace: Trace) -> pl.DataFrame:
    """Device time by the innermost user annotation around the launching call, on its thread.

    Marks of steps do not count as annotations.  Work launched outside of every annotation has no
    name; what was launched by a call that is not in the trace is a row of its own, not `launched`.
    `device_ns` adds up the lengths of the activities, `busy_ns` is the time in which at least one
    of them ran.
    """
    work = device_activities(trace)
    name = values_at(host_columns(trace)["name"], _annotation_of(trace, work))
    code, texts = encode(name)
    group = 2 * code + work.launched
    size = 2 * len(texts)
    labels = [text for text in texts for _ in range(2)]
    return (
        pl.DataFrame(
            {
                "annotation": pl.Series(labels, dtype=pl.String),
                "launched": np.arange(size) % 2 == 1,
                "activities": np.bincount(group, minlength=size).astype(np.int64),
                "device_ns": sums_by(group, work.end - work.start, size),
                "busy_ns": busy_by(group, work.start, work.end, size),
            }
        )
        .filter(pl.col("activities") > 0)
        .sort(
            "device_ns", "annotation", "launched", descending=[True, False, True], nulls_last=True
        )
    )


def _annotation_of(trace: Trace, work: Activities) -> Ints:
    """Row in `trace.host` of the annotation each activity was launched in, -1 for none."""
    host, (thread, _) = host_columns(trace), host_lanes(trace)
    # Annotations, and the operators that old profilers recorded in their stead.
    kind, called = host["kind"], host_names(trace)
    in_their_stead = (kind == "operator").to_numpy() & called.matching(
        lambda name: names.is_data_loader(name) or names.is_wrapper(name)
    )
    steps = called.matching(names.is_profiler_step)
    notes = np.flatnonzero(((kind == "annotation").to_numpy() | in_their_stead) & ~steps)
    start, end = start_and_end(host, notes)
    annotation = np.full(len(work), -1, dtype=np.int64)
    launched = np.flatnonzero(work.launched)
    for number in np.unique(thread[notes]):
        mine = np.flatnonzero(thread[notes] == number)
        mine = mine[np.lexsort((-end[mine], start[mine]))]
        here = launched[thread[work.call[launched]] == number]
        bounds = np.stack([start[mine], end[mine]]).T
        around = step_at(work.call_start[here], work.call_end[here], bounds)
        annotation[here[around >= 0]] = notes[mine[around[around >= 0]]]
    return annotation


_BY_CALL_AND_KERNEL = ("call_name", "kernel_name")


@memoize_per_trace
def launch_table(trace: Trace) -> pl.DataFrame:
    """One row per device activity whose launching call is in the trace.

    `delay_ns` is what lies between the end of the call and the start of the activity; an activity
    that starts while the call still runs has none.  Starting before the call even began is a sign
    of clocks that disagree: such activities are marked `early`.
    """
    work = device_activities(trace)
    launched = np.flatnonzero(work.launched)
    call, row, lane = work.call[launched], work.row[launched], work.lane[launched]
    start, call_start, call_end = (
        work.start[launched],
        work.call_start[launched],
        work.call_end[launched],
    )
    return pl.DataFrame(
        {
            "host_row": call,
            "device_row": row,
            "call_name": host_columns(trace)["name"][call],
            "kernel_name": device_columns(trace)["name"][row],
            "device": work.device[launched],
            "stream": work.lanes["stream"][lane],
            "call_start_ns": call_start,
            "call_dur_ns": call_end - call_start,
            "device_start_ns": start,
            "device_dur_ns": work.end[launched] - start,
            "delay_ns": np.maximum(start - call_end, 0),
            "early": start < call_start,
        }
    )


@memoize_per_trace
def launch_statistics(trace: Trace) -> pl.DataFrame:
    """Delays and costs of launches by call and kernel name, the most expensive calls first.

    A launch is bound by its call when everything the call launched ran shorter than the call
    itself: the device could not be kept busy that way.  `waited` counts the activities that were
    over before their call returned; such calls are long because they wait.  Calls that launch
    several activities (graphs) count once in `calls` and `call_ns`.
    """
    delay, bound = pl.col("delay_ns"), pl.col("call_dur_ns") > pl.col("launched_ns")
    call_end = pl.col("call_start_ns") + pl.col("call_dur_ns")
    waited = call_end >= pl.col("device_start_ns") + pl.col("device_dur_ns")
    once_per_call = pl.col("call_dur_ns").filter(pl.col("host_row").is_first_distinct())
    return (
        launch_table(trace)
        .lazy()
        .with_columns(launched_ns=pl.col("device_dur_ns").sum().over("host_row"))
        .group_by(_BY_CALL_AND_KERNEL)
        .agg(
            activities=pl.len().cast(pl.Int64),
            calls=pl.col("host_row").n_unique().cast(pl.Int64),
            call_ns=once_per_call.sum(),
            device_ns=pl.col("device_dur_ns").sum(),
            delay_ns=delay.sum(),
            median_delay_ns=delay.median(),
            p90_delay_ns=delay.quantile(0.9, "linear"),
            max_delay_ns=delay.max(),
            early=pl.col("early").sum().cast(pl.Int64),
            waited=waited.sum().cast(pl.Int64),
            launch_bound_pct=bound.mean() * 100,
        )
        .sort("call_ns", *_BY_CALL_AND_KERNEL, descending=[True, False, False])
        .collect()
    )


def operator_delays(trace: Trace) -> pl.DataFrame:
    """How long operators take to reach the device, by operator and kernel name.

    `until_call_ns` is the mean time from the start of the innermost operator to its launching
    call, `until_device_ns` from there to the start of the activity.  Launches outside of every
    operator have no operator name and no `until_call_ns`.
    """
    launches = launch_table(trace)
    forest = call_forest(trace)
    node = link_launches(trace).node[launches["device_row"].to_numpy()]
    inside = np.flatnonzero(node >= 0)
    # Captured operators were not called then, so nothing is late after them.
    is_operator = (forest.role == OPERATOR) & ~captured_nodes(trace)
    inside = inside[is_operator[node[inside]]]
    operator = forest.stands_for[node[inside]]
    row = np.full(launches.height, -1, dtype=np.int64)
    row[inside] = forest.row[operator]
    started = launches["call_start_ns"].to_numpy().copy()
    started[inside] = forest.start[operator]
    has_operator = pl.col("operator_name").is_not_null()
    return (
        launches.lazy()
        .with_columns(
            operator_name=values_at(host_columns(trace)["name"], row),
            until_call=(pl.col("call_start_ns") - pl.Series(started)).clip(0),
            until_device=(pl.col("device_start_ns") - pl.col("call_start_ns")).clip(0),
        )
        .group_by("operator_name", "kernel_name")
        .agg(
            activities=pl.len().cast(pl.Int64),
            until_call_ns=pl.col("until_call").filter(has_operator).mean(),
            until_device_ns=pl.col("until_device").mean(),
        )
        .sort("activities", "operator_name", "kernel_name", descending=[True, False, False])
        .collect()
    )


def queue_depth(trace: Trace) -> pl.DataFrame:
    """How many launched activities each stream had in its queue, as a step function.

    An activity is in the queue from the start of its launching call until it starts itself.  Each
    row holds from its `ts_ns` to the next row of the stream; before the first row and from the
    last one on the queue is empty.  Activities without a launching call are not part of it; those
    that start before their call never wait.
    """
    work = device_activities(trace)
    ts, lane, depth = _queue(work)
    return pl.DataFrame({"ts_ns": ts, "depth": depth}).select(
        "ts_ns", work.lanes["device"][lane], work.lanes["stream"][lane], "depth"
    )


@memoize_per_trace
def queue_summary(trace: Trace) -> pl.DataFrame:
    """The queue of each stream in a few numbers, weighted by time; see :func:`queue_depth`.

    Measured from the first launch to the end of the last activity: `span_ns`, of which
    `queued_ns` with something in the queue.  `launched` activities have a launching call.
    """
    work = device_activities(trace)
    # From the first launch to the end of the last activity launched, per lane.
    launched = np.flatnonzero(work.launched)
    first = np.minimum(work.call_start[launched], work.start[launched])
    spans = (
        pl.DataFrame({"lane": work.lane[launched], "first": first, "end": work.end[launched]})
        .group_by("lane")
        .agg(launched=pl.len().cast(pl.Int64), span_ns=pl.col("end").max() - pl.col("first").min())
        .sort("lane")
    )
    times = _time_at_depth(spans, *_queue(work))
    time, depth, span = pl.col("time_ns"), pl.col("depth"), pl.col("span_ns")
    figures = (
        times.join(spans, on="lane", maintain_order="left")
        .with_columns(reached=time.cum_sum().over("lane"))
        .group_by("lane")
        .agg(
            queued_ns=time.filter(depth > 0).sum(),
            depth_time=(time.cast(pl.Float64) * depth).sum(),
            median_depth=depth.filter(2 * pl.col("reached") >= span).min(),
            max_depth=depth.max(),
        )
    )
    duration = pl.max_horizontal(span, 1)
    return spans.join(figures, on="lane", maintain_order="left").select(
        work.lanes["device"][spans["lane"]],
        work.lanes["stream"][spans["lane"]],
        "launched",
        "span_ns",
        "queued_ns",
        "median_depth",
        "max_depth",
        mean_depth=pl.col("depth_time") / duration,
        queued_pct=pl.col("queued_ns") / duration * 100,
        empty_pct=(1 - pl.col("queued_ns") / duration) * 100,
    )


def _queue(work: Activities) -> tuple[Ints, Ints, Ints]:
    """Times at which the queue of a lane changes, the lanes, and the depth from then on."""
    launched = np.flatnonzero(work.launched)
    enters, leaves = (
        np.minimum(work.call_start[launched], work.start[launched]),
        work.start[launched],
    )
    waiting = np.flatnonzero(enters < leaves)
    enters, leaves, lane = enters[waiting], leaves[waiting], work.lane[launched][waiting]
    times, lanes = np.concatenate([enters, leaves]), np.concatenate([lane, lane])
    order = np.lexsort((times, lanes))
    times, lanes = times[order], lanes[order]
    # Whatever enters leaves again, so each lane starts at zero by itself.
    depth = np.cumsum(np.where(order < len(waiting), 1, -1))
    same_moment = (times[1:] == times[:-1]) & (lanes[1:] == lanes[:-1])
    last = np.append(~same_moment, np.full(min(1, len(times)), True))
    return times[last], lanes[last], depth[last]


def _time_at_depth(spans: pl.DataFrame, times: Ints, lanes: Ints, depth: Ints) -> pl.DataFrame:
    """How long each lane had each depth, shallow ones first; what is not queued is depth zero."""
    lasts = np.append(np.diff(times), np.zeros(min(1, len(times)), dtype=np.int64))
    lasts[:-1][np.diff(lanes) != 0] = 0
    time = pl.col("time_ns")
    queued = pl.DataFrame({"lane": lanes, "depth": depth, "time_ns": lasts})
    elsewhere = spans.join(queued.group_by("lane").agg(time.sum()), on="lane", how="left").select(
        "lane", depth=pl.lit(0, dtype=pl.Int64), time_ns=pl.col("span_ns") - time.fill_null(0)
    )
    return (
        pl.concat([queued, elsewhere])
        .group_by("lane", "depth")
        .agg(time.sum())
        .sort("lane", "depth")
    )
