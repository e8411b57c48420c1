"""Behaviour tables: what each function cost per cycle, as CSV or Parquet, without a timeline.

A CSV has its columns in any order, with or without `simple_name` and `unit`; a Parquet file has the
columns of the CSV or those of the model.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from timesink.errors import UnreadableError
from timesink.model.behaviour_csv import NO_DEVICE
from timesink.model.health import HealthEntry
from timesink.model.schema import HOST_DEVICE
from timesink.model.trace import Metadata, Trace
from timesink.model.units import counted
from timesink.model.vendors import NO_ACCELERATOR, recognise_vendor
from timesink.readers.behaviour.rows import AS_CSV, AS_MODEL, NEEDED, table_of
from timesink.readers.csv_text import count_foreign_lines, header_of, texts_of
from timesink.readers.finish import finish_trace
from timesink.readers.options import ReadOptions
from timesink.readers.source import SourceFile

NAME = "behaviour"

_PARQUET = b"PAR1"
_OF_NO_OTHER = frozenset(
    {"beta_pct", "mu_pct", "sigma_pct", "func_type", "anchor_name", "anchor_dur_us"}
)
"""Columns that no other table has."""
_MOST_MISSING = 2
"""Without more of the columns it needs, a Parquet file is no behaviour table at all."""
_TYPE_IN_NAME = re.compile(r"_(prefill|decode)(?=[_.]|$)", re.IGNORECASE)
_EARLIEST_UNIX_NS = 10**18
"""September 2001: smaller times count from somewhere else."""


def sniff(head: bytes, name: str) -> bool:  # noqa: ARG001
    """Whether the header is one of behaviour, be it complete or not."""
    header = header_of(head)
    return (
        head.startswith(_PARQUET)
        or len(AS_CSV.lacks(header)) <= 1
        or not _OF_NO_OTHER.isdisjoint(header)
    )


def is_table(head: bytes) -> bool:
    """Whether content is a table with all it needs; for that of Parquet, only reading tells."""
    return head.startswith(_PARQUET) or not AS_CSV.lacks(header_of(head))


def read(source: SourceFile, options: ReadOptions) -> Trace:  # noqa: ARG001
    """A trace whose table `behaviour` is filled, and no other."""
    content, lost = source.content()
    of_format = _of_parquet if content.startswith(_PARQUET) else _of_csv
    table, health = of_format(content, source.path, type_in_name(source.name))
    _check_rows(table, health, source.path)
    metadata = Metadata(
        source=str(source.path),
        format=NAME,
        vendor=_vendor(table),
        events=table.height,
        clock=_clock(table),
    )
    return finish_trace(metadata, {"behaviour": table}, [*lost, *health])


def _of_csv(content: bytes, path: Path, cycle_type: str) -> tuple[pl.DataFrame, list[HealthEntry]]:
    """The table of a CSV, and what of it could not be used."""
    header = header_of(content)
    missing = AS_CSV.lacks(header)
    if missing:
        columns = "column" if len(missing) == 1 else "columns"
        needed = ", ".join(AS_CSV.names[name] for name in NEEDED)
        raise UnreadableError(
            f"{path}: a behaviour table without the {columns} {', '.join(missing)}",
            f"it needs {needed}; it has {', '.join(header)}",
        )
    texts = texts_of(content, numbers="duration", decimals=AS_CSV.numbers())
    table, health = table_of(texts, cycle_type)
    return table, [HealthEntry("invalid_utf8", count_foreign_lines(content)), *health]


def _of_parquet(
    content: bytes, path: Path, cycle_type: str
) -> tuple[pl.DataFrame, list[HealthEntry]]:
    """The table of a Parquet file, and what of it could not be used."""
    try:
        rows = pl.read_parquet(io.BytesIO(content))
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).strip().partition("\n")[0]
        hint = "copy the file again, or write it again"
        raise UnreadableError.damaged(path, reason, hint) from None
    spelling = min((AS_CSV, AS_MODEL), key=lambda each: len(each.lacks(rows.columns)))
    missing = spelling.lacks(rows.columns)
    if missing:
        what = "a Parquet file that is no behaviour table"
        if len(missing) <= _MOST_MISSING:
            what = f"a behaviour table without the column {' and '.join(missing)}"
        raise UnreadableError(
            f"{path}: {what}",
            f"expected the columns {', '.join(NEEDED)}; "
            "of a folder that timesink export wrote, name the folder",
        )
    return table_of(rows, cycle_type, spelling)


def _check_rows(table: pl.DataFrame, health: Sequence[HealthEntry], path: Path) -> None:
    """Refuse a table whose every row had to be left out, and say why."""
    bad = next((entry for entry in health if entry.code == "bad_behaviour_row"), None)
    if table.is_empty() and bad is not None:
        raise UnreadableError(
            f"{path}: none of its {counted(bad.count, 'rows')} can be used ({bad.example})",
            "a row needs a whole number as cycle, a function, its share and its time",
        )


def type_in_name(name: str) -> str:
    """The sort of cycles a file's name says it holds."""
    found = _TYPE_IN_NAME.findall(name)
    return found[-1].lower() if found else "generic"


def _vendor(table: pl.DataFrame) -> str:
    labels = set(table["device"].drop_nulls().unique().cast(pl.String)) - {HOST_DEVICE, NO_DEVICE}
    if not labels:
        return NO_ACCELERATOR
    calls = table["function"].unique().cast(pl.String).to_list()
    return recognise_vendor(device_names=labels, calls=calls)


def _clock(table: pl.DataFrame) -> str:
    start = table["cycle_ts_ns"].min()
    is_unix = isinstance(start, int) and start >= _EARLIEST_UNIX_NS
    return "unix" if is_unix else "monotonic"
