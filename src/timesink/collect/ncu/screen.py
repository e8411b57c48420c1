"""Progress beside the output of a program that knows nothing of it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from typing import BinaryIO, TextIO

_CLEAR = b"\r\x1b[K"
_REDRAW_S = 0.1
_LINE_S, _LINE_KERNELS = 10.0, 1000
"""In a pipe progress is a line, this often."""


def raw(stream: TextIO) -> BinaryIO:
    """The bytes below a text stream, with what was written before in its place."""
    stream.flush()
    return stream.buffer


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
            fitting = text[: shutil.get_terminal_size().columns - 1]
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
            output = raw(stream)
            output.write(data)
            output.flush()
        except OSError:
            # Whoever read this left, the terminal or the disk is gone; the measurement goes on.
            self._gone.add(stream)
