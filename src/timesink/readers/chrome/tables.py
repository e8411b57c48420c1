"""From joined columns to the tables of the model: what each event is, where it ran."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from timesink.model.schema import (
    COPY_DIRECTIONS,
    DEVICE_KINDS,
    FLOW_KINDS,
    FLOW_PHASES,
    HOST_KINDS,
    TABLES,
)
from timesink.readers import vendors
from timesink.readers.chrome.argument_sets import COLLECTIVE_KEYS
from timesink.readers.chrome.assemble import Array, Assembly, BoolArray, Joined, nullable
from timesink.readers.chrome.columns import NULL_CODE, Tally
from timesink.readers.chrome.nesting import pair_begins_and_ends
from timesink.readers.chrome.timestamps import NULL_INT

_FLOW_PHASES = {"s": "start", "t": "step", "f": "end"}
_DEVICE_IN_LANE = re.compile(r"\bdevice:?\s*(\d+)", re.IGNORECASE)
_STREAM_IN_LANE = re.compile(r"\bstream:?\s*(\w+)", re.IGNORECASE)
_MOST_DIGITS = 18
_COPY_WORD = re.compile(r"[A-Za-z0-9_]+")
_DEVICE_NUMBER = re.compile(r"^[0-9]{1,9}$")
_LARGEST_DEVICE_PID = 4096
"""Device lanes use the device number as pid; a larger pid is a process."""

_HOST_COLUMNS = tuple(TABLES["host"].schema)
_DEVICE_COLUMNS = tuple(TABLES["device"].schema)


def build_tables(assembly: Assembly, tally: Tally) -> dict[str, pl.DataFrame]:
    """All tables that come from the events themselves."""
    tracks = _tracks(assembly.join("metadata"))
    runtime = assembly.join("runtime")
    untyped, host_untyped = _split_untyped(assembly.join("untyped"), tracks, tally)
    _note_unknown_categories(assembly.join("operator"), tally)
    nested, device_nested = _split_nested(assembly.join("nested"), tracks, tally)
    device = [_device_frame(assembly.join(group), tracks, tally) for group in ("device", "ranges")]
    host = [
        _host_frame(assembly.join("operator")),
        _python_frame(assembly.join("python")),
        _host_frame(runtime),
        _instant_frame(assembly.join("instant")),
        nested,
        host_untyped,
    ]
    rare = assembly.join("event_args")
    return {
        "host": _stack(host),
        "device": _with_launch_geometry(_stack([*device, device_nested, untyped]), runtime),
        "memory": _memory_frame(assembly.join("memory")),
        "counters": _counter_frame(assembly.join("samples")),
        "flows": _flow_frame(assembly.join("flow")),
        "collectives": _collective_frame(rare),
        "event_args": _rare_frame(rare),
        "tracks": tracks,
    }


def _stack(frames: list[pl.DataFrame]) -> pl.DataFrame:
    filled = [frame for frame in frames if frame.height]
    return pl.concat(filled, how="diagonal") if filled else pl.DataFrame()


def _enum(values: Array, members: tuple[str, ...], name: str = "kind") -> pl.Series:
    """Numbers of members as an Enum; -1 is null."""
    words = pl.Series(name, [*members, None], dtype=pl.Enum(members))
    return words.gather(np.where(values < 0, len(members), values))


def _kind_numbers(
    joined: Joined, kinds: dict[str, str], members: tuple[str, ...], otherwise: str
) -> Array:
    other = members.index(otherwise)
    return joined.map_words(
        "category", lambda text: members.index(kinds.get(text.lower(), otherwise)), other
    )


# -- host ------------------------------------------------------------------------------------


def _host_frame(joined: Joined) -> pl.DataFrame:
    kinds = _kind_numbers(joined, vendors.HOST_CATEGORIES, HOST_KINDS, "other")
    return joined.frame(_HOST_COLUMNS).with_columns(_enum(kinds, HOST_KINDS))


def _python_frame(joined: Joined) -> pl.DataFrame:
    modules = joined.arrays.get("python_module_id", np.full(len(joined), NULL_INT)) != NULL_INT
    kinds = np.where(modules, HOST_KINDS.index("module"), HOST_KINDS.index("python_function"))
    return joined.frame(_HOST_COLUMNS).with_columns(_enum(kinds, HOST_KINDS))


def _instant_frame(joined: Joined) -> pl.DataFrame:
    kinds = np.full(len(joined), HOST_KINDS.index("instant"))
    frame = joined.frame(_HOST_COLUMNS).with_columns(_enum(kinds, HOST_KINDS))
    return frame.with_columns(dur_ns=pl.lit(0, pl.Int64))


def _split_nested(
    joined: Joined, tracks: pl.DataFrame, tally: Tally
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Host and device rows of events recorded as begin and end."""
    if not len(joined):
        return pl.DataFrame(), pl.DataFrame()
    paired = pair_begins_and_ends(joined, tally)
    on_device: BoolArray = paired.map_words(
        "category", lambda text: text.lower() in vendors.DEVICE_CATEGORIES, missing=False
    )
    host = paired.take(~on_device)
    _note_unknown_categories(host, tally)
    return _host_frame(host), _device_frame(paired.take(on_device), tracks, tally)


def _note_unknown_categories(joined: Joined, tally: Tally) -> None:
    known = joined.map_words(
        "category", lambda text: text.lower() in vendors.HOST_CATEGORIES, missing=True
    )
    unknown = joined.take(~known) if len(joined) else joined
    if len(unknown):
        tally.add("unknown_category", len(unknown), ", ".join(unknown.distinct("category")[:8]))


# -- device ----------------------------------------------------------------------------------


def _device_frame(
    joined: Joined, tracks: pl.DataFrame, tally: Tally, kinds: Array | None = None
) -> pl.DataFrame:
    if not len(joined):
        return pl.DataFrame()
    if kinds is None:
        kinds = _kind_numbers(joined, vendors.DEVICE_CATEGORIES, DEVICE_KINDS, "other")
    directions = _copy_directions(joined)
    copies = (kinds == DEVICE_KINDS.index("kernel")) & (_named_direction(joined) >= 0)
    kinds = np.where(copies, DEVICE_KINDS.index("memcpy"), kinds)
    is_copy = kinds == DEVICE_KINDS.index("memcpy")
    wanted = [c for c in _DEVICE_COLUMNS if c not in ("kind", "device", "stream")]
    return joined.frame(wanted).with_columns(
        _enum(kinds, DEVICE_KINDS),
        nullable(_device_numbers(joined, tracks, tally)).alias("device").cast(pl.Int32),
        _stream_texts(joined),
        *_geometry(joined),
        _enum(np.where(is_copy, directions, NULL_CODE), COPY_DIRECTIONS, "copy_direction"),
    )


def _direction_number(text: str) -> int:
    for word in _COPY_WORD.findall(text):
        direction = vendors.COPY_DIRECTION_WORDS.get(word.lower().removeprefix("copy"))
        if direction is not None:
            return COPY_DIRECTIONS.index(direction)
    return NULL_CODE


def _named_direction(joined: Joined) -> Array:
    return joined.map_words("direction", _direction_number, NULL_CODE)


def _copy_directions(joined: Joined) -> Array:
    named = _named_direction(joined)
    from_name = joined.map_words("name", _direction_number, NULL_CODE)
    other = COPY_DIRECTIONS.index("other")
    return np.where(named >= 0, named, np.where(from_name >= 0, from_name, other))


def _device_numbers(joined: Joined, tracks: pl.DataFrame, tally: Tally) -> Array:
    """Device of each row: as recorded, else from its lane, its process label or its pid."""
    numbers = joined.map_words("device", _device_number, NULL_INT)
    if (numbers != NULL_INT).all():
        return numbers
    strange = joined.map_words(
        "device", lambda text: _device_number(text) == NULL_INT, missing=False
    )
    tally.add("bad_value", strange.sum(), ", ".join(joined.take(strange).distinct("device")[:3]))
    labels = _device_of_process(tracks)
    by_lane = joined.map_words("tid", _search_number(_DEVICE_IN_LANE), NULL_INT)
    by_process = joined.map_words("pid", lambda pid: labels.get(pid, _small(pid)), NULL_INT)
    by_lane = np.where(by_lane != NULL_INT, by_lane, by_process)
    return np.where(numbers != NULL_INT, numbers, by_lane)


def _device_of_process(tracks: pl.DataFrame) -> dict[str, int]:
    """Device numbers that process labels such as `GPU 3` name."""
    processes = tracks.filter(pl.col("tid").is_null()).select("pid", "labels", "name")
    found: dict[str, int] = {}
    for pid, labels, name in processes.iter_rows():
        for text in (labels, name):
            match = re.match(r"^(?:GPU|MLU|NPU|XPU|MTIA|HPU|CUDA)\s*(\d+)", text or "")
            if match:
                found.setdefault(pid, _device_number(match.group(1)))
        if str(name).lower() in vendors.DEVICE_PROCESSES:
            # The pid of a process that is named for what it shows is not a device number.
            found.setdefault(pid, NULL_INT)
    return found


def _small(pid: str) -> int:
    number = _device_number(pid)
    return number if number < _LARGEST_DEVICE_PID else NULL_INT


def _device_number(text: str) -> int:
    return int(text) if _DEVICE_NUMBER.match(text) else NULL_INT


def _search_number(pattern: re.Pattern[str]) -> Callable[[str], int]:
    def search(text: str) -> int:
        match = pattern.search(text)
        return _device_number(match.group(1)) if match else NULL_INT

    return search


def _stream_texts(joined: Joined) -> pl.Series:
    """Stream of each row: as recorded, else what its lane is called."""
    lanes = joined.series("tid").cast(pl.String) if "tid" in joined else None
    from_lane = (
        pl.Series([None] * len(joined), dtype=pl.String)
        if lanes is None
        else lanes.str.extract(_STREAM_IN_LANE.pattern.replace(r"\b", r"(?i)\b", 1)).fill_null(
            lanes
        )
    )
    if "stream" not in joined:
        return from_lane.cast(pl.Categorical).alias("stream")
    recorded = joined.series("stream")
    if recorded.null_count() == 0:
        return recorded
    return recorded.cast(pl.String).fill_null(from_lane).cast(pl.Categorical).alias("stream")


def _geometry(joined: Joined) -> list[pl.Series]:
    return [
        nullable(joined.map_words(key, _coordinate(axis), NULL_INT)).alias(f"{key}_{letter}")
        for key in ("grid", "block")
        if key in joined
        for axis, letter in enumerate("xyz")
    ]


def _coordinate(axis: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        numbers = re.findall(r"-?\d+", text)
        if len(numbers) <= axis or len(numbers[axis]) > _MOST_DIGITS:
            return NULL_INT
        return int(numbers[axis])

    return read


def _with_launch_geometry(device: pl.DataFrame, runtime: Joined) -> pl.DataFrame:
    """Some profilers write the launch geometry on the runtime call; copy it to the kernel."""
    if device.is_empty() or "correlation" not in device.columns:
        return device
    if "grid" not in runtime or "correlation" not in runtime:
        return device
    launches = (
        runtime.frame(["correlation"])
        .with_columns(*_geometry(runtime))
        .drop_nulls()
        .unique("correlation", keep="first")
    )
    joined = device.join(
        launches, on="correlation", how="left", suffix="_launch", maintain_order="left"
    )
    is_kernel = pl.col("kind") == "kernel"
    filled = []
    for column in launches.columns[1:]:
        if f"{column}_launch" in joined.columns:
            launch = pl.col(f"{column}_launch")
            filled.append(pl.coalesce(column, pl.when(is_kernel).then(launch)).alias(column))
        else:
            filled.append(pl.when(is_kernel).then(pl.col(column)).alias(column))
    return joined.with_columns(filled).select(pl.exclude(r"^.*_launch$"))


# -- events whose category is missing ----------------------------------------------------------


def _split_untyped(
    joined: Joined, tracks: pl.DataFrame, tally: Tally
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Device and host rows of events without a category, told apart by the process they are in."""
    if not len(joined):
        return pl.DataFrame(), pl.DataFrame()
    names = {
        pid: str(name).lower()
        for pid, name in tracks.filter(pl.col("tid").is_null()).select("pid", "name").iter_rows()
        if name is not None
    }
    on_device: BoolArray = joined.map_words(
        "pid", lambda pid: names.get(pid, "") in vendors.DEVICE_PROCESSES, missing=False
    )
    device, host = joined.take(on_device), joined.take(~on_device)
    host_kinds = host.map_words(
        "pid",
        lambda pid: HOST_KINDS.index(vendors.HOST_PROCESSES.get(names.get(pid, ""), "other")),
        HOST_KINDS.index("other"),
    )
    placeless = host.map_words(
        "pid", lambda pid: names.get(pid, "") not in vendors.HOST_PROCESSES, missing=True
    )
    if len(host):
        example = ", ".join(host.take(placeless).distinct("name")[:3]) if placeless.any() else ""
        tally.add("missing_category", int(placeless.sum()), example)
    return (
        _device_frame(device, tracks, tally, _untyped_device_kinds(device, names)),
        host.frame(_HOST_COLUMNS).with_columns(_enum(host_kinds, HOST_KINDS)),
    )


def _untyped_device_kinds(joined: Joined, names: dict[str, str]) -> Array:
    by_process = joined.map_words(
        "pid",
        lambda pid: DEVICE_KINDS.index(vendors.DEVICE_PROCESSES[names[pid]]),
        DEVICE_KINDS.index("other"),
    )
    by_task = joined.map_words(
        "task_type",
        lambda task: (
            DEVICE_KINDS.index(vendors.ASCEND_TASK_KINDS[task])
            if task in vendors.ASCEND_TASK_KINDS
            else NULL_CODE
        ),
        NULL_CODE,
    )
    return np.where(by_task >= 0, by_task, by_process)


# -- the small tables --------------------------------------------------------------------------


def _memory_frame(joined: Joined) -> pl.DataFrame:
    if not len(joined):
        return pl.DataFrame()
    frame = joined.frame(c for c in TABLES["memory"].schema if c != "address")
    if "address" in joined:
        address = joined.series("address").cast(pl.String).cast(pl.UInt64, strict=False)
        frame = frame.with_columns(address)
    return frame


def _flow_frame(joined: Joined) -> pl.DataFrame:
    if not len(joined):
        return pl.DataFrame()
    kinds = _kind_numbers(joined, vendors.FLOW_CATEGORIES, FLOW_KINDS, "other")
    phases = joined.map_words("phase", lambda p: FLOW_PHASES.index(_FLOW_PHASES[p]), NULL_CODE)
    columns = ("index", "flow_id", "category", "pid", "tid", "ts_ns")
    return joined.frame(columns).with_columns(
        _enum(kinds, FLOW_KINDS), _enum(phases, FLOW_PHASES, "phase")
    )


def _counter_frame(joined: Joined) -> pl.DataFrame:
    if not len(joined):
        return pl.DataFrame()
    sampled = joined.map_words("phase", lambda phase: phase == "C", missing=False)
    # Counter tracks of accelerators name the device in the lane, others in the process.
    named_lane = joined.map_words("tid", lambda tid: not tid.isdigit(), missing=False)
    source = pl.Series("source", np.where(sampled, "trace", "profiler_range")).cast(pl.Categorical)
    frame = joined.frame(("ts_ns", "counter", "value", "index", "pid", "tid"))
    return frame.with_columns(
        source,
        device=pl.when(pl.Series(named_lane)).then("tid").otherwise("pid")
        if "tid" in frame.columns
        else pl.col("pid"),
    ).drop("pid", "tid", strict=False)


def _rare_frame(joined: Joined) -> pl.DataFrame:
    if not len(joined):
        return pl.DataFrame()
    collective = joined.map_words("key", lambda key: key in COLLECTIVE_KEYS, missing=False)
    return joined.take(~collective).frame(("index", "key", "value"))


def _collective_frame(joined: Joined) -> pl.DataFrame:
    if not len(joined):
        return pl.DataFrame()
    collective = joined.map_words("key", lambda key: key in COLLECTIVE_KEYS, missing=False)
    rows = joined.take(collective)
    if not len(rows):
        return pl.DataFrame()
    long = rows.frame(("index", "key", "value")).cast({"key": pl.String, "value": pl.String})
    wide = long.pivot("key", index="index", values="value", aggregate_function="first")
    wide = wide.rename(
        {key: COLLECTIVE_KEYS[key] for key in wide.columns if key in COLLECTIVE_KEYS}
    )
    schema = TABLES["collectives"].schema
    return wide.with_columns(
        pl.col(column).cast(pl.Int64, strict=False)
        for column in wide.columns
        if schema[column] == pl.Int64()
    )


def _tracks(joined: Joined) -> pl.DataFrame:
    """Names, labels and order of lanes; the last word on each counts."""
    if not len(joined):
        return TABLES["tracks"].empty()
    of_process = joined.map_words("name", lambda name: name.startswith("process_"), missing=False)
    frame = pl.DataFrame(
        {
            "pid": joined.series("pid"),
            "tid": joined.series("tid"),
            **{key: _lane_argument(joined, key) for key in ("lane_name", "labels", "sort_index")},
        }
    )
    frame = frame.with_columns(tid=pl.when(~pl.Series(of_process)).then(pl.col("tid")))
    return frame.group_by("pid", "tid", maintain_order=True).agg(
        name=pl.col("lane_name").drop_nulls().last(),
        labels=pl.col("labels").drop_nulls().last(),
        sort_index=pl.col("sort_index").drop_nulls().last(),
    )


def _lane_argument(joined: Joined, key: str) -> pl.Series:
    if key in joined:
        return joined.series(key)
    dtype: Any = pl.Int64 if key == "sort_index" else pl.Categorical
    return pl.Series(key, [None] * len(joined), dtype=dtype)
