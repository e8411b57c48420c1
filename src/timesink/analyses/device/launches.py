"""From the call to the device: launch delays, launches that cost more than they start, queues."""

from __future__ import annotations

from typing import Literal

import numpy as np
import polars as pl

from timesink.analyses.arrays import values_at
from timesink.analyses.columns import device_columns, host_columns, once_per_trace
from timesink.analyses.device.activities import Activities, device_activities
from timesink.analyses.forest import OPERATOR, call_forest
from timesink.analyses.links import link_launches
from timesink.model.arrays import Ints
from timesink.model.trace import Trace

_BY_CALL_AND_KERNEL = ("call_name", "kernel_name")


@once_per_trace
def launch_table(trace: Trace) -> pl.DataFrame:
    """One row per device activity whose launching call is in the trace.

    `delay_ns` is what lies between the end of the call and the start of the activity; an activity
    that starts while the call still runs has none.  Starting before the call even began is a sign
    of clocks that disagree: such activities are marked `early`.
    """
    work = device_activities(trace)
    known = np.flatnonzero(work.launched)
    call, row, lane = work.call[known], work.row[known], work.lane[known]
    start, call_start, call_end = work.start[known], work.call_start[known], work.call_end[known]
    return pl.DataFrame(
        {
            "host_row": call,
            "device_row": row,
            "call_name": host_columns(trace)["name"][call],
            "kernel_name": device_columns(trace)["name"][row],
            "device": work.device[known],
            "stream": work.lanes["stream"][lane],
            "call_start_ns": call_start,
            "call_dur_ns": call_end - call_start,
            "device_start_ns": start,
            "device_dur_ns": work.end[known] - start,
            "delay_ns": np.maximum(start - call_end, 0),
            "early": start < call_start,
        }
    )


@once_per_trace
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
    inside = inside[forest.role[node[inside]] == OPERATOR]
    operator = forest.stands_for[node[inside]]
    row = np.full(launches.height, -1, dtype=np.int64)
    row[inside] = forest.row[operator]
    started = launches["call_start_ns"].to_numpy().copy()
    started[inside] = forest.start[operator]
    known = pl.col("operator_name").is_not_null()
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
            until_call_ns=pl.col("until_call").filter(known).mean(),
            until_device_ns=pl.col("until_device").mean(),
        )
        .sort("activities", "operator_name", "kernel_name", descending=[True, False, False])
        .collect()
    )


# -- queues ----------------------------------------------------------------------------------------


def queue_depth(trace: Trace, *, until: Literal["start", "end"] = "start") -> pl.DataFrame:
    """How many launched activities each stream had in its queue, as a step function.

    An activity is in the queue from the start of its launching call until it starts itself, or,
    with `until="end"`, until it is finished.  Each row holds from its `ts_ns` to the next row of
    the stream; before the first row and from the last one on the queue is empty.  Activities
    without a launching call are not part of it; those that start before their call never wait.
    """
    work = device_activities(trace)
    ts, lane, depth = _queue(work, until)
    return pl.DataFrame({"ts_ns": ts, "depth": depth}).select(
        "ts_ns", work.lanes["device"][lane], work.lanes["stream"][lane], "depth"
    )


@once_per_trace
def queue_summary(trace: Trace, *, until: Literal["start", "end"] = "start") -> pl.DataFrame:
    """The queue of each stream in a few numbers, weighted by time; see :func:`queue_depth`.

    Measured from the first launch to the end of the last activity: `span_ns`, of which
    `queued_ns` with something in the queue.  `launched` activities have a launching call.
    """
    work = device_activities(trace)
    # From the first launch to the end of the last activity launched, per lane.
    known = np.flatnonzero(work.launched)
    first = np.minimum(work.call_start[known], work.start[known])
    spans = (
        pl.DataFrame({"lane": work.lane[known], "first": first, "end": work.end[known]})
        .group_by("lane")
        .agg(
            launched=pl.len().cast(pl.Int64),
            span_ns=pl.col("end").max() - pl.col("first").min(),
        )
        .sort("lane")
    )
    times = _time_at_depth(spans, *_queue(work, until))
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
    whole = pl.max_horizontal(span, 1)
    return spans.join(figures, on="lane", maintain_order="left").select(
        work.lanes["device"][spans["lane"]],
        work.lanes["stream"][spans["lane"]],
        "launched",
        "span_ns",
        "queued_ns",
        "median_depth",
        "max_depth",
        mean_depth=pl.col("depth_time") / whole,
        queued_pct=pl.col("queued_ns") / whole * 100,
        empty_pct=(1 - pl.col("queued_ns") / whole) * 100,
    )


def _queue(work: Activities, until: Literal["start", "end"]) -> tuple[Ints, Ints, Ints]:
    """Times at which the queue of a lane changes, the lanes, and the depth from then on."""
    known = np.flatnonzero(work.launched)
    enters = np.minimum(work.call_start[known], work.start[known])
    leaves = (work.start if until == "start" else work.end)[known]
    waiting = np.flatnonzero(enters < leaves)
    enters, leaves, lane = enters[waiting], leaves[waiting], work.lane[known][waiting]
    times, lanes = np.concatenate([enters, leaves]), np.concatenate([lane, lane])
    order = np.argsort(times, kind="stable")
    order = order[np.argsort(lanes[order], kind="stable")]
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
        "lane",
        depth=pl.lit(0, dtype=pl.Int64),
        time_ns=pl.col("span_ns") - time.fill_null(0),
    )
    return (
        pl.concat([queued, elsewhere])
        .group_by("lane", "depth")
        .agg(time.sum())
        .sort("lane", "depth")
    )
