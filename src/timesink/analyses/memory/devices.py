"""Memory records in the order of time, under the names of the devices they belong to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from timesink.analyses.names import device_word
from timesink.analyses.once import once_per_trace
from timesink.model.arrays import Ints
from timesink.model.trace import Trace
from timesink.model.vendors import PRIVATE_TORCH_TYPE, TORCH_DEVICE_WORDS

CPU = "CPU"
_HOST_TYPE = 0
_NOT_PRIVATE = ("CPU", "GPU")
_COLUMNS = (
    "ts_ns",
    "pid",
    "tid",
    "device",
    "address",
    "bytes",
    "total_allocated_bytes",
    "total_reserved_bytes",
)


def memory_device(device_type: int | None, number: int | None, vendor_word: str) -> str:
    """The name of the device a record belongs to.

    PyTorch keeps one type for devices it does not know itself; what it means is up to the vendor.
    """
    if device_type == _HOST_TYPE:
        return CPU
    digits = "" if number is None or number < 0 else str(number)
    word = TORCH_DEVICE_WORDS.get(-1 if device_type is None else device_type)
    if device_type == PRIVATE_TORCH_TYPE and vendor_word not in _NOT_PRIVATE:
        word = vendor_word
    if word is not None:
        return f"{word}{digits}"
    return f"type {'unknown' if device_type is None else device_type}:{digits}"


@once_per_trace
def memory_records(trace: Trace) -> pl.DataFrame:
    """Allocations and releases in the order of time, and of the source where times are equal.

    `device` is the name of the device, an enumeration in the order devices are listed.  A release
    whose size is not known counts as one of 0 bytes.
    """
    records = trace.lazy("memory").select(*_COLUMNS, "device_type").collect()
    names = pl.Enum(memory_device_names(trace))
    named = records.with_columns(
        pl.Series("device", names.categories, dtype=names).gather(_device_codes(records, trace)),
        pl.col("bytes").fill_null(0),
    ).drop("device_type")
    times = named["ts_ns"]
    return named if times.is_sorted() else named[np.argsort(times.to_numpy(), kind="stable")]


def _device_codes(records: pl.DataFrame, trace: Trace) -> Ints:
    names = memory_device_names(trace)
    codes = np.zeros(records.height, dtype=np.int64)
    for kind, number, name in _places(trace).select("device_type", "device", "name").rows():
        same = records["device_type"].eq_missing(kind) & records["device"].eq_missing(number)
        codes[same.to_numpy()] = names.index(name)
    return codes


def within(time: pl.Expr, start_ns: int | None, end_ns: int | None) -> pl.Expr:
    """Whether a time is inside a window, both ends included; an open end bounds nothing."""
    inside = time.is_not_null()
    if start_ns is not None:
        inside &= time >= start_ns
    if end_ns is not None:
        inside &= time <= end_ns
    return inside


@once_per_trace
def _places(trace: Trace) -> pl.DataFrame:
    """Types and numbers of the devices with records, and their names, in the order of names."""
    word = device_word(trace)
    found = trace.lazy("memory").select("device_type", "device").unique().collect()
    names = [memory_device(kind, number, word) for kind, number in found.rows()]
    return (
        found.with_columns(pl.Series("name", names, dtype=pl.String))
        .with_columns(word=pl.col("name").str.strip_chars_end("0123456789"))
        .sort("word", "device", "name")
    )


def memory_device_names(trace: Trace) -> list[str]:
    """The devices with records, by name; the second GPU comes before the tenth."""
    return _places(trace)["name"].unique(maintain_order=True).to_list()


def default_device(names: Sequence[str]) -> str:
    """The device to show first: the first accelerator, else the host."""
    return next((name for name in names if name != CPU), CPU)


def memory_capacities(trace: Trace) -> dict[str, int]:
    """The memory each device has, as far as the recording says.

    It describes the devices of its vendor; others may have the same numbers.
    """
    listed = {device.id: device.memory_bytes for device in trace.metadata.devices}
    described = _places(trace).filter(pl.col("word") == device_word(trace))
    sizes = {name: listed.get(number) for number, name in described.select("device", "name").rows()}
    return {name: size for name, size in sizes.items() if size}
