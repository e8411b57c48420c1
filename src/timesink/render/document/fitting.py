"""Documents that must not become too large: tables lose rows, very long names their middle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from timesink.render.document.blocks import (
    Block,
    Column,
    Document,
    Numbers,
    Picture,
    Section,
    Table,
    Words,
)
from timesink.render.document.columns import words
from timesink.render.document.encoding import in_script, to_json
from timesink.render.told_apart import cut_middle

_ROWS = (1000, 500, 250, 120, 60, 30, 15)
"""Rows of the longest tables, tried in this order."""
_LETTERS = 2000
"""Of texts that are longer, nobody reads the middle."""
_FEW_LETTERS = (500, 100)
"""Letters of the longest texts where few rows do not help, tried in this order."""


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

    Very long names lose their middle, which is seen in them.

    >>> import timesink
    >>> from timesink.render.document.analysis import analysis_document
    >>> document = analysis_document(timesink.analyze(timesink.sample()), page="operators")
    >>> small = fitted(document, 10_000).document.sections[0].blocks[0]
    >>> small.rows < small.total_rows
    True
    """
    found = _fitted(document)
    for shorter in _ever_shorter(document):
        if found.size <= most_bytes:
            break
        found = _fitted(shorter)
    return found


def _fitted(document: Document) -> Fitted:
    return Fitted(document, in_script(to_json(document)))


def _ever_shorter(document: Document) -> Iterator[Document]:
    shorter: Document = _with_texts_cut(document, _LETTERS)
    for rows in _ROWS:
        shorter = replace(shorter, sections=tuple(_section(s, rows) for s in shorter.sections))
        yield shorter
    for letters in _FEW_LETTERS:
        yield _with_texts_cut(shorter, letters)


# -- fewer rows ------------------------------------------------------------------------------------


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


# -- shorter texts ---------------------------------------------------------------------------------


def _with_texts_cut(value: Any, letters: int) -> Any:
    """A block, or what it holds, in which no text is longer; drawings stay whole."""
    if isinstance(value, str):
        return cut_middle(value, letters)
    if isinstance(value, tuple):
        return tuple(_with_texts_cut(one, letters) for one in value)
    if isinstance(value, Struct) and not isinstance(value, Numbers | Picture):
        return type(value)(
            **{name: _with_texts_cut(one, letters) for name, one in asdict(value).items()}
        )
    return value
