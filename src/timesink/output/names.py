"""Names from recordings: visible, never taken for markup, short, and distinguished."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from html import escape
from itertools import count

from timesink.patterns import regex

NO_NAME = "(no name)"
"""In the place of a name that is empty."""
_TYPES = regex(
    r"auto|bool|char|const|double|false|float|half|u?int(?:8_t|16_t|32_t|64_t)?|long|short|signed"
    r"|size_t|true|unsigned|void"
)
"""Template arguments that look like tags and are none."""
_TAG = regex(r"<(?=[/!?]|([A-Za-z][A-Za-z0-9+.-]*)(?:(?=[\s/>]|$)|:(?!:))([^<>]*))")
"""What may be a tag, a comment, or an address that browsers follow."""
_SPAN = regex(r"((?<!`)`(?!`)[^`]+(?<!`)`(?!`))")
LONGEST_NAME = 80
"""Characters of a name in a sentence."""
_LONG_NAME = regex(
    rf"`([^`]{{{LONGEST_NAME + 1},}})`"
    rf"|(\S{{{2 * LONGEST_NAME},}}|(?<![\w./-])\w{{{LONGEST_NAME + 1},}}(?![\w/-]|\.\w))"
)
"""Names of this length, and parts of no path; paths only where they are twice as long."""
_HEAD = 7
"""Characters of the beginning that stay where names are distinguished by what follows."""
_WORD_START = regex(r"[A-Za-z0-9.]+$")


def printable(value: str) -> str:
    """Text with control characters written out, so that it stays on its line."""
    if value.isprintable():
        return value
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in value)


# -- in Markdown and HTML --------------------------------------------------------------------------


def in_html(value: str) -> str:
    """Text of a page: nothing in it is markup, and every character can be seen."""
    return escape(printable(value))


def in_cell(value: str) -> str:
    """Text of a table cell that ends neither the cell nor the line, and opens no tag."""
    return _without_markup(printable(value).replace("<", "&lt;")).replace("|", "\\|")


def in_published_cell(value: str) -> str:
    """The same with template arguments as they are: others compare these cells with theirs."""
    return _without_markup(_TAG.sub(_escape_bracket, printable(value))).replace("|", "\\|")


def in_line(value: str) -> str:
    """A sentence in which names may be in code spans, which stay."""
    parts = _SPAN.split(printable(value))
    return "".join(
        part if odd % 2 else _without_markup(part.replace("<", "&lt;"))
        for odd, part in enumerate(parts)
    )


def as_code(name: str) -> str:
    """A name as a code span, whatever it holds."""
    text = printable(name)
    if "`" not in text:
        return f"`{text}`"
    fence = "`" * (max(map(len, re.findall("`+", text))) + 1)
    return f"{fence} {text} {fence}"


def _without_markup(value: str) -> str:
    return value.replace("`", "\\`").replace("](", "]\\(")


def _escape_bracket(match: re.Match[str]) -> str:
    name, rest = match[1], match[2] or ""
    return "<" if name and _TYPES.fullmatch(name) and "=" not in rest else "&lt;"


# -- short, and told apart -------------------------------------------------------------------------


def told_apart(names: Sequence[str], mark: str = " #") -> list[str]:
    """Names none of which is another's: a second gets ` #2`, or another mark."""
    seen: Counter[str] = Counter()
    taken = set(names)
    apart = []
    for name in names:
        seen[name] += 1
        unique = name
        while seen[name] > 1 and (unique == name or unique in taken):
            unique = f"{name}{mark}{seen[name]}" if unique == name else f"{unique}_"
        taken.add(unique)
        apart.append(unique)
    return apart


def cut_apart(names: Sequence[str], room: int, *, middle: bool = False) -> dict[str, str]:
    """Names cut to the room, so that no two of them look the same.

    The end goes where that is enough and not `middle`, else the middle, else what several names
    have in common.
    """
    first = cut_middle if middle else cut_end
    cut = {name: first(name, room) for name in dict.fromkeys(names)}
    marks = count(1)
    for shortened in (_without_middle, _without_common, partial(_number_names, marks=marks)):
        looks: defaultdict[str, list[str]] = defaultdict(list)
        for name, look in cut.items():
            looks[look].append(name)
        for clashes in looks.values():
            cut.update(shortened(clashes, room) if len(clashes) > 1 else {})
    return cut


_NARROW = regex(
    "[ -~\u00a0-\u00ac\u00ae-\u02ff\u0370-\u0482\u2010-\u2015\u2026\u2190-\u2193\u2500-\u25fc]*"
)
"""Letters that take one cell of a terminal: most, and fewer than there are."""


def is_narrow(text: str) -> bool:
    """Whether each letter surely takes one cell of a terminal."""
    return (text.isascii() and text.isprintable()) or _NARROW.fullmatch(text) is not None


def cell_len(text: str) -> int:
    """How many cells of a terminal a text takes.

    >>> cell_len("step"), cell_len("歩")
    (4, 2)
    """
    if is_narrow(text):
        return len(text)
    from rich import cells  # noqa: PLC0415 - errors are told where it is not installed

    return cells.cell_len(text)


def cut_end(name: str, room: int) -> str:
    """A name without its end, where it is too long."""
    return name if cell_len(name) <= room else f"{name[: room - 1]}…"


def cut_middle(name: str, room: int = 40) -> str:
    """A name without its middle, where it is too long: by default for a sentence."""
    if cell_len(name) <= room:
        return name
    tail = room // 2
    return f"{name[: room - 1 - tail]}…{name[-tail:]}"


def _without_middle(names: Sequence[str], room: int) -> dict[str, str]:
    return {name: cut_middle(name, room) for name in names}


def _without_common(names: Sequence[str], room: int) -> dict[str, str]:
    """The beginning, and then from the word on in which the names begin to differ."""
    common = _WORD_START.sub("", os.path.commonprefix(names))  # noqa: RUF071 - by letter
    head = min(_HEAD, room // 3)
    if len(common) <= head:
        return {name: cut_end(name, room) for name in names}
    return {name: cut_end(f"{name[: head - 1]}…{name[len(common) :]}", room) for name in names}


def _number_names(names: Sequence[str], room: int, marks: Iterator[int]) -> dict[str, str]:
    """Numbers of their own: the beginnings of two groups of names may be the same as well."""
    numbered = ((name, f" #{number}") for name, number in zip(names, marks, strict=False))
    return {name: cut_end(name, room - len(mark)) + mark for name, mark in numbered}


def end_of_path(path: str, room: int) -> str:
    """A dotted path without as many of its first parts as it takes to fit."""
    end, cut = path, False
    while cell_len(end) + 2 * cut > room and "." in end:
        end, cut = end.partition(".")[2], True
    return f"….{end}" if cut else end


def short_names(line: str) -> str:
    """A sentence in which no name is longer than a line."""

    def shortened(match: re.Match[str]) -> str:
        cut = cut_middle(match[1] or match[2], LONGEST_NAME)
        return cut if match[1] is None else f"`{cut}`"

    return _LONG_NAME.sub(shortened, line)
