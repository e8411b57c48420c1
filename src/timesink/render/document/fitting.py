"""Documents that must not become too large: tables lose their last rows, and say so."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from timesink.render.document.blocks import Block, Column, Document, Numbers, Section, Table, Words
from timesink.render.document.columns import words
from timesink.render.document.encoding import in_script, to_json

_ROWS = (1000, 500, 250, 120, 60, 30, 15)
"""Rows of the longest tables, tried in this order."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A document and its JSON, which may stand in a script element."""

    document: Document
    json: str

    @property
    def size(self) -> int:
        """In bytes, as a file has it: escaped brackets of kernel names take room."""
        return len(self.json.encode())


def fitted(document: Document, most_bytes: int) -> Fitted:
    """The document with as many rows per table as there is room for; few are always shown.

    >>> import timesink
    >>> from timesink.render.document.analysis import analysis_document
    >>> document = analysis_document(timesink.analyze(timesink.sample()), page="operators")
    >>> small = fitted(document, 10_000).document.sections[0].blocks[0]
    >>> small.rows < small.total_rows
    True
    """
    found = Fitted(document, in_script(to_json(document)))
    for rows in _ROWS:
        if found.size <= most_bytes:
            break
        shorter = replace(document, sections=tuple(_section(s, rows) for s in document.sections))
        found = Fitted(shorter, in_script(to_json(shorter)))
    return found


def _section(section: Section, rows: int) -> Section:
    return replace(section, blocks=tuple(_block(block, rows) for block in section.blocks))


def _block(block: Block, rows: int) -> Block:
    if not isinstance(block, Table) or block.rows <= rows:
        return block
    columns = tuple(_column(column, rows) for column in block.columns)
    return replace(block, columns=columns, rows=rows)


def _column(column: Column, rows: int) -> Column:
    data = column.data
    if isinstance(data, Numbers):
        return replace(column, data=Numbers(data.values[:rows]))
    return replace(column, data=_first_words(data, rows))


def _first_words(data: Words, rows: int) -> Words:
    return words(None if code < 0 else data.texts[code] for code in data.codes[:rows])
