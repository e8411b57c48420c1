"""What of a pair differs by more than noise: cycle time, functions, counters.

Functions have a time per cycle whether or not they have a metric.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import replace
from math import isnan, log
from typing import Any, TypeAlias

import msgspec
import numpy as np
import polars as pl
from msgspec import structs

from timesink.analyses.behaviour.classes import SIDE_WAIT, UNTRACED
from timesink.analyses.behaviour.functions import WAITING
from timesink.analyses.behaviour.summary import (
    NOTHING_RECORDED,
    of_cycles_alone,
    once_per_cycle,
    plain_texts,
)
from timesink.analyses.columns import (
    among,
    encode,
    in_schema,
    memoize_per_table,
    memoize_per_trace,
)
from timesink.analyses.statistics.change_points import regime_p, segments, warm_up
from timesink.analyses.statistics.exact import SeparatedSteps, fewest_steps, separated_steps
from timesink.analyses.statistics.mean_changes import mean_changes
from timesink.analyses.statistics.moments import QUIETLY, moments, moments_with_zeros
from timesink.analyses.statistics.permutation import permutation_p, trimmed_mean
from timesink.analyses.statistics.rank_tests import rank_p, rank_test
from timesink.analyses.statistics.robust import without_outliers
from timesink.analyses.statistics.significance import false_discovery
from timesink.analyses.statistics.student_t import welch_p
from timesink.analyses.thresholds import SignificanceLimits
from timesink.comparison.repeated_runs import Decision, decide
from timesink.comparison.results import (
    FAMILIES,
    TIMES,
    WITHIN,
    ComparedRuns,
    CycleTimes,
    Pair,
    Process,
    Workload,
    cycle_lengths,
)
from timesink.comparison.steps.recorded_events import Unrecorded, find_unrecorded
from timesink.comparison.steps.sides import (
    Sides,
    comparison_rows,
    functions_meet,
    has_counters,
    is_related,
    key_findings,
    known_rows,
    match_functions,
    side_by_side,
    unlike_metrics,
    with_common_units,
    with_matching_devices,
    with_places,
)
from timesink.comparison.steps.workload import check_workload, with_equal_work
from timesink.comparison.thresholds import RepeatedRunsLimits, StepsVerdictLimits
from timesink.model import intervals, units
from timesink.model.diagnosis import PLAIN, SIDES, CycleTime, SteadyTimes, StepTimeTest
from timesink.model.intervals import Floats, Ints
from timesink.model.schema import HOST_DEVICE
from timesink.model.units import change, interval_pct, quantity, times

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
        pl.concat([plain_texts(side)[[*texts, "metric"]] for side in (base, new)])
        .group_by(_KEY)
        .agg(
            pl.col("function_class", "short_name").drop_nulls().first(),
            measured=pl.col("metric").is_not_null().any(),
        )
    )
    table = compared.join(described, on=_KEY, how="left", nulls_equal=True)
    order = [pl.col("delta_ns").abs(), *_KEY]
    return in_schema(table, TIMES).sort(order, descending=[True, False, False])


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
    for name in ("change_pct", "welch_p", "rank_p"):
        values = [None if isnan(value) else value for value in columns[name].tolist()]
        columns[name] = pl.Series(name, values, dtype=pl.Float64)
    return sides.table(columns)


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
    base, new = (plain_texts(side) for side in (base, new))
    if functions_meet(base, new):
        return pl.DataFrame(schema=FAMILIES)
    base, new = base[_COLUMNS], new[_COLUMNS]
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
    times = [list(zip(side["start_ns"], side["end_ns"], strict=True)) for side in (before, after)]
    is_only_new = [time not in shared for shared in [set(times[0])] for time in times[1]]
    if not any(is_only_new) or set(times[0]) <= set(times[1]):
        return _run_the_same(base, new, _OF_THE_SAME_CYCLES)
    only_new = after if all(is_only_new) else after.filter(pl.Series(is_only_new))
    sides = [side.select("start_ns", "end_ns").to_numpy() for side in (before, only_new)]
    lengths = [side[:, 1] - side[:, 0] for side in sides]
    usual = max(float(side.mean()) for side in lengths)
    shared = int(intervals.coverage_within(sides[0], sides[1]).sum())
    nearest = _nearest(sides[0], sides[1])
    if (
        shared > StepsVerdictLimits.max_overlap * lengths[1].sum()
        or nearest > StepsVerdictLimits.close * usual
    ):
        return False
    says_who = not (base.pid.isdigit() and int(base.pid) <= StepsVerdictLimits.often_given)
    # Or no number of a cycle comes twice, and later cycles have higher ones.
    both = pl.concat([before, only_new]).sort("start_ns", maintain_order=True)["cycle"]
    goes_on = bool((both.diff().drop_nulls() > 0).all())
    # Or the pause between both sides is one as between the cycles of a side.
    pauses = np.concatenate([side[1:, 0] - side[:-1, 1] for side in sides])
    longest = max(
        StepsVerdictLimits.as_between_cycles * float(pauses.max(initial=0)),
        StepsVerdictLimits.min_pause * usual,
    )
    return says_who or goes_on or nearest <= longest


@memoize_per_table
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
    before, after = (set(encode(role.behaviour["function"])[1]) for role in (base, new))
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
        return ComparedRuns(
            runs, decide(runs, detect_pct or RepeatedRunsLimits.detect_pct, looking=looking)
        )
    if min(len(run.cycles_ns) for run in runs) < StepsVerdictLimits.enough_plain:
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
    certain = _holding_0(low, high, certain=agree and p < SignificanceLimits.alpha)
    steady = SteadyTimes(float(before.mean()), float(after.mean()), certain)
    is_turned = any(estimate * change <= 0 for estimate in tested)
    is_drift = drift is not None and drift >= SignificanceLimits.alpha
    if p >= SignificanceLimits.alpha and not is_turned and not is_drift:
        exact = separated_steps(base, new)
        if exact is not None and (exact.low > 1) == (change > 0):
            middle = float(base.mean())
            low, high = middle * (exact.low - 1), middle * (exact.high - 1)
            exact_interval = _widen_interval(low, high, steady.new_ns - steady.base_ns)
            steady = structs.replace(steady, interval_ns=exact_interval)
            return _widen_interval(low, high, change), exact.p_value, steady, exact
    if is_turned:
        # What warm-up or outliers make of the means is the opposite of what most cycles say.
        p = 1.0
    interval = _holding_0(*_widen_interval(low, high, change), certain=p < SignificanceLimits.alpha)
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
    levels = tuple(
        segment.level
        for segment in segments(calm[:, 0])
        if segment.length >= StepsVerdictLimits.lasting
    )
    return (
        levels if len(levels) > 1 and max(levels) >= StepsVerdictLimits.apart * min(levels) else ()
    )


# -- verdicts --------------------------------------------------------------------------------------

_MIN_LOG_RATIO = -log(0.9) - 1e-12
"""Counters matter that changed by a tenth of the larger value or more, whichever side has it."""
_MIN_CHANGE = {"%": 2.0, "% of a core": 10.0, "C": 10.0, "B/s": 20e6}
"""And, where their unit has a scale, by this much: a device that is busy 1 % of the time or half of
that is idle, and its temperature tells of the run before."""

_NO_CHANGE = frozenset({"none", "cannot tell", "unknown"})


class PairChanges(msgspec.Struct, frozen=True, eq=False):
    """What differs by more than noise."""

    cycles: str
    """What became of them, as `cycle_change` says."""
    functions: tuple[int, ...]
    """Rows of `Pair.times`: functions whose time per cycle changed, largest change first."""
    counters: tuple[int, ...]
    """Rows of `Pair.rows`: each counter and device that changed once, strongest change first, seen
    in the function that tells most about it."""
    unrecorded: Unrecorded = msgspec.field(default_factory=Unrecorded)
    """What one side did not record; `functions` has none of these."""

    @property
    def nothing(self) -> bool:
        """Whether both runs are the same as far as one can tell."""
        return self.cycles in _NO_CHANGE and not self.functions and not self.counters


@memoize_per_trace
def judge_pair(pair: Pair) -> PairChanges:
    """What differs by more than noise between the two sides of a pair."""
    missing_sorts = unrecorded_in(pair.times)
    return PairChanges(
        cycle_change(pair.cycle_times),
        tuple(_changed_functions(pair, missing_sorts)),
        tuple(_changed_counters(pair.loads)),
        missing_sorts,
    )


def cycle_change(times: CycleTimes) -> str:
    """Whether cycles became `longer` or `shorter`.

    `doubtful` is a change that shows in ranks and not beyond how far levels wander, `none` one
    within noise, `cannot tell` a scatter in which a change of a tenth would not be seen, and
    `unknown` too few lengths to say anything.
    """
    if times.interval_ns is None:
        return "none" if times.base_ns and times.base_ns == times.new_ns else "unknown"
    low, high = times.interval_ns
    # Lengths that are all alike on both sides have an interval without width.
    if (low > 0 or high < 0) and times.base_mean_ns != times.new_mean_ns:
        return "longer" if times.new_mean_ns > times.base_mean_ns else "shorter"
    # Whether a change that matters would have been seen; a run is always the same as itself.
    same = sorted(times.base_ns) == sorted(times.new_ns)
    if same or max(-low, high) <= StepsVerdictLimits.narrow * max(times.means_ns):
        return "none"
    ranks_apart = (
        times.fewest >= StepsVerdictLimits.min_steps_for_rank_test
        and times.rank_p is not None
        and times.rank_p < SignificanceLimits.alpha
    )
    # Parts of one run may be at other levels: that is drift.
    return "doubtful" if ranks_apart and not times.one_run else "cannot tell"


def _changed_functions(pair: Pair, missing_sorts: Unrecorded) -> list[int]:
    """Functions whose time changed by a part of the cycle that matters.

    As for counters: the p-values of all that could matter are corrected together, and of those that
    changed beyond noise the ones stay that changed by enough.
    """
    # The shorter of both cycles; where no length is known, the time of what runs in them.
    lengths = [pair.cycle_times.base_mean_ns, pair.cycle_times.new_mean_ns]
    lengths = [length for length in lengths if length > 0]
    lengths = lengths or [float(pair.times[side].sum()) for side in ("base_ns", "new_ns")]
    least = StepsVerdictLimits.min_share * max(min(lengths), 1.0)
    base_ns, new_ns, delta_ns = (
        pair.times[name].to_numpy() for name in ("base_ns", "new_ns", "delta_ns")
    )
    could = np.maximum(base_ns, new_ns) >= least
    place = np.flatnonzero(_may_differ(pair.times, missing_sorts).to_numpy() & could)
    p = np.minimum(*(np.nan_to_num(pair.times[of].to_numpy(), nan=1.0) for of in _TESTS))[place]
    # One p-value of two tests, as of counters below.
    certain = false_discovery(np.minimum(p * len(_TESTS), 1)) < SignificanceLimits.alpha
    place = place[certain]
    place = place[np.abs(delta_ns[place]) >= least]
    places: list[int] = place[np.argsort(-np.abs(delta_ns[place]), kind="stable")].tolist()
    return places


_TESTS = ("welch_p", "rank_p")


def _may_differ(times: pl.DataFrame, missing_sorts: Unrecorded) -> pl.Series:
    """Which functions can be told to have changed.

    Not those that one side did not record, nor their callers where the time of these would explain
    the change.  Waiting for other threads is told by what these do, and threads beside the
    cycles that only wait hold nobody up.
    """
    if not missing_sorts.any:
        classes = times["function_class"]
        of_others = among(times["function"], {WAITING}) & among(classes, {UNTRACED})
        return pl.Series("differs", ~(of_others | among(classes, {SIDE_WAIT})))
    missing = times.filter(
        missing_sorts.of_these(),
        pl.col("device") == HOST_DEVICE,
        pl.col("function_class").ne_missing(UNTRACED),
    )
    hidden = missing.select((pl.col("base_ns") - pl.col("new_ns")).abs().sum()).item()
    moved = missing_sorts.call_these() & (pl.col("delta_ns").abs() <= hidden)
    waits = (pl.col("function") == WAITING) & (pl.col("function_class") == UNTRACED)
    waits |= pl.col("function_class") == SIDE_WAIT
    differs = ~(missing_sorts.of_these() | moved | waits.fill_null(value=False))
    return times.select(differs.alias("differs")).to_series()


def unrecorded_in(times: pl.DataFrame) -> Unrecorded:
    """What one of the sides of `Pair.times` did not record."""
    base, new = (
        times.filter((times[f"calls_{side}"] > 0) | (times[f"{side}_ns"] > 0))
        for side in ("base", "new")
    )
    return find_unrecorded(base, new)


def _changed_counters(rows: pl.DataFrame) -> list[int]:
    """Each counter of a device once: functions of a cycle share its samples."""
    if rows.is_empty():
        return []
    share = pl.col("beta_base_pct") + pl.col("beta_new_pct")
    # How many times as high a counter is, as a logarithm; from or to nothing is without bounds.
    base, new = pl.col("mu_base"), pl.col("mu_new")
    effect = pl.when(base == new).then(0.0).otherwise((new / base).log())
    counters = (
        rows.with_row_index("place")
        .filter(pl.col("runs_on").cast(pl.String) == "both")
        .with_columns(seen=pl.min_horizontal("cycles_base", "cycles_new"))
        .sort("seen", share, "function", descending=[True, True, False])
        .unique(["metric", "device"], keep="first", maintain_order=True)
        .with_columns(effect=effect.fill_nan(0.0), p=either_p("mu_welch_p", "mu_rank_p"))
        .filter(pl.col("seen") > 1)
    )
    strong = pl.Series(false_discovery(counters["p"].to_numpy()) < SignificanceLimits.alpha)
    # Whether counters changed by an amount that matters in their unit.
    changes = (quantity(*row) for row in counters.select("mu_delta", "unit").iter_rows())
    large = [abs(change) >= _MIN_CHANGE.get(unit, 0.0) for change, unit in changes]
    enough = (counters["effect"].abs() >= _MIN_LOG_RATIO) & pl.Series(large, dtype=pl.Boolean)
    counters = counters.filter(strong & enough)
    order = counters.sort(
        pl.col("effect").abs(), "metric", "device", descending=[True, False, False]
    )
    return order["place"].to_list()


def either_p(*columns: str) -> pl.Expr:
    """One p-value of two tests: twice the smaller, as there were two chances to be wrong.

    Means find what ranks cannot in few cycles, ranks what means cannot beside an outlier.
    """
    p_values = [pl.col(column).fill_nan(1).fill_null(1) for column in columns]
    return (pl.min_horizontal(p_values) * len(columns)).clip(upper_bound=1)


def compare_roles(
    base: Process, new: Process, kind: str, *, detect_pct: float | None = None
) -> Pair:
    """The pair of two roles; `kind` is as in `Pair`, `detect_pct` as in `plain_times`.

    Devices and units that only differ in name are brought together first.  Where the cycles of both
    sides do not hold the same work, the pair has a second one in it, of cycles put together until
    they do, if that is possible.
    """
    if base.plain and new.plain and {_is_silent(base), _is_silent(new)} == {True, False}:
        base, new = _without_calls(base), _without_calls(new)
    unlike = unlike_metrics(base.behaviour, new.behaviour)
    base, new, unlike_units = with_common_units(base, new)
    placed = with_places(base, new)
    matched, note = with_matching_devices(*placed)
    workload = check_workload(placed[0], matched)
    remarks = [*unlike_units]
    for role in (base, new):
        if not has_counters(role.behaviour):
            continue
        rows = role.behaviour.filter(pl.col("metric").is_not_null())
        if not rows["mu"].is_finite().any():
            remarks.append(
                f"{role.label} names counters but holds no value of them: none is compared."
            )
    remarks += [note] if note else []
    workload = replace(workload, reasons=(*workload.reasons, *remarks))
    pair = _pair(placed[0], matched, kind, workload, unlike)
    # Of several runs it does not matter whether those with a timeline are parts of one.
    several = max(len(base.plain), len(new.plain)) > 1
    judged = several or not pair.cycle_times.one_run
    if workload.comparable and kind != WITHIN and judged:
        pair = replace(pair, plain=plain_times(base, new, detect_pct=detect_pct))
    regrouped = with_equal_work(pair.base, pair.new, workload)
    if regrouped is not None:
        equal = _pair(*regrouped, kind, check_workload(*regrouped), unlike)
        pair = replace(pair, equal_work=equal)
    # Whether rows are to be as published, where every device is only ever itself.
    published = kind != "peers" and base.method is None and new.method is None
    if published and (note or placed != (base, new)):
        return replace(pair, **_rows(base.behaviour, new.behaviour, unlike))
    return pair


_OF_CYCLES = ("cycle", "cycle_type", "pid", "host", "anchor", "cycle_ts_ns", "cycle_dur_ns")


def _is_silent(role: Process) -> bool:
    """Whether nothing but the length of cycles is known."""
    return not (role.behaviour["calls"] > 0).any()


def _without_calls(role: Process) -> Process:
    """A role of which nothing but the length of cycles is known, as of the other side."""
    table = role.behaviour.unique("cycle", keep="first", maintain_order=True).select(_OF_CYCLES)
    return replace(role, behaviour=of_cycles_alone(table), anatomy=None, program=None)


def _pair(
    base: Process, new: Process, kind: str, workload: Workload, unlike: AbstractSet[str]
) -> Pair:
    sides = base.behaviour, new.behaviour
    return Pair(
        kind=kind,
        base=base,
        new=new,
        cycle_times=cycle_times(*sides, one_run=are_parts_of_one_run(base, new)),
        workload=workload,
        times=time_rows(*sides).filter(pl.col("function") != NOTHING_RECORDED),
        families=family_rows(*sides),
        **_rows(*sides, unlike),
    )


def _rows(base: pl.DataFrame, new: pl.DataFrame, unlike: AbstractSet[str]) -> dict[str, Any]:
    """What a pair says about shares and counters."""
    rows = comparison_rows(base, new)
    return {
        "rows": rows,
        "known_rows": known_rows(rows, base, new, unlike),
        "findings": key_findings(rows),
    }


UNEQUAL_WORK = "The steps of the two runs do not do the same work."
NO_LENGTHS = "Step time is not recorded on both sides."


def judge_lengths(lengths: CycleTimes) -> StepTimeTest:
    """The verdict on lengths of steps, without any notes."""
    same = lengths.base_ns == lengths.new_ns
    scale, interval = lengths.base_mean_ns / 100, None
    if lengths.interval_ns is not None and scale:
        interval = (lengths.interval_ns[0] / scale, lengths.interval_ns[1] / scale)
    # One step has no scatter, and yet a run does not differ from itself.
    p_value = 1.0 if same and lengths.base_ns else lengths.p_value
    cycle_time = CycleTime(*lengths.means_ns, lengths.change_pct, interval, p_value, lengths.steady)
    if not (lengths.base_ns and lengths.new_ns):
        return StepTimeTest("incomparable", NO_LENGTHS, cycle_time)
    if p_value is None:
        means, by = times(*lengths.means_ns), change(*lengths.means_ns)
        reason = f"One step in a run is too few to tell a change: {means} ({by})."
        return StepTimeTest("incomparable", reason, cycle_time)
    verdict = "no_change"
    if p_value < SignificanceLimits.alpha:
        is_longer = lengths.new_mean_ns > lengths.base_mean_ns
        verdict = "regression" if is_longer else "improvement"
    return StepTimeTest(verdict, step_time_sentence(lengths, verdict), cycle_time)


def step_time_sentence(lengths: CycleTimes, verdict: str) -> str:
    """What became of step time by a verdict of `VERDICTS`: its change and how sure that is."""
    base_ns, new_ns = lengths.means_ns
    means, by = times(base_ns, new_ns), change(base_ns, new_ns)
    interval = ""
    if lengths.interval_ns is not None:
        low, high = lengths.interval_ns
        bounds = f"{units.brief_ns(low)} to {units.brief_ns(high)}"
        if base_ns:
            bounds = interval_pct(100 * low / base_ns, 100 * high / base_ns)
        interval = f"95 % interval {bounds}"
    if verdict in {"regression", "improvement"}:
        sure = f" ({interval})" if interval else ""
        return f"Steps take {longer_by(base_ns, new_ns)}, {means}{sure}.{exact_words(lengths)}"
    if lengths.base_ns == lengths.new_ns:
        return f"No change in step time: {units.brief_ns(new_ns)} in both runs."
    state = cycle_change(lengths)
    estimate = f"{by}, {interval}" if interval else by
    if state == "none":
        noise = f"{means}, within noise"
        return f"No change in step time ({noise}{f'; {interval}' if interval else ''})."
    if state == "doubtful":
        return f"Step time drifts within the runs, so {means} ({estimate}) may be noise."
    return (
        f"Step time varies too much to tell a change, {means} ({estimate}).{too_few_words(lengths)}"
    )


def longer_by(base_ns: float, new_ns: float) -> str:
    """How much longer or shorter something takes: `37.1 % longer`, `6.4 times as long`."""
    by = change(base_ns, new_ns)
    if by.endswith(" x"):
        return f"{by.removesuffix(' x')} times as long"
    return f"{by.lstrip('+-')} {'longer' if new_ns > base_ns else 'less time'}"


def exact_words(lengths: CycleTimes) -> str:
    """That all steps of one run are longer than all of the other, where that decides; else empty.

    Begins with a space: a sentence to add to another.
    """
    if lengths.exact_p is None:
        return ""
    base, new = lengths.tested_counts
    is_longer = lengths.new_mean_ns > lengths.base_mean_ns
    p = units.chance(lengths.exact_p)
    p = f"p {p}" if p.startswith("<") else f"p = {p}"
    how = "longer" if is_longer else "shorter"
    return f" All {new} new steps are {how} than all {base} base steps (exact {p})."


def too_few_words(lengths: CycleTimes) -> str:
    """That no order of so few steps decides anything, and how many do; else empty."""
    base, new = lengths.tested_counts
    if min(base, new) < 1 or lengths.least_p < SignificanceLimits.alpha:
        return ""
    counts = f"{new} steps" if base == new else f"{base} and {new} steps"
    return (
        f" {counts} in each run can at best give p = {lengths.least_p:.2g}: record at least "
        f"{fewest_steps(SignificanceLimits.alpha)} after warm-up."
    )


_VERDICTS = {"slower": "regression", "faster": "improvement"}
_STEPS = {"mean": "Steps, rare slow ones included,", "fast": "Fast steps"}
_NOT_IN_TURN = (
    "The runs of base and new did not alternate: a change of the machine in between counts as a "
    "change of the program."
)
_ONE_RUN = (
    "Measured on unprofiled steps, one run each. Equal runs differ too, which one run of each "
    "cannot show."
)


def judge_plain(plain: ComparedRuns) -> StepTimeTest:
    """The verdict on unprofiled steps."""
    result = plain.result
    if isinstance(result, CycleTimes):
        judged = judge_lengths(result)
        time = structs.replace(judged.cycle_time, by=PLAIN)
        reason = f"{judged.reason} Measured on unprofiled steps, one run each."
        notes = (_ONE_RUN,)
        return structs.replace(judged, reason=reason, cycle_time=time, notes=notes)
    leading = result.leading
    scale = leading.base_ns / 100
    bounds = leading.interval_pct
    interval_ns = None if bounds is None else (scale * bounds[0], scale * bounds[1])
    mean = result.mean
    time = CycleTime(
        mean.base_ns,
        mean.new_ns,
        mean.change_pct,
        mean.interval_pct,
        None,
        SteadyTimes(leading.base_ns, leading.new_ns, interval_ns),
        plain.runs[0].by,
        result.runs,
        result.outcome,
        result.more_runs,
    )
    verdict = _VERDICTS.get(result.outcome, "no_change")
    return StepTimeTest(
        verdict, decision_sentence(result), time, () if result.pairs else (_NOT_IN_TURN,)
    )


def decision_sentence(decision: Decision) -> str:
    """What runs of both sides say, in a sentence or two."""
    leading, runs = decision.leading, decision.runs
    many = f"{runs[0]}" if runs[0] == runs[1] else f"{runs[0]} and {runs[1]}"
    of = f"{many} runs a side"
    what = _STEPS.get(leading.statistic, "Steps")
    by = change(leading.base_ns, leading.new_ns)
    means = times(leading.base_ns, leading.new_ns)
    interval = ""
    if leading.interval_pct is not None:
        interval = f"99 % interval {interval_pct(*leading.interval_pct)}; "
    if decision.outcome in _VERDICTS:
        much = longer_by(leading.base_ns, leading.new_ns)
        return f"{what} take {much}, {means} ({interval}{of})."
    estimate = f"{by}, {interval or '; '}{of}".replace(", ; ", "; ")
    if decision.outcome == "same":
        return f"No change in step time beyond {decision.detect_pct:g} %: {means} ({estimate})."
    return f"Too uncertain to tell: {means} ({estimate}).{_what_decides(decision)}"


def _what_decides(decision: Decision) -> str:
    bounds = decision.typical.interval_pct
    if bounds is not None and max(-bounds[0], bounds[1]) <= decision.detect_pct:
        rare = change(decision.mean.base_ns, decision.mean.new_ns)
        return f" Most steps take as long as before; rare slow ones change the mean by {rare}."
    more = decision.more_runs
    if any(figure.certain for figure in decision.figures):
        least = f" At least {RepeatedRunsLimits.min_runs} runs of each side are needed."
        return (
            least
            if decision.runs[0] != decision.runs[1]
            or min(decision.runs) < RepeatedRunsLimits.min_runs
            else ""
        )
    return (
        "" if more is None else f" About {units.count_noun(more, 'more runs')} a side would decide."
    )
