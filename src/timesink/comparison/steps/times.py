"""Time per cycle of every function of two roles, whether or not it has a metric."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from timesink.analyses.behaviour.summary import once_per_cycle, plain_texts
from timesink.analyses.statistics.change_points import regime_p, segments, warm_up
from timesink.analyses.statistics.exact import SeparatedSteps, separated_steps
from timesink.analyses.statistics.mean_changes import mean_changes
from timesink.analyses.statistics.moments import QUIETLY, moments, moments_with_zeros
from timesink.analyses.statistics.permutation import permutation_p, trimmed_mean
from timesink.analyses.statistics.rank_tests import rank_p, rank_test
from timesink.analyses.statistics.robust import without_outliers
from timesink.analyses.statistics.significance import ALPHA
from timesink.analyses.statistics.student_t import welch_p
from timesink.comparison.repeated_runs import DETECT_PCT, decide
from timesink.comparison.results import (
    FAMILIES,
    TIMES,
    ComparedRuns,
    CycleTimes,
    Process,
    cycle_lengths,
)
from timesink.comparison.steps.sides import Sides, is_related, match_functions, side_by_side
from timesink.model import intervals
from timesink.model.diagnosis import SIDES, SteadyTimes
from timesink.model.intervals import Floats, Ints

_KEY = ["function", "device"]
_AMOUNTS = ["dur_ns", "calls", "beta_pct"]


def time_rows(base: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    """One row per function and device, largest change of time first, then by name.

    Means are over all cycles of a side, with zero for cycles in which the function did not run.
    Tests and changes that are not defined are null.
    """
    compared = time_changes(base, new, _KEY)
    # What is the same in every cycle: class, name as people say it, and whether it has metrics.
    texts = [*_KEY, "function_class", "short_name"]
    described = (
        pl.concat([side.select(*texts, "metric") for side in (base, new)])
        .group_by(_KEY)
        .agg(
            pl.col("function_class", "short_name").drop_nulls().first(),
            measured=pl.col("metric").is_not_null().any(),
        )
        .cast(dict.fromkeys(texts, pl.String))
    )
    table = compared.join(described, on=_KEY, how="left", nulls_equal=True)
    order = [pl.col("delta_ns").abs(), *_KEY]
    return (
        table.select(TIMES.keys())
        .cast(pl.Schema(TIMES))
        .sort(order, descending=[True, False, False])
    )


@QUIETLY
def time_changes(base: pl.DataFrame, new: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """Time, calls and share per cycle of whatever the columns of the key name, on both sides.

    The key may be any columns, such as a family that was added to a behaviour table.
    """
    sides = side_by_side(_per_cycle(base, key), _per_cycle(new, key), key)
    cycles = [np.full(len(sides.keys), side["cycle"].n_unique()) for side in (base, new)]
    amounts = {
        name: [
            moments_with_zeros(sides.key[part], sides.floats(name)[part], count)
            for part, count in zip(sides.parts, cycles, strict=True)
        ]
        for name in _AMOUNTS
    }
    before, after = amounts["dur_ns"]
    columns: dict[str, Any] = {
        "runs_on": sides.runs_on(),
        "base_ns": before.mean,
        "new_ns": after.mean,
        "delta_ns": after.mean - before.mean,
        "change_pct": np.where(
            before.mean > 0, 100 * (after.mean - before.mean) / before.mean, np.nan
        ),
        "calls_base": amounts["calls"][0].mean,
        "calls_new": amounts["calls"][1].mean,
        "beta_base_pct": amounts["beta_pct"][0].mean,
        "beta_new_pct": amounts["beta_pct"][1].mean,
        "welch_p": np.where(np.minimum(*cycles) > 1, welch_p(before, after), np.nan),
        "rank_p": _rank_p(sides, cycles),
    }
    return sides.table(columns).with_columns(
        pl.col("change_pct", "welch_p", "rank_p").fill_nan(None)
    )


def _per_cycle(side: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """Time of each key in each cycle; a function with several metrics has it in several rows."""
    return (
        once_per_cycle(side)
        .group_by("cycle", *key, maintain_order=True)
        .agg(pl.col(_AMOUNTS).sum())
    )


def _rank_p(sides: Sides, cycles: list[Ints]) -> Floats:
    """Over all cycles: one row more per key and side stands for the cycles it did not run in."""
    groups = len(sides.keys)
    absent = [
        count - np.bincount(sides.key[part], minlength=groups)
        for part, count in zip(sides.parts, cycles, strict=True)
    ]
    every = np.arange(groups)
    values = np.concatenate([sides.floats("dur_ns"), np.zeros(2 * groups)])
    weights = np.concatenate([np.ones(len(sides.key), dtype=np.int64), *absent])
    number = np.concatenate([sides.key, every, every])
    is_new = np.concatenate([sides.is_new, np.zeros(groups, bool), np.ones(groups, bool)])
    some = weights > 0
    return rank_p(number[some], is_new[some], values[some], groups, weights[some])


_COLUMNS = ["cycle", "function", "device", "function_class", "dur_ns", "calls", "beta_pct"]
_FAMILY_KEY = ["family", "name", "device"]


def family_rows(base: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    """Time per cycle by normalised name or family, where exact names do not meet.

    Kernels of other devices and versions of libraries have other names for the same work: they meet
    by normalised name, else by what they do.  A row holds every function of its name, and of its
    family all that are in no row of their own, so that it is the whole of both sides.  What has no
    counterpart at all is there too, with names on one side only.  Largest change first.
    """
    base, new = (plain_texts(side.select(_COLUMNS)) for side in (base, new))
    left = pl.col("level").is_in(["family", "alone"])
    # What took over from a function may have run before as well, under the same name.
    rest = (pl.col("level") == "exact") & is_related() & left.any().over("device", "family")
    name = pl.when(pl.col("level") == "normalised").then(pl.col("normalised"))
    named = match_functions(base, new).with_columns(name.alias("name"))
    keys = named.filter((pl.col("level") != "exact") | rest).select("function", *_FAMILY_KEY)
    if keys.is_empty():
        return pl.DataFrame(schema=FAMILIES)
    sides = [
        side.join(keys, _KEY, "left", nulls_equal=True, maintain_order="left")
        for side in (base, new)
    ]
    # Cycles in which none of them ran count too, so the rest of the rows stays in until here.
    changes = time_changes(sides[0], sides[1], _FAMILY_KEY).filter(pl.col("family").is_not_null())
    for side, column in zip(sides, ("names_base", "names_new"), strict=True):
        # The functions behind each row, those that took longest first.
        names = (
            once_per_cycle(side.filter(pl.col("family").is_not_null()))
            .group_by(*_FAMILY_KEY, "function")
            .agg(pl.col("dur_ns").sum())
            .sort("dur_ns", "function", descending=[True, False])
            .group_by(_FAMILY_KEY, maintain_order=True)
            .agg(pl.col("function").alias(column))
        )
        changes = changes.join(names, _FAMILY_KEY, "left", nulls_equal=True)
    both = pl.col("names_base", "names_new").fill_null(pl.lit([], dtype=pl.List(pl.String)))
    order = [pl.col("delta_ns").abs(), *_FAMILY_KEY]
    table = changes.with_columns(both).select(
        pl.col(name).cast(kind) for name, kind in FAMILIES.items()
    )
    return table.sort(order, descending=[True, False, False, False])


_CLOSE = 5.0
"""Parts follow each other within this many cycles."""
_OFTEN_GIVEN = 1000
"""Processes up to this number are those of a machine that has just started: every container begins
with 1 again."""
_AS_BETWEEN_CYCLES = 2.0
"""Parts of one run are no farther apart than this many times the longest pause within them ..."""
_MIN_PAUSE = 0.1
"""... or this part of a cycle."""
_MAX_OVERLAP = 0.01
"""Part of the time of one side that cycles of the other may share: a process runs one at a time."""

_SAME_FUNCTIONS, _OF_THE_SAME_CYCLES = 0.5, 0.9
"""Part of the functions that parts of one run have in common; and the very same cycles."""


def are_parts_of_one_run(base: Process, new: Process) -> bool:
    """Whether one process did the cycles of both without a pause.

    They touch, interleave or are the same ones.  Files may differ, as a recording can be cut in
    two.  Clocks that start anew with every run make cycles of different runs overlap, which those
    of one run do not.  Where one side follows the other, the number of the process may be one that
    every run is given: then its cycles go on counting, or there is no pause between the sides.
    """
    elsewhere = base.host and new.host and base.host != new.host
    if not base.pid or base.pid != new.pid or elsewhere or not _run_the_same(base, new):
        return False
    before, after = cycle_spans(base.behaviour), cycle_spans(new.behaviour)
    if before.is_empty() or after.is_empty():
        return base.source == new.source
    only_new = after.join(before, ["start_ns", "end_ns"], "anti")
    if only_new.is_empty() or before.join(after, ["start_ns", "end_ns"], "anti").is_empty():
        return _run_the_same(base, new, _OF_THE_SAME_CYCLES)
    sides = [side.select("start_ns", "end_ns").to_numpy() for side in (before, only_new)]
    lengths = [side[:, 1] - side[:, 0] for side in sides]
    usual = max(float(side.mean()) for side in lengths)
    shared = int(intervals.coverage_within(sides[0], sides[1]).sum())
    nearest = _nearest(sides[0], sides[1])
    if shared > _MAX_OVERLAP * lengths[1].sum() or nearest > _CLOSE * usual:
        return False
    says_who = not (base.pid.isdigit() and int(base.pid) <= _OFTEN_GIVEN)
    # Or no number of a cycle comes twice, and later cycles have higher ones.
    both = pl.concat([before, only_new]).sort("start_ns", maintain_order=True)["cycle"]
    goes_on = bool((both.diff().drop_nulls() > 0).all())
    # Or the pause between both sides is one as between the cycles of a side.
    pauses = np.concatenate([side[1:, 0] - side[:-1, 1] for side in sides])
    longest = max(_AS_BETWEEN_CYCLES * float(pauses.max(initial=0)), _MIN_PAUSE * usual)
    return says_who or goes_on or nearest <= longest


def cycle_spans(behaviour: pl.DataFrame) -> pl.DataFrame:
    """When every cycle began and ended, in order; none where that is not recorded."""
    start, length = pl.col("cycle_ts_ns"), pl.col("cycle_dur_ns")
    return (
        behaviour.lazy()
        .select("cycle", start_ns=start, end_ns=start + length)
        .filter(pl.col("end_ns") > pl.col("start_ns"))
        .unique("cycle", keep="first")
        .sort("start_ns", "cycle")
        .collect(engine="in-memory")
    )


def _run_the_same(base: Process, new: Process, part: float = _SAME_FUNCTIONS) -> bool:
    """Whether they have functions in common: this part of those of the side with fewer."""
    if not all("function" in role.behaviour.columns for role in (base, new)):
        return True
    before, after = (
        set(role.behaviour["function"].unique().cast(pl.String)) for role in (base, new)
    )
    return len(before & after) >= part * min(len(before), len(after))


def _nearest(base: Ints, new: Ints) -> float:
    """Shortest pause between a cycle of one side and one of the other."""
    starts, ends = np.concatenate([base, new]).T
    is_new = np.arange(len(starts)) >= len(base)
    order = np.argsort(starts, kind="stable")
    switch = np.flatnonzero(is_new[order][1:] != is_new[order][:-1])
    return float((starts[order][switch + 1] - ends[order][switch]).min())


# How long the cycles of two roles are, and whether they differ.
#
# Three tests have to agree, as each is wrong where another is not: means against how far levels
# wander, trimmed means against exchanged cycles, which few outliers do not bend, and between parts
# of one run levels, each counted once.

_LASTING = 3
"""Cycles a level lasts that is worth mentioning ..."""
_APART = 1.1
"""... as are levels of which the highest is this many times the lowest."""
_ENOUGH_PLAIN = 10
"""Cycles of one run a side that are judged instead of recorded ones."""
_Tested: TypeAlias = tuple[
    tuple[float, float] | None, float | None, SteadyTimes | None, SeparatedSteps | None
]
"""Interval of the change, its p-value and what was tested, none of these with too few cycles; and
exact bounds where they decide."""


@QUIETLY
def cycle_times(base: pl.DataFrame, new: pl.DataFrame, *, one_run: bool = False) -> CycleTimes:
    """Lengths of the cycles of two behaviour tables; means are 0 where no length is known.

    `one_run` says that both are parts of one run.
    """
    lengths = [cycle_lengths(side).to_numpy().astype(np.float64) for side in (base, new)]
    drift = _drift_p(base, new) if one_run else None
    return replace(_compared_lengths(lengths, drift), one_run=one_run)


def plain_times(
    base: Process, new: Process, *, detect_pct: float | None = None
) -> ComparedRuns | None:
    """What cycles without the profiler say of two sides; None where one of them has none.

    `detect_pct` is what runs were made for that were looked at after each; None of others.
    """
    if not (base.plain and new.plain):
        return None
    runs = tuple(
        replace(run, side=side)
        for side, role in zip(SIDES, (base, new), strict=True)
        for run in role.plain
    )
    if max(len(base.plain), len(new.plain)) > 1 or detect_pct is not None:
        looking = detect_pct is not None
        return ComparedRuns(runs, decide(runs, detect_pct or DETECT_PCT, looking=looking))
    if min(len(run.cycles_ns) for run in runs) < _ENOUGH_PLAIN:
        return None  # recorded ones tell more
    return ComparedRuns(runs, _compared_lengths([run.cycles_ns for run in runs], None))


@QUIETLY
def _compared_lengths(lengths: list[Floats], drift: float | None) -> CycleTimes:
    base_mean, new_mean = (_mean(side) for side in lengths)
    warm = [warm_up(side) for side in lengths]
    steady = [side[first:] for side, first in zip(lengths, warm, strict=True)]
    interval, p, tested, exact = _tested_change(steady[0], steady[1], new_mean - base_mean, drift)
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
        steady=tested,
        exact_p=None if exact is None else exact.p_value,
    )


def _mean(lengths: Floats) -> float:
    return float(moments(np.zeros(len(lengths), dtype=np.int64), lengths, 1).mean[0])


def _tested_change(base: Floats, new: Floats, change: float, drift: float | None) -> _Tested:
    """Interval of the change and its p-value, from cycles after warm-up.

    The interval holds `change`, that of all cycles, and excludes 0 only where all tests do, or
    where it is that of the exact bounds.
    """
    if min(len(base), len(new)) < 2:
        return None, None, None, None
    mean_change = mean_changes(base[:, None], new[:, None])
    tests = [float(mean_change.p[0]), permutation_p(base, new), drift]
    p = max(test for test in tests if test is not None)
    tested = (float(mean_change.calm_delta[0]), trimmed_mean(new) - trimmed_mean(base))
    agree = tested[0] * tested[1] > 0
    low, high = float(mean_change.low[0]), float(mean_change.high[0])
    before, after = without_outliers(base[:, None], new[:, None])
    certain = _holding_0(low, high, certain=agree and p < ALPHA)
    steady = SteadyTimes(float(before.mean()), float(after.mean()), certain)
    is_turned = any(estimate * change <= 0 for estimate in tested)
    is_drift = drift is not None and drift >= ALPHA
    if p >= ALPHA and not is_turned and not is_drift:
        exact = separated_steps(base, new)
        if exact is not None and (exact.low > 1) == (change > 0):
            middle = float(base.mean())
            low, high = middle * (exact.low - 1), middle * (exact.high - 1)
            exact_interval = _widen_interval(low, high, steady.new_ns - steady.base_ns)
            steady = replace(steady, interval_ns=exact_interval)
            return _widen_interval(low, high, change), exact.p_value, steady, exact
    if is_turned:
        # What warm-up or outliers make of the means is the opposite of what most cycles say.
        p = 1.0
    interval = _holding_0(*_widen_interval(low, high, change), certain=p < ALPHA)
    return interval, p, steady, None


def _widen_interval(low: float, high: float, change: float) -> tuple[float, float]:
    """An interval that holds the change of the means as well."""
    return min(low, change), max(high, change)


def _holding_0(low: float, high: float, *, certain: bool) -> tuple[float, float]:
    return (low, high) if certain else (min(low, 0.0), max(high, 0.0))


def _drift_p(base: pl.DataFrame, new: pl.DataFrame) -> float | None:
    """Whether levels differ between two parts of one run, in the order of its cycles.

    A run that stays at one level has no parts that differ: where every fourth cycle is longer, all
    of these may be in one part.
    """
    sides = [cycle_spans(base), cycle_spans(new)]
    is_new = np.repeat([False, True], [side.height for side in sides])
    start, end = pl.concat(sides).select("start_ns", "end_ns").to_numpy().T
    if not len(start):
        return None
    order = np.argsort(start, kind="stable")
    (calm,) = without_outliers((end - start)[order, None].astype(np.float64))
    p_value = regime_p(calm[:, 0], is_new[order])
    return 1.0 if p_value is None else p_value


def _levels(lengths: Floats) -> tuple[float, ...]:
    """Levels that cycles stay at for a while, where they are apart; isolated outliers are none."""
    (calm,) = without_outliers(lengths[:, None])
    levels = tuple(segment.level for segment in segments(calm[:, 0]) if segment.length >= _LASTING)
    return levels if len(levels) > 1 and max(levels) >= _APART * min(levels) else ()
