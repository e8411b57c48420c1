"""Slices merged at growing resolutions: a picture needs only what is wider than a pixel.

Time is cut into cells as long as the resolution.  A slice at least that long stays as it is; the
shorter ones that start in one cell become one, which knows how many they are, how long they take
together and which name takes most.  Resolutions are powers of two, so a cell is made of whole cells
of any finer level, and merging in several steps gives the same as merging at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence, Sized
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.memory_curve import CPU, memory_curve
from timesink.analyses.timeline.tracks import COUNTER, MEMORY, Naming, Track
from timesink.model.arrays import (
    prefix_sums,
    ragged_ranges,
    run_slices,
    run_starts,
)
from timesink.model.intervals import Flags, Floats, Ints
from timesink.model.trace import Trace
from timesink.model.units import quantity, unit_of

FINEST_NS = 4096
"""Below this the slices themselves are few enough."""
STEP = 4
_WORTH_A_LEVEL = 0.6
"""Of the pieces of the next finer level at most this share."""
_CELLS_AT_COARSEST = 128
MERGED = -1
_Columns = TypeVar("_Columns", bound=Sized)


@dataclass(frozen=True, slots=True, eq=False)
class MergedSlices:
    """Slices by lane and start, each alone or merged; those of a lane do not overlap."""

    first: Ints
    """Where each lane begins, and where the last one ends."""
    start: Ints
    dur: Ints
    label: NDArray[np.uint32]
    """Of merged slices the one that takes most time."""
    id: NDArray[np.int32]
    """Which slice; `MERGED` for several."""
    count: NDArray[np.uint32]
    busy: Ints
    """The time its slices take."""

    def __len__(self) -> int:
        return len(self.start)


class Level(msgspec.Struct, Generic[_Columns], frozen=True, eq=False):
    """The pieces of a whole recording at one resolution; 0 is everything as it was recorded."""

    resolution: int
    pieces: _Columns


def single(
    first: Ints,
    start: Ints,
    dur: Ints,
    label: NDArray[np.uint32],
    id: NDArray[np.int32],  # noqa: A002 - as the field
) -> MergedSlices:
    """Slices as they were recorded: one each, busy all the time.  Takes no memory of its own."""
    return MergedSlices(
        first, start, dur, label, id, np.broadcast_to(np.uint32(1), len(start)), dur
    )


def coarser_levels(
    finest: _Columns, merged: Callable[[_Columns, int], _Columns], length_ns: int
) -> Iterator[Level[_Columns]]:
    """Ever coarser levels, each made from the one before, down to a few cells for the whole.

    Levels that hardly save anything are left out: the next finer one is as good.
    """
    part, finer = finest, len(finest)
    for resolution in resolutions(length_ns):
        part = merged(part, resolution)
        if len(part) <= _WORTH_A_LEVEL * finer:
            yield Level(resolution, part)
            finer = len(part)


def level_for(levels: Sequence[Level[_Columns]], resolution: int) -> _Columns:
    """The pieces of the coarsest level that is fine enough."""
    fine = [level for level in levels if level.resolution <= resolution]
    return max(fine, key=lambda level: level.resolution).pieces


def _cells(time: Ints, first: Ints, resolution: int) -> Flags:
    """Where another cell of time begins, or another lane or curve."""
    cell = time >> (resolution.bit_length() - 1)
    begins = np.ones(len(time), dtype=np.bool_)
    np.not_equal(cell[1:], cell[:-1], out=begins[1:])
    begins[first[first < len(time)]] = True
    return begins


def resolutions(length_ns: int) -> Iterator[int]:
    """Resolutions worth having for a recording, the finest first."""
    resolution = FINEST_NS
    while resolution * _CELLS_AT_COARSEST < length_ns * STEP:
        yield resolution
        resolution *= STEP


def merge(pieces: MergedSlices, resolution: int) -> MergedSlices:
    """Merge what is shorter than the resolution, a power of two; pieces were merged below it."""
    # A new piece begins in another cell or lane, and around what is long enough.
    long = pieces.dur >= resolution
    begins = _cells(pieces.start, pieces.first, resolution) | long
    begins[1:] |= long[:-1]
    heads = np.flatnonzero(begins)
    if len(heads) == len(pieces):
        return pieces
    tails = np.append(heads[1:], len(pieces)) - 1
    several = tails > heads
    start = pieces.start[heads]
    label = pieces.label[heads]
    label[several] = _longest_labels(pieces, heads[several], tails[several])
    return MergedSlices(
        first=prefix_sums(begins)[pieces.first],
        start=start,
        dur=pieces.start[tails] + pieces.dur[tails] - start,
        label=label,
        id=np.where(several, np.int32(MERGED), pieces.id[heads]),
        count=np.add.reduceat(pieces.count, heads, dtype=np.uint32),
        busy=np.add.reduceat(pieces.busy, heads),
    )


def _longest_labels(
    pieces: MergedSlices, heads: NDArray[np.intp], tails: NDArray[np.intp]
) -> NDArray[np.uint32]:
    """For each stretch of pieces the label that takes most time, the first of equals."""
    sizes = tails - heads + 1
    stretch = np.repeat(np.arange(len(heads)), sizes)
    place = ragged_ranges(heads, sizes)
    label, busy = pieces.label[place].astype(np.int64), pieces.busy[place]
    # One number for stretch and label; stretches are in order already, so sorting is quick.
    key = stretch * (int(label.max(initial=0)) + 1) + label
    order = np.argsort(key, kind="stable")
    runs = run_starts(key[order])
    time = np.add.reduceat(busy[order], runs)
    owner = stretch[order[runs]]
    first_of_owner = run_starts(owner)
    longest = np.flatnonzero(time == np.maximum.reduceat(time, first_of_owner)[owner])
    chosen = longest[run_starts(owner[longest])]
    return np.asarray(pieces.label[place[order[runs[chosen]]]])


MAX_PIECES = 60_000
_MIN_PER_LANE = 2
"""However coarse, what is before the start of the recording stays apart from what is after it."""


def visible(
    levels: Sequence[Level[MergedSlices]],
    lanes: Ints,
    from_ns: int,
    to_ns: int,
    *,
    pixels: int,
    most: int = MAX_PIECES,
) -> Level[MergedSlices]:
    """Pieces that overlap a window, merged below about a pixel; coarser where they are too many.

    Those of `lanes[0]` come first.
    """
    resolution = pixel_length(from_ns, to_ns, pixels)
    pieces = merge(_between(level_for(levels, resolution), lanes, from_ns, to_ns), resolution)
    while len(pieces) > max(most, _MIN_PER_LANE * len(lanes)):
        resolution *= 2
        pieces = merge(pieces, resolution)
    return Level(resolution, pieces)


def pixel_length(from_ns: int, to_ns: int, pixels: int) -> int:
    """The power of two nearest to the length of a pixel, at least a nanosecond."""
    length = (to_ns - from_ns) / max(pixels, 1)
    return 1 << max(round(math.log2(length)), 0) if length > 0 else 1


def stretches(pieces: MergedSlices, lanes: Ints, from_ns: int, to_ns: int) -> list[tuple[int, int]]:
    """Where the pieces of each lane that overlap a window begin and end."""
    bounds = []
    for lane in lanes.tolist():
        first, last = int(pieces.first[lane]), int(pieces.first[lane + 1])
        starts = pieces.start[first:last]
        low, high = np.searchsorted(starts, (from_ns, to_ns), side="left").tolist()
        # Of those before the window only the latest can reach into it.
        if low > 0 and starts[low - 1] + pieces.dur[first + low - 1] > from_ns:
            low -= 1
        bounds.append((first + low, first + max(low, high)))
    return bounds


def _between(pieces: MergedSlices, lanes: Ints, from_ns: int, to_ns: int) -> MergedSlices:
    parts = stretches(pieces, lanes, from_ns, to_ns)
    place = joined_ranges(parts)
    sizes = [high - low for low, high in parts]
    columns = ("start", "dur", "label", "id", "count", "busy")
    return MergedSlices(
        prefix_sums(np.array(sizes, dtype=np.int64)),
        *(getattr(pieces, name)[place] for name in columns),
    )


def joined_ranges(parts: Sequence[tuple[int, int]]) -> Ints:
    """All whole numbers of some ranges, one range after the other."""
    low, high = np.array(parts, dtype=np.int64).reshape(-1, 2).T
    return ragged_ranges(low, np.maximum(high - low, 0))


def own_time(row: Ints, start: Ints, end: Ints, label: Ints) -> tuple[Ints, Ints]:
    """Of slices of a thread, row by row, the time outside of those below; and all, namesakes as 0.

    A namesake inside another is already part of its time.
    """
    length = end - start
    self_time = length.copy()
    rows = [(part.start, part.stop) for part in run_slices(row)]
    for place, (first, last) in enumerate(rows):
        waiting = np.arange(first, last)
        for above, under in reversed(rows[:place]):
            holder = above + np.searchsorted(start[above:under], start[waiting], "right") - 1
            is_inside = (holder >= above) & (end[holder] > start[waiting])
            inside = np.minimum(end[waiting], end[holder]) - start[waiting]
            np.subtract.at(self_time, holder[is_inside], inside[is_inside])
            waiting = waiting[~is_inside]
            if not len(waiting):
                break
    # By name and start: what ends before the furthest end of its name so far lies in that one.
    by_name = np.lexsort((row, start, label))
    _, rank = np.unique(end, return_inverse=True)
    key = label[by_name] * len(row) + rank[by_name]
    once = length.copy()
    once[by_name[1:][key[1:] <= np.maximum.accumulate(key)[:-1]]] = 0
    return np.maximum(self_time, 0), once


# Counters and memory over time, thinned at growing resolutions without losing a peak.

_NOT_SAMPLED = "profiler_range"
"""Counters of single kernels: they belong to slices, not to moments."""


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Values of curves by curve and time; each holds until the next."""

    first: Ints
    """Where each curve begins, and where the last one ends."""
    x: Ints
    low: Floats
    high: Floats
    area: Floats
    """Value times how long it held; the mean is what `weight` leaves of it."""
    weight: Floats

    def __len__(self) -> int:
        return len(self.x)

    @property
    def mean(self) -> Floats:
        return np.asarray(self.area / self.weight)


class Samples(msgspec.Struct, frozen=True, eq=False):
    """What was sampled for one track."""

    track: Track
    ts_ns: Ints
    value: Floats


def sample_curves(trace: Trace, naming: Naming) -> Iterator[Samples]:
    """The memory curves and counters of a trace, with ranges and units."""
    for (device,), curve in memory_curve(trace).group_by("device", maintain_order=True):
        place = "Host" if device == CPU else str(device)
        for what in ("allocated", "reserved"):
            points = curve.select("ts_ns", value=pl.col(f"{what}_bytes").cast(pl.Float64))
            points = points.drop_nulls()
            # A host allocator reserves nothing; its curve would be a line at zero.
            if points.height and (what == "allocated" or (points["value"] != 0).any()):
                yield _samples(naming.curve(MEMORY, place, f"{what} memory", "B"), points)
    text = pl.col("counter", "device", "source").cast(pl.String)
    frame = (
        trace.lazy("counters")
        .select("ts_ns", "value", text)
        .filter(pl.col("value").is_finite() & (pl.col("source") != _NOT_SAMPLED))
        .sort("counter", "device", "ts_ns", maintain_order=True)
        .collect()
    )
    largest = dict(frame.group_by("counter").agg(pl.col("value").abs().max()).iter_rows())
    for (counter, device), samples in frame.group_by("counter", "device", maintain_order=True):
        unit = unit_of(str(counter), largest[counter])
        scale, base = quantity(1.0, unit)
        track = naming.curve(COUNTER, str(device or "Host"), str(counter), base)
        yield _samples(track, samples.with_columns(pl.col("value") * scale))


def _samples(track: Track, frame: pl.DataFrame) -> Samples:
    value = frame["value"].to_numpy()
    lowest, highest = float(value.min()), float(value.max())
    named = replace(track, events=frame.height, lowest=lowest, highest=highest)
    return Samples(named, frame["ts_ns"].to_numpy(), value)


def points_of(curves: Sequence[Samples], start_ns: int) -> Points:
    """All samples, one curve after the other."""
    empty = np.zeros(0, dtype=np.int64)
    x = np.concatenate([empty, *(curve.ts_ns for curve in curves)]) - start_ns
    value = np.concatenate([empty.astype(np.float64), *(curve.value for curve in curves)])
    first = prefix_sums(np.array([len(curve.ts_ns) for curve in curves], dtype=np.int64))
    return as_points(first, x, value)


def as_points(first: Ints, x: Ints, value: Floats) -> Points:
    """Samples as points; each counts for as long as it held."""
    duration = np.diff(x, append=x[-1:]).astype(np.float64)
    duration[first[1:][first[1:] > 0] - 1] = 1.0
    # Several samples of one moment all count, if little.
    weight = np.maximum(duration, 1.0)
    return Points(first, x, value, value, value * weight, weight)


def thin(points: Points, resolution: int) -> Points:
    """One point per cell of time, as wide as the resolution: lowest, mean and highest value."""
    begins = _cells(points.x, points.first, resolution)
    heads = np.flatnonzero(begins)
    if len(heads) == len(points):
        return points
    return Points(
        first=prefix_sums(begins)[points.first],
        x=points.x[heads],
        low=np.minimum.reduceat(points.low, heads),
        high=np.maximum.reduceat(points.high, heads),
        area=np.add.reduceat(points.area, heads),
        weight=np.add.reduceat(points.weight, heads),
    )


def visible_points(
    levels: Sequence[Level[Points]], curve: int, from_ns: int, to_ns: int, *, pixels: int
) -> Points:
    """The points of one curve in a window, with the one before it, about one per pixel."""
    resolution = pixel_length(from_ns, to_ns, pixels)
    points = level_for(levels, resolution)
    first, last = int(points.first[curve]), int(points.first[curve + 1])
    low, high = np.searchsorted(points.x[first:last], (from_ns, to_ns), side="right").tolist()
    part = slice(first + max(low - 1, 0), first + high)
    columns = (getattr(points, name)[part] for name in ("x", "low", "high", "area", "weight"))
    return thin(Points(np.array([0, part.stop - part.start]), *columns), resolution)
