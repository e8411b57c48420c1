"""Whether a comparison keeps to its budgets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from timesink.analyses.comparison.pair import Pair
from timesink.analyses.statistics.drift import mean_changes
from timesink.analyses.statistics.ranks import ALPHA, false_discovery
from timesink.answers.comparison.budget_file import (
    DEVICE_TIME,
    Budget,
    Budgets,
    Increase,
    MeasuredTimes,
    has_device_work,
    lacking,
    measured,
)
from timesink.answers.comparison.changes import Told
from timesink.answers.comparison.naming import processes
from timesink.answers.comparison.pairing import Compared
from timesink.answers.comparison.report import Comparison
from timesink.model.diagnosis import Diagnosis, SteadyTimes
from timesink.model.findings import Interval
from timesink.model.units import brief_ns, change, counted, interval_pct, signed_ns, times
from timesink.output.names import cut_middle
from timesink.rules.case_functions import column_means
from timesink.rules.ledger import known_interval

_NAMED = 60
_MISSING = {
    "operators": "no operator was recorded",
    "modules": "no module was recorded: record with the modules or the stack of the profiler",
    "kernels": "no device work was recorded",
    DEVICE_TIME: 'no time on a device was recorded (of = "host" asks for that of the host)',
}


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
        """A short name, unlike that of any other limit of the file: `operators "aten::mm" max`."""
        entry = self.kind if self.kind == "cycle" else f'{self.kind} "{self.name}"'
        return f"{entry} {self.rule}"


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
    def names(self) -> list[str]:
        return sorted(self.new.names | self.sides[0].names | self.sides[1].names)

    def is_silent(self, rule: str) -> bool:
        """Whether a side does not tell that is asked about: of `max` the new one, else both."""
        base, new = self.lacking
        return new is not None or (rule != "max" and base is not None)


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
    interval_ns: Interval | None = None

    @property
    def delta_ns(self) -> float:
        return self.new_ns - self.base_ns


def evaluate(budgets: Budgets, comparison: Comparison) -> tuple[BudgetResult, ...]:
    """One result per limit of each entry, in the order of the file.

    `max` is of the new side, `max_increase` of the change; warm-up counts for neither.  Of many
    names or ranks that an entry matches each has the limit to itself, and the worst is told.
    """
    found: list[BudgetResult] = []
    for one in budgets.entries:
        of_kind = _of_cycle if one.kind == "cycle" else _of_names
        found += of_kind(one, comparison)
    return tuple(found)


# -- the cycle itself ------------------------------------------------------------------------------


def _of_cycle(budget: Budget, comparison: Comparison) -> Iterator[BudgetResult]:
    """How long cycles are, and how much longer: of all ranks of a run together."""
    if budget.max_ns is not None:
        lengths = [one for each in comparison.pairs for one in _length(each, budget.max_ns)]
        known = sorted(lengths, key=lambda one: -one.new_ns)
        why = "How long cycles take is not recorded."
        yield _max_result(budget, 1, known) if known else _unjudged(budget, "max", why)
    if budget.max_increase is not None:
        yield _cycle_increase(budget, comparison)


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
    return _increase_result(budget, 1, ordered, reason)


def _length(one: Compared, most_ns: float) -> Iterator[Amount]:
    """The mean cycle of the new side after warm-up, as recorded."""
    pair = one.whole or one.pair
    lengths = pair.cycle_times.new_ns[pair.cycle_times.warm_up[1] :]
    if lengths:
        mean, said = fmean(lengths), processes(pair)
        where = f"{one.cycles}, {said}" if one.cycles else said
        yield Amount("cycle", where, "cycle", 0.0, mean, mean > most_ns)


def _cycle_change(budget: Budget, found: Diagnosis, where: str) -> Amount:
    """What was tested: without warm-up and isolated outliers."""
    cycle, allowed = found.cycle_time, budget.max_increase
    tested = cycle.steady or SteadyTimes(cycle.base_ns, cycle.new_ns)
    base, new, interval = tested.base_ns, tested.new_ns, tested.interval_ns
    # A run that is compared with itself has no scatter to test against, and no change.
    certain = found.verdict == "regression" if interval is None else interval[0] > 0
    beyond = allowed is not None and allowed.is_below(new - base, base)
    return Amount("cycle", where, "cycle", base, new, beyond, certain, interval)


# -- operators, modules and kernels ----------------------------------------------------------------


def _of_names(budget: Budget, comparison: Comparison) -> Iterator[BudgetResult]:
    # Processes of which neither side tells anything, as helpers without a device, are none of it.
    everything = [_match(one, budget) for one in comparison.pairs]
    found = [one for one in everything if not all(one.lacking)]
    matched = len({name for one in found for name in one.names})
    missing = next((one.lacking[1] for one in everything), budget.kind)
    why = "matches nothing in either run" if found else _MISSING[missing or budget.kind]
    for rule in budget.rules:
        if matched:
            yield _of_rule(budget, rule, matched, found)
        elif budget.optional:
            yield _result(budget, rule, "within", f"{why}; it is optional")
        else:
            yield _unjudged(budget, rule, why)


def _of_rule(budget: Budget, rule: str, matched: int, found: Sequence[BudgetMatch]) -> BudgetResult:
    """What is beyond the limit counts in any case; else every side asked about has to tell."""
    silent = [one for one in found if one.is_silent(rule)]
    telling = [one for one in found if not one.is_silent(rule)]
    judged = _judged(budget, rule, matched, telling) if telling else None
    if judged is not None and (judged.state == "exceeded" or not silent):
        return judged
    base, new = silent[0].lacking
    side, missing = ("the new run", new) if new is not None else ("the base", base or budget.kind)
    where = f" ({silent[0].where})" if silent[0].where else ""
    return _unjudged(budget, rule, f"in {side}{where} {_MISSING[missing]}", matched)


def _match(compared: Compared, budget: Budget) -> BudgetMatch:
    """What an entry matches in a pair."""
    whole = compared.whole or compared.pair
    equal, of = Told(whole).pair, budget.of or _usual_time(whole, budget.kind)
    unequal = None
    if not whole.workload.comparable and whole.equal_work is None:
        unequal = " ".join(["Cycles do not hold the same work.", *whole.workload.reasons[:1]])
    return BudgetMatch(
        where=processes(whole),
        of=of,
        new=measured(whole.new, budget, of),
        sides=(measured(equal.base, budget, of), measured(equal.new, budget, of)),
        warm_up=equal.cycle_times.warm_up,
        new_warm_up=whole.cycle_times.warm_up[1],
        incomparable=unequal,
        lacking=(lacking(whole.base, budget.kind, of), lacking(whole.new, budget.kind, of)),
    )


def _usual_time(pair: Pair, kind: str) -> str:
    on_device = kind == "kernels" or has_device_work(pair.new) or has_device_work(pair.base)
    return "device" if on_device else "host"


def _judged(budget: Budget, rule: str, matched: int, found: Sequence[BudgetMatch]) -> BudgetResult:
    if rule == "max":
        return _max_result(budget, matched, _beyond_max(budget, found))
    comparable = [one for one in found if one.incomparable is None]
    reason = next((one.incomparable for one in found if one.incomparable is not None), None)
    return _increase_result(budget, matched, _beyond_increase(budget, comparable), reason)


def _beyond_max(budget: Budget, found: Sequence[BudgetMatch]) -> list[Amount]:
    """Mean time per cycle of every name on the new side, longest first."""
    amounts = []
    for one in found:
        means = column_means(one.new.matrix(one.names, one.new_warm_up))
        amounts += [
            Amount(name, one.where, one.of, 0.0, mean, mean > (budget.max_ns or 0))
            for name, mean in zip(one.names, means.tolist(), strict=True)
        ]
    return sorted(amounts, key=lambda one: (-one.new_ns, one.name))


def _beyond_increase(budget: Budget, found: Sequence[BudgetMatch]) -> list[Amount]:
    """Change of the mean time per cycle of every name, those beyond the limit and longest first.

    Many names differ by chance somewhere: what is certain is what is left after Benjamini and
    Hochberg, where the interval of the change lies above 0 as well.
    """
    changes = [each for one in found for each in _changes(one)]
    chances = false_discovery(np.array([p for _, p in changes])).tolist()
    allowed = budget.max_increase or Increase(pct=0.0)
    judged = []
    for (one, _), chance in zip(changes, chances, strict=True):
        delta, interval = one.delta_ns, one.interval_ns
        beyond = allowed.is_below(delta, one.base_ns) and delta >= budget.ignore_below_ns
        certain = None if interval is None else interval[0] > 0 and chance < ALPHA
        judged.append(replace(one, is_beyond=beyond, is_certain=certain))
    return sorted(judged, key=lambda one: (not one.is_beyond, -one.delta_ns, one.name))


def _changes(found: BudgetMatch) -> Iterator[tuple[Amount, float]]:
    """Every name with both means, the interval, and the chance that it is noise."""
    base, new = (
        side.matrix(found.names, warm)
        for side, warm in zip(found.sides, found.warm_up, strict=True)
    )
    changes = mean_changes(base, new)
    before, after = column_means(base), column_means(new)
    for place, name in enumerate(found.names):
        interval = known_interval(changes.low[place], changes.high[place])
        means = float(before[place]), float(after[place])
        amount = Amount(name, found.where, found.of, *means, False, interval_ns=interval)
        yield amount, float(changes.p[place])


# -- in words --------------------------------------------------------------------------------------


def _max_result(budget: Budget, matched: int, amounts: Sequence[Amount]) -> BudgetResult:
    """The result of `max`: amounts are those of all that matches, longest first."""
    worst, over = amounts[0], [one for one in amounts if one.is_beyond]
    took = brief_ns(worst.new_ns)
    said = f"{_which(budget, worst, matched)}{took} {_per_cycle(worst)}{_where(worst, amounts)}"
    return _result(
        budget,
        "max",
        "exceeded" if over else "within",
        f"{said}, {budget.limit('max')} allowed",
        matched,
        value=took,
        over=over,
    )


def _increase_result(
    budget: Budget, matched: int, amounts: Sequence[Amount], incomparable: str | None
) -> BudgetResult:
    """The result of `max_increase`: amounts are those of all that matches, worst first."""
    rule, over = "max_increase", [one for one in amounts if one.is_beyond and one.is_certain]
    if not over:
        if incomparable is not None or not amounts:
            return _unjudged(budget, rule, incomparable or "", matched)
        untested = [one for one in amounts if one.is_beyond and one.is_certain is None]
        if untested:
            lengths = times(untested[0].base_ns, untested[0].new_ns)
            why = f"one cycle on a side cannot be told from noise ({lengths})"
            return _unjudged(budget, rule, why, matched)
    worst = (over or amounts)[0]
    means = worst.base_ns, worst.new_ns
    figures = f"{times(*means)} {_per_cycle(worst)} ({change(*means)}{_bounds(worst)})"
    noise = ", which may be noise" if worst.is_beyond and not worst.is_certain else ""
    of_time = budget.max_increase is not None and budget.max_increase.pct is None
    return _result(
        budget,
        rule,
        "exceeded" if over else "within",
        f"{_which(budget, worst, matched)}{figures}{_where(worst, amounts)}, "
        f"{budget.limit(rule)} allowed{noise}",
        matched,
        value=signed_ns(worst.delta_ns) if of_time else change(*means),
        over=over,
    )


def _unjudged(budget: Budget, rule: str, why: str, matched: int = 0) -> BudgetResult:
    """The result of what cannot be judged; `why` is said as the end of a sentence."""
    text = why.strip().rstrip(".") or "there is nothing to compare"
    said = f"{rule} cannot be judged: {text[:1].lower()}{text[1:]}"
    return _result(budget, rule, "unjudged", said, matched)


def _result(
    budget: Budget,
    rule: str,
    state: str,
    said: str,
    matched: int = 0,
    *,
    value: str = "",
    over: Sequence[Amount] = (),
) -> BudgetResult:
    entry = (
        f'{budget.kind} "{cut_middle(budget.name, _NAMED)}"' if budget.kind != "cycle" else "cycle"
    )
    others = f"; {len(over) - 1} more beyond it" if len(over) > 1 else ""
    return BudgetResult(
        kind=budget.kind,
        name=budget.name,
        rule=rule,
        limit=budget.limit(rule),
        value=value,
        state=state,
        sentence=f"{entry}: {said}{others}.",
        matched=matched,
        over=tuple(dict.fromkeys(one.name for one in over)),
    )


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


def _bounds(worst: Amount) -> str:
    if worst.interval_ns is None:
        return ""
    low, high = worst.interval_ns
    if not worst.base_ns:
        return f", 95 % interval {signed_ns(low)} to {signed_ns(high)}"
    scale = worst.base_ns / 100
    return f", 95 % interval {interval_pct(low / scale, high / scale)}"
