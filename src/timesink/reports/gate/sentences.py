"""Why cycle time passes, or does not, in words."""

from __future__ import annotations

from timesink.analyses.diagnosis.diagnosis import Diagnosis
from timesink.model.amounts import change, interval_pct, times
from timesink.reports.gate.limit import Limit
from timesink.reports.gate.power import tested_interval_pct, unseen_pct

_INTERVAL = "95 % interval"
_WHAT_TO_DO = (
    "Record the same program with the same inputs, two cycles or more; where the new run is meant "
    "to do other work, compare it with a new base."
)
_SLOW_FIRST = "Skip warm-up when recording (--skip)."


def is_hidden(why: Diagnosis, limit: Limit) -> bool:
    """Whether most cycles certainly take too long, and slow first ones of the base outweigh it."""
    steady = why.cycle_time.steady
    if why.verdict != "no_change" or steady is None or steady.interval_ns is None:
        return False
    return steady.interval_ns[0] > 0 and limit.is_exceeded(steady.change_pct)


def sentence(why: Diagnosis, limit: Limit | None, *, is_budgeted: bool = False) -> str:
    """The reason of the verdict, with its interval, and what is allowed or can be done.

    Without a limit a budget may judge how much longer cycles take (`is_budgeted`).
    """
    said = _with_interval(why)
    if why.verdict == "incomparable":
        return f"{said} {_WHAT_TO_DO}"
    if limit is not None and is_hidden(why, limit):
        return f"{said} {_steady(why)}: means say the opposite of most cycles. {_SLOW_FIRST}"
    if why.verdict == "no_change" and limit is not None:
        return f"{said}{_beyond(why, limit)}"
    if why.verdict != "regression":
        return said
    if limit is None:
        return said if is_budgeted else f"{said} Without --fail-on that fails nothing."
    return said if limit.allowed_pct is None else f"{said} {_held(why, limit)}"


def _held(why: Diagnosis, limit: Limit) -> str:
    """What was held against the limit, where that is another figure, and what is allowed."""
    allowed = f"{limit.allowed_pct:g} % more."
    held = _steady(why) if _differs(why) else ""
    if limit.is_exceeded(why.cycle_time.tested_pct):
        return f"{held}; allowed: {allowed}" if held else f"Allowed: {allowed}"
    within = f"within what is allowed: {allowed}"
    passes = f"{held}, {within}" if held else f"That is {within}"
    return f"{passes}{_beyond(why, limit)}"


def _beyond(why: Diagnosis, limit: Limit) -> str:
    """That a pass does not rule out more than is allowed; empty where it does, or is said."""
    bounds, smallest = tested_interval_pct(why.cycle_time), unseen_pct(why.cycle_time)
    allowed = limit.allowed_pct
    if not allowed or bounds is None or smallest is None or bounds[1] <= allowed:
        return ""
    if why.verdict == "no_change" and smallest > allowed:
        return ""  # what cannot be seen is told of these
    return f" The interval reaches beyond {allowed:g} %: more cannot be ruled out."


def _differs(why: Diagnosis) -> bool:
    """Whether what is held against a limit is another figure than that of all cycles."""
    steady, lengths = why.cycle_time.steady, why.cycle_time
    if steady is None:
        return False
    return change(steady.base_ns, steady.new_ns) != change(lengths.base_ns, lengths.new_ns)


def _steady(why: Diagnosis) -> str:
    """What was tested, in words."""
    steady = why.cycle_time.steady
    if steady is None:
        return ""
    means = steady.base_ns, steady.new_ns
    return f"Without warm-up and outliers: {times(*means)} ({change(*means)})"


def _with_interval(why: Diagnosis) -> str:
    """The reason; that of several processes does not name the interval itself."""
    bounds = why.cycle_time.interval_pct
    is_said = _INTERVAL in why.reason or why.verdict == "incomparable"
    if bounds is None or is_said or not why.reason.endswith(")."):
        return why.reason
    return f"{why.reason.removesuffix(').')}, {_INTERVAL} {interval_pct(*bounds)})."
