"""Profiles of XLA (`*.xplane.pb`): JAX, TensorFlow and PyTorch/XLA on CPU, GPU and TPU.

A file is a space of planes: one for each device, one for the host, and some with facts about the
run.  A plane has lines (threads, streams, or on a TPU one for modules, operators, steps), and lines
have events with named values.  Names stand once per plane, and events refer to them by number.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Mapping

import msgspec
import numpy as np
import polars as pl

from timesink.errors import UnreadableError
from timesink.formats.finish import finish_trace
from timesink.formats.read_options import ReadOptions
from timesink.formats.source_file import SourceFile
from timesink.formats.wire import (
    LENGTH,
    Bytes,
    Fields,
    Integers,
    as_bytes,
    split_messages,
)
from timesink.model import vendors
from timesink.model.health import HealthEntry
from timesink.model.trace import Device, Metadata, Trace
from timesink.patterns import regex

NAME = "xplane"
ENDING = ".xplane.pb"

# Numbers of the fields, by message.
_PLANES, _ERRORS, _WARNINGS, _HOSTS = 1, 2, 3, 4
_PLANE_NAME, _PLANE_LINES, _PLANE_EVENTS, _PLANE_STATS, _PLANE_VALUES = 2, 3, 4, 5, 6
_LINE_ID, _LINE_NAME, _LINE_NS, _LINE_EVENTS, _LINE_TITLE = 1, 2, 3, 4, 11
_EVENT_OF, _EVENT_OFFSET, _EVENT_LENGTH, _EVENT_VALUES, _EVENT_TIMES = 1, 2, 3, 4, 5
_OF_NAME, _OF_TITLE, _OF_VALUES = 2, 4, 5
_VALUE_OF, _DOUBLE, _UNSIGNED, _SIGNED, _TEXT, _BYTES, _REFERENCE, _PACKED_TEXT = (
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
)

_DEVICE_PLANE = regex(r"^/device:(?P<sort>[A-Z_]+):(?:[A-Z]+:)?(?P<number>\d+)(?P<core> .+)?$")
_KNOWN_PLANE = regex(rb"^(?:/host:|/device:|/virtualdevice:|#Chip|Task Environment|Host CPUs)")
_UNIX_SINCE_1973_NS = 10**17
_REPLACEMENT = "\ufffd".encode()
_MAX_TEXT = 1 << 24
"""Bytes of a packed text, unpacked."""

_MODELLED = (
    *("correlation_id", "kernel_details", "memcpy_details", "memset_details", "step_num"),
    *vendors.every("graph_arguments"),
    *("bytes_reserved", "bytes_allocated"),
    *("allocator_name", "allocation_bytes", "addr", "counter_value"),
)
"""Values of events that have a column of their own."""
_GRAPH, _GRAPH_NODE = vendors.every("graph_arguments")[:2]
_RARE = (
    *("hlo_op", "hlo_module", "hlo_category", "program_id", "run_id", "tf_op", "deduplicated_name"),
    *("flops", "model_flops", "bytes_accessed", "raw_bytes_accessed", "source", "long_name"),
    *("shape_with_layout", "shape", "replica_id", "all_reduce_id", "device_ordinal", "equation"),
    *("matrix_unit_utilization_percent", "hbm_utilization_percent", "theoretical_occupancy_pct"),
    *("nvtx_range", "is_eager", "batch_size_after_padding", "bytes_transferred"),
)
"""Values of events that only some have: `event_args`."""
_INTERNAL = regex(
    r"_.*|Hlo Proto|context_id|scope_range_id|occupancy_.*|device_id|fragmentation|bytes_available"
    r"|requested_bytes|peak_bytes_in_use|data_type|id|region_type|device_(?:offset|duration)_ps|symbol_id|queue(?:_id)?"
    r"|memory_access_breakdown|dcn_collective_info|self_duration_ps|min_duration_ps|group_id|core_type"
    r"|source_stack|is_root|performance_counter_id"
)
"""Values of events that mean something to their profiler alone, or repeat what columns say."""

_MARKS = regex(
    r"Steps|Sparse Core Steps|XLA Modules|Sparse Core Modules|Framework .*|Source code"
    r"|Launch Stats|XLA TraceMe"
)
"""Lines of a device whose events say what runs, beside those that are the work itself."""
_STEPS = ("Steps", "Sparse Core Steps")
_COUNTERS = "_counters_"
_ENCLOSING = regex(r"(?:while|conditional|call)[.\d]*")
"""Operators that only hold others: their time is that of what they hold."""
_COLLECTIVE = regex(
    r"all-?reduce|all-?gather|reduce-?scatter|(?:ragged-)?all-?to-?all"
    r"|collective-?(?:permute|broadcast)|(?:send|recv)(?:-done)?(?:[.\d]*)$|megacore",
    re.IGNORECASE,
)
_COPY = regex(r"copy-(?:start|done)|async-copy|memcpy|transfer|infeed|outfeed", re.IGNORECASE)
_SET = regex(r"memset", re.IGNORECASE)
_WAIT = regex(r"dependency-wait|barrier|semaphore|(?:tensor|sparse) core sync", re.IGNORECASE)
_DETAIL = regex(r"(\w+):(\S+)")
_DIRECTIONS = {"H2D": "HtoD", "D2H": "DtoH", "D2D": "DtoD", "H2H": "HtoH", "P2P": "PtoP"}
_DRIVER_CALL = regex(r"[a-z]{2}[A-Z]")
"""Drivers have prefixes of two letters, runtimes longer ones."""
_PYTHON_CALL = regex(r"\$(?P<file>.+):(?P<line>\d+) (?P<function>.+)")
_ALLOCATOR = regex(r"(?P<sort>[A-Z]{3})_(?P<number>\d+)")
_CPU, _CUDA = 0, 1  # c10::DeviceType


def sniff(head: bytes, name: str) -> bool:
    """Whether the first message is a plane of a name that XLA gives; the ending is as good.

    >>> from timesink.formats.wire import Message
    >>> sniff(Message().message(1, Message().text(2, "/host:CPU")).encode(), "a.pb")
    True
    """
    if name.lower().endswith(ENDING):
        return True
    if not head.startswith(b"\x0a"):
        return False
    fields = split_messages(as_bytes(head[:256]), [0], [min(len(head), 256)])
    start = int(fields.break_at[0]) + 1 if len(fields.broken) else 1
    if len(fields):
        start = int(fields.value[0])
    else:
        while start < len(head) and head[start] & 0x80:
            start += 1
        start += 1
    inside = split_messages(
        as_bytes(head[start : start + 256]), [0], [len(head[start : start + 256])]
    )
    names = inside.texts(inside.select(_PLANE_NAME, LENGTH))
    return any(_KNOWN_PLANE.match(text.encode()) for text in names[:1])


class _Planes(msgspec.Struct, frozen=True):
    """The planes of a file, their lines, and what stands once for many events."""

    names: list[str]
    stat_names: pl.DataFrame
    """`plane`, `id` and `key` of each sort of value."""
    sorts: pl.DataFrame
    """Of each sort of event: `plane`, `id`, `name`, and its place `sort`."""
    lines: pl.DataFrame
    """Of each line: `line`, `plane`, `tid`, `lane` (its name), `line_ns`, `device`."""
    line_fields: Fields
    facts: list[dict[str, int | float | str]]
    """Facts of each plane."""
    sort_values: pl.DataFrame
    """Values of all events of a sort: `owner` is the sort."""


def read(source: SourceFile, options: ReadOptions) -> Trace:  # noqa: ARG001
    content, health = source.content()
    data = as_bytes(content)
    top = split_messages(data, [0], [len(data)])
    _check_whole(source, content, top, health)
    unknown: dict[str, int] = {}
    planes = _read_planes(data, top, health, unknown)
    events, values = _read_events(data, planes, health, unknown)
    facts = {key: value for facts in planes.facts for key, value in facts.items()}
    start = facts.get("profile_start_time", 0)
    line_ns = planes.lines["line_ns"]
    is_absolute = bool(len(line_ns)) and int(line_ns.max() or 0) > _UNIX_SINCE_1973_NS  # type: ignore[arg-type]
    zero = int(start) if isinstance(start, int) and not is_absolute else 0
    begin, end = pl.col("offset_ps"), pl.col("offset_ps") + pl.col("length_ps")
    events = events.with_columns(
        ts_ns=zero + pl.col("line_ns") + begin // 1000, dur_ns=end // 1000 - begin // 1000
    )
    lookup = _EventValues(events, values, planes.sort_values)
    is_counter = (events["lane"] == _COUNTERS).fill_null(value=False)
    on_device = events["device"].is_not_null()
    host = _host_rows(events.filter(~on_device), lookup, str(facts.get("process_id", "host")))
    device = _device_rows(events.filter(on_device & ~is_counter), lookup, planes)
    device = device.with_columns(pid=pl.lit(str(facts.get("process_id", "host"))))
    is_memory = (host["bytes"].is_not_null()).fill_null(value=False)
    rare, further = lookup.rare_rows()
    for key, count in {**unknown, **further}.items():
        health.append(HealthEntry("unmodelled_args", count, key))
    tables = {
        "host": host.filter(~is_memory),
        "memory": host.filter(is_memory).drop("dur_ns"),
        "device": device,
        "counters": _counter_rows(events.filter(on_device & is_counter), lookup),
        "event_args": rare,
        "steps": _step_rows(host, device),
        "tracks": _track_rows(host, device),
    }
    hosts = top.texts(top.select(_HOSTS, LENGTH))
    for number, code in ((_ERRORS, "profiler_error"), (_WARNINGS, "profiler_warning")):
        health += [HealthEntry(code, 1, text) for text in top.texts(top.select(number, LENGTH))]
    metadata = Metadata(
        source=str(source.path),
        format=NAME,
        vendor=_vendor(planes),
        events=events.height,
        clock="unix" if zero or is_absolute else "monotonic",
        clock_offset_ns=zero,
        devices=_devices(planes),
        framework="xla",
        versions={key: str(value) for key, value in facts.items() if key.endswith("_version")},
        extra={"host_name": hosts[0]} if hosts else {},
    )
    return finish_trace(metadata, tables, health)


def _check_whole(
    source: SourceFile, content: bytes, top: Fields, health: list[HealthEntry]
) -> None:
    """Refuse what is no space of planes; say where one breaks off."""
    replaced = content.count(_REPLACEMENT)
    if replaced > len(content) // 1000 and _is_text(content):
        raise UnreadableError.damaged(
            source.path,
            f"it was copied as text, and {replaced} bytes that are no text were replaced",
            "copy the file again as binary data",
        )
    if not len(top.select(_PLANES, LENGTH)):
        raise UnreadableError.damaged(
            source.path, "it holds no plane of a profile", "copy the file again, or record again"
        )
    for position in top.break_at.tolist():
        lost = len(content) - position
        example = f"{lost} bytes from byte {position} on"
        health.append(HealthEntry("cut_messages", 1, example))


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _count_broken(fields: Fields, what: str, health: list[HealthEntry]) -> None:
    if len(fields.broken):
        example = f"{what} at byte {fields.break_at[0]}"
        health.append(HealthEntry("broken_messages", len(fields.broken), example))


def _read_planes(
    data: Bytes, top: Fields, health: list[HealthEntry], unknown: dict[str, int]
) -> _Planes:
    _, starts, ends = top.submessages(_PLANES)
    planes = split_messages(data, starts, ends)
    _count_broken(planes, "a plane", health)
    names = [name or "" for name in planes.text_of(_PLANE_NAME, len(starts))]
    stat_plane, stat_fields, stat_ids = _map_entries(planes, _PLANE_STATS, health)
    stat_names = pl.DataFrame(
        {
            "plane": stat_plane,
            "id": stat_ids,
            "key": stat_fields.text_of(_OF_NAME, len(stat_plane)),
        },
        schema={"plane": pl.Int64, "id": pl.Int64, "key": pl.String},
    ).unique(["plane", "id"], keep="last", maintain_order=True)
    of_plane, sort_fields, sort_ids = _map_entries(planes, _PLANE_EVENTS, health)
    is_device = np.array([_DEVICE_PLANE.match(name) is not None for name in names], np.bool_)
    long_names = sort_fields.text_of(_OF_NAME, len(of_plane))
    titles = sort_fields.text_of(_OF_TITLE, len(of_plane))
    titled = is_device[of_plane].tolist() if len(of_plane) else []
    sorts = pl.DataFrame(
        {
            "plane": of_plane,
            "id": sort_ids,
            "name": [
                title if on_device and title else name
                for name, title, on_device in zip(long_names, titles, titled, strict=True)
            ],
        },
        schema={"plane": pl.Int64, "id": pl.Int64, "name": pl.String},
    ).with_row_index("sort")
    owner, value_starts, value_ends = sort_fields.submessages(_OF_VALUES)
    sort_values = _read_values(
        data, (owner, of_plane[owner], value_starts, value_ends), stat_names, health, unknown
    )
    fact_plane, fact_starts, fact_ends = planes.submessages(_PLANE_VALUES)
    fact_rows = _read_values(
        data, (fact_plane, fact_plane, fact_starts, fact_ends), stat_names, health, None
    )
    facts: list[dict[str, int | float | str]] = [{} for _ in names]
    for plane, key, number, real, text in fact_rows.iter_rows():
        value = next((value for value in (number, real, text) if value is not None), None)
        if key is not None and value is not None:
            facts[plane][key] = value
    line_plane, line_starts, line_ends = planes.submessages(_PLANE_LINES)
    fields = split_messages(data, line_starts, line_ends)
    _count_broken(fields, "a line", health)
    count = len(line_plane)
    line_names, line_titles = fields.text_of(_LINE_NAME, count), fields.text_of(_LINE_TITLE, count)
    devices = [_device_number(name) for name in names]
    cores = [match["core"] or "" if (match := _DEVICE_PLANE.match(n)) else "" for n in names]
    lanes = [title or name or "" for name, title in zip(line_names, line_titles, strict=True)]
    lines = pl.DataFrame(
        {
            "line": np.arange(count),
            "plane": line_plane,
            "tid": fields.numbers(_LINE_ID, count).astype(str).tolist(),
            "lane": [
                f"{lane}{cores[plane]}" for lane, plane in zip(lanes, line_plane, strict=True)
            ],
            "line_ns": fields.numbers(_LINE_NS, count),
            "device": [devices[plane] for plane in line_plane],
        },
        schema={
            "line": pl.Int64,
            "plane": pl.Int64,
            "tid": pl.String,
            "lane": pl.String,
            "line_ns": pl.Int64,
            "device": pl.Int64,
        },
    )
    return _Planes(names, stat_names, sorts, lines, fields, facts, sort_values)


def _device_number(plane: str) -> int | None:
    match = _DEVICE_PLANE.match(plane)
    return int(match["number"][-9:]) if match else None


def _map_entries(
    planes: Fields, number: int, health: list[HealthEntry]
) -> tuple[Integers, Fields, Integers]:
    """The values of a map of planes: the plane and the fields of each, and its key."""
    of_plane, starts, ends = planes.submessages(number)
    entries = split_messages(planes.data, starts, ends)
    _count_broken(entries, "a name", health)
    entry, value_starts, value_ends = entries.submessages(2)
    fields = split_messages(planes.data, value_starts, value_ends)
    keys = entries.numbers(1, len(starts))[entry]
    return of_plane[entry], fields, keys


def _read_events(
    data: Bytes, planes: _Planes, health: list[HealthEntry], unknown: dict[str, int]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """All events with their line and name, and the values of single ones."""
    line, starts, ends = planes.line_fields.submessages(_LINE_EVENTS)
    fields = split_messages(data, starts, ends)
    _count_broken(fields, "an event", health)
    count = len(line)
    aggregated = fields.has(_EVENT_TIMES, count)
    events = (
        pl.DataFrame(
            {
                "index": np.arange(count, dtype=np.uint32),
                "line": line,
                "id": fields.numbers(_EVENT_OF, count),
                "offset_ps": fields.numbers(_EVENT_OFFSET, count),
                "length_ps": np.maximum(fields.numbers(_EVENT_LENGTH, count), 0),
                "is_sum": aggregated,
            }
        )
        .join(planes.lines, on="line", how="left", maintain_order="left")
        .join(planes.sorts, on=["plane", "id"], how="left", maintain_order="left")
        .unique("index", keep="last", maintain_order=True)
    )
    owner, value_starts, value_ends = fields.submessages(_EVENT_VALUES)
    plane = events["plane"].to_numpy()[owner] if count else owner
    values = _read_values(
        data, (owner, plane, value_starts, value_ends), planes.stat_names, health, unknown
    )
    if aggregated.any():
        health.append(HealthEntry("missing_ts", int(aggregated.sum()), "sums of many events"))
    nameless = events.filter(pl.col("name").is_null() & ~pl.col("is_sum"))
    if nameless.height:
        health.append(
            HealthEntry("missing_name", nameless.height, f"an event of {nameless['lane'][0]}")
        )
    return events.filter(~pl.col("is_sum")).drop("is_sum"), values


def _read_values(
    data: Bytes,
    ranges: tuple[Integers, Integers, Integers, Integers],
    stat_names: pl.DataFrame,
    health: list[HealthEntry],
    unknown: dict[str, int] | None,
) -> pl.DataFrame:
    """Named values: `owner`, `key` and one of `number`, `real` and `text`.

    Those without a place in the tables are left out, and counted in `unknown` where it is given.
    """
    owner, plane, starts, ends = ranges
    fields = split_messages(data, starts, ends)
    _count_broken(fields, "a value", health)
    count = len(owner)
    form, raw, length = (np.zeros(count, np.int64) for _ in range(3))
    rows = np.flatnonzero((fields.number >= _DOUBLE) & (fields.number <= _PACKED_TEXT))
    at = fields.message[rows]
    form[at], raw[at] = fields.number[rows], fields.value[rows]
    length[at] = fields.length[rows]
    ids = fields.numbers(_VALUE_OF, count)
    frame = pl.DataFrame(
        {"owner": owner, "plane": plane, "id": ids, "form": form, "raw": raw, "length": length}
    ).join(stat_names, on=["plane", "id"], how="left", maintain_order="left")
    if unknown is not None:
        wanted = pl.col("key").is_in([*_MODELLED, *_RARE])
        for key, times in frame.filter(~wanted)["key"].value_counts().iter_rows():
            if key is not None and not _INTERNAL.fullmatch(key):
                unknown[key] = unknown.get(key, 0) + times
        frame = frame.filter(wanted)
    references = stat_names.rename({"id": "raw", "key": "reference"})
    frame = frame.join(references, on=["plane", "raw"], how="left", maintain_order="left")
    is_number = pl.col("form").is_in([_UNSIGNED, _SIGNED])
    texts = _texts(data, frame)
    return frame.select(
        "owner",
        "key",
        number=pl.when(is_number).then("raw"),
        real=pl.when(pl.col("form") == _DOUBLE).then(pl.col("raw").reinterpret(dtype=pl.Float64)),
        text=pl.when(pl.col("form") == _REFERENCE).then("reference").otherwise(texts),
    )


def _texts(data: Bytes, frame: pl.DataFrame) -> pl.Series:
    """Texts that stand with their value, some of them packed."""
    result: list[str | None] = [None] * frame.height
    rows = frame.with_row_index("row").filter(pl.col("form").is_in([_TEXT, _PACKED_TEXT]))
    for row, form, start, size in rows.select("row", "form", "raw", "length").iter_rows():
        text = data[start : start + size].tobytes()
        if form == _PACKED_TEXT:
            try:
                text = zlib.decompressobj(47).decompress(text, _MAX_TEXT)
            except zlib.error:
                text = b""
        result[row] = text.decode("utf-8", "replace")
    return pl.Series("text", result, dtype=pl.String)


class _EventValues:
    """Values of events by their key: those of the event itself go before those of its sort."""

    def __init__(
        self, events: pl.DataFrame, values: pl.DataFrame, sort_values: pl.DataFrame
    ) -> None:
        self._events = events.select("index", "sort")
        self._values = values.rename({"owner": "index"}).cast({"index": pl.UInt32})
        self._sort_values = sort_values.rename({"owner": "sort"}).cast({"sort": pl.UInt32})

    def column(self, events: pl.DataFrame, key: str, form: str = "number") -> pl.Series:
        """The value under a key of each of the events, as `number`, `real` or `text`."""
        chosen = pl.col("key") == key
        direct = self._values.filter(chosen).select("index", form).unique("index", keep="last")
        joined = events.select("index", "sort").join(
            direct, on="index", how="left", maintain_order="left"
        )
        shared = self._sort_values.filter(chosen).select("sort", shared=form)
        if shared.height:
            joined = joined.join(
                shared.unique("sort", keep="last"), on="sort", how="left", maintain_order="left"
            ).with_columns(pl.coalesce(form, "shared"))
        return joined[form].alias(key)

    def rare_rows(self) -> tuple[pl.DataFrame, dict[str, int]]:
        """Rows of `event_args`: what only some events carry."""
        chosen = pl.col("key").is_in(_RARE)
        shared = self._events.join(self._sort_values.filter(chosen), on="sort", how="inner")
        shared = shared.select("index", "key", "number", "real", "text")
        rows = pl.concat([self._values.filter(chosen).select(shared.columns), shared])
        rows = rows.unique(["index", "key"], keep="first", maintain_order=True).sort("index")
        quoted = pl.col("text").map_batches(_to_json_texts, return_dtype=pl.String)
        value = pl.coalesce(
            pl.col("number").cast(pl.String), pl.col("real").cast(pl.String), quoted
        )
        return rows.select("index", "key", value=value).drop_nulls("value"), {}


def _to_json_texts(texts: pl.Series) -> pl.Series:
    """Texts as JSON, each distinct one once."""
    distinct = texts.unique().drop_nulls()
    return texts.replace_strict(
        distinct, [json.dumps(text) for text in distinct], default=None, return_dtype=pl.String
    )


def _map_texts(names: pl.Series, function: Callable[[str], str | None]) -> pl.Series:
    """A function of texts, called once for each distinct one."""
    distinct = names.unique().drop_nulls()
    return names.replace_strict(
        distinct, [function(name) for name in distinct], default=None, return_dtype=pl.String
    )


# Host.


def _host_rows(events: pl.DataFrame, lookup: _EventValues, pid: str) -> pl.DataFrame:
    """Calls of the host; rows with `bytes` are records of memory."""
    names = events["name"]
    events = events.with_columns(
        lookup.column(events, "correlation_id").alias("correlation"),
        lookup.column(events, "step_num").alias("step"),
        lookup.column(events, "hlo_op", "text").alias("operator"),
        kind=_map_texts(names.fill_null(""), _host_kind),
        name=_map_texts(names, _host_name),
        pid=pl.lit(pid),
        category=pl.lit("host"),
    )
    is_call = pl.col("correlation").is_not_null()
    call_kind = pl.when(pl.col("name").str.contains("^[a-z]{2}[A-Z]")).then(pl.lit("driver"))
    events = events.with_columns(
        kind=pl.when(pl.col("step").is_not_null())
        .then(pl.lit("annotation"))
        .when(is_call)
        .then(call_kind.otherwise(pl.lit("runtime")))
        .when((pl.col("dur_ns") == 0) & (pl.col("kind") == "other"))
        .then(pl.lit("instant"))
        .otherwise("kind")
    )
    return _with_memory(events, lookup)


def _host_kind(name: str) -> str:
    if name.startswith("$"):
        return "python_function"
    if name.startswith("ThreadpoolListener::"):
        return "other"
    return "driver" if _DRIVER_CALL.match(name) and "::" not in name else "operator"


def _host_name(name: str) -> str:
    """Calls of Python are named as other profilers name them: `file.py(12): function`."""
    match = _PYTHON_CALL.fullmatch(name)
    return f"{match['file']}({match['line']}): {match['function']}" if match else name


def _with_memory(events: pl.DataFrame, lookup: _EventValues) -> pl.DataFrame:
    """The events with what those that allocate and free memory say."""
    empty = events.with_columns(
        pl.lit(None, pl.Int64).alias(name)
        for name in ("bytes", "address", "total_allocated_bytes", "total_reserved_bytes")
    )
    moves = events["name"].is_in(["MemoryAllocation", "MemoryDeallocation"])
    if not moves.any():
        return empty.with_columns(device_type=pl.lit(None, pl.Int64))
    allocator = lookup.column(events, "allocator_name", "text")
    size = lookup.column(events, "allocation_bytes")
    sign = pl.when(pl.col("name") == "MemoryAllocation").then(1).otherwise(-1)
    device = _map_texts(allocator, _allocator_device).cast(pl.Int64)
    is_memory = pl.Series(moves & size.is_not_null())
    columns = {
        "bytes": size * events.select(sign).to_series(),
        "address": lookup.column(events, "addr"),
        "total_allocated_bytes": lookup.column(events, "bytes_allocated"),
        "total_reserved_bytes": lookup.column(events, "bytes_reserved"),
        "device": device.fill_null(-1),
        "device_type": device.is_not_null().cast(pl.Int64),
    }
    return empty.with_columns(
        pl.when(is_memory).then(column).alias(name) for name, column in columns.items()
    )


def _allocator_device(allocator: str) -> str | None:
    match = _ALLOCATOR.match(allocator)
    return match["number"][-9:] if match and match["sort"] != "CPU" else None


# Devices.


def _device_rows(events: pl.DataFrame, lookup: _EventValues, planes: _Planes) -> pl.DataFrame:
    category = lookup.column(events, "hlo_category", "text")
    sort = (events["lane"] + "\n" + category.fill_null("") + "\n").alias("sort_key")
    kinds = _map_texts(sort + events["name"].fill_null(""), _device_kind)
    kernel = _details(lookup.column(events, "kernel_details", "text"))
    copy = _details(lookup.column(events, "memcpy_details", "text"))
    fill = _details(lookup.column(events, "memset_details", "text"))
    words = {
        match["number"]: match["sort"] for match in map(_DEVICE_PLANE.match, planes.names) if match
    }
    word = next(iter(words.values()), "GPU")
    stream = events["lane"].str.extract(r"^Stream #(\d+)").fill_null(events["lane"])
    frame = events.with_columns(
        lookup.column(events, "correlation_id").alias("correlation"),
        lookup.column(events, _GRAPH).alias("graph_id"),
        lookup.column(events, _GRAPH_NODE).alias("graph_node_id"),
        kinds.alias("kind"),
        stream.alias("stream"),
        category=pl.col("lane"),
        tid=pl.format(f"{word} {{}} {{}}", "device", "lane"),
        registers_per_thread=_number(kernel, "regs"),
        shared_memory_bytes=_number(kernel, "static_shared") + _number(kernel, "dynamic_shared"),
        bytes=pl.Series(_number(copy, "size")).fill_null(_number(fill, "size")),
    )
    grid = {
        f"{part}_{axis}": kernel[part].str.split(",").list.get(place, null_on_oob=True)
        for part in ("grid", "block")
        for place, axis in enumerate("xyz")
    }
    frame = frame.with_columns(
        column.cast(pl.Int64, strict=False).alias(name) for name, column in grid.items()
    )
    direction = (
        pl.col("name")
        .str.extract("([HDP]2[HDP])")
        .replace_strict(_DIRECTIONS, default="other", return_dtype=pl.String)
    )
    return frame.with_columns(
        copy_direction=pl.when(pl.col("kind") == "memcpy").then(direction),
        word=pl.lit(word),
    )


def _device_kind(key: str) -> str:
    """The kind of an event of a device, by its line, its category and its name."""
    lane, category, name = key.split("\n", 2)
    if _MARKS.match(lane):
        return "annotation"
    texts = (category, name) if category else (name,)
    text_kinds = (
        (_ENCLOSING, "annotation"),
        (_WAIT, "sync"),
        (_COLLECTIVE, "collective"),
        (_COPY, "memcpy"),
        (_SET, "memset"),
    )
    for pattern, kind in text_kinds:
        if any(pattern.match(text.lstrip("%")) for text in texts):
            return kind
    return "other" if lane.endswith("Overlay") else "kernel"


_DETAILS = ("regs", "static_shared", "dynamic_shared", "grid", "block", "size")


def _details(texts: pl.Series) -> pl.DataFrame:
    """What a text such as `regs:96 grid:256,1,1` says, as columns of text."""
    distinct = texts.unique().drop_nulls()
    rows = [(text, *map(dict(_DETAIL.findall(text)).get, _DETAILS)) for text in distinct]
    schema = dict.fromkeys(("text", *_DETAILS), pl.String)
    looked_up = pl.DataFrame(rows, schema=schema, orient="row")
    return (
        texts.alias("text").to_frame().join(looked_up, on="text", how="left", maintain_order="left")
    )


def _number(details: pl.DataFrame, name: str) -> pl.Series:
    return details[name].cast(pl.Int64, strict=False)


def _counter_rows(events: pl.DataFrame, lookup: _EventValues) -> pl.DataFrame:
    number = lookup.column(events, "counter_value").cast(pl.Float64)
    value = lookup.column(events, "counter_value", "real").fill_null(number)
    return events.with_columns(value).select(
        "index",
        "ts_ns",
        counter="name",
        device=pl.format("GPU {}", "device"),
        value="counter_value",
        source=pl.lit("trace"),
    )


def _step_rows(host: pl.DataFrame, device: pl.DataFrame) -> pl.DataFrame:
    """Steps the program marked on the host; where it marked none, those a device shows."""
    marks = host.filter(pl.col("step").is_not_null())
    if marks.is_empty():
        marks = device.filter(pl.col("lane").is_in(_STEPS)).filter(
            pl.col("device") == pl.col("device").min()
        )
        marks = marks.with_columns(
            step=pl.col("name").str.extract(r"(\d+)").cast(pl.Int64, strict=False)
        )
    return marks.sort("ts_ns", "index").select(
        "index", "step", "name", "pid", "tid", "ts_ns", "dur_ns"
    )


def _track_rows(host: pl.DataFrame, device: pl.DataFrame) -> pl.DataFrame:
    threads = host.select("pid", "tid", name="lane").unique(["pid", "tid"], maintain_order=True)
    lanes = device.select("pid", "tid", "device", "word", name="tid").unique(maintain_order=True)
    return pl.concat(
        [threads, lanes.select("pid", "tid", "name", labels=pl.format("{} {}", "word", "device"))],
        how="diagonal",
    )


def _devices(planes: _Planes) -> tuple[Device, ...]:
    devices: dict[int, Device] = {}
    for name, facts in zip(planes.names, planes.facts, strict=True):
        match = _DEVICE_PLANE.match(name)
        number = _device_number(name)
        if match is None or number is None or number in devices:
            continue
        major = facts.get("compute_cap_major")
        devices[number] = Device(
            id=number,
            name=str(facts.get("device_type_string") or _device_name(match["sort"], facts)),
            memory_bytes=_integer(facts.get("memory_size")),
            compute_capability=f"{major}.{facts.get('compute_cap_minor', 0)}" if major else None,
            multiprocessors=_integer(facts.get("core_count")),
            properties={"id": number, **facts},
        )
    return tuple(devices[number] for number in sorted(devices))


def _device_name(sort: str, facts: Mapping[str, int | float | str]) -> str:
    return f"{facts['device_vendor']} {sort}" if "device_vendor" in facts else sort


def _integer(value: int | float | str | None) -> int | None:  # noqa: PYI041 - floats are none
    return int(value) if isinstance(value, int) and value > 0 else None


def _vendor(planes: _Planes) -> str:
    """The maker of the devices, by what the planes say of them."""
    sorts = [match["sort"] for match in map(_DEVICE_PLANE.match, planes.names) if match]
    if not sorts:
        return vendors.NO_ACCELERATOR
    texts = [device.name for device in _devices(planes)]
    return vendors.recognise_vendor(device_names=[*texts, *sorts])
