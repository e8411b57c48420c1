"""Whether a comparison keeps to its budgets, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from timesink.answers.comparison.gate_result import doubt_sentence, runs_told, same_program
from timesink.answers.comparison.naming import pair_title, processes, step_type
from timesink.answers.comparison.program import (
    AMOUNTS,
    DEVICE_TIME,
    PROGRAM,
    edit_told,
    signals_of_pair,
)
from timesink.comparison.causes.diagnosis import diagnose
from timesink.comparison.causes.joint_diagnosis import cases_of, diagnose_comparison
from timesink.comparison.gate.budget_amounts import (
    Amount,
    BudgetMatch,
    increases,
    match_budget,
    mean_new_step,
    new_amounts,
    step_increase,
)
from timesink.comparison.gate.budget_file import (
    LACKED_TIME,
    SIGNAL,
    Budget,
    Increase,
)
from timesink.comparison.gate.verdict import (
    EXACT,
    FAILED,
    PASSED,
    PRECISE,
    UNJUDGED,
    Limit,
    doubt_of,
    what_stayed,
)
from timesink.comparison.results import Comparison, Pair
from timesink.model.diagnosis import Diagnosis
from timesink.model.findings import GateCheck
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
    same = ["" if why is None else _same_program(case, why, Limit()) for case, why in diagnoses]
    if result.outcome != FAILED or not all(same):
        return result
    sentence = result.sentence.rstrip(".")
    return replace(result, outcome=UNJUDGED, sentence=f"{sentence}. {same[0]}")


def _same_program(case: Comparison, why: Diagnosis, limit: Limit) -> str:
    """That only the pace of the host changed, as far as is known; empty where more did."""
    unchanged = what_stayed(case, why, limit)
    return "" if unchanged is None else same_program(why, unchanged)


def _doubt(why: Diagnosis, limit: Limit) -> str:
    """Why a change that is not certain is not decided; empty where it is."""
    doubt = doubt_of(why, limit)
    return "" if doubt is None else doubt_sentence(why, doubt)


def _of_cycle(budget: Budget, comparison: Comparison) -> Iterator[GateCheck]:
    """How long cycles are, and how much longer: of all ranks of a run together."""
    if budget.max_ns is not None:
        lengths = []
        for compared in comparison.pairs:
            pair, mean = compared.whole, mean_new_step(compared.whole)
            where = ", ".join(filter(None, (step_type(compared), processes(pair))))
            if mean is not None:
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
        where = pair_title(case.pairs[0]) if len(cases) > 1 else ""
        amount = step_increase(diagnosis, allowed, where)
        base = amount.base_ns
        limit = Limit(100 * (allowed.most(base) / base - 1) if base else 0.0)
        open_ = (
            _same_program(case, diagnosis, limit) if amount.is_over else _doubt(diagnosis, limit)
        )
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
    everything = [match_budget(pair, budget, processes(pair.whole)) for pair in comparison.pairs]
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
        ordered = new_amounts(budget, telling)
        judged = _limit_result(budget, "max", ordered[0], ordered, matched)
    elif telling:
        comparable = [match for match in telling if match.incomparable is None]
        reason = next(
            (match.incomparable for match in telling if match.incomparable is not None), None
        )
        judged = _increase_result(budget, matched, increases(budget, comparable), reason)
    if judged is not None and (judged.outcome == FAILED or not silent):
        return judged
    base, new = silent[0].missing
    side, missing = ("the new run", new) if new is not None else ("the base", base or budget.kind)
    where = f" ({silent[0].where})" if silent[0].where else ""
    return _undecided_result(budget, rule, f"in {side}{where} {_MISSING[missing]}")


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
