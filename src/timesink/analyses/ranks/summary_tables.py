"""The summary of a rank as one row of Parquet: columns about it, and its tables as nested ones.

Files of several ranks are therefore one dataset.  Nothing is written twice: the collectives and the
records they were made from share a table, as do the steps of the summary and of its worker.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

import msgspec
import polars as pl

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

FORMAT = "timesink/rank/1"
Schema: TypeAlias = Mapping[str, pl.DataType]

WORKER_STEP_SCHEMA: Schema = {
    "name": pl.String(),
    "start_ns": pl.Int64(),
    "end_ns": pl.Int64(),
    "complete": pl.Boolean(),
    "marked": pl.Boolean(),
    "computation_ns": pl.Int64(),
    "communication_ns": pl.Int64(),
    "overlap_ns": pl.Int64(),
    "other_ns": pl.Int64(),
}
"""As `step_communication` gives them."""
_SHARED_BY_STEPS = {"name": "step", "start_ns": "start_ns", "end_ns": "end_ns",
                    "complete": "complete"}  # fmt: skip
_OF_WORKER = "worker_"
_WORKER_STEPS = {name: _SHARED_BY_STEPS.get(name, _OF_WORKER + name) for name in WORKER_STEP_SCHEMA}
_OF_CALL = "call_"
_ONLY_OF_CALLS = [
    name
    for name in COLLECTIVE_SCHEMA
    # The collective is when data was moved, the record the call around it as well.
    if name not in RECORD_SCHEMA or name in {"start_ns", "end_ns"}
]
_TEXT = (pl.Categorical, pl.Enum)
_AS_NAMED: Mapping[str, str] = MappingProxyType({})


def to_parquet(summary: RankSummary) -> bytes:
    """The summary as the bytes of a Parquet file."""
    tables = {
        "steps": _steps(summary),
        "collectives": _records(summary),
        "ranges": summary.worker.ranges,
        "functions": summary.functions,
        "groups": summary.groups,
    }
    about = asdict(summary.about) | {"worker_rank": summary.worker.rank}
    row = pl.DataFrame(
        [
            pl.Series("format", [FORMAT]),
            pl.Series("about", [msgspec.json.encode(about).decode()]),
            pl.Series("kept", [msgspec.json.encode(asdict(summary.kept)).decode()]),
            *(_nested(name, table) for name, table in tables.items()),
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
        step_rows, record_rows = _exploded(rows, "steps"), _exploded(rows, "collectives")
        tables = {
            "steps": step_rows.cut(STEP_SCHEMA),
            "worker_steps": step_rows.cut(WORKER_STEP_SCHEMA, _WORKER_STEPS),
            "records": record_rows.cut(RECORD_SCHEMA),
            "collectives": _collectives(record_rows),
            "ranges": _exploded(rows, "ranges").cut(RANGE_SCHEMA),
            "functions": _exploded(rows, "functions").cut(FUNCTION_SCHEMA),
            "groups": _exploded(rows, "groups").cut(GROUP_SCHEMA),
        }
        return [
            _summary(about, kept, {name: table[place] for name, table in tables.items()})
            for place, (about, kept) in enumerate(rows.select("about", "kept").iter_rows())
        ]
    except (pl.exceptions.PolarsError, msgspec.MsgspecError, OSError, KeyError, TypeError) as error:
        msg = f"not the summary of a rank: {type(error).__name__}"
        raise ValueError(msg) from error


# -- writing ---------------------------------------------------------------------------------------


def _nested(name: str, table: pl.DataFrame) -> pl.Series:
    columns = [
        column.cast(pl.String) if isinstance(column.dtype, _TEXT) else column for column in table
    ]
    return pl.DataFrame(columns).to_struct(name).implode()


def _steps(summary: RankSummary) -> pl.DataFrame:
    of_worker = [
        column.alias(_OF_WORKER + column.name)
        for column in summary.worker.steps
        if column.name not in _SHARED_BY_STEPS
    ]
    return summary.steps.hstack(of_worker)


def _records(summary: RankSummary) -> pl.DataFrame:
    """Every record, and beside it what only the collective has; null where it is none."""
    records, calls = summary.worker.records, summary.collectives
    only = [calls[name].alias(_OF_CALL + name) for name in _ONLY_OF_CALLS]
    if calls["record"].equals(records["record"]):
        return records.hstack(only)
    calls = pl.DataFrame([calls["record"], *only])
    return records.join(calls, on="record", how="left", maintain_order="left")


# -- reading ---------------------------------------------------------------------------------------


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


@dataclass(frozen=True, slots=True, eq=False)
class _Exploded:
    """Nested tables of several rows, one after the other, and where each of them ends."""

    table: pl.DataFrame
    ends: list[int]

    def cut(self, schema: Schema, kept_as: Mapping[str, str] = _AS_NAMED) -> list[pl.DataFrame]:
        """The table of each row with columns as they were; it may keep them under other names."""
        columns = ((self.table[kept_as.get(name, name)], name) for name in schema)
        typed = pl.DataFrame([column.cast(schema[name]).alias(name) for column, name in columns])
        starts = [0, *self.ends[:-1]]
        return [typed[start:end] for start, end in zip(starts, self.ends, strict=True)]


def _exploded(rows: pl.DataFrame, name: str) -> _Exploded:
    nested = rows[name]
    lengths = nested.list.len()
    if not lengths.sum():
        empty = pl.DataFrame(schema=nested.dtype.inner.to_schema())  # type: ignore[attr-defined]
        return _Exploded(empty, [0] * len(lengths))
    # An empty list would become a row of its own.
    table = nested.filter(lengths > 0).list.explode().struct.unnest()
    return _Exploded(table, lengths.cum_sum().to_list())


def _collectives(records: _Exploded) -> list[pl.DataFrame]:
    tables = records.cut(COLLECTIVE_SCHEMA, {name: _OF_CALL + name for name in _ONLY_OF_CALLS})
    if not records.table[f"{_OF_CALL}start_ns"].null_count():
        return tables
    return [table.filter(pl.col("start_ns").is_not_null()) for table in tables]
