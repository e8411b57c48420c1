"""When cycles of a running program are too slow: limits for so many false alarms an hour.

Several running sums, each for a shift of another size: what exceeds half of the shift adds up.  How
high sums go by themselves is learned, and extrapolated to what is as rare as false alarms shall be.
So large shifts are seen at once, and small ones through noise that comes in bursts.  A host that is
fast and slow by turns makes sums of any height; beyond its slow turns, a *level* tells: nearly all
of the last few cycles were slower than nearly all of any few before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import msgspec
import numpy as np

from timesink.analyses.statistics.autocorrelation import (
    lag1_autocorrelation,
    steps_per_independent_step,
)
from timesink.analyses.statistics.sequential import running_sums, several, sum_onsets, sum_peaks
from timesink.analyses.statistics.student_t import t_limit
from timesink.analyses.statistics.tails import exponential_tail
from timesink.model.intervals import Flags, Floats, Ints
from timesink.watcher.expected.limits import GroupLimit, group_spread, groups_of
from timesink.watcher.expected.workload import PHASES, CycleWorkload
from timesink.watcher.thresholds import LiveRuleLimits

SHIFTS = (1.2, 1.5, 2.0, 4.0, 16.0)
"""Each has a sum of its own, beside one for the smallest that counts."""
FEW, _SOME, _SPIKES = 5, 3, 0.6
_OF_LEVEL, _SLOWER = 9, 0.76
_MIN_PEAKS, _MAX_PEAKS = 5, 40
_MARGIN, _FARTHEST = 1.2, 1.6
_HIGHEST = 1e5
_LEVEL_CYCLES, _LEVELS, _MIN_LEVELS = 25, 40, 8
_HOLDS = ((2.0, 10.0), (4.0, 2.0))
"""Shifts below so many spreads of usual cycles have to last for so many seconds: what a machine
does for a moment, and did not do while it was learned, is as large as that."""
_WILD, _WILD_HOLD = 0.3, (1.0, 30.0)
"""Cycles that scatter by a third by themselves do so for stretches as well, on a busy machine: a
shift within what nine of ten of them scatter has to last for so many seconds."""
_LARGE = float(np.log(1.5))
_AT_ONCE, _STEADY = 4.0, 2.0
"""What is told at once is as many spreads away, whatever was seen while learning: some cycles, or
nearly all of more of them, which scatter seldom brings about."""
_SPIKE_SHARE, _MIN_SPIKE = 1e-3, 3
_SCALES = ("point", "spread")


class RunningSum(msgspec.Struct, frozen=True):
    """One rule for what lasts."""

    allowance: float
    """Shifts below it are let pass."""
    bound: float
    """What one cycle counts for at most: a single one is nothing lasting."""
    limit: float
    """Sums above it are an alarm ..."""
    stands_out: bool = True
    """... at once, or where usual cycles are as far: once they have risen for some seconds."""

    @property
    def shift(self) -> float:
        """What it is for."""
        return 2 * self.allowance

    @property
    def steps(self) -> float:
        """Its shift is noticed after so many cycles."""
        return self.limit / self.allowance

    @property
    def most(self) -> float:
        """Where sums end, so that they are below the limit soon after the shift."""
        return self.limit + max(8.0, self.steps / 8) * self.allowance


class LiveLimits(msgspec.Struct, frozen=True):
    """When cycles of a running program are too slow."""

    alarms_per_hour: float
    at_least: float
    """Shifts below it, as a share, are nobody's business."""
    busy_edges: list[float]
    groups: list[GroupLimit]
    """`point` is the distance of a single spike."""
    sums: list[RunningSum]
    levels: list[float]
    """By group, the distance that nearly all of a few cycles are beyond when they are too slow."""
    spikes: tuple[int, int] = (_SOME, FEW)
    """So many spikes among so many cycles are an alarm ..."""
    slower: tuple[int, int] = (7, _OF_LEVEL)
    """... or so many that are beyond the level ..."""
    moment: float = 1.0
    """... or fewer for a moment, that are so many times as far as a spike."""

    def problem(self) -> str:
        """Why these are no limits; empty where they are."""
        keys = [(group.phase, group.busy) for group in self.groups]
        every = [(phase, busy) for phase in PHASES for busy in range(len(self.busy_edges) + 1)]
        numbers = [self.alarms_per_hour, self.moment]
        numbers += [
            value for rule in self.sums for value in (rule.allowance, rule.bound, rule.limit)
        ]
        numbers += [value for group in self.groups for value in (group.spread, group.point)]
        numbers += self.levels
        sizes_fit = keys == every and len(self.levels) == len(self.groups)
        few = (self.spikes, self.slower)
        sizes_fit = sizes_fit and all(
            0 < many <= last <= LiveRuleLimits.recent_cycles for many, last in few
        )
        if not sizes_fit or not 0 < len(self.sums) < 100:
            return "its limits do not fit its groups"
        if not np.isfinite([*numbers, *self.busy_edges]).all() or min(numbers) <= 0:
            return "its limits hold numbers that cannot be"
        return ""

    def weights(self, rule: RunningSum) -> Floats:
        """What a cycle of each group counts: less where they scatter more than a rule's shift."""
        spread = np.array([group.spread for group in self.groups])
        return np.asarray(np.clip(max(self.usual, rule.shift) / spread, 0.1, 1.0))

    @property
    def usual(self) -> float:
        """How far cycles of the calmest group scatter."""
        return min((group.spread for group in self.groups if group.rows), default=1.0)

    @property
    def telling(self) -> Flags:
        """Groups whose cycles tell something one by one."""
        rows = np.array([group.rows for group in self.groups])
        spread = np.array([group.spread for group in self.groups])
        common = rows >= max(1.0, LiveRuleLimits.common * rows.sum())
        calmest = float(spread[common].min(initial=np.inf))
        return np.asarray(spread <= max(LiveRuleLimits.telling * calmest, self.level))

    @property
    def soonest(self) -> Floats:
        """By group, the distance that nearly all of a few cycles are beyond when they are told."""
        return np.minimum([group.point for group in self.groups], self.levels)

    @property
    def lasting(self) -> float:
        """The distance below which no shift is told, however long it lasts."""
        return min(rule.allowance for rule in self.sums)

    @property
    def level(self) -> float:
        """What cycles are slower by, at least, when nearly all of a few are too slow."""
        return float(np.log1p(LiveRuleLimits.min_level * self.at_least))


def steps_of(rule: RunningSum, distance: Floats, weight: Floats) -> Floats:
    """What each cycle adds to a running sum."""
    return np.asarray((np.clip(distance, -rule.bound, rule.bound) - rule.allowance) * weight)


def too_high(
    rule: RunningSum, sums: Floats, clocks: tuple[Ints, Floats],
    since: tuple[int, float] | None, spread: Floats,
) -> Flags:  # fmt: skip
    """Where sums are an alarm: above the limit, and for as long as their shift needs to.

    Clocks count cycles and seconds; sums may have begun to rise before, at `since`.
    """
    over = sums > rule.limit
    if over.any():
        cycles, lasts_s = map(partial(_risen, sums), clocks, since or (None, None))
        shift = sums / np.maximum(cycles + 1, 1) + rule.allowance
        over &= lasts_s >= _hold_s(rule, shift, spread)
    return over


def _risen(sums: Floats, clock: Ints | Floats, onset: float | None) -> Floats:
    """How far a clock went while each sum was above zero; the first ones may have been before.

    >>> _risen(np.array([1.0, 2.0, 0.0, 1.0, 2.0]), np.arange(5.0), -2.0)[[0, 1, 3, 4]].tolist()
    [2.0, 3.0, 0.0, 1.0]
    """
    first = sum_onsets(sums)
    since = clock[first].astype(np.float64)
    if onset is not None:
        since = np.where(first == 0, onset, since)
    return np.asarray((clock - since).astype(np.float64))


def _hold_s(rule: RunningSum, shift: Floats, spread: Floats) -> Floats:
    """For how long sums have to rise, by how the shift since they do stands out.

    >>> rule = RunningSum(0.1, 0.8, 3.0, stands_out=False)
    >>> _hold_s(rule, np.full(3, 0.15), np.array([0.1, 0.05, 0.01])).tolist()
    [10.0, 2.0, 0.05]
    """
    at_least = LiveRuleLimits.moment_s / 2 if rule.shift < _LARGE else 0.0
    if rule.stands_out:
        return np.full(len(shift), at_least)
    (least, longest), (few, long), (more, shorter) = _WILD_HOLD, *_HOLDS
    is_within = (spread >= _WILD) & (shift < least * spread)
    kinds = [is_within, shift < few * spread, shift < more * spread]
    return np.asarray(np.select(kinds, [longest, long, shorter], at_least))


def some_for_a_moment(beyond: Flags, start_s: Floats, end_s: Floats) -> Flags:
    """Where some of the last few cycles were beyond, for a moment: slow ones soon are as long.

    The first few only lead in, as those of `several`.

    >>> beyond, starts = np.ones(7, dtype=bool), np.arange(7) / 10
    >>> some_for_a_moment(beyond, starts, starts + 0.05).tolist()
    [True, True, True]
    """
    starts = np.where(beyond, start_s, np.inf)
    first = np.lib.stride_tricks.sliding_window_view(starts, FEW).min(axis=1)
    is_long = beyond[FEW - 1 :] & (end_s[FEW - 1 :] - first >= LiveRuleLimits.moment_s)
    return np.asarray(several(beyond, _SOME, FEW) & is_long)


def live_limits_from(
    cycles: CycleWorkload, distance: Floats, edges: Sequence[float], *, alarms_per_hour: float,
    at_least: float, hours: float, cycle_us: float,
) -> LiveLimits:  # fmt: skip
    """Limits from distances out of fold, stream by stream in order of time."""
    streams = [cycles.runs == run for run in np.unique(cycles.runs)]
    scatter = _level_scatter([distance[mine] for mine in streams])
    least = max(float(np.log1p(at_least)), scatter.least)
    group = groups_of(cycles, edges)
    groups = list(_groups(group, distance, edges, least))
    wanted = max(alarms_per_hour * hours / LiveRuleLimits.correlated_rules, 1e-12)
    plain = LiveLimits(alarms_per_hour, at_least, [*edges], groups, [], [])
    of_moment = round(LiveRuleLimits.moment_s / (1e-6 * cycle_us))
    of_last, of_level = (
        min(LiveRuleLimits.recent_cycles, max(few, of_moment)) for few in (FEW, _OF_LEVEL)
    )
    spikes = int(np.ceil(_SPIKES * of_last)), of_last
    slower = int(np.ceil(_SLOWER * of_level)), of_level
    shortest = max(LiveRuleLimits.shortest, float(spikes[0]) - 0.5)
    sums = [
        _sum_for(
            rule,
            [steps_of(rule, distance[mine], plain.weights(rule)[group[mine]]) for mine in streams],
            wanted, shortest, scatter,
        )
        for rule in (*_slow_rules(scatter, plain), *_rules(least))
    ]  # fmt: skip
    # What takes longer than anybody waits is no rule; the one for the largest shift always is.
    sums = [*(running_sum for running_sum in sums[:-1] if running_sum.steps < _HIGHEST), sums[-1]]
    far = _HOLDS[-1][0] * plain.usual
    sums = [
        msgspec.structs.replace(running_sum, stands_out=running_sum.shift >= far)
        for running_sum in sums
    ]
    telling = plain.telling[group]
    rarely = max(int(telling.sum()) // LiveRuleLimits.block, 1), wanted

    took_s = 1e-6 * cycles.duration_us
    end_s = np.zeros(len(took_s))
    for mine in streams:
        end_s[mine] = np.cumsum(took_s[mine])

    def blocks_beyond(limit: Floats, least: int, last: int) -> int:
        beyond, lead = distance > limit[group], np.zeros(last - 1, dtype=bool)
        parts = [beyond[mine & (telling | beyond)] for mine in streams]
        crowded = (several(np.concatenate([lead, part]), least, last) & part for part in parts)
        return sum(_blocks(flags, LiveRuleLimits.block) for flags in crowded)

    def moments_beyond(limit: Floats) -> int:
        beyond, lead, blocks = distance > limit[group], np.zeros(FEW - 1), 0
        for mine in streams:
            chosen = mine & (telling | beyond)
            ends = np.concatenate([lead, end_s[chosen]])
            starts = np.concatenate([lead, end_s[chosen] - took_s[chosen]])
            flags = np.concatenate([lead > 0, beyond[chosen]])
            blocks += _blocks(some_for_a_moment(flags, starts, ends), LiveRuleLimits.block)
        return blocks

    point, spread = (
        np.array([getattr(group_limit, name) for group_limit in groups]) for name in _SCALES
    )
    point = np.minimum(point, LiveRuleLimits.outlier * spread)
    # Single cycles may be far beyond: what counts is how far several of a few go.
    reach = (LiveRuleLimits.min_point, max(1.0, LiveRuleLimits.widest / float(point.min())))
    times = _rare(lambda by: blocks_beyond(by * point, *spikes), reach, *rarely)
    moment = _rare(lambda by: moments_beyond(by * point), reach, *rarely)
    # Cycles of all groups are beyond their levels alike often, and beyond the least that counts.
    least = plain.level
    reach = (least / float(spread.max()), max(least, LiveRuleLimits.widest) / float(spread.min()))
    level = _rare(lambda by: blocks_beyond(by * spread, *slower), reach, *rarely)
    points = np.maximum(times * point, _AT_ONCE * spread).tolist()
    widened = [
        msgspec.structs.replace(group_limit, point=far)
        for group_limit, far in zip(groups, points, strict=True)
    ]
    slowest = max(least, scatter.reach)
    levels = np.maximum(level * spread, np.maximum(slowest, _STEADY * spread)).tolist()
    return msgspec.structs.replace(
        plain, groups=widened, sums=sums, levels=levels, spikes=spikes, slower=slower,
        moment=max(1.0, moment / times),
    )  # fmt: skip


class _LevelScatter(msgspec.Struct, frozen=True):
    """How far stretches of healthy cycles as a whole are from what is expected, by themselves."""

    least: float
    """Shifts below it are not told from that."""
    reach: float = 0.0
    """How far the level of a healthy stretch goes: farther where few independent ones were seen."""
    cycles: float = 0.0
    """For how many cycles a level lasts."""
    lasting: float = 0.0
    """Shifts below it are not told from long stretches, in which levels that alternate add up."""

    def sum_of(self, rule: RunningSum) -> float:
        """What a running sum comes to while a healthy level is as far as that, and lasts."""
        return max(0.0, min(self.reach, rule.bound) - rule.allowance) * self.cycles


def _level_scatter(streams: Sequence[Floats]) -> _LevelScatter:
    """How far a stretch of cycles as a whole may be: hosts and programs are not always as fast.

    Levels that resemble the one before are few independent ones, however many cycles they last.
    """
    size = max(_LEVEL_CYCLES, sum(len(stream) for stream in streams) // _LEVELS)
    parts = [[stream[at : at + size] for at in range(0, len(stream), size)] for stream in streams]
    sides = [np.array([np.median(part) for part in of if 2 * len(part) >= size]) for of in parts]
    levels = np.concatenate(sides) if sides else np.zeros(0)
    if len(levels) < _MIN_LEVELS:
        return _LevelScatter(0.0)
    spread = float(np.sqrt(np.mean(levels**2)))
    least = min(3 * spread, 1.5 * float(levels.max()))
    long = max(1, len(levels) // LiveRuleLimits.long_levels)
    means = [side[: len(side) // long * long].reshape(-1, long).mean(axis=1) for side in sides]
    stretches = np.concatenate(means)
    lasting = 3 * float(np.sqrt(np.mean(stretches**2))) if len(stretches) else least
    rho = lag1_autocorrelation([side for side in sides if len(side) > 1])
    if rho <= LiveRuleLimits.white / np.sqrt(len(levels)):
        return _LevelScatter(least, lasting=lasting)
    autocorrelation = np.array([min(rho, LiveRuleLimits.max_autocorrelation)])
    weight = float(steps_per_independent_step(len(levels), autocorrelation)[0])
    independent = max(1.0, len(levels) / weight - 1)
    times = t_limit(LiveRuleLimits.rare_level, independent)
    reach = min(times, LiveRuleLimits.farthest_level) * spread
    return _LevelScatter(least, reach, LiveRuleLimits.excursion * weight * size, lasting)


def _slow_rules(scatter: _LevelScatter, limits: LiveLimits) -> Iterator[RunningSum]:
    """Where cycles scatter wildly: a rule for shifts that outlast the stretches of that."""
    allowance = max(float(np.log1p(limits.at_least)), scatter.lasting)
    if limits.usual >= _WILD and LiveRuleLimits.slow_from * allowance < scatter.least:
        yield RunningSum(allowance, 2 * allowance, 1.0)


def _rules(least: float) -> Iterator[RunningSum]:
    """Rules without their limits: the most a cycle counts for is the shift it is for."""
    for allowance in (least, *(float(np.log(shift)) / 2 for shift in SHIFTS)):
        if allowance == least or allowance > 1.2 * least:
            # Where only some cycles are slow, these have to count for the others.
            for bound in (LiveRuleLimits.some_bound, 2) if allowance < 0.3 else (2,):
                yield RunningSum(allowance, bound * allowance, 1.0)


def _sum_for(
    rule: RunningSum, added: Sequence[Floats], wanted: float, shortest: float,
    scatter: _LevelScatter,
) -> RunningSum:  # fmt: skip
    """The limit that sums go beyond so often, by the mean excess of their highest peaks.

    Peaks of levels that wander are few: the limit is beyond what such a level comes to as well.
    """
    peaks = np.sort(
        np.concatenate([sum_peaks(running_sums(steps, 0.0, np.inf)) for steps in added])
    )
    beyond = int(np.clip(len(peaks) // 10, _MIN_PEAKS, _MAX_PEAKS))
    peaks = np.concatenate([np.zeros(max(0, beyond + 1 - len(peaks))), peaks])
    limit = exponential_tail(peaks, beyond, beyond / wanted)
    least = max(shortest * (rule.bound - rule.allowance), scatter.sum_of(rule))
    return msgspec.structs.replace(rule, limit=max(limit, _MARGIN * float(peaks[-1]), least))


def _groups(
    group: Ints, distance: Floats, edges: Sequence[float], least: float
) -> Iterator[GroupLimit]:
    for place in range(len(PHASES) * (len(edges) + 1)):
        phase, busy = divmod(place, len(edges) + 1)
        mine = distance[group == place]
        sample = mine if len(mine) >= LiveRuleLimits.min_in_group else distance
        spread = group_spread(sample)
        yield GroupLimit(
            PHASES[phase], busy, len(mine), spread, max(_spike_from(sample), _MIN_SPIKE * least)
        )


def _spike_from(distance: Floats) -> float:
    """What about one of a thousand is beyond, by the mean excess of the slowest."""
    ordered = np.sort(distance)
    beyond = max(1, min(LiveRuleLimits.tail, len(ordered) // 20))
    return exponential_tail(ordered, beyond, beyond / len(ordered) / _SPIKE_SHARE)


def _blocks(alarm: Flags, size: int) -> int:
    """Stretches of so many cycles that have an alarm."""
    return len(np.unique(np.flatnonzero(alarm) // size))


def _rare(
    count: Callable[[float], int], reach: tuple[float, float], total: int, wanted: float
) -> float:
    """The smallest value within reach at which alarms are about as rare as wanted.

    Of what was learned, it is known where the last alarm goes and how fast they become fewer up to
    there; alarms that are rarer still are taken to become fewer at that pace.
    """
    low, high = reach
    many = max(1, min(LiveRuleLimits.many, total // 5))
    none = _smallest(lambda value: count(value) == 0, low / 8, high)
    few = _smallest(lambda value: count(value) <= many, low / 8, none)
    pace = max(none - few, 0.02 * none) / float(np.log(many + 1))
    estimate = none + pace * max(0.0, -float(np.log(max(wanted, 1e-12))))
    # What is that much slower than anything before is worth an alarm, however wild it was.
    return float(np.clip(np.clip(estimate, _MARGIN * none, _FARTHEST * none), low, high))


def _smallest(is_enough: Callable[[float], bool], low: float, high: float) -> float:
    if is_enough(low):
        return low
    while high / low > 1.01:
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
