"""A trace as clean Chrome JSON, for Perfetto and for other tools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
from isal import igzip

from timesink.errors import OutputError
from timesink.formats.chrome import arguments
from timesink.formats.chrome.arguments import (
    COLLECTIVE_KEYS,
    FLOW_PHASE_NAMES,
    OPERATOR,
    PYTHON,
    RUNTIME,
    ArgumentSet,
)
from timesink.formats.written_files import written_aside
from timesink.model.captures import captured_spans
from timesink.model.schema import CAPTURED_KINDS, DEVICE, HOST, MEMORY, TraceTable
from timesink.model.trace import Device, Trace


def _arguments(table: TraceTable, *argument_sets: ArgumentSet) -> dict[str, str]:
    """Columns of a table, and what their arguments are called by who reads them back."""
    every = (argument for argument_set in argument_sets for argument in argument_set.arguments)
    return {
        argument.column: argument.keys[0] for argument in every if argument.column in table.schema
    }


_OF_HOST = _arguments(HOST, OPERATOR, PYTHON, RUNTIME)
_JSON_COLUMNS = ("input_dims", "input_types", "input_strides", "concrete_inputs")
HOST_JSON_ARGUMENTS = {column: _OF_HOST[column] for column in _JSON_COLUMNS}
HOST_ARGUMENTS = {column: _OF_HOST[column] for column in _OF_HOST if column not in _JSON_COLUMNS}
_OF_DEVICE = _arguments(DEVICE, arguments.DEVICE)
DEVICE_ARGUMENTS = {column: key for column, key in _OF_DEVICE.items() if column != "stream"}
MEMORY_ARGUMENTS = _arguments(MEMORY, arguments.MEMORY)
COLLECTIVE_ARGUMENTS = {column: key for key, column in COLLECTIVE_KEYS.items()}
FLOW_PHASES = {name: phase for phase, name in FLOW_PHASE_NAMES.items()}

HOST_CATEGORIES = {
    "operator": "cpu_op",
    "annotation": "user_annotation",
    "python_function": "python_function",
    "module": "python_function",
    "runtime": "cuda_runtime",
    "driver": "cuda_driver",
    "overhead": "overhead",
    "trace": "Trace",
}
DEVICE_CATEGORIES = {
    "kernel": "kernel",
    "memcpy": "gpu_memcpy",
    "memset": "gpu_memset",
    "collective": "collective_comm",
    "annotation": "gpu_user_annotation",
    "sync": "cuda_sync",
    "profiler_range": "cuda_profiler_range",
}
"""What Kineto calls these kinds, for events whose own category other tools do not know."""


def number_lanes(slices: pl.DataFrame) -> pl.Series:
    """Number of the extra lane each slice needs, 0 for the lane it was recorded on.

    Slices on one lane must be apart or one inside the other: viewers drop all but one that cross.
    A slice that would cross an earlier one goes to the first extra lane where it crosses none.
    """
    ordered = (
        slices.select("pid", "tid", "ts_ns", end_ns=pl.col("ts_ns") + pl.col("dur_ns"))
        .with_row_index("row")
        .sort("ts_ns", "end_ns", descending=[False, True])
    )
    numbers = np.zeros(slices.height, np.int64)
    for _, lane in ordered.group_by("pid", "tid"):
        placed = number_spans(lane.select("ts_ns", "end_ns").iter_rows())
        numbers[lane["row"].to_numpy()] = placed
    return pl.Series("lane", numbers)


def number_spans(spans: Iterable[tuple[int, int]]) -> list[int]:
    """Number of the lane of each span; spans come by start, the longer first.

    >>> number_spans([(0, 9), (2, 5), (4, 12)])
    [0, 0, 1]
    """
    # Ends of the spans of each lane that are still open, the innermost last.
    lanes: list[list[int]] = [[]]
    placed = []
    for start, end in spans:
        number = len(lanes)
        for place, ends in enumerate(lanes):
            while ends and ends[-1] <= start:
                ends.pop()
            if not ends or end <= ends[-1]:
                number = place
                break
        if number == len(lanes):
            lanes.append([])
        lanes[number].append(end)
        placed.append(number)
    return placed


_CHROME_FORMATS = ("kineto", "chrome", "event-csv", "perfetto")
"""Of traces whose names were recorded as readers of this format expect them."""
_BATCH_ROWS = 50_000
_CAPTURED_LANE = "operators and modules, from capture"
_AROUND_EVENTS = 2
"""Texts that are no events: the head and the end."""

Event = dict[str, Any]
_encode = msgspec.json.Encoder().encode


def write_chrome_json(trace: Trace, path: Path) -> int:
    """Write a trace; the number of events written."""
    if not trace.has_timeline:
        what = "a behaviour table" if trace.has_behaviour else "counters of kernels"
        raise OutputError(
            f"{trace.metadata.source}: {what} without the timeline of Chrome JSON",
            "give -o a folder instead: the tables are written as Parquet",
        )
    packed = path.name.lower().endswith(".gz")
    written = 0
    with (
        written_aside(path) as aside,
        igzip.open(aside, "wb") if packed else aside.open("wb") as file,  # type: ignore[no-untyped-call]
    ):
        for text in json_texts(trace):
            file.write(text)
            written += 1
    return written - _AROUND_EVENTS


def json_texts(trace: Trace) -> Iterator[bytes]:
    """A trace as Chrome JSON: what stands before the events, each event, what stands after them."""
    head = _encode(top_level(trace))
    yield head[:-1] + b',\n"traceEvents": [\n'
    between = b""
    for event in events(trace):
        yield between + _encode(event)
        between = b",\n"
    yield b"\n]}\n"


def top_level(trace: Trace) -> dict[str, Any]:
    """What stands beside the events: versions, devices, the run."""
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
            _device_properties(device, as_recorded=metadata.format in _CHROME_FORMATS)
            for device in metadata.devices
        ],
        **({"distributedInfo": info} if info else {}),
        **metadata.versions,
        **metadata.extra,
    }
    if metadata.clock_offset_ns:
        top["baseTimeNanoseconds"] = metadata.clock_offset_ns
    return top


def _device_properties(device: Device, *, as_recorded: bool) -> dict[str, Any]:
    named = {**device.properties, "id": device.id, "name": device.name}
    if as_recorded:
        return named
    properties: dict[str, Any] = {
        "totalGlobalMem": device.memory_bytes,
        "numSms": device.multiprocessors,
    }
    major, _, minor = (device.compute_capability or "").partition(".")
    if major.isdigit() and minor.isdigit():
        properties |= {"computeMajor": int(major), "computeMinor": int(minor)}
    return {**named, **{key: value for key, value in properties.items() if value is not None}}


def events(trace: Trace) -> Iterator[Event]:
    """Every event of the trace, table by table."""
    rare = _rare_arguments(trace)
    offset = trace.metadata.clock_offset_ns
    as_recorded = trace.metadata.format in _CHROME_FORMATS
    # The lane each row is drawn on; `tid` is the one it was recorded on.
    recorded = trace.lazy("device").collect()
    extra = number_lanes(recorded)
    beside = pl.format("{} (overlap {})", pl.col("tid").cast(pl.String), extra)
    lane = pl.when(extra > 0).then(beside).otherwise(pl.col("tid").cast(pl.String))
    device = recorded.lazy().with_columns(lane=lane)
    beside_others = device.filter(pl.col("lane") != pl.col("tid").cast(pl.String))
    for row in [*_iterate(trace.lazy("tracks")), *_extra_tracks(trace, beside_others)]:
        yield from _track_events(row)
    yield from _captured_events(trace, offset)
    is_recorded = ~pl.col("kind").is_in(CAPTURED_KINDS)
    for row in _iterate(trace.lazy("host").filter(is_recorded)):
        if not as_recorded:
            row["category"] = HOST_CATEGORIES.get(row["kind"])
        yield _host_event(row, offset, rare)
    for row in _iterate(device):
        if not as_recorded:
            row["category"] = DEVICE_CATEGORIES.get(row["kind"])
        yield _device_event({**row, "tid": row["lane"]}, offset, rare)
    for row in _iterate(trace.lazy("memory")):
        arguments = _present_values(row, MEMORY_ARGUMENTS)
        yield {"ph": "i", "s": "t", "name": "[memory]", **_place(row, offset), "args": arguments}
    # Lane of each slice that is not drawn where it was recorded, by what its arrow knows of it.
    rows = list(_iterate(beside_others))
    moved = {(r["pid"], r["tid"], r["ts_ns"], r["correlation"]): r["lane"] for r in rows}
    # Arrows that were added stand under the number of the event they are at.
    added = {r["index"]: r["lane"] for r in rows}
    for row in _iterate(trace.lazy("flows")):
        end = (row["pid"], row["tid"], row["ts_ns"], row["flow_id"])
        yield {
            "ph": FLOW_PHASES[row["phase"]],
            "id": row["flow_id"],
            **_label({**row, "name": row["category"]}),
            **_place({**row, "tid": moved.get(end) or added.get(row["index"], row["tid"])}, offset),
            **({"bp": "e"} if row["phase"] == "end" else {}),
        }
    sampled = trace.lazy("counters").filter(pl.col("source") != "profiler_range")
    for row in _iterate(sampled):
        place = _place({**row, "pid": row["device"], "tid": None}, offset)
        yield {"ph": "C", "name": row["counter"], **place, "args": {"value": row["value"]}}


def _captured_events(trace: Trace, offset: int) -> Iterator[Event]:
    """Captured calls as ranges over the work that graphs replay, in a lane of the device."""
    host = trace.lazy("host").filter(pl.col("kind").is_in(CAPTURED_KINDS)).collect()
    if host.is_empty():
        return
    device = trace.lazy("device").select("pid", "ts_ns", "dur_ns", "captured_call").collect()
    spans = captured_spans(host, device)
    lanes = pl.DataFrame(
        {
            "pid": device["pid"].gather(spans.device_row),
            "tid": [_CAPTURED_LANE] * len(spans.row),
            "ts_ns": spans.start,
            "dur_ns": spans.end - spans.start,
        }
    )
    extra = number_lanes(lanes)
    lane = pl.when(extra > 0).then(pl.format("{} ({})", pl.col("tid"), extra)).otherwise("tid")
    rows = host[spans.row].with_columns(lanes.with_columns(tid=lane))
    for row in _iterate(rows.lazy()):
        yield _host_event(row, offset, {})


def _iterate(frame: pl.LazyFrame) -> Iterator[Event]:
    plain = frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String)).collect()
    for batch in plain.iter_slices(_BATCH_ROWS):
        yield from batch.iter_rows(named=True)


def _extra_tracks(trace: Trace, beside_others: pl.LazyFrame) -> Iterator[Event]:
    """Rows like those of `tracks` for the lanes beside others: the same order, a telling name."""
    moved = beside_others.select("pid", "tid", "lane", "stream").unique()
    tracks = trace.lazy("tracks").select("pid", "tid", "sort_index")
    for row in _iterate(moved.join(tracks, on=["pid", "tid"], how="left")):
        suffix = row["lane"].removeprefix(row["tid"])
        name = f"stream {row['stream']}{suffix}"
        yield {**row, "tid": row["lane"], "name": name, "labels": None}


def _rare_arguments(trace: Trace) -> dict[int, Event]:
    """Arguments that live in tables of their own, by event."""
    rare: dict[int, Event] = {}
    for row in _iterate(trace.lazy("collectives")):
        rare.setdefault(row["index"], {}).update(_present_values(row, COLLECTIVE_ARGUMENTS))
    for row in _iterate(trace.lazy("event_args")):
        rare.setdefault(row["index"], {})[row["key"]] = _json_or_text(row["value"])
    ranges = trace.lazy("counters").filter(pl.col("source") == "profiler_range")
    for row in _iterate(ranges):
        rare.setdefault(row["index"], {})[row["counter"]] = row["value"]
    return rare


def _track_events(row: Event) -> Iterable[Event]:
    owner = "process" if row["tid"] is None else "thread"
    lane = {"pid": as_number(row["pid"]), "tid": as_number(row["tid"]) if row["tid"] else 0}
    for column in ("name", "labels", "sort_index"):
        if row[column] is not None:
            yield {"ph": "M", "name": f"{owner}_{column}", **lane, "args": {column: row[column]}}


def _host_event(row: Event, offset: int, rare: Mapping[int, Event]) -> Event:
    arguments = _present_values(row, HOST_ARGUMENTS)
    for column, key in HOST_JSON_ARGUMENTS.items():
        if row[column] is not None:
            arguments[key] = _json_or_text(row[column])
    arguments |= rare.get(row["index"], {})
    if row["kind"] == "instant":
        return {"ph": "i", "s": "t", **_label(row), **_place(row, offset), "args": arguments}
    return _slice(row, offset, arguments)


def _device_event(row: Event, offset: int, rare: Mapping[int, Event]) -> Event:
    arguments = _present_values(row, DEVICE_ARGUMENTS)
    if row["stream"] is not None:
        arguments["stream"] = as_number(row["stream"])
    for key in ("grid", "block"):
        if row[f"{key}_x"] is not None:
            arguments[key] = [row[f"{key}_{axis}"] for axis in "xyz"]
    if row["kind"] == "memcpy" and row["copy_direction"] not in (None, "other"):
        arguments["kind"] = row["copy_direction"]
    return _slice(row, offset, {**arguments, **rare.get(row["index"], {})})


def _slice(row: Event, offset: int, arguments: Event) -> Event:
    dur = encode_ns(row["dur_ns"])
    return {"ph": "X", **_label(row), **_place(row, offset), "dur": dur, "args": arguments}


def _label(row: Event) -> Event:
    category = {} if row["category"] is None else {"cat": row["category"]}
    return {**category, "name": row["name"] or ""}


def _place(row: Event, offset: int) -> Event:
    lane = {key: as_number(row[key]) for key in ("pid", "tid") if row[key] is not None}
    return {**lane, "ts": encode_ns(row["ts_ns"] - offset)}


def _present_values(row: Event, columns: Mapping[str, str]) -> Event:
    return {key: row[column] for column, key in columns.items() if row[column] is not None}


def encode_ns(ns: int) -> msgspec.Raw:
    """Nanoseconds as microseconds with three decimals, exact.

    >>> bytes(encode_ns(1234567))
    b'1234.567'
    """
    sign, ns = ("-", -ns) if ns < 0 else ("", ns)
    return msgspec.Raw(f"{sign}{ns // 1000}.{ns % 1000:03d}")


def as_number(text: str) -> int | str:
    """A number where the text is one."""
    return int(text) if text.isascii() and text.isdigit() else text


def _json_or_text(text: str) -> Any:
    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
    return msgspec.Raw(text)


def ns_of(microseconds: msgspec.Raw) -> int:
    """Nanoseconds of what `encode_ns` gives.

    >>> ns_of(encode_ns(-5))
    -5
    """
    return int(bytes(microseconds).replace(b".", b""))
