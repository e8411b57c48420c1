"""A trace as a Perfetto trace (`.pftrace`): tracks, slices with arguments, arrows, counters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from isal import igzip

from timesink.errors import OutputError
from timesink.formats.chrome.writer import as_number, events, ns_of, number_spans, top_level
from timesink.formats.perfetto import numbers as n
from timesink.formats.perfetto.events import FLOW_KIND_BITS, LAUNCH
from timesink.formats.wire import FIXED64, LENGTH, VARINT, Message, encode_varint
from timesink.formats.written_files import written_aside
from timesink.model.trace import Trace
from timesink.patterns import regex

ENDINGS = (".pftrace", ".pftrace.gz")
_SEQUENCE = 1
_NAMES_AT_ONCE = 1000
_MAX_PID = 2**31
_INT64 = 2**63
_NEEDS_STATE = 2
_BESIDE = regex(r"(.*) \(overlap \d+\)")
"""A lane that Chrome JSON needs for slices that cross others; here they stand beside their lane."""
_BIT_OF_KIND = {kind: bit for bit, kind in FLOW_KIND_BITS.items()}
_OTHER_BIT = 1 << 61
_OPAQUE = (b"null", b"[]", b"{}")
"""What annotations have no value for; it is written as JSON text."""

Lane = tuple[Any, Any]


class _Slice(msgspec.Struct, gc=False):
    """A slice of one lane, encoded but for its times and its arrows."""

    ts_ns: int
    end_ns: int
    body: bytes
    flows: list[bytes] | None = None


class _Interned(dict[str, int]):
    """Texts numbered in the order they come, from 1."""

    def __missing__(self, text: str) -> int:
        number = self[text] = len(self) + 1
        return number


class _Names(msgspec.Struct):
    """Tables of names that packets refer to by number."""

    names: _Interned
    categories: _Interned
    keys: _Interned
    strings: _Interned

    def packets(self) -> Iterator[bytes]:
        """Packets that hold the tables, each of limited length."""
        tables = (
            (n.EVENT_NAMES, self.names),
            (n.CATEGORIES, self.categories),
            (n.ANNOTATION_NAMES, self.keys),
            (n.STRINGS, self.strings),
        )
        entries = [(number, text, iid) for number, table in tables for text, iid in table.items()]
        for start in range(0, max(len(entries), 1), _NAMES_AT_ONCE):
            interned = Message()
            for number, text, iid in entries[start : start + _NAMES_AT_ONCE]:
                interned.message(number, Message().integer(n.IID, iid).text(n.INTERNED_NAME, text))
            flags = n.CLEARED_FLAG if start == 0 else _NEEDS_STATE
            packet = Message().integer(n.SEQUENCE, _SEQUENCE).integer(n.SEQUENCE_FLAGS, flags)
            yield _packet(packet.message(n.INTERNED, interned))


def write_pftrace(trace: Trace, path: Path) -> int:
    """Write a trace; the number of events written."""
    if not trace.has_timeline:
        what = "a behaviour table" if trace.has_behaviour else "counters of kernels"
        raise OutputError(
            f"{trace.metadata.source}: {what} without the timeline of a Perfetto trace",
            "give -o a folder instead: the tables are written as Parquet",
        )
    packed = path.name.lower().endswith(".gz")
    encoder = PacketEncoder()
    with (
        written_aside(path) as aside,
        igzip.open(aside, "wb") if packed else aside.open("wb") as file,  # type: ignore[no-untyped-call]
    ):
        for packet in encoder.packets(trace):
            file.write(packet)
    return encoder.written


class PacketEncoder:
    """Packets of one trace, in the order a reader needs them: names, tracks, events.

    Without a clock of the world, as ranks of an archive, times are related by the archive alone.
    """

    def __init__(self, *, with_clock: bool = True) -> None:
        self.written = 0
        self.left_out = 0
        """Arrows at whose end there is no slice."""
        self._with_clock = with_clock
        self._names = _Names(_Interned(), _Interned(), _Interned(), _Interned())
        self._lanes: dict[Lane, list[_Slice]] = {}
        self._flows: dict[Lane, list[tuple[int, bytes]]] = {}
        self._marks: list[tuple[int, Lane, bytes]] = []
        self._samples: list[tuple[int, tuple[Any, str], float]] = []
        self._lane_facts: dict[Lane, dict[str, Any]] = {}
        self._raw: dict[bytes, bytes] = {}
        self._tracks: dict[Any, int] = {}
        self._zero = 0

    def packets(self, trace: Trace) -> Iterator[bytes]:
        """All packets of a trace."""
        self._zero = trace.metadata.clock_offset_ns
        for event in events(trace):
            self._take(event)
        descriptors = list(self._descriptors())
        slices = [packet for lane in self._lanes for packet in self._lane_packets(lane)]
        if self._with_clock:
            yield _clock(trace, self._zero)
        yield _attributes(trace)
        yield from descriptors
        yield from self._names.packets()
        yield from slices
        for ts_ns, lane, body in self._marks:
            yield self._event(ts_ns, self._track(lane), n.INSTANT, body)
        for ts_ns, key, value in self._samples:
            body = encode_varint(n.COUNTER_DOUBLE << 3 | FIXED64) + _double(value)
            yield self._event(ts_ns, self._tracks[key], n.COUNTER, body)
        self.written += len(self._marks) + len(self._samples)

    def _take(self, event: dict[str, Any]) -> None:
        phase = event["ph"]
        beside = _BESIDE.fullmatch(str(event.get("tid", "")))
        lane = (event.get("pid"), event.get("tid") if beside is None else as_number(beside[1]))
        if phase == "M":
            if beside is not None:
                return
            owner = (lane[0], None) if event["name"].startswith("process_") else lane
            self._lane_facts.setdefault(owner, {}).update(event["args"])
            return
        ts_ns = self._ns(event["ts"])
        if phase == "X":
            end = ts_ns + ns_of(event["dur"])
            self._lanes.setdefault(lane, []).append(_Slice(ts_ns, end, self._body(event)))
        elif phase in ("s", "t", "f"):
            self._take_flow(event, lane, ts_ns)
        elif phase == "C":
            value = event["args"]["value"]
            if value is not None:
                self._samples.append((ts_ns, (event.get("pid"), event["name"]), float(value)))
        else:
            self._marks.append((ts_ns, lane, self._body(event)))

    def _take_flow(self, event: dict[str, Any], lane: Lane, ts_ns: int) -> None:
        number = event["id"]
        if number is None:
            return
        kind = event.get("cat", "")
        if kind != LAUNCH and not kind.startswith("async"):
            number |= _BIT_OF_KIND.get(kind, _OTHER_BIT)
        field = n.ENDING_FLOWS if event["ph"] == "f" else n.FLOWS
        written = encode_varint(field << 3 | FIXED64)
        written += (number & (2**64 - 1)).to_bytes(8, "little")
        self._flows.setdefault(lane, []).append((ts_ns, written))

    def _ns(self, microseconds: msgspec.Raw) -> int:
        return ns_of(microseconds) + self._zero

    def _body(self, event: dict[str, Any]) -> bytes:
        """Name, category and arguments of an event, encoded."""
        body = bytearray()
        body += _varint_field(n.NAME_IID, self._names.names[event.get("name") or ""])
        if category := event.get("cat"):
            body += _varint_field(n.CATEGORY_IIDS, self._names.categories[category])
        for key, value in (event.get("args") or {}).items():
            head = _varint_field(n.ANNOTATION_NAME_IID, self._names.keys[key])
            body += _bytes_field(n.ANNOTATIONS, head + self._value(value))
        return bytes(body)

    def _value(self, value: Any) -> bytes:
        """A value of an argument, without its name."""
        if isinstance(value, bool):
            return _varint_field(n.BOOLEAN, int(value))
        if isinstance(value, int):
            fits = -_INT64 <= value < _INT64
            return _varint_field(n.INTEGER if fits else n.UNSIGNED, value)
        if isinstance(value, float):
            return encode_varint(n.DOUBLE << 3 | FIXED64) + _double(value)
        if isinstance(value, str):
            return _varint_field(n.STRING_IID, self._names.strings[value])
        is_raw = isinstance(value, msgspec.Raw)
        text = bytes(value) if is_raw else msgspec.json.encode(value)
        encoded = self._raw.get(text)
        if encoded is None:
            encoded = self._raw[text] = self._json(text)
        return encoded

    def _json(self, text: bytes) -> bytes:
        if any(part in text for part in _OPAQUE):
            return _bytes_field(n.LEGACY_JSON, text)
        value = msgspec.json.decode(text)
        if isinstance(value, list):
            return b"".join(_bytes_field(n.ITEMS, self._value(item)) for item in value)
        if isinstance(value, dict):
            return b"".join(
                _bytes_field(n.ENTRIES, self._name(key) + self._value(item))
                for key, item in value.items()
            )
        return self._value(value)

    def _name(self, key: str) -> bytes:
        return _varint_field(n.ANNOTATION_NAME_IID, self._names.keys[key])

    # Tracks.

    def _track(self, lane: Lane) -> int:
        return self._tracks[lane]

    def _descriptors(self) -> Iterator[bytes]:
        """A packet for each track: processes first, then their lanes and counters."""
        lanes = dict.fromkeys([*self._lanes, *(lane for _, lane, _ in self._marks)])
        lanes |= dict.fromkeys(lane for lane in self._lane_facts if lane[1] is not None)
        counters = dict.fromkeys(key for _, key, _ in self._samples)
        facts = [pid for pid, tid in self._lane_facts if tid is None]
        processes = dict.fromkeys(
            [*(pid for pid, _ in lanes), *(pid for pid, _ in counters), *facts]
        )
        for pid in processes:
            yield from self._process(pid)
        for lane in lanes:
            if lane not in self._tracks:
                yield self._lane(lane)
        for key in counters:
            pid, name = key
            uuid = self._tracks[key] = len(self._tracks) + 1
            track = self._descriptor(uuid, pid).text(n.TRACK_NAME, name)
            yield _track_packet(track.message(n.COUNTER_TRACK, Message()))

    def _process(self, pid: Any) -> Iterator[bytes]:
        facts = self._lane_facts.get((pid, None), {})
        uuid = self._tracks[pid, None] = len(self._tracks) + 1
        track = Message().integer(n.UUID, uuid)
        if not _is_number(pid):
            if facts.get("sort_index") is not None:
                track.integer(n.SORT_RANK, facts["sort_index"])
            yield _track_packet(track.text(n.TRACK_NAME, str(pid) if pid is not None else ""))
            return
        process = Message().integer(n.PID, pid)
        if facts.get("sort_index") is not None:
            process.integer(n.PROCESS_SORT, facts["sort_index"])
        if facts.get("name"):
            process.text(n.PROCESS_NAME, str(facts["name"]))
        if facts.get("labels"):
            process.text(n.PROCESS_LABELS, str(facts["labels"]))
        yield _track_packet(track.message(n.PROCESS, process))

    def _lane(self, lane: Lane) -> bytes:
        pid, tid = lane
        facts = self._lane_facts.get(lane, {})
        uuid = self._tracks[lane] = len(self._tracks) + 1
        track = self._descriptor(uuid, pid)
        if not (_is_number(pid) and _is_number(tid)):
            if facts.get("sort_index") is not None:
                track.integer(n.SORT_RANK, facts["sort_index"])
            return _track_packet(track.text(n.TRACK_NAME, "" if tid is None else str(tid)))
        thread = Message().integer(n.THREAD_PID, pid).integer(n.THREAD_TID, tid)
        if facts.get("sort_index") is not None:
            thread.integer(n.THREAD_SORT, facts["sort_index"])
        if facts.get("name"):
            thread.text(n.THREAD_NAME, str(facts["name"]))
        return _track_packet(track.message(n.THREAD, thread))

    def _descriptor(self, uuid: int, pid: Any) -> Message:
        return Message().integer(n.UUID, uuid).integer(n.PARENT, self._tracks[pid, None])

    # Events of a lane.

    def _lane_packets(self, lane: Lane) -> Iterator[bytes]:
        """Begins and ends of the slices of a lane, in time order; those that cross, beside."""
        slices = sorted(self._lanes[lane], key=lambda span: (span.ts_ns, -span.end_ns))
        self._attach(slices, self._flows.pop(lane, []))
        numbers = number_spans([(span.ts_ns, span.end_ns) for span in slices])
        crossing = max(numbers, default=0)
        for number in range(crossing + 1):
            chosen = [span for span, at in zip(slices, numbers, strict=True) if at == number]
            track = self._track(lane) if number == 0 else self._extra_track(lane, number)
            if number:
                yield self._extra_descriptor(lane, track, number)
            yield from self._stacked(chosen, track)
        self.written += len(slices)

    def _extra_track(self, lane: Lane, number: int) -> int:
        uuid = self._tracks[(*lane, number)] = len(self._tracks) + 1
        return uuid

    def _extra_descriptor(self, lane: Lane, track: int, number: int) -> bytes:
        descriptor = Message().integer(n.UUID, track).integer(n.PARENT, self._track(lane))
        return _track_packet(descriptor.text(n.TRACK_NAME, f"overlap {number}"))

    def _stacked(self, slices: Iterable[_Slice], track: int) -> Iterator[bytes]:
        opened: list[_Slice] = []
        for span in slices:
            while opened and opened[-1].end_ns <= span.ts_ns:
                yield self._event(opened.pop().end_ns, track, n.SLICE_END, b"")
            body = span.body + b"".join(span.flows or ())
            yield self._event(span.ts_ns, track, n.SLICE_BEGIN, body)
            opened.append(span)
        while opened:
            yield self._event(opened.pop().end_ns, track, n.SLICE_END, b"")

    def _attach(self, slices: list[_Slice], flows: list[tuple[int, bytes]]) -> None:
        """Put each arrow on the innermost slice around it."""
        flows.sort(key=lambda flow: flow[0])
        opened: list[_Slice] = []
        place = 0
        for ts_ns, written in flows:
            while place < len(slices) and slices[place].ts_ns <= ts_ns:
                opened.append(slices[place])
                place += 1
            # A slice ends before the next one that begins at its end.
            while opened and opened[-1].end_ns < ts_ns:
                opened.pop()
            if not opened:
                self.left_out += 1
                continue
            span = opened[-1]
            span.flows = [*(span.flows or ()), written]

    def _event(self, ts_ns: int, track: int, kind: int, body: bytes) -> bytes:
        event = _varint_field(n.TYPE, kind) + _varint_field(n.TRACK, track) + body
        packet = (
            _varint_field(n.TIMESTAMP, ts_ns)
            + _SEQUENCE_FIELD
            + _STATE_FIELD
            + _bytes_field(n.TRACK_EVENT, event)
        )
        return _bytes_field(n.PACKET, packet)


def _clock(trace: Trace, zero: int) -> bytes:
    """What the clock of the trace is in the world."""
    snapshot = Message()
    clocks = [n.BOOTTIME, n.REALTIME] if trace.metadata.clock == "unix" else [n.BOOTTIME]
    for clock in clocks:
        reading = Message().integer(n.CLOCK_ID, clock).integer(n.CLOCK_TIME, max(zero, 1))
        snapshot.message(n.CLOCKS, reading)
    packet = Message().integer(n.TIMESTAMP, max(zero, 1)).integer(n.SEQUENCE, _SEQUENCE)
    return _packet(packet.message(n.CLOCK_SNAPSHOT, snapshot))


def _attributes(trace: Trace) -> bytes:
    """Facts about the run and the machine."""
    attributes = Message()
    for key, value in top_level(trace).items():
        if key == "baseTimeNanoseconds" or value is None:
            continue
        pair = Message().text(n.ATTRIBUTE_KEY, key)
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _INT64:
            pair.integer(n.ATTRIBUTE_NUMBER, value)
        else:
            text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
            pair.text(n.ATTRIBUTE_TEXT, text)
        attributes.message(1, pair)
    return _packet(Message().integer(n.SEQUENCE, _SEQUENCE).message(n.ATTRIBUTES, attributes))


def _packet(packet: Message) -> bytes:
    return Message().message(n.PACKET, packet).encode()


def _track_packet(track: Message) -> bytes:
    packet = Message().integer(n.SEQUENCE, _SEQUENCE).message(n.TRACK_DESCRIPTOR, track)
    return _packet(packet)


def _is_number(lane: Any) -> bool:
    return isinstance(lane, int) and -_MAX_PID <= lane < _MAX_PID


def _varint_field(number: int, value: int) -> bytes:
    return encode_varint(number << 3 | VARINT) + encode_varint(value)


def _bytes_field(number: int, value: bytes) -> bytes:
    return encode_varint(number << 3 | LENGTH) + encode_varint(len(value)) + value


def _double(value: float) -> bytes:
    return Message().double(1, value).encode()[1:]


_SEQUENCE_FIELD = _varint_field(n.SEQUENCE, _SEQUENCE)
_STATE_FIELD = _varint_field(n.SEQUENCE_FLAGS, _NEEDS_STATE)
