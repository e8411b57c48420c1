"""Where the level of a series changed: by noise, as far as chance does not explain it, or exactly.

E-divisive (Matteson and James): a stretch is cut where the values of both sides are farthest apart
by their energy distance, if few of its permutations are cut as well; then so is either side.  What
comes and goes again is hardly seen by one cut, so values inside two cuts are set against the others
as well.  Nothing is assumed of the noise but that its order means nothing.

Levels of the steps of one run are cut where their means are farthest apart, in units of the noise
between neighbours (binary segmentation), which costs nothing and is enough there.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise

import msgspec
import numpy as np

from timesink.analyses.statistics.robust import hampel_filter, neighbour_noise, scaled_mad
from timesink.analyses.statistics.student_t import t_limit, two_sided_p
from timesink.analyses.thresholds import ChangePointsLimits, SignificanceLimits
from timesink.model.intervals import Flags, Floats, Ints

_LONG = 5 * ChangePointsLimits.min
_AT_ONCE = 2_000_000
"""Distances held at a time."""
_CENTRE, _CENTRE_OF_FEW = 6.5, 20.0
"""Few values hardly tell an end from chance, so cuts near the middle count more, by this much over
the number of values; the less, the more of them there are."""


class ChangePoint(msgspec.Struct, frozen=True):
    """Where a level begins, and how sure that is."""

    at: int
    """Place of its first value."""
    p: float | None = None
    """Chance of such a change by noise; None where no test tells."""
    certain: bool = True
    """Whether there are values enough; else more may show that it is none."""


def level_changes(
    values: Floats, least_pct: float = ChangePointsLimits.min_pct, seed: int = 1
) -> list[ChangePoint]:
    """Where the level of noisy values changed, in order; the last may be uncertain.

    >>> level_changes(np.array([10.0, 10.1, 9.9, 10.0, 10.1, 12.0, 12.1, 11.9, 12.0, 12.1]))
    [ChangePoint(at=5, p=0.0095, certain=True)]
    """
    raw, values = values, hampel_filter(values)
    points: list[ChangePoint] = []
    stretches = [(0, len(values))]
    while stretches:
        start, end = stretches.pop()
        cuts = _cuts(
            values[start:end],
            seed,
            ChangePointsLimits.of_parts if points else SignificanceLimits.alpha,
        )
        points += [ChangePoint(start + cut.at, cut.p) for cut in cuts]
        if cuts:
            stretches += pairwise([start, *(start + cut.at for cut in cuts), end])
    points = _between_neighbours(values, sorted(points, key=lambda point: point.at), seed)
    points = _worth_telling(values, points, least_pct)
    last = points[-1].at if points else 0
    fresh = _may_have_changed(raw[last:], least_pct)
    return points if fresh is None else [*points, ChangePoint(last + fresh, certain=False)]


def exact_changes(values: Sequence[Hashable | None]) -> list[ChangePoint] | None:
    """Where an exact value became another one, whatever is not known between.

    None where it is another one so often that it is not exact.

    >>> exact_changes([489, 489, None, 490, 490, 490])
    [ChangePoint(at=3, p=None, certain=True)]
    """
    places = [place for place, value in enumerate(values) if value is not None]
    changed = [at for before, at in pairwise(places) if values[before] != values[at]]
    if len(changed) > max(2, len(places) // ChangePointsLimits.often):
        return None
    return [ChangePoint(at) for at in changed]


def _between_neighbours(values: Floats, points: list[ChangePoint], seed: int) -> list[ChangePoint]:
    """Every cut once more, between those beside it: what was cut first was cut among others.

    Its place and its chance are those of its two levels alone; what these do not tell apart goes.
    """
    for _ in range(len(points)):
        before, place = list(points), 0
        while place < len(points):
            start = points[place - 1].at if place else 0
            end = points[place + 1].at if place + 1 < len(points) else len(values)
            cut = _best_cut(values[start:end], seed, SignificanceLimits.alpha)
            points[place : place + 1] = [] if cut is None else [ChangePoint(start + cut.at, cut.p)]
            place += cut is not None
        if points == before:
            break
    return points


def _worth_telling(
    values: Floats, points: list[ChangePoint], least_pct: float
) -> list[ChangePoint]:
    """Without the changes that are too small, the smallest first: levels grow together then."""
    while points:
        ends = [0, *(point.at for point in points), len(values)]
        levels = [float(np.median(values[start:end])) for start, end in pairwise(ends)]
        sizes = [abs(new - old) / max(abs(old), 1e-300) for old, new in pairwise(levels)]
        smallest = int(np.argmin(sizes))
        if 100 * sizes[smallest] >= least_pct:
            break
        points = [*points[:smallest], *points[smallest + 1 :]]
    return points


def _cuts(values: Floats, seed: int, alpha: float) -> list[ChangePoint]:
    """Where to cut a stretch: once, else around what comes and goes; nowhere where chance would."""
    is_long = len(values) >= _LONG
    cut = _best_cut(values, seed, ChangePointsLimits.of_cut * alpha if is_long else alpha)
    if cut is not None:
        return [cut]
    if not is_long or not np.ptp(values):
        return []
    distances = np.abs(values[:, None] - values[None, :])
    (largest,), (start,), (end,) = _inner(distances, np.arange(len(values))[None, :])
    p = _chance(
        distances,
        largest,
        seed,
        (1 - ChangePointsLimits.of_cut) * alpha,
        lambda *arguments: _inner(*arguments)[0],
    )
    return [] if p is None else [ChangePoint(int(start), p), ChangePoint(int(end), p)]


def _best_cut(values: Floats, seed: int, alpha: float) -> ChangePoint | None:
    """Where to cut a stretch once; None where chance would cut it as well."""
    number = len(values)
    if number < 2 * ChangePointsLimits.min or not np.ptp(values):
        return None
    distances = np.abs(values[:, None] - values[None, :])
    weights = _weights(number)

    def largest_of(distances: Floats, orders: Ints) -> Floats:
        return np.asarray((_energies(distances, orders) * weights).max(axis=1))

    energies = _energies(distances, np.arange(number)[None, :])
    p = _chance(distances, float((energies * weights).max()), seed, alpha, largest_of)
    return (
        None if p is None else ChangePoint(ChangePointsLimits.min + int(np.argmax(energies[0])), p)
    )


def _chance(
    distances: Floats,
    largest: float,
    seed: int,
    alpha: float,
    largest_of: Callable[[Floats, Ints], Floats],
) -> float | None:
    """Part of the orders of the values that are as far apart somewhere; None from `alpha` on."""
    number, random = len(distances), np.random.default_rng(seed)
    beyond = done = 0
    draws = ChangePointsLimits.permutations if number >= _LONG else ChangePointsLimits.more
    batch = max(1, min(draws, _AT_ONCE // number**2))
    while done < draws:
        size = min(batch, draws - done)
        orders = random.permuted(np.tile(np.arange(number), (size, 1)), axis=1)
        beyond += int((largest_of(distances, orders) >= largest * (1 - 1e-9)).sum())
        done += size
        if beyond + 1 >= alpha * (draws + 1):
            return None
    return (beyond + 1) / (draws + 1)


def _inner(distances: Floats, orders: Ints) -> tuple[Floats, Ints, Ints]:
    """Per order: how far what is inside two cuts is from what is outside at most, and these."""
    number = len(distances)
    ordered = distances[orders[:, :, None], orders[:, None, :]]
    sums = np.zeros((len(orders), number + 1, number + 1))
    np.cumsum(np.cumsum(ordered, axis=1), axis=2, out=sums[:, 1:, 1:])
    square = np.einsum("rii->ri", sums)
    every = sums[:, :, -1]
    largest = np.full(len(orders), -1.0)
    starts, ends = (np.zeros(len(orders), dtype=np.int64) for _ in range(2))
    for length in range(
        ChangePointsLimits.min, min(number // 2, number - 2 * ChangePointsLimits.min) + 1
    ):
        start = np.arange(ChangePointsLimits.min, number - ChangePointsLimits.min - length + 1)
        end, rest = start + length, number - length
        inside = square[:, end] - 2 * sums[:, start, end] + square[:, start]
        across = every[:, end] - every[:, start] - inside
        outside = every[:, -1:] - inside - 2 * across
        apart = 2 * across / (length * rest) - inside / length**2 - outside / rest**2
        apart *= length * rest / number
        best = apart.argmax(axis=1)
        value = apart[np.arange(len(orders)), best]
        is_more = value > largest
        largest = np.where(is_more, value, largest)
        starts, ends = np.where(is_more, start[best], starts), np.where(is_more, end[best], ends)
    return largest, starts, ends


def _energies(distances: Floats, orders: Ints) -> Floats:
    """Per order of the values: how far apart the sides of every cut are."""
    number = len(distances)
    ordered = distances[orders[:, :, None], orders[:, None, :]]
    below = np.tril(np.ones((number, number)))
    # Sums of distances among those before a cut, and from these to all.
    inside = 2 * np.cumsum(np.einsum("rij,ij->ri", ordered, below), axis=1)
    every = np.cumsum(distances.sum(axis=1)[orders], axis=1)
    before = np.arange(ChangePointsLimits.min, number - ChangePointsLimits.min + 1)
    after = number - before
    left = inside[:, before - 1]
    across = every[:, before - 1] - left
    right = every[:, -1:] - left - 2 * across
    apart = 2 * across / (before * after) - left / before**2 - right / after**2
    return np.asarray(apart * before * after / number)


def _weights(number: int) -> Floats:
    before = np.arange(ChangePointsLimits.min, number - ChangePointsLimits.min + 1)
    centre = _CENTRE if number >= _LONG else _CENTRE_OF_FEW
    return np.asarray((4 * before * (number - before) / number**2) ** (centre / number))


def _may_have_changed(values: Floats, least_pct: float) -> int | None:
    """The first of a few newest values that are far from those before; None where none are."""
    for fresh in range(min(2 * ChangePointsLimits.min, len(values)) - 1, 0, -1):
        old, new = values[:-fresh], values[-fresh:]
        if len(old) < ChangePointsLimits.min:
            continue
        centre, spread = float(old.mean()), float(old.std(ddof=1))
        away = new - centre
        if not (np.all(away > 0) or np.all(away < 0)):
            continue
        limit = t_limit(ChangePointsLimits.may, len(old) - 1.0)
        enough = max(limit * spread * (1 / fresh + 1 / len(old)) ** 0.5, least_pct / 100 * centre)
        # Every one of them: the mean of several may be that of one outlier.
        if abs(float(away.mean())) > enough and np.abs(away).min() > spread:
            return len(values) - fresh
    return None


# Levels that the measurements of a run stay at for a while, and how they begin.


class Segment(msgspec.Struct, frozen=True):
    """Measurements beside each other that are at one level: from `start` up to `end`."""

    start: int
    end: int
    level: float
    """Their mean."""

    @property
    def length(self) -> int:
        """How many they are."""
        return self.end - self.start


def segments(values: Floats) -> list[Segment]:
    """The levels measurements go through, in order; one where they stay at it.

    Cut in two where the levels on both sides are farthest apart, in units of the noise between
    neighbours, and again, as long as they are apart.
    """
    noise = 0.0
    if len(values) > 1:
        # From steps between neighbours: few of them change level.
        noise = max(
            neighbour_noise(values), ChangePointsLimits.min_noise * abs(float(np.median(values)))
        )
    cuts, open_stretches = [], [(0, len(values))]
    while open_stretches:
        start, end = open_stretches.pop()
        cut = _best_level_cut(values[start:end], noise)
        if cut:
            cuts.append(start + cut)
            open_stretches += [(start, start + cut), (start + cut, end)]
    ends = [0, *sorted(cuts), len(values)]
    return [
        Segment(start, end, float(values[start:end].mean()))
        for start, end in pairwise(ends)
        if end > start
    ]


def _best_level_cut(values: Floats, noise: float) -> int:
    """Where levels are farthest apart; 0 where they are not apart."""
    number = len(values)
    if number < 2 * ChangePointsLimits.shortest or not noise:
        return 0
    before = np.arange(ChangePointsLimits.shortest, number - ChangePointsLimits.shortest + 1)
    after = number - before
    sums = np.cumsum(values)
    gap = np.abs(sums[before - 1] / before - (sums[-1] - sums[before - 1]) / after)
    apart = gap / np.sqrt(1 / before + 1 / after)
    best = int(np.argmax(apart))
    return int(before[best]) if apart[best] > ChangePointsLimits.critical * noise else 0


def regime_p(values: Floats, is_new: Flags) -> float | None:
    """Chance that levels of one run, each counted once, are as far apart on two parts of it.

    `values` are in the order they were measured, whichever part they belong to.  Where a level
    begins is no choice of the parts: two levels, one in each half, are two measurements and tell
    nothing.  None where all values are at one level.
    """
    pieces = segments(values)
    if len(pieces) < 2:
        return None
    levels = np.array([piece.level for piece in pieces])
    weights = np.array([piece.length for piece in pieces]) / len(values)
    # Which part of either side is at each level.
    counts = [
        np.array([side[piece.start : piece.end].sum() for piece in pieces], dtype=np.float64)
        for side in (is_new, ~is_new)
    ]
    parts = [count / max(1.0, float(count.sum())) for count in counts]
    change = abs(float((levels * (parts[0] - parts[1])).sum()))
    spread = float((weights * (levels - (weights * levels).sum()) ** 2).sum())
    variance = spread / (1 - float((weights**2).sum()))
    error = np.sqrt(variance * sum(float((part**2).sum()) for part in parts))
    freedom = np.array([len(pieces) - 1.0])
    return float(two_sided_p(np.array([change / error]), freedom)[0]) if error else 1.0


def warm_up(values: Floats) -> int:
    """How many of the first measurements are a warm-up, each larger than what is usual later."""
    most = int(ChangePointsLimits.max_warm * len(values))
    if not most:
        return 0
    later = values[most:]
    usual = float(np.median(later))
    spread = scaled_mad(later, usual)
    # What happens again and again later on is no warm-up either.
    often = float(np.quantile(later, ChangePointsLimits.warm_quantile))
    is_usual = values <= max(
        ChangePointsLimits.warm * often, usual + ChangePointsLimits.far_out * spread
    )
    first = int(np.argmax(is_usual))
    return first if first <= most else 0
