"""The header of a CSV page, and its rows parsed by the names of their columns."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property

import polars as pl

from timesink.readers.ncu.lines import count_lines

_PLACE_COLUMNS = {
    "id": "launch_id",
    "process id": "pid",
    "process name": "process",
    "host name": "host",
    "kernel name": "name",
    "context": "context",
    "stream": "stream",
    "block size": "block",
    "grid size": "grid",
    "device": "device",
    "cc": "compute_capability",
}
_LAST_OF_DETAILS = "Metric Value"
_FIELD = rb'(?:"(?:[^"]|"")*"|[^"%s]*)'
"""A field with its quotes, or one without any; the place is that of the separator."""


class BadRowsError(Exception):
    """Rows that are not all rows of the table, or not all whole."""


@dataclass(frozen=True)
class CsvTable:
    """One table of a file: what its header says."""

    columns: tuple[str, ...]
    separator: str = ","
    is_quoted: bool = True
    units: dict[str, str] = field(default_factory=dict)
    """By metric, on the raw page."""

    @classmethod
    def from_header(cls, line: bytes) -> CsvTable:
        """The table a header line announces."""
        quoted = line.startswith(b'"')
        separator = chr(line[len(b'"ID"') if quoted else len(b"ID")])
        return cls(_unlike(_fields(line, separator)), separator, quoted)

    def with_units(self, line: bytes) -> CsvTable:
        """The table with the units of its second row."""
        units = dict(zip(self.columns, _fields(line, self.separator), strict=False))
        return CsvTable(self.columns, self.separator, self.is_quoted, units)

    @cached_property
    def is_details(self) -> bool:
        """Whether every row holds one metric; on the raw page every row holds all."""
        return {"Metric Name", _LAST_OF_DETAILS} <= set(self.columns)

    @cached_property
    def place(self) -> dict[str, str]:
        """Columns that say which launch it is, and what they are called here."""
        return {
            column: _PLACE_COLUMNS[column.lower()]
            for column in self.columns
            if column.lower() in _PLACE_COLUMNS
        }

    @cached_property
    def _row_start(self) -> re.Pattern[bytes]:
        separator = re.escape(self.separator.encode())
        return re.compile((rb'"\d+"' if self.is_quoted else rb"\d+") + separator)

    @cached_property
    def _whole_row(self) -> re.Pattern[bytes]:
        separator = re.escape(self.separator.encode())
        field = _FIELD % separator
        return re.compile(rb"%s(?:%s%s)*" % (field, separator, field))

    def is_row(self, line: bytes) -> bool:
        """Whether a line begins as a row does."""
        return self._row_start.match(line) is not None

    def is_whole(self, line: bytes) -> bool:
        """Whether a row has all its fields, and its quotes fit."""
        if self._whole_row.fullmatch(line) is None:
            return False
        last = self.columns.index(_LAST_OF_DETAILS) if self.is_details else len(self.columns) - 1
        return len(_fields(line, self.separator)) > last

    def _is_text(self, line: bytes) -> bool:
        if line.isascii():
            return True
        try:
            line.decode()
        except UnicodeDecodeError:
            return False
        return self.is_whole(line)

    def row_inside(self, line: bytes) -> int:
        """Where a whole row begins behind other text on its line; -1 if there is none."""
        found = self._row_start.search(line) if self.is_quoted else None
        return found.start() if found and self.is_whole(line[found.start() :]) else -1

    def parse(
        self, rows: bytes, wanted: Mapping[str, str], *, texts: AbstractSet[str]
    ) -> pl.DataFrame:
        """The wanted columns under their new names; those of `texts` as plain text.

        Raises BadRowsError when a line among the rows is none.
        """
        if not rows.isascii() and not all(self._is_text(line) for line in rows.split(b"\n")):
            # The parser may cut a character in two where quotes do not fit.
            raise BadRowsError
        places = {self.columns.index(column): name for column, name in wanted.items()}
        schema = {
            f"column_{place}": _dtype(places.get(place), texts)
            for place in range(len(self.columns))
        }
        # A header of our own: without one the first row would say how many columns there are.
        header = self.separator.join(schema).encode() + b"\n"
        try:
            frame = pl.read_csv(
                header + rows,
                separator=self.separator,
                columns=sorted(places),
                schema=schema,
                truncate_ragged_lines=True,
            )
        except pl.exceptions.PolarsError as error:
            raise BadRowsError from error
        if frame.height != count_lines(rows):
            raise BadRowsError
        named = frame.rename({f"column_{place}": name for place, name in places.items()})
        if named["launch_id"].null_count():
            raise BadRowsError
        return named


def _unlike(names: list[str]) -> tuple[str, ...]:
    """The names; one that comes again, in whatever letters, is told from the first."""
    seen: set[str] = set()
    unlike = []
    for place, name in enumerate(names):
        unlike.append(f"{name} [{place}]" if name.lower() in seen else name)
        seen.add(name.lower())
    return tuple(unlike)


def _dtype(name: str | None, texts: AbstractSet[str]) -> pl.DataType:
    if name == "launch_id":
        return pl.Int64()
    return pl.String() if name is None or name in texts else pl.Categorical()


def _fields(line: bytes, separator: str) -> list[str]:
    text = line.decode("utf-8", "replace").replace("\r", " ").replace("\0", " ")
    return next(csv.reader([text], delimiter=separator), [])
