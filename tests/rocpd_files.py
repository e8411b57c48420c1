"""Databases of rocprofv3 in the published schemas, filled by hand."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

EVENT = "category_id INTEGER, stack_id INTEGER, parent_stack_id INTEGER, correlation_id INTEGER"
EVENT += ", extdata JSONB DEFAULT '{}' NOT NULL"
NODE = "hash BIGINT, machine_id TEXT, system_name TEXT, hostname TEXT, release TEXT, version TEXT"
SIZES = ", ".join(
    f"{part}_size_{axis} INTEGER NOT NULL" for part in ("workgroup", "grid") for axis in "xyz"
)
PLACE = "nid INTEGER, pid INTEGER, tid INTEGER"
ON_DEVICE = "queue_id INTEGER, stream_id INTEGER"
TIMES = "start BIGINT NOT NULL, end BIGINT NOT NULL"
KERNEL = "kernel_id INTEGER, dispatch_id INTEGER, private_segment_size INTEGER, "
KERNEL += f"group_segment_size INTEGER, {SIZES}, region_name_id INTEGER, event_id INTEGER"
COPY = "name_id INTEGER, dst_agent_id INTEGER, dst_address INTEGER, src_agent_id INTEGER, "
COPY += "src_address INTEGER, size INTEGER, region_name_id INTEGER, event_id INTEGER"

COMMON = {
    "metadata": "tag TEXT NOT NULL, value TEXT NOT NULL",
    "string": "guid TEXT, string TEXT NOT NULL UNIQUE",
    "info_node": f"guid TEXT, {NODE}",
    "info_process": f"guid TEXT, nid INTEGER, ppid INTEGER, pid INTEGER, command TEXT, {TIMES}",
    "info_thread": "guid TEXT, nid INTEGER, ppid INTEGER, pid INTEGER, tid INTEGER, name TEXT",
    "info_agent": "guid TEXT, nid INTEGER, pid INTEGER, type TEXT, absolute_index INTEGER, "
    "logical_index INTEGER, type_index INTEGER, name TEXT, product_name TEXT, extdata JSONB",
    "info_queue": "guid TEXT, nid INTEGER, pid INTEGER, name TEXT",
    "info_stream": "guid TEXT, nid INTEGER, pid INTEGER, name TEXT",
    "info_kernel_symbol": "guid TEXT, kernel_name TEXT, display_name TEXT, "
    "arch_vgpr_count INTEGER, accum_vgpr_count INTEGER",
    "info_pmc": "guid TEXT, nid INTEGER, pid INTEGER, agent_id INTEGER, name TEXT, symbol TEXT",
    "event": f"guid TEXT, {EVENT}",
    "arg": "guid TEXT, event_id INTEGER, position INTEGER, type TEXT, name TEXT, value TEXT",
    "pmc_event": "guid TEXT, event_id INTEGER, pmc_id INTEGER, value REAL",
}
SCHEMA_3 = {
    **COMMON,
    "track": "guid TEXT, nid INTEGER, pid INTEGER, tid INTEGER, name_id INTEGER",
    "region": f"guid TEXT, {PLACE}, {TIMES}, name_id INTEGER, event_id INTEGER",
    "sample": "guid TEXT, track_id INTEGER, timestamp BIGINT, event_id INTEGER",
    "kernel_dispatch": f"guid TEXT, {PLACE}, agent_id INTEGER, {ON_DEVICE}, {TIMES}, {KERNEL}",
    "memory_copy": f"guid TEXT, {PLACE}, {TIMES}, {ON_DEVICE}, {COPY}",
    "memory_allocate": f"guid TEXT, {PLACE}, agent_id INTEGER, type TEXT, level TEXT, {TIMES}, "
    f"address INTEGER, size INTEGER, {ON_DEVICE}, event_id INTEGER",
}
TRACK = "track_id INTEGER NOT NULL"
SCHEMA_4 = {
    **COMMON,
    "info_category": "guid TEXT, name TEXT NOT NULL",
    "track": "guid TEXT, nid INTEGER, ppid INTEGER, pid INTEGER, tid INTEGER, agent_id INTEGER, "
    "queue_id INTEGER, stream_id INTEGER, name_id INTEGER",
    "region": f"guid TEXT, {TRACK}, name_id INTEGER, {TIMES}, event_id INTEGER",
    "sample": f"guid TEXT, {TRACK}, name_id INTEGER, timestamp BIGINT, event_id INTEGER",
    "kernel_dispatch": f"guid TEXT, {TRACK}, {TIMES}, {KERNEL}",
    "memory_copy": f"guid TEXT, {TRACK}, {TIMES}, {COPY}",
    "memory_allocate": f"guid TEXT, {TRACK}, type TEXT, level TEXT, {TIMES}, name_id INTEGER, "
    "address INTEGER, size INTEGER, event_id INTEGER",
}
STAMPED = {
    **SCHEMA_4,
    "timestamp": "guid TEXT, value BIGINT NOT NULL, phase INTEGER, track_id INTEGER",
    **{
        name: SCHEMA_4[name].replace(TIMES, "start_id INTEGER, end_id INTEGER")
        for name in ("region", "kernel_dispatch", "memory_copy", "memory_allocate")
    },
    "sample": f"guid TEXT, {TRACK}, name_id INTEGER, timestamp_id INTEGER, event_id INTEGER",
}
SCHEMAS = {"3.0.0": SCHEMA_3, "4.0.0": STAMPED, "4.1.0": SCHEMA_4}

GPU, SECOND_GPU = 4, 5
STRINGS = (
    *("HIP_RUNTIME_API", "HSA_CORE_API", "MARKER_CORE_RANGE_API", "KERNEL_DISPATCH"),
    *("MEMORY_COPY", "MEMORY_ALLOCATION", "hipLaunchKernel", "hsa_signal_wait", "roctxRangePushA"),
    *("MEMORY_COPY_HOST_TO_DEVICE", "gemm", "hipMemcpyAsync", "RCCL_API", "ncclAllReduce"),
)


def suffix_of(process: int) -> str:
    return f"_{process:08x}_0000_7000_8000_{process:012x}"


class _Writer:
    """One process's tables, in one of the schemas."""

    def __init__(self, connection: sqlite3.Connection, version: str, suffix: str) -> None:
        self.connection, self.suffix = connection, suffix
        self.schema = SCHEMAS[version]
        self.guid = suffix.strip("_").replace("_", "-")
        self.tracks: dict[tuple[int | None, ...], int] = {}
        for name, columns in self.schema.items():
            connection.execute(
                f'CREATE TABLE "rocpd_{name}{suffix}" (id INTEGER NOT NULL PRIMARY KEY, {columns})'
            )
        self.add("metadata", tag="schema_version", value=version)
        for text in STRINGS:
            self.add("string", string=text)
        if "info_category" in self.schema:
            for text in STRINGS:
                self.add("info_category", name=text)

    def add(self, name: str, /, **values: object) -> int:
        columns = self.schema[name]
        if "guid" in columns:
            values = {"guid": self.guid, **values}
        names = ", ".join(f'"{key}"' for key in values)
        marks = ", ".join("?" for _ in values)
        cursor = self.connection.execute(
            f'INSERT INTO "rocpd_{name}{self.suffix}" ({names}) VALUES ({marks})',  # noqa: S608
            tuple(values.values()),
        )
        return int(cursor.lastrowid or 0)

    def event(self, category: str, correlation: int, **extdata: object) -> int:
        return self.add(
            "event",
            category_id=STRINGS.index(category) + 1,
            stack_id=correlation,
            parent_stack_id=correlation,
            correlation_id=0,
            extdata=json.dumps(extdata),
        )

    def place(self, **values: int | None) -> dict[str, object]:
        """Where an event is: in its row, or in that of its track."""
        if "track_id" not in self.schema["region"]:
            return {key: value for key, value in values.items() if value is not None}
        key = tuple(values.items())
        if key not in self.tracks:
            self.tracks[key] = self.add("track", **values)
        return {"track_id": self.tracks[key]}

    def times(self, start: int, end: int) -> dict[str, object]:
        if "timestamp" not in self.schema:
            return {"start": start, "end": end}
        return {
            "start_id": self.add("timestamp", value=start, phase=1),
            "end_id": self.add("timestamp", value=end, phase=2),
        }

    def text(self, name: str) -> int:
        return STRINGS.index(name) + 1


def fill(writer: _Writer, pid: int, steps: int, start: int) -> None:
    """A program that copies, launches a kernel and marks each step."""
    writer.add("info_node", id=1, hash=7, machine_id="m", hostname="node7", release="6.8")
    writer.add(
        "info_process",
        id=pid,
        nid=1,
        ppid=1,
        pid=pid,
        command="/usr/bin/train --fast",
        start=0,
        end=9,
    )
    writer.add("info_thread", id=pid + 1, nid=1, pid=pid, tid=pid + 1, name="main")
    facts = json.dumps({"cu_count": 304, "mem_banks": [{"size_in_bytes": 192 << 30}]})
    writer.add("info_agent", id=0, nid=1, pid=pid, type="CPU", absolute_index=0, name="EPYC")
    for number, agent in enumerate((GPU, SECOND_GPU)):
        writer.add(
            "info_agent",
            id=agent,
            nid=1,
            pid=pid,
            type="GPU",
            absolute_index=agent,
            logical_index=number,
            type_index=number,
            name="gfx942",
            product_name=f"AMD Instinct MI300X {number}",
            extdata=facts,
        )
    writer.add(
        "info_kernel_symbol", id=3, kernel_name="_Zgemm", display_name="gemm", arch_vgpr_count=64
    )
    writer.add("info_pmc", id=11, nid=1, pid=pid, agent_id=GPU, name="SQ_WAVES", symbol="SQ_WAVES")
    host = {"nid": 1, "pid": pid, "tid": pid + 1}
    work = {**host, "agent_id": GPU, "queue_id": 1, "stream_id": 2}
    for step in range(steps):
        at = start + 100_000 * step
        marker = writer.event("MARKER_CORE_RANGE_API", 10 * step + 1, message=f"step {step}")
        region = {"name_id": writer.text("roctxRangePushA"), "event_id": marker}
        writer.add("region", **writer.place(**host), **writer.times(at, at + 90_000), **region)
        copy_event = writer.event("MEMORY_COPY", 10 * step + 2)
        call = writer.event("HIP_RUNTIME_API", 10 * step + 2)
        region = {"name_id": writer.text("hipMemcpyAsync"), "event_id": call}
        writer.add(
            "region", **writer.place(**host), **writer.times(at + 1_000, at + 3_000), **region
        )
        copy_place = {key: value for key, value in work.items() if key != "agent_id"}
        if "track_id" in writer.schema["memory_copy"]:
            copy_place = work
        writer.add(
            "memory_copy",
            **writer.place(**copy_place),
            **writer.times(at + 4_000, at + 9_000),
            name_id=writer.text("MEMORY_COPY_HOST_TO_DEVICE"),
            event_id=copy_event,
            src_agent_id=0,
            dst_agent_id=GPU,
            size=1 << 20,
        )
        call = writer.event("HIP_RUNTIME_API", 10 * step + 3)
        region = {"name_id": writer.text("hipLaunchKernel"), "event_id": call}
        writer.add(
            "region", **writer.place(**host), **writer.times(at + 10_000, at + 12_000), **region
        )
        dispatch = writer.event("KERNEL_DISPATCH", 10 * step + 3)
        writer.add(
            "kernel_dispatch",
            **writer.place(**work),
            **writer.times(at + 20_000, at + 60_000 + step),
            kernel_id=3,
            dispatch_id=step + 1,
            group_segment_size=4096,
            workgroup_size_x=256,
            workgroup_size_y=1,
            workgroup_size_z=1,
            grid_size_x=65_536,
            grid_size_y=2,
            grid_size_z=1,
            event_id=dispatch,
        )
        writer.add("pmc_event", event_id=dispatch, pmc_id=11, value=100.0 + step)
        wait = writer.event("HSA_CORE_API", 10 * step + 4)
        region = {"name_id": writer.text("hsa_signal_wait"), "event_id": wait}
        writer.add(
            "region", **writer.place(**host), **writer.times(at + 13_000, at + 61_000), **region
        )
    for number, (sort, size) in enumerate((("ALLOC", 1 << 20), ("FREE", 0))):
        event = writer.event("MEMORY_ALLOCATION", 900 + number)
        place = {**host, "agent_id": GPU if sort == "ALLOC" else None}
        times = writer.times(start + 50 * number, start + 50 * number + 10)
        row = {"type": sort, "level": "REAL", "address": 0x7F0000000000, "size": size}
        writer.add("memory_allocate", **writer.place(**place), **times, **row, event_id=event)


def write_rocpd(
    path: Path, version: str = "3.0.0", processes: tuple[int, ...] = (4711,), steps: int = 3
) -> Path:
    """A database of these processes."""
    with closing(sqlite3.connect(path)) as connection:
        for number, pid in enumerate(processes):
            fill(_Writer(connection, version, suffix_of(pid)), pid, steps, 5_000_000 + 300 * number)
        connection.commit()
    return path
