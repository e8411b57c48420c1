"""Whether a comparison keeps to its budgets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from timesink.analyses.comparison.pair import Pair
from timesink.analyses.statistics.discovery import ALPHA, false_discovery
from timesink.analyses.statistics.drifting import mean_changes
from timesink.answers.budget_file import TIMES, Budget, Budgets, Increase
from timesink.answers.budget_times import (
    DEVICE_TIME,
    MeasuredTimes,
    has_device_work,
    lacking,
    measured,
)
from timesink.model.amounts import change, interval_pct, signed_ns, times
from timesink.model.diagnosis import Diagnosis, SteadyTimes
from timesink.model.units import brief_ns, counted
from timesink.reports.comparison.answer import brief
from timesink.reports.comparison.naming import processes
from timesink.reports.comparison.report import Compared, Comparison
from timesink.reports.comparison.told import Told


@dataclass(frozen=True, slots=True)
class BudgetResult:
    """One limit of one entry, for all that it matches in all pairs: the worst of them."""

    kind: str
    """The table it is in: `cycle`, `operators`, `modules` or `kernels`."""
    name: str
    """The entry as written; `cycle` for the cycle itself."""
    rule: str
    """`max` or `max_increase`."""
    limit: str
    """As people read it: `1.50 ms`, `+10 %`, `+200 us`."""
    value: str
    """The worst that was found, in the same way; empty where nothing was."""
    state: str
    """`within`, `exceeded`, or `unjudged`: matches nothing, not recorded, or unequal work."""
    sentence: str
    """All of it in words, with the file's entry, what matched and where."""
    matched: int = 0
    """How many names the entry matches."""
    over: tuple[str, ...] = ()
    """Those beyond the limit, worst first."""

    @property
    def case(self) -> str:
        """A short name, unlike that of any other limit of the file.

        >>> BudgetResult("operators", "aten::mm", "max", "1 ms", "", "unjudged", "").case
        'operators "aten::mm" max'
        """
        entry = self.kind if self.kind == "cycle" else f'{self.kind} "{self.name}"'
        return f"{entry} {self.rule}"


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


def _result(budget: Budget, rule: str, matched: int, found: Sequence[BudgetMatch]) -> BudgetResult:
    """What is beyond the limit counts in any case; else every side asked about has to tell."""
    silent = [one for one in found if _is_silent(one, rule)]
    telling = [one for one in found if not _is_silent(one, rule)]
    judged = _judged_result(budget, rule, matched, telling) if telling else None
    if judged is not None and (judged.state == "exceeded" or not silent):
        return judged
    return lacking_result(budget, rule, silent[0], matched)


def _is_silent(found: BudgetMatch, rule: str) -> bool:
    """Whether a side does not tell that is asked about: of `max` the new one, else both."""
    base, new = found.lacking
    return new is not None or (rule != "max" and base is not None)


def _judged_result(
    budget: Budget, rule: str, matched: int, found: Sequence[BudgetMatch]
) -> BudgetResult:
    if rule == "max":
        return max_result(budget, matched, beyond_max(budget, found))
    return _increase_result(budget, matched, found)


def _increase_result(budget: Budget, matched: int, found: Sequence[BudgetMatch]) -> BudgetResult:
    comparable = [one for one in found if one.incomparable is None]
    reason = next((one.incomparable for one in found if one.incomparable is not None), None)
    return increase_result(budget, matched, beyond_increase(budget, comparable), reason)


def _rules(budget: Budget) -> Iterator[str]:
    if budget.max_ns is not None:
        yield "max"
    if budget.max_increase is not None:
        yield "max_increase"


# -- the cycle itself -----------------------------------------------------------------------------


_OF = "cycle"
_NO_LENGTHS = "How long cycles take is not recorded."


def evaluate_cycle(budget: Budget, comparison: Comparison) -> Iterator[BudgetResult]:
    """How long cycles are, and how much longer: of all ranks of a run together."""
    if budget.max_ns is not None:
        lengths = [amount for one in comparison.pairs for amount in _length(one, budget.max_ns)]
        known = sorted(lengths, key=lambda one: -one.new_ns)
        yield max_result(budget, 1, known) if known else unjudged(budget, "max", _NO_LENGTHS)
    if budget.max_increase is not None:
        yield _cycle_increase(budget, comparison)


def _length(one: Compared, most_ns: float) -> Iterator[Amount]:
    """The mean cycle of the new side after warm-up, as recorded."""
    pair = one.whole or one.pair
    lengths = pair.cycle_times.new_ns[pair.cycle_times.warm_up[1] :]
    if lengths:
        mean = fmean(lengths)
        yield Amount(_OF, _whose(one), _OF, 0.0, mean, mean > most_ns)


def _whose(one: Compared) -> str:
    said = processes(one.whole or one.pair)
    return f"{one.cycles}, {said}" if one.cycles else said


def _cycle_increase(budget: Budget, comparison: Comparison) -> BudgetResult:
    """As the verdict goes: of each run and sort of cycle the ranks together."""
    amounts, reason = [], None
    for case in comparison.cases:
        found = case.diagnosis
        if found is None or found.verdict == "incomparable":
            reason = reason or ("" if found is None else found.reason)
        else:
            where = case.pairs[0].title if len(comparison.cases) > 1 else ""
            amounts.append(_cycle_change(budget, found, where))
    ordered = sorted(amounts, key=lambda one: (not one.is_beyond, -one.delta_ns))
    return increase_result(budget, 1, ordered, reason)


def _cycle_change(budget: Budget, found: Diagnosis, where: str) -> Amount:
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


# -- what entries match, and by how much it is beyond a limit -------------------------------------


_DEVICE, _HOST = TIMES


@dataclass(frozen=True, slots=True, eq=False)
class BudgetMatch:
    """What an entry matches in one pair."""

    where: str
    """Which processes: `rank 3`."""
    of: str
    """The sort of time."""
    new: MeasuredTimes
    """The new side as recorded."""
    sides: tuple[MeasuredTimes, MeasuredTimes]
    """Both with cycles that hold the same work."""
    warm_up: tuple[int, int]
    """Of both with the same work; of the new side as recorded, see `new_warm_up`."""
    new_warm_up: int
    incomparable: str | None
    """Why nothing can be said about a change."""
    lacking: tuple[str | None, str | None]
    """What of this kind the base, and the new side, do not tell of; None where they do."""

    @property
    def names(self) -> set[str]:
        return self.new.names | self.sides[0].names | self.sides[1].names


@dataclass(frozen=True, slots=True)
class Amount:
    """Time per cycle of one name in one pair, and what it is against."""

    name: str
    where: str
    of: str
    base_ns: float
    new_ns: float
    is_beyond: bool
    """Whether the amount alone is."""
    is_certain: bool | None = None
    """Whether an increase is more than noise; None where it cannot be tested."""
    interval_ns: tuple[float, float] | None = None

    @property
    def delta_ns(self) -> float:
        return self.new_ns - self.base_ns


def found_in(compared: Compared, budget: Budget) -> BudgetMatch:
    """What an entry matches in a pair."""
    whole = compared.whole or compared.pair
    equal = Told(whole).pair
    of = budget.of or _usual_time(whole, budget.kind)
    new = measured(whole.new, budget, of)
    sides = measured(equal.base, budget, of), measured(equal.new, budget, of)
    return BudgetMatch(
        where=processes(whole),
        of=of,
        new=new,
        sides=sides,
        warm_up=equal.cycle_times.warm_up,
        new_warm_up=whole.cycle_times.warm_up[1],
        incomparable=_incomparable(whole),
        lacking=(lacking(whole.base, budget.kind, of), lacking(whole.new, budget.kind, of)),
    )


def _usual_time(pair: Pair, kind: str) -> str:
    if kind == "kernels" or has_device_work(pair.new) or has_device_work(pair.base):
        return _DEVICE
    return _HOST


def _incomparable(pair: Pair) -> str | None:
    if pair.workload.comparable or pair.equal_work is not None:
        return None
    return " ".join(["Cycles do not hold the same work.", *pair.workload.reasons[:1]])


def beyond_max(budget: Budget, found: Sequence[BudgetMatch]) -> list[Amount]:
    """Mean time per cycle of every name on the new side, longest first."""
    amounts = []
    for one in found:
        names = sorted(one.names)
        values = one.new.matrix(names, one.new_warm_up)
        means = values.mean(axis=0) if len(values) else np.zeros(len(names))
        amounts += [
            Amount(name, one.where, one.of, 0.0, mean, mean > (budget.max_ns or 0))
            for name, mean in zip(names, means.tolist(), strict=True)
        ]
    return sorted(amounts, key=lambda one: (-one.new_ns, one.name))


def beyond_increase(budget: Budget, found: Sequence[BudgetMatch]) -> list[Amount]:
    """Change of the mean time per cycle of every name, those beyond the limit and longest first.

    Many names differ by chance somewhere: what is certain is what is left after Benjamini and
    Hochberg, where the interval of the change lies above 0 as well.
    """
    amounts = [amount for one in found for amount in _changes(one)]
    chances = false_discovery(np.array([p for _, p in amounts]))
    judged = [
        _judged(budget, amount, q) for (amount, _), q in zip(amounts, chances.tolist(), strict=True)
    ]
    return sorted(judged, key=lambda one: (not one.is_beyond, -one.delta_ns, one.name))


def _changes(found: BudgetMatch) -> list[tuple[Amount, float]]:
    """Every name with both means, the interval, and the chance that it is noise."""
    names = sorted(found.names)
    base, new = (
        side.matrix(names, warm) for side, warm in zip(found.sides, found.warm_up, strict=True)
    )
    changes = mean_changes(base, new)
    means = [side.mean(axis=0) if len(side) else np.zeros(len(names)) for side in (base, new)]
    return [
        (
            Amount(
                name,
                found.where,
                found.of,
                float(means[0][place]),
                float(means[1][place]),
                is_beyond=False,
                interval_ns=_interval(changes.low[place], changes.high[place]),
            ),
            float(changes.p[place]),
        )
        for place, name in enumerate(names)
    ]


def _interval(low: float, high: float) -> tuple[float, float] | None:
    return (float(low), float(high)) if np.isfinite(low) and np.isfinite(high) else None


def _judged(budget: Budget, amount: Amount, chance: float) -> Amount:
    allowed = budget.max_increase or Increase(pct=0.0)
    delta = amount.delta_ns
    is_large = allowed.is_below(delta, amount.base_ns) and delta >= budget.ignore_below_ns
    certain = None
    if amount.interval_ns is not None:
        certain = amount.interval_ns[0] > 0 and chance < ALPHA
    return replace(amount, is_beyond=is_large, is_certain=certain)


# -- in words -------------------------------------------------------------------------------------


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


def lacking_result(budget: Budget, rule: str, found: BudgetMatch, matched: int) -> BudgetResult:
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
    return "cycle" if budget.kind == "cycle" else f'{budget.kind} "{brief(budget.name, _NAMED)}"'


def _which(budget: Budget, worst: Amount, matched: int) -> str:
    """The name that is told, where the entry does not say it."""
    if budget.kind == "cycle" or (worst.name == budget.name and matched == 1):
        return ""
    most = f" (of {counted(matched, 'names')})" if matched > 1 else ""
    return f"{brief(worst.name, _NAMED)}{most}: "


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
