"""From joined columns to the tables of the model."""

from __future__ import annotations

import numpy as np
import polars as pl

from timesink.model import vendors
from timesink.model.schema import DEVICE_KINDS, HOST_KINDS
from timesink.readers.chrome.assemble import Array, Assembly, BoolArray, Joined
from timesink.readers.chrome.columns import NULL_CODE, Tally
from timesink.readers.chrome.device_table import device_frame, with_launch_geometry
from timesink.readers.chrome.host_table import (
    HOST_COLUMNS,
    host_frame,
    instant_frame,
    python_frame,
)
from timesink.readers.chrome.kinds import enum_series
from timesink.readers.chrome.nesting import pair_begins_and_ends
from timesink.readers.chrome.side_tables import (
    collective_frame,
    counter_frame,
    flow_frame,
    memory_frame,
    rare_frame,
    track_frame,
)

LEFT_OUT_IN_BRIEF = ("memory", "flows", "event_args")
"""Tables of which a brief reading has nothing but times, which tell of the clock."""


def build_tables(
    assembly: Assembly, tally: Tally, *, brief: bool = False
) -> dict[str, pl.DataFrame]:
    """All tables that come from the events themselves; brief ones may hold times alone."""
    tracks = track_frame(assembly.join("metadata"))
    runtime = assembly.join("runtime")
    untyped, host_untyped = _split_untyped(assembly.join("untyped"), tracks, tally)
    _note_unknown_categories(assembly.join("operator"), tally)
    nested, device_nested = _split_nested(assembly.join("nested"), tracks, tally)
    device = [device_frame(assembly.join(group), tracks, tally) for group in ("device", "ranges")]
    host = [
        host_frame(assembly.join("operator")),
        python_frame(assembly.join("python")),
        host_frame(runtime),
        instant_frame(assembly.join("instant")),
        nested,
        host_untyped,
    ]
    memory, flows = assembly.join("memory"), assembly.join("flow")
    return {
        "host": _stack(host),
        "device": with_launch_geometry(_stack([*device, device_nested, untyped]), runtime),
        "memory": memory.frame(("ts_ns",)) if brief else memory_frame(memory),
        "counters": counter_frame(assembly.join("samples")),
        "flows": flows.frame(("ts_ns",)) if brief else flow_frame(flows),
        "collectives": collective_frame(assembly.join("collectives")),
        "event_args": rare_frame(assembly.join("event_args")),
        "tracks": tracks,
    }


def _stack(frames: list[pl.DataFrame]) -> pl.DataFrame:
    filled = [frame for frame in frames if frame.height]
    return pl.concat(filled, how="diagonal") if filled else pl.DataFrame()


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
    return host_frame(host), device_frame(paired.take(on_device), tracks, tally)


def _note_unknown_categories(joined: Joined, tally: Tally) -> None:
    known = joined.map_words(
        "category", lambda text: text.lower() in vendors.HOST_CATEGORIES, missing=True
    )
    unknown = joined.take(~known) if len(joined) else joined
    if len(unknown):
        tally.add("unknown_category", len(unknown), ", ".join(unknown.distinct("category")[:8]))


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
        device_frame(device, tracks, tally, _untyped_device_kinds(device, names)),
        host.frame(HOST_COLUMNS).with_columns(enum_series(host_kinds, HOST_KINDS)),
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
            DEVICE_KINDS.index(vendors.TASK_KINDS[task])
            if task in vendors.TASK_KINDS
            else NULL_CODE
        ),
        NULL_CODE,
    )
    return np.where(by_task >= 0, by_task, by_process)
