"""The timeline of a recording: what a first picture needs, then all of it.

Laying out a large recording takes a while.  Tracks, lanes and steps come first: any window can be
drawn from them.  Levels, which make that quick, and arrows follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.columns import Codes
from timesink.analyses.forest import depth_when_nested, pre_order
from timesink.analyses.links import launching_calls
from timesink.analyses.memory_curve import recording_start
from timesink.analyses.names import device_word
from timesink.analyses.steps import find_steps
from timesink.analyses.timeline.levels import (
    Level,
    MergedSlices,
    Points,
    coarser_levels,
    merge,
    points_of,
    sample_curves,
    single,
    thin,
)
from timesink.analyses.timeline.tracks import (
    Naming,
    Side,
    Track,
    device_side,
    host_side,
    rank_tracks,
    side_within,
)
from timesink.model.arrays import prefix_sums, run_slices
from timesink.model.intervals import Ints, partially_overlapping, union_starts
from timesink.model.schema import FLOW_KINDS
from timesink.model.trace import Trace


def stack_rows(track: Codes, start: Ints, end: Ints) -> Ints:
    """Rows of slices in pre-order: by track, start and longest first.

    A slice stands below the one that holds it.  One that outlasts the slice it starts in goes to
    the next row that is free.
    """
    rows = np.zeros(len(track), dtype=np.int64)
    for part in run_slices(track):
        begin, finish = start[part], end[part]
        mine = depth_when_nested(begin, finish)
        # Nesting tells the rows; where slices cross, it does not.
        clashing = np.flatnonzero(partially_overlapping(np.column_stack((begin, finish))))
        if len(clashing):
            # Rows one by one where slices cross; stretches apart from each other keep theirs.
            borders = np.append(np.flatnonzero(union_starts(begin, finish)), len(begin))
            for number in np.unique(np.searchsorted(borders, clashing, side="right") - 1):
                stretch = slice(int(borders[number]), int(borders[number + 1]))
                mine[stretch] = _walk(begin[stretch].tolist(), finish[stretch].tolist())
        rows[part] = mine
    return rows


def _walk(starts: list[int], ends: list[int]) -> list[int]:
    free_from: list[int] = []
    placed: list[int] = []
    holders: list[int] = []
    for place, (start, end) in enumerate(zip(starts, ends, strict=True)):
        while holders and ends[holders[-1]] <= start:
            holders.pop()
        # Below all that hold it: where slices cross, the last one need not be the lowest.
        row = max((placed[holder] + 1 for holder in holders if ends[holder] >= end), default=0)
        while row < len(free_from) and free_from[row] > start:
            row += 1
        free_from.extend([start] * (row + 1 - len(free_from)))
        free_from[row] = end
        placed.append(row)
        holders.append(place)
    return placed


class Lanes(msgspec.Struct, frozen=True, eq=False):
    """All slices of a recording, in an order in which a row of a track is one stretch."""

    tracks: tuple[Track, ...]
    """By id, with their rows; those of curves have none of the lanes."""
    first_lane: Ints
    """The lane of the first row of each track, and how many lanes there are."""
    slices: MergedSlices
    """As they were recorded; ids count the rows of `host` and then those of `device`."""
    place: NDArray[np.int32]
    """Where each id is among the slices; -1 for what lies outside the recording."""
    names: Sequence[str]
    """By label."""
    kinds: Sequence[str]
    """By label."""

    def lanes_of(self, tracks: Sequence[int]) -> Ints:
        """The lanes of some tracks, one track after the other."""
        ranges = [np.arange(*self.first_lane[track : track + 2]) for track in tracks]
        return np.concatenate(ranges) if ranges else np.zeros(0, dtype=np.int64)

    def lanes_at(self, places: NDArray[np.integer[Any]]) -> tuple[Ints, Ints]:
        """Track and row of the slices at some places."""
        lane = np.searchsorted(self.slices.first, places, side="right") - 1
        track = np.searchsorted(self.first_lane, lane, side="right") - 1
        return track, lane - self.first_lane[track]


def lay_out(
    sides: Sequence[Side], tracks: Sequence[Track], ids: Sequence[Codes], start_ns: int
) -> Lanes:
    """Put the events of host and devices on rows.

    `tracks` are all there are by id, `ids` the ids of those of each side.
    """
    start = np.concatenate([side.start for side in sides]) - start_ns
    dur = np.concatenate([side.dur for side in sides])
    # The track of each event; -1 for those that are left out.
    track = np.concatenate(
        [np.append(side_ids, -1)[side.track] for side, side_ids in zip(sides, ids, strict=True)]
    )
    labels = [label for side in sides for label in side.labels]
    before = np.cumsum([0, *(len(side.labels) for side in sides)])
    codes = [side.label + many for side, many in zip(sides, before[:-1], strict=True)]
    label = np.concatenate(codes).astype(np.uint32)
    chosen = np.flatnonzero(track >= 0)
    track, begin = track[chosen], start[chosen]
    end = begin + dur[chosen]
    order = pre_order(track, begin, end)
    row = stack_rows(track[order], begin[order], end[order])
    rows = np.zeros(len(tracks), dtype=np.int64)
    np.maximum.at(rows, track[order], row + 1)
    first_lane = prefix_sums(rows)
    lane = first_lane[track[order]] + row
    lanes = int(first_lane[-1])
    # Short numbers are sorted digit by digit, ten times as fast.
    short = lane.astype(np.uint16) if lanes <= np.iinfo(np.uint16).max else lane
    by_lane = np.argsort(short, kind="stable")
    first = prefix_sums(np.bincount(lane, minlength=lanes))
    id_of = chosen[order[by_lane]].astype(np.int32)
    place = np.full(len(start), -1, dtype=np.int32)
    place[id_of] = np.arange(len(id_of), dtype=np.int32)
    return Lanes(
        tracks=tuple(replace(entry, rows=max(int(rows[entry.id]), 1)) for entry in tracks),
        first_lane=first_lane,
        slices=single(first, start[id_of], dur[id_of], label[id_of], id_of),
        place=place,
        names=[name for name, _ in labels],
        kinds=[kind for _, kind in labels],
    )


LAUNCH, FORWARD_BACKWARD = (FLOW_KINDS.index(kind) for kind in ("launch", "forward_backward"))


@dataclass(frozen=True, slots=True, eq=False)
class Arrows:
    """Pairs of slices; `kind` is a place in `FLOW_KINDS`."""

    tail: NDArray[np.int32]
    """Id of the slice an arrow starts at."""
    head: NDArray[np.int32]
    kind: NDArray[np.uint8]
    tail_ns: Ints
    head_ns: Ints

    def __len__(self) -> int:
        return len(self.tail)

    def at(self, slice_id: int) -> Iterator[tuple[str, str, int]]:
        """Kind, direction ("to" or "from") and the other slice of each arrow at a slice."""
        for direction, here, other in (
            ("to", self.tail, self.head),
            ("from", self.head, self.tail),
        ):
            for place in np.flatnonzero(here == slice_id).tolist():
                yield FLOW_KINDS[self.kind[place]], direction, int(other[place])

    def between(self, from_ns: int, to_ns: int) -> NDArray[np.intp]:
        """Arrows that start or end in a range."""
        starts = (self.tail_ns >= from_ns) & (self.tail_ns <= to_ns)
        ends = (self.head_ns >= from_ns) & (self.head_ns <= to_ns)
        return np.flatnonzero(starts | ends)


def find_arrows(trace: Trace, lanes: Lanes, hosts: int) -> Arrows:
    """All arrows between slices that are shown, by the time they start; `hosts` are host rows."""
    launching = launching_calls(trace)
    launched = np.flatnonzero(launching >= 0)
    forward, backward = _passes(trace)
    tail = np.concatenate([launching[launched], forward]).astype(np.int32)
    head = np.concatenate([launched + hosts, backward]).astype(np.int32)
    kinds = np.array([LAUNCH, FORWARD_BACKWARD], dtype=np.uint8)
    kind = np.repeat(kinds, [len(launched), len(forward)])
    is_drawn = (lanes.place[tail] >= 0) & (lanes.place[head] >= 0)
    tail, head, kind = tail[is_drawn], head[is_drawn], kind[is_drawn]
    tail_ns, head_ns = (lanes.slices.start[lanes.place[side]] for side in (tail, head))
    order = np.argsort(tail_ns, kind="stable")
    return Arrows(tail[order], head[order], kind[order], tail_ns[order], head_ns[order])


def _passes(trace: Trace) -> tuple[Ints, Ints]:
    """Ids of the operators of forward passes, and of what the backward pass made of each."""
    ends = (
        trace.lazy("flows")
        .filter(pl.col("kind") == "forward_backward")
        .select("phase", "flow_id", "pid", "tid", "ts_ns")
        .sort("ts_ns", maintain_order=True)
        .collect()
    )
    if ends.is_empty():
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    # The outermost operator that starts where an arrow does, by process, thread and time.
    place = ["pid", "tid", "ts_ns"]
    host = trace.lazy("host").select("kind", *place, "dur_ns").with_row_index("id")
    operators = host.filter(pl.col("kind") == "operator").sort("dur_ns", maintain_order=True)
    nearest = operators.unique(place, keep="last").select(pl.col("id").cast(pl.Int64), *place)
    at = ends.lazy().join(nearest, on=place, how="left", maintain_order="left")
    passes = at.drop_nulls("id").collect()
    forward, backward = (
        passes.filter(pl.col("phase") == phase).select("pid", "flow_id", "ts_ns", "id")
        for phase in ("start", "end")
    )
    # Ids are used again by other processes and, in long recordings, by the same one.
    pairs = backward.join_asof(
        forward, on="ts_ns", by=["pid", "flow_id"], suffix="_forward", check_sortedness=False
    ).drop_nulls("id_forward")
    return pairs["id_forward"].to_numpy(), pairs["id"].to_numpy()


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the run, in ns since the start of the recording."""

    name: str
    from_ns: int
    to_ns: int


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """What a picture of the recording is drawn from."""

    start_ns: int
    length_ns: int
    host_rows: int
    """Ids below this are rows of `host`; the others, less this, rows of `device`."""
    steps: tuple[Step, ...]
    lanes: Lanes
    levels: tuple[Level[MergedSlices], ...]
    """The slices themselves, then ever coarser ones."""
    curve_tracks: tuple[int, ...]
    """The track of each curve."""
    curves: tuple[Level[Points], ...]
    """All samples, then ever fewer."""


@dataclass(frozen=True, slots=True, eq=False)
class WholeLayout(Layout):
    """With all levels, and with what else is asked about slices."""

    arrows: Arrows
    calls: Ints
    """How many slices each label has."""
    total_ns: Ints
    """How long the slices of each label take together."""


def layout_of(trace: Trace) -> Layout:
    """Lay out a trace; only the finest levels are there."""
    naming = Naming.of(trace, device_word(trace))
    sides = [host_side(trace, naming), device_side(trace, naming)]
    samples = list(sample_curves(trace, naming))
    # From the start of the recording to the end of its last work; marks alone do not count.
    start = recording_start(trace)
    last = start
    for side in sides:
        kinds = [kind not in {"trace", "instant"} for _, kind in side.labels]
        works = np.flatnonzero(np.array(kinds or [False])[side.label])
        last = int((side.start[works] + side.dur[works]).max(initial=last))
    if last <= start and samples:
        start = min(int(curve.ts_ns.min()) for curve in samples)
        last = max(int(curve.ts_ns.max()) for curve in samples)
    end = max(last, start + 1)
    sides = [side_within(side, start, end) for side in sides]
    drawn = [track for side in sides for track in side.tracks]
    tracks, ids = rank_tracks([*drawn, *(curve.track for curve in samples)])
    ends = np.cumsum([0, *(len(side.tracks) for side in sides)]).tolist()
    of_sides = [np.array(ids[first:last], dtype=np.int64) for first, last in pairwise(ends)]
    lanes = lay_out(sides, tracks, of_sides, start)
    marked = find_steps(trace).filter("marked").select("name", "start_ns", "end_ns")
    return Layout(
        start_ns=start,
        length_ns=end - start,
        host_rows=len(sides[0].start),
        steps=tuple(Step(name, a - start, b - start) for name, a, b in marked.iter_rows()),
        lanes=lanes,
        levels=(Level(0, lanes.slices),),
        curve_tracks=tuple(ids[ends[-1] :]),
        curves=(Level(0, points_of(samples, start)),),
    )


def whole_layout(trace: Trace, layout: Layout) -> WholeLayout:
    """All of the layout of a trace."""
    lanes, length = layout.lanes, layout.length_ns
    label = lanes.slices.label
    values = {field.name: getattr(layout, field.name) for field in fields(layout)}
    finest, samples = layout.levels[0], layout.curves[0]
    return WholeLayout(
        **values
        | {
            "levels": (finest, *coarser_levels(finest.pieces, merge, length)),
            "curves": (samples, *coarser_levels(samples.pieces, thin, length)),
        },
        arrows=find_arrows(trace, lanes, layout.host_rows),
        calls=np.bincount(label, minlength=len(lanes.names)),
        total_ns=np.bincount(label, lanes.slices.dur, len(lanes.names)).astype(np.int64),
    )
