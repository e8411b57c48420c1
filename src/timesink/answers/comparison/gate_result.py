"""What a gate says, in words: a sentence for each check, of the verdict in `comparison/gate`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from timesink.answers.comparison.naming import check_name, pair_title
from timesink.answers.comparison.program import AMOUNTS, COUNTS, DEVICE_TIME, PROGRAM, certain_lines
from timesink.comparison.gate.verdict import (
    CYCLE_TIME,
    EXACT,
    EXIT_CODES,
    FAILED,
    HIDDEN,
    NOT_RULED_OUT,
    NOTHING_RECORDED,
    PASSED,
    PRECISE,
    UNJUDGED,
    Doubt,
    Gate,
    Limit,
    RecordingsCheck,
    StepsCheck,
    doubt_of,
    fewest_steps_of,
    judge,
    outcome_of,
    runs_needed,
    runs_to_decide,
)
from timesink.comparison.repeated_runs import Decision
from timesink.comparison.results import Comparison
from timesink.comparison.steps.verdict import UNEQUAL_WORK
from timesink.errors import TimesinkError
from timesink.model import units
from timesink.model.diagnosis import CORRECTED, RECORDED, CycleTime, Diagnosis
from timesink.model.findings import GateCheck
from timesink.model.units import change, interval_pct, times
from timesink.patterns import regex

_LEADING = (PROGRAM, *AMOUNTS, COUNTS, DEVICE_TIME)


@dataclass(frozen=True, slots=True, eq=False)
class GateAnswer:
    """What a gate says of a run: a sentence for each check, and what else is worth saying."""

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
        """`passed`, `failed` or `unjudged`."""
        return outcome_of(self.checks)

    @property
    def exit_code(self) -> int:
        """0 passed, 3 failed, 1 not decided."""
        return EXIT_CODES[self.outcome]

    @property
    def leading(self) -> list[str]:
        """What is certain, then what is precise, where that does not fail."""
        sentences = dict(self.certain)
        for check in self.checks:
            if check.kind in (EXACT, PRECISE) and check.outcome == PASSED:
                sentences[check.name] = check.sentence
        places = {name: place for place, name in enumerate(_LEADING)}
        order = sorted(sentences, key=lambda name: places.get(name, len(places)))
        return [sentences[name] for name in order]

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


def gate_of(
    comparison: Comparison,
    limit: Limit | None = None,
    budgets: Sequence[GateCheck] = (),
    *,
    options: str = "",
    command: Sequence[str] = (),
) -> GateAnswer:
    """Whether a comparison of pairs passes, and what to say of it.

    Without a `limit` cycle time is shown, and fails nothing; budgets do.  Of several ranks or
    processes the run as a whole counts; cases and sorts of cycles each for itself.

    >>> import timesink
    >>> same = timesink.compare(timesink.sample(), timesink.sample())
    >>> gate_of(same, Limit(5.0)).outcome
    'passed'
    """
    return gate_answer(judge(comparison, limit, budgets), options=options, command=command)


def gate_answer(gate: Gate, *, options: str = "", command: Sequence[str] = ()) -> GateAnswer:
    """A gate in words.

    >>> import timesink
    >>> gate = judge(timesink.compare(timesink.sample(), timesink.sample()), Limit(5.0))
    >>> gate_answer(gate).reasons
    []
    """
    several = len(gate.steps) > 1
    is_budgeted = any(budget.name == "cycle max_increase" for budget in gate.budgets)
    checks = [
        _steps_in_words(check, several=several, is_budgeted=is_budgeted) for check in gate.steps
    ]
    signals = [budget for budget in gate.budgets if budget.kind in (EXACT, PRECISE)]
    other_budgets = [budget for budget in gate.budgets if budget.kind not in (EXACT, PRECISE)]
    signal_names = frozenset(signal.name for signal in signals)
    return GateAnswer(
        subject=units.join_names(
            [pair_title(check.case.pairs[0]) for check in gate.steps], _MAX_NAMED, "; "
        ),
        options=options,
        checks=(*signals, *checks, *other_budgets, _recordings_in_words(gate.recordings)),
        certain=_certain(gate.first, signal_names, several=several),
        why=gate.first.why,
        unseen=_unseen(gate.least_seen, several=several),
        doubts=gate.recordings.doubts,
        notes=gate.notes,
        command=tuple(command),
    )


def _steps_in_words(check: StepsCheck, *, several: bool, is_budgeted: bool) -> GateCheck:
    """Why the steps of a program pass or do not; with what it is called where there are others."""
    pair, why, limit = check.case.pairs[0], check.why, check.limit
    if check.decision is not None:
        text = _of_several_runs(why, check.decision, limit, check.outcome)
    else:
        text = sentence(why, limit, is_budgeted=is_budgeted)
    if check.unequal is not None:
        reason = check.unequal.workload.reasons[:1]
        text = " ".join([UNEQUAL_WORK, *reason, text, _WHAT_TO_DO])
    elif check.unchanged is not None:
        text = f"{text} {same_program(why, check.unchanged)}"
    return GateCheck(
        CYCLE_TIME,
        f"{pair_title(pair)}: {text}" if several else text,
        check_name(pair) if several else "cycle time",
        check.outcome,
        time_ns=why.judged_time.new_ns,
        counts=check.counts,
    )


def _of_several_runs(why: Diagnosis, decision: Decision, limit: Limit | None, outcome: str) -> str:
    """What several runs a side say: they decide it, or need more of them."""
    allowed = None if limit is None else limit.allowed_pct or None
    reason = why.reason if allowed is None else f"{why.reason} Limit: {allowed:g} %."
    if outcome == UNJUDGED and decision.outcome != "undecided":
        return f"{reason} More than the limit is not ruled out: more alternating runs decide."
    return reason


def _certain(check: StepsCheck, signal_names: frozenset[str], *, several: bool) -> dict[str, str]:
    """What is certain of one case, with its title where there are others."""
    pair = check.case.pairs[0]
    lines, about = certain_lines(pair, check.why, signal_names), pair_title(pair)
    return {name: f"{about}: {line}" for name, line in lines.items()} if several else lines


def gate_of_error(
    error: TimesinkError, subject: str, *, options: str = "", command: Sequence[str] = ()
) -> GateAnswer:
    """The gate of runs that could not be compared at all."""
    hint = f" (hint: {error.hint})" if error.hint else ""
    text = f"{error.message}{hint}"
    check = GateCheck(CYCLE_TIME, text, CYCLE_TIME, UNJUDGED)
    return GateAnswer(subject, options, (check,), command=tuple(command))


def _recordings_in_words(check: RecordingsCheck) -> GateCheck:
    """That what was given could be read and is whole, or what is missing."""
    missing = [*check.left_out, *(f"{role} (it has no partner)" for role in check.unpaired)]
    if missing:
        text = f"Not compared: {units.join_names(missing, _MAX_NAMED, '; ')}."
    elif check.doubts:
        text = f"{units.join_names(check.doubts, _MAX_NAMED, '; ')}."
    else:
        text = (
            f"All recordings were read: {units.count_noun(check.pairs, 'pairs')} of "
            "processes compared."
        )
    return GateCheck("recordings", text, "recordings", check.outcome, counts=check.counts)


# -- why cycle time passes or does not, in words --------------------------------------------------


def _runs(lengths: CycleTime) -> str:
    """How many runs would decide, as far as their cycles tell."""
    if lengths.by == CORRECTED:
        return f"Steps timed without a profiler would decide: {_IN_TURN}."
    return _runs_in_words(runs_to_decide(lengths))


def runs_told(half: float, distance: float) -> str:
    """How many runs would decide, and how: by half an interval and how far off its middle is."""
    return _runs_in_words(runs_needed(half, distance))


def _runs_in_words(many: int | None) -> str:
    if many is None:
        return f"More alternating runs may decide: {_IN_TURN}."
    return f"About {units.count(many)} alternating runs each would decide: {_IN_TURN}."


def same_program(why: Diagnosis, unchanged: str | tuple[float, float]) -> str:
    """That nothing shows a change of the program where only the pace of its host changed.

    What is `unchanged` is that of `what_stayed`.
    """
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
    if limit is not None and (doubt := doubt_of(why, limit)) is not None:
        return f"{reason} {doubt_sentence(why, doubt)}"
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


_ONLY_STEP_TIME = regex(r"(Cycle|Step)s? (take|time is)\b")
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


def doubt_sentence(why: Diagnosis, doubt: Doubt) -> str:
    """Why a change that is not certain is not decided."""
    if doubt.why == HIDDEN:
        steady = _steady_told(why)
        return f"{steady}. Not decided: the mean contradicts most steps. {_SLOW_FIRST}"
    lengths, allowed = why.judged_time, doubt.allowed_pct
    estimate = f"{_steady_told(why)}. " if _differs(lengths) else ""
    runs = _runs(lengths)
    if doubt.why == NOT_RULED_OUT:
        most = _rounded_pct(doubt.most_pct)
        ruled_out = f"the limit is {allowed:g} %, and a slowdown of up to {most} is not ruled out"
        return f"{estimate}Not decided: {ruled_out}. {runs}"
    what = "the mean of all steps" if doubt.is_of_mean else "the estimate"
    doubtful = "the estimate is too uncertain" if lengths.by == CORRECTED else "steps vary too much"
    return (
        f"{estimate}Not decided: {what} exceeds {allowed:g} %, but {doubtful} to be certain. "
        f"{runs}{f' {_SLOW_FIRST}' if doubt.is_of_mean else ''}"
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


def _unseen(check: StepsCheck | None, *, several: bool) -> str:
    """Which changes a verdict of no change cannot rule out; what was seen needs no such sentence.

    Where there are `several` cases it is that which shows least.
    """
    if check is None or check.unseen_pct is None:
        return ""
    by = check.why.judged_time.by
    text = unseen(check.unseen_pct, check.limit, fewest_steps_of(check.case), by=by)
    return f"{pair_title(check.case.pairs[0])}: {text}" if several else text


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
