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
from functools import lru_cache
from random import Random

import numpy as np

from timesink.analyses.statistics.means import two_sided_limits
from timesink.model.arrays import Floats
from timesink.model.diagnosis import PLAIN
from timesink.model.recorded_run import RecordedRun

SIDES = ("base", "new")
DETECT_PCT = 1.0
"""Changes that are to be found, unless asked otherwise."""
_TRIM = 0.1
"""Part of the cycles of a run, and of the pairs, left out at either end."""
_FEWEST = 3
"""Pairs from which on anything is said."""
_FEWEST_LOOKED = 5
"""Pairs from which on it is decided while runs are made.  Noise may have few levels, so that three
or four pairs are alike by chance, which no test of their scatter allows for."""
_LOOKS = {"typical": 2e-4, "fast": 1.2e-4, "mean": 6e-5}
"""Chance of an error at one look.  Looked at after every pair, up to 256 of them, that makes 1 % in
all for normal differences and less for those with heavier tails: `benchmarks/ab_accuracy.py`."""
_ONCE = {"typical": 5e-3, "fast": 3e-3, "mean": 2e-3}
"""The same where runs are judged once."""
_FAST = 0.1
_SURE = 1.645
"""Standard errors between what is certain in half of all cases and in 95 of 100."""
_DOUBT = 0.05
_UNEVEN = 1.1
"""Runs are not the same whose cycles all in all take this many times as long."""
_WIDEST = math.log(10)
"""An interval that reaches farther says nothing."""
_MOST_PAIRS = 100_000
_INTERLEAVED = 0.8
"""Part of the runs that has a neighbour of the other side where both ran in turn."""
_EXPLAINS = 0.4
"""Part of the scatter between pairs that something known has to explain to be counted ..."""
_FEWEST_TO_EXPLAIN = 8
"""... in so many pairs."""


@dataclass(frozen=True, slots=True, eq=False)
class TimedRun:
    """Plain cycles of one run of one side."""

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
        return _trimmed(self.cycles_ns)[0]

    @property
    def fast_ns(self) -> float:
        """A tenth of its cycles takes less."""
        return float(np.quantile(self.cycles_ns, _FAST))

    @property
    def mean_ns(self) -> float:
        """Mean of all its cycles."""
        return float(self.cycles_ns.mean())


def timed_runs(recorded: RecordedRun | None, name: str, side: str = "") -> tuple[TimedRun, ...]:
    """The plain cycles of a recorded run, where it has any.

    A recorder times those of one process; of several ranks these are not all of the run.
    """
    if recorded is None or not recorded.own_plain_ns:
        return ()
    overhead, cycles_ns = recorded.overhead, np.array(recorded.plain_ns, dtype=np.float64)
    probes_us = [one for one in overhead.plain_probe_us[-len(cycles_ns) :] if one]
    speed_ns = 1000 * float(np.median(probes_us)) if probes_us else None
    started_us = overhead.plain_started_us or recorded.started_us or 0
    return (TimedRun(side, cycles_ns, started_us, speed_ns, name),)


@dataclass(frozen=True, slots=True)
class RepeatedChange:
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
    by_speed: bool = False
    """Whether the speed of the host was taken into account."""

    @property
    def certain(self) -> int:
        """1 where it certainly became more, -1 where less, 0 where neither is certain."""
        low, high = self.interval_pct or (0.0, 0.0)
        return 1 if low > 0 else -1 if high < 0 else 0


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
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

    @property
    def leading(self) -> RepeatedChange:
        """The figure that decides: the first that is certain, else the typical cycle."""
        figures = (self.typical, self.fast, self.mean)
        return next((one for one in figures if one.certain), self.typical)


def decide(
    runs: Sequence[TimedRun], detect_pct: float = DETECT_PCT, *, looking: bool = True
) -> Decision:
    """What runs of both sides say by now.

    With `looking` the answer may be asked for after every run, and the first that is certain taken;
    without, it is asked once.

    >>> levels = {"base": (10.0, 10.1, 9.9, 10.0), "new": (11.0, 11.1, 10.9, 11.0)}
    >>> runs = [
    ...     TimedRun(side, np.full(20, 1e6 * level), started_us=2 * number + (side == "new"))
    ...     for side, own in levels.items() for number, level in enumerate(own)
    ... ]
    >>> found = decide(runs)
    >>> found.outcome, round(found.typical.change_pct)
    ('slower', 10)
    """
    known = [run for run in runs if len(run.cycles_ns) and run.mean_ns > 0]
    ordered = sorted(known, key=lambda run: run.started_us)
    sides = [[run for run in ordered if run.side == side] for side in SIDES]
    pairs = neighbours(ordered)
    in_turn = len(pairs) >= _INTERLEAVED * min(map(len, sides)) and len(pairs) >= _FEWEST
    chances = _LOOKS if looking else _ONCE
    found = {}
    for statistic, chance in chances.items():
        means = [_level([_figure(run, statistic) for run in side]) for side in sides]
        if in_turn:
            estimate = _of_pairs(pairs, statistic, chance)
        else:
            estimate = _of_sides(sides, statistic, chance)
        found[statistic] = _change(statistic, means, estimate)
    typical, mean = found["typical"], found["mean"]
    certain = {one.certain for one in found.values()} - {0}
    number = len(pairs) if in_turn else min(map(len, sides))
    outcome = "undecided"
    if not looking or number >= _FEWEST_LOOKED:
        outcome = _outcome(certain, typical, mean, sides, detect_pct)
    decided = outcome in ("slower", "faster", "same")
    return Decision(
        outcome=outcome,
        **found,
        runs=(len(sides[0]), len(sides[1])),
        pairs=len(pairs) if in_turn else 0,
        more_runs=None if decided else _more_runs(typical, number, detect_pct, chances["typical"]),
        detect_pct=detect_pct,
    )


def _outcome(
    certain: set[int],
    typical: RepeatedChange,
    mean: RepeatedChange,
    sides: Sequence[Sequence[TimedRun]],
    detect_pct: float,
) -> str:
    if len(certain) == 2:
        return "undecided"  # rare slow cycles became more, and the others faster, or less
    if certain:
        return "slower" if certain == {1} else "faster"
    bounds = typical.interval_pct
    if bounds is None or max(-bounds[0], bounds[1]) > detect_pct:
        return "undecided"
    # Slow cycles or runs that are too rare to be certain of are no reason to fail, nor to pass.
    whole = [float(np.concatenate([run.cycles_ns for run in side]).mean()) for side in sides]
    doubtful = mean.error_pct is not None and mean.change_pct > max(
        detect_pct, _normal_limit(_DOUBT) * mean.error_pct
    )
    return "undecided" if doubtful or whole[1] > _UNEVEN * whole[0] else "same"


def neighbours(ordered: Sequence[TimedRun]) -> list[tuple[TimedRun, TimedRun]]:
    """Pairs of a run of the base and one of the new side, next to each other in time.

    In the order of the runs each takes the one before it, where that is of the other side and still
    alone: of base, new, new, base the first two and the last two.
    """
    pairs: list[tuple[TimedRun, TimedRun]] = []
    alone: TimedRun | None = None
    for run in ordered:
        if alone is not None and alone.side != run.side:
            pairs.append((alone, run) if run.side == SIDES[1] else (run, alone))
            alone = None
        else:
            alone = run
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


def runs_needed(scatter_pct: float, detect_pct: float = DETECT_PCT) -> int:
    """Runs of either side after which a change of this size is found in 95 of 100 cases.

    `scatter_pct` is the standard deviation of the change between the two runs of a pair.

    >>> runs_needed(0.5)
    13
    """
    return _pairs_until(scatter_pct, detect_pct, _LOOKS["typical"], _SURE)


# -- one figure ------------------------------------------------------------------------------------

_Estimate = tuple[float, float, float, bool]
"""Change and its reach, as logarithms; its standard error; whether the host's speed counted."""


def _figure(run: TimedRun, statistic: str) -> float:
    return float(getattr(run, f"{statistic}_ns"))


def _level(values: Sequence[float]) -> float:
    return math.exp(_trimmed(np.log(np.array(values)))[0]) if values else 0.0


def _change(statistic: str, means: Sequence[float], estimate: _Estimate | None) -> RepeatedChange:
    base, new = means
    if estimate is None:
        change = 100 * (new / base - 1) if base else 0.0
        return RepeatedChange(statistic, base, new, change, None)
    middle, reach, error, by_speed = estimate
    bounds = None
    if reach < _WIDEST:
        bounds = 100 * math.expm1(middle - reach), 100 * math.expm1(middle + reach)
    change = 100 * math.expm1(middle)
    return RepeatedChange(
        statistic, base, base * math.exp(middle), change, bounds, 100 * error, by_speed
    )


def _of_pairs(
    pairs: Sequence[tuple[TimedRun, TimedRun]], statistic: str, chance: float
) -> _Estimate | None:
    apart = np.array([math.log(_figure(new, statistic) / _figure(base, statistic))
                      for base, new in pairs])  # fmt: skip
    rest, widening, spent, by_speed = apart, 1.0, 0, False
    if len(pairs) >= _FEWEST_TO_EXPLAIN:
        # Which side ran first, where the machine drifts; then how fast the host was.
        first = np.array([1.0 if base.started_us < new.started_us else -1.0 for base, new in pairs])
        for known in (first, _host_apart(pairs)):
            found = None if known is None else _explained(rest, known, signed=known is first)
            if found is not None:
                rest, widening, spent = found[0], widening * found[1], spent + 1
                by_speed = known is not first
    middle, error, freedom = _trimmed(rest)
    error *= widening
    reach = error * _limit(chance, max(freedom - spent, 1.0))
    return middle, reach, error, by_speed


def _host_apart(pairs: Sequence[tuple[TimedRun, TimedRun]]) -> Floats | None:
    """How much slower the host was in the new run of each pair; None where that is not known.

    Neither where it was slower for one side all along: the program may have made it so.
    """
    known = [(base.probe_ns, new.probe_ns) for base, new in pairs]
    if not all(base and new for base, new in known):
        return None
    apart = np.array([math.log((new or 1.0) / (base or 1.0)) for base, new in known])
    middle, error, freedom = _trimmed(apart)
    return None if abs(middle) > error * _limit(_DOUBT, freedom) else apart


def _explained(apart: Floats, known: Floats, *, signed: bool) -> tuple[Floats, float] | None:
    """Changes without what something known explains of them, and how much less sure they are.

    None where it explains little, or a slower host would have made cycles faster (not `signed`).
    """
    centred = known - known.mean()
    squares = float(centred @ centred)
    if not squares:
        return None
    slope = float(centred @ apart) / squares
    rest = apart - slope * known
    if (slope <= 0 and not signed) or rest.var() > (1 - _EXPLAINS) * apart.var():
        return None
    # The slope is an estimate as well.
    return rest, math.sqrt(1 + len(apart) * float(known.mean()) ** 2 / squares)


def _of_sides(
    sides: Sequence[Sequence[TimedRun]], statistic: str, chance: float
) -> _Estimate | None:
    """Of sides that did not run in turn: all runs of one against all of the other (Welch)."""
    if min(map(len, sides)) < 2:
        return None
    levels = [np.log([_figure(run, statistic) for run in side]) for side in sides]
    (base, base_error, base_free), (new, new_error, new_free) = map(_trimmed, levels)
    parts = base_error**2, new_error**2
    error = math.sqrt(sum(parts))
    freedom = min(base_free, new_free)
    if error:
        freedom = error**4 / (parts[0] ** 2 / base_free + parts[1] ** 2 / new_free)
    return new - base, error * _limit(chance, freedom), error, False


def _trimmed(values: Floats) -> tuple[float, float, float]:
    """Mean without the outermost values, its standard error, and the degrees of freedom."""
    number = len(values)
    cut = int(_TRIM * number)
    ordered = np.sort(values)
    kept = ordered[cut : number - cut]
    if number < 2:
        return float(kept.mean()), math.inf, 1.0
    spread = float(np.clip(values, kept[0], kept[-1]).std(ddof=1))
    error = spread / ((1 - 2 * cut / number) * math.sqrt(number))
    return float(kept.mean()), error, float(number - 2 * cut - 1)


@lru_cache(maxsize=4096)
def _limit(chance: float, freedom: float) -> float:
    return float(two_sided_limits(chance, np.array([freedom]))[0])


def _normal_limit(chance: float) -> float:
    return _limit(chance, 1e6)


# -- how many runs -------------------------------------------------------------------------------


def _more_runs(
    typical: RepeatedChange, number: int, detect_pct: float, chance: float
) -> int | None:
    """Runs more of either side until the change, or that there is none, shows."""
    if typical.error_pct is None or not math.isfinite(typical.error_pct) or not number:
        return None
    change = abs(typical.change_pct)
    scatter = typical.error_pct * math.sqrt(number)
    # Whichever comes first: nothing is left within the interval, or it is within what matters.
    target = max(change, detect_pct - change)
    return max(1, _pairs_until(scatter, target, chance, 0.0) - number)


def _pairs_until(scatter_pct: float, reach_pct: float, chance: float, sure: float) -> int:
    """Pairs until the interval reaches no farther, with so many standard errors to spare."""

    def reaches(number: int) -> bool:
        freedom = number - 2 * int(_TRIM * number) - 1
        error = scatter_pct / math.sqrt(number)
        return error * (_limit(chance, freedom) + sure) <= reach_pct

    few, many = _FEWEST, _FEWEST
    while not reaches(many):
        few, many = many, 2 * many
        if many > _MOST_PAIRS:
            return _MOST_PAIRS
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if reaches(middle) else (middle, many)
    return many
