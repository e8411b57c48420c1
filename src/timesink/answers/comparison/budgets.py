"""Whether a comparison keeps to its budgets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

import msgspec
import numpy as np
import polars as pl
from msgspec.structs import replace

from timesink.analyses.statistics.mean_changes import mean_changes
from timesink.analyses.statistics.moments import column_means
from timesink.analyses.statistics.significance import false_discovery
from timesink.analyses.thresholds import SignificanceLimits
from timesink.answers.comparison.budget_file import (
    LACKED_TIME,
    SIGNAL,
    Budget,
    Increase,
    has_device_work,
    matching_times,
    missing_part,
)
from timesink.answers.comparison.changes import PairView
from timesink.answers.comparison.gate_result import EXACT, PRECISE, doubt, runs_told, same_program
from timesink.answers.comparison.naming import pair_title, processes, step_type
from timesink.answers.comparison.program import (
    AMOUNTS,
    DEVICE_TIME,
    PROGRAM,
    edit_told,
    signals_of_pair,
)
from timesink.comparison.causes.case import cycle_matrices, known_interval
from timesink.comparison.causes.diagnosis import diagnose
from timesink.comparison.causes.joint_diagnosis import cases_of, diagnose_comparison
from timesink.comparison.gate.verdict import FAILED, PASSED, UNJUDGED, Limit
from timesink.comparison.results import Comparison, Pair
from timesink.comparison.steps.verdict import UNEQUAL_WORK
from timesink.model.diagnosis import SIDES, SteadyTimes
from timesink.model.findings import GateCheck, Interval
from timesink.model.intervals import Floats
from timesink.model.units import brief_ns, change, count_noun, interval_pct, signed_ns, times
from timesink.output.names import cut_middle

NOISE = ", not certain (noise)"
_NAMED = 60
_MISSING = {
    "operators": "no operator was recorded",
    "modules": "no module was recorded: record with with_modules or with_stack of the profiler",
    "kernels": "no device work was recorded",
    LACKED_TIME: 'no device time was recorded (of = "host" measures host time instead)',
}


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


def evaluate(budgets: Sequence[Budget], comparison: Comparison) -> tuple[GateCheck, ...]:
    """One check per limit of each entry: those on single runs first, others as in the file.

    `max` is of the new side, `max_increase` of the change; warm-up counts for neither.  Of many
    names or ranks that an entry matches each has the limit to itself, and the worst is told.
    """
    checks = list(
        signal_checks([budget for budget in budgets if budget.kind == SIGNAL], comparison)
    )
    for budget in (budget for budget in budgets if budget.kind != SIGNAL):
        checks += (_of_cycle if budget.kind == "cycle" else _of_names)(budget, comparison)
    return tuple(checks)


def _unless_the_host(result: GateCheck, comparison: Comparison) -> GateCheck:
    """A longer time of the host is not decided where only the pace of the host changed."""
    diagnoses = [(case, diagnose_comparison(case)) for case in cases_of(comparison)]
    same = ["" if why is None else same_program(case, why, Limit()) for case, why in diagnoses]
    if result.outcome != FAILED or not all(same):
        return result
    sentence = result.sentence.rstrip(".")
    return replace(result, outcome=UNJUDGED, sentence=f"{sentence}. {same[0]}")


def _of_cycle(budget: Budget, comparison: Comparison) -> Iterator[GateCheck]:
    """How long cycles are, and how much longer: of all ranks of a run together."""
    if budget.max_ns is not None:
        lengths = []
        for compared in comparison.pairs:
            # The mean cycle of the new side after warm-up: of plain cycles where these are judged.
            pair = compared.whole
            after: Sequence[float] = pair.cycle_times.new_ns[pair.cycle_times.warm_up[1] :]
            if pair.plain is not None:
                run_cycles_ns = [run.cycles_ns for run in pair.plain.runs if run.side == SIDES[1]]
                after = np.concatenate(run_cycles_ns).tolist()
            where = ", ".join(filter(None, (step_type(compared), processes(pair))))
            if after:
                mean = fmean(after)
                lengths.append(Amount("cycle", where, "cycle", 0.0, mean, mean > budget.max_ns))
        longest_first = sorted(lengths, key=lambda amount: -amount.new_ns)
        why = "Step times are not recorded."
        yield (
            _limit_result(budget, "max", longest_first[0], longest_first, 1)
            if longest_first
            else _undecided_result(budget, "max", why)
        )
    if budget.max_increase is not None:
        yield _cycle_increase(budget, budget.max_increase, comparison)


def _cycle_increase(budget: Budget, allowed: Increase, comparison: Comparison) -> GateCheck:
    """As the verdict goes: of each run and sort of cycle the ranks together."""
    amounts, reason, doubts = [], None, []
    cases = cases_of(comparison)
    for case in cases:
        diagnosis = diagnose_comparison(case)
        if diagnosis is None or diagnosis.verdict == "incomparable":
            reason = reason or ("" if diagnosis is None else diagnosis.reason)
            continue
        # What was tested: without warm-up and isolated outliers, or without profiler overhead.
        cycle = diagnosis.cycle_time
        without = diagnosis.corrected if diagnosis.is_without_overhead else None
        tested = without or cycle.steady or SteadyTimes(cycle.base_ns, cycle.new_ns)
        base, new, interval = tested.base_ns, tested.new_ns, tested.interval_ns
        # A run that is compared with itself has no scatter to test against, and no change.
        certain = diagnosis.verdict == "regression" if interval is None else interval[0] > 0
        where = pair_title(case.pairs[0]) if len(cases) > 1 else ""
        beyond = allowed.is_below(new - base, base)
        amount = Amount("cycle", where, "cycle", base, new, beyond, certain, interval)
        limit = Limit(100 * (allowed.most(base) / base - 1) if base else 0.0)
        open_ = same_program(case, diagnosis, limit) if amount.is_over else doubt(diagnosis, limit)
        doubts += [open_] if open_ else []
        amounts.append(replace(amount, is_certain=False) if open_ else amount)
    ordered = sorted(amounts, key=lambda amount: (not amount.is_beyond, -amount.delta_ns))
    result = _increase_result(budget, 1, ordered, reason)
    if not doubts or result.outcome != PASSED:
        return result
    sentence = result.sentence.removesuffix(f"{NOISE}.").rstrip(".")
    return replace(result, outcome=UNJUDGED, sentence=f"{sentence}. {doubts[0]}")


# -- operators, modules and kernels ----------------------------------------------------------------


def _of_names(budget: Budget, comparison: Comparison) -> Iterator[GateCheck]:
    # Processes of which neither side tells anything, as helpers without a device, are none of it.
    everything = [_match(pair, budget) for pair in comparison.pairs]
    matches = [match for match in everything if not all(match.missing)]
    matched = len({name for match in matches for name in match.names})
    missing = next((match.missing[1] for match in everything), budget.kind)
    why = "matches nothing in either run" if matches else _MISSING[missing or budget.kind]
    for rule in budget.rules:
        if matched:
            result = _of_rule(budget, rule, matched, matches)
            of_host = rule == "max_increase" and all(match.of == "host" for match in matches)
            yield _unless_the_host(result, comparison) if of_host else result
        elif budget.optional:
            yield _check(budget, rule, PASSED, f"{why}; it is optional", is_empty=True)
        else:
            yield _undecided_result(budget, rule, why)


def _match(compared: Pair, budget: Budget) -> BudgetMatch:
    """What an entry matches in a pair."""
    full_pair, kind = compared.whole, budget.kind
    on_device = (
        kind == "kernels" or has_device_work(full_pair.new) or has_device_work(full_pair.base)
    )
    equal, of = PairView(full_pair).pair, budget.of or ("device" if on_device else "host")
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
        where=processes(full_pair),
        of=of,
        names=names,
        new=new,
        sides=(sides[0], sides[1]),
        incomparable=unequal,
        missing=(missing_part(full_pair.base, kind, of), missing_part(full_pair.new, kind, of)),
    )


def _of_rule(budget: Budget, rule: str, matched: int, matches: Sequence[BudgetMatch]) -> GateCheck:
    """What is beyond the limit counts in any case; else every side asked about has to tell.

    Of `max` that is the new side, else both.
    """
    silent = [
        match
        for match in matches
        if match.missing[1] is not None or (rule != "max" and any(match.missing))
    ]
    telling = [match for match in matches if match not in silent]
    judged = None
    if telling and rule == "max":
        # Mean time per cycle of every name on the new side, longest first.
        amounts = [
            Amount(name, match.where, match.of, 0.0, mean, mean > (budget.max_ns or 0))
            for match in telling
            for name, mean in zip(match.names, column_means(match.new).tolist(), strict=True)
        ]
        ordered = sorted(amounts, key=lambda amount: (-amount.new_ns, amount.name))
        judged = _limit_result(budget, "max", ordered[0], ordered, matched)
    elif telling:
        comparable = [match for match in telling if match.incomparable is None]
        reason = next(
            (match.incomparable for match in telling if match.incomparable is not None), None
        )
        judged = _increase_result(budget, matched, _beyond_increase(budget, comparable), reason)
    if judged is not None and (judged.outcome == FAILED or not silent):
        return judged
    base, new = silent[0].missing
    side, missing = ("the new run", new) if new is not None else ("the base", base or budget.kind)
    where = f" ({silent[0].where})" if silent[0].where else ""
    return _undecided_result(budget, rule, f"in {side}{where} {_MISSING[missing]}")


def _beyond_increase(budget: Budget, matches: Sequence[BudgetMatch]) -> list[Amount]:
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


def _increase_result(
    budget: Budget, matched: int, amounts: Sequence[Amount], incomparable: str | None
) -> GateCheck:
    """The result of `max_increase`: amounts are those of all that matches, worst first."""
    rule = "max_increase"
    worst = next((amount for amount in amounts if amount.is_over), None)
    if worst is None:
        if incomparable is not None or not amounts:
            return _undecided_result(budget, rule, incomparable or "")
        untested = [amount for amount in amounts if amount.is_beyond and amount.is_certain is None]
        if untested:
            lengths = times(untested[0].base_ns, untested[0].new_ns)
            why = f"one step each shows no difference from noise ({lengths})"
            return _undecided_result(budget, rule, why)
        worst = amounts[0]
    return _limit_result(budget, rule, worst, amounts, matched)


def _limit_result(
    budget: Budget, rule: str, worst: Amount, amounts: Sequence[Amount], matched: int
) -> GateCheck:
    """What the worst took and what is allowed; its name and place where there are others.

    The amounts are those of all that matches.
    """
    took, more, name = brief_ns(worst.new_ns), "", ""
    if rule == "max_increase":
        means = worst.base_ns, worst.new_ns
        took, more = times(*means), change(*means)
        if worst.interval_ns is not None:
            low, high = worst.interval_ns
            scale = worst.base_ns / 100
            bounds = f"{signed_ns(low)} to {signed_ns(high)}"
            bounds = interval_pct(low / scale, high / scale) if scale else bounds
            more = f"{more}, 95 % confidence interval {bounds}"
        more = f" ({more})"
    if budget.kind != "cycle" and (worst.name != budget.name or matched != 1):
        most = f" (of {count_noun(matched, 'names')})" if matched > 1 else ""
        name = f"{cut_middle(worst.name, _NAMED)}{most}: "
    per = "" if worst.of == "cycle" else f" of {worst.of} time per step"
    several = len({amount.where for amount in amounts}) > 1
    where = f" in {worst.where}" if several and worst.where else ""
    text = f"{name}{took}{per}{more}{where}, limit {budget.limit(rule)}"
    if worst.is_beyond and not worst.is_over:
        text += NOISE
    over = sum(amount.is_over for amount in amounts)
    text += f"; {over - 1} more over the limit" if over > 1 else ""
    return _check(budget, rule, FAILED if over else PASSED, text)


def _undecided_result(budget: Budget, rule: str, why: str) -> GateCheck:
    """The result of what is not decided; `why` is said as the end of a sentence."""
    text = why.strip().rstrip(".") or "there is nothing to compare"
    sentence = f"{rule} not decided: {text[:1].lower()}{text[1:]}"
    return _check(budget, rule, UNJUDGED, sentence)


def _check(
    budget: Budget, rule: str, outcome: str, sentence: str, *, is_empty: bool = False
) -> GateCheck:
    """A check, whose name is unlike that of any other limit: `operators "aten::mm" max`."""
    entry, name = "Step time", f"cycle {rule}"
    if budget.kind != "cycle":
        entry = f'{budget.kind} "{cut_middle(budget.name, _NAMED)}"'
        name = f'{budget.kind} "{budget.name}" {rule}'
    return GateCheck("budget", f"{entry}: {sentence}.", name, outcome, is_empty=is_empty)


# -- limits on what single runs tell for sure, or nearly -------------------------------------------

_MAX_EDITS = 2
_ORDER = (PROGRAM, *AMOUNTS, DEVICE_TIME)
_NO_TIMELINE = "no timeline was recorded: compare recordings made by timesink record"
_NO_HOST = "kernels are the same, but host calls were not recorded: use timesink record"
_NO_DEVICE = AMOUNTS["launches"].missing
_UNEQUAL = "but the steps of the two runs do different work"


def signal_checks(budgets: Sequence[Budget], comparison: Comparison) -> tuple[GateCheck, ...]:
    """One check per limit: what is certain first, then what is precise.

    Of several ranks each has the limit to itself, and the worst is told.
    """
    results = []
    for budget in sorted(budgets, key=lambda budget: _ORDER.index(budget.name)):
        if budget.name == PROGRAM:
            results.append(_program_check(comparison.pairs))
            continue
        judge = _device_time if budget.name == DEVICE_TIME else _amount
        every = comparison.pairs
        checks = [judge(pair, budget, _where(pair, every)) for pair in every]
        results.append(min(checks, key=lambda check: (check.urgency, -check.beyond)))
    return tuple(results)


def _signal_check(name: str, outcome: str, sentence: str, beyond: float = 0.0) -> GateCheck:
    """`beyond` orders those of several ranks."""
    sentence = f"{name} not decided: {sentence}" if outcome == UNJUDGED else sentence
    kind = PRECISE if name == DEVICE_TIME else EXACT
    return GateCheck(kind, f"{sentence}.", name, outcome, beyond=beyond)


def _where(pair: Pair, pairs: Sequence[Pair]) -> str:
    """Which processes, where there are others."""
    if len(pairs) == 1:
        return ""
    place = ", ".join(filter(None, (step_type(pair), processes(pair.whole))))
    return f" in {place}" if place else ""


def _program_check(pairs: Sequence[Pair]) -> GateCheck:
    programs = [diagnose(pair).program for pair in pairs]
    recorded_programs = [program for program in programs if program is not None]
    # Who asks for the same program asks for the same kernels as well, whatever they take.
    edits = max(
        (program.edits or program.choices for program in recorded_programs), key=len, default=()
    )
    if edits:
        first = "; ".join(map(edit_told, edits[:_MAX_EDITS]))
        more = len(edits) - _MAX_EDITS
        rest = f"; and {count_noun(more, 'more changes')}" if more > 0 else ""
        return _signal_check(PROGRAM, FAILED, f"The program changed: {first}{rest}")
    if not recorded_programs or len(recorded_programs) < len(programs):
        return _signal_check(PROGRAM, UNJUDGED, _NO_TIMELINE)
    if not all(program.certain for program in recorded_programs):
        return _signal_check(PROGRAM, UNJUDGED, _NO_HOST)
    return _signal_check(PROGRAM, PASSED, "The recorded calls are the same")


def _amount(pair: Pair, budget: Budget, where: str) -> GateCheck:
    """Beyond where all cycles are; not decided where some are, as counts differ among cycles."""
    name, what, allowed = budget.name, AMOUNTS[budget.name], budget.max_increase or Increase(0.0)
    sides = signals_of_pair(pair)
    base, new = (getattr(signals, what.signal) for signals in sides)
    if base is None or new is None:
        side = "the base" if base is None else "the new run"
        return _signal_check(name, UNJUDGED, f"in {side}{where} {what.missing}")
    spans = [
        signals.ranges.get(what.signal, (middle, middle))
        for signals, middle in zip(sides, (base, new), strict=True)
    ]
    (_, usual), (least, most) = spans
    may = "" if base == new else f"; limit {allowed.text}"
    sentence = f"{what.of(base, new)}{where}{may}"
    grew = allowed.is_below(new - base, base)
    if not allowed.is_below(most - usual, usual) and not grew:
        return _signal_check(name, PASSED, sentence, new - base)
    if not allowed.is_below(least - usual, usual):
        spans_text = " and ".join(f"{what.text(low)} to {what.text(high)}" for low, high in spans)
        return _signal_check(
            name, UNJUDGED, f"{sentence}, and steps differ ({spans_text})", new - base
        )
    if pair.whole.equal_work is not None:
        return _signal_check(name, UNJUDGED, f"{sentence}, {_UNEQUAL}", new - base)
    return _signal_check(name, FAILED, sentence, new - base)


def _device_time(pair: Pair, budget: Budget, where: str) -> GateCheck:
    """Beyond for sure, within for sure, or the interval holds the limit."""
    program, allowed = diagnose(pair).program, budget.max_increase or Increase(0.0)
    took = None if program is None else program.device_time
    if took is None or not (took.base_ns and took.new_ns):
        return _signal_check(DEVICE_TIME, UNJUDGED, _NO_TIMELINE if took is None else _NO_DEVICE)
    delta = took.new_ns - took.base_ns
    if took.interval_ns is None:
        return _signal_check(DEVICE_TIME, UNJUDGED, _NO_TIMELINE, delta)
    low, high = took.interval_ns
    scale = took.base_ns / 100
    sentence = (
        f"Device time per step: {times(took.base_ns, took.new_ns)} "
        f"({change(took.base_ns, took.new_ns)}, 95 % confidence interval "
        f"{interval_pct(low / scale, high / scale)}){where}; limit {allowed.text}"
    )
    if allowed.is_below(low, took.base_ns):
        return _signal_check(DEVICE_TIME, FAILED, sentence, delta)
    if not allowed.is_below(high, took.base_ns):
        return _signal_check(DEVICE_TIME, PASSED, sentence, delta)
    room = allowed.most(took.base_ns) - took.new_ns
    runs = runs_told((high - low) / 2, room).removesuffix(".")
    return _signal_check(DEVICE_TIME, UNJUDGED, f"{sentence}. {runs}", delta)
