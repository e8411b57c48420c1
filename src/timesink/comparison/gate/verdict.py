"""Whether steps pass a limit: the numbers that decide, without the words about them."""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec

from timesink.comparison.repeated_runs import Decision
from timesink.comparison.results import Comparison, Pair
from timesink.comparison.steps.recorded_events import only_the_host_is_slower
from timesink.comparison.thresholds import StepsVerdictLimits, VerdictLimits
from timesink.errors import UsageError
from timesink.model.diagnosis import PLAIN, CycleTime, Diagnosis
from timesink.model.health import RULES

REGRESSION = "regression"
PASSED, FAILED, UNJUDGED = "passed", "failed", "unjudged"
"""Outcomes of a check."""
SAME_CALLS, NOTHING_RECORDED = "same calls", "nothing recorded"
"""What is known of a program whose host alone became slower."""


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
