"""Running the program that is recorded: it notices nothing, and signals reach it as they should."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from timesink.errors import CollectError
from timesink.recorder.folder import CONTROL_VARIABLE, ProcessNotes
from timesink.recorder.gpu_counters import describe_devices, describe_host
from timesink.recorder.processes import end_family, family, signal_family

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
_LEAVES_S = 10.0
"""A program that was asked to stop gets so long before it is killed."""


@dataclass(frozen=True)
class ProgramEnd:
    """How a program ended: its exit code, or the signal that killed it."""

    code: int | None
    signal: str
    status: int
    """What a shell makes of it."""


@dataclass
class Running:
    """A program that runs, and what is known of its ending."""

    process: subprocess.Popen[bytes]
    interruptions: list[int]
    is_ending: Callable[[], bool]
    """Whether the program is seen to end by itself."""
    say: Callable[[str], None]
    urgency: Urgency = field(default_factory=Urgency)
    _handled: int = 0
    _pass_on_at: float | None = None
    _kill_at: float | None = None

    def to_the_end(self, tick: Callable[[], None]) -> ProgramEnd:
        """Wait for the program, calling `tick` now and then."""
        while True:
            with suppress(subprocess.TimeoutExpired):
                return _ended(self.process.wait(_TICK_S))
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
        self._kill_at = time.monotonic() + _LEAVES_S

    def _mind_interruptions(self) -> None:
        new = self.interruptions[self._handled :]
        self._handled += len(new)
        if not new or not self.urgency.grows(new):
            return
        if self.urgency.is_at_once:
            end_family(family(self.process.pid), 0)
            return
        self.say(f"stopping; what was recorded is kept {AGAIN}")
        if not (self.interruptions[0] == signal.SIGINT and _is_in_foreground()):
            self._pass_on_at = time.monotonic() + _REACTS_S


def start(command: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a program with our own input and outputs."""
    try:
        return subprocess.Popen(list(command), env=dict(environment))  # noqa: S603 - the user's
    except OSError as error:
        raise CollectError(
            f"{command[0]}: cannot be started ({error.strerror or error})",
            "check the program after --",
        ) from None


def _is_in_foreground() -> bool:
    """Whether a terminal sends its signals to us, and so to the program as well."""
    with suppress(OSError, AttributeError), Path("/dev/tty").open("rb", buffering=0) as terminal:
        return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    return False


def _ended(code: int) -> ProgramEnd:
    if code >= 0:
        return ProgramEnd(code, "", code)
    with suppress(ValueError):
        return ProgramEnd(None, signal.Signals(-code).name, 128 - code)
    return ProgramEnd(None, f"signal {-code}", 128 - code)


# The environment of a recorded program: as it was, and every Python in it lets the agent in.

SITE = Path(__file__).resolve().parent / "site"
"""Holds the module Python loads when it starts."""


def recorded_environment(environment: Mapping[str, str], control: Path) -> dict[str, str]:
    """The variables a recorded program is started with."""
    places = [str(SITE), *filter(None, [environment.get("PYTHONPATH", "")])]
    return {
        **environment,
        "PYTHONPATH": os.pathsep.join(places),
        CONTROL_VARIABLE: str(control),
    }


# The machine a program runs on, asked while it runs: some of it cannot be told afterwards.

_PATIENCE_S = 5.0
"""A driver that does not answer is not waited for longer."""


class Machine:
    """The host as the program sees it, and the devices."""

    def __init__(self, pid: int) -> None:
        self._started = (pid, "")
        self._seen: tuple[int, str] | None = None
        self._host: dict[str, Any] | None = None
        self._devices: list[dict[str, Any]] | None = None
        # Some drivers never answer, and what waits for them cannot be ended.
        self._asking = threading.Thread(target=self._ask, name="timesink machine", daemon=True)
        with suppress(RuntimeError):
            self._asking.start()

    def look(self, processes: Sequence[ProcessNotes]) -> None:
        """See what the program may use: it is told that by itself, or by who starts it."""
        # The process that is furthest in what is recorded, and how far it is.
        working = next(
            (
                (process.pid, event)
                for event in ("window", "torch", "python")
                for process in processes
                if process.last(event) is not None
            ),
            self._started,
        )
        if working != self._seen:
            self._seen = working
            with suppress(OSError):
                self._host = describe_host(pid=working[0])

    @property
    def host(self) -> dict[str, Any]:
        """Of the process that does the work; of this one where that was too short to be seen."""
        return self._host or describe_host()

    def devices(self) -> list[dict[str, Any]] | None:
        """None where their driver does not answer."""
        if self._asking.is_alive():
            self._asking.join(_PATIENCE_S)
        return self._devices

    def _ask(self) -> None:
        # Whatever a driver says to that, the recording matters more.
        with suppress(Exception):
            self._devices = describe_devices()
