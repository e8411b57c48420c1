"""Nsight Compute writes among the output of the program it runs; this takes the two apart.

Its own lines start with ``==PROF==``, ``==WARNING==`` or ``==ERROR==``, and may start in the
middle of a line the program has not finished.  Everything else belongs to the program and is
passed on at once, unfinished lines and carriage returns included.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

Origin = Literal["program", "profiler", "table"]

_MARKS = (b"==PROF== ", b"==WARNING== ", b"==ERROR== ", b"==LOG== ")
_TABLE_HEAD = b'"ID","Process ID",'
"""How the table starts that is printed where no report is written."""

_ROW_START = b'"'

_OTHERS = re.compile(
    rb"(?P<profiler>==(?:PROF|WARNING|ERROR|LOG)== [^\n]*\n)"
    rb'|^(?P<head>"ID","Process ID",[^\n]*\n)'
    rb'|^(?P<row>"\d*","\d*",[^\n]*\n)'
    rb"|^(?P<rest>\.{4}(?:50%\.{4})?100% - \d+ pass(?:es)?\n)",
    re.MULTILINE,
)
_INTERRUPTED = re.compile(
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
        for found in _OTHERS.finditer(text, place):
            pieces = list(self._pieces(found))
            if not pieces:
                continue
            if found.start() > place:
                yield "program", text[place : found.start()]
            yield from pieces
            place = found.end()
        passed = max(place, self._undecided(text, place))
        if passed > place:
            yield "program", text[place:passed]
        self._before, self._held = text[passed - 1 : passed], text[passed:]

    def _pieces(self, found: re.Match[bytes]) -> Iterator[tuple[Origin, bytes]]:
        """A complete line that is not the program's; nothing when it is after all."""
        if found["profiler"]:
            interrupted = _INTERRUPTED.fullmatch(found["profiler"])
            self._kernel_under_way = interrupted is not None
            if interrupted is None:
                yield "profiler", found["profiler"]
            else:
                yield "profiler", interrupted[1] + b"\n"
                own = interrupted[2].startswith(_MARKS)
                yield "profiler" if own else "program", interrupted[2]
        elif found["head"]:
            self._in_table = True
            yield "table", found["head"]
        elif found["row"] and self._in_table:
            yield "table", found["row"]
        elif found["rest"] and self._kernel_under_way:
            self._kernel_under_way = False
            yield "profiler", found["rest"]

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
