"""What budgets are held against: time per step of what they match, and whether it grew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

import msgspec
import numpy as np
import polars as pl
from msgspec.structs import replace

from timesink.analyses.statistics.mean_changes import mean_changes
from timesink.analyses.statistics.moments import column_means
from timesink.analyses.statistics.significance import false_discovery
from timesink.analyses.thresholds import SignificanceLimits
from timesink.comparison.causes.case import cycle_matrices, known_interval
from timesink.comparison.gate.budget_file import (
    Budget,
    Increase,
    has_device_work,
    matching_times,
    missing_part,
)
from timesink.comparison.results import Pair
from timesink.comparison.steps.verdict import UNEQUAL_WORK
from timesink.model.diagnosis import SIDES, Diagnosis, SteadyTimes
from timesink.model.findings import Interval
from timesink.model.intervals import Floats


class BudgetMatch(msgspec.Struct, frozen=True, eq=False):
    """What an entry matches in one pair."""

    where: str
    """Which processes: `rank 3`."""
    of: str
    """The sort of time."""
    names: list[str]
    new: Floats
    """Time by cycle and name of the new side as recorded, after warm-up."""
    sides: tuple[Floats, Floats]
    """The same of both sides, with cycles that hold the same work."""
    incomparable: str | None
    """Why nothing can be said about a change."""
    missing: tuple[str | None, str | None]
    """What of this kind the base, and the new side, do not tell of; None where they do."""


class Amount(msgspec.Struct, frozen=True):
    """Time per cycle of one name in one pair, and what it is against."""

    name: str
    where: str
    of: str
    base_ns: float
    new_ns: float
    is_beyond: bool
    """Whether the amount alone is."""
    is_certain: bool | None = True
    """Whether an increase is more than noise; None where it cannot be tested."""
    interval_ns: Interval | None = None

    @property
    def is_over(self) -> bool:
        """Whether the limit is certainly exceeded."""
        return self.is_beyond and bool(self.is_certain)

    @property
    def delta_ns(self) -> float:
        return self.new_ns - self.base_ns


def mean_new_step(pair: Pair) -> float | None:
    """The mean step of the new side after warm-up, in ns; None where no step is timed.

    Of unprofiled steps where these are judged.
    """
    after: Sequence[float] = pair.cycle_times.new_ns[pair.cycle_times.warm_up[1] :]
    if pair.plain is not None:
        run_cycles_ns = [run.cycles_ns for run in pair.plain.runs if run.side == SIDES[1]]
        after = np.concatenate(run_cycles_ns).tolist()
    return fmean(after) if after else None


def step_increase(diagnosis: Diagnosis, allowed: Increase, where: str) -> Amount:
    """How much longer steps are, by what was tested: see `Diagnosis.cycle_time`.

    Without warm-up and isolated outliers, or without profiler overhead where that decided.
    """
    cycle = diagnosis.cycle_time
    without = diagnosis.corrected if diagnosis.is_without_overhead else None
    tested = without or cycle.steady or SteadyTimes(cycle.base_ns, cycle.new_ns)
    base, new, interval = tested.base_ns, tested.new_ns, tested.interval_ns
    # A run that is compared with itself has no scatter to test against, and no change.
    certain = diagnosis.verdict == "regression" if interval is None else interval[0] > 0
    beyond = allowed.is_below(new - base, base)
    return Amount("cycle", where, "cycle", base, new, beyond, certain, interval)


def match_budget(compared: Pair, budget: Budget, where: str) -> BudgetMatch:
    """What an entry matches in a pair of the processes `where`."""
    full_pair, kind = compared.whole, budget.kind
    on_device = (
        kind == "kernels" or has_device_work(full_pair.new) or has_device_work(full_pair.base)
    )
    equal, of = full_pair.of_equal_work, budget.of or ("device" if on_device else "host")
    unequal = None
    if not full_pair.workload.comparable and full_pair.equal_work is None:
        unequal = " ".join([UNEQUAL_WORK, *full_pair.workload.reasons[:1]])
    roles = (full_pair.new, equal.base, equal.new)
    warm = (full_pair.cycle_times.warm_up[1], *equal.cycle_times.warm_up)
    times = [matching_times(role, budget, of) for role in roles]
    names = sorted(set().union(*(rows["name"] for rows, _ in times)))
    columns = pl.DataFrame({"name": names}, {"name": pl.String})
    new, *sides = (
        cycle_matrices(rows, cycles, columns, "ns")[0][skip:]
        for (rows, cycles), skip in zip(times, warm, strict=True)
    )
    return BudgetMatch(
        where=where,
        of=of,
        names=names,
        new=new,
        sides=(sides[0], sides[1]),
        incomparable=unequal,
        missing=(missing_part(full_pair.base, kind, of), missing_part(full_pair.new, kind, of)),
    )


def new_amounts(budget: Budget, matches: Iterable[BudgetMatch]) -> list[Amount]:
    """Mean time per step of every name on the new side, longest first."""
    amounts = [
        Amount(name, match.where, match.of, 0.0, mean, mean > (budget.max_ns or 0))
        for match in matches
        for name, mean in zip(match.names, column_means(match.new).tolist(), strict=True)
    ]
    return sorted(amounts, key=lambda amount: (-amount.new_ns, amount.name))


def increases(budget: Budget, matches: Sequence[BudgetMatch]) -> list[Amount]:
    """Change of the mean time per cycle of every name, those beyond the limit and longest first.

    Many names differ by chance somewhere: what is certain is what is left after Benjamini and
    Hochberg, where the interval of the change lies above 0 as well.
    """
    amounts: list[Amount] = []
    p_values: list[float] = []
    for match in matches:
        changes = mean_changes(*match.sides)
        before, after = map(column_means, match.sides)
        p_values += changes.p.tolist()
        for place, name in enumerate(match.names):
            interval = known_interval(changes.low[place], changes.high[place])
            means = float(before[place]), float(after[place])
            amounts.append(Amount(name, match.where, match.of, *means, False, interval_ns=interval))
    allowed = budget.max_increase or Increase(pct=0.0)
    judged = []
    for amount, chance in zip(amounts, false_discovery(np.array(p_values)).tolist(), strict=True):
        delta, interval = amount.delta_ns, amount.interval_ns
        beyond = allowed.is_below(delta, amount.base_ns) and delta >= budget.ignore_below_ns
        certain = (
            None if interval is None else interval[0] > 0 and chance < SignificanceLimits.alpha
        )
        judged.append(replace(amount, is_beyond=beyond, is_certain=certain))
    return sorted(judged, key=lambda amount: (not amount.is_beyond, -amount.delta_ns, amount.name))
