"""When cycles of a running program are too slow: limits for so many false alarms an hour.

Several running sums, each over more cycles than the one before: the shortest sees large shifts at
once, longer ones see small shifts through noise that comes in bursts.  Allowances are the smallest
that raised nothing in what was learned, and as much more as rarer alarms need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from timesink.analyses.expected.limits import GroupLimit, groups_of
from timesink.analyses.expected.workload import PHASES, CycleWorkload, Floats, Ints

STEPS = (8, 24, 96, 384, 1536)
"""A shift of twice the allowance is noticed after so many cycles."""
SPIKES, OF_LAST = 3, 5
_FEWEST_BLOCKS = 20
_MANY = 16
"""Blocks with an alarm that tell how fast alarms become rarer."""
_MARGIN = 1.1
_WIDEST = 5.0
_FEWEST_IN_GROUP = 60
_SPIKE_SHARE = 1e-3
_TAIL = 40


class RunningSum(msgspec.Struct, frozen=True):
    """One rule for what lasts."""

    steps: int
    allowance: float
    """Shifts below it are let pass."""

    @property
    def bound(self) -> float:
        """What one cycle counts for at most: a single one is nothing lasting."""
        return max(4.0, self.steps / 4) * self.allowance

    @property
    def limit(self) -> float:
        """Sums above it are an alarm."""
        return self.steps * self.allowance


class LiveLimits(msgspec.Struct, frozen=True):
    """When cycles of a running program are too slow."""

    alarms_per_hour: float
    at_least: float
    """Shifts below it, as a share, are nobody's business."""
    busy_edges: list[float]
    groups: list[GroupLimit]
    """`point` is the distance of a single spike."""
    sums: list[RunningSum]

    def problem(self) -> str:
        """Why these are no limits; empty where they are."""
        known = [(one.phase, one.busy) for one in self.groups]
        every = [(phase, busy) for phase in PHASES for busy in range(len(self.busy_edges) + 1)]
        numbers = [self.alarms_per_hour, *(one.allowance for one in self.sums)]
        numbers += [value for one in self.groups for value in (one.spread, one.point)]
        if known != every or not 0 < len(self.sums) < 100:
            return "its limits do not fit its groups"
        if not np.isfinite([*numbers, *self.busy_edges]).all() or min(numbers) <= 0:
            return "its limits hold numbers that cannot be"
        return "" if all(one.steps > 0 for one in self.sums) else "its limits have no steps"

    @property
    def weights(self) -> Floats:
        """What a cycle of each group counts: less where they scatter more."""
        spread = np.array([one.spread for one in self.groups])
        usual = min((one.spread for one in self.groups if one.rows), default=1.0)
        found: Floats = np.clip(usual / spread, 0.1, 1.0)
        return found


def steps_of(rule: RunningSum, distance: Floats, weight: Floats) -> Floats:
    """What each cycle adds to a running sum."""
    found: Floats = (np.clip(distance, -rule.bound, rule.bound) - rule.allowance) * weight
    return found


def running_sums(steps: Floats, total: float, most: float) -> list[float]:
    """Sums of what exceeds, never below zero, and bounded so that they end soon after a shift.

    >>> running_sums(np.array([1.0, 2.0, -4.0, 1.0]), 0.0, 2.5)
    [1.0, 2.5, 0.0, 1.0]
    """
    found: list[float] = []
    add = found.append
    for step in steps.tolist():
        total += step
        if total < 0:
            total = 0.0
        elif total > most:
            total = most
        add(total)
    return found


def several_spikes(beyond: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Where several of the last few cycles were spikes; the first few here only lead in.

    >>> several_spikes(np.array([0, 0, 0, 1, 1, 0, 1, 0], dtype=bool)).tolist()
    [False, False, True, True]
    """
    counts = np.cumsum(np.concatenate([[0], beyond.astype(np.int64)]))
    found: npt.NDArray[np.bool_] = counts[OF_LAST:] - counts[:-OF_LAST] >= SPIKES
    return found


def live_limits_from(
    cycles: CycleWorkload, distance: Floats, edges: Sequence[float], *, alarms_per_hour: float,
    at_least: float, hours: float,
) -> LiveLimits:  # fmt: skip
    """Limits from distances out of fold, stream by stream in order of time."""
    least = float(np.log1p(at_least))
    group = groups_of(cycles, edges)
    groups = list(_groups(group, distance, edges, least))
    counted = [steps for steps in STEPS if len(distance) >= 2 * steps * _FEWEST_BLOCKS]
    counted = counted or [STEPS[0]]
    wanted = alarms_per_hour * hours / (len(counted) + 1)
    plain = LiveLimits(alarms_per_hour, at_least, [*edges], groups, [])
    weight = plain.weights[group]
    streams = [cycles.runs == run for run in np.unique(cycles.runs)]

    def blocks_of_sum(steps: int, allowance: float) -> int:
        rule = RunningSum(steps, allowance)
        added = steps_of(rule, distance, weight)
        found = 0
        for mine in streams:
            sums = running_sums(added[mine], 0.0, 2 * rule.limit)
            found += _blocks(np.array(sums) > rule.limit, 2 * steps)
        return found

    sums = []
    for steps in counted:
        total = max(len(distance) // (2 * steps), 1)

        def count(allowance: float, steps: int = steps) -> int:
            return blocks_of_sum(steps, allowance)

        sums.append(RunningSum(steps, _rare(count, (least, _WIDEST), total, wanted)))
    point = np.array([one.point for one in groups])

    def blocks_of_spikes(times: float) -> int:
        beyond = distance > times * point[group]
        lead = np.zeros(OF_LAST - 1, dtype=bool)
        return sum(
            _blocks(several_spikes(np.concatenate([lead, beyond[mine]])), 2 * STEPS[0])
            for mine in streams
        )

    reach = (1.0, _WIDEST / float(point.min()))
    times = _rare(blocks_of_spikes, reach, max(len(distance) // 16, 1), wanted)
    widened = [msgspec.structs.replace(one, point=times * one.point) for one in groups]
    return msgspec.structs.replace(plain, groups=widened, sums=sums)


def _groups(
    group: Ints, distance: Floats, edges: Sequence[float], least: float
) -> Iterator[GroupLimit]:
    for place in range(len(PHASES) * (len(edges) + 1)):
        phase, busy = divmod(place, len(edges) + 1)
        mine = distance[group == place]
        known = mine if len(mine) >= _FEWEST_IN_GROUP else distance
        spread = max(float(np.quantile(np.abs(known), 0.9)), 1e-4)
        yield GroupLimit(PHASES[phase], busy, len(mine), spread, max(_spike_from(known), least))


def _spike_from(distance: Floats) -> float:
    """What about one of a thousand is beyond, by the mean excess of the slowest."""
    ordered = np.sort(distance)
    beyond = max(1, min(_TAIL, len(ordered) // 20))
    start = float(ordered[-beyond - 1])
    excess = float(np.mean(ordered[-beyond:] - start))
    return start + excess * max(0.0, float(np.log(beyond / len(ordered) / _SPIKE_SHARE)))


def _blocks(alarm: npt.NDArray[np.bool_], size: int) -> int:
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
    many = max(1, min(_MANY, total // 5))
    none = _smallest(lambda value: count(value) == 0, low / 8, high)
    few = _smallest(lambda value: count(value) <= many, low / 8, none)
    pace = max(none - few, 0.02 * none) / float(np.log(many + 1))
    found = none + pace * max(0.0, -float(np.log(max(wanted, 1e-12))))
    return float(np.clip(max(found, _MARGIN * none), low, high))


def _smallest(is_enough: Callable[[float], bool], low: float, high: float) -> float:
    if is_enough(low):
        return low
    while high / low > 1.01:
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
