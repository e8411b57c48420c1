"""Whether a comparison keeps to its budgets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from timesink.reports.budgets.budgets import Budget, Budgets
from timesink.reports.budgets.cycles import evaluate_cycle
from timesink.reports.budgets.finding import FoundAmounts, beyond_increase, beyond_max, found_in
from timesink.reports.budgets.results import BudgetResult
from timesink.reports.budgets.saying import (
    increase_result,
    lacking_result,
    max_result,
    nothing_result,
)
from timesink.reports.comparison.report import Comparison


def evaluate(budgets: Budgets, comparison: Comparison) -> tuple[BudgetResult, ...]:
    """One result per limit of each entry, in the order of the file.

    `max` is of the new side, `max_increase` of the change; warm-up counts for neither.  Of many
    names or ranks that an entry matches each has the limit to itself, and the worst is told.

    >>> import timesink
    >>> same = timesink.compare(timesink.sample(), timesink.sample())
    >>> long = Budgets("", (Budget("operators", "aten::conv2d", max_ns=1e9),))
    >>> [one.state for one in evaluate(long, same)]
    ['within']
    """
    return tuple(result for one in budgets.entries for result in _results(one, comparison))


def _results(budget: Budget, comparison: Comparison) -> Iterator[BudgetResult]:
    if budget.kind == "cycle":
        yield from evaluate_cycle(budget, comparison)
        return
    # Processes of which neither side tells anything, as helpers without a device, are none of it.
    everything = [found_in(one, budget) for one in comparison.pairs]
    found = [one for one in everything if not all(one.lacking)]
    matched = {name for one in found for name in one.names}
    unknown = None if found else next((one.lacking[1] for one in everything), budget.kind)
    for rule in _rules(budget):
        if not matched:
            yield nothing_result(budget, rule, unknown)
        else:
            yield _result(budget, rule, len(matched), found)


def _result(budget: Budget, rule: str, matched: int, found: Sequence[FoundAmounts]) -> BudgetResult:
    """What is beyond the limit counts in any case; else every side asked about has to tell."""
    silent = [one for one in found if _is_silent(one, rule)]
    telling = [one for one in found if not _is_silent(one, rule)]
    judged = _judged(budget, rule, matched, telling) if telling else None
    if judged is not None and (judged.state == "exceeded" or not silent):
        return judged
    return lacking_result(budget, rule, silent[0], matched)


def _is_silent(found: FoundAmounts, rule: str) -> bool:
    """Whether a side does not tell that is asked about: of `max` the new one, else both."""
    base, new = found.lacking
    return new is not None or (rule != "max" and base is not None)


def _judged(budget: Budget, rule: str, matched: int, found: Sequence[FoundAmounts]) -> BudgetResult:
    if rule == "max":
        return max_result(budget, matched, beyond_max(budget, found))
    return _increase(budget, matched, found)


def _increase(budget: Budget, matched: int, found: Sequence[FoundAmounts]) -> BudgetResult:
    comparable = [one for one in found if one.incomparable is None]
    reason = next((one.incomparable for one in found if one.incomparable is not None), None)
    return increase_result(budget, matched, beyond_increase(budget, comparable), reason)


def _rules(budget: Budget) -> Iterator[str]:
    if budget.max_ns is not None:
        yield "max"
    if budget.max_increase is not None:
        yield "max_increase"
