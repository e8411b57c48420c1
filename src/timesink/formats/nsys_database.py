"""Activity tables of an export of Nsight Systems as rows of `device` and `host`.

Every function here gives one frame with `start` and `end` in the export's own time; rows keep the
order recorded.
"""

from __future__ import annotations

import json

import polars as pl

from timesink.formats.finish import lane
from timesink.formats.nsys_tables import ExportTables
from timesink.formats.operator_ranges import split_operator_ranges
from timesink.formats.sqlite_file import INTEGER, TEXT
from timesink.model.health import HealthEntry

KERNEL = "CUPTI_ACTIVITY_KIND_KERNEL"
MEMCPY = "CUPTI_ACTIVITY_KIND_MEMCPY"
MEMSET = "CUPTI_ACTIVITY_KIND_MEMSET"
SYNCHRONIZATION = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
GRAPH_TRACE = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
NVTX = "NVTX_EVENTS"

DEVICE_KINDS = {
    KERNEL: "kernel",
    # One row for a whole replayed graph, recorded instead of its kernels.
    GRAPH_TRACE: "kernel",
    MEMCPY: "memcpy",
    MEMSET: "memset",
    SYNCHRONIZATION: "sync",
}
HOST_KINDS = {
    "CUPTI_ACTIVITY_KIND_RUNTIME": "runtime",
    "CUPTI_ACTIVITY_KIND_DRIVER": "driver",
    NVTX: "annotation",
    "CUDNN_EVENTS": "annotation",
    "CUBLAS_EVENTS": "annotation",
    "PROFILER_OVERHEAD": "overhead",
    "CUPTI_ACTIVITY_KIND_OVERHEAD": "overhead",
    "OSRT_API": "other",
}

NVTX_MARKS = (34,)
NVTX_RANGES = (59, 60, 70, 71)
"""Push/pop and start/end, recorded by the program or imported from a text file."""
NVTX_DOMAIN = 75
NVTX_NAMING = (33, 39, NVTX_DOMAIN)
"""Names of categories, threads and domains: they say nothing about time."""

_COPY_DIRECTIONS = {0: "other", 1: "HtoD", 2: "DtoH", 8: "DtoD", 9: "HtoH", 10: "PtoP"}
_COPY_DIRECTIONS |= {3: "HtoD", 4: "DtoH", 5: "DtoD", 6: "DtoD", 7: "DtoD"}  # to and from arrays
_COPY_DIRECTIONS |= {11: "HtoD", 12: "DtoH", 13: "DtoD"}  # unified memory
_MEMORY_KINDS = {0: "Pageable", 1: "Pinned", 2: "Device", 3: "Array", 4: "Managed", 5: "Static"}
_SYNC_KINDS = {1: "Event Sync", 2: "Stream Wait Event", 3: "Stream Sync", 4: "Context Sync"}
_NO_STREAM = 0xFFFF_FFFF
_VERSION_SUFFIX = r"_v\d{4,}$"

_PLACE = ("start", "end", "globalPid", "deviceId", "streamId", "correlationId")
_GEOMETRY = tuple(f"{what}{axis}" for what in ("grid", "block") for axis in "XYZ")
_KERNEL_SIZES = ("registersPerThread", "staticSharedMemory", "dynamicSharedMemory")
_KERNEL_NAMES = ("demangledName", "shortName", "mangledName")
_MEMORY = ("bytes", "memKind", "copyKind", "srcKind", "dstKind")
_FURTHER = ("syncType", "graphId", "graphNodeId")
_DEVICE_SCHEMA = dict.fromkeys(
    (*_PLACE, *_GEOMETRY, *_KERNEL_SIZES, *_KERNEL_NAMES, *_MEMORY, *_FURTHER), INTEGER
)
_HOST_SCHEMA = {
    **dict.fromkeys(("start", "end", "globalTid", "correlationId"), INTEGER),
    **dict.fromkeys(("nameId", "textId", "eventType", "domainId"), INTEGER),
    "text": TEXT,
}


def read_device(database: ExportTables, table: str, strings: pl.DataFrame) -> pl.DataFrame:
    rows = database.rows(table, _DEVICE_SCHEMA)
    rows = _look_up(rows, strings, _KERNEL_NAMES)
    stream = pl.when(pl.col("streamId") != _NO_STREAM).then(pl.col("streamId"))
    return rows.select(
        "start",
        "end",
        "bytes",
        kind=pl.lit(DEVICE_KINDS[table]),
        category=pl.lit(table),
        name=_device_name(table),
        pid=process_of("globalPid"),
        tid=lane(pl.col("deviceId"), stream),
        device="deviceId",
        stream=stream.cast(pl.String),
        correlation="correlationId",
        registers_per_thread="registersPerThread",
        shared_memory_bytes=pl.col("staticSharedMemory") + pl.col("dynamicSharedMemory"),
        copy_direction=_direction() if table == MEMCPY else pl.lit(None, dtype=pl.String),
        graph_id="graphId",
        graph_node_id="graphNodeId",
        **{f"{name[:-1]}_{name[-1].lower()}": name for name in _GEOMETRY},
    )


def read_host(database: ExportTables, table: str, strings: pl.DataFrame) -> pl.DataFrame:
    """Calls of one table; a table the reader does not know gives `other`."""
    rows = _look_up(database.rows(table, _HOST_SCHEMA), strings, ("nameId", "textId"))
    name = pl.coalesce("text", "nameId_text", "textId_text")
    kind = HOST_KINDS.get(table, "other")
    if kind in ("runtime", "driver"):
        name = name.str.replace(_VERSION_SUFFIX, "")
    calls = rows.select(
        "start",
        "end",
        "eventType",
        "domainId",
        kind=pl.lit(kind),
        category=pl.lit(table),
        name=name,
        pid=process_of("globalTid"),
        tid=(pl.col("globalTid") % 2**24).cast(pl.String),
        correlation="correlationId",
    )
    return split_operator_ranges(calls) if table == NVTX else calls


def keep_timed_nvtx(nvtx: pl.DataFrame) -> tuple[pl.DataFrame, list[HealthEntry]]:
    """Ranges and marks; other NVTX rows carry no time."""
    event = pl.col("eventType").fill_null(NVTX_RANGES[0])
    is_mark = event.is_in(NVTX_MARKS)
    timed = nvtx.filter(is_mark | event.is_in(NVTX_RANGES)).with_columns(
        kind=pl.when(is_mark).then(pl.lit("instant")).otherwise("kind"),
        end=pl.when(is_mark).then(pl.coalesce("end", "start")).otherwise("end"),
    )
    unknown = nvtx.filter(~event.is_in([*NVTX_MARKS, *NVTX_RANGES, *NVTX_NAMING]))
    if unknown.is_empty():
        return timed, []
    example = f"{NVTX}: event type {unknown.item(0, 'eventType')}"
    return timed, [HealthEntry("unknown_phase", unknown.height, example)]


def list_domains(nvtx: pl.DataFrame) -> pl.DataFrame:
    """The domain of each NVTX row that has a named one, as rows of `event_args`."""
    domain = ["pid", "domainId"]
    is_creation = (pl.col("eventType") == NVTX_DOMAIN).fill_null(value=False)
    created = nvtx.filter(is_creation).drop_nulls("name")
    names = created.unique(domain, keep="first").select(
        *domain, value=pl.col("name").map_elements(json.dumps, return_dtype=pl.String)
    )
    return (
        nvtx.filter(~is_creation)
        .join(names, on=domain, maintain_order="left")
        .select("index", "value", key=pl.lit("domain"))
    )


def _look_up(rows: pl.DataFrame, strings: pl.DataFrame, ids: tuple[str, ...]) -> pl.DataFrame:
    for name in ids:
        texts = strings.select(pl.col("id").alias(name), pl.col("value").alias(f"{name}_text"))
        rows = rows.join(texts, on=name, how="left", maintain_order="left")
    return rows


def _device_name(table: str) -> pl.Expr:
    if table == MEMCPY:
        kinds = (_label_expr(end, _MEMORY_KINDS) for end in ("srcKind", "dstKind"))
        ends = pl.format(" ({} -> {})", *kinds)
        return pl.format("Memcpy {}{}", _direction(), ends.fill_null(""))
    if table == MEMSET:
        return pl.format("Memset ({})", _label_expr("memKind", _MEMORY_KINDS).fill_null("Unknown"))
    if table == SYNCHRONIZATION:
        return _label_expr("syncType", _SYNC_KINDS).fill_null("Sync")
    if table == GRAPH_TRACE:
        return pl.format("CUDA graph {}", pl.col("graphId").cast(pl.String).fill_null("?"))
    return pl.coalesce(f"{name}_text" for name in _KERNEL_NAMES)


def _direction() -> pl.Expr:
    return _label_expr("copyKind", _COPY_DIRECTIONS).fill_null("other")


def _label_expr(column: str, labels: dict[int, str]) -> pl.Expr:
    return pl.col(column).replace_strict(labels, default=None, return_dtype=pl.String)


def process_of(global_id: str) -> pl.Expr:
    """The process in the global number of a process or thread."""
    return (pl.col(global_id) // 2**24 % 2**24).cast(pl.String)
