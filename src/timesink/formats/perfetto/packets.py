"""Packets of a Perfetto trace: their sequences, the names they refer to, and one clock for all."""

from __future__ import annotations

import zlib
from functools import cached_property

import msgspec
import numpy as np
import polars as pl

from timesink.formats.perfetto import numbers as n
from timesink.formats.wire import (
    LENGTH,
    Bytes,
    Fields,
    Integers,
    as_bytes,
    split_messages,
    split_repeated,
)
from timesink.model.arrays import grouped_cumsum, run_starts
from timesink.model.health import HealthEntry

MAX_UNPACKED = 1 << 33
"""Bytes that packets of a trace may unpack to: beyond it they are no packets of a profiler."""


class Packets:
    """All packets of a trace, as columns of equal length in the order of the file."""

    def __init__(self, content: bytes, health: list[HealthEntry]) -> None:
        _, starts, _, self.fields = _packet_ranges(content, health)
        self.data: Bytes = self.fields.data
        self.health = health
        self.count = len(starts)
        count_broken(self.fields, "a packet", health)
        self.sequence = self.fields.numbers(n.SEQUENCE, self.count)
        flags = self.fields.numbers(n.SEQUENCE_FLAGS, self.count)
        is_clearing = (flags & n.CLEARED_FLAG) | self.fields.numbers(n.STATE_CLEARED, self.count)
        order = np.argsort(self.sequence, kind="stable")
        self.generation = np.empty(self.count, np.int64)
        """How often the names of the sequence were cleared before."""
        self.generation[order] = grouped_cumsum(
            (is_clearing[order] != 0).astype(np.int64), run_starts(self.sequence[order])
        )

    def of(self, number: int) -> tuple[Integers, Fields]:
        """Messages of one sort: the packet each is in, and their fields."""
        packet, starts, ends = self.fields.submessages(number)
        fields = split_messages(self.data, starts, ends)
        count_broken(fields, f"a message of sort {number}", self.health)
        return packet, fields

    @cached_property
    def _state(self) -> pl.DataFrame:
        """The state of names each packet is read under."""
        return pl.DataFrame({"sequence": self.sequence, "generation": self.generation})

    @cached_property
    def _interned(self) -> tuple[Integers, Fields]:
        return self.of(n.INTERNED)

    def interned(self, number: int) -> tuple[pl.DataFrame, Fields, Integers]:
        """Entries of a table of names: `sequence`, `generation`, `iid`, `entry`; their fields."""
        packet, tables = self._interned
        table, starts, ends = tables.submessages(number)
        fields = split_messages(self.data, starts, ends)
        count_broken(fields, "a name", self.health)
        at = packet[table]
        entries = pl.DataFrame(
            {
                "sequence": self.sequence[at],
                "generation": self.generation[at],
                "iid": fields.numbers(n.IID, len(at)),
                "entry": np.arange(len(at)),
            }
        ).unique(["sequence", "generation", "iid"], keep="last", maintain_order=True)
        return entries, fields, at

    def names(self, number: int, field: int = n.INTERNED_NAME) -> pl.DataFrame:
        """A table of names: `sequence`, `generation`, `iid` and `name`."""
        entries, fields, at = self.interned(number)
        texts = pl.Series("name", fields.text_of(field, len(at)), dtype=pl.String)
        return entries.with_columns(texts.gather(entries["entry"])).drop("entry")

    def look_up(self, names: pl.DataFrame, packet: Integers, iid: Integers) -> pl.Series:
        """The name under each number, as the packet it stands in understands it; null for none."""
        return (
            self._state[packet]
            .with_columns(pl.Series("iid", iid))
            .join(
                names,
                on=["sequence", "generation", "iid"],
                how="left",
                maintain_order="left",
            )[names.columns[-1]]
        )

    def defaults(self) -> tuple[Integers, Integers]:
        """The clock and the track of each packet where it names none; 0 where nothing does."""
        packet, fields = self.of(n.DEFAULTS)
        count = len(packet)
        inside, starts, ends = fields.submessages(n.TRACK_EVENT)
        tracks = np.zeros(count, np.int64)
        tracks[inside] = split_messages(self.data, starts, ends).numbers(n.TRACK, len(inside))
        rows = pl.DataFrame(
            {
                "sequence": self.sequence[packet],
                "generation": self.generation[packet],
                "clock": fields.numbers(n.CLOCK, count),
                "track": tracks,
                "since": packet,
            }
        ).unique(["sequence", "generation"], keep="first")
        joined = self._state.join(
            rows, on=["sequence", "generation"], how="left", maintain_order="left"
        )
        # They hold from the packet on that says them.
        is_later = joined["since"].fill_null(self.count).to_numpy() <= np.arange(self.count)
        clock, track = (joined[name].fill_null(0).to_numpy() for name in ("clock", "track"))
        return np.where(is_later, clock, 0), np.where(is_later, track, 0)


def count_broken(fields: Fields, what: str, health: list[HealthEntry]) -> None:
    """Count messages that break off."""
    if len(fields.broken):
        example = f"{what} at byte {fields.break_at[0]}"
        health.append(HealthEntry("broken_messages", len(fields.broken), example))


def _packet_ranges(
    content: bytes, health: list[HealthEntry]
) -> tuple[bytes, Integers, Integers, Fields]:
    """The content with all packets unpacked, where each begins and ends, and its fields."""
    spans = split_repeated(content, n.PACKET)
    if spans is None:
        spans = _ranges_up_to_a_break(content, health)
    starts, ends = spans
    fields = split_messages(as_bytes(content), starts, ends)
    packed = fields.select(n.COMPRESSED, LENGTH)
    unreadable = len(fields.select(n.ZSTD_COMPRESSED, LENGTH))
    if unreadable:
        example = "packets packed with zstd: convert the trace with traceconv first"
        health.append(HealthEntry("lost_events", unreadable, example))
    if not len(packed):
        return content, starts, ends, fields
    content, starts, ends = _unpack(content, (starts, ends), fields, health)
    return content, starts, ends, split_messages(as_bytes(content), starts, ends)


def _ranges_up_to_a_break(content: bytes, health: list[HealthEntry]) -> tuple[Integers, Integers]:
    """Packets of a content that holds anything else too, or breaks off; both are counted."""
    top = split_messages(as_bytes(content), [0], [len(content)])
    for position in top.break_at.tolist():
        example = f"{len(content) - position} bytes from byte {position} on"
        health.append(HealthEntry("cut_messages", 1, example))
    strange = int((top.number != n.PACKET).sum())
    if strange:
        example = f"fields of the trace that are no packets: {top.number[top.number != 1][0]}"
        health.append(HealthEntry("unknown_phase", strange, example))
    _, starts, ends = top.submessages(n.PACKET)
    return starts, ends


def _unpack(
    content: bytes, spans: tuple[Integers, Integers], fields: Fields, health: list[HealthEntry]
) -> tuple[bytes, Integers, Integers]:
    """The content with packets in the place of those that hold them packed."""
    starts, ends = spans
    packed = fields.select(n.COMPRESSED, LENGTH)
    packed_of = dict(zip(fields.message[packed].tolist(), packed.tolist(), strict=True))
    parts: list[bytes] = []
    left = MAX_UNPACKED
    for packet, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        row = packed_of.get(packet)
        if row is None:
            # With its tag and its length.
            parts.append(content[_head_of(content, start, end) : end])
            continue
        at, size = int(fields.value[row]), int(fields.length[row])
        unpacker = zlib.decompressobj()
        try:
            parts.append(unpacker.decompress(content[at : at + size], left))
        except zlib.error as error:
            health.append(HealthEntry("lost_events", 1, f"packed packets: {error}"))
            continue
        left = max(1, left - len(parts[-1]))
        if unpacker.unconsumed_tail or not unpacker.eof:
            health.append(HealthEntry("lost_events", 1, "packed packets that break off"))
    content = b"".join(parts)
    inner = split_messages(as_bytes(content), [0], [len(content)])
    health += [
        HealthEntry("cut_messages", 1, f"byte {position} of packed packets")
        for position in inner.break_at.tolist()
    ]
    _, starts, ends = inner.submessages(n.PACKET)
    return content, starts, ends


def _head_of(content: bytes, start: int, end: int) -> int:
    """Where the tag of a packet stands whose message begins at `start`."""
    position = start - 1
    while position > 0 and content[position - 1] & 0x80:
        position -= 1
    del end
    return position - 1


# Clocks.


class _ClockReading(msgspec.Struct, frozen=True):
    """What one clock showed in one snapshot."""

    packet: int
    sequence: int
    time_ns: int
    boot_ns: int | None
    """What the clock of the trace showed at the same time."""
    is_incremental: bool
    unit: int


def times_of(packets: Packets, default_clock: Integers) -> tuple[Integers, int | None]:
    """Time of each packet in ns on the clock of the trace, and what to add for Unix time.

    The latter is None where no snapshot holds both clocks.
    """
    stamps = packets.fields.numbers(n.TIMESTAMP, packets.count)
    clock = packets.fields.numbers(n.CLOCK, packets.count)
    clock = np.where(clock == 0, default_clock, clock)
    clock = np.where(clock == 0, n.BOOTTIME, clock)
    readings, real_offset = _readings(packets)
    for number in np.unique(clock).tolist():
        if number == n.BOOTTIME:
            continue
        rows = np.flatnonzero(clock == number)
        of_clock = readings.get(number, [])
        if number in n.SEQUENCE_CLOCKS:
            for sequence in np.unique(packets.sequence[rows]).tolist():
                of_sequence = rows[packets.sequence[rows] == sequence]
                _place(stamps, of_sequence, [r for r in of_clock if r.sequence == sequence])
        else:
            _place(stamps, rows, of_clock)
    return stamps, real_offset


def _place(stamps: Integers, rows: Integers, readings: list[_ClockReading]) -> None:
    """Bring the times of packets with one clock to the clock of the trace."""
    if not readings:
        return
    positions = np.array([reading.packet for reading in readings])
    of_reading = np.maximum(np.searchsorted(positions, rows, side="right") - 1, 0)
    for place in np.unique(of_reading).tolist():
        reading = readings[place]
        chosen = rows[of_reading == place]
        times = stamps[chosen] * reading.unit
        if reading.is_incremental:
            times = reading.time_ns + np.cumsum(times)
        shift = 0 if reading.boot_ns is None else reading.boot_ns - reading.time_ns
        stamps[chosen] = times + shift


def _readings(packets: Packets) -> tuple[dict[int, list[_ClockReading]], int | None]:
    """What clocks showed, by clock, in the order of the file; Unix time less that of the trace."""
    packet, snapshots = packets.of(n.CLOCK_SNAPSHOT)
    snapshot, starts, ends = snapshots.submessages(n.CLOCKS)
    fields = split_messages(packets.data, starts, ends)
    count = len(snapshot)
    columns = (n.CLOCK_ID, n.CLOCK_TIME, n.CLOCK_INCREMENTAL, n.CLOCK_UNIT)
    ids, times, incremental, units = (fields.numbers(c, count).tolist() for c in columns)
    boot: dict[int, int] = {}
    real_offset: int | None = None
    for place, of_snapshot in enumerate(snapshot.tolist()):
        if ids[place] == n.BOOTTIME:
            boot.setdefault(of_snapshot, times[place])
    readings: dict[int, list[_ClockReading]] = {}
    for place, of_snapshot in enumerate(snapshot.tolist()):
        unit = max(1, min(units[place], 10**9))
        time_ns = times[place] * unit
        at = int(packet[of_snapshot])
        boot_ns = boot.get(of_snapshot)
        reading = _ClockReading(
            at, int(packets.sequence[at]), time_ns, boot_ns, bool(incremental[place]), unit
        )
        readings.setdefault(ids[place], []).append(reading)
        if ids[place] == n.REALTIME and boot_ns is not None and real_offset is None:
            real_offset = time_ns - boot_ns
    return readings, real_offset
