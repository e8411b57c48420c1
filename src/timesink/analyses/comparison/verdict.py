"""What of a pair differs by more than noise: cycle time, functions, counters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.analyses.comparison.pair import CycleTimes, Pair
from timesink.model.counter_units import quantity

ALPHA = 0.05
"""Chance of calling a difference one that is none."""
_FEWEST = 4
"""Cycles a side needs before a rank test can reach ALPHA at all."""
_LEAST_SHARE = 0.01
"""Functions matter whose time changed by this part of a cycle."""
_LEAST_LOG_RATIO = 0.1
"""Counters matter that changed by about this part of their value."""
_LEAST_CHANGE = {"%": 2.0, "% of a core": 10.0, "C": 10.0, "B/s": 20e6, "kB/s": 20e3}
"""And, where their unit has a scale, by this much: a device that is busy 1 % of the time or half of
that is idle, and its temperature tells of the run before."""

CYCLE_CHANGES = ("longer", "shorter", "doubtful", "none", "unknown")
"""What became of the cycles: a clear change, one on which the tests disagree, none beyond noise, or
too few cycles to say."""


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """What differs by more than noise."""

    cycles: str
    """One of CYCLE_CHANGES."""
    functions: tuple[int, ...]
    """Rows of `Pair.times`: functions whose time per cycle changed, largest change first."""
    counters: tuple[int, ...]
    """Rows of `Pair.rows`: each counter and device that changed once, strongest change first, seen
    in the function that tells most about it."""

    @property
    def nothing(self) -> bool:
        """Whether both runs are the same as far as one can tell."""
        return self.cycles in {"none", "unknown"} and not self.functions and not self.counters


def verdict(pair: Pair) -> Verdict:
    """What differs by more than noise between the two sides of a pair."""
    return Verdict(
        cycle_change(pair.cycle_times),
        tuple(_changed_functions(pair)),
        tuple(_changed_counters(pair.rows)),
    )


def cycle_change(times: CycleTimes) -> str:
    """Whether cycles became longer or shorter; one of CYCLE_CHANGES.

    >>> cycle_change(CycleTimes((10,) * 9, (30,) * 9, 10.0, 30.0, 200.0, (19.0, 21.0), 0.001))
    'longer'
    >>> cycle_change(CycleTimes((10,) * 9, (11,) * 9, 10.0, 11.0, 10.0, (-1.0, 3.0), 0.4))
    'none'
    """
    if times.interval_ns is None:
        return "unknown"
    low, high = times.interval_ns
    # Lengths that are all alike on both sides have an interval without width.
    apart = (low > 0 or high < 0) and times.base_mean_ns != times.new_mean_ns
    few = min(len(times.base_ns), len(times.new_ns)) < _FEWEST
    ranks_apart = apart if few or times.rank_p is None else times.rank_p < ALPHA
    if apart and ranks_apart:
        return "longer" if times.new_mean_ns > times.base_mean_ns else "shorter"
    return "doubtful" if apart or ranks_apart else "none"


def _changed_functions(pair: Pair) -> list[int]:
    """Functions whose time changed by a part of the cycle that matters."""
    cycles = pair.cycle_times
    least = _LEAST_SHARE * max(min(cycles.base_mean_ns, cycles.new_mean_ns), 1)
    told = (
        pair.times.with_row_index("place")
        .filter(pl.col("delta_ns").abs() >= least)
        .with_columns(p=either_p("welch_p", "rank_p"))
    )
    told = told.filter(pl.Series(_false_discovery(told["p"].to_numpy()) < ALPHA))
    return told.sort(pl.col("delta_ns").abs(), "place", descending=[True, False])["place"].to_list()


def _changed_counters(rows: pl.DataFrame) -> list[int]:
    """Each counter of a device once: functions of a cycle share its samples."""
    told = (
        rows.with_row_index("place")
        .filter(pl.col("runs_on").cast(pl.String) == "both")
        .with_columns(seen=pl.min_horizontal("cycles_base", "cycles_new"))
        .sort("seen", pl.col("beta_base_pct") + pl.col("beta_new_pct"), descending=True)
        .unique(["metric", "device"], keep="first", maintain_order=True)
        .with_columns(effect=_log_ratio(), p=either_p("mu_welch_p", "mu_rank_p"))
        .filter(pl.col("seen") > 1)
    )
    strong = pl.Series(_false_discovery(told["p"].to_numpy()) < ALPHA)
    told = told.filter(strong & (told["effect"].abs() > _LEAST_LOG_RATIO) & _large(told))
    order = told.sort(pl.col("effect").abs(), "metric", "device", descending=[True, False, False])
    return order["place"].to_list()


def _large(rows: pl.DataFrame) -> pl.Series:
    """Whether counters changed by an amount that matters in their unit."""
    changes = (quantity(*row) for row in rows.select("mu_delta", "unit").iter_rows())
    large = [abs(change) >= _LEAST_CHANGE.get(unit, 0.0) for change, unit in changes]
    return pl.Series(large, dtype=pl.Boolean)


def either_p(*columns: str) -> pl.Expr:
    """One p-value of two tests: twice the smaller, as there were two chances to be wrong.

    Means find what ranks cannot in few cycles, ranks what means cannot beside an outlier.
    """
    known = [pl.col(column).fill_nan(1).fill_null(1) for column in columns]
    return (pl.min_horizontal(known) * len(columns)).clip(upper_bound=1)


def _log_ratio() -> pl.Expr:
    """How many times as high a counter is, as a logarithm; from or to nothing is without bounds."""
    base, new = pl.col("mu_base"), pl.col("mu_new")
    return pl.when(base == new).then(0.0).otherwise((new / base).log()).fill_nan(0.0)


def _false_discovery(p: np.ndarray) -> np.ndarray:
    """p-values after Benjamini and Hochberg: at most that share of those below is noise.

    >>> _false_discovery(np.array([0.01, 0.04, 0.5])).round(3).tolist()
    [0.03, 0.06, 0.5]
    """
    order = np.argsort(p, kind="stable")
    scaled = p[order] * len(p) / np.arange(1, len(p) + 1)
    adjusted = np.empty_like(scaled)
    adjusted[order] = np.minimum.accumulate(scaled[::-1])[::-1]
    return np.minimum(adjusted, 1.0)
