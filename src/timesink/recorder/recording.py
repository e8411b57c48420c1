"""Recording a program that is started for it, and making a recording of what is left of one."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from timesink.errors import CollectError, TimesinkError
from timesink.recorder.folder import RecordingFolder, RecordPlan, read_notes, write_plan
from timesink.recorder.processes import answered, end_family, family, noticed
from timesink.recorder.program import (
    AGAIN,
    ProgramEnd,
    Running,
    Urgency,
    recorded_environment,
    start,
)
from timesink.recorder.run_file import ProgramRun, advice, describe, said_of, write_run_file
from timesink.recorder.traces import collect_traces, shift_counters
from timesink.recorder.watch import Watch, Watched

_ENDS_ITSELF_S = 10.0
"""A program with --stop ends itself; where it does not it is asked to."""


@dataclass(frozen=True)
class Request:
    """What to run, and what to record of it."""

    command: tuple[str, ...]
    plan: RecordPlan
    place: RecordingFolder
    counters: frozenset[str]
    interval_ms: float
    timesink: str
    """The version of the recorder."""


@dataclass(frozen=True)
class Conclusion:
    """A recording that is finished: what run.json says, and what to try where it has no cycles."""

    run: dict[str, Any]
    advice: str


def record_program(request: Request, say: Callable[[str], None]) -> tuple[Conclusion, ProgramEnd]:
    """Run a program to its end and leave a recording, however it ends."""
    urgency = Urgency()
    with noticed() as interruptions:
        started_us = time.time_ns() // 1000
        ended, watch = _run(request, interruptions, urgency, say)
        ended_us = time.time_ns() // 1000
        program = ProgramRun(
            request.timesink, request.command, request.plan, started_us, ended_us, ended
        )
        with _stopped_at_once(urgency, request.place, say):
            return conclude(program, watch.watched(), request.place), ended


@contextmanager
def _stopped_at_once(
    urgency: Urgency, place: RecordingFolder, say: Callable[[str], None]
) -> Iterator[None]:
    """What happens within is the end of a recording: only a second signal breaks it off."""
    came: list[int] = []

    def answer(number: int) -> None:
        came.append(number)
        if urgency.grows([number]):
            if urgency.is_at_once:
                raise KeyboardInterrupt
            say(f"packing what was recorded {AGAIN}")

    try:
        with answered(answer):
            yield
    except KeyboardInterrupt:
        stopped = CollectError(
            "stopped before the recording was packed",
            f"what there is of it lies in {place.control}",
        )
        stopped.exit_code = 128 + came[-1]
        raise stopped from None


def _run(
    request: Request, interruptions: list[int], urgency: Urgency, say: Callable[[str], None]
) -> tuple[ProgramEnd, Watch]:
    place = request.place
    place.prepare()
    write_plan(request.plan, place.control)
    try:
        process = start(request.command, recorded_environment(os.environ, place.control))
    except TimesinkError:
        place.discard()
        raise
    try:
        watch = Watch(
            place.control,
            place.counters,
            process.pid,
            wanted=request.counters,
            interval_ms=request.interval_ms,
        )
        running = Running(process, interruptions, watch.is_ending, say, urgency)
        over_at: float | None = None
        has_asked = False

        def tick() -> None:
            """Follow the program, and end it after its recording where that was asked for."""
            nonlocal over_at, has_asked
            watch.look()
            if not request.plan.stop or not watch.is_over or has_asked:
                return
            now = time.monotonic()
            over_at = now if over_at is None else over_at
            if now - over_at > _ENDS_ITSELF_S:
                has_asked = True
                running.ask_to_stop()

        ended = running.to_the_end(tick)
        # A program that ended because it was asked to has not failed.
        return replace(ended, status=0) if has_asked else ended, watch
    except BaseException:
        # Nobody would wait for it, and pass signals on.
        end_family(family(process.pid), 0)
        process.wait()
        raise


def conclude(program: ProgramRun, watched: Watched, place: RecordingFolder) -> Conclusion:
    """Pack timelines, check the clock, describe the run, remove the notes."""
    processes = read_notes(place.control)
    recorded = collect_traces(processes, place)
    why_partial, notes = said_of(recorded, processes, program.plan, program.ended, watched.sampled)
    if recorded and recorded[0].offset is not None:
        try:
            shift_counters(place.counters, recorded[0].offset, place.control)
        except OSError as error:
            why = f"the counters are not on the timeline's clock: {error.strerror or error}"
            why_partial = why_partial or why
    run = describe(program, recorded, processes, watched, (why_partial, notes))
    write_run_file(run, place)
    place.clear_control()
    return Conclusion(run, advice(recorded, processes, program.plan))
