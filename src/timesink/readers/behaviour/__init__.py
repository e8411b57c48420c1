"""Behaviour tables: what each function cost per cycle, as CSV or Parquet, without a timeline."""

from __future__ import annotations

import re

import polars as pl

from timesink.model.health import HealthEntry
from timesink.model.trace import Metadata, Trace
from timesink.readers.behaviour import csv, parquet
from timesink.readers.finish import finish_trace
from timesink.readers.options import ReadOptions
from timesink.readers.source import Damage, Source
from timesink.readers.vendors import NO_ACCELERATOR, recognise_vendor

NAME = "behaviour"

_TYPE_IN_NAME = re.compile(r"_(prefill|decode)(?=[_.]|$)", re.IGNORECASE)
_EARLIEST_UNIX_NS = 10**18
"""September 2001: smaller times count from somewhere else."""


def sniff(head: bytes, name: str) -> bool:  # noqa: ARG001
    return csv.is_behaviour(head) or parquet.is_parquet(head)


def read(source: Source, options: ReadOptions) -> Trace:  # noqa: ARG001
    """A trace whose table `behaviour` is filled, and no other."""
    damage = Damage()
    content = b"".join(source.blocks(damage))
    cycle_type = type_in_name(source.name)
    if parquet.is_parquet(content):
        table, health = parquet.read_table(content, source.path, cycle_type)
    else:
        table, health = csv.read_table(content, cycle_type)
    lost = [HealthEntry("truncated_archive", 1, reason) for reason in damage.reasons]
    metadata = Metadata(
        source=str(source.path),
        format=NAME,
        vendor=_vendor(table),
        events=table.height,
        clock=_clock(table),
    )
    return finish_trace(metadata, {"behaviour": table}, [*lost, *health])


def type_in_name(name: str) -> str:
    """The sort of cycles a file's name says it holds.

    >>> type_in_name("result_prefill_perf_data.csv.gz"), type_in_name("result_perf_data.csv")
    ('prefill', 'generic')
    """
    found = _TYPE_IN_NAME.findall(name)
    return found[-1].lower() if found else "generic"


def _vendor(table: pl.DataFrame) -> str:
    on_device = table.filter(pl.col("device").cast(pl.String) != "Host")
    if on_device.is_empty():
        return NO_ACCELERATOR
    calls = table["function"].unique().cast(pl.String).to_list()
    labels = on_device["device"].unique().cast(pl.String).to_list()
    return recognise_vendor(device_names=labels, calls=calls)


def _clock(table: pl.DataFrame) -> str:
    start = table["cycle_ts_ns"].min()
    is_unix = isinstance(start, int) and start >= _EARLIEST_UNIX_NS
    return "unix" if is_unix else "monotonic"
