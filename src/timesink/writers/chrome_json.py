"""A trace as clean Chrome JSON, for Perfetto and for other tools."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import polars as pl
from isal import igzip

from timesink.errors import OutputError
from timesink.model.trace import Trace

_HOST_ARGUMENTS = {
    "external_id": "External id",
    "correlation": "correlation",
    "sequence_number": "Sequence number",
    "fwd_thread_id": "Fwd thread id",
    "python_id": "Python id",
    "python_parent_id": "Python parent id",
    "python_module_id": "Python module id",
    "call_stack": "Call stack",
    "module_hierarchy": "Module Hierarchy",
}
_HOST_JSON_ARGUMENTS = {
    "input_dims": "Input Dims",
    "input_types": "Input type",
    "concrete_inputs": "Concrete Inputs",
}
_DEVICE_ARGUMENTS = {
    "device": "device",
    "correlation": "correlation",
    "external_id": "External id",
    "registers_per_thread": "registers per thread",
    "shared_memory_bytes": "shared memory",
    "blocks_per_sm": "blocks per SM",
    "warps_per_sm": "warps per SM",
    "occupancy_pct": "est. achieved occupancy %",
    "bytes": "bytes",
    "graph_id": "graph id",
    "graph_node_id": "graph node id",
}
_COLLECTIVE_ARGUMENTS = {
    "collective": "Collective name",
    "dtype": "dtype",
    "in_elements": "In msg nelems",
    "out_elements": "Out msg nelems",
    "in_split": "In split size",
    "out_split": "Out split size",
    "group_size": "Group size",
    "group_name": "Process Group Name",
    "group_description": "Process Group Description",
    "group_ranks": "Process Group Ranks",
    "rank": "Rank",
    "src_rank": "Src Rank",
    "dst_rank": "Dst Rank",
    "sequence": "Seq",
    "comms_id": "Comms Id",
}
_MEMORY_ARGUMENTS = {
    "device_type": "Device Type",
    "device": "Device Id",
    "address": "Addr",
    "bytes": "Bytes",
    "total_allocated_bytes": "Total Allocated",
    "total_reserved_bytes": "Total Reserved",
}
_FLOW_PHASES = {"start": "s", "step": "t", "end": "f"}
_BATCH_ROWS = 50_000

Event = dict[str, Any]
_encode = msgspec.json.Encoder().encode


def write_chrome_json(trace: Trace, path: Path) -> int:
    """Write a trace; the number of events written."""
    aside = path.with_name(f".{path.name}.writing")
    packed = path.name.lower().endswith(".gz")
    try:
        with igzip.open(aside, "wb") if packed else aside.open("wb") as file:
            written = _write(trace, file)  # type: ignore[arg-type]
        aside.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            aside.unlink()
        raise OutputError.unwritable(path, error.strerror or str(error)) from None
    return written


def _write(trace: Trace, file: BinaryIO) -> int:
    head = _encode(_top_level(trace))
    file.write(head[:-1] + b',\n"traceEvents": [\n')
    written = 0
    for event in events(trace):
        file.write((b",\n" if written else b"") + _encode(event))
        written += 1
    file.write(b"\n]}\n")
    return written


def _top_level(trace: Trace) -> dict[str, Any]:
    metadata = trace.metadata
    distributed = metadata.distributed
    info = {
        "rank": distributed.rank,
        "world_size": distributed.world_size,
        "backend": distributed.backend,
        "pg_config": list(distributed.groups) or None,
    }
    info = {key: value for key, value in info.items() if value is not None}
    top: dict[str, Any] = {
        "schemaVersion": metadata.schema_version or 1,
        "deviceProperties": [
            {**device.properties, "id": device.id, "name": device.name} for device in metadata.devices
        ],
        **({"distributedInfo": info} if info else {}),
        **{key: value for key, value in metadata.versions.items()},
        **metadata.extra,
    }
    if metadata.clock_offset_ns:
        top["baseTimeNanoseconds"] = metadata.clock_offset_ns
    return top


def events(trace: Trace) -> Iterator[Event]:
    """Every event of the trace, table by table."""
    rare = _rare_arguments(trace)
    offset = trace.metadata.clock_offset_ns
    for row in _rows(trace, "tracks"):
        yield from _track_events(row)
    for row in _rows(trace, "host"):
        yield _host_event(row, offset, rare)
    for row in _rows(trace, "device"):
        yield _device_event(row, offset, rare)
    for row in _rows(trace, "memory"):
        yield {
            "ph": "i", "s": "t", "name": "[memory]", **_place(row, offset),
            "args": _given(row, _MEMORY_ARGUMENTS),
        }  # fmt: skip
    for row in _rows(trace, "flows"):
        yield _flow_event(row, offset)
    sampled = trace.lazy("counters").filter(pl.col("source") != "profiler_range")
    for row in _iterate(sampled):
        yield {
            "ph": "C",
            "name": row["counter"],
            "pid": _number(row["device"]),
            "ts": _microseconds(row["ts_ns"] - offset),
            "args": {"value": row["value"]},
        }


def _rows(trace: Trace, table: str) -> Iterator[Event]:
    return _iterate(trace.lazy(table))


def _iterate(frame: pl.LazyFrame) -> Iterator[Event]:
    plain = frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String)).collect()
    for batch in plain.iter_slices(_BATCH_ROWS):
        yield from batch.iter_rows(named=True)


def _rare_arguments(trace: Trace) -> dict[int, Event]:
    """Arguments that live in tables of their own, by event."""
    rare: dict[int, Event] = {}
    for row in _rows(trace, "collectives"):
        rare.setdefault(row["index"], {}).update(_given(row, _COLLECTIVE_ARGUMENTS))
    for row in _rows(trace, "event_args"):
        rare.setdefault(row["index"], {})[row["key"]] = _json_or_text(row["value"])
    ranges = trace.lazy("counters").filter(pl.col("source") == "profiler_range")
    for row in _iterate(ranges):
        rare.setdefault(row["index"], {})[row["counter"]] = row["value"]
    return rare


def _track_events(row: Event) -> Iterable[Event]:
    lane = {"pid": _number(row["pid"]), "tid": _number(row["tid"]) if row["tid"] else 0}
    owner = "process" if row["tid"] is None else "thread"
    for column, suffix in (("name", "name"), ("labels", "labels"), ("sort_index", "sort_index")):
        if row[column] is not None:
            yield {"ph": "M", "name": f"{owner}_{suffix}", **lane, "args": {column: row[column]}}


def _host_event(row: Event, offset: int, rare: Mapping[int, Event]) -> Event:
    given = {
        **_given(row, _HOST_ARGUMENTS),
        **{key: _json_or_text(row[c]) for c, key in _HOST_JSON_ARGUMENTS.items() if row[c] is not None},
        **rare.get(row["index"], {}),
    }
    if row["kind"] == "instant":
        return {"ph": "i", "s": "g", "name": row["name"], **_place(row, offset), "args": given}
    return _slice(row, offset, given)


def _device_event(row: Event, offset: int, rare: Mapping[int, Event]) -> Event:
    given = _given(row, _DEVICE_ARGUMENTS)
    if row["stream"] is not None:
        given["stream"] = _number(row["stream"])
    for key in ("grid", "block"):
        if row[f"{key}_x"] is not None:
            given[key] = [row[f"{key}_{axis}"] for axis in "xyz"]
    if row["kind"] == "memcpy" and row["copy_direction"] not in (None, "other"):
        given["kind"] = row["copy_direction"]
    return _slice(row, offset, {**given, **rare.get(row["index"], {})})


def _slice(row: Event, offset: int, given: Event) -> Event:
    category = {} if row["category"] is None else {"cat": row["category"]}
    return {
        "ph": "X",
        **category,
        "name": row["name"] or "",
        **_place(row, offset),
        "dur": _microseconds(row["dur_ns"]),
        "args": given,
    }


def _flow_event(row: Event, offset: int) -> Event:
    ends = {"bp": "e"} if row["phase"] == "end" else {}
    return {
        "ph": _FLOW_PHASES[row["phase"]],
        "id": row["flow_id"],
        "cat": row["category"],
        "name": row["category"],
        **_place(row, offset),
        **ends,
    }


def _place(row: Event, offset: int) -> Event:
    return {
        "pid": _number(row["pid"]),
        "tid": _number(row["tid"]),
        "ts": _microseconds(row["ts_ns"] - offset),
    }


def _given(row: Event, names: Mapping[str, str]) -> Event:
    return {key: row[column] for column, key in names.items() if row[column] is not None}


def _microseconds(ns: int) -> msgspec.Raw:
    """Nanoseconds as microseconds with three decimals, exact."""
    sign, ns = ("-", -ns) if ns < 0 else ("", ns)
    return msgspec.Raw(f"{sign}{ns // 1000}.{ns % 1000:03d}")


def _number(text: str | None) -> int | str | None:
    if text is None:
        return None
    return int(text) if text.isascii() and text.isdigit() else text


def _json_or_text(text: str) -> Any:
    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
    return msgspec.Raw(text)
