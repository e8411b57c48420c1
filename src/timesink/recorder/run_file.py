"""run.json: what was recorded, how, on what, and what it cost."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from timesink.errors import OutputError
from timesink.recorder.agent.shutdown import ENDED
from timesink.recorder.counter_sampler import SampledCounters
from timesink.recorder.folder import (
    EXTRAS,
    MAX_PLAIN,
    PlainTimes,
    ProcessNotes,
    RecordingFolder,
    RecordPlan,
)
from timesink.recorder.places import COUNTERS_FILE, write_whole
from timesink.recorder.processes import mask_secrets, sayable_values
from timesink.recorder.traces import KILLED_PLAIN, Recorded

SCHEMA = "timesink/run/1"
_OF_PROCESS = ("pid", "rank", "world_size", "trace", "memory", "cycles")
_MIN_STEPS = 3
"""Fewer cycles say nothing of what the profiler costs."""

_UNEVEN = 2.0
"""Cycles that differ by more than this factor, from quartile to quartile, neither."""


@dataclass(frozen=True)
class ProgramEnd:
    """How a program ended: its exit code, or the signal that killed it."""

    code: int | None
    signal: str
    status: int
    """What a shell makes of it."""

    @property
    def json_fields(self) -> dict[str, Any]:
        """As JSON has it."""
        return {"code": self.code, "signal": self.signal}


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


@dataclass(frozen=True)
class Watched:
    """What was seen beside the program."""

    sampled: SampledCounters
    host: dict[str, Any]
    devices: list[dict[str, Any]] | None


def describe(
    program: ProgramRun,
    recorded: Sequence[Recorded],
    processes: Sequence[ProcessNotes],
    watched: Watched,
    *,
    plain: PlainTimes,
    trouble: str = "",
) -> dict[str, Any]:
    """The content of run.json; what is not known is None.

    `plain` is of the first process recorded; `trouble` is what went wrong after the program.
    """
    sampled = watched.sampled
    why, notes = _said_of(recorded, processes, program, sampled, plain)
    first = recorded[0] if recorded else None
    ended = program.ended
    return {
        "schema": SCHEMA,
        "timesink": program.timesink,
        "command": mask_secrets(program.command),
        "started_us": program.started_us,
        "ended_us": program.ended_us,
        "complete": not (why or trouble),
        "why_partial": why or trouble,
        "notes": notes,
        "cycles": _cycles(program.plan, first, processes, plain),
        "options": {name: name in program.plan.extras for name in EXTRAS}
        | {"where": program.plan.where},
        "processes": [
            {
                **{name: getattr(recording, name) for name in _OF_PROCESS},
                "complete": recording.is_complete,
                "why_partial": recording.why_partial,
                "devices": list(recording.devices),
            }
            for recording in recorded
        ],
        "counters": {
            "file": COUNTERS_FILE if sampled.samples else None,
            "interval_ms": sampled.interval_ms,
            "samples": sampled.samples,
            "recorded": list(sampled.recorded),
            "missing": [asdict(entry) for entry in sampled.missing],
        },
        "clock": asdict(first.offset) if first and first.offset else None,
        "overhead": _overhead(first, plain, sampled.cpu_pct),
        "host": watched.host,
        "devices": watched.devices,
        "versions": _versions(first, processes),
        "exit": ended.json_fields if ended else None,
    }


def write_run_file(content: dict[str, Any], place: RecordingFolder) -> None:
    """Write run.json; it appears whole or not at all."""
    try:
        write_whole(place.run_file, (json.dumps(sayable_values(content), indent=1) + "\n").encode())
    except OSError as error:
        raise OutputError.unwritable(place.run_file, error) from None


def _cycles(
    plan: RecordPlan, first: Recorded | None, processes: Sequence[ProcessNotes], plain: PlainTimes
) -> dict[str, Any]:
    if plan.whole:
        return dict.fromkeys(("asked", "skipped", "recorded", "plain")) | {
            "by": "whole program",
            "name": None,
        }
    # A program that ended before its recording has told what its cycles are.
    timed = next((note for process in processes if (note := process.last("plain"))), {})
    skipped = first.skipped if first else timed.get("skipped")
    if first and not plan.plain_only:
        skipped = first.skipped - plain.settled
    return {
        "by": first.by if first else timed.get("by"),
        "name": (first.name if first else timed.get("name")) or None,
        "asked": 0 if plan.plain_only else plan.cycles,
        "skipped": skipped,
        "recorded": first.cycles if first else 0,
        "plain": plain.settled,
    }


def _overhead(
    first: Recorded | None, plain: PlainTimes, sampler_cpu_pct: float | None
) -> dict[str, Any]:
    # Earlier ones compile, load kernels and fill caches; after the profiler CUPTI stays attached,
    # in the way of every launch.
    settled = plain.cycles_ns[len(plain.cycles_ns) - plain.settled :]
    plain_ns = settled if len(settled) >= _MIN_STEPS else ()
    profiled_ns = first.recorded_ns if first else ()
    slower = None
    # How much longer cycles take with the profiler, where they are not too uneven to tell.
    if _is_even(plain_ns) and _is_even(profiled_ns):
        slower = statistics.median(profiled_ns) / statistics.median(plain_ns) - 1
    return {
        "cycle_us": _median_us(plain_ns),
        "cycle_profiled_us": _median_us(profiled_ns),
        "profiler_pct": None if slower is None else round(100 * slower, 2),
        "plain_cycles_us": _in_us(plain.cycles_ns),
        "plain_probe_us": _in_us(plain.probe_ns),
        "plain_device_us": list(plain.device_us),
        "plain_started_us": plain.started_us,
        "profiled_cycles_us": _in_us(profiled_ns),
        "sampler_cpu_pct": sampler_cpu_pct,
    }


def _is_even(times_ns: Sequence[int]) -> bool:
    """Whether the middle half of the cycles takes about as long."""
    if len(times_ns) < _MIN_STEPS:
        return False
    lower, _, upper = statistics.quantiles(times_ns, n=4, method="inclusive")
    return lower > 0 and upper <= _UNEVEN * lower


def _in_us(times_ns: Sequence[int | None]) -> list[float | None]:
    return [None if time_ns is None else time_ns / 1000 for time_ns in times_ns]


def _median_us(times_ns: Sequence[int]) -> float | None:
    return round(statistics.median(times_ns) / 1000, 3) if times_ns else None


def _versions(first: Recorded | None, processes: Sequence[ProcessNotes]) -> dict[str, Any]:
    def latest(event: str) -> Mapping[str, Any]:
        return next((note for process in processes if (note := process.last(event))), {})

    versions = first.versions if first else latest("torch")
    if versions:
        return {name: value for name, value in versions.items() if name != "event"}
    return {"python": latest("python").get("version"), "torch": None}


# Why a recording has less than was asked for, in words.

NO_PYTHON = (
    "no Python process loaded the recorder: the program is not Python, "
    "runs with -I, -E or -S, or PYTHONPATH was replaced"
)
NO_TORCH = "the program did not import torch: counters only"
_IN_THE_WAY = (
    (
        "own_profiler",
        "the program's own profiler was running when recording was due",
        "switch the program's own profiler off: only one can run at a time",
    ),
    (
        "elsewhere",
        "steps ran on several threads, and a recording follows only one",
        "run the steps on one thread, or name a function of one thread with --marker",
    ),
)
"""What notes of cycles tell of, why there is no recording then, and what to do."""


def _said_of(
    recorded: Sequence[Recorded],
    processes: Sequence[ProcessNotes],
    program: ProgramRun,
    sampled: SampledCounters,
    plain: PlainTimes,
) -> tuple[str, list[str]]:
    """Whether all that was asked for is there, in words: why it is not, and what else to know.

    The latter is as it should be, and yet not as everybody expects.

    Counters are all there is of a program without torch, unless its cycles were named.
    """
    plan = program.plan
    why = why_partial(recorded, processes, plan, program.ended, plain.settled)
    if why == NO_TORCH and sampled.samples and not (plan.marker or plan.whole or plan.plain_only):
        return "", [why]
    dropped = [
        f"{recording.dropped + 1} processes recorded as rank {recording.rank}: "
        f"the one with most steps, process {recording.pid}, is kept"
        for recording in recorded
        if recording.dropped
    ]
    if plain.dropped:
        dropped.append(f"the last {MAX_PLAIN} unprofiled steps are kept, {plain.dropped} are not")
    dropped += [trouble for recording in recorded for trouble in recording.trouble]
    # All of them: a later one makes no earlier one untrue.
    remarks = [
        str(note["text"])
        for process in processes
        for note in process.notes
        if recorded and note["event"] == "remark"
    ]
    return why, [*dropped, *dict.fromkeys(remarks)]


def why_partial(
    recorded: Sequence[Recorded],
    processes: Sequence[ProcessNotes],
    plan: RecordPlan,
    ended: ProgramEnd | None = None,
    plain: int = 0,
) -> str:
    """One sentence on what is missing; empty where nothing is."""
    if not recorded:
        return _why_nothing(processes, plan)[0]
    partial = [recording for recording in recorded if not recording.is_complete]
    if not partial:
        return ""
    first = partial[0]
    whose = f"rank {first.rank}: " if len(recorded) > 1 and first.rank is not None else ""
    why = f"{whose}{first.why_partial}"
    if first.why_partial == ENDED and ended is not None and ended.code:
        # Seen from inside, it just ended.
        why += f" with exit code {ended.code}"
    if plan.plain_only:
        target = f" of {plan.plain}" if plain < plan.plain else ""
        return f"{why}, after {plain}{target} unprofiled steps"
    if plan.whole or first.trace is None:
        return why
    return f"{why}, after {first.cycles} of {plan.cycles} steps"


def _why_nothing(processes: Sequence[ProcessNotes], plan: RecordPlan) -> tuple[str, str]:
    """Why no step was recorded, and what to try; nothing for a program without torch."""
    paces = [pace for process in processes if (pace := process.last("pace"))]
    in_the_way = [
        explanation for what, *explanation in _IN_THE_WAY if any(pace[what] for pace in paces)
    ]
    most = max((pace["seen"] for pace in paces), default=0)
    if not any(process.last("torch") for process in processes):
        why, remedy = NO_TORCH if processes else NO_PYTHON, ""
    elif in_the_way:
        why, remedy = in_the_way[0]
    elif most:
        why = next((pace["why"] for pace in paces if pace.get("why")), ENDED)
        why = f"{why} after {most} steps; the first {plan.skip} are skipped"
        remedy = "record earlier steps with --skip N"
        if plan.plain and not plan.plain_only:
            why += f", and {plan.plain} timed before the timeline"
            remedy += " and --unprofiled N"
    elif any(process.last("plain") for process in processes):
        why, remedy = f"{KILLED_PLAIN} before its timeline began", ""
    elif plan.marker:
        why = f"no step was seen: nothing called {plan.marker!r} ran"
        if paces:
            why = f"{plan.marker!r} came only once (before Python 3.12 compiled calls are not seen)"
        remedy = (
            "--marker names a Python function as its `def` does, or a range of record_function, "
            "that comes once per step; --whole records without steps"
        )
    else:
        unseen = "step() was never called" if plan.by_hand else "no optimizer made a step"
        why = f"no step was seen: {unseen}"
        remedy = (
            "name a function or annotation that begins each step with --marker NAME, "
            "or record the complete program with --whole"
        )
    if why.startswith("no step was seen"):
        why = next(iter(_remarks(processes)), why)
    failures = [str(failed["why"]) for process in processes if (failed := process.last("failed"))]
    return next(iter(failures), why), remedy


def _remarks(processes: Sequence[ProcessNotes]) -> list[str]:
    return [str(remark["text"]) for process in processes if (remark := process.last("remark"))]


def advice(
    recorded: Sequence[Recorded], processes: Sequence[ProcessNotes], plan: RecordPlan
) -> str:
    """What to try where no cycle was recorded; empty where one was."""
    return "" if recorded else _why_nothing(processes, plan)[1]
