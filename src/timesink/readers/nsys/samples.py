"""Tables of an export that hold samples: hardware metrics and memory operations."""

from __future__ import annotations

import polars as pl

from timesink.model.trace import Device
from timesink.readers.nsys.database import INTEGER, REAL, TEXT, Database

METRICS = "GPU_METRICS"
MEMORY_USAGE = "CUDA_GPU_MEMORY_USAGE_EVENTS"

_FREE = 1
_HOST_MEMORY_KINDS = (0, 1)
_CPU, _CUDA = 0, 1  # c10::DeviceType


def read_counters(database: Database, devices: tuple[Device, ...]) -> pl.DataFrame:
    """Hardware metrics, with `start` in the export's own time."""
    metric = {"typeId": INTEGER, "metricId": INTEGER}
    samples = database.rows(METRICS, {"timestamp": INTEGER, **metric, "value": REAL})
    names = database.rows("TARGET_INFO_GPU_METRICS", {**metric, "metricName": TEXT})
    named = samples.join(
        names.unique(list(metric), keep="first"),
        on=list(metric),
        how="left",
        maintain_order="left",
    )
    return named.select(
        "value",
        start="timestamp",
        counter=pl.coalesce("metricName", pl.format("metric {}", "metricId")),
        device=pl.format("GPU {}", _device_of("typeId", devices)),
        source=pl.lit("trace"),
    )


def _device_of(type_id: str, devices: tuple[Device, ...]) -> pl.Expr:
    """The lowest byte of the type is the machine's number of the GPU, not CUDA's."""
    numbers = {device.properties["id"]: device.id for device in devices}
    machine_number = pl.col(type_id) % 256
    return machine_number.replace(numbers) if numbers else machine_number


def read_memory(database: Database) -> pl.DataFrame:
    """Allocations and frees, with `start` in the export's own time."""
    columns = ("start", "globalPid", "deviceId", "address", "bytes", "memKind")
    rows = database.rows(MEMORY_USAGE, dict.fromkeys((*columns, "memoryOperationType"), INTEGER))
    freed = pl.col("memoryOperationType") == _FREE
    on_host = pl.col("memKind").is_in(_HOST_MEMORY_KINDS).fill_null(value=False)
    return rows.select(
        "start",
        pid=(pl.col("globalPid") // 2**24 % 2**24).cast(pl.String),
        device_type=pl.when(on_host).then(_CPU).otherwise(_CUDA),
        device=pl.when(on_host).then(-1).otherwise("deviceId"),
        address=pl.col("address").reinterpret(signed=False),
        bytes=pl.when(freed).then(-pl.col("bytes")).otherwise("bytes"),
    )
