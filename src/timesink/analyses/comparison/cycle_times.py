"""How long the cycles of two roles are, and whether they differ."""

from __future__ import annotations

import numpy as np
import polars as pl

from timesink.analyses.comparison.pair import CycleTimes
from timesink.analyses.comparison.role import cycle_lengths
from timesink.analyses.statistics.moments import QUIETLY, Floats, Moments, moments
from timesink.analyses.statistics.ranks import rank_test
from timesink.analyses.statistics.welch import welch_interval


@QUIETLY
def cycle_times(base: pl.DataFrame, new: pl.DataFrame) -> CycleTimes:
    """Lengths of the cycles of two behaviour tables; means are 0 where no length is known.

    >>> base = pl.DataFrame({"cycle": [1, 1, 2], "cycle_dur_ns": [100, 100, 120]})
    >>> found = cycle_times(base, base)
    >>> found.base_ns, found.base_mean_ns, found.change_pct
    ((100, 120), 110.0, 0.0)
    """
    lengths = [cycle_lengths(side).to_numpy().astype(np.float64) for side in (base, new)]
    before, after = (_moments_of(side) for side in lengths)
    base_mean, new_mean = float(before.mean[0]), float(after.mean[0])
    return CycleTimes(
        base_ns=tuple(int(length) for length in lengths[0]),
        new_ns=tuple(int(length) for length in lengths[1]),
        base_mean_ns=base_mean,
        new_mean_ns=new_mean,
        change_pct=100 * (new_mean - base_mean) / base_mean if base_mean and new_mean else None,
        interval_ns=welch_interval(before, after),
        rank_p=rank_test(lengths[0], lengths[1]),
    )


def _moments_of(lengths: Floats) -> Moments:
    return moments(np.zeros(len(lengths), dtype=np.int64), lengths, 1)
