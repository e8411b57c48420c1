"""The summary of a rank as one row of Parquet: columns about it, and its tables as nested ones.

Files of several ranks are therefore one dataset.  The collectives and the records they were made
from share a table, so that the many of them are not written twice.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType
from typing import Any, TypeAlias

import msgspec
import polars as pl
from polars import selectors as cs

from timesink.analyses.communication.records import RANGE_SCHEMA, RECORD_SCHEMA
from timesink.analyses.communication.workers import WorkerSummary
from timesink.analyses.ranks.own_time import FUNCTION_SCHEMA
from timesink.analyses.ranks.summary import (
    COLLECTIVE_SCHEMA,
    GROUP_SCHEMA,
    STEP_SCHEMA,
    AboutRank,
    Kept,
    RankSummary,
)
from timesink.model.health import HealthEntry
from timesink.model.trace import Device

FORMAT = "timesink/rank/2"
Schema: TypeAlias = Mapping[str, pl.DataType]

WORKER_STEP_SCHEMA: Schema = {
    "name": pl.String(),
    **dict.fromkeys(("start_ns", "end_ns"), pl.Int64()),
    **dict.fromkeys(("complete", "marked"), pl.Boolean()),
    **dict.fromkeys(("computation_ns", "communication_ns", "overlap_ns", "other_ns"), pl.Int64()),
}
"""As `step_communication` gives them."""
_OF_CALL = "call_"
_ONLY_OF_CALLS = [
    name
    for name in COLLECTIVE_SCHEMA
    # The collective is when data was moved, the record the call around it as well.
    if name not in RECORD_SCHEMA or name in {"start_ns", "end_ns"}
]
_CALL_COLUMNS = {name: _OF_CALL + name for name in _ONLY_OF_CALLS}
_AS_NAMED: Mapping[str, str] = MappingProxyType({})
_SCHEMAS: Mapping[str, Schema] = {
    "steps": STEP_SCHEMA,
    "worker_steps": WORKER_STEP_SCHEMA,
    "ranges": RANGE_SCHEMA,
    "functions": FUNCTION_SCHEMA,
    "groups": GROUP_SCHEMA,
}


def to_parquet(summary: RankSummary) -> bytes:
    """The summary as the bytes of a Parquet file."""
    tables = {
        "steps": summary.steps,
        "worker_steps": summary.worker.steps,
        "collectives": _records(summary),
        "ranges": summary.worker.ranges,
        "functions": summary.functions,
        "groups": summary.groups,
    }
    as_text = (cs.categorical() | cs.enum()).cast(pl.String)
    about = asdict(summary.about) | {"worker_rank": summary.worker.rank}
    row = pl.DataFrame(
        [
            pl.Series("format", [FORMAT]),
            pl.Series("about", [msgspec.json.encode(about).decode()]),
            pl.Series("kept", [msgspec.json.encode(asdict(summary.kept)).decode()]),
            *(
                table.with_columns(as_text).to_struct(name).implode()
                for name, table in tables.items()
            ),
        ]
    )
    written = io.BytesIO()
    row.write_parquet(written, compression="zstd", statistics=False)
    return written.getvalue()


def from_parquet(written: bytes) -> RankSummary:
    """The summary that these bytes were made from; ValueError where they are none."""
    return from_parquets([written])[0]


def from_parquets(written: Sequence[bytes]) -> list[RankSummary]:
    """Several summaries at once, which takes far less than one by one: they share their tables."""
    try:
        rows = pl.read_parquet([*written], use_statistics=False)
        if (rows["format"] != FORMAT).any():
            raise ValueError(rows["format"].unique().to_list())
        of_calls = _exploded(rows, "collectives")
        calls = _cut(of_calls, COLLECTIVE_SCHEMA, _CALL_COLUMNS)
        if of_calls[0][f"{_OF_CALL}start_ns"].null_count():
            calls = [table.filter(pl.col("start_ns").is_not_null()) for table in calls]
        tables = {
            "records": _cut(of_calls, RECORD_SCHEMA),
            "collectives": calls,
            **{name: _cut(_exploded(rows, name), schema) for name, schema in _SCHEMAS.items()},
        }
        return [
            _summary(about, kept, {name: table[place] for name, table in tables.items()})
            for place, (about, kept) in enumerate(rows.select("about", "kept").iter_rows())
        ]
    except (pl.exceptions.PolarsError, msgspec.MsgspecError, OSError, KeyError, TypeError) as error:
        msg = f"not the summary of a rank: {type(error).__name__}"
        raise ValueError(msg) from error


def _records(summary: RankSummary) -> pl.DataFrame:
    """Every record, and beside it what only the collective has; null where it is none."""
    records, calls = summary.worker.records, summary.collectives
    only = [calls[name].alias(_OF_CALL + name) for name in _ONLY_OF_CALLS]
    if calls["record"].equals(records["record"]):
        return records.hstack(only)
    calls = pl.DataFrame([calls["record"], *only])
    return records.join(calls, on="record", how="left", maintain_order="left")


def _summary(about: str, kept: str, tables: Mapping[str, pl.DataFrame]) -> RankSummary:
    told: dict[str, Any] = msgspec.json.decode(about)
    rank = told.pop("worker_rank")
    health = tuple(HealthEntry(**entry) for entry in told.pop("health"))
    devices = tuple(Device(**device) for device in told.pop("devices"))
    worker = WorkerSummary(rank, tables["worker_steps"], tables["records"], tables["ranges"])
    return RankSummary(
        about=AboutRank(**told, health=health, devices=devices),
        steps=tables["steps"],
        collectives=tables["collectives"],
        functions=tables["functions"],
        worker=worker,
        groups=tables["groups"],
        kept=Kept(**msgspec.json.decode(kept)),
    )


_Exploded: TypeAlias = tuple[pl.DataFrame, list[int]]
"""Nested tables of several rows, one after the other, and where each of them ends."""


def _exploded(rows: pl.DataFrame, name: str) -> _Exploded:
    nested = rows[name]
    lengths = nested.list.len()
    if not lengths.sum():
        empty = pl.DataFrame(schema=nested.dtype.inner.to_schema())  # type: ignore[attr-defined]
        return empty, [0] * len(lengths)
    # An empty list would become a row of its own.
    table = nested.filter(lengths > 0).list.explode().struct.unnest()
    return table, lengths.cum_sum().to_list()


def _cut(
    tables: _Exploded, schema: Schema, kept_as: Mapping[str, str] = _AS_NAMED
) -> list[pl.DataFrame]:
    """The table of each row with columns as they were; it may keep them under other names."""
    table, ends = tables
    typed = table.select(
        pl.col(kept_as.get(name, name)).cast(dtype).alias(name) for name, dtype in schema.items()
    )
    return [typed[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]
