"""JSON of `rocprofv3 --output-format json`: one entry per process.

Sections are decoded into typed records, which is fast; a section with a record of an unexpected
shape is decoded record by record, and what is lost is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from operator import attrgetter
from pathlib import PurePath
from typing import Annotated, Any, TypeVar

import msgspec
import polars as pl

from timesink.errors import UnreadableError
from timesink.formats.finish import address_of, close_spans, finish_trace, lane, list_lanes
from timesink.formats.operator_ranges import split_operator_ranges
from timesink.formats.read_options import ReadOptions
from timesink.formats.source_file import SourceFile
from timesink.model.health import HealthEntry
from timesink.model.trace import Device, Metadata, Trace
from timesink.model.vendors import AMD
from timesink.patterns import regex

# Shapes of what rocprofv3 writes.  Only the fields the model uses are spelled; msgspec skips the
# others.

Integer = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""A number that fits a column."""
Text = str | int
"""Names of the empty first symbol are written as 0."""

_Shape = TypeVar("_Shape")


class Handle(msgspec.Struct, frozen=True, gc=False):
    handle: int = 0


class Correlation(msgspec.Struct, frozen=True, gc=False):
    internal: Integer | None = None


class Extent(msgspec.Struct, frozen=True, gc=False):
    x: Integer = 1
    y: Integer = 1
    z: Integer = 1


class Record(msgspec.Struct, frozen=True, gc=False):
    """What every record of a buffer has; calls have nothing else of interest."""

    kind: Integer | None = None
    operation: Integer | None = None
    thread_id: Integer | None = None
    correlation_id: Correlation = Correlation()
    start_timestamp: Integer | None = None
    end_timestamp: Integer | None = None


class Dispatch(msgspec.Struct, frozen=True, gc=False):
    agent_id: Handle = Handle()
    queue_id: Handle = Handle()
    kernel_id: Integer | None = None
    group_segment_size: Integer | None = None
    workgroup_size: Extent = Extent()
    grid_size: Extent = Extent()


class KernelRecord(Record, frozen=True, gc=False):
    dispatch_info: Dispatch = Dispatch()
    stream_id: Handle = Handle()


class Copy(Record, frozen=True, gc=False):
    src_agent_id: Handle = Handle()
    dst_agent_id: Handle = Handle()
    stream_id: Handle = Handle()
    bytes: Integer | None = None


class Allocation(Record, frozen=True, gc=False):
    agent_id: Handle = Handle()
    address: Text = 0
    allocation_size: Integer | None = None


class Symbol(msgspec.Struct, frozen=True, gc=False):
    """A kernel; the names it goes by, the best to read first."""

    kernel_id: Integer
    formatted_kernel_name: Text = ""
    demangled_kernel_name: Text = ""
    truncated_kernel_name: Text = ""
    kernel_name: Text = ""
    arch_vgpr_count: Integer | None = None


class Bank(msgspec.Struct, frozen=True, gc=False):
    size_in_bytes: int = 0


class Agent(msgspec.Struct, frozen=True, gc=False):
    id: Handle
    type: int = 0
    node_id: int = 0
    name: str = ""
    product_name: str = ""
    cu_count: int | None = None
    simd_count: int | None = None
    wave_front_size: int | None = None
    max_waves_per_simd: int | None = None
    lds_size_in_kb: int | None = None
    num_xcc: int | None = None
    max_engine_clk_fcompute: int | None = None
    mem_banks: tuple[Bank, ...] = ()


class Operations(msgspec.Struct, frozen=True, gc=False):
    """Names of the operations of one kind; kinds are numbered by position."""

    kind: str = ""
    operations: tuple[str, ...] = ()


class Marker(msgspec.Struct, frozen=True, gc=False):
    """Text of a marker, under the correlation of its record."""

    key: Integer
    value: str


class Node(msgspec.Struct, frozen=True):
    hostname: str = ""
    release: str = ""


class ProcessFacts(msgspec.Struct, frozen=True):
    pid: int | None = None
    node: Node = Node()
    command: tuple[str, ...] = ()


class Strings(msgspec.Struct, frozen=True):
    buffer_records: msgspec.Raw = msgspec.Raw(b"[]")
    marker_api: msgspec.Raw = msgspec.Raw(b"[]")


class ProcessRecords(msgspec.Struct, frozen=True):
    """One entry of the file; its lists stay raw until their shape is known."""

    metadata: msgspec.Raw = msgspec.Raw(b"{}")
    agents: msgspec.Raw = msgspec.Raw(b"[]")
    strings: Strings = Strings()
    kernel_symbols: msgspec.Raw = msgspec.Raw(b"[]")
    callback_records: dict[str, msgspec.Raw] = msgspec.field(default_factory=dict)
    buffer_records: dict[str, msgspec.Raw] = msgspec.field(default_factory=dict)


class File(msgspec.Struct, frozen=True):
    processes: list[ProcessRecords] = msgspec.field(name="rocprofiler-sdk-tool")


def _decode_all(
    raw: msgspec.Raw,
    shape: type[_Shape],
    section: str,
    health: list[HealthEntry],
    code: str = "bad_metadata",
) -> list[_Shape]:
    """The items of a section; those of another shape are counted under the code."""
    try:
        return msgspec.json.decode(raw, type=list[shape])  # type: ignore[valid-type]
    except msgspec.ValidationError as error:
        first_error = f"{section}: {error}"
    try:
        items = msgspec.json.decode(raw, type=list[msgspec.Raw])
    except msgspec.ValidationError:
        health.append(HealthEntry(code, 1, first_error))
        return []
    decoder = msgspec.json.Decoder(shape)
    decoded = []
    for item in items:
        with suppress(msgspec.ValidationError):
            decoded.append(decoder.decode(item))
    health.append(HealthEntry(code, len(items) - len(decoded), first_error))
    return decoded


# Records of one process as rows of the model, with `start` and `end` as recorded.

GPU_AGENT = 2
_CPU, _CUDA = 0, 1  # c10::DeviceType, which counts ROCm as CUDA

_DIRECTIONS = {
    "MEMORY_COPY_HOST_TO_HOST": "HtoH",
    "MEMORY_COPY_HOST_TO_DEVICE": "HtoD",
    "MEMORY_COPY_DEVICE_TO_HOST": "DtoH",
    "MEMORY_COPY_DEVICE_TO_DEVICE": "DtoD",
}


class Names(msgspec.Struct, frozen=True):
    """What the numbers in a process's records stand for."""

    pid: str | None
    devices: Mapping[int, int]
    """Number of each GPU by the handle of its agent."""
    operations: pl.DataFrame
    symbols: pl.DataFrame
    markers: Mapping[int, str]


def kernel_rows(kernels: Sequence[KernelRecord], names: Names) -> pl.DataFrame:
    dispatches = [kernel.dispatch_info for kernel in kernels]
    if any(kernel.stream_id.handle for kernel in kernels):
        streams = [str(kernel.stream_id.handle) for kernel in kernels]
    else:
        # Handle 0 is on every record when no stream was recorded.
        streams = [f"queue {dispatch.queue_id.handle}" for dispatch in dispatches]
    extents = {f"grid_{axis}": f"grid_size.{axis}" for axis in "xyz"}
    extents |= {f"block_{axis}": f"workgroup_size.{axis}" for axis in "xyz"}
    rows = _common_rows(kernels, names).with_columns(
        *_number_columns(
            dispatches, kernel_id="kernel_id", shared_memory_bytes="group_segment_size"
        ),
        *_number_columns(dispatches, **extents),
        _integers("device", [names.devices.get(d.agent_id.handle) for d in dispatches]),
        pl.Series("stream", streams, dtype=pl.String),
    )
    named = rows.join(names.symbols, on="kernel_id", how="left", maintain_order="left")
    # The grid is recorded in work-items, the model counts work-groups.
    sizes = {f"grid_{axis}": pl.col(f"block_{axis}") for axis in "xyz"}
    return named.with_columns(
        *(
            pl.when(size > 0).then((pl.col(grid) + size - 1) // size).alias(grid)
            for grid, size in sizes.items()
        ),
        kind=pl.lit("kernel"),
        tid=lane(pl.col("device"), pl.col("stream")),
    ).drop("kernel_id", "call")


def copy_rows(copies: Sequence[Copy], names: Names) -> pl.DataFrame:
    ends = [
        (names.devices.get(copy.src_agent_id.handle), names.devices.get(copy.dst_agent_id.handle))
        for copy in copies
    ]
    between = pl.Series([None not in (s, t) and s != t for s, t in ends], dtype=pl.Boolean)
    recorded = pl.col("call").replace_strict(_DIRECTIONS, default="other", return_dtype=pl.String)
    rows = _common_rows(copies, names).with_columns(
        *_number_columns(copies, bytes="bytes"),
        _integers("device", [s if t is None else t for s, t in ends]),
        pl.Series("stream", [str(copy.stream_id.handle) for copy in copies], dtype=pl.String),
        copy_direction=pl.when(between).then(pl.lit("PtoP")).otherwise(recorded),
    )
    return rows.with_columns(
        kind=pl.lit("memcpy"),
        name=pl.format("Memcpy {}", "copy_direction"),
        tid=lane(pl.col("device"), pl.col("stream")),
    ).drop("call")


def call_rows(calls: Sequence[Record], names: Names, kind: str) -> pl.DataFrame:
    rows = _common_rows(calls, names).with_columns(
        pl.Series("tid", [call.thread_id for call in calls], dtype=pl.Int64).cast(pl.String),
        name="call",
        kind=pl.lit(kind),
    )
    if kind != "annotation":
        return rows.drop("call")
    texts = [names.markers.get(call.correlation_id.internal or 0) for call in calls]
    is_mark = pl.col("call").str.starts_with("roctxMark").fill_null(value=False)
    marks = rows.with_columns(
        name=pl.coalesce(pl.Series(texts, dtype=pl.String), "call"),
        kind=pl.when(is_mark).then(pl.lit("instant")).otherwise("kind"),
    ).drop("call")
    return split_operator_ranges(marks)


def memory_rows(allocations: Sequence[Allocation], names: Names) -> pl.DataFrame:
    devices = [names.devices.get(record.agent_id.handle) for record in allocations]
    addresses = [address_of(record.address, 16) for record in allocations]
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
            *_number_columns(allocations, start="start_timestamp", tid="thread_id"),
            _integers("device", [-1 if device is None else device for device in devices]),
            _integers("device_type", [_CPU if device is None else _CUDA for device in devices]),
            pl.Series("address", addresses, dtype=pl.UInt64),
            _integers("bytes", changes),
        ]
    ).with_columns(pl.col("tid").cast(pl.String), pid=pl.lit(names.pid, dtype=pl.String))


def _common_rows(records: Sequence[Record], names: Names) -> pl.DataFrame:
    times = _number_columns(records, start="start_timestamp", end="end_timestamp")
    numbers = _number_columns(
        records, kind="kind", operation="operation", correlation="correlation_id.internal"
    )
    rows = pl.DataFrame([*times, *numbers])
    named = rows.join(names.operations, on=["kind", "operation"], how="left", maintain_order="left")
    return named.with_columns(pid=pl.lit(names.pid, dtype=pl.String)).drop("kind", "operation")


def _number_columns(records: Sequence[Any], **fields: str) -> list[pl.Series]:
    """Columns of numbers that records tell: where each stands in a record, by its name here."""
    return [_integers(name, list(map(attrgetter(at), records))) for name, at in fields.items()]


def _integers(name: str, values: list[int | None]) -> pl.Series:
    return pl.Series(name, values, dtype=pl.Int64)


NAME = "rocprof"
_PACKING = ("truncated_archive", "wrong_checksum")

_OPENING = regex(rb'\s*\{\s*"rocprofiler-sdk-tool"\s*:')
_CALL_KINDS = {
    "hip_api": "runtime",
    "hsa_api": "driver",
    "marker_api": "annotation",
    "rccl_api": "collective",
    "rocdecode_api": "other",
    "rocjpeg_api": "other",
}
_Rows = Callable[[Sequence[Any], Names], pl.DataFrame]
_SECTIONS: dict[str, tuple[str, type[Record], _Rows]] = {
    "kernel_dispatch": ("device", KernelRecord, kernel_rows),
    "memory_copy": ("device", Copy, copy_rows),
    "memory_allocation": ("memory", Allocation, memory_rows),
    **{
        section: ("host", Record, partial(call_rows, kind=kind))
        for section, kind in _CALL_KINDS.items()
    },
}
"""Sections of the file: the table of the model each is of, its records, and their rows."""


def sniff(head: bytes, name: str) -> bool:  # noqa: ARG001
    return _OPENING.match(head) is not None


def read(source: SourceFile, options: ReadOptions) -> Trace:  # noqa: ARG001
    processes, health = _load(source)
    every_facts: list[ProcessFacts] = []
    devices: dict[int, Device] = {}
    parts: dict[str, list[pl.DataFrame]] = {}
    events = 0
    for process in processes:
        try:
            facts = msgspec.json.decode(process.metadata, type=ProcessFacts)
        except msgspec.ValidationError as error:
            facts = ProcessFacts()
            health.append(HealthEntry("bad_metadata", 1, f"metadata: {error}"))
        every_facts.append(facts)
        agents = _decode_all(process.agents, Agent, "agents", health)
        # GPUs are counted from 0 in the order of their nodes.
        gpus = sorted((a for a in agents if a.type == GPU_AGENT), key=lambda agent: agent.node_id)
        devices |= {number: _to_device(agent, number) for number, agent in enumerate(gpus)}
        names = _names_of(process, facts, gpus, health)
        for section, raw in process.buffer_records.items():
            if section not in _SECTIONS:
                health.append(_skipped_entry(section, raw))
                continue
            table, shape, rows_of = _SECTIONS[section]
            rows = rows_of(_decode_all(raw, shape, section, health, "lost_events"), names)
            placed, entries = close_spans(rows.with_row_index("index", offset=events), section)
            parts.setdefault(table, []).append(placed)
            health += entries
            events += rows.height
        health += [
            _skipped_entry(section, raw) for section, raw in process.callback_records.items()
        ]
    frames = {table: pl.concat(rows, how="diagonal") for table, rows in parts.items()}
    programs = [
        (str(facts.pid), PurePath(facts.command[0]).name)
        for facts in every_facts
        if facts.pid is not None and facts.command
    ]
    tracks = pl.DataFrame(programs, schema={"pid": pl.String, "name": pl.String}, orient="row")
    if "device" in frames:
        tracks = pl.concat([tracks, list_lanes(frames["device"])], how="diagonal")
    node = every_facts[0].node if every_facts else Node()
    machine = {"host_name": node.hostname, "system": node.release}
    metadata = Metadata(
        source=str(source.path),
        format=NAME,
        vendor=AMD.name,
        events=events,
        clock="monotonic",
        devices=tuple(devices[number] for number in sorted(devices)),
        extra={
            **{key: value for key, value in machine.items() if value},
            "commands": [" ".join(facts.command) for facts in every_facts],
        },
    )
    return finish_trace(metadata, {**frames, "tracks": tracks}, health)


def _load(source: SourceFile) -> tuple[list[ProcessRecords], list[HealthEntry]]:
    """The processes of a file, and what was wrong with its packing and its letters."""
    content, health = source.content()
    try:
        content.decode()
    except UnicodeDecodeError as error:
        text = content.decode("utf-8", "replace")
        example = repr(content[max(error.start - 20, 0) : error.end])
        health.append(HealthEntry("invalid_utf8", text.count("\ufffd"), example))
        content = text.encode()
    try:
        return msgspec.json.decode(content, type=File).processes, health
    except msgspec.ValidationError as error:
        raise UnreadableError.unrecognised(
            source.path, f"rocprofv3 JSON of an unknown shape: {error}"
        ) from None
    except msgspec.DecodeError as error:
        damage = [entry.example for entry in health if entry.code in _PACKING]
        raise UnreadableError.damaged(
            source.path,
            "; ".join([str(error), *damage]),
            "let rocprofv3 finish writing, or copy the file again",
        ) from None


def _names_of(
    process: ProcessRecords, facts: ProcessFacts, gpus: Sequence[Agent], health: list[HealthEntry]
) -> Names:
    kinds = _decode_all(process.strings.buffer_records, Operations, "operations", health)
    symbols = _decode_all(process.kernel_symbols, Symbol, "kernel_symbols", health)
    markers = _decode_all(process.strings.marker_api, Marker, "markers", health)
    operations = [
        (number, operation, kind.kind, name)
        for number, kind in enumerate(kinds)
        for operation, name in enumerate(kind.operations)
    ]
    kernels = []
    for symbol in symbols:
        # Names come in the order in which they are best read.
        kernel_id, *spelled, registers = msgspec.structs.astuple(symbol)
        kernels.append((kernel_id, next((str(name) for name in spelled if name), None), registers))
    return Names(
        pid=None if facts.pid is None else str(facts.pid),
        devices={agent.id.handle: number for number, agent in enumerate(gpus)},
        operations=pl.DataFrame(
            operations,
            {"kind": pl.Int64, "operation": pl.Int64, "category": pl.String, "call": pl.String},
            orient="row",
        ),
        symbols=pl.DataFrame(
            kernels,
            {"kernel_id": pl.Int64, "name": pl.String, "registers_per_thread": pl.Int64},
            orient="row",
        ).unique("kernel_id", keep="last"),
        markers={marker.key: marker.value for marker in markers},
    )


def _skipped_entry(section: str, raw: msgspec.Raw) -> HealthEntry:
    """A section that the model has no place for."""
    try:
        items = len(msgspec.json.decode(raw, type=list[msgspec.Raw]))
    except msgspec.ValidationError:
        items = 1
    return HealthEntry("unknown_phase", items, section)


def _to_device(agent: Agent, number: int) -> Device:
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
