"""Text for a terminal, and for files and pipes, where colours and padding are in the way."""

from __future__ import annotations

import shutil
import sys
from io import StringIO

from rich.console import Console, RenderableType
from rich.text import Text

_NARROWEST = 60


def terminal_width() -> int:
    return max(shutil.get_terminal_size((100, 24)).columns, _NARROWEST)


def printable(value: str) -> str:
    r"""Text with control characters written out, so that it stays on its line.

    >>> print(printable("\x1b[31mred"))
    \x1b[31mred
    """
    if value.isprintable():
        return value
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in value)


def text(value: str, style: str = "") -> Text:
    """Text from a trace: brackets and colons in it mean nothing."""
    return Text(printable(value), style)


def to_plain(content: RenderableType, width: int) -> str:
    """Lines without escapes and without trailing spaces."""
    out = StringIO()
    # Neither numbers to be coloured nor names of pictures are looked for in the text.
    console = Console(
        file=out,
        width=width,
        color_system=None,
        force_terminal=False,
        highlight=False,
        emoji=False,
    )
    console.print(content)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def show(content: RenderableType, width: int) -> None:
    """Print: in colour on a terminal, plain elsewhere."""
    if sys.stdout.isatty():
        Console(width=width).print(content)
    else:
        sys.stdout.write(to_plain(content, width) + "\n")
