"""Files of the kernel that are read again and again."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

_MOST_BYTES = 1 << 20
_FIRST_BYTES = 4096
_PIECE_BYTES = 1 << 16


class KeptFile:
    """A file that stays open: opening it anew takes longer than reading it.

    >>> KeptFile(Path("/dev/null")).read()
    ''
    """

    def __init__(self, path: Path | str) -> None:
        self._path = os.fspath(path)
        self._file = os.open(self._path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        self._size = _FIRST_BYTES

    def read(self) -> str:
        """What it says now."""
        content = os.pread(self._file, self._size, 0)
        # What fills the room may go on: read it again at once, and not in pieces of two moments.
        while len(content) == self._size < _MOST_BYTES:
            self._size *= 4
            content = os.pread(self._file, self._size, 0)
        return content.decode("utf-8", "replace")

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        # Bound early: at the end of a program modules may be gone before their objects are.
        if hasattr(self, "_file"):
            close(self._file)


def read_text(path: Path | str) -> str:
    """A file that is read now and then; a third of the time that `Path.read_text` takes."""
    file = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    try:
        content = b""
        while piece := os.read(file, _PIECE_BYTES):
            content += piece
    finally:
        os.close(file)
    return content.decode("utf-8", "replace")


def try_text(path: Path | str) -> str | None:
    """A file that need not be there."""
    try:
        return read_text(path)
    except OSError:
        return None
