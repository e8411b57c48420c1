"""Dumps of PyTorch's flight recorder, as pickle or JSON: what a rank enqueued, and how far it is.

A pickle is read by the restricted reader: nothing in it is run.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import msgspec

from timesink.errors import UnreadableError
from timesink.formats.collective_logs.rows import (
    COMPLETED,
    SCHEDULED,
    STARTED,
    Losses,
    calls_trace,
    rank_of_name,
    short_text,
    whole_number,
)
from timesink.formats.collective_logs.signatures import is_flight_recorder
from timesink.formats.memory_snapshot.collection import StackTable
from timesink.formats.plain_pickle import (
    brief_repr,
    is_pickle,
    load_plain,
    plain_text,
    without_collection,
)
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
    with without_collection():
        columns = _columns(dump, entries, rank, losses)
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
    extra = {"pg_status": status}
    name = source.path.name
    return calls_trace(name, NAME, columns, losses, rank=rank, versions=versions, extra=extra)


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


def _columns(
    dump: Mapping[str, Any], entries: list[Any], rank: int | None, losses: Losses
) -> dict[str, list[Any]]:
    """The calls column by column: what repeats, as groups and shapes do, is understood once."""
    calls = [
        entry
        for entry in entries
        if isinstance(entry, dict) and isinstance(entry.get("profiling_name"), str)
    ]
    if len(calls) < len(entries):
        odd = next(
            e
            for e in entries
            if not isinstance(e, dict)
            or "profiling_name" not in e
            or not isinstance(e["profiling_name"], str)
        )
        losses.add("not_an_event", brief_repr(odd), len(entries) - len(calls))

    def values(key: str) -> list[Any]:
        return [call.get(key) for call in calls]

    groups = _groups(dump, values("process_group"), rank)
    recorded = values("profiling_name")
    parts = {name: name.rpartition(":") for name in set(recorded)}
    names = [parts[name] for name in recorded]
    is_p2p = [value is True for value in values("is_p2p")]
    sequences = [
        single if alone else together
        for alone, single, together in zip(
            is_p2p,
            _numbers(values("p2p_seq_id")),
            _numbers(values("collective_seq_id")),
            strict=True,
        )
    ]
    stacks = StackTable()
    stack_numbers = stacks.numbers(values("frames"))
    sizes, types = values("input_sizes"), values("input_dtypes")
    shapes = _shapes(sizes, types)
    return {
        "collective": [
            name[:200].partition(" ")[0] if alone else name[:200]
            for (_, _, name), alone in zip(names, is_p2p, strict=True)
        ],
        "state": _states(dump, calls, is_p2p, sequences, losses),
        "rank": [rank] * len(calls),
        "member": [group.member for group in groups],
        "group_name": [group.name for group in groups],
        "group_description": [group.description for group in groups],
        "group_ranks": [group.ranks for group in groups],
        "group_size": [group.size for group in groups],
        "sequence": sequences,
        "is_p2p": is_p2p,
        "created_ts_ns": [number or None for number in _numbers(values("time_created_ns"))],
        "started_ts_ns": [
            number or None for number in _numbers(values("time_discovered_started_ns"))
        ],
        "completed_ts_ns": [
            number or None for number in _numbers(values("time_discovered_completed_ns"))
        ],
        "dur_ns": [_length_ns(value) for value in values("duration_ms")],
        "bytes": [shape[0] for shape in shapes],
        "sizes": [shape[1] for shape in shapes],
        "dtype": [
            short_text(listed[0]) if isinstance(listed, list) and listed else None
            for listed in types
        ],
        "timing_source": [backend or None for backend, _, _ in names],
        "timeout_ns": _timeouts(_numbers(values("timeout_ms"))),
        "call_stack": [stacks.texts[number] or None for number in stack_numbers],
        "thread": [short_text(name) for name in values("thread_name")],
    }


def _numbers(values: list[Any]) -> list[int | None]:
    """Whole numbers; None for anything else."""
    return [
        value
        if value is None or (type(value) is int and -_LARGEST <= value < _LARGEST)
        else whole_number(value)
        for value in values
    ]


_LARGEST = 2**63


def _length_ns(milliseconds: Any) -> int | None:
    is_length = isinstance(milliseconds, int | float) and 0 <= milliseconds < 1e12
    return round(milliseconds * 1e6) if is_length else None


def _timeouts(milliseconds: list[int | None]) -> list[int | None]:
    return [
        None if value is None or abs(value) > _LARGEST // 10**6 else value * 10**6
        for value in milliseconds
    ]


class _Group(msgspec.Struct, frozen=True):
    """A group of ranks, and the place of this rank in it."""

    name: str | None
    description: str | None
    ranks: str | None
    size: int | None
    member: int | None


def _groups(dump: Mapping[str, Any], named: list[Any], rank: int | None) -> list[_Group]:
    """The group of each call."""
    configured = _mapping(dump.get("pg_config"))
    members = {name: _members(_mapping(about).get("ranks")) for name, about in configured.items()}
    lone = next(iter(members.values())) if len(members) == 1 else []
    numbered: dict[tuple[str | None, str | None], _Group] = {}
    groups = []
    for group in named:
        parts = [short_text(part) for part in group[:2]] if isinstance(group, list | tuple) else []
        name, description = [*parts, None, None][:2]
        described = numbered.get((name, description))
        if described is None:
            ranks = members.get(name or "") or lone
            described = numbered[name, description] = _Group(
                name,
                description,
                " ".join(map(str, ranks)) or None,
                len(ranks) or None,
                ranks.index(rank) if rank in ranks else None,
            )
        groups.append(described)
    return groups


def _states(
    dump: Mapping[str, Any],
    calls: list[dict[str, Any]],
    is_p2p: list[bool],
    sequences: list[int | None],
    losses: Losses,
) -> list[str]:
    """How far each call is: by itself, or by what the group has completed."""
    done = {
        group: whole_number(_mapping(numbers).get("last_completed_collective"))
        for group, numbers in _mapping(dump.get("pg_status")).items()
    }
    states = []
    for call, alone, sequence in zip(calls, is_p2p, sequences, strict=True):
        state = call.get("state")
        if not isinstance(state, str) or state not in _STATES:
            losses.add("bad_value", f"a state {brief_repr(state)}")
            state = SCHEDULED
        if state != COMPLETED and not alone and call.get("retired") is not True:
            group = call.get("pg_id")
            last = done.get(str(group)) if isinstance(group, int | str) else None
            is_done = last is not None and sequence is not None and sequence <= last
            state = COMPLETED if is_done else state
        elif call.get("retired") is True:
            state = COMPLETED
        states.append(state)
    return states


def _shapes(sizes: list[Any], types: list[Any]) -> list[tuple[int | None, str | None]]:
    """Bytes of the inputs of each call, and their shapes as text."""
    numbered: dict[Any, tuple[int | None, str | None]] = {}
    shapes = []
    for shape, listed in zip(sizes, types, strict=True):
        key = _shape_key(shape, listed)
        described = numbered.get(key) if key is not None else None
        if described is None:
            described = _bytes(shape, listed), _sizes_text(shape)
            if key is not None:
                numbered[key] = described
        shapes.append(described)
    return shapes


_WHOLE, _TEXTS = frozenset({int}), frozenset({str})


def _shape_key(sizes: Any, types: Any) -> Any:
    """What shapes are told apart by; None where they are no plain ones.

    Of values that nest deeply a hash would exhaust the stack.
    """
    if not isinstance(sizes, list | tuple) or not isinstance(types, list | tuple):
        return None
    for shape in sizes:
        if not isinstance(shape, list | tuple) or not _WHOLE.issuperset(map(type, shape)):
            return None
    if not _TEXTS.issuperset(map(type, types)):
        return None
    return tuple(map(tuple, sizes)), tuple(types)


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
        # Of real numbers: products of whole ones have no bound.
        total += prod((float(number or 0) for number in numbers), start=known.bytes)
    return int(total) if total < 2**60 else None


def _sizes_text(sizes: Any) -> str | None:
    """Shapes of the inputs as text: `1024x512 16`."""
    if not isinstance(sizes, list | tuple):
        return None
    shapes = [
        "x".join(plain_text(number)[:20] for number in shape[:16])
        for shape in sizes[:16]
        if isinstance(shape, list | tuple)
    ]
    return " ".join(shapes)[:200] or None
