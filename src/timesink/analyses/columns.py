"""The columns most analyses need, loaded once per trace; row for row those of its tables."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.once import once_per_trace
from timesink.analyses.texts import Codes, Texts, encode
from timesink.model.arrays import Ints
from timesink.model.intervals import IntervalSet
from timesink.model.schema import DEVICE_KINDS, HOST_KINDS
from timesink.model.trace import Trace

Rows: TypeAlias = NDArray[Any] | slice
"""Which rows of a table: places or flags."""

_HOST = (
    "kind",
    "category",
    "name",
    "pid",
    "tid",
    "ts_ns",
    "dur_ns",
    "external_id",
    "correlation",
)
_DEVICE = (
    "kind",
    "name",
    "pid",
    "ts_ns",
    "dur_ns",
    "device",
    "stream",
    "correlation",
    "external_id",
)


@once_per_trace
def host_columns(trace: Trace) -> pl.DataFrame:
    """What, where and when of every host event, and the ids that link it."""
    return trace.lazy("host").select(_HOST).collect()


@once_per_trace
def device_columns(trace: Trace) -> pl.DataFrame:
    """What, where and when of every device event, and the ids that link it."""
    return trace.lazy("device").select(_DEVICE).collect()


@once_per_trace
def host_kinds(trace: Trace) -> Texts:
    """Kinds of the host events, in the numbers of `HOST_KINDS`."""
    return Texts(host_columns(trace)["kind"].to_physical().to_numpy().astype(np.int64), HOST_KINDS)


@once_per_trace
def device_kinds(trace: Trace) -> Texts:
    """Kinds of the device events, in the numbers of `DEVICE_KINDS`."""
    return Texts(
        device_columns(trace)["kind"].to_physical().to_numpy().astype(np.int64), DEVICE_KINDS
    )


def start_and_end(events: pl.DataFrame, rows: Rows = slice(None)) -> tuple[Ints, Ints]:
    """When each event began and ended, or each in some rows of them."""
    start = events["ts_ns"].to_numpy()[rows]
    return start, start + events["dur_ns"].to_numpy()[rows]


def event_ranges(events: pl.DataFrame, rows: Rows = slice(None)) -> IntervalSet:
    """The same as ranges of time."""
    return np.stack(start_and_end(events, rows)).T


def numbers(column: pl.Series) -> Ints:
    """Ids and amounts, 0 where there is none."""
    return (column.fill_null(0) if column.null_count() else column).to_numpy()


@once_per_trace
def host_names(trace: Trace) -> Texts:
    """Names of the host events; absent ones are empty."""
    codes, texts = encode(host_columns(trace)["name"])
    return Texts(codes, [text or "" for text in texts])


@once_per_trace
def host_lanes(trace: Trace) -> tuple[Codes, list[tuple[str, str]]]:
    """A number per host event for its process and thread, and what each number stands for."""
    return lane_codes(host_columns(trace))


def lane_codes(events: pl.DataFrame) -> tuple[Codes, list[tuple[str, str]]]:
    """A number per event for its process and thread, and what each number stands for."""
    pid, pids = encode(events["pid"])
    tid, tids = encode(events["tid"])
    if len(pids) * len(tids) == 1:
        return pid, [(pids[0] or "", tids[0] or "")]
    joint = pid * len(tids) + tid
    seen = np.zeros(len(pids) * len(tids), dtype=np.bool_)
    seen[joint] = True
    lanes = [divmod(code, len(tids)) for code in np.flatnonzero(seen).tolist()]
    return (np.cumsum(seen) - 1)[joint], [(pids[p] or "", tids[t] or "") for p, t in lanes]


@once_per_trace
def device_names(trace: Trace) -> Texts:
    """Names of the device events; absent ones are empty."""
    codes, texts = encode(device_columns(trace)["name"])
    return Texts(codes, [text or "" for text in texts])
