"""JSON of `rocprofv3 --output-format json`: one entry per process.

Sections are decoded into typed records, which is fast; a section with a record of an unexpected
shape is decoded record by record, and what is lost is counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

import msgspec
import polars as pl

from timesink.errors import UnreadableError
from timesink.formats.finish import finish_trace
from timesink.formats.options import ReadOptions
from timesink.formats.packing import SourceFile
from timesink.formats.rocprof import records
from timesink.formats.rocprof.records import (
    Allocation,
    Copy,
    Decoder,
    KernelRecord,
    Process,
    Record,
    Symbol,
)
from timesink.formats.times import close_spans, lane, list_lanes, place_samples
from timesink.model.health import HealthEntry
from timesink.model.trace import Device, Metadata, Trace
from timesink.model.vendors import AMD

# Records of one process as rows of the model, with `start` and `end` as recorded.

GPU_AGENT = 2
_CPU, _CUDA = 0, 1  # c10::DeviceType, which counts ROCm as CUDA

_DIRECTIONS = {
    "MEMORY_COPY_HOST_TO_HOST": "HtoH",
    "MEMORY_COPY_HOST_TO_DEVICE": "HtoD",
    "MEMORY_COPY_DEVICE_TO_HOST": "DtoH",
    "MEMORY_COPY_DEVICE_TO_DEVICE": "DtoD",
}


@dataclass(frozen=True, slots=True)
class Names:
    """What the numbers in a process's records stand for."""

    pid: str | None
    devices: Mapping[int, int]
    """Number of each GPU by the handle of its agent."""
    operations: pl.DataFrame
    symbols: pl.DataFrame
    markers: Mapping[int, str]


def list_symbols(symbols: Sequence[Symbol]) -> pl.DataFrame:
    rows = [(s.kernel_id, _symbol_name(s), s.arch_vgpr_count) for s in symbols]
    schema = {"kernel_id": pl.Int64, "name": pl.String, "registers_per_thread": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row").unique("kernel_id", keep="last")


def _symbol_name(symbol: Symbol) -> str | None:
    names = (
        symbol.formatted_kernel_name,
        symbol.demangled_kernel_name,
        symbol.truncated_kernel_name,
        symbol.kernel_name,
    )
    return next((str(name) for name in names if name), None)


def kernel_rows(kernels: Sequence[KernelRecord], names: Names) -> pl.DataFrame:
    dispatches = [kernel.dispatch_info for kernel in kernels]
    rows = _common_rows(kernels, names).with_columns(
        _integers("kernel_id", [d.kernel_id for d in dispatches]),
        _integers("shared_memory_bytes", [d.group_segment_size for d in dispatches]),
        _integers("device", [names.devices.get(d.agent_id.handle) for d in dispatches]),
        pl.Series("stream", _stream_texts(kernels), dtype=pl.String),
        *(
            _integers(f"{column}_{axis}", [getattr(getattr(d, field), axis) for d in dispatches])
            for column, field in (("grid", "grid_size"), ("block", "workgroup_size"))
            for axis in "xyz"
        ),
    )
    named = rows.join(names.symbols, on="kernel_id", how="left", maintain_order="left")
    # The grid is recorded in work-items, the model counts work-groups.
    return named.with_columns(
        *(_groups(pl.col(f"grid_{axis}"), pl.col(f"block_{axis}")) for axis in "xyz"),
        kind=pl.lit("kernel"),
        tid=lane(pl.col("device"), pl.col("stream")),
    ).drop("kernel_id", "call")


def copy_rows(copies: Sequence[Copy], names: Names) -> pl.DataFrame:
    ends = [
        (names.devices.get(copy.src_agent_id.handle), names.devices.get(copy.dst_agent_id.handle))
        for copy in copies
    ]
    between = [None not in pair and pair[0] != pair[1] for pair in ends]
    recorded = pl.col("call").replace_strict(_DIRECTIONS, default="other", return_dtype=pl.String)
    rows = _common_rows(copies, names).with_columns(
        _integers("bytes", [copy.bytes for copy in copies]),
        _integers("device", [s if t is None else t for s, t in ends]),
        pl.Series("stream", [str(copy.stream_id.handle) for copy in copies], dtype=pl.String),
        pl.Series("between", between, dtype=pl.Boolean),
    )
    rows = rows.with_columns(
        copy_direction=pl.when("between").then(pl.lit("PtoP")).otherwise(recorded)
    )
    return rows.with_columns(
        kind=pl.lit("memcpy"),
        name=pl.format("Memcpy {}", "copy_direction"),
        tid=lane(pl.col("device"), pl.col("stream")),
    ).drop("between", "call")


def call_rows(calls: Sequence[Record], kind: str, names: Names) -> pl.DataFrame:
    rows = _common_rows(calls, names).with_columns(
        pl.Series("tid", [call.thread_id for call in calls], dtype=pl.Int64).cast(pl.String),
        name="call",
        kind=pl.lit(kind),
    )
    if kind != "annotation":
        return rows.drop("call")
    texts = [names.markers.get(call.correlation_id.internal or 0) for call in calls]
    is_mark = pl.col("call").str.starts_with("roctxMark").fill_null(value=False)
    return rows.with_columns(
        name=pl.coalesce(pl.Series(texts, dtype=pl.String), "call"),
        kind=pl.when(is_mark).then(pl.lit("instant")).otherwise("kind"),
    ).drop("call")


def memory_rows(allocations: Sequence[Allocation], names: Names) -> pl.DataFrame:
    devices = [names.devices.get(record.agent_id.handle) for record in allocations]
    addresses = [_to_address(record.address) for record in allocations]
    threads = _integers("tid", [record.thread_id for record in allocations])
    # Bytes allocated or freed; a free does not repeat the size, so it is remembered.
    sizes: dict[int | None, int] = {}
    changes: list[int | None] = [None] * len(allocations)
    in_time = sorted(range(len(allocations)), key=lambda i: allocations[i].start_timestamp or 0)
    for position in in_time:
        size = allocations[position].allocation_size
        if size:
            changes[position] = sizes[addresses[position]] = size
        elif (freed := sizes.pop(addresses[position], None)) is not None:
            changes[position] = -freed
    return pl.DataFrame(
        [
            _integers("start", [record.start_timestamp for record in allocations]),
            threads.cast(pl.String),
            _integers("device", [-1 if device is None else device for device in devices]),
            _integers("device_type", [_CPU if device is None else _CUDA for device in devices]),
            pl.Series("address", addresses, dtype=pl.UInt64),
            _integers("bytes", changes),
        ]
    ).with_columns(pid=pl.lit(names.pid, dtype=pl.String))


def _common_rows(records: Sequence[Record], names: Names) -> pl.DataFrame:
    rows = pl.DataFrame(
        [
            _integers("kind", [record.kind for record in records]),
            _integers("operation", [record.operation for record in records]),
            _integers("start", [record.start_timestamp for record in records]),
            _integers("end", [record.end_timestamp for record in records]),
            _integers("correlation", [record.correlation_id.internal for record in records]),
        ]
    )
    named = rows.join(names.operations, on=["kind", "operation"], how="left", maintain_order="left")
    return named.with_columns(pid=pl.lit(names.pid, dtype=pl.String)).drop("kind", "operation")


def _integers(name: str, values: list[int | None]) -> pl.Series:
    return pl.Series(name, values, dtype=pl.Int64)


def _groups(items: pl.Expr, group_size: pl.Expr) -> pl.Expr:
    return pl.when(group_size > 0).then((items + group_size - 1) // group_size)


def _stream_texts(kernels: Sequence[KernelRecord]) -> list[str]:
    """Streams, or queues when no stream was recorded: handle 0 is then on every record."""
    if any(kernel.stream_id.handle for kernel in kernels):
        return [str(kernel.stream_id.handle) for kernel in kernels]
    return [f"queue {kernel.dispatch_info.queue_id.handle}" for kernel in kernels]


def _to_address(address: str | int) -> int | None:
    try:
        number = int(address, 16) if isinstance(address, str) else address
    except ValueError:
        return None
    return number if 0 <= number < 2**64 else None


NAME = "rocprof"

_OPENING = re.compile(rb'\s*\{\s*"rocprofiler-sdk-tool"\s*:')
_CALL_KINDS = {
    "hip_api": "runtime",
    "hsa_api": "driver",
    "marker_api": "annotation",
    "rccl_api": "collective",
    "rocdecode_api": "other",
    "rocjpeg_api": "other",
}
_LOST = "lost_events"


@dataclass(frozen=True, slots=True)
class _ProcessReading:
    """What one process recorded."""

    facts: records.ProcessFacts
    devices: dict[int, Device]
    sections: list[tuple[str, str, pl.DataFrame]]
    """Section of the file, table of the model, rows with `start` and `end` as recorded."""


def sniff(head: bytes, name: str) -> bool:  # noqa: ARG001
    return _OPENING.match(head) is not None


def read(source: SourceFile, options: ReadOptions) -> Trace:  # noqa: ARG001
    health: list[HealthEntry] = []
    readings = [_read_process(process, health) for process in _load(source, health)]
    parts: dict[str, list[pl.DataFrame]] = {}
    events = 0
    for reading in readings:
        for section, table, rows in reading.sections:
            place = close_spans if "end" in rows.columns else place_samples
            placed, found = place(rows.with_row_index("index", offset=events), section)
            parts.setdefault(table, []).append(placed)
            health += found
            events += rows.height
    frames = {table: pl.concat(rows, how="diagonal") for table, rows in parts.items()}
    frames["tracks"] = _name_tracks(readings, frames.get("device"))
    return finish_trace(_describe(source, readings, events), frames, health)


def _load(source: SourceFile, health: list[HealthEntry]) -> list[Process]:
    packed, lost = source.content()
    content = _replace_invalid(packed, health)
    try:
        processes = msgspec.json.decode(content, type=records.File).processes
    except msgspec.ValidationError as error:
        raise UnreadableError.unrecognised(
            source.path, f"rocprofv3 JSON of an unknown shape: {error}"
        ) from None
    except msgspec.DecodeError as error:
        reason = "; ".join([str(error), *(entry.example for entry in lost)])
        raise UnreadableError.damaged(
            source.path, reason, "let rocprofv3 finish writing, or copy the file again"
        ) from None
    health += lost
    return processes


def _replace_invalid(content: bytes, health: list[HealthEntry]) -> bytes:
    try:
        content.decode()
    except UnicodeDecodeError as error:
        text = content.decode("utf-8", "replace")
        example = repr(content[max(error.start - 20, 0) : error.end])
        health.append(HealthEntry("invalid_utf8", text.count("\ufffd"), example))
        return text.encode()
    return content


def _read_process(process: Process, health: list[HealthEntry]) -> _ProcessReading:
    decoder = Decoder(health)
    facts = (
        decoder.one(process.metadata, records.ProcessFacts, "metadata") or records.ProcessFacts()
    )
    agents = decoder.many(process.agents, records.Agent, "agents")
    kinds = decoder.many(process.strings.buffer_records, records.Operations, "operations")
    symbols = decoder.many(process.kernel_symbols, records.Symbol, "kernel_symbols")
    markers = decoder.many(process.strings.marker_api, records.Marker, "markers")
    # GPUs counted from 0 in the order of their nodes, by the handle of their agent.
    gpus = sorted((a for a in agents if a.type == GPU_AGENT), key=lambda agent: agent.node_id)
    numbers = {agent.id.handle: number for number, agent in enumerate(gpus)}
    rows = [
        (number, operation, kind.kind, name)
        for number, kind in enumerate(kinds)
        for operation, name in enumerate(kind.operations)
    ]
    schema = {"kind": pl.Int64, "operation": pl.Int64, "category": pl.String, "call": pl.String}
    names = Names(
        pid=None if facts.pid is None else str(facts.pid),
        devices=numbers,
        operations=pl.DataFrame(rows, schema=schema, orient="row"),
        symbols=list_symbols(symbols),
        markers={marker.key: marker.value for marker in markers},
    )
    devices = {
        numbers[agent.id.handle]: _to_device(agent, numbers[agent.id.handle])
        for agent in agents
        if agent.id.handle in numbers
    }
    return _ProcessReading(facts, devices, list(_read_sections(process, names, decoder)))


def _read_sections(
    process: Process, names: Names, decoder: Decoder
) -> Iterator[tuple[str, str, pl.DataFrame]]:
    for section, raw in process.buffer_records.items():
        if section == "kernel_dispatch":
            kernels = decoder.many(raw, records.KernelRecord, section, _LOST)
            yield section, "device", kernel_rows(kernels, names)
        elif section == "memory_copy":
            copies = decoder.many(raw, records.Copy, section, _LOST)
            yield section, "device", copy_rows(copies, names)
        elif section == "memory_allocation":
            allocations = decoder.many(raw, records.Allocation, section, _LOST)
            yield section, "memory", memory_rows(allocations, names)
        elif section in _CALL_KINDS:
            calls = decoder.many(raw, records.Record, section, _LOST)
            yield section, "host", call_rows(calls, _CALL_KINDS[section], names)
        else:
            decoder.skip(raw, section)
    for section, raw in process.callback_records.items():
        decoder.skip(raw, section)


def _to_device(agent: records.Agent, number: int) -> Device:
    return Device(
        id=number,
        name=agent.product_name or agent.name,
        memory_bytes=sum(bank.size_in_bytes for bank in agent.mem_banks) or None,
        compute_capability=agent.name or None,
        multiprocessors=agent.cu_count,
        properties={
            key: value
            for key, value in msgspec.structs.asdict(agent).items()
            if isinstance(value, str | int) and value
        },
    )


def _name_tracks(readings: list[_ProcessReading], device: pl.DataFrame | None) -> pl.DataFrame:
    processes = [
        (str(reading.facts.pid), PurePath(reading.facts.command[0]).name)
        for reading in readings
        if reading.facts.pid is not None and reading.facts.command
    ]
    named = pl.DataFrame(processes, schema={"pid": pl.String, "name": pl.String}, orient="row")
    if device is None:
        return named
    return pl.concat([named, list_lanes(device)], how="diagonal")


def _describe(source: SourceFile, readings: list[_ProcessReading], events: int) -> Metadata:
    devices: dict[int, Device] = {}
    for reading in readings:
        devices |= reading.devices
    node = readings[0].facts.node if readings else records.Node()
    machine = {"host_name": node.hostname, "system": node.release}
    return Metadata(
        source=str(source.path),
        format=NAME,
        vendor=AMD.name,
        events=events,
        clock="monotonic",
        devices=tuple(devices[number] for number in sorted(devices)),
        extra={
            **{key: value for key, value in machine.items() if value},
            "commands": [" ".join(reading.facts.command) for reading in readings],
        },
    )
