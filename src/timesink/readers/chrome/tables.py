"""From joined columns to the tables of the model."""

from __future__ import annotations

import numpy as np
import polars as pl

from timesink.model import vendors
from timesink.model.schema import DEVICE_KINDS, HOST, HOST_KINDS
from timesink.readers.chrome.assemble import Array, Assembly, BoolArray, Joined, enum_series
from timesink.readers.chrome.columns import NULL_CODE, Tally
from timesink.readers.chrome.device_table import device_frame, with_launch_geometry
from timesink.readers.chrome.side_tables import (
    collective_frame,
    counter_frame,
    flow_frame,
    memory_frame,
    rare_frame,
    track_frame,
)
from timesink.readers.chrome.timestamps import NULL_INT

_KIND = {name: number for number, name in enumerate(HOST_KINDS)}
LEFT_OUT_IN_BRIEF = ("memory", "flows", "event_args")
"""Tables of which a brief reading has nothing but times, which tell of the clock."""


_SIDE_TABLES = {
    "memory": ("memory", memory_frame),
    "counters": ("samples", counter_frame),
    "flows": ("flow", flow_frame),
    "collectives": ("collectives", collective_frame),
    "event_args": ("event_args", rare_frame),
}
"""Tables of one group of events each."""


def build_tables(
    assembly: Assembly, tally: Tally, *, brief: bool = False
) -> dict[str, pl.DataFrame]:
    """All tables that come from the events themselves; brief ones may hold times alone."""
    tracks = track_frame(assembly.join("metadata"))
    operators, runtime = assembly.join("operator"), assembly.join("runtime")
    python, instants = assembly.join("python"), assembly.join("instant")
    untyped, host_untyped = _split_untyped(assembly.join("untyped"), tracks, tally)
    _note_unknown_categories(operators, tally)
    nested, device_nested = _split_nested(assembly.join("nested"), tracks, tally)
    device = [device_frame(assembly.join(group), tracks, tally) for group in ("device", "ranges")]
    modules = python.arrays.get("python_module_id", np.full(len(python), NULL_INT)) != NULL_INT
    host = [
        _host_frame(operators),
        _host_frame(python, np.where(modules, _KIND["module"], _KIND["python_function"])),
        _host_frame(runtime),
        _host_frame(instants, np.full(len(instants), _KIND["instant"])).with_columns(
            dur_ns=pl.lit(0, pl.Int64)
        ),
        nested,
        host_untyped,
    ]
    tables = {
        "host": _stack(host),
        "device": with_launch_geometry(_stack([*device, device_nested, untyped]), runtime),
        "tracks": tracks,
    }
    for name, (group, frame_of) in _SIDE_TABLES.items():
        rows = assembly.join(group)
        if len(rows):
            only_times = brief and name in LEFT_OUT_IN_BRIEF and name != "event_args"
            tables[name] = rows.frame(("ts_ns",)) if only_times else frame_of(rows)
    return tables


def _host_frame(joined: Joined, kinds: Array | None = None) -> pl.DataFrame:
    """Rows of `host`; their kinds are those of their categories where none are given."""
    if kinds is None:
        kinds = joined.kinds(vendors.HOST_CATEGORIES, HOST_KINDS)
    return joined.frame(HOST.schema).with_columns(enum_series(kinds, HOST_KINDS))


def _stack(frames: list[pl.DataFrame]) -> pl.DataFrame:
    filled = [frame for frame in frames if frame.height]
    return pl.concat(filled, how="diagonal") if filled else pl.DataFrame()


def _split_nested(
    joined: Joined, tracks: pl.DataFrame, tally: Tally
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Host and device rows of events recorded as begin and end."""
    if not len(joined):
        return pl.DataFrame(), pl.DataFrame()
    paired = _pair_begins_and_ends(joined, tally)
    on_device: BoolArray = paired.map_words(
        "category", lambda text: text.lower() in vendors.DEVICE_CATEGORIES, missing=False
    )
    host = paired.take(~on_device)
    _note_unknown_categories(host, tally)
    return _host_frame(host), device_frame(paired.take(on_device), tracks, tally)


def _pair_begins_and_ends(joined: Joined, tally: Tally) -> Joined:
    """Begins (`ph` B) with the duration up to their end; the innermost open one closes first."""
    begins = joined.map_words("phase", lambda phase: phase == "B", missing=False)
    ts_ns = joined.arrays["ts_ns"]
    durations = np.zeros(len(joined), np.int64)
    open_rows: dict[tuple[int, int], list[int]] = {}
    stray_ends = 0
    for row in np.argsort(ts_ns, kind="stable").tolist():
        lane = (int(joined.arrays["pid"][row]), int(joined.arrays["tid"][row]))
        stack = open_rows.setdefault(lane, [])
        if begins[row]:
            stack.append(row)
        elif stack:
            begin = stack.pop()
            durations[begin] = ts_ns[row] - ts_ns[begin]
        else:
            stray_ends += 1
    unclosed = sum(map(len, open_rows.values()))
    tally.add("unpaired_begin_end", stray_ends + unclosed, f"{unclosed} begins, {stray_ends} ends")
    arrays = {**joined.arrays, "dur_ns": durations}
    return Joined(arrays, joined.vocabularies, joined.words).take(begins)


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
        lambda pid: _KIND[vendors.HOST_PROCESSES.get(names.get(pid, ""), "other")],
        _KIND["other"],
    )
    placeless = host.map_words(
        "pid", lambda pid: names.get(pid, "") not in vendors.HOST_PROCESSES, missing=True
    )
    if len(host):
        example = ", ".join(host.take(placeless).distinct("name")[:3]) if placeless.any() else ""
        tally.add("missing_category", int(placeless.sum()), example)
    return (
        device_frame(device, tracks, tally, _untyped_device_kinds(device, names)),
        _host_frame(host, host_kinds),
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
