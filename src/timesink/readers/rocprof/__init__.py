"""JSON of `rocprofv3 --output-format json`: one entry per process.

Sections are decoded into typed records, which is fast; a section with a record of an unexpected
shape is decoded record by record, and what is lost is counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath

import msgspec
import polars as pl

from timesink.errors import UnreadableError
from timesink.model.health import HealthEntry
from timesink.model.trace import Device, Metadata, Trace
from timesink.model.vendors import AMD
from timesink.readers.finish import finish_trace
from timesink.readers.lanes import list_lanes
from timesink.readers.options import ReadOptions
from timesink.readers.rocprof import records, tables
from timesink.readers.rocprof.records import Decoder, Process
from timesink.readers.source import SourceFile
from timesink.readers.spans import close_spans, place_samples

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
    numbers = tables.number_gpus(agents)
    names = tables.Names(
        pid=None if facts.pid is None else str(facts.pid),
        devices=numbers,
        operations=tables.list_operations(kinds),
        symbols=tables.list_symbols(symbols),
        markers={marker.key: marker.value for marker in markers},
    )
    devices = {
        numbers[agent.id.handle]: _to_device(agent, numbers[agent.id.handle])
        for agent in agents
        if agent.id.handle in numbers
    }
    return _ProcessReading(facts, devices, list(_read_sections(process, names, decoder)))


def _read_sections(
    process: Process, names: tables.Names, decoder: Decoder
) -> Iterator[tuple[str, str, pl.DataFrame]]:
    for section, raw in process.buffer_records.items():
        if section == "kernel_dispatch":
            kernels = decoder.many(raw, records.KernelRecord, section, _LOST)
            yield section, "device", tables.kernel_rows(kernels, names)
        elif section == "memory_copy":
            copies = decoder.many(raw, records.Copy, section, _LOST)
            yield section, "device", tables.copy_rows(copies, names)
        elif section == "memory_allocation":
            allocations = decoder.many(raw, records.Allocation, section, _LOST)
            yield section, "memory", tables.memory_rows(allocations, names)
        elif section in _CALL_KINDS:
            calls = decoder.many(raw, records.Record, section, _LOST)
            yield section, "host", tables.call_rows(calls, _CALL_KINDS[section], names)
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
