"""The format: which files are snapshots of memory, and the trace of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from timesink.errors import UnreadableError
from timesink.formats.finish import finish_trace
from timesink.formats.memory_snapshot.collection import ACTIONS, Collection, EventColumns
from timesink.formats.memory_snapshot.compiled import SnapshotParts, compiled_parts
from timesink.formats.memory_snapshot.signature import sniff
from timesink.formats.memory_snapshot.tables import snapshot_tables
from timesink.formats.plain_pickle import load_plain, plain_text
from timesink.formats.read_options import ReadOptions
from timesink.formats.source_file import SourceFile
from timesink.model.health import HealthEntry
from timesink.model.trace import SNAPSHOT, Metadata, Trace
from timesink.model.vendors import UNKNOWN
from timesink.runtime.native import is_native

__all__ = ["NAME", "read", "sniff"]

NAME = SNAPSHOT
MAX_LISTED = 1000
"""Annotations and failures that are listed."""
_CUDA = 1
_OOM = ACTIONS.index("oom")


def read(source: SourceFile, options: ReadOptions) -> Trace:  # noqa: ARG001 - nothing to choose
    """The trace of a snapshot: memory over time, blocks and segments, no calls and no times."""
    value, collection, traces = (is_native() and compiled_parts(source)) or _parts(source)
    tables = snapshot_tables(collection, traces, _CUDA)
    health = [
        HealthEntry(code, count, collection.examples[code])
        for code, count in collection.lost.items()
    ]
    counts = {
        action: sum(int((trace.columns()["action"] == code).sum()) for trace in traces)
        for code, action in enumerate(ACTIONS)
    }
    metadata = Metadata(
        source=source.path.name,
        format=NAME,
        vendor=UNKNOWN,
        events=sum(map(len, traces)),
        phases={action: count for action, count in counts.items() if count},
        framework="PyTorch",
        extra={
            "out_of_memory": _failures(collection, traces),
            "annotations": _annotations(value),
            "allocator_settings": _settings(value.get("allocator_settings")),
        },
    )
    return finish_trace(metadata, tables, health)


def _parts(source: SourceFile) -> SnapshotParts:
    """What a snapshot holds, read in Python."""
    collections: list[Collection] = []

    def new_drain() -> Any:
        collections.append(Collection())
        return collections[-1].drain

    value = load_plain(source, new_drain)
    collection = collections[-1]
    if not isinstance(value, dict) or not {"segments", "device_traces"} & value.keys():
        raise UnreadableError(
            f"{source.path}: a pickle without segments and events of a memory allocator",
            "give a file that torch.cuda.memory._dump_snapshot wrote",
        )
    return value, collection, collection.finish(value)


def _failures(collection: Collection, traces: list[EventColumns]) -> list[dict[str, Any]]:
    """Allocations that failed: how much was asked for, how much the device had left."""
    every = [trace.columns() for trace in traces]
    return [
        {
            "device": device,
            "ts_ns": int(columns["time_us"][row]) * 1000,
            "bytes": int(columns["bytes"][row]),
            "device_free_bytes": int(columns["address"][row]),
            "call_stack": collection.stacks.texts[int(columns["stack"][row])],
        }
        for device, columns in enumerate(every)
        for row in (columns["action"] == _OOM).nonzero()[0][:MAX_LISTED].tolist()
    ]


def _annotations(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Ranges that the program marked, where the snapshot has them: name, device, begin and end."""
    listed = value.get("external_annotations")
    open_ranges: dict[tuple[str, int | None], list[int]] = {}
    ranges = []
    for mark in listed if isinstance(listed, list) else ():
        if not isinstance(mark, dict) or not isinstance(mark.get("time_us"), int):
            continue
        device = mark.get("device")
        key = plain_text(mark.get("name"))[:200], device if isinstance(device, int) else None
        if mark.get("stage") == "START":
            open_ranges.setdefault(key, []).append(mark["time_us"])
        elif open_ranges.get(key):
            start = open_ranges[key].pop()
            end = mark["time_us"]
            if 0 < start <= end < 2**52:
                ranges.append(
                    {
                        "name": key[0],
                        "device": key[1],
                        "start_ns": start * 1000,
                        "end_ns": end * 1000,
                    }
                )
    return ranges[:MAX_LISTED]


def _settings(settings: Any) -> dict[str, Any]:
    """How the allocator was configured, as far as plain values say it."""
    if not isinstance(settings, dict):
        return {}
    plain = (str, int, float, bool)
    return {str(key): value for key, value in settings.items() if isinstance(value, plain)}
