"""Whether a comparison keeps to its budgets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from timesink.reports.budgets.budgets import Budget, Budgets
from timesink.reports.budgets.cycles import evaluate_cycle
from timesink.reports.budgets.finding import Found, beyond_increase, beyond_max, found_in
from timesink.reports.budgets.results import BudgetResult
from timesink.reports.budgets.saying import increase_result, max_result, nothing_result
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
    found = [found_in(one, budget) for one in comparison.pairs]
    matched = {name for one in found for name in one.names}
    for rule in _rules(budget):
        if not matched:
            yield nothing_result(budget, rule, found)
        elif rule == "max":
            yield max_result(budget, len(matched), beyond_max(budget, found))
        else:
            yield _increase(budget, len(matched), found)


def _increase(budget: Budget, matched: int, found: Sequence[Found]) -> BudgetResult:
    comparable = [one for one in found if one.incomparable is None]
    reason = next((one.incomparable for one in found if one.incomparable is not None), None)
    return increase_result(budget, matched, beyond_increase(budget, comparable), reason)


def _rules(budget: Budget) -> Iterator[str]:
    if budget.max_ns is not None:
        yield "max"
    if budget.max_increase is not None:
        yield "max_increase"
