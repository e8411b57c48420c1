"""Command lines that can be copied from a log, whatever its width."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from rich.cells import cell_len

_GOES_ON = "\\"
_INDENT = "  "


def command_lines(words: Sequence[str], width: int) -> list[str]:
    r"""A command line over as many lines as it needs; a shell reads them as one.

    A word that is longer than a line goes on at the very start of the next one.  There is no line
    where a word holds what a terminal does not show.

    >>> print(*command_lines(["timesink", "compare", "a b", "--fail-on", "5%"], 24), sep="\n")
      timesink compare \
      'a b' --fail-on 5%
    >>> print(*command_lines(["cat", "x" * 30], 24), sep="\n")
      cat \
      xxxxxxxxxxxxxxxxxxxxx\
    xxxxxxxxx
    """
    if not all(word.isprintable() for word in words):
        return []
    lines = [""]
    for word in words:
        first, *more = _pieces(word, width)
        if lines[-1] and cell_len(f"{lines[-1]} {first} {_GOES_ON}") > width:
            lines[-1] = f"{lines[-1]} {_GOES_ON}"
            lines.append("")
        lines[-1] = f"{lines[-1]} {first}" if lines[-1] else f"{_INDENT}{first}"
        for piece in more:
            lines[-1] += _GOES_ON
            lines.append(piece)
    return lines


def _pieces(word: str, width: int) -> list[str]:
    """A word quoted for a shell, in pieces that fit a line each."""
    room = width - len(_INDENT) - len(_GOES_ON)
    if cell_len(shlex.quote(word)) <= room:
        return [shlex.quote(word)]
    return list(_cut(word, room))


def _cut(word: str, room: int) -> Iterator[str]:
    rest = word
    while rest:
        size = min(len(rest), room)
        while cell_len(shlex.quote(rest[:size])) > room and size > 1:
            size -= 1
        yield shlex.quote(rest[:size])
        rest = rest[size:]
