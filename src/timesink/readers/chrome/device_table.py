"""What the accelerators did, and where: rows of the `device` table."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import polars as pl

from timesink.model import vendors
from timesink.model.schema import COPY_DIRECTIONS, DEVICE, DEVICE_KINDS
from timesink.readers.chrome.assemble import Array, Joined, enum_series, nullable
from timesink.readers.chrome.columns import NULL_CODE, Tally
from timesink.readers.chrome.timestamps import NULL_INT

_DEVICE_IN_LANE = re.compile(r"\bdevice:?\s*(\d+)", re.IGNORECASE)
_STREAM_IN_LANE = r"(?i)\bstream:?\s*(\w+)"
_DEVICE_NUMBER = re.compile(r"^[0-9]{1,9}$")
_COPY_WORD = re.compile(r"[A-Za-z0-9_]+")
_MOST_DIGITS = 18
_LARGEST_DEVICE_PID = 4096
"""Device lanes use the device number as pid; a larger pid is a process."""
_AS_RECORDED = tuple(c for c in DEVICE.schema if c not in ("kind", "device", "stream"))


def device_frame(
    joined: Joined, tracks: pl.DataFrame, tally: Tally, kinds: Array | None = None
) -> pl.DataFrame:
    if not len(joined):
        return pl.DataFrame()
    if kinds is None:
        kinds = joined.kinds(vendors.DEVICE_CATEGORIES, DEVICE_KINDS)
    directions = _copy_directions(joined)
    copies = (kinds == DEVICE_KINDS.index("kernel")) & (_named_direction(joined) >= 0)
    kinds = np.where(copies, DEVICE_KINDS.index("memcpy"), kinds)
    is_copy = kinds == DEVICE_KINDS.index("memcpy")
    return joined.frame(_AS_RECORDED).with_columns(
        enum_series(kinds, DEVICE_KINDS),
        nullable(_device_numbers(joined, tracks, tally)).alias("device").cast(pl.Int32),
        _stream_texts(joined),
        *_geometry(joined),
        enum_series(np.where(is_copy, directions, NULL_CODE), COPY_DIRECTIONS, "copy_direction"),
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
            match = vendors.DEVICE_LABEL.match(text or "")
            if match:
                found.setdefault(pid, _device_number(match.group(2)))
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
        else lanes.str.extract(_STREAM_IN_LANE).fill_null(lanes)
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


def with_launch_geometry(device: pl.DataFrame, runtime: Joined) -> pl.DataFrame:
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
