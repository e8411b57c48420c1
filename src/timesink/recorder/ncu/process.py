"""Running Nsight Compute: the program's output passes through, what the profiler says is heard."""

from __future__ import annotations

import os
import re
import selectors
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Literal, TextIO

from timesink.errors import CollectError
from timesink.patterns import regex
from timesink.recorder.processes import end_family, family, hangups_ignored, signal_family

# What Nsight Compute said while the program ran.

_PROFILING = regex(r'Profiling "(?P<name>.*)" - \d+(?: \(\d+/(?P<of>\d+)\))?: 0%')
_ANSWERED = regex(r"The application returned an error code \((-?\d+)\)")

KernelMet = Callable[[int, str, int | None], None]
"""Called with (kernels so far, name, how many there will be where that is known)."""


@dataclass(slots=True)
class NcuLog:
    """Everything that matters later, gathered line by line."""

    on_kernel: KernelMet | None = None
    kernels: int = 0
    notes: list[str] = field(default_factory=list)
    """Warnings and errors as they were printed, each once."""
    table: list[bytes] = field(default_factory=list)
    """Lines of a table printed instead of a report."""
    application_code: int | None = None
    connected: int = 0
    disconnected: int = 0
    is_shutting_down: bool = False

    def line(self, raw: bytes) -> None:
        """Take in one line of the profiler."""
        kind, _, text = raw.decode("utf-8", "replace").strip().partition("== ")
        if kind == "==PROF":
            kernel = _PROFILING.match(text)
            if kernel is not None:
                self.kernels += 1
                if self.on_kernel is not None:
                    self.on_kernel(self.kernels, kernel["name"], int(kernel["of"] or 0) or None)
            self.connected += text.startswith("Connected to process")
            self.disconnected += text.startswith("Disconnected from process")
            self.is_shutting_down |= text.startswith("Trying to shutdown")
        elif kind in ("==WARNING", "==ERROR"):
            if f"{kind}== {text}" not in self.notes:
                self.notes.append(f"{kind}== {text}")
            answered = _ANSWERED.search(text)
            if answered is not None:
                self.application_code = int(answered[1])

    @property
    def errors(self) -> list[str]:
        """What the profiler itself complained about; the program's exit code is no such thing."""
        texts = (note.removeprefix("==ERROR== ") for note in self.notes if note.startswith("==E"))
        return [text for text in texts if not _ANSWERED.search(text)]


# Nsight Compute writes among the output of the program it runs; this takes the two apart.
#
# Its own lines start with ``==PROF==``, ``==WARNING==`` or ``==ERROR==``, and may start in the
# middle of a line the program has not finished.  Everything else belongs to the program and is
# passed on at once, unfinished lines and carriage returns included.

Origin = Literal["program", "profiler", "table"]

_MARKS = (b"==PROF== ", b"==WARNING== ", b"==ERROR== ", b"==LOG== ")
_TABLE_HEAD = b'"ID","Process ID",'
"""How the table starts that is printed where no report is written."""

_ROW_START = b'"'

_PROFILER_LINES = regex(
    rb"(?P<profiler>==(?:PROF|WARNING|ERROR|LOG)== [^\n]*\n)"
    rb'|^(?P<head>"ID","Process ID",[^\n]*\n)'
    rb'|^(?P<row>"\d*","\d*",[^\n]*\n)'
    rb"|^(?P<rest>\.{4}(?:50%\.{4})?100% - \d+ pass(?:es)?\n)",
    re.MULTILINE,
)
_INTERRUPTED = regex(
    rb'(==PROF== Profiling "[^"\n]*" - \d+(?: \(\d+/\d+\))?: 0%(?:\.{4}50%)?)(?!\.)(.+\n)'
)
"""The program wrote while a kernel was measured: the line ends with its words."""


class Splitter:
    r"""Bytes of one output in, pieces with their origin out."""

    def __init__(self) -> None:
        self._held = b""
        self._before = b"\n"
        """The byte before what is held: whether a line starts there."""
        self._in_table = False
        self._kernel_under_way = False

    def feed(self, data: bytes) -> Iterator[tuple[Origin, bytes]]:
        """The pieces that are complete; what may become a line of the profiler is held back."""
        text = self._before + self._held + data
        place = 1
        for match in _PROFILER_LINES.finditer(text, place):
            pieces = list(self._pieces(match))
            if not pieces:
                continue
            if match.start() > place:
                yield "program", text[place : match.start()]
            yield from pieces
            place = match.end()
        passed = max(place, self._undecided(text, place))
        if passed > place:
            yield "program", text[place:passed]
        self._before, self._held = text[passed - 1 : passed], text[passed:]

    def _pieces(self, match: re.Match[bytes]) -> Iterator[tuple[Origin, bytes]]:
        """A complete line that is not the program's; nothing when it is after all."""
        if match["profiler"]:
            interrupted = _INTERRUPTED.fullmatch(match["profiler"])
            self._kernel_under_way = interrupted is not None
            if interrupted is None:
                yield "profiler", match["profiler"]
            else:
                yield "profiler", interrupted[1] + b"\n"
                is_profiler_line = interrupted[2].startswith(_MARKS)
                yield "profiler" if is_profiler_line else "program", interrupted[2]
        elif match["head"]:
            self._in_table = True
            yield "table", match["head"]
        elif match["row"] and self._in_table:
            yield "table", match["row"]
        elif match["rest"] and self._kernel_under_way:
            self._kernel_under_way = False
            yield "profiler", match["rest"]

    def _undecided(self, text: bytes, place: int) -> int:
        """Where the last line may turn out to be the profiler's; the end when it cannot."""
        line = max(place, text.rfind(b"\n", place) + 1)
        marks = [text.find(mark, line) for mark in _MARKS]
        if any(mark >= 0 for mark in marks):
            return min(mark for mark in marks if mark >= 0)
        starts_here = text[line - 1 : line] == b"\n"
        if starts_here and text[line:] and self._may_be_table(text[line:]):
            return line
        longest = max(map(len, _MARKS)) - 1
        for start in range(max(line, len(text) - longest), len(text)):
            if any(mark.startswith(text[start:]) for mark in _MARKS):
                return start
        return len(text)

    def _may_be_table(self, line: bytes) -> bool:
        if self._in_table and line.startswith(_ROW_START):
            return True
        if self._kernel_under_way and line.startswith(b"."):
            return True
        return line.startswith(_TABLE_HEAD) or _TABLE_HEAD.startswith(line)

    def wait_over(self) -> Iterator[tuple[Origin, bytes]]:
        """No more came for a while: what is held is the program's, unless it is surely not."""
        if self._held and not self._is_profilers(self._held):
            yield "program", self._held
            self._before, self._held = self._held[-1:], b""

    def end(self) -> Iterator[tuple[Origin, bytes]]:
        """Nothing more will come."""
        if self._is_profilers(self._held):
            yield "profiler", self._held
            self._held = b""
        yield from self.wait_over()

    def _is_profilers(self, line: bytes) -> bool:
        return line.startswith(_MARKS) or (self._kernel_under_way and line.startswith(b"...."))


# Progress beside the output of a program that knows nothing of it.

_CLEAR = b"\r\x1b[K"
_REDRAW_S = 0.1
_LINE_S, _LINE_KERNELS = 10.0, 1000
"""In a pipe progress is a line, this often."""


def _visible(text: str) -> str:
    """Names of kernels steer no terminal."""
    return "".join(
        character if character.isprintable() else repr(character)[1:-1] for character in text
    )


class Screen:
    """Passes output on, and keeps one line of progress out of its way."""

    def __init__(
        self, out: TextIO, err: TextIO, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.out, self.err = out, err
        self._clock = clock
        self._draws = err.isatty()
        self._line_is_free = True
        self._drawn = False
        self._gone: set[TextIO] = set()
        self._told_at = self._started_at = clock()
        self._told_kernels = 0

    def pass_on(self, data: bytes, stream: TextIO) -> None:
        """Write what the program wrote, as it is."""
        self.wipe()
        self._write(data, stream)
        if stream.isatty():
            self._line_is_free = data.endswith(b"\n")

    def say(self, text: str) -> None:
        """One line of ours."""
        self.wipe()
        start = "" if self._line_is_free else "\n"
        self._line_is_free = True
        text = _visible(text)
        self._write(f"{start}{text}\n".encode(self.err.encoding, "backslashreplace"), self.err)

    def kernel(self, kernels: int, name: str, of: int | None) -> None:
        """Show which kernel is measured, now and then."""
        now = self._clock()
        if kernels == 1:
            self._started_at = now
        if self._draws:
            if now - self._told_at >= _REDRAW_S:
                self.show(self._progress(kernels, name, of, now))
                self._told_at = now
        elif now - self._told_at >= _LINE_S or kernels - self._told_kernels >= _LINE_KERNELS:
            self.say(self._progress(kernels, name, of, now))
            self._told_at, self._told_kernels = now, kernels

    def _progress(self, kernels: int, name: str, of: int | None, now: float) -> str:
        total = f" of {of:,}".replace(",", " ") if of else ""
        # The kernel named has only begun.
        rate = (kernels - 1) / max(now - self._started_at, 1e-9)
        pace = f"{rate:.0f}/s" if rate >= 10 else f"{rate:.1f}/s"
        speed = f" ({pace})" if now > self._started_at else ""
        return f"profiling kernel {kernels:,}".replace(",", " ") + f"{total}: {name}{speed}"

    def show(self, text: str) -> None:
        """Replace the line of progress, where there is one and the program left room for it."""
        if self._draws and self._line_is_free:
            fitting = _visible(text)[: shutil.get_terminal_size().columns - 1]
            self._write(_CLEAR + fitting.encode("utf-8", "replace"), self.err)
            self._drawn = True

    def wipe(self) -> None:
        """Take the line of progress away."""
        if self._drawn:
            self._write(_CLEAR, self.err)
            self._drawn = False

    def _write(self, data: bytes, stream: TextIO) -> None:
        if stream in self._gone:
            return
        try:
            # The bytes below a text stream, with what was written before in its place.
            stream.flush()
            stream.buffer.write(data)
            stream.buffer.flush()
        except OSError:
            # Whoever read this left, the terminal or the disk is gone; the measurement goes on.
            self._gone.add(stream)


_CHUNK = 1 << 16
_QUIET_S = 0.1
"""After so long without output an unfinished line is shown, and signals are looked at."""
_REACTS_S = 0.5
"""Ctrl-C in a terminal reaches the profiler by itself; without a sign of that it is passed on."""
_ENDS_S = 0.5
"""What is still being written when the profiler ended gets so long."""
_LEAVES_S = 5.0
"""An interrupted program gets so long to end after its profiler."""


def run_profiler(
    command: Sequence[str], screen: Screen, state: NcuLog, interruptions: list[int]
) -> int:
    """Run to the end; an interruption lets the profiler finish, a second one kills it.

    Its exit code comes back.
    """
    streams = [screen.out, screen.err]
    with suppress(OSError, ValueError):
        if os.path.sameopenfile(screen.out.fileno(), screen.err.fileno()):
            # One for both, so that lines keep their order.
            streams = [screen.out]
    with ExitStack() as stack:
        ends = [_open(stream) for stream in streams]
        for reading, _ in ends:
            stack.callback(os.close, reading)
        try:
            with hangups_ignored():
                process = subprocess.Popen(  # noqa: S603 - the command the user was shown
                    command, stdout=ends[0][1], stderr=ends[-1][1]
                )
        except OSError as error:
            raise CollectError.cannot_start(command[0], error) from None
        finally:
            for _, writing in ends:
                os.close(writing)
        stack.callback(_never_alone, process)
        channels = {
            reading: (stream, Splitter())
            for (reading, _), stream in zip(ends, streams, strict=True)
        }
        _Watch(process, channels, screen, state, interruptions).to_the_end()
    return process.wait()


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


def _never_alone(process: subprocess.Popen[bytes]) -> None:
    """Whatever happened here, the profiler does not outlive us."""
    if process.poll() is None:
        members = family(process.pid)
        process.kill()
        end_family(members, 0)


@dataclass(slots=True)
class _Watch:
    """Passes output on until the profiler ended and its outputs are empty."""

    process: subprocess.Popen[bytes]
    channels: dict[int, tuple[TextIO, Splitter]]
    """Where each output of the program goes."""
    screen: Screen
    state: NcuLog
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
                self.state.line(data)
            else:
                self.state.table.append(data)

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
            if not self._members:
                self._members = family(self.process.pid)
                self._interrupted_at = self._clock()
                note = "; what was measured is kept" if self.state.kernels else ""
                self.screen.say(f"stopping{note} (once more: stop at once)")
            else:
                self._members |= family(self.process.pid)
                self.process.kill()
                end_family(self._members, 0)
        reacts = self.state.is_shutting_down or not self._interrupted_at
        if not reacts and self._clock() - self._interrupted_at > _REACTS_S:
            self._interrupted_at = 0.0
            # As a terminal would: the profiler may run below a script that starts it.
            signal_family(family(self.process.pid), signal.SIGINT)
