"""Nsight Systems recordings exported with `nsys export --type sqlite`.

Tables and columns come and go with versions and capture options: what is there is read, what is
not stays empty.  The export is opened read-only and never changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import polars as pl

from timesink.errors import UnreadableError
from timesink.formats import nsys_database as activities
from timesink.formats.finish import close_spans, finish_trace, list_lanes
from timesink.formats.nsys_database import process_of
from timesink.formats.nsys_tables import ExportTables, PlainTables
from timesink.formats.read_options import ReadOptions
from timesink.formats.source_file import Damage, SourceFile, packing_health
from timesink.formats.sqlite_file import INTEGER, REAL, TEXT, open_database
from timesink.model.health import HealthEntry
from timesink.model.trace import Device, Metadata, Trace
from timesink.model.vendors import NVIDIA

EXPORT_TABLES = ("META_DATA_EXPORT", "EXPORT_META_DATA")
"""Name of the table since 2023, and before."""
VERSIONS = {
    "EXPORT_PRODUCT_VERSION": "nsight_systems",
    "EXPORT_SCHEMA_VERSION": "export_schema",
    "NvDriverVersion": "nvidia_driver_version",
    "CudaDriverVersion": "cuda_driver_version",
}
MACHINE = {"Hostname": "host_name", "OsDescription": "system", "CpuDescription": "cpu"}

_GPU_TEXTS = ("name", "busLocation", "uuid", "chipName")
_GPU_NUMBERS = (
    *("id", "cuDevice", "totalMemory", "smCount", "computeMajor", "computeMinor"),
    *("memoryBandwidth", "clockRate", "l2CacheSize", "threadsPerWarp"),
    *("maxWarpsPerSm", "maxBlocksPerSm", "maxRegistersPerSm", "maxShmemPerSm"),
)


def read_devices(database: ExportTables) -> tuple[Device, ...]:
    """The GPUs of the machine, under the numbers that activities use for them."""
    schema = {**dict.fromkeys(_GPU_NUMBERS, INTEGER), **dict.fromkeys(_GPU_TEXTS, TEXT)}
    gpus = database.rows("TARGET_INFO_GPU", schema).drop_nulls("id").sort("id").rows(named=True)
    numbers = _cuda_numbers(database, gpus)
    hidden = [gpu["id"] for gpu in gpus if gpu["id"] not in numbers]
    numbers |= dict(zip(hidden, count(max(numbers.values(), default=-1) + 1), strict=False))
    devices = (_to_device(gpu, numbers[gpu["id"]]) for gpu in gpus)
    return tuple(sorted(devices, key=lambda device: device.id))


def _cuda_numbers(database: ExportTables, gpus: list[dict[str, Any]]) -> dict[int, int]:
    """CUDA's number of each GPU it could use; the facts of a hidden one are all zero.

    Processes may see different GPUs under one number; then the machine's own numbers are kept.
    """
    schema = {"gpuId": INTEGER, "cudaId": INTEGER}
    used = database.rows("TARGET_INFO_CUDA_DEVICE", schema).drop_nulls().unique().rows()
    used = used or [
        (gpu["id"], gpu["cuDevice"])
        for gpu in gpus
        if gpu["smCount"] and gpu["cuDevice"] is not None
    ]
    if used and len({cuda for _, cuda in used}) == len(used) == len(dict(used)):
        return dict(used)
    return {gpu["id"]: gpu["id"] for gpu in gpus}


def _to_device(gpu: dict[str, Any], number: int) -> Device:
    facts = {key: value for key, value in gpu.items() if value or key == "id"}
    major = facts.get("computeMajor")
    return Device(
        id=number,
        name=facts.get("name", ""),
        memory_bytes=facts.get("totalMemory"),
        compute_capability=f"{major}.{gpu['computeMinor'] or 0}" if major else None,
        multiprocessors=facts.get("smCount"),
        properties=facts,
    )


def label_facts(facts: dict[str, str], labels: dict[str, str]) -> dict[str, str]:
    """Those of the facts that are there, as they are called here."""
    return {label: facts[name] for name, label in labels.items() if facts.get(name)}


METRICS = "GPU_METRICS"
MEMORY_USAGE = "CUDA_GPU_MEMORY_USAGE_EVENTS"

_FREE = 1
_HOST_MEMORY_KINDS = (0, 1)
_CPU, _CUDA = 0, 1  # c10::DeviceType


def read_counters(database: ExportTables, devices: tuple[Device, ...]) -> pl.DataFrame:
    """Hardware metrics, with `start` in the export's own time."""
    metric = {"typeId": INTEGER, "metricId": INTEGER}
    samples = database.rows(METRICS, {"timestamp": INTEGER, **metric, "value": REAL})
    names = database.rows("TARGET_INFO_GPU_METRICS", {**metric, "metricName": TEXT})
    named = samples.join(
        names.unique(list(metric), keep="first"), on=list(metric), how="left", maintain_order="left"
    )
    # The lowest byte of the type is the machine's number of the GPU, not CUDA's.
    numbers = {device.properties["id"]: device.id for device in devices}
    machine_number = pl.col("typeId") % 256
    return named.select(
        "value",
        start="timestamp",
        counter=pl.coalesce("metricName", pl.format("metric {}", "metricId")),
        device=pl.format("GPU {}", machine_number.replace(numbers) if numbers else machine_number),
        source=pl.lit("trace"),
    )


def read_memory(database: ExportTables) -> pl.DataFrame:
    """Allocations and frees, with `start` in the export's own time."""
    columns = ("start", "globalPid", "deviceId", "address", "bytes", "memKind")
    rows = database.rows(MEMORY_USAGE, dict.fromkeys((*columns, "memoryOperationType"), INTEGER))
    freed = pl.col("memoryOperationType") == _FREE
    on_host = pl.col("memKind").is_in(_HOST_MEMORY_KINDS).fill_null(value=False)
    return rows.select(
        "start",
        pid=process_of("globalPid"),
        device_type=pl.when(on_host).then(_CPU).otherwise(_CUDA),
        device=pl.when(on_host).then(-1).otherwise("deviceId"),
        address=pl.col("address").reinterpret(signed=False),
        bytes=pl.when(freed).then(-pl.col("bytes")).otherwise("bytes"),
    )


NAME = "nsys"

_REPEAT = "copy the file again, or repeat `nsys export --type sqlite`"
_SQLITE_MAGIC = b"SQLite format 3\0"
_UNIX_SINCE_1973_NS = 10**17
_ACTIVITY_PREFIX = "CUPTI_ACTIVITY_KIND_"
_CALL_COLUMNS = {"start", "end", "globalTid"}
_NAME_COLUMNS = {"nameId", "textId"}


def sniff(head: bytes, name: str) -> bool:  # noqa: ARG001
    """Any SQLite file; whether it is an export only its tables tell, and `read` says so."""
    return head.startswith(_SQLITE_MAGIC)


def read(source: SourceFile, options: ReadOptions) -> Trace:  # noqa: ARG001
    """Read an export as SQLite."""
    damage = Damage()
    with open_database(source, damage, _REPEAT) as database:
        tables = PlainTables(database)
        return read_tables(tables, source, [], damage)


def read_tables(
    database: ExportTables,
    source: SourceFile,
    health: list[HealthEntry],
    damage: Damage | None = None,
) -> Trace:
    """Read the tables of an export, wherever they lie."""
    expected_tables = {*activities.DEVICE_KINDS, *activities.HOST_KINDS, *EXPORT_TABLES}
    if expected_tables.isdisjoint(database.columns):
        raise UnreadableError.unrecognised(
            source.path, "a database without tables of Nsight Systems"
        )
    if "StringIds" not in database.columns:
        unnamed = "StringIds is missing: kernels and calls have no names"
        health.append(HealthEntry("lost_table", 1, unnamed))
    texts = database.rows("StringIds", {"id": INTEGER, "value": TEXT})
    strings = texts.drop_nulls().unique("id", keep="last")
    devices = read_devices(database)
    tables, rows, entries = _read_tables(database, strings, devices)
    health += entries
    # Unix time of the export's zero, in ns.
    starts = database.rows("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs": INTEGER}).drop_nulls()
    clock, offset = _find_clock(None if starts.is_empty() else int(starts.item(0, 0)), tables)
    # Names and values of every table that describes the export and the machine.
    facts: dict[str, str] = {}
    for table in (*EXPORT_TABLES, "TARGET_INFO_SYSTEM_ENV"):
        facts |= database.pairs(table)
    shifted = pl.col("^ts_ns$") + offset
    tables = {name: frame.with_columns(shifted) for name, frame in tables.items()}
    # Names of processes, threads and streams.
    device = tables.get("device")
    processes = database.rows("PROCESSES", {"pid": INTEGER, "name": TEXT}).drop_nulls()
    threads = database.rows("ThreadNames", dict.fromkeys(("globalTid", "nameId"), INTEGER))
    threads = threads.drop_nulls().unique("globalTid", keep="last", maintain_order=True)
    names = [
        processes.unique("pid", keep="last", maintain_order=True).cast({"pid": pl.String}),
        threads.join(strings, left_on="nameId", right_on="id", maintain_order="left").select(
            pid=process_of("globalTid"),
            tid=(pl.col("globalTid") % 2**24).cast(pl.String),
            name="value",
        ),
    ]
    if device is not None:
        names.append(list_lanes(device))
    tables["tracks"] = pl.concat(names, how="diagonal")
    unread = {
        table: database.count(table)
        for table in database.columns
        if table.startswith(_ACTIVITY_PREFIX) and table not in rows
    }
    health += [
        HealthEntry("unknown_phase", count, table) for table, count in unread.items() if count
    ]
    major = facts.get("EXPORT_SCHEMA_VERSION", "").partition(".")[0]
    metadata = Metadata(
        source=str(source.path),
        format=NAME,
        vendor=NVIDIA.name,
        events=sum(rows.values()),
        clock=clock,
        clock_offset_ns=offset,
        devices=devices,
        schema_version=int(major) if major.isdecimal() else None,
        versions=label_facts(facts, VERSIONS),
        extra={**label_facts(facts, MACHINE), "rows": rows},
    )
    health += packing_health(damage or Damage())
    for name in ("device", "host"):
        if name in tables:
            texts_of = tables[name].get_column("name")
            undecoded = texts_of.filter(texts_of.str.contains("\ufffd", literal=True))
            health.append(HealthEntry("invalid_utf8", len(undecoded), "".join(undecoded[:1])))
    return finish_trace(metadata, tables, health)


def _read_tables(
    database: ExportTables, strings: pl.DataFrame, devices: tuple[Device, ...]
) -> tuple[dict[str, pl.DataFrame], dict[str, int], list[HealthEntry]]:
    """Tables of the model in the export's own time, rows of each source table, and health."""
    parts: dict[str, list[pl.DataFrame]] = {}
    rows: dict[str, int] = {}
    health: list[HealthEntry] = []
    for name, table, recorded in _recorded_tables(database, strings, devices):
        numbered = recorded.with_row_index("index", offset=sum(rows.values()))
        rows[table] = recorded.height
        placed, entries = _place_in_time(numbered, table)
        parts.setdefault(name, []).append(placed)
        if table == activities.NVTX:
            parts["event_args"] = [activities.list_domains(numbered)]
        health += entries
    return {name: pl.concat(frames, how="diagonal") for name, frames in parts.items()}, rows, health


def _recorded_tables(
    database: ExportTables, strings: pl.DataFrame, devices: tuple[Device, ...]
) -> Iterator[tuple[str, str, pl.DataFrame]]:
    """Table of the model, table of the export and its rows, for every table there is."""
    for table in activities.DEVICE_KINDS:
        if table in database.columns:
            yield "device", table, activities.read_device(database, table, strings)
    # Beside the known ones, tables whose rows are named spans of a thread.
    further = [
        table
        for table, columns in database.columns.items()
        if table not in activities.HOST_KINDS
        and _CALL_COLUMNS.issubset(columns)
        and not _NAME_COLUMNS.isdisjoint(columns)
    ]
    for table in (*activities.HOST_KINDS, *further):
        if table in database.columns:
            yield "host", table, activities.read_host(database, table, strings)
    if METRICS in database.columns:
        yield "counters", METRICS, read_counters(database, devices)
    if MEMORY_USAGE in database.columns:
        yield "memory", MEMORY_USAGE, read_memory(database)


def _place_in_time(frame: pl.DataFrame, table: str) -> tuple[pl.DataFrame, list[HealthEntry]]:
    if table == activities.NVTX:
        timed, untimed = activities.keep_timed_nvtx(frame)
        closed, entries = close_spans(timed, table, open_code="unpaired_begin_end")
        return closed, untimed + entries
    closed, entries = close_spans(frame, table)
    expected_tables = {*activities.DEVICE_KINDS, *activities.HOST_KINDS, METRICS, MEMORY_USAGE}
    if table not in expected_tables and closed.height:
        entries.append(HealthEntry("unknown_category", closed.height, table))
    return closed, entries


def _find_clock(session_start_ns: int | None, tables: dict[str, pl.DataFrame]) -> tuple[str, int]:
    """Which clock the times can be put on, and what to add for it."""
    times = [frame["ts_ns"] for frame in tables.values() if "ts_ns" in frame.columns]
    middle = pl.concat(times).median() if times else None
    # `nsys export --ts-normalize` has added the start already.
    if isinstance(middle, float) and middle > _UNIX_SINCE_1973_NS:
        return "unix", 0
    return ("monotonic", 0) if session_start_ns is None else ("unix", session_start_ns)
