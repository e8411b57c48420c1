"""Damage of a file as reasons against its recording: events that are missing, or have no time.

Readers mend what they can and count it as trace health.  These checks say what the counts mean for
an answer: how much of the recording is hurt decides how many questions are denied.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from timesink.analyses.columns import device_columns, device_kinds, host_columns
from timesink.analyses.thresholds import DamageLimits
from timesink.model import units
from timesink.model.fitness import COMPARISON, QUESTIONS, STEP_TIME, Fitness, Reason
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Trace

ENDS_EARLY, EVENTS_LOST, CHANGED = "file_ends_early", "events_lost", "content_changed"
NO_TIME, NO_LENGTH = "events_without_time", "events_without_duration"
STANDS_STILL, GOES_BACK = "times_do_not_advance", "times_do_not_nest"
DAMAGE = (ENDS_EARLY, CHANGED, EVENTS_LOST, NO_TIME, NO_LENGTH, STANDS_STILL, GOES_BACK)
"""Codes of reasons that are about the file; others are about what was recorded."""

_AGAIN = "Copy the file again or record again."
_TOOL = "Check the tool that wrote the file and record again."


def damage_reasons(trace: Trace) -> Iterator[Reason]:
    """What is wrong with the file, the cause before what follows from it."""
    counts = {entry.code: entry.count for entry in trace.health}
    examples = {entry.code: entry.example for entry in trace.health}
    if "truncated_archive" in counts or "truncated_tail" in counts:
        yield _ends_early(trace, examples.get("truncated_archive", ""))
    elif "wrong_checksum" in counts:
        events = units.count_noun(trace.metadata.events, "events")
        yield Reason(
            CHANGED,
            f"The file was changed: the checksum of its content is wrong. It holds {events}, and "
            "any of them may be wrong.",
            "Copy it again or record again.",
            QUESTIONS,
            {"events": trace.metadata.events},
            is_fatal=True,
        )
    elif lost := counts.get("lost_events", 0):
        yield Reason(
            EVENTS_LOST,
            f"{units.count_noun(lost, 'stretches')} of the file could not be read. Their events "
            f"are missing.",
            _AGAIN,
            QUESTIONS if lost > DamageLimits.min_damaged_share * _height(trace) else (COMPARISON,),
            {"stretches": lost, "events": trace.metadata.events},
        )
    if timeless := counts.get("missing_ts", 0):
        yield _without_time(trace, timeless)
    stands_still = list(_stands_still(trace))
    yield from stands_still
    lengthless = sum(
        counts.get(code, 0) for code in ("missing_duration", "negative_duration", "impossible_time")
    )
    if lengthless:
        yield _without_length(trace, lengthless, counts.get("negative_duration", 0))
    crossed, calls = counts.get("overlapping_host", 0), host_columns(trace).height
    if (
        crossed > DamageLimits.min_crossed_share * calls
        and crossed >= DamageLimits.min_events
        and not stands_still
    ):
        yield Reason(
            GOES_BACK,
            f"{units.count(crossed)} of {units.count_noun(calls, 'host events')} "
            f"({units.share(crossed, calls)}) overlap a later one of their thread without "
            "containing it. Calls never do so: the clock went back, or durations are wrong.",
            _TOOL,
            QUESTIONS,
            {"crossed": crossed, "host_events": calls},
            is_fatal=crossed > DamageLimits.min_fatal_share * calls,
        )


def refusing_damage(fitness: Fitness) -> Reason | None:
    """The damage because of which no time of the recording can be given; None without such."""
    reasons = fitness.against(STEP_TIME)
    return next((reason for reason in reasons if reason.code in DAMAGE), None)


def without_order(trace: Trace) -> Reason | None:
    """The damage that leaves no events, or none in an order: there is nothing to look for steps in.

    None for a recording that has some, and for one that is empty without damage.
    """
    reasons = list(damage_reasons(trace))
    if _height(trace):
        reasons = [reason for reason in reasons if reason.code == STANDS_STILL]
    return reasons[0] if reasons else None


def _of(hurt: int, total: int) -> str:
    """How many of all events, with the share where that is not 0.0 %."""
    share = f" ({units.share(hurt, total)})" if hurt >= 0.0005 * total else ""
    return f"{units.count(hurt)} of {units.count_noun(total, 'events')}{share}"


def _height(trace: Trace) -> int:
    return host_columns(trace).height + device_columns(trace).height


def _ends_early(trace: Trace, archive: str) -> Reason:
    """A cut file: writers order events by sort as often as by time, so any of them may be gone."""
    calls, device = host_columns(trace).height, device_columns(trace).height
    work = units.count_noun(device, "device events") if device else "no device events"
    how = f" ({archive})" if archive else ""
    return Reason(
        ENDS_EARLY,
        f"The file ends early after {units.count_noun(trace.metadata.events, 'events')}. "
        f"It holds {units.count_noun(calls, 'host events')} and {work}; the rest is missing{how}.",
        "Copy it again or record again.",
        QUESTIONS,
        {"events": trace.metadata.events, "host_events": calls, "device_events": device},
        is_fatal=True,
    )


def _without_time(trace: Trace, timeless: int) -> Reason:
    total = timeless + _height(trace)
    share = timeless / total
    return Reason(
        NO_TIME,
        f"{_of(timeless, total)} {'has' if timeless == 1 else 'have'} no usable timestamp. "
        f"{'It is' if timeless == 1 else 'They are'} left out.",
        _TOOL,
        QUESTIONS if share > DamageLimits.min_damaged_share else (COMPARISON,),
        {"without_time": timeless, "events": total},
        is_fatal=share > DamageLimits.min_fatal_share,
    )


def _without_length(trace: Trace, lengthless: int, negative: int) -> Reason:
    """Events whose duration is gone; steps and device work, which are few, count by themselves."""
    total = max(_height(trace), lengthless)
    device = device_columns(trace)
    work = device["dur_ns"].filter(pl.Series(device_kinds(trace).among(*BUSY_KINDS)))
    shares = (
        min(int((lengths == 0).sum()), lengthless) / lengths.len()
        for lengths in (work, trace.steps["dur_ns"])
        if lengths.len()
    )
    share = max(lengthless / total, max(shares, default=0.0))
    has = "has" if lengthless == 1 else "have"
    why = f"{has} a negative duration" if negative == lengthless else f"{has} no usable duration"
    return Reason(
        NO_LENGTH,
        f"{_of(lengthless, total)} {why}. "
        f"{'It counts' if lengthless == 1 else 'They count'} as empty.",
        _TOOL,
        QUESTIONS if share > DamageLimits.min_damaged_share else (COMPARISON,),
        {"without_duration": lengthless, "negative": negative, "events": total},
        is_fatal=share > DamageLimits.min_fatal_share,
    )


def _stands_still(trace: Trace) -> Iterator[Reason]:
    total = _height(trace)
    if total < DamageLimits.min_events:
        return
    parts = [host_columns(trace)["ts_ns"], device_columns(trace)["ts_ns"]]
    steps = np.diff(max(parts, key=len).to_numpy())
    enough = max(1, DamageLimits.min_distinct_share * total)
    if not (steps < 0).any() and np.count_nonzero(steps) >= enough:
        return  # of events in order, that many start later than the one before
    distinct = pl.concat(parts).n_unique()
    if distinct == 1 or distinct <= DamageLimits.min_distinct_share * total:
        times = "one time" if distinct == 1 else f"{units.count(distinct)} different times"
        yield Reason(
            STANDS_STILL,
            f"All {units.count_noun(total, 'events')} start at {times}, so their order is not "
            "known.",
            _TOOL,
            QUESTIONS,
            {"events": total, "times": distinct},
            is_fatal=True,
        )
