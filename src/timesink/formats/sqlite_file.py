"""Read-only access to an SQLite file of a profiler: its tables, and their rows as frames."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec
import polars as pl

from timesink.errors import UnreadableError
from timesink.formats.source_file import Damage, SourceFile

ROWS_AT_ONCE = 100_000

INTEGER = pl.Int64()
REAL = pl.Float64()
TEXT = pl.String()

_SEPARATOR = "\x1f"

# SQLite checks no types: any column may hold any value, so each is made what the model expects.
_AS_TYPE = {
    INTEGER: "CASE WHEN typeof({0}) IN ('integer', 'real') THEN CAST({0} AS INTEGER) END",
    REAL: "CASE WHEN typeof({0}) IN ('integer', 'real') THEN CAST({0} AS REAL) END",
    TEXT: "CAST({0} AS TEXT)",
}


class Database(msgspec.Struct, frozen=True):
    """An open file."""

    connection: sqlite3.Connection
    columns: Mapping[str, tuple[str, ...]]
    """Columns of every table."""

    def rows(self, table: str, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
        """The wanted columns in the order recorded; null where the file has no such column."""
        present = [name for name in schema if name in self.columns.get(table, ())]
        dtypes = {name: schema[name] for name in present}
        parts = [pl.DataFrame(schema=dtypes)]
        if dtypes:
            # What holds texts is read row by row, numbers faster.
            read = self._read_rows if TEXT in dtypes.values() else self._read_numbers
            parts += read(table, dtypes)
        return pl.concat(parts).select(
            pl.col(name) if name in present else pl.lit(None, dtype=dtype).alias(name)
            for name, dtype in schema.items()
        )

    # Names in the queries come from the file's own catalogue and the reader's constants.

    def _read_rows(self, table: str, schema: dict[str, pl.DataType]) -> Iterator[pl.DataFrame]:
        typed = [_AS_TYPE[dtype].format(f'"{name}"') for name, dtype in schema.items()]
        cursor = self.connection.execute(f'SELECT {", ".join(typed)} FROM "{table}"')  # noqa: S608
        while rows := cursor.fetchmany(ROWS_AT_ONCE):
            yield pl.DataFrame(rows, schema=schema, orient="row")

    def _read_numbers(self, table: str, schema: dict[str, pl.DataType]) -> Iterator[pl.DataFrame]:
        # SQLite joins each column to one text and Polars splits it: without a Python object per
        # value this takes a third of the time of rows.
        names = [f'"{name}"' for name in schema]
        some = f'SELECT rowid, {", ".join(names)} FROM "{table}"'  # noqa: S608
        some += " WHERE rowid > ? ORDER BY rowid LIMIT ?"
        joined = ", ".join(f"group_concat(coalesce({name}, ''), '{_SEPARATOR}')" for name in names)
        query = f"SELECT max(rowid), {joined} FROM ({some})"  # noqa: S608
        last = -(2**63)
        while True:
            before = last
            last, *texts = self.connection.execute(query, (last, ROWS_AT_ONCE)).fetchone()
            if last is None:
                return
            if not isinstance(last, int) or last <= before:
                raise sqlite3.DataError("its pages lead in a circle")
            columns = {
                name: pl.Series([text]).str.split(_SEPARATOR).explode()
                for name, text in zip(schema, texts, strict=True)
            }
            if len({len(column) for column in columns.values()}) != 1:
                raise sqlite3.DataError("a column of numbers holds other data")
            yield pl.DataFrame(columns).select(
                pl.col(name).cast(dtype, strict=False) for name, dtype in schema.items()
            )

    def count(self, table: str) -> int:
        (count,) = self.connection.execute(f'SELECT count(*) FROM "{table}"').fetchone()  # noqa: S608
        return int(count)

    def pairs(self, table: str) -> dict[str, str]:
        """A table of `name` and `value` as a dictionary; empty when there is no such table."""
        frame = self.rows(table, {"name": TEXT, "value": TEXT}).drop_nulls()
        return dict(frame.iter_rows())


@contextmanager
def open_database(
    source: SourceFile, damage: Damage, hint: str = "copy the file again, or record again"
) -> Iterator[Database]:
    """Open a file without ever writing to it, unpacking it aside when it is packed."""
    with source.plain_file("export.sqlite", damage) as path:
        address = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
        try:
            with closing(sqlite3.connect(address, uri=True)) as connection:
                connection.text_factory = lambda text: text.decode("utf-8", "replace")
                _limit_work(connection, path)
                _check_length(connection, path)
                yield Database(connection, _columns_of(connection))
        # A damaged schema is quoted in SQLite's message, as bytes that may be no text.
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            reason = "; ".join([" ".join(str(error).split()), *damage])
            raise UnreadableError.damaged(source.path, reason, hint) from None


def _limit_work(connection: sqlite3.Connection, path: Path) -> None:
    """End a query of a file whose pages lead in a circle: SQLite itself would follow them."""
    left = (_STEPS + _STEPS_PER_BYTE * path.stat().st_size) // _STEPS_AT_ONCE

    def is_over() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    connection.set_progress_handler(is_over, _STEPS_AT_ONCE)


_STEPS, _STEPS_PER_BYTE, _STEPS_AT_ONCE = 200_000_000, 500, 1_000_000
"""Instructions of SQLite: a value takes some dozens, and some bytes of a file."""


def _check_length(connection: sqlite3.Connection, path: Path) -> None:
    # SQLite itself reads a last page that is cut as if it were filled with zeros.
    ((pages,), (page_size,)) = (
        connection.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size")
    )
    if path.stat().st_size < pages * page_size:
        raise sqlite3.DatabaseError("the file ends early")


def _columns_of(connection: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    return {
        str(table): tuple(
            str(column)
            for (column,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
        )
        for (table,) in tables.fetchall()
    }
