"""What an export says besides activities: devices, versions, the clock, names of lanes."""

from __future__ import annotations

from itertools import count
from typing import Any

import polars as pl

from timesink.model.trace import Device
from timesink.readers.lanes import list_lanes
from timesink.readers.nsys.database import INTEGER, TEXT, Database

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


def read_devices(database: Database) -> tuple[Device, ...]:
    """The GPUs of the machine, under the numbers that activities use for them."""
    schema = {**dict.fromkeys(_GPU_NUMBERS, INTEGER), **dict.fromkeys(_GPU_TEXTS, TEXT)}
    gpus = database.rows("TARGET_INFO_GPU", schema).drop_nulls("id").sort("id").rows(named=True)
    numbers = _cuda_numbers(database, gpus)
    hidden = [gpu["id"] for gpu in gpus if gpu["id"] not in numbers]
    numbers |= dict(zip(hidden, count(max(numbers.values(), default=-1) + 1), strict=False))
    devices = (_to_device(gpu, numbers[gpu["id"]]) for gpu in gpus)
    return tuple(sorted(devices, key=lambda device: device.id))


def _cuda_numbers(database: Database, gpus: list[dict[str, Any]]) -> dict[int, int]:
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


def read_export_facts(database: Database) -> dict[str, str]:
    """Names and values of every table that describes the export and the machine."""
    facts: dict[str, str] = {}
    for table in (*EXPORT_TABLES, "TARGET_INFO_SYSTEM_ENV"):
        facts |= database.pairs(table)
    return facts


def labelled(facts: dict[str, str], labels: dict[str, str]) -> dict[str, str]:
    """Those of the facts that are there, as they are called here."""
    return {label: facts[name] for name, label in labels.items() if facts.get(name)}


def schema_version_in(facts: dict[str, str]) -> int | None:
    major = facts.get("EXPORT_SCHEMA_VERSION", "").partition(".")[0]
    return int(major) if major.isdecimal() else None


def read_session_start(database: Database) -> int | None:
    """Unix time of the export's zero, in ns."""
    starts = database.rows("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs": INTEGER}).drop_nulls()
    return None if starts.is_empty() else int(starts.item(0, 0))


def read_tracks(
    database: Database, strings: pl.DataFrame, device: pl.DataFrame | None
) -> pl.DataFrame:
    """Names of processes, threads and streams."""
    names = [_process_names(database), _thread_names(database, strings)]
    if device is not None:
        names.append(list_lanes(device))
    return pl.concat(names, how="diagonal")


def _process_names(database: Database) -> pl.DataFrame:
    rows = database.rows("PROCESSES", {"pid": INTEGER, "name": TEXT}).drop_nulls()
    return rows.unique("pid", keep="last", maintain_order=True).cast({"pid": pl.String})


def _thread_names(database: Database, strings: pl.DataFrame) -> pl.DataFrame:
    rows = database.rows("ThreadNames", {"globalTid": INTEGER, "nameId": INTEGER}).drop_nulls()
    named = rows.unique("globalTid", keep="last", maintain_order=True).join(
        strings, left_on="nameId", right_on="id", maintain_order="left"
    )
    return named.select(
        pid=(pl.col("globalTid") // 2**24 % 2**24).cast(pl.String),
        tid=(pl.col("globalTid") % 2**24).cast(pl.String),
        name="value",
    )
