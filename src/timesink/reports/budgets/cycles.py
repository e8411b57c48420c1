"""Budgets of the cycle itself."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from timesink.analyses.comparison.pair import SteadyTimes
from timesink.analyses.diagnosis.diagnosis import Diagnosis
from timesink.reports.budgets.budgets import Budget
from timesink.reports.budgets.finding import Amount
from timesink.reports.budgets.results import BudgetResult
from timesink.reports.budgets.saying import increase_result, max_result, unjudged
from timesink.reports.comparison.naming import processes
from timesink.reports.comparison.report import Compared, Comparison

_OF = "cycle"
_NO_LENGTHS = "How long cycles take is not recorded."


def evaluate_cycle(budget: Budget, comparison: Comparison) -> Iterator[BudgetResult]:
    """How long cycles are, and how much longer: of all ranks of a run together."""
    if budget.max_ns is not None:
        lengths = [amount for one in comparison.pairs for amount in _length(one, budget.max_ns)]
        known = sorted(lengths, key=lambda one: -one.new_ns)
        yield max_result(budget, 1, known) if known else unjudged(budget, "max", _NO_LENGTHS)
    if budget.max_increase is not None:
        yield _increase(budget, comparison)


def _length(one: Compared, most_ns: float) -> Iterator[Amount]:
    """The mean cycle of the new side after warm-up, as recorded."""
    pair = one.whole or one.pair
    lengths = pair.cycle_times.new_ns[pair.cycle_times.warm_up[1] :]
    if lengths:
        mean = fmean(lengths)
        yield Amount(_OF, _where(one), _OF, 0.0, mean, mean > most_ns)


def _where(one: Compared) -> str:
    said = processes(one.whole or one.pair)
    return f"{one.cycles}, {said}" if one.cycles else said


def _increase(budget: Budget, comparison: Comparison) -> BudgetResult:
    """As the verdict goes: of each run and sort of cycle the ranks together."""
    amounts, reason = [], None
    for case in comparison.cases:
        found = case.diagnosis
        if found is None or found.verdict == "incomparable":
            reason = reason or ("" if found is None else found.reason)
        else:
            where = case.pairs[0].title if len(comparison.cases) > 1 else ""
            amounts.append(_change(budget, found, where))
    ordered = sorted(amounts, key=lambda one: (not one.is_beyond, -one.delta_ns))
    return increase_result(budget, 1, ordered, reason)


def _change(budget: Budget, found: Diagnosis, where: str) -> Amount:
    """What was tested: without warm-up and isolated outliers."""
    cycle = found.cycle_time
    tested = cycle.steady or SteadyTimes(cycle.base_ns, cycle.new_ns)
    interval = tested.interval_ns
    allowed = budget.max_increase
    delta = tested.new_ns - tested.base_ns
    return Amount(
        name=_OF,
        where=where,
        of=_OF,
        base_ns=tested.base_ns,
        new_ns=tested.new_ns,
        is_beyond=allowed is not None and allowed.is_below(delta, tested.base_ns),
        # A run that is compared with itself has no scatter to test against, and no change.
        is_certain=found.verdict == "regression" if interval is None else interval[0] > 0,
        interval_ns=interval,
    )
