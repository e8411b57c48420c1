"""Whether runs pass a gate: the numbers that decide, as plain data without words about them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec

from timesink.comparison.repeated_runs import Decision
from timesink.comparison.results import Comparison, Pair
from timesink.comparison.steps.recorded_events import only_the_host_is_slower
from timesink.comparison.thresholds import StepsVerdictLimits, VerdictLimits
from timesink.errors import NotFoundError, UsageError
from timesink.model.diagnosis import PLAIN, CycleTime, Diagnosis
from timesink.model.findings import OUTCOMES, GateCheck, Interval
from timesink.model.health import RULES

REGRESSION = "regression"
PASSED, FAILED, UNJUDGED = "passed", "failed", "unjudged"
"""Outcomes of a check."""
EXIT_CODES = {PASSED: 0, FAILED: 3, UNJUDGED: 1}
EXACT, PRECISE, CYCLE_TIME = "exact", "device time", "cycle time"
"""Kinds of checks that lead: what is certain, what is precise, then how long cycles take."""
SAME_CALLS, NOTHING_RECORDED = "same calls", "nothing recorded"
"""What is known of a program whose host alone became slower."""
HIDDEN, NOT_RULED_OUT, UNCERTAIN = "hidden", "not ruled out", "uncertain"
"""Why a change that is not certain is not decided."""


class Limit(msgspec.Struct, frozen=True):
    """What fails: any certain slow-down, or one by more than some percent in its best estimate.

    Certain is that cycles became longer at all, not that they did by more than that.  What is
    beyond the limit and not certain is not decided.
    """

    allowed_pct: float | None = None
    """None where nothing is allowed."""

    @classmethod
    def of(cls, text: str) -> Limit:
        """The limit of an option."""
        if text.strip().lower() == REGRESSION:
            return cls()
        number, is_pct = text.strip().removesuffix("%"), text.strip().endswith("%")
        try:
            allowed = float(number)
        except ValueError:
            allowed = math.nan
        # 0.05 may be meant as a share: what is in percent has to say so.
        if not is_pct or not 0 <= allowed < math.inf:
            raise UsageError(
                f"--fail-on {text!r}: neither a regression nor a percentage",
                "try --fail-on regression, or --fail-on 5%",
            )
        return cls(allowed)

    def is_exceeded(self, change_pct: float | None) -> bool:
        """Whether a certain slow-down is too much, by its best estimate."""
        return self.allowed_pct is None or (change_pct or 0.0) > self.allowed_pct

    @property
    def text(self) -> str:
        """As it is written on the command line."""
        return REGRESSION if self.allowed_pct is None else f"{self.allowed_pct:g}%"


class AnyCheck(Protocol):
    """What a check came to."""

    @property
    def outcome(self) -> str:
        """`passed`, `failed` or `unjudged`."""

    @property
    def counts(self) -> bool:
        """Whether the gate is asked about it."""


def outcome_of(checks: Iterable[AnyCheck]) -> str:
    """What all checks come to; a failure is said whatever else is not decided.

    >>> outcome_of([RecordingsCheck(pairs=1), RecordingsCheck(left_out=("case",))])
    'unjudged'
    """
    outcomes = {check.outcome for check in checks if check.counts}
    return next((outcome for outcome in (FAILED, UNJUDGED) if outcome in outcomes), PASSED)


class Doubt(msgspec.Struct, frozen=True):
    """Why a change that is not certain is not decided."""

    why: str
    """`HIDDEN`: slow first steps of the base outweigh it; `NOT_RULED_OUT`: more than is allowed
    may be there; `UNCERTAIN`: the estimate is beyond, and steps vary too much."""
    allowed_pct: float = 0.0
    """What it is held against."""
    most_pct: float = 0.0
    """The slow-down that is not ruled out."""
    is_of_mean: bool = False
    """Whether the mean of all steps is beyond, not that of the steps that are tested."""


class StepsCheck(msgspec.Struct, frozen=True, eq=False):
    """Whether the steps of one program pass: those of all its ranks, of one sort of step."""

    case: Comparison
    why: Diagnosis
    limit: Limit | None
    """None where nothing is asked about it."""
    outcome: str
    decision: Decision | None = None
    """What several runs a side say, where they decide."""
    unequal: Pair | None = None
    """The first pair with other work on either side, where that leaves it open."""
    unchanged: str | tuple[float, float] | None = None
    """What shows that only the pace of the host changed, where that leaves it open."""

    @property
    def counts(self) -> bool:
        """Whether it was asked for: what is only shown fails nothing."""
        return self.limit is not None

    @property
    def interval_pct(self) -> Interval | None:
        """Between what the change of step time is, with 95 % confidence."""
        return self.why.judged_time.interval_pct

    @property
    def unseen_pct(self) -> float | None:
        """Smaller changes cannot be seen; None where one was seen, or nothing was tested."""
        if self.why.cycle_time.outcome or self.why.verdict != "no_change":
            return None
        return unseen_pct(self.why.judged_time)


class RecordingsCheck(msgspec.Struct, frozen=True):
    """Whether what was given could be read and is whole."""

    pairs: int = 0
    """Pairs of processes that were compared."""
    left_out: tuple[str, ...] = ()
    """Cases and files that could not be read."""
    unpaired: tuple[str, ...] = ()
    """Processes without a partner."""
    doubts: tuple[str, ...] = ()
    """Recordings that ended early, and why."""

    @property
    def is_partial(self) -> bool:
        """Whether something was not compared, which makes the whole uncertain."""
        return bool(self.left_out or self.unpaired)

    @property
    def outcome(self) -> str:
        """`passed`, or `unjudged` where anything is missing."""
        return UNJUDGED if self.is_partial or self.doubts else PASSED

    @property
    def counts(self) -> bool:
        """What ended early is shown, and fails nothing."""
        return self.is_partial or not self.doubts


class Gate(msgspec.Struct, frozen=True, eq=False):
    """Whether a run passes: it fails where one check does, and passes only where all do."""

    steps: tuple[StepsCheck, ...]
    """One for each program, and each sort of step; never empty."""
    budgets: tuple[GateCheck, ...]
    recordings: RecordingsCheck
    notes: tuple[str, ...] = ()
    """What to know of the tests, of what was left out, and of the recordings."""

    @property
    def outcome(self) -> str:
        """`passed`, `failed` or `unjudged`."""
        return outcome_of((*self.steps, *self.budgets, self.recordings))

    @property
    def exit_code(self) -> int:
        """0 passed, 3 failed, 1 not decided."""
        return EXIT_CODES[self.outcome]

    @property
    def first(self) -> StepsCheck:
        """The check of steps that is told first: one that failed, if any did."""
        return min(self.steps, key=lambda check: OUTCOMES.index(check.outcome))

    @property
    def least_seen(self) -> StepsCheck | None:
        """The check of steps that shows least of small changes; None where all show theirs."""
        tested = [check for check in self.steps if check.unseen_pct is not None]
        return max(tested, key=lambda check: check.unseen_pct or 0.0, default=None)


def judge(
    comparison: Comparison, limit: Limit | None = None, budgets: Sequence[GateCheck] = ()
) -> Gate:
    """Whether a comparison of pairs passes.

    Without a `limit` cycle time is shown, and fails nothing; budgets do.  Of several ranks or
    processes the run as a whole counts; cases and sorts of cycles each for itself.

    >>> import timesink
    >>> judge(timesink.compare(timesink.sample(), timesink.sample()), Limit(5.0)).outcome
    'passed'
    """
    # Command lines need a limit alone, long before anything is diagnosed.
    from timesink.comparison.causes.joint_diagnosis import (  # noqa: PLC0415
        cases_of,
        diagnose_comparison,
    )

    steps = tuple(
        _judge_steps(case, why, limit)
        for case in cases_of(comparison)
        if (why := diagnose_comparison(case)) is not None
    )
    if not steps:
        raise NotFoundError("there is no pair of processes to judge", "give BASE and NEW, two runs")
    notes = [*(note for check in steps for note in check.why.notes), *comparison.notes]
    for pair in comparison.pairs:
        for role in (pair.base, pair.new):
            notes += [f"{role.label}: {note}" for note in role.notes]
    recordings = RecordingsCheck(
        len(comparison.pairs),
        (*comparison.cases_left_out, *comparison.files_left_out),
        tuple(comparison.roles_left_out),
        doubts_of(notes),
    )
    return Gate(steps, tuple(budgets), recordings, tuple(dict.fromkeys(notes)))


def _judge_steps(case: Comparison, why: Diagnosis, limit: Limit | None) -> StepsCheck:
    """Several runs decide; else equal work, and whether anything but the host is slower."""
    plain = case.pairs[0].plain
    if plain is not None and plain.decision is not None and why.cycle_time.outcome:
        outcome = outcome_of_runs(plain.decision, limit)
        return StepsCheck(case, why, limit, outcome, decision=plain.decision)
    unequal = next(
        (pair for pair in case.pairs if not pair.workload.comparable and pair.equal_work is None),
        None,
    )
    if limit is not None and unequal is not None and why.verdict != "incomparable":
        return StepsCheck(case, why, limit, UNJUDGED, unequal=unequal)
    outcome = step_time_outcome(why, limit)
    if limit is not None and outcome == FAILED:
        unchanged = what_stayed(case, why, limit)
        if unchanged is not None:
            return StepsCheck(case, why, limit, UNJUDGED, unchanged=unchanged)
    return StepsCheck(case, why, limit, outcome)


def step_time_outcome(why: Diagnosis, limit: Limit | None) -> str:
    """Whether steps of one run a side pass, fail, or cannot be judged; without a limit as any."""
    allowed = limit or Limit()
    is_near = limit is not None and is_open(why, limit)
    if why.verdict == "incomparable" or is_near or is_hidden(why, allowed):
        return UNJUDGED
    is_longer = why.verdict == "regression"
    return FAILED if is_longer and allowed.is_exceeded(why.judged_time.tested_pct) else PASSED


def outcome_of_runs(decision: Decision, limit: Limit | None) -> str:
    """The same of several runs a side: they decide it, or need more of them."""
    beyond = decision.is_beyond(None if limit is None else limit.allowed_pct or None)
    return {True: FAILED, False: PASSED, None: UNJUDGED}[beyond]


def is_hidden(why: Diagnosis, limit: Limit) -> bool:
    """Whether most cycles certainly take too long, and slow first ones of the base outweigh it."""
    steady = why.judged_time.steady
    if why.verdict != "no_change" or steady is None or steady.interval_ns is None:
        return False
    return steady.interval_ns[0] > 0 and limit.is_exceeded(steady.change_pct)


def is_open(why: Diagnosis, limit: Limit) -> bool:
    """Whether an estimate is beyond the limit, and noise may make as much of it.

    Where nothing is allowed, what is worth a word counts: any two runs differ by a little.
    """
    allowed = limit.allowed_pct or 100 * StepsVerdictLimits.narrow
    is_tested_beyond = (why.judged_time.tested_pct or 0.0) > allowed
    unsure = is_tested_beyond or _is_wide(why, limit)
    return (why.verdict == "no_change" and unsure) or is_shown_beyond(why, limit)


def doubt_of(why: Diagnosis, limit: Limit) -> Doubt | None:
    """Why a change that is not certain is not decided; None where it is."""
    if is_hidden(why, limit):
        return Doubt(HIDDEN)
    if not is_open(why, limit):
        return None
    lengths, is_of_mean = why.judged_time, is_shown_beyond(why, limit)
    allowed = limit.allowed_pct or (
        VerdictLimits.shown_pct if is_of_mean else 100 * StepsVerdictLimits.narrow
    )
    bounds = lengths.tested_interval_pct
    if not is_of_mean and bounds is not None and (lengths.tested_pct or 0.0) <= allowed:
        return Doubt(NOT_RULED_OUT, allowed, bounds[1])
    return Doubt(UNCERTAIN, allowed, is_of_mean=is_of_mean)


def runs_to_decide(lengths: CycleTime) -> int | None:
    """How many runs of each side would decide, as far as their steps tell."""
    change_pct = lengths.tested_pct or lengths.change_pct or 0.0
    return runs_needed(unseen_pct(lengths) or 0.0, change_pct)


def _is_wide(why: Diagnosis, limit: Limit) -> bool:
    """Whether more than a limit cannot be ruled out of cycles in which no change is certain."""
    bounds = why.judged_time.tested_interval_pct
    return bool(limit.allowed_pct) and bounds is not None and bounds[1] > (limit.allowed_pct or 0)


def is_shown_beyond(why: Diagnosis, limit: Limit) -> bool:
    """Whether the mean of all cycles is beyond the limit, and the cycles tested may be as well.

    Whatever was tested, nothing passes whose mean cycle is more than twice as long.
    """
    lengths, allowed = why.judged_time, limit.allowed_pct or VerdictLimits.shown_pct
    if why.verdict not in {"no_change", "regression"}:
        return False
    change_pct = lengths.change_pct or 0.0
    bounds = lengths.tested_interval_pct
    may_be = bounds is None or bounds[1] > allowed or change_pct > VerdictLimits.twice_pct
    return (lengths.tested_pct or 0.0) <= allowed < change_pct and may_be


def what_stayed(case: Comparison, why: Diagnosis, limit: Limit) -> str | tuple[float, float] | None:
    """What shows that only the pace of the host changed: device time per step, or `SAME_CALLS`.

    None where the program may have changed, or causes alone go beyond the limit, and
    `NOTHING_RECORDED` where one run each has no timeline that could tell.
    """
    if why.is_without_overhead and why.verdict == "regression":
        # Device time says so for certain.
        return None
    lengths = why.cycle_time
    explained = sum(max(cause.cost_ns, 0.0) for cause in why.causes)
    least = VerdictLimits.little * (lengths.new_ns - lengths.base_ns)
    explained_pct = 100 * explained / lengths.base_ns if lengths.base_ns else 0.0
    if explained > least and limit.is_exceeded(explained_pct):
        return None
    device = [only_the_host_is_slower(pair.of_equal_work.times) for pair in case.pairs]
    device_times = [time_pair for time_pair in device if time_pair is not None]
    if device_times and len(device_times) == len(device):
        base, new = zip(*device_times, strict=True)
        return sum(base) / len(device_times), sum(new) / len(device_times)
    if all(_runs_on_the_host_alone(pair) for pair in case.pairs):
        return SAME_CALLS
    return NOTHING_RECORDED if lengths.by == PLAIN and why.program is None else None


def _runs_on_the_host_alone(pair: Pair) -> bool:
    """Whether the program is the same for sure, and nothing of it ran on a device."""
    # Command lines need a limit alone, long before anything is diagnosed.
    from timesink.comparison.causes.diagnosis import diagnose  # noqa: PLC0415

    program = diagnose(pair).program
    if program is None or not (program.same and program.certain):
        return False
    return not program.device_time.base_ns and not program.device_time.new_ns


def runs_needed(half: float, distance: float) -> int | None:
    """How many runs of each side would decide, by half an interval and how far off its middle is.

    None where that is too many to ask for.
    """
    many = max(VerdictLimits.min_runs, math.ceil((half / distance) ** 2) if distance else 0)
    return None if many > VerdictLimits.max_runs else many


def unseen_pct(lengths: CycleTime) -> float | None:
    """Changes below this are lost in noise: half the width of the interval of what is tested.

    A true change of this size is found every other time.  None where there is no interval.
    """
    bounds = lengths.tested_interval_pct
    return None if bounds is None else (bounds[1] - bounds[0]) / 2


def fewest_steps_of(case: Comparison) -> tuple[int, int]:
    """Steps of either side, of the process that has fewest."""
    lengths = [pair.of_equal_work.cycle_times for pair in case.pairs]
    return (
        min(len(length.base_ns) for length in lengths),
        min(len(length.new_ns) for length in lengths),
    )


_ENDED_EARLY = tuple(RULES[code].title for code in ("lost_recording", "partial_recording"))


def doubts_of(notes: Iterable[str]) -> tuple[str, ...]:
    """The notes that say a recording ended early and holds less than was asked, each once."""
    return tuple(
        dict.fromkeys(note for note in notes if any(phrase in note for phrase in _ENDED_EARLY))
    )
