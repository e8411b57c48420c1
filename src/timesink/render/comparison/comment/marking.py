"""Markdown of a comment: sentences, tables and what is folded away until it is opened."""

from __future__ import annotations

import re
from collections.abc import Sequence

from timesink.output.names import in_line
from timesink.output.tables import markdown_table
from timesink.render.comparison.words import short_names
from timesink.render.fitting import shortened
from timesink.render.shown import Shown
from timesink.reports.comparison.answer import brief

_LONGEST_SENTENCE = 600
_LONGEST_CELL = 80
_CODE = re.compile(r"((?<!`)`(?!`)[^`]+(?<!`)`(?!`))")
_WIDE = re.compile(" {2,}")
"""Around commands, where there are no marks to set them off."""
_REFERS = re.compile(r"(?<!\w)@(?=\w)|#(?=\d)")
"""What a forge takes for a person to call, or for another issue to link."""
_MARKS = re.compile(r"\*|~|(?<![^\W_])_|_(?![^\W_])")
"""What begins or ends bold, slanted or struck out words: patterns and names hold these as well."""


def said(sentence: str) -> str:
    r"""A sentence that calls nobody, links nothing and has no markup, whatever names it holds.

    >>> said("@main is as `@before`, {lambda#1}")
    '@<!-- -->main is as `@before`, {lambda#<!-- -->1}'
    >>> print(said("save one with  timesink baseline save"))
    save one with timesink baseline save
    >>> print(said('operators "*attn*", aten::__and__, my_op'))
    operators "\*attn\*", aten::\_\_and\_\_, my_op
    """
    short = in_line(shortened(short_names(sentence), _LONGEST_SENTENCE))
    parts = _CODE.split(short)
    return "".join(
        part if odd % 2 else _WIDE.sub(" ", _plain(part)) for odd, part in enumerate(parts)
    )


def named(names: str) -> str:
    r"""Names of files and processes, in which a backtick begins no code.

    >>> print(named("a`b vs c`d"))
    a\`b vs c\`d
    """
    return r"\`".join(map(said, names.split("`")))


def _plain(text: str) -> str:
    return _REFERS.sub(r"\g<0><!-- -->", _MARKS.sub(r"\\\g<0>", text))


def folded(title: str, lines: Sequence[str]) -> tuple[str, ...]:
    """Lines that show when the title is opened.

    >>> folded("Parts", ["- one"])
    ('<details><summary>Parts</summary>', '', '- one', '', '</details>')
    """
    return (f"<details><summary>{said(title)}</summary>", "", *lines, "", "</details>")


def table_lines(table: Shown, most: int) -> list[str]:
    """The first rows of a table, with names that leave room for the others."""
    rows = [
        [
            cell if numeric else brief(cell, _LONGEST_CELL)
            for cell, numeric in zip(row, table.numeric, strict=True)
        ]
        for row in table.rows[:most]
    ]
    return _plain(markdown_table(table.columns, rows, table.numeric)).splitlines()
