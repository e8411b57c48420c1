"""Whether a comparison passes, as plain data: the checks of a gate, and how much is allowed."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from timesink.answers.comparison.naming import check_name, pair_title
from timesink.answers.comparison.program import AMOUNTS, COUNTS, DEVICE_TIME, PROGRAM, certain_lines
from timesink.comparison.causes.joint_diagnosis import cases_of, diagnose_comparison
from timesink.comparison.gate.verdict import (
    FAILED,
    NOTHING_RECORDED,
    PASSED,
    UNJUDGED,
    Limit,
    doubts_of,
    fewest_steps_of,
    is_hidden,
    is_open,
    is_shown_beyond,
    outcome_of_runs,
    runs_needed,
    step_time_outcome,
    unseen_pct,
    what_stayed,
)
from timesink.comparison.repeated_runs import Decision
from timesink.comparison.results import Comparison
from timesink.comparison.steps.verdict import UNEQUAL_WORK
from timesink.comparison.thresholds import StepsVerdictLimits, VerdictLimits
from timesink.errors import NotFoundError, TimesinkError
from timesink.model import units
from timesink.model.diagnosis import CORRECTED, RECORDED, CycleTime, Diagnosis
from timesink.model.findings import GateCheck
from timesink.model.units import change, interval_pct, times

EXACT, PRECISE, CYCLE_TIME = "exact", "device time", "cycle time"
"""Kinds of checks that lead: what is certain, what is precise, then how long cycles take."""
_LEADING = (PROGRAM, *AMOUNTS, COUNTS, DEVICE_TIME)
_CODES = {PASSED: 0, FAILED: 3, UNJUDGED: 1}


@dataclass(frozen=True, slots=True, eq=False)
class Gate:
    """Whether a run passes: it fails where one check does, and passes only where all do."""

    subject: str
    """What was compared: `normal vs python_stall`."""
    options: str
    """Options that ask for it: `--fail-on 5% --budget limits.toml`; empty where none do."""
    checks: tuple[GateCheck, ...]
    """What is certain first, then what is precise, then cycle time and all else."""
    certain: Mapping[str, str] = field(default_factory=dict)
    """What no check is about, of program, counts and device time."""
    why: Diagnosis | None = None
    """The diagnosis behind the cycle time that is told first: one that failed, if any did."""
    unseen: str = ""
    """Which changes these runs cannot show, in a sentence."""
    doubts: tuple[str, ...] = ()
    """Recordings that ended early, and why."""
    notes: tuple[str, ...] = ()
    """What to know of the recordings."""
    command: tuple[str, ...] = ()
    """The command line that says it again."""

    @property
    def outcome(self) -> str:
        """`passed`, `failed` or `unjudged`; a failure is said whatever else is not decided."""
        outcomes = {check.outcome for check in self.checks if check.counts}
        return next((outcome for outcome in (FAILED, UNJUDGED) if outcome in outcomes), PASSED)

    @property
    def exit_code(self) -> int:
        """0 passed, 3 failed, 1 not decided."""
        return _CODES[self.outcome]

    @property
    def leading(self) -> list[str]:
        """What is certain, then what is precise, where that does not fail."""
        sentences = dict(self.certain)
        for check in self.checks:
            if check.kind in (EXACT, PRECISE) and check.outcome == PASSED:
                sentences[check.name] = check.sentence
        return [sentences[name] for name in sorted(sentences, key=_LEADING.index)]

    @property
    def reasons(self) -> list[str]:
        """Why it does not pass: what failed, then what is not decided; empty where it does."""
        return [
            check.sentence
            for outcome in (FAILED, UNJUDGED)
            for check in self.checks
            if check.counts and check.outcome == outcome
        ]

    @property
    def budgets_line(self) -> str:
        """How many budgets are kept, and how many had nothing to keep; empty without any."""
        passed = [check for check in self.of_kind("budget") if check.outcome == PASSED]
        empty = sum(check.is_empty for check in passed)
        budget_count = len(passed) - empty
        phrases = [f"{units.count_noun(budget_count, 'budgets')} kept"] if budget_count else []
        if empty:
            number = units.count(empty) if phrases else units.count_noun(empty, "budgets")
            phrases.append(f"{number} matched nothing (optional)")
        return f"{'; '.join(phrases)}." if phrases else ""

    def of_kind(self, kind: str) -> list[GateCheck]:
        """Checks of one kind, those that do not pass first."""
        return sorted(
            (check for check in self.checks if check.kind == kind), key=lambda check: check.urgency
        )


# -- from a comparison and budgets to a gate -------------------------------------------------------

_MAX_NAMED = 4
_INTERVAL = "95 % confidence interval"
_WHAT_TO_DO = (
    "Record the same program with the same inputs, at least two steps each; if the new run is "
    "meant to do other work, record a new base."
)
_SLOW_FIRST = "Skip warm-up when recording (--skip)."
_IN_TURN = "timesink ab --base '...' --new '...'"

_Case = tuple[Comparison, Diagnosis]
"""One program whose cycles were compared: all its ranks, and one sort of cycle; and why."""


def gate_of(
    comparison: Comparison,
    limit: Limit | None = None,
    budgets: Sequence[GateCheck] = (),
    *,
    options: str = "",
    command: Sequence[str] = (),
) -> Gate:
    """Whether a comparison of pairs passes.

    Without a `limit` cycle time is shown, and fails nothing; budgets do.  Of several ranks or
    processes the run as a whole counts; cases and sorts of cycles each for itself.
    """
    cases = [
        (case, why)
        for case in cases_of(comparison)
        if (why := diagnose_comparison(case)) is not None
    ]
    if not cases:
        raise NotFoundError("there is no pair of processes to judge", "give BASE and NEW, two runs")
    several = len(cases) > 1
    is_budgeted = any(budget.name == "cycle max_increase" for budget in budgets)
    checks = []
    for case, why in cases:
        name, text = pair_title(case.pairs[0]), sentence(why, limit, is_budgeted=is_budgeted)
        outcome = step_time_outcome(why, limit)
        plain = case.pairs[0].plain
        if plain is not None and plain.decision is not None and why.cycle_time.outcome:
            outcome, text = _of_several_runs(why, plain.decision, limit)
        elif limit is not None and (unequal := _unequal(case)) and why.verdict != "incomparable":
            outcome, text = UNJUDGED, f"{unequal} {text} {_WHAT_TO_DO}"
        elif limit is not None and outcome == FAILED and (same := same_program(case, why, limit)):
            outcome, text = UNJUDGED, f"{text} {same}"
        checks.append(
            GateCheck(
                CYCLE_TIME,
                f"{name}: {text}" if several else text,
                check_name(case.pairs[0]) if several else "cycle time",
                outcome,
                time_ns=why.judged_time.new_ns,
                counts=limit is not None,
            )
        )
    first = min(zip(checks, cases, strict=True), key=lambda entry: entry[0].urgency)[1]
    signals = [budget for budget in budgets if budget.kind in (EXACT, PRECISE)]
    other_budgets = [budget for budget in budgets if budget.kind not in (EXACT, PRECISE)]
    signal_names = frozenset(signal.name for signal in signals)
    # What is known of the test, of what was left out, and of the recordings.
    notes = [*(note for _, why in cases for note in why.notes), *comparison.notes]
    for pair in comparison.pairs:
        for role in (pair.base, pair.new):
            notes += [f"{role.label}: {note}" for note in role.notes]
    doubts = doubts_of(notes)
    return Gate(
        subject=units.join_names(
            [pair_title(case.pairs[0]) for case, _ in cases], _MAX_NAMED, "; "
        ),
        options=options,
        checks=(*signals, *checks, *other_budgets, _recordings(comparison, doubts)),
        certain=_certain(first, signal_names, several=several),
        why=first[1],
        unseen=_unseen([entry for entry in cases if not entry[1].cycle_time.outcome], limit),
        doubts=doubts,
        notes=tuple(dict.fromkeys(notes)),
        command=tuple(command),
    )


def _of_several_runs(why: Diagnosis, decision: Decision, limit: Limit | None) -> tuple[str, str]:
    """What several runs a side say: they decide it, or need more of them."""
    allowed = None if limit is None else limit.allowed_pct or None
    outcome = outcome_of_runs(decision, limit)
    reason = why.reason if allowed is None else f"{why.reason} Limit: {allowed:g} %."
    if outcome == UNJUDGED and decision.outcome != "undecided":
        reason = f"{reason} More than the limit is not ruled out: more alternating runs decide."
    return outcome, reason


def _certain(case: _Case, signal_names: frozenset[str], *, several: bool) -> dict[str, str]:
    """What is certain of one case, with its title where there are others."""
    lines = certain_lines(case[0].pairs[0], case[1], signal_names)
    about = pair_title(case[0].pairs[0])
    return {name: f"{about}: {line}" for name, line in lines.items()} if several else lines


def gate_of_error(
    error: TimesinkError, subject: str, *, options: str = "", command: Sequence[str] = ()
) -> Gate:
    """The gate of runs that could not be compared at all."""
    hint = f" (hint: {error.hint})" if error.hint else ""
    text = f"{error.message}{hint}"
    check = GateCheck(CYCLE_TIME, text, CYCLE_TIME, UNJUDGED)
    return Gate(subject, options, (check,), command=tuple(command))


def _recordings(comparison: Comparison, doubts: Sequence[str]) -> GateCheck:
    """That what was given could be read and is whole.

    What could not be read, or has no partner, makes the whole uncertain; what ended early is shown,
    and fails nothing.
    """
    lost = [*comparison.cases_left_out, *comparison.files_left_out]
    lost += [f"{role} (it has no partner)" for role in comparison.roles_left_out]
    if lost:
        text = f"Not compared: {units.join_names(lost, _MAX_NAMED, '; ')}."
    elif doubts:
        text = f"{units.join_names(doubts, _MAX_NAMED, '; ')}."
    else:
        text = (
            f"All recordings were read: {units.count_noun(len(comparison.pairs), 'pairs')} of "
            "processes compared."
        )
    outcome = UNJUDGED if lost or doubts else PASSED
    counts = bool(lost) or not doubts
    return GateCheck("recordings", text, "recordings", outcome, counts=counts)


# -- why cycle time passes or does not, in words --------------------------------------------------


def _runs(lengths: CycleTime) -> str:
    """How many runs would decide, as far as their cycles tell."""
    if lengths.by == CORRECTED:
        return f"Steps timed without a profiler would decide: {_IN_TURN}."
    change_pct = lengths.tested_pct or lengths.change_pct or 0.0
    return runs_told(unseen_pct(lengths) or 0.0, change_pct)


def runs_told(half: float, distance: float) -> str:
    """How many runs would decide, and how: by half an interval and how far off its middle is."""
    many = runs_needed(half, distance)
    if many is None:
        return f"More alternating runs may decide: {_IN_TURN}."
    return f"About {units.count(many)} alternating runs each would decide: {_IN_TURN}."


def same_program(case: Comparison, why: Diagnosis, limit: Limit) -> str:
    """That nothing shows a change of the program where only the pace of its host changed.

    Empty where that is not so, or where causes alone go beyond the limit.
    """
    unchanged = what_stayed(case, why, limit)
    if unchanged is None:
        return ""
    if unchanged == NOTHING_RECORDED:
        return (
            "Not decided: only step times of one run each were recorded, and a slower machine "
            f"looks the same as slower code. {_runs(why.cycle_time)}"
        )
    same = "the recorded calls are the same"
    if not isinstance(unchanged, str):
        same = f"device time ({times(*unchanged)} per step) and call counts are unchanged"
    return (
        f"Not decided: {same}; only the host was slower. Host speed varies between runs of the "
        f"same program, so this alone is no regression of the code. {_runs(why.cycle_time)}"
    )


def _unequal(case: Comparison) -> str:
    """That cycles hold other work, and could not be put together until they do; else empty."""
    pairs = [pair for pair in case.pairs if not pair.workload.comparable]
    reasons = [pair.workload.reasons[:1] for pair in pairs if pair.equal_work is None]
    return " ".join([UNEQUAL_WORK, *reasons[0]]) if reasons else ""


def sentence(why: Diagnosis, limit: Limit | None, *, is_budgeted: bool = False) -> str:
    """The reason of the verdict, with its interval, and what is allowed or can be done.

    Without a limit a budget may judge how much longer cycles take (`is_budgeted`).
    """
    reason, bounds = why.reason, why.judged_time.interval_pct
    if why.verdict == "incomparable":
        return reason if why.is_unfit else f"{reason} {_WHAT_TO_DO}"
    headline = step_time_headline(why)
    if headline and (rest := _without_step_time(why)) is not None:
        interval = "" if bounds is None else f"{_INTERVAL}: {interval_pct(*bounds)}."
        reason = " ".join(filter(None, (headline, interval, rest)))
    elif bounds is not None and "95 % " not in reason and reason.endswith(")."):
        # The reason of several processes does not name the interval itself.
        reason = f"{reason.removesuffix(').')}, {_INTERVAL} {interval_pct(*bounds)})."
    if limit is not None and (open_ := doubt(why, limit)):
        return f"{reason} {open_}"
    if why.verdict != "regression":
        # What passes names both figures: of all cycles, and of those that were tested.
        steady = f" {_steady_told(why)}." if limit and _differs(why.judged_time) else ""
        return f"{reason}{steady}"
    if limit is None:
        return reason if is_budgeted else f"{reason} Without --fail-on this fails nothing."
    return reason if limit.allowed_pct is None else f"{reason} {_limit_words(why, limit)}"


def step_time_headline(why: Diagnosis) -> str:
    """How much longer steps take: a sentence, `Steps take 12.0 % longer (33.6 → 37.7 ms)`.

    Empty where step times cannot be compared, or where other figures decided than recorded means.
    """
    lengths = why.cycle_time
    if why.verdict == "incomparable" or why.is_without_overhead or lengths.outcome:
        return ""
    if not (lengths.base_ns and lengths.new_ns):
        return ""
    took = times(lengths.base_ns, lengths.new_ns)
    if lengths.base_ns == lengths.new_ns:
        return f"Step time is unchanged ({units.brief_ns(lengths.new_ns)})."
    by = change(lengths.base_ns, lengths.new_ns)
    if why.verdict == "no_change":
        what = "Step time is unchanged within noise"
        what = what if "within noise" in why.reason else "No certain change of step time"
        return f"{what} ({took}, {by})."
    if by.endswith(" x"):
        return f"Steps take {by.removesuffix(' x')} times as long ({took})."
    is_longer = lengths.new_ns > lengths.base_ns
    return f"Steps take {by.lstrip('+-')} {'longer' if is_longer else 'less'} ({took})."


_ONLY_STEP_TIME = re.compile(r"(Cycle|Step)s? (take|time is)\b")
"""How the first sentence of a reason begins that says nothing but how long steps are."""


def _without_step_time(why: Diagnosis) -> str | None:
    """The reason of a verdict without both step times, which a headline names.

    None where its first sentence does not end with these.
    """
    lengths = why.cycle_time
    took = times(lengths.base_ns, lengths.new_ns)
    if lengths.base_ns == lengths.new_ns:
        took = units.brief_ns(lengths.new_ns)
    ending = rf": {re.escape(took)}(?: on average)?(?: \([^()]*\))?\.(?: |$)"
    match = re.fullmatch(rf"(?P<lead>.*?){ending}(?P<rest>.*)", why.reason, re.DOTALL)
    if match is None:
        return None
    if _ONLY_STEP_TIME.match(match["lead"]):
        return match["rest"]
    return f"{match['lead']}. {match['rest']}".strip()


def doubt(why: Diagnosis, limit: Limit) -> str:
    """Why a change that is not certain is not decided; empty where it is."""
    if is_hidden(why, limit):
        steady = _steady_told(why)
        return f"{steady}. Not decided: the mean contradicts most steps. {_SLOW_FIRST}"
    if not is_open(why, limit):
        return ""
    lengths, is_beyond_limit = why.judged_time, is_shown_beyond(why, limit)
    estimate = f"{_steady_told(why)}. " if _differs(lengths) else ""
    allowed = limit.allowed_pct or (
        VerdictLimits.shown_pct if is_beyond_limit else 100 * StepsVerdictLimits.narrow
    )
    runs = _runs(lengths)
    bounds = lengths.tested_interval_pct
    if not is_beyond_limit and bounds is not None and (lengths.tested_pct or 0.0) <= allowed:
        most = _rounded_pct(bounds[1])
        ruled_out = f"the limit is {allowed:g} %, and a slowdown of up to {most} is not ruled out"
        return f"{estimate}Not decided: {ruled_out}. {runs}"
    what = "the mean of all steps" if is_beyond_limit else "the estimate"
    doubtful = "the estimate is too uncertain" if lengths.by == CORRECTED else "steps vary too much"
    return (
        f"{estimate}Not decided: {what} exceeds {allowed:g} %, but {doubtful} to be certain. "
        f"{runs}{f' {_SLOW_FIRST}' if is_beyond_limit else ''}"
    )


def _limit_words(why: Diagnosis, limit: Limit) -> str:
    """What was held against the limit, where that is another figure, and what is allowed."""
    allowed = f"{limit.allowed_pct:g} %."
    steady = f"{_steady_told(why)}. " if _differs(why.judged_time) else ""
    if limit.is_exceeded(why.judged_time.tested_pct):
        return f"{steady}Limit: {allowed}"
    return f"{steady}Within the limit of {allowed}{_beyond(why, limit)}"


def _differs(lengths: CycleTime) -> bool:
    """Whether what was tested changed otherwise than the mean of all cycles."""
    steady = lengths.steady
    return steady is not None and (
        change(steady.base_ns, steady.new_ns) != change(lengths.base_ns, lengths.new_ns)
    )


def _steady_told(why: Diagnosis) -> str:
    """What was tested, in words."""
    steady = why.judged_time.steady
    if steady is None:
        return ""
    means = steady.base_ns, steady.new_ns
    return f"Without warm-up and outliers: {times(*means)} ({change(*means)})"


def _beyond(why: Diagnosis, limit: Limit) -> str:
    """That a pass does not rule out more than is allowed; empty where it does, or is said."""
    bounds, allowed = why.judged_time.tested_interval_pct, limit.allowed_pct
    if not allowed or bounds is None or bounds[1] <= allowed:
        return ""
    return f" The confidence interval reaches beyond {allowed:g} %: more is not ruled out."


# -- which changes two runs can show at all -------------------------------------------------------


def _unseen(cases: Sequence[_Case], limit: Limit | None) -> str:
    """Which changes a verdict of no change cannot rule out, of the case that shows least.

    What was seen needs no such sentence.
    """
    candidates = [
        (smallest, case, why)
        for case, why in cases
        if why.verdict == "no_change" and (smallest := unseen_pct(why.judged_time)) is not None
    ]
    if not candidates:
        return ""
    smallest, case, diagnosis = max(candidates, key=lambda candidate: candidate[0])
    text = unseen(smallest, limit, fewest_steps_of(case), by=diagnosis.judged_time.by)
    return f"{pair_title(case.pairs[0])}: {text}" if len(cases) > 1 else text


def unseen(
    smallest_pct: float, limit: Limit | None, cycles: Sequence[int], *, by: str = RECORDED
) -> str:
    """Which changes cannot be seen, and what follows for a limit."""
    count, remedy = " and ".join(map(str, dict.fromkeys(cycles))), "Record more steps."
    seen_in = f"{count} steps"
    if by == CORRECTED:
        seen_in = "estimates without profiler overhead"
        remedy = "Record with timesink record, which also times steps without a profiler."
    text = f"Changes below about {_rounded_pct(smallest_pct)} cannot be detected in {seen_in}"
    allowed = None if limit is None else limit.allowed_pct
    if not allowed or smallest_pct <= allowed:
        return f"{text}."
    return f"{text}: a slowdown of {allowed:g} % may pass. {remedy}"


def _rounded_pct(pct: float) -> str:
    """Two digits, upward: more would claim to know it."""
    if pct >= 100:
        return f"{units.count(math.ceil(pct))} %"
    if not pct:
        return "0 %"
    digits = 1 - math.floor(math.log10(pct))
    step: float = 10.0**-digits
    return f"{math.ceil(pct / step - 1e-9) * step:.{max(digits, 0)}f} %"
