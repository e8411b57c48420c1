"""What a counter read while calls ran: mean weighted by time, and spread.

A call with three samples or more has their mean and spread.  A shorter one has the values at both
its ends, interpolated between the samples around them; a sample further away than twice the
sampling interval says nothing about it.  A counter that does not change gives exactly its value and
a spread of exactly zero: tests between cycles are undefined otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from timesink.model.arrays import Flags, Floats, Ints

ENOUGH_SAMPLES = 3
"""From so many samples on, a call has a mean of its own."""
REACH_IN_INTERVALS = 2
"""How far a sample speaks for the counter, in sampling intervals."""
_NOMINAL_INTERVAL_NS = 1_000_000_000
"""Of samplers whose only sample does not tell it."""

NONE, SOME, ALL = range(3)
"""How many calls were interpolated: places in `model.schema.INTERPOLATED`."""


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """Samples of one counter of one device or process; times ascend and are distinct."""

    counter: str
    ts_ns: Ints
    value: Floats

    @property
    def reach_ns(self) -> int:
        """How far a sample speaks for the counter."""
        if len(self.ts_ns) < 2:
            return REACH_IN_INTERVALS * _NOMINAL_INTERVAL_NS
        return int(REACH_IN_INTERVALS * np.median(np.diff(self.ts_ns)))


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """Stretches of time in which functions ran, and the group (function and cycle) of each."""

    group: Ints
    start: Ints
    end: Ints
    weight: Ints
    """Time that counts; a span in which all time belongs to callees has none."""
    groups: int

    def __len__(self) -> int:
        return len(self.group)

    def take(self, chosen: Flags) -> Spans:
        if chosen.all():
            return self
        return Spans(
            self.group[chosen],
            self.start[chosen],
            self.end[chosen],
            self.weight[chosen],
            self.groups,
        )


@dataclass(frozen=True, slots=True, eq=False)
class CounterLevels:
    """What one counter read in those groups in which it is known."""

    group: Ints
    mean: Floats
    spread: Floats
    interpolated: NDArray[np.int8]
    """`NONE`, `SOME` or `ALL` of the group's spans."""


def levels(series: Sequence[Series], spans: Spans) -> Iterator[tuple[Series, CounterLevels]]:
    """Each counter's level in each group; counters sampled together share the search."""
    by_times = sorted(series, key=lambda each: each.ts_ns.tobytes())
    for _, alike in groupby(by_times, key=lambda each: each.ts_ns.tobytes()):
        together = list(alike)
        reading = _reading(together[0], spans)
        if len(reading.spans):
            weights = _weights(reading)
            for each in together:
                yield each, _levels(each.value, reading, weights)


# -- where spans lie among the samples -------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Between:
    """Samples around moments: the value is that of `left`, and `part` of the way to `right`."""

    left: Ints
    right: Ints
    part: Floats
    known: Flags

    def take(self, chosen: Flags) -> _Between:
        return _Between(
            self.left[chosen], self.right[chosen], self.part[chosen], self.known[chosen]
        )

    def read(self, value: Floats) -> Floats:
        low = value[self.left]
        # Not as a weighted sum of both: a constant must stay what it is.
        return np.asarray(low + self.part * (value[self.right] - low))


@dataclass(frozen=True, slots=True, eq=False)
class _CounterReading:
    """How spans read the counters that are sampled at the same times."""

    spans: Spans
    """Those near enough to samples."""
    start: _Between
    end: _Between
    wide: NDArray[np.intp]
    """Spans with enough samples inside."""
    first: Ints
    """For each of `wide`: its first sample."""
    beyond: Ints
    """For each of `wide`: the first sample after it."""


def _reading(series: Series, spans: Spans) -> _CounterReading:
    ts, reach = series.ts_ns, series.reach_ns
    first = np.searchsorted(ts, spans.start, side="left")
    beyond = np.searchsorted(ts, spans.end, side="right")
    enough = beyond - first >= ENOUGH_SAMPLES
    start, end = (
        _around(ts, spans.start, first, reach),
        _around(ts, spans.end, np.searchsorted(ts, spans.end, side="left"), reach),
    )
    known = enough | start.known | end.known
    if not known.all():
        spans, start, end = spans.take(known), start.take(known), end.take(known)
        first, beyond, enough = first[known], beyond[known], enough[known]
    wide = np.flatnonzero(enough)
    return _CounterReading(spans, start, end, wide, first[wide], beyond[wide])


def _around(ts: Ints, moment: Ints, following: Ints, reach: int) -> _Between:
    right = np.minimum(following, len(ts) - 1)
    left = np.maximum(following - 1, 0)
    since, until = moment - ts[left], ts[right] - moment
    left_near = (following > 0) & (since <= reach)
    right_near = (following < len(ts)) & (until <= reach)
    both = left_near & right_near
    part = np.zeros(len(moment))
    np.divide(since, since + until, out=part, where=both)
    return _Between(
        left=np.where(left_near, left, right),
        right=np.where(right_near, right, np.where(left_near, left, right)),
        part=part,
        known=left_near | right_near,
    )


# -- values ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Weights:
    """Groups that have spans, and how their spans count."""

    group: Ints
    place: Ints
    """For each span: the place of its group in `group`."""
    example: NDArray[np.intp]
    """For each group: one of its spans."""
    weight: Floats
    total: Floats
    interpolated: NDArray[np.int8]


def _weights(reading: _CounterReading) -> _Weights:
    spans = reading.spans
    count = np.bincount(spans.group, minlength=spans.groups)
    group = np.flatnonzero(count)
    place = (np.cumsum(count > 0) - 1)[spans.group]
    example = np.zeros(len(group), dtype=np.intp)
    example[place[::-1]] = np.arange(len(place))[::-1]
    weight: Floats = spans.weight.astype(np.float64)
    total = _sums(place, weight)
    if not total.all():
        # Functions without any time of their own: every span counts the same.
        weight = np.where(total[place] > 0, weight, 1.0)
        total = _sums(place, weight)
    wide = np.bincount(place[reading.wide], minlength=len(group))
    interpolated = np.where(wide == 0, ALL, np.where(wide < count[group], SOME, NONE))
    return _Weights(group, place, example, weight, total, interpolated.astype(np.int8))


def _levels(value: Floats, reading: _CounterReading, weights: _Weights) -> CounterLevels:
    level, variance = _span_levels(value, reading)
    # Sums of differences from one of the values: those of a constant are exactly zero.
    base = level[weights.example]
    excess = _sums(weights.place, (level - base[weights.place]) * weights.weight)
    pooled = _sums(weights.place, variance * weights.weight)
    return CounterLevels(
        group=weights.group,
        mean=base + excess / weights.total,
        spread=np.sqrt(pooled / weights.total),
        interpolated=weights.interpolated,
    )


def _sums(place: Ints, values: Floats) -> Floats:
    """Sums by place; each place has values."""
    return np.bincount(place, values).astype(np.float64, copy=False)


def _span_levels(value: Floats, reading: _CounterReading) -> tuple[Floats, Floats]:
    """Mean and variance of the counter in each span."""
    at_start, at_end = reading.start.read(value), reading.end.read(value)
    at_start = np.where(reading.start.known, at_start, at_end)
    half = np.where(reading.end.known, at_end - at_start, 0.0) / 2
    level, variance = at_start + half, half * half
    if len(reading.wide):
        mean, spread = _window_levels(value, reading.first, reading.beyond)
        level[reading.wide], variance[reading.wide] = mean, spread
    return level, variance


def _window_levels(value: Floats, first: Ints, beyond: Ints) -> tuple[Floats, Floats]:
    """Mean and variance of the samples from `first` to before `beyond`."""
    # Sums from the start of the recording, of differences from a typical value and in the widest
    # type there is: the difference of two such sums loses few digits.
    base = np.median(value)
    shifted = (value - base).astype(np.longdouble)
    sums = np.concatenate([[0], np.cumsum(shifted)])
    squares = np.concatenate([[0], np.cumsum(shifted * shifted)])
    count = beyond - first
    mean = (sums[beyond] - sums[first]) / count
    variance = np.maximum((squares[beyond] - squares[first]) / count - mean * mean, 0)
    # Where nothing changes, exactly that.
    changes = np.concatenate([[0], np.cumsum(value[1:] != value[:-1])])
    constant = changes[beyond - 1] == changes[first]
    return (
        np.where(constant, value[first], (mean + base).astype(np.float64)),
        np.where(constant, 0.0, variance.astype(np.float64)),
    )
