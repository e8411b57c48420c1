"""How long the cycles of two roles are, and whether they differ.

Three tests have to agree, as each is wrong where another is not: means against how far levels
wander (`statistics.drifting`), trimmed means against exchanged cycles, which few outliers do not
bend (`statistics.permutation`), and between parts of one run levels, each counted once
(`statistics.regimes`).
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import polars as pl

from timesink.analyses.comparison.one_run import cycle_spans
from timesink.analyses.comparison.pair import CycleTimes
from timesink.analyses.comparison.role import cycle_lengths
from timesink.analyses.statistics.discovery import ALPHA
from timesink.analyses.statistics.drifting import mean_changes, without_outliers
from timesink.analyses.statistics.moments import QUIETLY, moments
from timesink.analyses.statistics.permutation import permutation_p, trimmed_mean
from timesink.analyses.statistics.ranks import rank_test
from timesink.analyses.statistics.regimes import regime_p, segments, warm_up
from timesink.model.arrays import Floats
from timesink.model.diagnosis import SteadyTimes

_LASTING = 3
"""Cycles a level lasts that is worth mentioning ..."""
_APART = 1.1
"""... as are levels of which the highest is this many times the lowest."""
_Tested: TypeAlias = tuple[tuple[float, float] | None, float | None, SteadyTimes | None]
"""Interval of the change, its p-value and what was tested; none of these with too few cycles."""


@QUIETLY
def cycle_times(base: pl.DataFrame, new: pl.DataFrame, *, one_run: bool = False) -> CycleTimes:
    """Lengths of the cycles of two behaviour tables; means are 0 where no length is known.

    `one_run` says that both are parts of one run.
    """
    lengths = [cycle_lengths(side).to_numpy().astype(np.float64) for side in (base, new)]
    base_mean, new_mean = (_mean(side) for side in lengths)
    warm = [warm_up(side) for side in lengths]
    steady = [side[first:] for side, first in zip(lengths, warm, strict=True)]
    drift = _drift_p(base, new) if one_run else None
    interval, p, tested = _tested(steady[0], steady[1], new_mean - base_mean, drift)
    return CycleTimes(
        base_ns=tuple(int(length) for length in lengths[0]),
        new_ns=tuple(int(length) for length in lengths[1]),
        base_mean_ns=base_mean,
        new_mean_ns=new_mean,
        change_pct=100 * (new_mean - base_mean) / base_mean if base_mean and new_mean else None,
        interval_ns=interval,
        rank_p=rank_test(lengths[0], lengths[1]),
        p_value=p,
        warm_up=(warm[0], warm[1]),
        levels_ns=(_levels(steady[0]), _levels(steady[1])),
        one_run=one_run,
        steady=tested,
    )


def _mean(lengths: Floats) -> float:
    return float(moments(np.zeros(len(lengths), dtype=np.int64), lengths, 1).mean[0])


def _tested(base: Floats, new: Floats, change: float, drift: float | None) -> _Tested:
    """Interval of the change and its p-value, from cycles after warm-up.

    The interval holds `change`, that of all cycles, and excludes 0 only where all tests do.
    """
    if min(len(base), len(new)) < 2:
        return None, None, None
    found = mean_changes(base[:, None], new[:, None])
    tests = [float(found.p[0]), permutation_p(base, new), drift]
    p = max(test for test in tests if test is not None)
    tested = (float(found.calm_delta[0]), trimmed_mean(new) - trimmed_mean(base))
    agree = tested[0] * tested[1] > 0
    low, high = float(found.low[0]), float(found.high[0])
    steady = _steady(base, new, _holding_0(low, high, certain=agree and p < ALPHA))
    if any(one * change <= 0 for one in tested):
        # What warm-up or outliers make of the means is the opposite of what most cycles say.
        p = 1.0
    interval = _holding_0(min(low, change), max(high, change), certain=p < ALPHA)
    return interval, p, steady


def _holding_0(low: float, high: float, *, certain: bool) -> tuple[float, float]:
    return (low, high) if certain else (min(low, 0.0), max(high, 0.0))


def _steady(base: Floats, new: Floats, interval: tuple[float, float]) -> SteadyTimes:
    calm = without_outliers(base[:, None], new[:, None])
    return SteadyTimes(float(calm[0].mean()), float(calm[1].mean()), interval)


def _drift_p(base: pl.DataFrame, new: pl.DataFrame) -> float | None:
    """Whether levels differ between two parts of one run, in the order of its cycles.

    A run that stays at one level has no parts that differ: where every fourth cycle is longer, all
    of these may be in one part.
    """
    spans = pl.concat(
        [
            cycle_spans(side).with_columns(is_new=pl.lit(value))
            for side, value in ((base, False), (new, True))
        ]
    ).sort("start_ns", maintain_order=True)
    lengths = (spans["end_ns"] - spans["start_ns"]).to_numpy().astype(np.float64)
    if not len(lengths):
        return None
    (calm,) = without_outliers(lengths[:, None])
    found = regime_p(calm[:, 0], spans["is_new"].to_numpy())
    return 1.0 if found is None else found


def _levels(lengths: Floats) -> tuple[float, ...]:
    """Levels that cycles stay at for a while, where they are apart; isolated outliers are none."""
    (calm,) = without_outliers(lengths[:, None])
    levels = tuple(one.level for one in segments(calm[:, 0]) if one.length >= _LASTING)
    return levels if len(levels) > 1 and max(levels) >= _APART * min(levels) else ()
