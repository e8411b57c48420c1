"""The file counters are written to: whole lines at any moment."""

from __future__ import annotations

import errno
import os
import threading
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from timesink.errors import OutputError
from timesink.recorder.counter_probes import Sample

HEADER = b"timestamp_us,counter,device,value\n"
_MARK_EVERY_US = 250_000
_EARLIER_US = 1_000_000
"""Rows so much older than asked are kept: what a counter read before is needed in between."""
_DISORDER_US = 2_000_000
"""Lines of different threads may be so much out of order."""


class Rows:
    """Lines of samples; written to from several threads.

    Lines of one moment are handed over in one piece, so that a program that is killed leaves none
    that is cut off.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._many: Counter[tuple[str, str]] = Counter()
        self._noted: set[tuple[str, str]] = set()
        self._marks_us: list[int] = []
        self._marks_at: list[int] = []
        try:
            self._file = _opened(path)
            os.write(self._file, HEADER)
        except OSError as error:
            raise OutputError.unwritable(path, error.strerror or str(error)) from error
        self._end = len(HEADER)
        self._closed = False

    @property
    def counters(self) -> tuple[str, ...]:
        """Names of all that is in the file."""
        return tuple(sorted({counter for counter, _ in self._many}))

    @property
    def moments(self) -> int:
        """How often the counter was read that was read most.

        What a driver notes down by itself says nothing about that, unless there is nothing else.
        """
        read = [many for what, many in self._many.items() if what not in self._noted]
        return max(read or self._many.values(), default=0)

    def write(self, ts_us: int, samples: Iterable[Sample]) -> None:
        """Add what was read at a moment; OSError where it cannot be written."""
        found = list(samples)
        text = "".join(
            f"{ts_us if at_us is None else at_us},{counter},{device},{_number(value)}\n"
            for counter, device, value, at_us in found
        ).encode()
        with self._lock:
            if self._closed:
                # A thread that was waited for in vain: its file may be somebody else's by now.
                return
            if not self._marks_us or ts_us >= self._marks_us[-1] + _MARK_EVERY_US:
                self._marks_us.append(ts_us)
                self._marks_at.append(self._end)
            try:
                written = os.write(self._file, text)
            except OSError:
                os.ftruncate(self._file, self._end)
                raise
            if written < len(text):
                # A full disk takes part of it: rather none than half a line.
                os.ftruncate(self._file, self._end)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fspath(self._path))
            self._end += written
            self._many.update((sample.counter, sample.device) for sample in found)
            self._noted.update(
                (sample.counter, sample.device) for sample in found if sample.at_us is not None
            )

    def keep_from(self, ts_us: int) -> None:
        """Drop rows of more than a second before a moment."""
        first_us = ts_us - _EARLIER_US
        with self._lock:
            if self._closed:
                return
            place = bisect_right(self._marks_us, first_us - _DISORDER_US) - 1
            begin = self._marks_at[place] if place >= 0 else len(HEADER)
            tail = os.pread(self._file, self._end - begin, begin)
            kept = [
                line
                for line in tail.splitlines(keepends=True)
                if int(line.partition(b",")[0]) >= first_us
            ]
            self._replace(b"".join(kept), first_us)
            cells = (line.decode().split(",") for line in kept)
            self._many = Counter((counter, device) for _, counter, device, _ in cells)

    def _replace(self, kept: bytes, first_us: int) -> None:
        beside = self._path.with_name(f".{self._path.name}.new")
        file = _opened(beside)
        try:
            view = memoryview(HEADER + kept)
            while view:
                view = view[os.write(file, view) :]
            beside.replace(self._path)
        except OSError:
            os.close(file)
            beside.unlink(missing_ok=True)
            raise
        os.close(self._file)
        self._file, self._end = file, len(HEADER) + len(kept)
        self._marks_us, self._marks_at = [first_us], [len(HEADER)]

    def close(self) -> None:
        """No more lines."""
        with self._lock:
            if not self._closed:
                self._closed = True
                os.close(self._file)


def _opened(path: Path) -> int:
    # Never through a link: what it leads to is somebody else's.
    path.unlink(missing_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
    return os.open(path, flags, 0o666)


def _number(value: float) -> str:
    """A value without digits that say nothing."""
    whole = int(value)
    return str(whole) if whole == value else f"{value:.7g}"
