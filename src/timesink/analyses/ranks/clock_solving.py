"""Solving for clocks: sparse least squares by conjugate gradients, weights by residuals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from timesink.analyses.statistics.moments import NORMAL
from timesink.model.arrays import Flags, Floats, Ints

_ROUNDS = 12
_BLOCKS = 8
_LEAST_SCALE_NS = 200.0
_NEAR_NS = 0.01


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """One row per rank and collective."""

    clock: Ints
    match: Ints
    end: Floats
    at: Floats
    """When, in units of half the run, from -1 to 1; the same for all rows of a match."""

    def only(self, rows: Flags) -> Ends:
        """Some of the rows."""
        return Ends(self.clock[rows], self.match[rows], self.end[rows], self.at[rows])


def islands(ends: Ends, clocks: int) -> Ints:
    """The lowest number among the clocks that each is tied to, through whatever collectives."""
    lowest = np.arange(clocks)
    matches = int(ends.match.max()) + 1
    while True:
        of_match = np.full(matches, clocks)
        np.minimum.at(of_match, ends.match, lowest[ends.clock])
        after = lowest.copy()
        np.minimum.at(after, ends.clock, of_match[ends.match])
        after = after[after]
        if np.array_equal(after, lowest):
            return lowest
        lowest = after


@dataclass(frozen=True, slots=True, eq=False)
class Solved:
    """What was found so far."""

    clocks: Floats
    """Offset and drift (per half run) of each clock."""
    weight: Floats
    """How much each end counted."""


def solve(ends: Ends, start: Solved, *, drifts: bool, rounds: int = _ROUNDS) -> Solved:
    """The clocks that leave the least absolute residuals."""
    found, weight = start.clocks, start.weight
    for _ in range(rounds):
        found = _least_squares(ends, weight, found, drifts=drifts)
        left = _residuals(ends, found, weight)
        scale = _scale(left)
        weight = scale / np.maximum(np.abs(left), 0.5 * scale)
    return Solved(found, weight)


def _scale(left: Floats) -> float:
    return max(NORMAL * float(np.median(np.abs(left))), _LEAST_SCALE_NS)


def _predicted(ends: Ends, found: Floats) -> Floats:
    return np.asarray(found[ends.clock, 0] + found[ends.clock, 1] * ends.at)


def _less_moment(ends: Ends, values: Floats, weight: Floats) -> Floats:
    """Without the weighted mean over the rows of the same collective."""
    total = np.bincount(ends.match, weight)
    mean = np.bincount(ends.match, weight * values) / np.maximum(total, 1e-300)
    return np.asarray(values - mean[ends.match])


def _residuals(ends: Ends, found: Floats, weight: Floats) -> Floats:
    return _less_moment(ends, ends.end - _predicted(ends, found), weight)


def _least_squares(ends: Ends, weight: Floats, guess: Floats, *, drifts: bool) -> Floats:
    """Conjugate gradients on the normal equations; moments of collectives are eliminated."""
    clocks = len(guess)

    def gathered(left: Floats) -> Floats:
        pulled = weight * left
        by_offset = np.bincount(ends.clock, pulled, clocks)
        by_drift = np.bincount(ends.clock, pulled * ends.at, clocks) if drifts else 0 * by_offset
        return np.stack([by_offset, by_drift], axis=1)

    size = np.stack(
        [
            np.bincount(ends.clock, weight, clocks),
            np.bincount(ends.clock, weight * ends.at**2, clocks),
        ],
        axis=1,
    )
    scaled = np.where(size > 0, 1 / np.maximum(size, 1e-300), 0.0)
    found = guess.copy()
    rest = gathered(_residuals(ends, found, weight))
    ahead = scaled * rest
    step = ahead.copy()
    strength = float((rest * ahead).sum())
    for _ in range(4 * clocks + 20):
        if strength <= 0 or np.abs(ahead).max() < _NEAR_NS:
            break
        bent = gathered(_less_moment(ends, _predicted(ends, step), weight))
        along = float((step * bent).sum())
        if along <= 0:
            break
        found += strength / along * step
        rest -= strength / along * bent
        ahead = scaled * rest
        before, strength = strength, float((rest * ahead).sum())
        step = ahead + strength / before * step
    # Only differences are known: those of an island are told against its median.
    island = islands(ends, clocks)
    centred = found.copy()
    for number in np.unique(island):
        rows = island == number
        centred[rows] -= np.median(found[rows], axis=0)
    return centred


def jackknife(ends: Ends, found: Solved, *, drifts: bool) -> Floats:
    """Standard errors, from leaving out one block of collectives after the other."""
    matches = int(ends.match.max()) + 1
    blocks = min(_BLOCKS, matches)
    many = np.bincount(ends.clock, minlength=len(found.clocks))
    scale = _scale(_residuals(ends, found.clocks, found.weight))
    # No estimate is better than what so many ends can tell.
    least = np.stack([scale / np.sqrt(np.maximum(many, 1))] * 2, axis=1)
    if blocks < 3:
        return least * 2
    # Neighbours in time go to different blocks, so that every one spans the run.
    at = np.zeros(matches)
    at[ends.match] = ends.at
    turn = np.argsort(np.argsort(at)) % blocks
    tries = []
    for block in range(blocks):
        rows = turn[ends.match] != block
        start = Solved(found.clocks, found.weight[rows])
        tries.append(solve(ends.only(rows), start, drifts=drifts, rounds=3).clocks)
    away = np.stack(tries) - found.clocks
    spread: Floats = np.sqrt((blocks - 1) / blocks * (away**2).sum(axis=0))
    return np.maximum(spread, least)
