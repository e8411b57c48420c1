"""Counters and memory over time, thinned at growing resolutions without losing a peak."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from timesink.analyses.memory.curve import memory_curve
from timesink.analyses.memory.devices import CPU
from timesink.analyses.timeline.levels import ever_coarser
from timesink.analyses.timeline.tracks import COUNTER, MEMORY, Naming, Track
from timesink.analyses.timeline.windows import pixel_length
from timesink.model.arrays import Floats, Ints
from timesink.model.counter_units import quantity, unit_of
from timesink.model.trace import Trace

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


@dataclass(frozen=True, slots=True, eq=False)
class CurveLevel:
    """The points of all curves at one resolution; 0 is every sample."""

    resolution: int
    points: Points


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """What was sampled for one track."""

    track: Track
    ts_ns: Ints
    value: Floats


def sampled(trace: Trace, naming: Naming) -> Iterator[Samples]:
    """The memory curves and counters of a trace, with ranges and units."""
    yield from _memory(trace, naming)
    yield from _counters(trace, naming)


def _memory(trace: Trace, naming: Naming) -> Iterator[Samples]:
    curves = memory_curve(trace)
    for (device,), curve in curves.group_by("device", maintain_order=True):
        place = "Host" if device == CPU else str(device)
        for what in ("allocated", "reserved"):
            known = curve.select("ts_ns", value=pl.col(f"{what}_bytes").cast(pl.Float64))
            known = known.drop_nulls()
            # A host allocator reserves nothing; its curve would be a line at zero.
            if known.height and (what == "allocated" or (known["value"] != 0).any()):
                track = naming.curve(MEMORY, place, f"{what} memory", "B")
                yield _samples(track, known)


def _counters(trace: Trace, naming: Naming) -> Iterator[Samples]:
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


# -- levels ----------------------------------------------------------------------------------------


def points_of(curves: Sequence[Samples], start_ns: int) -> Points:
    """All samples, one curve after the other."""
    empty = np.zeros(0, dtype=np.int64)
    x = np.concatenate([empty, *(curve.ts_ns for curve in curves)]) - start_ns
    value = np.concatenate([empty.astype(np.float64), *(curve.value for curve in curves)])
    first = np.append(0, np.cumsum([len(curve.ts_ns) for curve in curves], dtype=np.int64))
    return as_points(first, x, value)


def as_points(first: Ints, x: Ints, value: Floats) -> Points:
    """Samples as points; each counts for as long as it held."""
    held = np.diff(x, append=x[-1:]).astype(np.float64)
    held[first[1:][first[1:] > 0] - 1] = 1.0
    # Several samples of one moment all count, if little.
    weight = np.maximum(held, 1.0)
    return Points(first, x, value, value, value * weight, weight)


def coarser_curves(points: Points, length_ns: int) -> Iterator[CurveLevel]:
    """Ever coarser levels, each made from the one before."""
    for resolution, thinned in ever_coarser(points, thin, length_ns):
        yield CurveLevel(resolution, thinned)


def thin(points: Points, resolution: int) -> Points:
    """One point per cell of time, as wide as the resolution: lowest, mean and highest value."""
    begins = np.ones(len(points), dtype=np.bool_)
    cell = points.x >> (resolution.bit_length() - 1)
    np.not_equal(cell[1:], cell[:-1], out=begins[1:])
    begins[points.first[points.first < len(points)]] = True
    heads = np.flatnonzero(begins)
    if len(heads) == len(points):
        return points
    return Points(
        first=np.append(np.cumsum(begins) - begins, len(heads))[points.first],
        x=points.x[heads],
        low=np.minimum.reduceat(points.low, heads),
        high=np.maximum.reduceat(points.high, heads),
        area=np.add.reduceat(points.area, heads),
        weight=np.add.reduceat(points.weight, heads),
    )


def visible_points(
    levels: Sequence[CurveLevel], curve: int, from_ns: int, to_ns: int, *, pixels: int
) -> Points:
    """The points of one curve in a window, with the one before it, about one per pixel."""
    resolution = pixel_length(from_ns, to_ns, pixels)
    level = max(
        (one for one in levels if one.resolution <= resolution), key=lambda one: one.resolution
    )
    points = level.points
    first, last = int(points.first[curve]), int(points.first[curve + 1])
    low, high = np.searchsorted(points.x[first:last], (from_ns, to_ns), side="right").tolist()
    part = slice(first + max(low - 1, 0), first + high)
    return thin(
        Points(
            np.array([0, part.stop - part.start]),
            *(getattr(points, name)[part] for name in ("x", "low", "high", "area", "weight")),
        ),
        resolution,
    )
