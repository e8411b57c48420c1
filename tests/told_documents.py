"""What a document says, for tests to look at."""

from __future__ import annotations

from typing import Any, TypeVar

from timesink.output.blocks import Column, Document, Numbers, Section, Table

T = TypeVar("T")


def section(document: Document, name: str) -> Section:
    return next(section for section in document.sections if section.id == name)


def blocks(document: Document, kind: type[T], name: str | None = None) -> list[T]:
    """Blocks of a kind, of one section or of all."""
    sections = document.sections if name is None else (section(document, name),)
    return [block for section in sections for block in section.blocks if isinstance(block, kind)]


def table(document: Document, name: str) -> Table:
    return next(block for block in blocks(document, Table) if block.id == name)


def rows(table: Table, *keys: str) -> list[tuple[Any, ...]]:
    """Cells of some columns, row by row."""
    columns = {column.key: column for column in table.columns}
    return list(zip(*(cells(columns[key]) for key in keys), strict=True))


def cells(column: Column) -> list[Any]:
    data = column.data
    if isinstance(data, Numbers):
        return list(data.values)
    return [None if code < 0 else data.texts[code] for code in data.codes]
