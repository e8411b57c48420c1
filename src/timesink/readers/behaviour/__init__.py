"""Behaviour tables: what each function cost per cycle, as CSV or Parquet, without a timeline."""

from __future__ import annotations

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
from timesink.readers.behaviour import csv, parquet
from timesink.readers.finish import finish_trace
from timesink.readers.options import ReadOptions
from timesink.readers.source import SourceFile

NAME = "behaviour"

_TYPE_IN_NAME = re.compile(r"_(prefill|decode)(?=[_.]|$)", re.IGNORECASE)
_EARLIEST_UNIX_NS = 10**18
"""September 2001: smaller times count from somewhere else."""


def sniff(head: bytes, name: str) -> bool:  # noqa: ARG001
    return csv.may_be_behaviour(head) or parquet.is_parquet(head)


def is_table(head: bytes) -> bool:
    """Whether content is a table with all it needs; for that of Parquet, only reading tells."""
    return csv.is_behaviour(head) or parquet.is_parquet(head)


def read(source: SourceFile, options: ReadOptions) -> Trace:  # noqa: ARG001
    """A trace whose table `behaviour` is filled, and no other."""
    content, lost = source.content()
    cycle_type = type_in_name(source.name)
    if parquet.is_parquet(content):
        table, health = parquet.read_table(content, source.path, cycle_type)
    else:
        table, health = csv.read_table(content, source.path, cycle_type)
    _check_rows(table, health, source.path)
    metadata = Metadata(
        source=str(source.path),
        format=NAME,
        vendor=_vendor(table),
        events=table.height,
        clock=_clock(table),
    )
    return finish_trace(metadata, {"behaviour": table}, [*lost, *health])


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
