"""Fewer points for a drawn line that still looks the same: largest triangles of three buckets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from timesink.model.arrays import Floats, Ints

_PASSES = 20
"""How often all runs are looked at together before the rest is done one by one.

Each choice depends on the one before it, yet hardly ever on the choices far before.  So all are
made at once, from the means of the runs before, and made again where the one before has changed.
Only very regular lines need the choices one after the other.
"""


def largest_triangles(x: Floats, y: Floats, count: int) -> Ints:
    """Places of at most `count` points (three or more) that keep the shape of a line.

    First and last stay.  The rest is cut into runs of nearly equal length; of each run stays the
    point that spans the largest triangle with the point kept before it and the mean of the next
    run.
    """
    if len(x) <= count:
        return np.arange(len(x))
    runs = _Runs.of(x, y, count - 2)
    chosen = runs.best(np.arange(count - 2), runs.mean_x[:-2], runs.mean_y[:-2])
    stale = np.arange(count - 2)
    for _ in range(_PASSES):
        before = np.where(stale > 0, chosen[stale - 1], 0)
        better = runs.best(stale, x[before], y[before])
        changed = stale[better != chosen[stale]]
        chosen[stale] = better
        stale = changed[changed + 1 < len(chosen)] + 1
    _settle(runs, chosen, stale.tolist(), x, y)
    return np.concatenate([[0], chosen, [len(x) - 1]])


def _settle(runs: _Runs, chosen: Ints, stale: list[int], x: Floats, y: Floats) -> None:
    """Choose again, one run after the other, until a choice stays as it was."""
    settled = 0
    for first in stale:
        if first < settled:
            continue
        run = first
        while run < len(chosen):
            before = chosen[run - 1] if run else 0
            better = runs.best_of_one(run, x[before], y[before])
            if better == chosen[run]:
                break
            chosen[run] = better
            run += 1
        settled = run + 1


@dataclass(frozen=True, slots=True)
class _Runs:
    """Runs of points between the first and the last one."""

    first: Ints
    """Place of the first point of each run."""
    x: Floats
    """One row per run, one column per point; the last point again where a run is shorter."""
    y: Floats
    mean_x: Floats
    """Of the point before the runs, of each run, and of the point after them."""
    mean_y: Floats

    @classmethod
    def of(cls, x: Floats, y: Floats, runs: int) -> _Runs:
        """Cut into this many runs, the longer ones first."""
        shortest, longer = divmod(len(x) - 2, runs)
        length = np.where(np.arange(runs) < longer, shortest + 1, shortest)
        first = 1 + np.cumsum(length) - length
        places = first[:, None] + np.minimum(np.arange(length[0]), length[:, None] - 1)
        means = [np.add.reduceat(line[1:-1], first - 1) / length for line in (x, y)]
        return cls(
            first,
            x[places],
            y[places],
            np.concatenate([x[:1], means[0], x[-1:]]),
            np.concatenate([y[:1], means[1], y[-1:]]),
        )

    def best(self, runs: Ints, before_x: Floats, before_y: Floats) -> Ints:
        """The place of the largest triangle in each of the runs, the first of equal ones."""
        area = self.y[runs]
        area -= before_y[:, None]
        area *= (before_x - self.mean_x[runs + 2])[:, None]
        other = self.x[runs]
        other -= before_x[:, None]
        other *= (self.mean_y[runs + 2] - before_y)[:, None]
        area += other
        return np.asarray(self.first[runs] + np.abs(area, out=area).argmax(axis=1))

    def best_of_one(self, run: int, before_x: float, before_y: float) -> int:
        """The same for a single run."""
        area = (self.y[run] - before_y) * (before_x - self.mean_x[run + 2])
        area += (self.x[run] - before_x) * (self.mean_y[run + 2] - before_y)
        return int(self.first[run]) + int(np.abs(area).argmax())
