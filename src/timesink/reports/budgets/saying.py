"""What became of a budget, in words."""

from __future__ import annotations

from collections.abc import Sequence

from timesink.model.amounts import change, interval_pct, signed_ns, times
from timesink.model.units import brief_ns, counted
from timesink.output.names import cut_middle
from timesink.reports.budgets.budgets import Budget
from timesink.reports.budgets.finding import Amount, FoundAmounts
from timesink.reports.budgets.measuring import DEVICE_TIME
from timesink.reports.budgets.results import BudgetResult

_NAMED = 60
_MISSING = {
    "operators": "no operator was recorded",
    "modules": "no module was recorded: record with the modules or the stack of the profiler",
    "kernels": "no device work was recorded",
    DEVICE_TIME: 'no time on a device was recorded (of = "host" asks for that of the host)',
}


def max_result(budget: Budget, matched: int, amounts: Sequence[Amount]) -> BudgetResult:
    """The result of `max`: amounts are those of all that matches, longest first."""
    worst, over = amounts[0], [one for one in amounts if one.is_beyond]
    said = f"{_which(budget, worst, matched)}{brief_ns(worst.new_ns)} {_per_cycle(worst)}"
    allowed = f"{budget.max_said} allowed"
    return BudgetResult(
        kind=budget.kind,
        name=budget.name,
        rule="max",
        limit=budget.max_said,
        value=brief_ns(worst.new_ns),
        state="exceeded" if over else "within",
        sentence=f"{_entry(budget)}: {said}{_where(worst, amounts)}, {allowed}{_others(over)}.",
        matched=matched,
        over=tuple(dict.fromkeys(one.name for one in over)),
    )


def increase_result(
    budget: Budget, matched: int, amounts: Sequence[Amount], incomparable: str | None
) -> BudgetResult:
    """The result of `max_increase`: amounts are those of all that matches, worst first."""
    over = [one for one in amounts if one.is_beyond and one.is_certain]
    if not over:
        if incomparable is not None or not amounts:
            return unjudged(budget, "max_increase", incomparable or "", matched)
        untested = [one for one in amounts if one.is_beyond and one.is_certain is None]
        if untested:
            return unjudged(budget, "max_increase", _untested(untested[0]), matched)
    worst = (over or amounts)[0]
    return BudgetResult(
        kind=budget.kind,
        name=budget.name,
        rule="max_increase",
        limit=_limit(budget, "max_increase"),
        value=_increase(budget, worst),
        state="exceeded" if over else "within",
        sentence=f"{_entry(budget)}: {_change(budget, worst, amounts, matched)}{_others(over)}.",
        matched=matched,
        over=tuple(dict.fromkeys(one.name for one in over)),
    )


def nothing_result(budget: Budget, rule: str, lacking: str | None) -> BudgetResult:
    """The result of an entry that matches nothing on either side, for they are `lacking` it all."""
    why = "matches nothing in either run" if lacking is None else _MISSING[lacking]
    if budget.optional:
        return _without_value(budget, rule, "within", f"{why}; it is optional")
    return unjudged(budget, rule, why)


def lacking_result(budget: Budget, rule: str, found: FoundAmounts, matched: int) -> BudgetResult:
    """The result of what one side does not tell of, and the other does."""
    base, new = found.lacking
    side, missing = ("the new run", new) if new is not None else ("the base", base or budget.kind)
    where = f" ({found.where})" if found.where else ""
    return unjudged(budget, rule, f"in {side}{where} {_MISSING[missing]}", matched)


def unjudged(budget: Budget, rule: str, why: str, matched: int = 0) -> BudgetResult:
    """The result of what cannot be judged."""
    said = f"{rule} cannot be judged: {_as_end(why)}"
    return _without_value(budget, rule, "unjudged", said, matched)


def _without_value(
    budget: Budget, rule: str, state: str, said: str, matched: int = 0
) -> BudgetResult:
    return BudgetResult(
        kind=budget.kind,
        name=budget.name,
        rule=rule,
        limit=_limit(budget, rule),
        value="",
        state=state,
        sentence=f"{_entry(budget)}: {said}.",
        matched=matched,
    )


# -- parts of sentences ----------------------------------------------------------------------------


def _limit(budget: Budget, rule: str) -> str:
    if rule == "max":
        return budget.max_said
    return "" if budget.max_increase is None else budget.max_increase.said


def _entry(budget: Budget) -> str:
    if budget.kind == "cycle":
        return "cycle"
    return f'{budget.kind} "{cut_middle(budget.name, _NAMED)}"'


def _which(budget: Budget, worst: Amount, matched: int) -> str:
    """The name that is told, where the entry does not say it."""
    if budget.kind == "cycle" or (worst.name == budget.name and matched == 1):
        return ""
    most = f" (of {counted(matched, 'names')})" if matched > 1 else ""
    return f"{cut_middle(worst.name, _NAMED)}{most}: "


def _per_cycle(worst: Amount) -> str:
    return "per cycle" if worst.of == "cycle" else f"of {worst.of} time per cycle"


def _where(worst: Amount, amounts: Sequence[Amount]) -> str:
    several = len({one.where for one in amounts}) > 1
    return f" in {worst.where}" if several and worst.where else ""


def _change(budget: Budget, worst: Amount, amounts: Sequence[Amount], matched: int) -> str:
    bounds = _bounds(worst)
    figures = f"{times(worst.base_ns, worst.new_ns)} {_per_cycle(worst)}"
    by = f"({change(worst.base_ns, worst.new_ns)}{bounds})"
    allowed = f"{_limit(budget, 'max_increase')} allowed"
    noise = ", which may be noise" if worst.is_beyond and not worst.is_certain else ""
    said = f"{_which(budget, worst, matched)}{figures} {by}{_where(worst, amounts)}"
    return f"{said}, {allowed}{noise}"


def _bounds(worst: Amount) -> str:
    if worst.interval_ns is None:
        return ""
    low, high = worst.interval_ns
    if not worst.base_ns:
        return f", 95 % interval {signed_ns(low)} to {signed_ns(high)}"
    scale = worst.base_ns / 100
    return f", 95 % interval {interval_pct(low / scale, high / scale)}"


def _increase(budget: Budget, worst: Amount) -> str:
    if budget.max_increase is not None and budget.max_increase.pct is None:
        return signed_ns(worst.delta_ns)
    return change(worst.base_ns, worst.new_ns)


def _others(over: Sequence[Amount]) -> str:
    return f"; {len(over) - 1} more beyond it" if len(over) > 1 else ""


def _untested(one: Amount) -> str:
    lengths = times(one.base_ns, one.new_ns)
    return f"one cycle on a side cannot be told from noise ({lengths})"


def _as_end(why: str) -> str:
    """A sentence as the end of another one."""
    text = why.strip().rstrip(".")
    return f"{text[:1].lower()}{text[1:]}" if text else "there is nothing to compare"
