"""Recording a program that is started for it, and making a recording of what is left of one.

The program notices nothing, and signals reach it as they should.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from timesink.errors import CollectError, reason_of
from timesink.recorder import run_file
from timesink.recorder.cycle_channel import CHANNEL_VARIABLE, channel_in
from timesink.recorder.folder import (
    CONTROL_VARIABLE,
    PlainTimes,
    RecordingFolder,
    RecordPlan,
    read_notes,
    read_plain,
    write_plan,
)
from timesink.recorder.processes import (
    answer_signals,
    collect_signals,
    end_family,
    family,
    passed_on,
    signal_family,
)
from timesink.recorder.traces import collect_memory_alone, collect_traces, shift_counters
from timesink.recorder.watch import Watch

# Signals that ask to stop, and how much they want it.

AGAIN = "(once more: stop at once)"
_ONE_REQUEST_S = 2.0
"""Signals that follow each other closely are one request: a dropped connection or a scheduler may
send several, and the program is to write what it has."""
_ONE_KEY_S = 0.3
"""The same for Ctrl-C, which a person presses again on purpose."""


@dataclass
class Urgency:
    """Whether a signal wants more than what was done about those before it."""

    _level: int = 0
    _grew_at: float = 0.0

    @property
    def is_at_once(self) -> bool:
        """Whether stopping in good order was asked for before."""
        return self._level > 1

    def grows(self, numbers: Collection[int]) -> bool:
        """Take note of signals that came at a time; whether more is to be done now."""
        now = time.monotonic()
        # Whoever has had the program killed may hit the key once too often.
        is_key = signal.SIGINT in numbers and not self.is_at_once
        if self._level and now - self._grew_at <= (_ONE_KEY_S if is_key else _ONE_REQUEST_S):
            return False
        self._level, self._grew_at = self._level + 1, now
        return True


_TICK_S = 0.1
_REACTS_S = 1.0
"""A terminal's signals reach the program by themselves; without a sign of that we pass them on."""
LEAVES_S = 10.0
"""A program that was asked to stop gets so long before it is killed."""


@dataclass
class Running:
    """A program that runs, and what is known of its ending."""

    process: subprocess.Popen[bytes]
    interruptions: list[int]
    is_ending: Callable[[], bool]
    """Whether the program is seen to end by itself."""
    say: Callable[[str], None]
    urgency: Urgency = field(default_factory=Urgency)
    patience_s: float | None = None
    """How long one that was interrupted may take to end; None: as long as it likes."""
    _handled: int = 0
    _pass_on_at: float | None = None
    _kill_at: float | None = None

    def to_the_end(self, tick: Callable[[], None]) -> run_file.ProgramEnd:
        """Wait for the program, calling `tick` now and then."""
        with passed_on(self.process.pid):
            return self._wait(tick)

    def _wait(self, tick: Callable[[], None]) -> run_file.ProgramEnd:
        while True:
            with suppress(subprocess.TimeoutExpired):
                return _program_end(self.process.wait(_TICK_S))
            tick()
            self._mind_interruptions()
            now = time.monotonic()
            if self._pass_on_at is not None and now > self._pass_on_at:
                self._pass_on_at = None
                if not self.is_ending():
                    signal_family(family(self.process.pid), signal.Signals(self.interruptions[0]))
            if self._kill_at is not None and now > self._kill_at:
                self._kill_at = None
                end_family(family(self.process.pid), 0)

    def ask_to_stop(self) -> None:
        """End the program, which has all the time it needs to leave in order."""
        signal_family(family(self.process.pid), signal.SIGTERM)
        self._kill_at = time.monotonic() + LEAVES_S

    def _mind_interruptions(self) -> None:
        new = self.interruptions[self._handled :]
        self._handled += len(new)
        if not new or not self.urgency.grows(new):
            return
        if self.urgency.is_at_once:
            end_family(family(self.process.pid), 0)
            return
        self.say(f"stopping; what was recorded is kept {AGAIN}")
        if self.patience_s is not None:
            self._kill_at = time.monotonic() + self.patience_s
        if not (self.interruptions[0] == signal.SIGINT and _is_in_foreground()):
            self._pass_on_at = time.monotonic() + _REACTS_S


def _is_in_foreground() -> bool:
    """Whether a terminal sends its signals to us, and so to the program as well."""
    with suppress(OSError, AttributeError), Path("/dev/tty").open("rb", buffering=0) as terminal:
        return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    return False


def _program_end(code: int) -> run_file.ProgramEnd:
    if code >= 0:
        return run_file.ProgramEnd(code, "", code)
    with suppress(ValueError):
        return run_file.ProgramEnd(None, signal.Signals(-code).name, 128 - code)
    return run_file.ProgramEnd(None, f"signal {-code}", 128 - code)


# The environment of a recorded program: as it was, and every Python in it lets the agent in.

SITE = Path(__file__).resolve().parent / "site"
"""Holds the module Python loads when it starts."""


def recorded_environment(environment: Mapping[str, str], control: Path) -> dict[str, str]:
    """The variables a recorded program is started with."""
    places = [str(SITE), *filter(None, [environment.get("PYTHONPATH", "")])]
    ours = {"PYTHONPATH": os.pathsep.join(places), CONTROL_VARIABLE: str(control)}
    # Empty where nobody is told cycles: the program may be part of one that is watched.
    return {**environment, **ours, CHANNEL_VARIABLE: channel_in(control) or ""}


_ENDS_ITSELF_S = 10.0
"""A program with --stop ends itself; where it does not it is asked to."""


TIMED_OUT = 124
"""As `timeout` has it."""


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
    directory: Path | None = None
    """Where it runs; None: where we do."""
    environment: Mapping[str, str] | None = None
    """Its variables; None: ours."""
    log: Path | None = None
    """Where its output goes; None: to ours."""
    is_alone: bool = False
    """It reads no input, and after an interruption it has `LEAVES_S` to end: nobody minds it."""
    limit_s: float | None = None
    """One that runs longer is ended, with the status `TIMED_OUT`."""


def record_program(
    request: Request, say: Callable[[str], None], interruptions: list[int] | None = None
) -> tuple[dict[str, Any], str, run_file.ProgramEnd]:
    """Run a program to its end and leave a recording, however it ends: as `conclude` says it.

    Signals that ask to stop are added to `interruptions`.
    """
    urgency = Urgency()
    with collect_signals(interruptions) as came, passed_on():
        started_us = time.time_ns() // 1000
        ended, watch = _run(request, came, urgency, say)
        ended_us = time.time_ns() // 1000
        program = run_file.ProgramRun(
            request.timesink, request.command, request.plan, started_us, ended_us, ended
        )
        with _stopped_at_once(urgency, came, request.place, say):
            return *conclude(program, watch.watched(), request.place), ended


@contextmanager
def _stopped_at_once(
    urgency: Urgency, came: list[int], place: RecordingFolder, say: Callable[[str], None]
) -> Iterator[None]:
    """What happens within is the end of a recording: only a second signal breaks it off."""

    def answer(number: int) -> None:
        came.append(number)
        if urgency.grows([number]):
            if urgency.is_at_once:
                raise KeyboardInterrupt
            say(f"packing what was recorded {AGAIN}")

    try:
        with answer_signals(answer):
            yield
    except KeyboardInterrupt:
        stopped = CollectError(
            "stopped before the recording was packed",
            f"its parts are in {place.control}",
        )
        stopped.exit_code = 128 + came[-1]
        raise stopped from None


def start(
    command: Sequence[str],
    variables: Mapping[str, str],
    *,
    directory: Path | None = None,
    log: Path | None = None,
    is_alone: bool = False,
) -> subprocess.Popen[bytes]:
    """Begin a program; without more than its words it has our input and our outputs."""
    with nullcontext() if log is None else log.open("wb") as output:
        return subprocess.Popen(  # noqa: S603 - the user's
            list(command),
            env=dict(variables),
            cwd=directory,
            stdin=subprocess.DEVNULL if is_alone else None,
            stdout=output,
            stderr=output,
        )


def start_recorded(
    command: Sequence[str], control: Path, variables: Mapping[str, str] = os.environ, **how: Any
) -> subprocess.Popen[bytes]:
    """Begin a program whose agent takes part in what a control folder is for."""
    try:
        return start(command, recorded_environment(variables, control), **how)
    except OSError as error:
        raise CollectError(
            f"{command[0]}: cannot be started ({reason_of(error)})",
            "check the program after --",
        ) from None


def start_beside(code: str, *words: str, **streams: Any) -> subprocess.Popen[bytes]:
    """Begin a process of ours that runs some code, which finds this package, and the words.

    It takes no part in what is recorded, and Ctrl-C in the terminal is for the program alone.
    """
    code = f"import sys; sys.path.insert(0, sys.argv.pop(1)); {code}"
    return subprocess.Popen(  # noqa: S603 - our own Python
        [sys.executable, "-c", code, str(Path(__file__).resolve().parents[2]), *words],
        env={name: value for name, value in os.environ.items() if name != CONTROL_VARIABLE},
        start_new_session=True,
        **streams,
    )


def _run(
    request: Request, interruptions: list[int], urgency: Urgency, say: Callable[[str], None]
) -> tuple[run_file.ProgramEnd, Watch]:
    place = request.place
    place.prepare()
    write_plan(request.plan, place.control)
    variables = os.environ if request.environment is None else request.environment
    try:
        process = start_recorded(
            request.command,
            place.control,
            variables,
            directory=request.directory,
            log=request.log,
            is_alone=request.is_alone,
        )
    except CollectError:
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
        patience_s = LEAVES_S if request.is_alone else None
        running = Running(process, interruptions, watch.is_ending, say, urgency, patience_s)
        begun_at = time.monotonic()
        over_at: float | None = None
        has_asked = is_late = False

        def tick() -> None:
            """Follow the program, and end it after its recording where that was asked for."""
            nonlocal over_at, has_asked, is_late
            watch.look()
            if request.limit_s is not None and not has_asked:
                has_asked = is_late = time.monotonic() - begun_at > request.limit_s
                if is_late:
                    running.ask_to_stop()
            # Workers that time plain cycles by the clock do not all end with the same one.
            is_over = watch.is_over or (request.plan.plain_only and watch.has_one_ended)
            if not request.plan.stop or not is_over or has_asked:
                return
            now = time.monotonic()
            over_at = now if over_at is None else over_at
            if now - over_at > _ENDS_ITSELF_S:
                has_asked = True
                running.ask_to_stop()

        ended = running.to_the_end(tick)
        # A program that ended because it was asked to has not failed.
        status = TIMED_OUT if is_late else 0
        return replace(ended, status=status) if has_asked else ended, watch
    except BaseException:
        # Nobody would wait for it, and pass signals on.
        end_family(family(process.pid), 0)
        process.wait()
        raise


def conclude(
    program: run_file.ProgramRun, watched: run_file.Watched, place: RecordingFolder
) -> tuple[dict[str, Any], str]:
    """Pack timelines, check the clock, describe the run, remove the notes.

    What run.json says, and what to try where it has no cycles.
    """
    processes = read_notes(place.control)
    recorded = collect_traces(processes, place)
    if not recorded:
        collect_memory_alone(processes, place)
    # Of the process that is shown first; where none came so far, of the one that came farthest.
    candidates = [
        process for process in processes if not recorded or process.pid == recorded[0].pid
    ]
    plain = max(
        (read_plain(place.control, process) for process in candidates),
        key=lambda plain_times: (plain_times.settled, len(plain_times.cycles_ns)),
        default=PlainTimes(),
    )
    trouble = ""
    if recorded and recorded[0].offset is not None:
        try:
            shift_counters(place.counters, recorded[0].offset, place.control)
        except OSError as error:
            trouble = f"the counters are not on the timeline's clock: {reason_of(error)}"
    run = run_file.describe(program, recorded, processes, watched, plain=plain, trouble=trouble)
    run_file.write_run_file(run, place)
    place.clear_control()
    return run, run_file.advice(recorded, processes, program.plan)
