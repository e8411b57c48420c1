"""The header of a CSV page, and its rows parsed by the names of their columns.

The details page has a row per launch and metric; the raw page a row per launch, a column per
metric, and units in the row below the names.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property

import polars as pl

from timesink.formats.ncu.launches import PLACE, LaunchPart, is_of_machine
from timesink.formats.ncu.numbers import count_lines

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
_METRIC = {
    "Section Name": "section",
    "Metric Name": "metric",
    "Metric Unit": "unit",
    "Metric Value": "text",
}
_LAST_OF_DETAILS = "Metric Value"
_OF_LAUNCH = ("launch_id", "pid", "host", "device", "name", "grid", "block")
"""Where one of these changes, another launch begins."""
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
        # The names; one that comes again, in whatever letters, is told from the first.
        names = _fields(line, separator)
        seen: set[str] = set()
        unlike = []
        for place, name in enumerate(names):
            unlike.append(f"{name} [{place}]" if name.lower() in seen else name)
            seen.add(name.lower())
        return cls(tuple(unlike), separator, quoted)

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

    def row_inside(self, line: bytes) -> int:
        """Where a whole row begins behind other text on its line; -1 if there is none."""
        match = self._row_start.search(line) if self.is_quoted else None
        return match.start() if match and self.is_whole(line[match.start() :]) else -1

    def part_of(self, rows: bytes) -> LaunchPart:
        """The launches of some rows.  Raises BadRowsError when a line among the rows is none."""
        return self._details(rows) if self.is_details else self._raw(rows)

    def _details(self, rows: bytes) -> LaunchPart:
        """A row that holds advice instead of a metric has no value."""
        wanted = {**self.place, **{c: n for c, n in _METRIC.items() if c in self.columns}}
        frame = _with_all(self._parse(rows, wanted, texts={"text"}), (*PLACE, *_METRIC.values()))
        starts = frame.select(
            pl.any_horizontal(
                pl.col(name).to_physical().ne_missing(pl.col(name).to_physical().shift(1))
                for name in _OF_LAUNCH
            )
            | (pl.int_range(pl.len()) == 0)
        ).to_series()
        piece = (starts.cast(pl.UInt32).cum_sum() - 1).alias("piece")
        values = frame.select(piece, "section", "metric", "unit", "text")
        measured = values.filter(pl.col("metric").is_not_null() & (pl.col("metric") != ""))
        return frame.filter(starts).select(*PLACE), measured

    def _raw(self, rows: bytes) -> LaunchPart:
        """What describes the machine is taken once per device."""
        metrics = [name for name in self.columns if name and name not in {*self.place, *PLACE}]
        wanted = {**self.place, **{name: name for name in metrics}}
        frame = _with_all(self._parse(rows, wanted, texts=set(metrics)), PLACE)
        frame = frame.with_row_index("piece")
        measured = [name for name in metrics if not is_of_machine(name)]
        of_machine = [name for name in metrics if is_of_machine(name)]
        described = frame.unique("device", keep="first", maintain_order=True)
        values = [_long(frame, measured, self.units), _long(described, of_machine, self.units)]
        return frame.select(*PLACE), pl.concat(values)

    def _parse(
        self, rows: bytes, wanted: Mapping[str, str], *, texts: AbstractSet[str]
    ) -> pl.DataFrame:
        """The wanted columns under their new names; those of `texts` as plain text."""
        if not rows.isascii():
            # The parser may cut a character in two where quotes do not fit.
            odd = [line for line in rows.split(b"\n") if not line.isascii()]
            try:
                b"\n".join(odd).decode()
            except UnicodeDecodeError as error:
                raise BadRowsError from error
            if not all(map(self.is_whole, odd)):
                raise BadRowsError
        places = {self.columns.index(column): name for column, name in wanted.items()}
        schema: dict[str, pl.DataType] = {}
        for place in range(len(self.columns)):
            name = places.get(place)
            plain = name is None or name in texts
            schema[f"column_{place}"] = pl.String() if plain else pl.Categorical()
            if name == "launch_id":
                schema[f"column_{place}"] = pl.Int64()
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


def _with_all(frame: pl.DataFrame, columns: Iterable[str]) -> pl.DataFrame:
    absent = [name for name in columns if name not in frame.columns]
    return frame.with_columns(pl.lit(None, pl.Categorical).alias(name) for name in absent)


def _long(frame: pl.DataFrame, metrics: list[str], units: dict[str, str]) -> pl.DataFrame:
    """One row per launch and metric, in the order of the launches."""
    metric_units = pl.DataFrame(
        {
            "metric": pl.Series(metrics, dtype=pl.Categorical),
            "unit": pl.Series([units.get(name, "") for name in metrics], dtype=pl.Categorical),
        }
    )
    # Without a metric there is nothing to tell the type of the values from.
    long = frame.unpivot(metrics, index="piece", variable_name="metric", value_name="text").cast(
        {"metric": pl.Categorical(), "text": pl.String()}
    )
    return (
        long.join(metric_units, on="metric", how="left", maintain_order="left")
        .select("piece", pl.lit(None, pl.Categorical).alias("section"), "metric", "unit", "text")
        .sort("piece", maintain_order=True)
    )


def _fields(line: bytes, separator: str) -> list[str]:
    text = line.decode("utf-8", "replace").replace("\r", " ").replace("\0", " ")
    return next(csv.reader([text], delimiter=separator), [])
