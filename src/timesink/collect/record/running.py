"""Running the program that is recorded: it notices nothing, and signals reach it as they should."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from timesink.collect.processes import end_family, family, signal_family
from timesink.collect.record.urgency import AGAIN, Urgency
from timesink.errors import CollectError

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
            self._mind_deadlines()

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

    def _mind_deadlines(self) -> None:
        now = time.monotonic()
        if self._pass_on_at is not None and now > self._pass_on_at:
            self._pass_on_at = None
            if not self.is_ending():
                signal_family(family(self.process.pid), signal.Signals(self.interruptions[0]))
        if self._kill_at is not None and now > self._kill_at:
            self._kill_at = None
            end_family(family(self.process.pid), 0)


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
