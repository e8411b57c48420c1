"""Whether two versions of a program take another time, from several runs of either.

Processes of one program differ by a percent or more, however many cycles each has: where memory
lies, hash seeds and neighbours on the machine are drawn anew.  So a run is one measurement.  Runs
that ran in turn are paired with their neighbours in time, which takes slow drift out.

Three figures of a run are judged: its *typical* cycle (without the fastest and slowest tenth), its
*fast* cycle (a tenth is faster), which neighbours that keep a core busy hardly change, and the
*mean* of all its cycles, which also holds rare slow ones.  A change of any of them is one; cycles
are the same where typical ones are.  Differences between runs are judged by a t-test without the
outermost tenth of the pairs (Tukey and McLaughlin).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random

import msgspec
import numpy as np
from msgspec.structs import replace

from timesink.analyses.statistics.change_points import warm_up
from timesink.analyses.statistics.robust import trimmed_estimate
from timesink.analyses.statistics.sequential import (
    ChangeEstimate,
    paired_change,
    pairs_until,
    unpaired_change,
)
from timesink.analyses.statistics.student_t import t_limit
from timesink.analyses.thresholds import SequentialLimits
from timesink.comparison.thresholds import RepeatedRunsLimits
from timesink.model.diagnosis import PLAIN, SIDES, UNDECIDED
from timesink.model.intervals import Floats
from timesink.model.recorded_run import RecordedRun

_LOOKS = {"typical": 4e-3, "fast": 1.5e-3, "mean": 8e-4}
"""Chance of an error at one look, times the number of pairs by then: the first looks, which most
comparisons end at, may err most.  Looked at after every pair, up to 40 or 160 of them, 0.6 and
0.4 % of 1000 comparisons of equal sides err where runs scatter normally, fewer where tails are
heavier (`benchmarks/ab_accuracy.py calibrate`)."""
_ONCE = {"typical": 5e-3, "fast": 3e-3, "mean": 2e-3}
"""The same where runs are judged once."""
_WIDEST = math.log(10)
"""An interval that reaches farther says nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class TimedRun:
    """Unprofiled steps of one run of one side."""

    side: str
    """One of `SIDES`."""
    cycles_ns: Floats
    """Settled ones, in order."""
    started_us: int = 0
    """Unix time: the order in which runs ran."""
    probe_ns: float | None = None
    """How long a fixed piece of work took beside them: the speed of the host."""
    name: str = ""
    by: str = PLAIN
    """What its cycles are, as in `CycleTime.by`."""

    @property
    def typical_ns(self) -> float:
        """Mean of its cycles without the outermost tenths."""
        return trimmed_estimate(self.cycles_ns, SequentialLimits.trim)[0]

    @property
    def fast_ns(self) -> float:
        """A tenth of its cycles takes less."""
        return float(np.quantile(self.cycles_ns, RepeatedRunsLimits.fast))

    @property
    def mean_ns(self) -> float:
        """Mean of all its cycles."""
        return float(self.cycles_ns.mean())


def timed_runs(recorded: RecordedRun | None, name: str, side: str = "") -> tuple[TimedRun, ...]:
    """The unprofiled steps of a recorded run, where it has any.

    A recorder times those of one process; of several ranks these are not all of the run.
    """
    if recorded is None or not recorded.own_plain_ns:
        return ()
    overhead, cycles_ns = recorded.overhead, np.array(recorded.plain_ns, dtype=np.float64)
    if recorded.cycles.plain is None:
        cycles_ns = cycles_ns[warm_up(cycles_ns) :]  # older recorders let few pass before
    if len(cycles_ns) < RepeatedRunsLimits.min_cycles:
        return ()
    probes_us = [probe for probe in overhead.plain_probe_us[-len(cycles_ns) :] if probe]
    speed_ns = 1000 * float(np.median(probes_us)) if probes_us else None
    started_us = overhead.plain_started_us or recorded.started_us or 0
    return (TimedRun(side, cycles_ns, started_us, speed_ns, name),)


class RepeatedChange(msgspec.Struct, frozen=True):
    """What became of one figure of runs."""

    statistic: str
    """`typical`, `fast` or `mean`."""
    base_ns: float
    new_ns: float
    change_pct: float
    interval_pct: tuple[float, float] | None
    """Holds the change with 99 %, all figures together; None with too few runs to say."""
    error_pct: float | None = None
    """Standard error of the change."""

    @property
    def certain(self) -> int:
        """1 where it certainly became more, -1 where less, 0 where neither is certain."""
        low, high = self.interval_pct or (0.0, 0.0)
        return 1 if low > 0 else -1 if high < 0 else 0


class Decision(msgspec.Struct, frozen=True, eq=False):
    """Whether one side is slower, and how sure that is."""

    outcome: str
    """`slower`, `faster`, `same` (within `detect_pct`) or `undecided`."""
    typical: RepeatedChange
    fast: RepeatedChange
    mean: RepeatedChange
    runs: tuple[int, int]
    """Runs of either side."""
    pairs: int
    """Pairs of neighbours in time; 0 where sides did not run in turn."""
    more_runs: int | None
    """Runs of either side that would probably decide it; None where it is, or nobody can tell."""
    detect_pct: float
    whole_pct: float = 0.0
    """Change of the mean of all cycles of all runs."""

    @property
    def figures(self) -> tuple[RepeatedChange, RepeatedChange, RepeatedChange]:
        """All three."""
        return self.typical, self.fast, self.mean

    @property
    def certain(self) -> frozenset[int]:
        """Which ways figures certainly went, 1 or -1; what is within `detect_pct` is none."""
        return frozenset(figure.certain for figure in self.figures if self._matters(figure)) - {0}

    @property
    def leading(self) -> RepeatedChange:
        """The figure that decides: the first that is certain, else the typical cycle."""
        decisive = (figure for figure in self.figures if figure.certain and self._matters(figure))
        return next(decisive, self.typical)

    def _matters(self, figure: RepeatedChange) -> bool:
        low, high = figure.interval_pct or (0.0, 0.0)
        return max(-low, high) > self.detect_pct

    def is_uneven(self, allowed_pct: float) -> bool:
        """Whether slow cycles or runs, too rare to be certain of, add more than is allowed."""
        error = self.mean.error_pct or 0.0
        rare = self.mean.change_pct > max(
            allowed_pct, t_limit(RepeatedRunsLimits.doubt, 1e6) * error
        )
        return rare or self.whole_pct > max(allowed_pct, RepeatedRunsLimits.uneven_pct)

    def is_beyond(self, allowed_pct: float | None) -> bool | None:
        """Whether the new side takes more than is allowed; None where that is not decided.

        It does where a figure certainly grew, by more than that as best estimated; it does not
        where that is ruled out of the typical cycle and nothing rare adds as much.  Without an
        amount any certain slow-down is too much.
        """
        if allowed_pct is None:
            return {"slower": True, UNDECIDED: None}.get(self.outcome, False)
        if self.pairs < RepeatedRunsLimits.min_runs and self.outcome == UNDECIDED and self.pairs:
            return None
        if any(figure.certain > 0 and figure.change_pct > allowed_pct for figure in self.figures):
            return True
        bounds = self.typical.interval_pct
        if bounds is None or bounds[1] > allowed_pct or self.is_uneven(allowed_pct):
            return None
        return False


def decide(
    runs: Sequence[TimedRun],
    detect_pct: float = RepeatedRunsLimits.detect_pct,
    *,
    looking: bool = True,
) -> Decision:
    """What runs of both sides say by now.

    With `looking` the answer may be asked for after every run, and the first that is certain taken;
    without, it is asked once.

    >>> levels = {"base": (10.0, 10.1, 9.9, 10.0, 10.1), "new": (11.0, 11.1, 10.9, 11.0, 11.0)}
    >>> runs = [
    ...     TimedRun(side, np.full(20, 1e6 * level), started_us=2 * number + (side == "new"))
    ...     for side, own in levels.items() for number, level in enumerate(own)
    ... ]
    >>> found = decide(runs)
    >>> found.outcome, round(found.typical.change_pct)
    ('slower', 10)
    """
    usable = [run for run in runs if len(run.cycles_ns) and run.fast_ns > 0]
    ordered = sorted(usable, key=lambda run: run.started_us)
    sides = [[run for run in ordered if run.side == side] for side in SIDES]
    pairs = neighbours(ordered)
    interleaved = len(pairs) >= RepeatedRunsLimits.interleaved * min(map(len, sides))
    in_turn = interleaved and len(pairs) >= RepeatedRunsLimits.min_pairs_to_report
    number = len(pairs) if in_turn else min(map(len, sides))
    chances = {name: chance / max(number, 1) for name, chance in _LOOKS.items()}
    chances = chances if looking else _ONCE
    changes = {}
    for statistic, chance in chances.items():
        levels = [_log_figures(side, statistic) for side in sides]
        estimate = (
            _change_of_pairs(pairs, statistic, chance) if in_turn
            else unpaired_change(levels[0], levels[1], chance)
        )  # fmt: skip
        changes[statistic] = _change(statistic, [_level(side) for side in levels], estimate)
    overall_ns = [float(np.concatenate([run.cycles_ns for run in side]).mean()) if side else 0.0
             for side in sides]  # fmt: skip
    decision = Decision(
        outcome=UNDECIDED,
        **changes,
        runs=(len(sides[0]), len(sides[1])),
        pairs=len(pairs) if interleaved else 0,
        more_runs=None,
        detect_pct=detect_pct,
        whole_pct=100 * (overall_ns[1] / overall_ns[0] - 1) if overall_ns[0] else 0.0,
    )
    if number >= RepeatedRunsLimits.min_runs or (not looking and _are_enough(sides)):
        decision = replace(decision, outcome=_outcome(decision))
    if decision.outcome == UNDECIDED and len(decision.certain) < 2:
        more = _more_runs(changes["typical"], number, detect_pct, looking=looking)
        decision = replace(decision, more_runs=more)
    return decision


def _are_enough(sides: Sequence[Sequence[TimedRun]]) -> bool:
    few, many = sorted(map(len, sides))
    return few >= RepeatedRunsLimits.min_pairs_to_report or (
        few > 0 and many >= RepeatedRunsLimits.min_runs
    )


def _outcome(decision: Decision) -> str:
    if len(decision.certain) == 2:
        return UNDECIDED  # rare slow cycles became more, and the others faster, or less
    if decision.certain:
        return "slower" if decision.certain == {1} else "faster"
    bounds = decision.typical.interval_pct
    if bounds is None or max(-bounds[0], bounds[1]) > decision.detect_pct:
        return UNDECIDED
    return UNDECIDED if decision.is_uneven(decision.detect_pct) else "same"


def neighbours(ordered: Sequence[TimedRun]) -> list[tuple[TimedRun, TimedRun]]:
    """Pairs of a run of the base and one of the new side, next to each other in time.

    In the order of the runs each takes the one before it, where that is of the other side and still
    alone: of base, new, new, base the first two and the last two.
    """
    pairs: list[tuple[TimedRun, TimedRun]] = []
    unpaired: TimedRun | None = None
    for run in ordered:
        if unpaired is not None and unpaired.side != run.side:
            pairs.append((unpaired, run) if run.side == SIDES[1] else (run, unpaired))
            unpaired = None
        else:
            unpaired = run
    return pairs


def next_sides(seed: int) -> Iterator[str]:
    """The order of runs without end: pairs, each turned round like the one before is not.

    Blocks of four are base, new, new, base or the opposite, as drawn: neither side is always first,
    and steady drift adds the same to both.

    >>> from itertools import islice
    >>> sorted(islice(next_sides(7), 4))
    ['base', 'base', 'new', 'new']
    """
    random = Random(seed)  # noqa: S311 - nobody is to be kept from guessing
    while True:
        first, second = random.sample(SIDES, 2)
        yield from (first, second, second, first)


def runs_needed(scatter_pct: float, detect_pct: float = RepeatedRunsLimits.detect_pct) -> int:
    """Runs of either side after which a change of this size is found in 95 of 100 cases.

    `scatter_pct` is the standard deviation of the change between the two runs of a pair.

    >>> runs_needed(0.5)
    16
    """
    return pairs_until(
        scatter_pct,
        detect_pct,
        partial(_chance_at, looking=True),
        RepeatedRunsLimits.min_runs,
        RepeatedRunsLimits.sure,
    )


# -- one figure ------------------------------------------------------------------------------------


def _figure(run: TimedRun, statistic: str) -> float:
    return float(getattr(run, f"{statistic}_ns"))


def _log_figures(runs: Sequence[TimedRun], statistic: str) -> Floats:
    return np.asarray(np.log(np.array([_figure(run, statistic) for run in runs])))


def _level(values: Floats) -> float:
    return math.exp(trimmed_estimate(values, SequentialLimits.trim)[0]) if len(values) else 0.0


def _change(
    statistic: str, means: Sequence[float], estimate: ChangeEstimate | None
) -> RepeatedChange:
    base, new = means
    if estimate is None:
        change = 100 * (new / base - 1) if base else 0.0
        return RepeatedChange(statistic, base, new, change, None)
    middle, reach, error = estimate
    bounds = None
    if reach < _WIDEST:
        bounds = 100 * math.expm1(middle - reach), 100 * math.expm1(middle + reach)
    change = 100 * math.expm1(middle)
    return RepeatedChange(statistic, base, base * math.exp(middle), change, bounds, 100 * error)


def _change_of_pairs(
    pairs: Sequence[tuple[TimedRun, TimedRun]], statistic: str, chance: float
) -> ChangeEstimate:
    changes = np.array([math.log(_figure(new, statistic) / _figure(base, statistic))
                        for base, new in pairs])  # fmt: skip
    order = np.array([1.0 if base.started_us < new.started_us else -1.0 for base, new in pairs])
    return paired_change(changes, order, chance)


# -- how many runs -------------------------------------------------------------------------------


def _more_runs(
    typical: RepeatedChange, number: int, detect_pct: float, *, looking: bool
) -> int | None:
    """Runs more of either side until the change, or that there is none, shows."""
    if typical.error_pct is None or not math.isfinite(typical.error_pct) or not number:
        return None
    change = abs(typical.change_pct)
    scatter = typical.error_pct * math.sqrt(number)
    # Whichever comes first: nothing is left within the interval, or it is within what matters.
    target = max(change, detect_pct - change)
    pairs = pairs_until(
        scatter, target, partial(_chance_at, looking=looking), RepeatedRunsLimits.min_runs
    )
    return max(1, pairs - number)


def _chance_at(number: int, *, looking: bool) -> float:
    """Chance of an error of the typical cycle, after so many pairs."""
    return _LOOKS["typical"] / number if looking else _ONCE["typical"]
