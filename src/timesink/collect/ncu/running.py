"""Running Nsight Compute: the program's output passes through, what the profiler says is heard."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import TextIO

from timesink.collect.ncu.hearing import Heard
from timesink.collect.ncu.screen import Screen
from timesink.collect.ncu.splitting import Origin, Splitter
from timesink.collect.processes import end_family, family, signal_family
from timesink.collect.signals import hangups_ignored
from timesink.errors import CollectError

_CHUNK = 1 << 16
_QUIET_S = 0.1
"""After so long without output an unfinished line is shown, and signals are looked at."""
_REACTS_S = 0.5
"""Ctrl-C in a terminal reaches the profiler by itself; without a sign of that it is passed on."""
_ENDS_S = 0.5
"""What is still being written when the profiler ended gets so long."""
_LEAVES_S = 5.0
"""An interrupted program gets so long to end after its profiler."""


@dataclass(frozen=True, slots=True)
class ProfilerEnd:
    """How a run ended: the profiler's exit code, and the signal that stopped us."""

    code: int
    stopped_by: int | None


def run_profiler(
    command: Sequence[str], screen: Screen, heard: Heard, interruptions: list[int]
) -> ProfilerEnd:
    """Run to the end; an interruption lets the profiler finish, a second one kills it."""
    streams = [screen.out, screen.err]
    with suppress(OSError, ValueError):
        if os.path.sameopenfile(screen.out.fileno(), screen.err.fileno()):
            # One for both, so that lines keep their order.
            streams = [screen.out]
    with ExitStack() as stack:
        ends = [_open(stream) for stream in streams]
        for reading, _ in ends:
            stack.callback(os.close, reading)
        process = _start(command, [writing for _, writing in ends])
        stack.callback(_never_alone, process)
        channels = {
            reading: (stream, Splitter())
            for (reading, _), stream in zip(ends, streams, strict=True)
        }
        _Watch(process, channels, screen, heard, interruptions).to_the_end()
    return ProfilerEnd(process.wait(), interruptions[0] if interruptions else None)


# -- outputs -------------------------------------------------------------------------------------


def _open(stream: TextIO) -> tuple[int, int]:
    """A pair to read from and to write to; a terminal for a terminal.

    Programs hold their output back, and draw no progress, when it is not shown on a terminal.
    """
    if not stream.isatty():
        return os.pipe()
    import fcntl  # noqa: PLC0415 - not on every system
    import pty  # noqa: PLC0415
    import termios  # noqa: PLC0415

    reading, writing = pty.openpty()
    modes = termios.tcgetattr(writing)
    # The real terminal turns line feeds into new lines; once is enough.
    modes[1] &= ~termios.OPOST
    termios.tcsetattr(writing, termios.TCSANOW, modes)
    with suppress(OSError):
        size = fcntl.ioctl(stream.fileno(), termios.TIOCGWINSZ, bytes(8))
        fcntl.ioctl(writing, termios.TIOCSWINSZ, size)
    return reading, writing


def _start(command: Sequence[str], writing: list[int]) -> subprocess.Popen[bytes]:
    try:
        with hangups_ignored():
            return subprocess.Popen(  # noqa: S603 - the command the user was shown
                command, stdout=writing[0], stderr=writing[-1]
            )
    except OSError as error:
        raise CollectError.cannot_start(command[0], error.strerror or str(error)) from None
    finally:
        for end in writing:
            os.close(end)


# -- the end -------------------------------------------------------------------------------------


def _never_alone(process: subprocess.Popen[bytes]) -> None:
    """Whatever happened here, the profiler does not outlive us."""
    if process.poll() is None:
        members = family(process.pid)
        process.kill()
        end_family(members, 0)


# -- the loop ------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Watch:
    """Passes output on until the profiler ended and its outputs are empty."""

    process: subprocess.Popen[bytes]
    channels: dict[int, tuple[TextIO, Splitter]]
    """Where each output of the program goes."""
    screen: Screen
    heard: Heard
    interruptions: list[int]
    _handled: int = 0
    _interrupted_at: float = 0.0
    _members: dict[int, str] = field(default_factory=dict)
    _clock: Callable[[], float] = time.monotonic

    def to_the_end(self) -> None:
        with selectors.DefaultSelector() as selector:
            for end in self.channels:
                selector.register(end, selectors.EVENT_READ)
            last_word = self._clock()
            while selector.get_map():
                ready = selector.select(_QUIET_S)
                for key, _ in ready:
                    if not self._pump(key.fd):
                        selector.unregister(key.fd)
                if ready:
                    last_word = self._clock()
                elif self.process.poll() is not None and self._clock() - last_word > _ENDS_S:
                    # Something the program left running holds its output open.
                    break
                else:
                    for stream, splitter in self.channels.values():
                        self._deal(stream, splitter.wait_over())
                self._mind_interruptions()
        for stream, splitter in self.channels.values():
            self._deal(stream, splitter.end())
        self._wait()

    def _pump(self, end: int) -> bool:
        stream, splitter = self.channels[end]
        data = b""
        with suppress(OSError):
            # There is an error of a terminal that nobody writes to any more.
            data = os.read(end, _CHUNK)
        self._deal(stream, splitter.feed(data))
        return bool(data)

    def _deal(self, stream: TextIO, pieces: Iterable[tuple[Origin, bytes]]) -> None:
        for origin, data in pieces:
            if origin == "program":
                self.screen.pass_on(data, stream)
            elif origin == "profiler":
                self.heard.line(data)
            else:
                self.heard.table.append(data)

    def _wait(self) -> None:
        """Outputs may be closed before the profiler ends."""
        while self.process.poll() is None:
            self._mind_interruptions()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(_QUIET_S)
        self.screen.wipe()
        if self.interruptions:
            end_family(self._members, _LEAVES_S)

    def _mind_interruptions(self) -> None:
        if len(self.interruptions) > self._handled:
            self._handled = len(self.interruptions)
            self._interrupted()
        reacts = self.heard.is_shutting_down or not self._interrupted_at
        if not reacts and self._clock() - self._interrupted_at > _REACTS_S:
            self._interrupted_at = 0.0
            # As a terminal would: the profiler may run below a script that starts it.
            signal_family(family(self.process.pid), signal.SIGINT)

    def _interrupted(self) -> None:
        if not self._members:
            self._members = family(self.process.pid)
            self._interrupted_at = self._clock()
            kept = "; what was measured is kept" if self.heard.kernels else ""
            self.screen.say(f"stopping{kept} (once more: stop at once)")
        else:
            self._members |= family(self.process.pid)
            self.process.kill()
            end_family(self._members, 0)
