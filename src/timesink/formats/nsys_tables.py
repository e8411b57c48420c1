"""Tables of an export of Nsight Systems, wherever they lie: in SQLite, or in a folder of Parquet.

A newer export may write a table under its name and a version, such as `..._KERNEL_V3`.  The plain
name goes before it, of several versions the highest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import polars as pl

from timesink.errors import UnreadableError
from timesink.formats.parquet_errors import PARQUET_ERRORS
from timesink.model.health import HealthEntry
from timesink.patterns import regex

_VERSIONED = regex(r"(?P<name>.+)_V(?P<version>\d{1,4})", re.IGNORECASE)
_ENDING = ".parquet"


class ExportTables(Protocol):
    """What a reader asks of the tables of an export."""

    @property
    def columns(self) -> Mapping[str, tuple[str, ...]]: ...

    def rows(self, table: str, schema: Mapping[str, pl.DataType]) -> pl.DataFrame: ...

    def count(self, table: str) -> int: ...

    def pairs(self, table: str) -> dict[str, str]: ...


def plain_names(tables: Mapping[str, object]) -> dict[str, str]:
    """The table to read under each plain name.

    >>> plain_names({"KERNEL_V2": (), "KERNEL_V10": (), "NVTX": (), "NVTX_V2": ()})
    {'KERNEL': 'KERNEL_V10', 'NVTX': 'NVTX'}
    """
    names: dict[str, tuple[int, str]] = {}
    for table in tables:
        match = _VERSIONED.fullmatch(table)
        plain, version = (match["name"], int(match["version"])) if match else (table, 1 << 20)
        if version > names.get(plain, (-1, ""))[0]:
            names[plain] = (version, table)
    return {plain: table for plain, (_, table) in names.items()}


class PlainTables:
    """The tables of an export under their plain names."""

    def __init__(self, tables: ExportTables) -> None:
        self._tables = tables
        self._names = plain_names(tables.columns)
        self.columns: Mapping[str, tuple[str, ...]] = {
            plain: tables.columns[table] for plain, table in self._names.items()
        }

    def rows(self, table: str, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
        """The wanted columns; null where the export has no such column, or no such table."""
        return self._tables.rows(self._names.get(table, table), schema)

    def count(self, table: str) -> int:
        """How many rows a table has."""
        return self._tables.count(self._names.get(table, table))

    def pairs(self, table: str) -> dict[str, str]:
        """A table of names and values."""
        return self._tables.pairs(self._names.get(table, table))


class ParquetTables:
    """The tables of a folder, a file for each."""

    def __init__(self, folder: Path, health: list[HealthEntry]) -> None:
        self._files: dict[str, pl.LazyFrame] = {}
        self._health = health
        columns: dict[str, tuple[str, ...]] = {}
        for file in sorted(folder.iterdir()):
            if not file.name.endswith(_ENDING) or not file.is_file():
                continue
            table = file.name[: -len(_ENDING)]
            try:
                frame = pl.scan_parquet(file)
                columns[table] = tuple(frame.collect_schema().names())
            except PARQUET_ERRORS as error:
                reason = " ".join(str(error).split())[:100]
                health.append(HealthEntry("lost_table", 1, f"{file.name}: {reason}"))
                continue
            self._files[table] = frame
        self.columns: Mapping[str, tuple[str, ...]] = columns

    def rows(self, table: str, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
        """The wanted columns in the order recorded; null where the table has no such column."""
        frame = self._files.get(table)
        if frame is None:
            return pl.DataFrame(schema=dict(schema))
        present = self.columns[table]
        try:
            return frame.select(
                pl.col(name).cast(dtype, strict=False)
                if name in present
                else pl.lit(None, dtype=dtype).alias(name)
                for name, dtype in schema.items()
            ).collect(engine="in-memory")
        except PARQUET_ERRORS as error:
            reason = " ".join(str(error).split())[:100]
            self._health.append(HealthEntry("lost_table", 1, f"{table}{_ENDING}: {reason}"))
            return pl.DataFrame(schema=dict(schema))

    def count(self, table: str) -> int:
        """How many rows a table has."""
        try:
            return int(self._files[table].select(pl.len()).collect().item())
        except PARQUET_ERRORS:
            return 0  # reading its rows says so

    def pairs(self, table: str) -> dict[str, str]:
        """A table of `name` and `value`; empty where there is none."""
        text = {"name": pl.String(), "value": pl.String()}
        return dict(self.rows(table, text).drop_nulls().iter_rows())


def open_parquet_folder(folder: Path, health: list[HealthEntry]) -> PlainTables:
    """The tables of an export as Parquet."""
    tables = ParquetTables(folder, health)
    if not tables.columns:
        raise UnreadableError.damaged(
            folder, "no table of it can be read", "repeat `nsys export --type parquetdir`"
        )
    return PlainTables(tables)
