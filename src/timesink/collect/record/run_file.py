"""run.json: what was recorded, how, on what, and what it cost."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from timesink.collect.masking import masked
from timesink.collect.record.notes import ProcessNotes
from timesink.collect.record.places import COUNTERS_FILE, RecordingFolder
from timesink.collect.record.plan import RecordPlan
from timesink.collect.record.running import ProgramEnd
from timesink.collect.record.traces import Recorded
from timesink.collect.record.watching import Watched
from timesink.errors import OutputError

SCHEMA = "timesink/run/1"
_UNSETTLED = 2
"""So many cycles at the beginning are not like those that follow."""

_NEAR = 20
"""So many cycles right before the recording count."""

_ENOUGH = 3
"""Fewer cycles say nothing of what the profiler costs."""

_UNEVEN = 2.0
"""Cycles that differ by more than this factor, from quartile to quartile, neither."""


@dataclass(frozen=True)
class ProgramRun:
    """One run of a program, as its recorder saw it."""

    timesink: str
    command: tuple[str, ...]
    plan: RecordPlan
    started_us: int
    ended_us: int
    ended: ProgramEnd | None
    """None where the program goes on after its recording."""


def describe(
    program: ProgramRun,
    recorded: Sequence[Recorded],
    processes: Sequence[ProcessNotes],
    watched: Watched,
    said: tuple[str, Sequence[str]],
) -> dict[str, Any]:
    """The content of run.json; what is not known is None.

    `said` is why it has less than was asked for, and what else is to be known.
    """
    why_partial, notes = said
    sampled = watched.sampled
    first = recorded[0] if recorded else None
    ended = program.ended
    return {
        "schema": SCHEMA,
        "timesink": program.timesink,
        "command": masked(program.command),
        "started_us": program.started_us,
        "ended_us": program.ended_us,
        "complete": not why_partial,
        "why_partial": why_partial,
        "notes": list(notes),
        "cycles": _cycles(program.plan, first),
        "processes": [
            {
                "pid": one.pid,
                "rank": one.rank,
                "world_size": one.world_size,
                "trace": one.trace,
                "cycles": one.cycles,
                "complete": one.is_complete,
                "why_partial": one.why_partial,
                "devices": list(one.devices),
            }
            for one in recorded
        ],
        "counters": {
            "file": COUNTERS_FILE if sampled.samples else None,
            "interval_ms": sampled.interval_ms,
            "samples": sampled.samples,
            "recorded": list(sampled.recorded),
            "missing": [asdict(one) for one in sampled.missing],
        },
        "clock": asdict(first.offset) if first and first.offset else None,
        "overhead": _overhead(first, sampled.cpu_pct),
        "host": watched.host,
        "devices": watched.devices,
        "versions": _versions(first, processes),
        "exit": {"code": ended.code, "signal": ended.signal} if ended else None,
    }


def write_run_file(content: dict[str, Any], place: RecordingFolder) -> None:
    """Write run.json; it appears whole or not at all."""
    unfinished = place.control / place.run_file.name
    try:
        # The program may have tidied up.
        place.control.mkdir(exist_ok=True)
        unfinished.write_text(json.dumps(content, indent=1) + "\n")
        unfinished.replace(place.run_file)
    except OSError as error:
        raise OutputError.unwritable(place.run_file, error.strerror or str(error)) from None


def _cycles(plan: RecordPlan, first: Recorded | None) -> dict[str, Any]:
    if plan.whole:
        return dict.fromkeys(("asked", "skipped", "recorded")) | {
            "by": "whole program",
            "name": None,
        }
    return {
        "by": first.by if first else None,
        "name": first.name or None if first else None,
        "asked": plan.cycles,
        "skipped": first.skipped if first else None,
        "recorded": first.cycles if first else 0,
    }


def _overhead(first: Recorded | None, sampler_cpu_pct: float | None) -> dict[str, float | None]:
    plain_ns, profiled_ns = _plain_ns(first), first.recorded_ns if first else []
    slower = None
    # How much longer cycles take with the profiler, where they are not too uneven to tell.
    if _is_even(plain_ns) and _is_even(profiled_ns):
        slower = statistics.median(profiled_ns) / statistics.median(plain_ns) - 1
    return {
        "cycle_us": _median_us(plain_ns),
        "cycle_profiled_us": _median_us(profiled_ns),
        "profiler_pct": None if slower is None else round(100 * slower, 2),
        "sampler_cpu_pct": sampler_cpu_pct,
    }


def _is_even(times_ns: Sequence[int]) -> bool:
    """Whether the middle half of the cycles takes about as long."""
    if len(times_ns) < _ENOUGH:
        return False
    lower, _, upper = statistics.quantiles(times_ns, n=4, method="inclusive")
    return lower > 0 and upper <= _UNEVEN * lower


def _plain_ns(first: Recorded | None) -> Sequence[int]:
    """Cycles without the profiler, near the recording: those before it or after, if faster.

    Before it many programs still compile, load kernels and fill caches; after it libraries of the
    profiler may stay in the way of every launch.
    """
    if first is None:
        return []
    before = first.pace.get("before_ns", [])[_UNSETTLED:][-_NEAR:]
    after = first.pace.get("after_ns", [])[1:]
    known = [times_ns for times_ns in (before, after) if len(times_ns) >= _ENOUGH]
    return min(known, key=statistics.median, default=[])


def _median_us(times_ns: Sequence[int]) -> float | None:
    return round(statistics.median(times_ns) / 1000, 3) if times_ns else None


def _versions(first: Recorded | None, processes: Sequence[ProcessNotes]) -> dict[str, Any]:
    def latest(event: str) -> Mapping[str, Any]:
        return next((note for process in processes if (note := process.last(event))), {})

    told = first.versions if first else latest("torch")
    if told:
        return {name: value for name, value in told.items() if name != "event"}
    return {"python": latest("python").get("version"), "torch": None}
