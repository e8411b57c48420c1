"""What is drawn over a timeline: what recording cost, and the path that decided how long it took.

Both are parts of slices.  They are put on the lanes of the slices they belong to, and merged as
slices are.
"""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.columns import device_columns, host_columns, memoize_per_trace, start_and_end
from timesink.analyses.links import launching_calls
from timesink.analyses.replay.critical_path import critical_path
from timesink.analyses.replay.own_clock import own_clock, own_timeline
from timesink.analyses.replay.play import Played, recorded_play, work_so_far
from timesink.analyses.timeline.lanes import Lanes
from timesink.analyses.timeline.layout import Layout
from timesink.analyses.timeline.levels import Level, MergedSlices, coarser_levels, merge, single
from timesink.model.arrays import prefix_sums
from timesink.model.intervals import Flags, Floats, Ints
from timesink.model.schema import TABLES
from timesink.model.trace import Trace

_OF_DEVICE = ("kernel", "memcpy", "memset", "communication")
_BETWEEN = ("queue", "hand_over")
"""What passes between two slices and is part of neither."""
WAYS = ("", "launch", "queue", "wake_up", "hand_over")
"""What leads from one piece of a path to the next; nothing where a thread just goes on."""


class PathPieces(msgspec.Struct, frozen=True, eq=False):
    """Slices on the critical path, or parts of them, in the order in which they decided."""

    of_device: Flags
    row: Ints
    """In `host`, or in `device`."""
    start: Ints
    """On the clock of the trace it is drawn on."""
    end: Ints
    way: Ints
    """What led to it, a place in `WAYS`."""

    def __len__(self) -> int:
        return len(self.row)


@memoize_per_trace
def path_pieces(trace: Trace, *, by_itself: bool = False) -> PathPieces:
    """The critical path of a recording, or of the program as it runs by itself."""
    played = own_clock(trace).played if by_itself else None
    drawn = trace if played is None else own_timeline(trace)
    graph_played = recorded_play(trace) if played is None else played
    path = critical_path(trace, graph_played)
    kind = path["kind"].cast(str).to_numpy()
    on_device = np.isin(kind, _OF_DEVICE)
    device, host = path["device_row"].to_numpy(), path["host_row"].to_numpy()
    launched = np.flatnonzero((kind == "launch") & (device >= 0))
    host = host.copy()
    host[launched] = launching_calls(trace)[device[launched]]
    row = np.where(on_device, device, host)
    chosen = np.flatnonzero((row >= 0) & ~np.isin(kind, _BETWEEN))
    start = path["start_ns"].to_numpy()[chosen]
    end = start + path["dur_ns"].to_numpy()[chosen]
    row, on_device = row[chosen], on_device[chosen]
    calls, thread = graph_played.graph.points.calls, np.full(len(row), -1)
    hosted = np.flatnonzero(~on_device)
    thread[hosted] = calls.thread[calls.place[row[hosted]]]
    moment = _own_moments if drawn is not trace else _recorded_moments
    start, end = (moment(graph_played, thread, moments * 1.0) for moments in (start, end))
    # Never beyond the slice it is part of; work of a device is there as a whole.
    for side, events in ((~on_device, host_columns(drawn)), (on_device, device_columns(drawn))):
        low, high = start_and_end(events, row[side])
        is_full = on_device[side]
        start[side] = np.where(is_full, low, np.clip(start[side], low, high))
        end[side] = np.where(is_full, high, np.clip(end[side], low, high))
    return PathPieces(on_device, row, start, end, _ways(on_device, thread))


def _own_moments(played: Played, _thread: Ints, time: Floats) -> Ints:
    return np.rint(time).astype(np.int64) + int(played.graph.time[0])


def _recorded_moments(played: Played, thread: Ints, time: Floats) -> Ints:
    """When moments of a replay were in the recording, on the thread they are of."""
    points, come = played.graph.points, played.point
    moments = _own_moments(played, thread, time)
    for number in np.unique(thread[thread >= 0]).tolist():
        part = slice(points.first[number], points.first[number + 1])
        mine = np.flatnonzero(thread == number)
        # Counted from the start: large numbers lose nanoseconds.
        since = int(points.time[part.start])
        offsets = np.interp(time[mine], come[part], points.time[part] - since)
        moments[mine] = np.rint(offsets).astype(np.int64) + since
    return moments


def _ways(on_device: Flags, thread: Ints) -> Ints:
    way = np.zeros(len(on_device), dtype=np.int64)
    before, after = on_device[:-1], on_device[1:]
    way[1:] = np.select(
        [~before & after, before & after, before & ~after, thread[1:] != thread[:-1]],
        [WAYS.index(way_name) for way_name in WAYS[1:]],
        0,
    )
    return way


class RecordingCosts(msgspec.Struct, frozen=True, eq=False):
    """Stretches of threads in which a program did nothing but record."""

    row: Ints
    """In `host`: the innermost call they are in, or else the next on their thread."""
    inside: Flags
    """Whether it is in that call."""
    start: Ints
    """On the clock of the recording."""
    end: Ints

    def first(self, many: int) -> RecordingCosts:
        """The first of them."""
        part = slice(many)
        return RecordingCosts(self.row[part], self.inside[part], self.start[part], self.end[part])


@memoize_per_trace
def recording_costs(trace: Trace) -> RecordingCosts:
    """What the own clock takes out of the threads of a recording; nothing where there is none."""
    played = own_clock(trace).played
    if played is None or not len(played.work):
        nothing = np.zeros(0, dtype=np.int64)
        return RecordingCosts(nothing, nothing > 0, nothing, nothing)
    points = played.graph.points
    length = points.length
    less = np.diff(work_so_far(played.graph), append=0.0) - np.diff(played.work, append=0.0)
    less[points.first[1:] - 1] = 0.0
    lost = np.clip(np.rint(less).astype(np.int64), 0, length)
    place = np.flatnonzero(lost > 0)
    # It passed before the start of the next call, or else after the end of the last one.
    late = points.is_start[place + 1]
    start = points.time[place] + np.where(late, length[place] - lost[place], 0)
    inside = points.owner[place] >= 0
    call = np.where(inside, points.owner[place], points.call[place])
    return RecordingCosts(points.calls.row[call], inside, start, start + lost[place])


def path_levels(layout: Layout, pieces: PathPieces) -> tuple[Level[MergedSlices], ...]:
    """The pieces of a path on the lanes of their slices, at all resolutions."""
    number = pieces.row + np.where(pieces.of_device, layout.host_rows, 0)
    place = layout.lanes.place[number]
    drawn = np.flatnonzero((place >= 0) & (pieces.end > pieces.start))
    lane = _lane_at(layout.lanes, place[drawn])
    label = layout.lanes.slices.label[place[drawn]]
    span = {"start": pieces.start[drawn], "end": pieces.end[drawn]}
    return _levels(layout, lane, label, number[drawn], **span)


def recording_levels(layout: Layout, costs: RecordingCosts) -> tuple[Level[MergedSlices], ...]:
    """What recording cost on the lanes of the calls it is in, at all resolutions.

    Outside of calls it is on the first lane of its thread.  Its label follows those of slices.
    """
    lanes = layout.lanes
    place = lanes.place[costs.row]
    drawn = np.flatnonzero(place >= 0)
    lane = _lane_at(lanes, place[drawn])
    track = np.searchsorted(lanes.first_lane, lane, side="right") - 1
    lane = np.where(costs.inside[drawn], lane, lanes.first_lane[track])
    label = np.full(len(drawn), len(lanes.names), dtype=np.uint32)
    span = {"start": costs.start[drawn], "end": costs.end[drawn]}
    return _levels(layout, lane, label, costs.row[drawn], **span)


def _lane_at(lanes: Lanes, place: NDArray[np.int32]) -> Ints:
    return np.searchsorted(lanes.slices.first, place, side="right") - 1


def _levels(
    layout: Layout, lane: Ints, label: NDArray[np.uint32], number: Ints, *, start: Ints, end: Ints
) -> tuple[Level[MergedSlices], ...]:
    order = np.lexsort((start, lane))
    lane, start, end = lane[order], start[order] - layout.start_ns, end[order] - layout.start_ns
    # Those of a lane do not overlap.
    end[:-1] = np.where(lane[1:] == lane[:-1], np.minimum(end[:-1], start[1:]), end[:-1])
    many = len(layout.lanes.slices.first) - 1
    finest = single(
        prefix_sums(np.bincount(lane, minlength=many)),
        start,
        end - start,
        label[order],
        number[order].astype(np.int32),
    )
    return (Level(0, finest), *coarser_levels(finest, merge, layout.length_ns))


# -- for viewers: arrows along the path, and a mark on its events ---------------------------------

CATEGORY = "critical_path"
MARK, ON_PATH = "critical", "critical us"
"""Arguments of an event on the path: that it is, and what of it."""
_SIDES = ("host", "device")


def with_path(trace: Trace, pieces: PathPieces) -> Trace:
    """The trace with arrows where the path goes from one thread or stream to another.

    `pieces` are on the clock of the trace.
    """
    events = [trace.lazy(name).select("index", "pid", "tid").collect() for name in _SIDES]
    number = pieces.row + np.where(pieces.of_device, events[0].height, 0)
    # Threads and streams are named by text of two tables.
    names = [pl.col("index"), pl.col("pid", "tid").cast(pl.String)]
    slices = pl.concat([table.select(names) for table in events])[number]
    taken = trace.lazy("flows").select(pl.col("flow_id").max()).collect().item()
    head = np.flatnonzero(pieces.way > 0)
    ends = (
        ("start", head - 1, np.maximum(pieces.end - 1, pieces.start)[head - 1]),
        ("end", head, pieces.start[head]),
    )
    arrows = [
        slices[place].with_columns(
            kind=pl.lit("other"),
            phase=pl.lit(phase),
            flow_id=pl.Series(1 + (taken or 0) + np.arange(len(head))),
            category=pl.lit(CATEGORY),
            ts_ns=pl.Series(time),
        )
        for phase, place, time in ends
    ]
    length = slices.select("index").with_columns(ns=pl.Series(pieces.end - pieces.start))
    marks = length.group_by("index", maintain_order=True).agg(pl.col("ns").sum() / 1000)
    arguments = [
        marks.select("index", key=pl.lit(key), value=value.cast(pl.String))
        for key, value in ((MARK, pl.lit(1)), (ON_PATH, pl.col("ns")))
    ]
    added = {"flows": pl.concat(arrows), "event_args": pl.concat(arguments)}
    return replace(
        trace,
        frames={
            **trace.frames,
            **{name: _longer(trace, name, rows) for name, rows in added.items()},
        },
    )


def _longer(trace: Trace, name: str, rows: pl.DataFrame) -> pl.LazyFrame:
    schema = TABLES[name].schema
    more = rows.select(pl.col(column).cast(dtype) for column, dtype in schema.items())
    return pl.concat([trace.lazy(name).collect(), more], how="vertical_relaxed").lazy()
