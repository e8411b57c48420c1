"""Perfetto traces (`.pftrace`): of PyTorch, rocprofv3, rocprof-sys and whatever writes them.

Packets become events as Chrome JSON has them; what these mean is decided once for both.
"""

from __future__ import annotations

import gc
from collections import Counter
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import polars as pl

from timesink.errors import UnreadableError
from timesink.formats.chrome.columns import Int64Array, Tally
from timesink.formats.chrome.decode import PieceDecoder, Share
from timesink.formats.chrome.reader import metadata_of
from timesink.formats.chrome.tables import LEFT_OUT_IN_BRIEF, Assembly, build_tables
from timesink.formats.finish import finish_trace
from timesink.formats.perfetto import numbers as n
from timesink.formats.perfetto.events import PacketEvents, read_events
from timesink.formats.perfetto.packets import Packets, times_of
from timesink.formats.read_options import ReadOptions
from timesink.formats.source_file import SourceFile
from timesink.formats.wire import as_bytes, split_messages
from timesink.model.health import HealthEntry
from timesink.model.trace import Trace

NAME = "perfetto"
_PIECE = 100_000
"""Events brought to columns at once."""
_SURE = frozenset(
    {
        *(n.TIMESTAMP, n.SEQUENCE, n.TRACK_EVENT, n.INTERNED, n.SEQUENCE_FLAGS, n.CLOCK_SNAPSHOT),
        *(n.DEFAULTS, n.TRACK_DESCRIPTOR, n.COMPRESSED, n.GPU_STAGE, n.STATE_CLEARED, 33, 87, 89),
    }
)
"""Fields that packets of a trace begin with, and other messages rarely have."""
_SNIFFED = 4096


def sniff(head: bytes, name: str) -> bool:
    """Whether the first messages are packets of a trace.

    >>> from timesink.formats.wire import Message
    >>> packet = Message().integer(8, 5).integer(10, 1)
    >>> sniff(Message().message(1, packet).encode(), "trace.pftrace")
    True
    """
    if not head.startswith(b"\x0a"):
        return False
    start = head[:_SNIFFED]
    top = split_messages(as_bytes(start), [0], [len(start)])
    _, starts, ends = top.submessages(n.PACKET)
    if len(top) and (top.number != n.PACKET).any():
        return False
    if not len(starts):
        # One packet that is longer than what was looked at.
        begin = _second_field(start)
        starts, ends = np.array([begin]), np.array([len(start)])
        cut = split_messages(top.data, starts, ends)
        return bool(np.isin(cut.number, list(_SURE)).any())
    fields = split_messages(top.data, starts[:8], ends[:8])
    named = name.lower().endswith((".pftrace", ".perfetto-trace", ".pftrace.gz", ".ptrace"))
    if len(fields.broken):
        return named
    return named or bool(np.isin(fields.number, list(_SURE)).any())


def _second_field(start: bytes) -> int:
    """Where the first message begins, behind its tag and its length."""
    position = 1
    while position < len(start) and start[position] & 0x80:
        position += 1
    return position + 1


def read(source: SourceFile, options: ReadOptions) -> Trace:
    """Read a trace; what is damaged is left out and counted."""
    content, health = source.content()
    packets = Packets(content, health)
    if not packets.count:
        raise UnreadableError.damaged(
            source.path, "it holds no packet of a trace", "copy the file again, or record again"
        )
    default_clock, default_track = packets.defaults()
    time_ns, real_offset = times_of(packets, default_clock)
    # Millions of short-lived objects would make the cycle collector walk them again and again.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        rows = read_events(packets, time_ns, default_track)
    finally:
        if was_enabled:
            gc.enable()
    _count_others(packets, health)
    assembly, tally = _to_columns(rows)
    brief = options.brief is not None
    tables = build_tables(assembly, tally, brief=brief)
    offset = real_offset or 0
    if offset:
        tables = {
            name: frame.with_columns(pl.col("^ts_ns$") + offset) for name, frame in tables.items()
        }
    metadata = metadata_of(source, _facts(packets), assembly, tables, offset)
    metadata = replace(metadata, format=NAME)
    if brief:
        tables = {name: table for name, table in tables.items() if name not in LEFT_OUT_IN_BRIEF}
    health += [
        HealthEntry(code, count, tally.examples.get(code, ""))
        for code, count in tally.counts.items()
    ]
    return finish_trace(metadata, tables, health)


def _count_others(packets: Packets, health: list[HealthEntry]) -> None:
    """Count packets of sorts that no table has a place for."""
    read_numbers = n.EVENT_PACKETS | n.SERVICE_PACKETS
    unread_numbers = packets.fields.number[~np.isin(packets.fields.number, list(read_numbers))]
    for number, count in Counter(unread_numbers.tolist()).items():
        what = n.PACKET_NAMES.get(number, f"packets with field {number}")
        health.append(HealthEntry("unknown_phase", count, what))


def _to_columns(rows: PacketEvents) -> tuple[Assembly, Tally]:
    """Events as columns, as if they were read from Chrome JSON."""
    decoder = PieceDecoder()
    pieces, tally = [], Tally()
    columns = (rows.phase, rows.category, rows.name, rows.pid, rows.tid)
    for number, start in enumerate(range(0, len(rows), _PIECE)):
        chosen = slice(start, start + _PIECE)
        times: list[Int64Array] = [
            np.array(column[chosen], np.int64) for column in (rows.ts_ns, rows.dur_ns)
        ]
        parts: list[Any] = [tuple(column[chosen]) for column in columns]
        unused = ((),) * 2
        flow_ids, arguments = tuple(rows.flow_id[chosen]), tuple(rows.arguments[chosen])
        fields = [*parts, *unused, flow_ids, arguments]
        pieces.append(decoder.columns_at(number, fields, times))
        tally.update(pieces[-1].tally)
    share = Share(pieces, decoder.vocabularies.tables(), b"", bare=False, has_events=True)
    return Assembly([share]), tally


def _facts(packets: Packets) -> dict[str, Any]:
    """What a trace says of the run and the machine, under the names of Chrome JSON."""
    facts: dict[str, Any] = {}
    _, attributes = packets.of(n.ATTRIBUTES)
    _, starts, ends = attributes.submessages(1)
    pairs = split_messages(packets.data, starts, ends)
    keys = pairs.text_of(n.ATTRIBUTE_KEY, len(starts))
    values = pairs.text_of(n.ATTRIBUTE_TEXT, len(starts))
    numbers = pairs.numbers(n.ATTRIBUTE_NUMBER, len(starts))
    has_number = pairs.has(n.ATTRIBUTE_NUMBER, len(starts))
    for place, key in enumerate(keys):
        if not key:
            continue
        value: Any = int(numbers[place]) if has_number[place] else values[place]
        if isinstance(value, str) and value[:1] in ("{", "["):
            try:
                value = msgspec.json.decode(value)
            except msgspec.DecodeError:
                packets.health.append(HealthEntry("bad_metadata", 1, key))
        facts[key] = value
    _, infos = packets.of(n.GPU_INFO)
    _, starts, ends = infos.submessages(1)
    gpus = split_messages(packets.data, starts, ends)
    if len(starts) and "deviceProperties" not in facts:
        names, models = gpus.text_of(1, len(starts)), gpus.text_of(3, len(starts))
        facts["deviceProperties"] = [
            {"id": number, "name": name or model or ""}
            for number, (name, model) in enumerate(zip(names, models, strict=True))
        ]
    return facts
