"""How far from what is expected a cycle may be: one limit for a spike, one rule for what lasts.

Limits come from runs the model did not see while it learned (*out of fold*), so they hold for new
ones.  Distances are ln(observed / expected): twice as slow and twice as fast are equally far.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec
import numpy as np

from timesink.analyses.statistics.sequential import running_sums, sum_onsets
from timesink.analyses.statistics.tails import exponential_tail
from timesink.model.arrays import run_starts
from timesink.model.intervals import Flags, Floats, Ints
from timesink.watcher.expected.workload import PHASES, CycleWorkload
from timesink.watcher.thresholds import LearnedLimits


class GroupLimit(msgspec.Struct, frozen=True):
    """What is normal for cycles of one phase that are about as busy."""

    phase: str
    busy: int
    rows: int
    spread: float
    """What nine of ten distances stay within."""
    point: float
    """The distance of a spike."""


class DurationLimits(msgspec.Struct, frozen=True):
    """When a cycle is too slow."""

    rate: float
    """False alarms per cycle that were asked for."""
    busy_edges: list[float]
    groups: list[GroupLimit]
    allowance: float
    """Lasting shifts below it are let pass."""
    level: float
    """How far runs as a whole may be from what is expected: so much of it is a run's own."""
    extrapolated: bool
    """Whether alarms are to be rarer than what was seen can tell."""

    def problem(self) -> str:
        """Why these are no limits; empty where they are."""
        keys = {(group.phase, group.busy) for group in self.groups}
        numbers = [self.rate, self.allowance, self.level, *self.busy_edges]
        numbers += [value for group in self.groups for value in (group.spread, group.point)]
        every = {(phase, busy) for phase in PHASES for busy in range(len(self.busy_edges) + 1)}
        if len(self.busy_edges) >= 100 or keys != every or len(self.groups) != len(every):
            return "its limits do not fit its groups"
        if not np.isfinite(numbers).all() or min(numbers[:2]) <= 0 or self.level < 0:
            return "its limits hold numbers that cannot be"
        return "" if all(group.spread > 0 for group in self.groups) else "a spread is not positive"


def groups_of(cycles: CycleWorkload, edges: Sequence[float]) -> Ints:
    """The group of each cycle, as a place in `Limits.groups`."""
    busy = np.searchsorted(np.array(edges, dtype=np.float64), np.nan_to_num(cycles.busy))
    return np.asarray(cycles.phases * (len(edges) + 1) + busy)


def limits_for_new_runs(cycles: CycleWorkload, distance: Floats, rate: float) -> DurationLimits:
    """Limits that `rate` of the cycles of new runs are beyond.

    More cycles of other runs are beyond limits than of those they were made from: how many more is
    seen with runs left out in turn, and so many fewer are asked for.
    """
    runs = np.unique(cycles.runs)
    if len(runs) < 2 * LearnedLimits.parts or rate * len(cycles) < LearnedLimits.min_beyond:
        return limits_from(cycles, distance, rate)
    beyond = 0
    for part in range(LearnedLimits.parts):
        left_out = np.isin(cycles.runs, runs[part :: LearnedLimits.parts])
        limits = limits_from(cycles.part(~left_out), distance[~left_out], rate)
        mine = cycles.part(left_out)
        distances = own_distance(limits.level, mine, distance[left_out])
        beyond += int(
            (spikes(limits, mine, distances) | lasting_shifts(limits, mine, distances)[0]).sum()
        )
    seen = beyond / len(cycles)
    lowered_rate = rate * float(np.clip(rate / max(seen, 1e-9), 0.1, 1.0))
    raw_limits = limits_from(cycles, distance, lowered_rate)
    return msgspec.structs.replace(raw_limits, rate=rate)


def limits_from(cycles: CycleWorkload, distance: Floats, rate: float) -> DurationLimits:
    """Limits that `rate` of these cycles are beyond, half of them spikes, half lasting."""
    levels = [abs(run_level) for run_level, _ in run_levels(cycles, distance).values()]
    level = float(np.quantile(levels, LearnedLimits.level_share)) if levels else 0.0
    distance = own_distance(level, cycles, distance)
    odd = np.isin(cycles.runs, _odd_runs(cycles, distance))
    cycles, distance = cycles.part(~odd), distance[~odd]
    settled = np.zeros(len(cycles), dtype=bool)
    for run, (_, known_from) in run_levels(cycles, distance).items():
        settled[known_from:] |= cycles.runs[known_from:] == run
    shares = np.linspace(0, 1, LearnedLimits.busy_levels + 1)[1:-1]
    edges = np.unique(np.quantile(np.nan_to_num(cycles.busy), shares)).tolist()
    group = groups_of(cycles, edges)
    every = distance[settled] if settled.sum() >= LearnedLimits.min_in_group else distance
    group_limits = []
    for place in range(len(PHASES) * (len(edges) + 1)):
        mine = distance[(group == place) & settled]
        phase, busy = divmod(place, len(edges) + 1)
        sample = mine if len(mine) >= LearnedLimits.min_in_group else every
        spread = group_spread(sample)
        point = max(_upper_limit(sample, rate / 2), LearnedLimits.min_slowdown)
        group_limits.append(GroupLimit(PHASES[phase], busy, len(mine), spread, point))
    # What is unusual comes run by run: few runs tell of nothing rare.
    rare = (
        len(distance) * rate / 2 < LearnedLimits.min_beyond
        or rate * len(np.unique(cycles.runs)) < 1
    )
    limits = DurationLimits(rate, edges, group_limits, 1.0, level, rare)
    return msgspec.structs.replace(limits, allowance=_allowance(limits, cycles, distance))


def group_spread(distance: Floats) -> float:
    """What nine of ten distances stay within."""
    return max(float(np.quantile(np.abs(distance), 0.9)), 1e-4)


def _odd_runs(cycles: CycleWorkload, distance: Floats) -> list[int]:
    """Runs that became slower than all others: most likely not normal, and no measure for it."""
    later = {}
    for run, (_, known_from) in run_levels(cycles, distance).items():
        mine = np.flatnonzero(cycles.runs == run)
        if mine[-1] >= known_from:
            later[run] = float(np.median(distance[mine[mine >= known_from]]))
    count = int(LearnedLimits.odd_runs * len(np.unique(cycles.runs)))
    return sorted(later, key=lambda run: later[run])[len(later) - count :] if count else []


def _upper_limit(distance: Floats, rate: float) -> float:
    """What a new distance is beyond with this probability.

    >>> round(_upper_limit(np.arange(999.0), 0.01), 6)
    989.0
    """
    count = len(distance)
    ordered = np.sort(distance)
    if count * rate >= LearnedLimits.min_beyond:
        rank = int(np.ceil((count + 1) * (1 - rate) - 1e-9))
        return float(ordered[min(rank, count) - 1])
    # The logarithm of a ratio falls off about exponentially: its mean excess tells how fast.
    beyond = min(LearnedLimits.tail, count // 2)
    return exponential_tail(ordered, beyond, beyond / count / rate, least_excess=1e-4)


def _allowance(limits: DurationLimits, cycles: CycleWorkload, distance: Floats) -> float:
    """The smallest shift that is let pass for the sake of few alarms."""
    low, high = LearnedLimits.min_slowdown / 2, 2.0
    wanted = limits.rate / 2
    for _ in range(14):
        middle = float(np.sqrt(low * high))
        tried = msgspec.structs.replace(limits, allowance=middle)
        share = float(np.mean(lasting_shifts(tried, cycles, distance)[0])) if len(distance) else 0.0
        low, high = (low, middle) if share <= wanted else (middle, high)
    return high


def run_levels(cycles: CycleWorkload, distance: Floats) -> dict[int, tuple[float, int]]:
    """The median distance of the first steady cycles of each run, and where it is known from."""
    levels = {}
    for run in np.unique(cycles.runs).tolist():
        mine = np.flatnonzero(cycles.runs == run)
        steady = mine[cycles.phases[mine] == 0]
        first = (steady if len(steady) else mine)[: LearnedLimits.level_cycles]
        if len(first) == LearnedLimits.level_cycles:
            levels[run] = (float(np.median(distance[first])), int(first[-1]) + 1)
    return levels


def own_distance(level: float, cycles: CycleWorkload, distance: Floats) -> Floats:
    """Distances without what is a run's own, as far as normal runs differ.

    Until that is known a run has the benefit of the doubt.
    """
    corrected: Floats = distance - level
    for run, (run_level, known_from) in run_levels(cycles, distance).items():
        later = np.flatnonzero(cycles.runs == run)
        later = later[later >= known_from]
        corrected[later] = distance[later] - np.clip(run_level, -level, level)
    return corrected


def spikes(limits: DurationLimits, cycles: CycleWorkload, distance: Floats) -> Flags:
    """Cycles that are too slow by themselves."""
    point = np.array([group.point for group in limits.groups])
    return np.asarray(distance > point[groups_of(cycles, limits.busy_edges)])


def lasting_shifts(
    limits: DurationLimits, cycles: CycleWorkload, distance: Floats
) -> tuple[Flags, Ints]:
    """Cycles of a shift that lasts, and where the excess of each began, as places here.

    A cumulative sum per run: what exceeds the allowance adds up, what is below takes away, and
    cycles that scatter more count for less.  It is bounded, so that it ends soon after the shift.
    """
    spread = np.array([group.spread for group in limits.groups])
    usual = min((group.spread for group in limits.groups if group.rows), default=1.0)
    weight = np.clip(usual / spread, 0.1, 1.0)[groups_of(cycles, limits.busy_edges)]
    allowance = limits.allowance
    bound = LearnedLimits.clip * allowance
    steps = (np.clip(distance, -bound, bound) - allowance) * weight
    limit, most = LearnedLimits.steps * allowance, 2 * LearnedLimits.steps * allowance
    alarm, onset = np.zeros(len(steps), dtype=bool), np.zeros(len(steps), dtype=np.int64)
    for first, end in pairwise([*run_starts(cycles.runs).tolist(), len(steps)]):
        sums = running_sums(steps[first:end], 0.0, most)
        alarm[first:end], onset[first:end] = sums > limit, first + sum_onsets(sums)
    return alarm, onset
