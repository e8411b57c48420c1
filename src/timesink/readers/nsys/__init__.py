"""Nsight Systems recordings exported with `nsys export --type sqlite`.

Tables and columns come and go with versions and capture options: what is there is read, what is
not stays empty.  The export is opened read-only and never changed.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from timesink.errors import UnreadableError
from timesink.model.health import HealthEntry
from timesink.model.trace import Device, Metadata, Trace
from timesink.model.vendors import NVIDIA
from timesink.readers.finish import finish_trace
from timesink.readers.nsys import activities, samples, target
from timesink.readers.nsys.database import Database, open_database
from timesink.readers.options import ReadOptions
from timesink.readers.source import Damage, SourceFile, packing_health
from timesink.readers.spans import close_spans, place_samples

NAME = "nsys"

_SQLITE_MAGIC = b"SQLite format 3\0"
_UNIX_SINCE_1973_NS = 10**17
_ACTIVITY_PREFIX = "CUPTI_ACTIVITY_KIND_"
_CALL_COLUMNS = {"start", "end", "globalTid"}
_NAME_COLUMNS = {"nameId", "textId"}


def sniff(head: bytes, name: str) -> bool:  # noqa: ARG001
    """Any SQLite file; whether it is an export only its tables tell, and `read` says so."""
    return head.startswith(_SQLITE_MAGIC)


def read(source: SourceFile, options: ReadOptions) -> Trace:  # noqa: ARG001
    damage = Damage()
    with open_database(source, damage) as database:
        _require_export(source, database)
        strings = activities.read_strings(database)
        devices = target.read_devices(database)
        tables, rows, health = _read_tables(database, strings, devices)
        clock, offset = _find_clock(target.read_session_start(database), tables)
        facts = target.read_export_facts(database)
        shifted = pl.col("^ts_ns$") + offset
        tables = {name: frame.with_columns(shifted) for name, frame in tables.items()}
        tables["tracks"] = target.read_tracks(database, strings, tables.get("device"))
        health += _list_unread(database, rows)
    metadata = Metadata(
        source=str(source.path),
        format=NAME,
        vendor=NVIDIA.name,
        events=sum(rows.values()),
        clock=clock,
        clock_offset_ns=offset,
        devices=devices,
        schema_version=target.schema_version_in(facts),
        versions=target.labelled(facts, target.VERSIONS),
        extra={**target.labelled(facts, target.MACHINE), "rows": rows},
    )
    health += packing_health(damage)
    return finish_trace(metadata, tables, health + _find_undecoded(tables))


def _require_export(source: SourceFile, database: Database) -> None:
    known = {*activities.DEVICE_KINDS, *activities.HOST_KINDS, *target.EXPORT_TABLES}
    if known.isdisjoint(database.columns):
        raise UnreadableError.unrecognised(
            source.path, "an SQLite database without tables of Nsight Systems"
        )


def _read_tables(
    database: Database, strings: pl.DataFrame, devices: tuple[Device, ...]
) -> tuple[dict[str, pl.DataFrame], dict[str, int], list[HealthEntry]]:
    """Tables of the model in the export's own time, rows of each source table, and health."""
    parts: dict[str, list[pl.DataFrame]] = {}
    rows: dict[str, int] = {}
    health: list[HealthEntry] = []
    for name, table, recorded in _recorded(database, strings, devices):
        numbered = recorded.with_row_index("index", offset=sum(rows.values()))
        rows[table] = recorded.height
        placed, found = _place_in_time(numbered, table)
        parts.setdefault(name, []).append(placed)
        if table == activities.NVTX:
            parts["event_args"] = [activities.list_domains(numbered)]
        health += found
    return {name: pl.concat(frames) for name, frames in parts.items()}, rows, health


def _recorded(
    database: Database, strings: pl.DataFrame, devices: tuple[Device, ...]
) -> Iterator[tuple[str, str, pl.DataFrame]]:
    """Table of the model, table of the export and its rows, for every table there is."""
    for table in activities.DEVICE_KINDS:
        if table in database.columns:
            yield "device", table, activities.read_device(database, table, strings)
    for table in (*activities.HOST_KINDS, *_further_calls(database)):
        if table in database.columns:
            yield "host", table, activities.read_host(database, table, strings)
    if samples.METRICS in database.columns:
        yield "counters", samples.METRICS, samples.read_counters(database, devices)
    if samples.MEMORY_USAGE in database.columns:
        yield "memory", samples.MEMORY_USAGE, samples.read_memory(database)


def _further_calls(database: Database) -> list[str]:
    """Tables the reader does not know but whose rows are named spans of a thread."""
    return [
        table
        for table, columns in database.columns.items()
        if table not in activities.HOST_KINDS
        and _CALL_COLUMNS.issubset(columns)
        and not _NAME_COLUMNS.isdisjoint(columns)
    ]


def _place_in_time(frame: pl.DataFrame, table: str) -> tuple[pl.DataFrame, list[HealthEntry]]:
    if "end" not in frame.columns:
        return place_samples(frame, table)
    if table == activities.NVTX:
        timed, untimed = activities.keep_timed_nvtx(frame)
        closed, found = close_spans(timed, table, open_code="unpaired_begin_end")
        return closed, untimed + found
    closed, found = close_spans(frame, table)
    if table not in {**activities.DEVICE_KINDS, **activities.HOST_KINDS} and closed.height:
        found.append(HealthEntry("unknown_category", closed.height, table))
    return closed, found


def _find_clock(session_start_ns: int | None, tables: dict[str, pl.DataFrame]) -> tuple[str, int]:
    """Which clock the times can be put on, and what to add for it."""
    times = [frame["ts_ns"] for frame in tables.values() if "ts_ns" in frame.columns]
    middle = pl.concat(times).median() if times else None
    # `nsys export --ts-normalize` has added the start already.
    if isinstance(middle, float) and middle > _UNIX_SINCE_1973_NS:
        return "unix", 0
    return ("monotonic", 0) if session_start_ns is None else ("unix", session_start_ns)


def _list_unread(database: Database, rows: dict[str, int]) -> list[HealthEntry]:
    unread = {
        table: database.count(table)
        for table in database.columns
        if table.startswith(_ACTIVITY_PREFIX) and table not in rows
    }
    return [HealthEntry("unknown_phase", count, table) for table, count in unread.items() if count]


def _find_undecoded(tables: dict[str, pl.DataFrame]) -> list[HealthEntry]:
    found = []
    for name in ("device", "host"):
        if name in tables:
            names = tables[name].get_column("name")
            undecoded = names.filter(names.str.contains("\ufffd", literal=True))
            if len(undecoded):
                found.append(HealthEntry("invalid_utf8", len(undecoded), undecoded[0]))
    return found
