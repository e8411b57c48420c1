"""Lines of text with styles, and tables of them, before anybody lays them out.

Rich colours them on a terminal.  Elsewhere they are letters, mostly such that no line is too long:
then nothing but this is loaded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from timesink.output.names import cell_len, is_narrow

GAP = 2
"""Blanks between columns."""


class TextLine:
    """A line in parts, each with a style; the style of the first is under all of them.

    >>> TextLine("slow", "bold").append(" step").plain
    'slow step'
    """

    def __init__(self, text: str = "", style: str = "", *, is_folded: bool = True) -> None:
        self.parts = [(text, style)]
        self.is_folded = is_folded
        """Whether it goes on in the next line where it is too long."""

    @property
    def plain(self) -> str:
        """Its letters."""
        return "".join(text for text, _ in self.parts)

    def append(self, text: str, style: str = "") -> TextLine:
        """The line with one more part."""
        self.parts.append((text, style))
        return self

    def rstrip(self) -> None:
        """Take the blanks from its end."""
        while self.parts:
            text, style = self.parts.pop()
            if text := text.rstrip():
                self.parts.append((text, style))
                return
        self.parts.append(("", ""))

    def to_plain(self, width: int) -> list[str] | None:
        """Its letters as a line of at most this width; None where it is longer."""
        plain = self.plain
        return [plain] if not self.is_folded or cell_len(plain) <= width else None


class Grid(NamedTuple):
    """Cells under titles, in columns of given widths; what is longer is cut."""

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Sequence[bool]
    """Which columns stand to the right."""
    widths: Sequence[int]

    def to_plain(self, width: int) -> list[str] | None:
        """Its lines; None where letters are wide."""
        del width  # its columns are as wide as there is room
        if not all(map(is_narrow, (*self.titles, *(cell for row in self.rows for cell in row)))):
            return None
        return list(map(self._line, (self.titles, *self.rows)))

    def _line(self, row: Sequence[str]) -> str:
        return (" " * GAP).join(
            cell.rjust(size) if to_right else cell.ljust(size)
            for cell, size, to_right in zip(self._cut(row), self.widths, self.right, strict=True)
        )

    def _cut(self, row: Sequence[str]) -> Iterator[str]:
        for cell, size in zip(row, self.widths, strict=True):
            yield cell if len(cell) <= size else f"{cell[: size - 1]}…"


class LabelGrid(NamedTuple):
    """Labels, and beside them what goes on below itself where it is too long."""

    rows: Sequence[tuple[str, str]]
    is_record: bool = False
    """Whether it is a row of a table, and a blank line comes after it."""

    def to_plain(self, width: int) -> list[str] | None:
        """Its lines; None where one is longer than this width."""
        room = max((cell_len(label) for label, _ in self.rows), default=0) + GAP
        if any(room + cell_len(value) > width for _, value in self.rows):
            return None
        lines = [f"{label}{' ' * (room - cell_len(label))}{value}" for label, value in self.rows]
        return [*lines, ""] if self.is_record else lines


Item: TypeAlias = TextLine | Grid | LabelGrid
