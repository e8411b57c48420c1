"""Dumps of PyTorch's flight recorder, as pickle or JSON: what a rank enqueued, and how far it is.

A pickle is read by the restricted reader: nothing in it is run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

import msgspec

from timesink.errors import UnreadableError
from timesink.formats.collective_logs.rows import (
    COMPLETED,
    SCHEDULED,
    STARTED,
    CollectiveRow,
    Losses,
    log_trace,
    rank_of_name,
    short_text,
    whole_number,
)
from timesink.formats.collective_logs.signatures import is_flight_recorder
from timesink.formats.memory_snapshot.collection import StackTable
from timesink.formats.plain_pickle import is_pickle, load_plain
from timesink.formats.read_options import ReadOptions
from timesink.formats.source_file import SourceFile
from timesink.model.element_types import type_by_spelling
from timesink.model.trace import Trace

NAME = "flight_recorder"
MAX_JSON_BYTES = 1 << 30
"""Of a dump as JSON: a full recorder of a rank takes some megabytes."""
_STATES = (SCHEDULED, STARTED, COMPLETED)
_MAX_RANKS = 1 << 20


def sniff(head: bytes, name: str) -> bool:  # noqa: ARG001 - the content says it
    """Whether a file is a dump of the flight recorder."""
    return is_flight_recorder(head)


def read(source: SourceFile, options: ReadOptions) -> Trace:  # noqa: ARG001 - nothing to choose
    """The calls of one rank."""
    dump = _load(source)
    entries = dump.get("entries") if isinstance(dump, dict) else None
    if not isinstance(entries, list):
        raise UnreadableError(
            f"{source.path}: a dump without entries",
            "record with TORCH_FR_BUFFER_SIZE (before 2.9: TORCH_NCCL_TRACE_BUFFER_SIZE) above 0",
        )
    losses, rank = Losses(), _rank(dump, source.name)
    rows = list(_rows(dump, entries, rank, losses))
    statuses = _mapping(dump.get("pg_status"))
    status = {
        group: {key: whole_number(value) for key, value in _mapping(numbers).items()}
        for group, numbers in statuses.items()
    }
    versions = {
        name: text
        for name, key in (("flight_recorder", "version"), ("nccl", "comm_lib_version"))
        if (text := short_text(dump.get(key)))
    }
    return log_trace(
        source, NAME, rows, losses, rank=rank, versions=versions, extra={"pg_status": status}
    )


def _load(source: SourceFile) -> Any:
    if is_pickle(source.head(16)):
        return load_plain(source)
    content, damage = source.content()
    if damage:
        raise UnreadableError.damaged(
            source.path, damage[0].example, "copy the file again, or record again"
        )
    if len(content) > MAX_JSON_BYTES:
        raise UnreadableError(
            f"{source.path}: larger than any dump of the flight recorder", "give a file per rank"
        )
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UnreadableError.damaged(
            source.path, str(error), "copy the file again, or record again"
        ) from None


def _rank(dump: Mapping[str, Any], name: str) -> int | None:
    stated = whole_number(dump.get("rank"))
    return rank_of_name(name) if stated is None else stated


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _rows(
    dump: Mapping[str, Any], entries: list[Any], rank: int | None, losses: Losses
) -> Iterator[CollectiveRow]:
    groups, statuses, stacks = (
        _mapping(dump.get("pg_config")),
        _mapping(dump.get("pg_status")),
        StackTable(),
    )
    members = {name: _members(_mapping(about).get("ranks")) for name, about in groups.items()}
    for entry in entries:
        if not isinstance(entry, dict) or not isinstance(entry.get("profiling_name"), str):
            losses.add("not_an_event", repr(entry)[:80])
            continue
        group = entry.get("process_group")
        named = [short_text(part) for part in group] if isinstance(group, list | tuple) else []
        name, description = [*named, None, None][:2]
        ranks = members.get(name or "") or (
            next(iter(members.values())) if len(members) == 1 else []
        )
        backend, _, operation = entry["profiling_name"].rpartition(":")
        is_p2p = entry.get("is_p2p") is True
        sequence = whole_number(entry.get("p2p_seq_id" if is_p2p else "collective_seq_id"))
        state = entry.get("state")
        if state not in _STATES:
            losses.add("bad_value", f"a state {state!r}")
            state = SCHEDULED
        done = whole_number(
            _mapping(statuses.get(str(entry.get("pg_id")))).get("last_completed_collective")
        )
        if entry.get("retired") is True or (
            not is_p2p and done is not None and sequence is not None and sequence <= done
        ):
            state = COMPLETED
        start, end = (
            whole_number(entry.get(f"time_discovered_{what}_ns")) or None
            for what in ("started", "completed")
        )
        lasted = entry.get("duration_ms")
        timeout = whole_number(entry.get("timeout_ms"))
        stack = stacks.texts[stacks.number(entry.get("frames"))]
        types = entry.get("input_dtypes")
        yield CollectiveRow(
            collective=operation[:200].partition(" ")[0] if is_p2p else operation[:200],
            state=state,
            rank=rank,
            member=ranks.index(rank) if rank in ranks else None,
            group_name=name,
            group_description=description,
            group_ranks=" ".join(map(str, ranks)) or None,
            group_size=len(ranks) or None,
            sequence=sequence,
            is_p2p=is_p2p,
            created_ts_ns=whole_number(entry.get("time_created_ns")) or None,
            started_ts_ns=start,
            completed_ts_ns=end,
            dur_ns=round(lasted * 1e6)
            if isinstance(lasted, int | float) and 0 <= lasted < 1e12
            else None,
            bytes=_bytes(entry.get("input_sizes"), types),
            sizes=_sizes_text(entry.get("input_sizes")),
            dtype=short_text(types[0]) if isinstance(types, list) and types else None,
            timing_source=backend or None,
            timeout_ns=None if timeout is None else timeout * 10**6,
            call_stack=stack or None,
            thread=short_text(entry.get("thread_name")),
        )


def _members(listed: Any) -> list[int]:
    """Ranks of a group, as text or as a list."""
    if isinstance(listed, str):
        listed = listed.strip("[]() ").split(",") if len(listed) < 16 * _MAX_RANKS else []
    numbers = (whole_number(rank) for rank in listed) if isinstance(listed, list | tuple) else ()
    return [number for number in numbers if number is not None][:_MAX_RANKS]


def _bytes(sizes: Any, types: Any) -> int | None:
    """What the inputs of a call hold, where sizes and types say it."""
    if not isinstance(sizes, list | tuple) or not isinstance(types, list | tuple):
        return None
    total = 0.0
    for place, shape in enumerate(sizes):
        element = types[min(place, len(types) - 1)] if types else None
        known = type_by_spelling(element) if isinstance(element, str) else None
        numbers = [whole_number(n) for n in shape] if isinstance(shape, list | tuple) else [None]
        if known is None or any(number is None or number < 0 for number in numbers):
            return None
        total += known.bytes * prod(number or 0 for number in numbers)
    return int(total) if total < 2**60 else None


def _sizes_text(sizes: Any) -> str | None:
    """Shapes of the inputs as text: `1024x512 16`."""
    if not isinstance(sizes, list | tuple):
        return None
    shapes = [
        "x".join(str(number) for number in shape[:16])
        for shape in sizes[:16]
        if isinstance(shape, list | tuple)
    ]
    return " ".join(shapes)[:200] or None
