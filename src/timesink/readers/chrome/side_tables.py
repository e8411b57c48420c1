"""The smaller tables: memory, flows, counters, collectives, rare arguments, tracks.

Groups have rows, except for tracks: who asks leaves out those without.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from timesink.model import vendors
from timesink.model.schema import FLOW_KINDS, FLOW_PHASES, TABLES
from timesink.readers.chrome.argument_sets import FLOW_PHASE_NAMES
from timesink.readers.chrome.assemble import Joined, enum_series
from timesink.readers.chrome.columns import NULL_CODE
from timesink.readers.counters.names import (
    HOST_OF_PROCESS,
    device_of_lane,
    with_processes_apart,
)


def memory_frame(joined: Joined) -> pl.DataFrame:
    frame = joined.frame(c for c in TABLES["memory"].schema if c != "address")
    if "address" in joined:
        frame = frame.with_columns(pl.Series("address", _addresses(joined), dtype=pl.UInt64))
    return frame


def _address(text: str) -> int | None:
    try:
        number = int(text, 0)
    except ValueError:
        return None
    return number if 0 <= number < 2**64 else None


def _addresses(joined: Joined) -> list[int | None]:
    """Addresses as numbers, decimal or hexadecimal."""
    numbers = {text: _address(text) for text in joined.distinct("address")}
    return [numbers.get(text) for text in joined.series("address").to_list()]


def flow_frame(joined: Joined) -> pl.DataFrame:
    kinds = joined.kinds(vendors.FLOW_CATEGORIES, FLOW_KINDS)
    phases = joined.map_words("phase", lambda p: FLOW_PHASES.index(FLOW_PHASE_NAMES[p]), NULL_CODE)
    columns = ("index", "flow_id", "category", "pid", "tid", "ts_ns")
    return joined.frame(columns).with_columns(
        enum_series(kinds, FLOW_KINDS), enum_series(phases, FLOW_PHASES, "phase")
    )


def counter_frame(joined: Joined) -> pl.DataFrame:
    sampled = joined.map_words("phase", lambda phase: phase == "C", missing=False)
    # Counter tracks of accelerators name the device in the lane, others in the process.
    named_lane = joined.map_words("tid", lambda tid: not tid.isdigit(), missing=False)
    source = pl.Series("source", np.where(sampled, "trace", "profiler_range")).cast(pl.Categorical)
    columns = ("ts_ns", "counter", "value", "index", "category", "pid", "tid")
    frame = joined.frame(columns).cast({"category": pl.String, "pid": pl.String, "tid": pl.String})
    named = pl.when(pl.Series(named_lane)).then("tid")
    placed = frame.with_columns(source, device=_device_of_samples(frame, named))
    return with_processes_apart(placed.drop("category", "pid", "tid"))


def _device_of_samples(frame: pl.DataFrame, named_lane: pl.Expr) -> pl.Expr:
    """The device by its lane, else by the category, else the process as recorded."""
    lanes = {
        text: device_of_lane(text)
        for column in ("category", "tid")
        for text in frame[column].unique().drop_nulls()
    }
    by_category = pl.col("category").replace_strict(
        {text: label for text, label in lanes.items() if label != text}, default=None
    )
    by_lane = pl.coalesce(named_lane.replace(lanes), by_category)
    hosts = frame["pid"].unique().str.extract(HOST_OF_PROCESS, 1).drop_nulls()
    if hosts.n_unique() > 1:
        # One trace of several machines: each has a device 0 of its own.
        host = pl.col("pid").str.extract(HOST_OF_PROCESS, 1)
        by_lane = pl.coalesce(pl.format("{} on {}", by_lane, host), by_lane)
    return pl.coalesce(by_lane, "pid")


def rare_frame(joined: Joined) -> pl.DataFrame:
    return joined.frame(("index", "key", "value"))


def collective_frame(joined: Joined) -> pl.DataFrame:
    schema = TABLES["collectives"].schema
    numbers = pl.col([column for column, dtype in schema.items() if dtype == pl.Int64()])
    return joined.frame(schema).with_columns(
        numbers.cast(pl.String).cast(pl.Float64, strict=False).cast(pl.Int64, strict=False)
    )


def track_frame(joined: Joined) -> pl.DataFrame:
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
