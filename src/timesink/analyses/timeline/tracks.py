"""Tracks of a timeline: what they are called and in which order people look for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
import polars as pl
from msgspec import structs

from timesink.analyses import columns
from timesink.model.arrays import wide
from timesink.model.captures import captured_spans
from timesink.model.intervals import Flags, Ints
from timesink.model.schema import CAPTURED_KINDS
from timesink.model.trace import Trace
from timesink.model.vendors import is_collective_kernel
from timesink.patterns import regex

HOST, ANNOTATION, DEVICE = "host", "annotation", "device"
COMMUNICATION, COUNTER, MEMORY = "communication", "counter", "memory"
CURVES = (COUNTER, MEMORY)
FROM_CAPTURE = "operators and modules, from capture"

_DEVICES, _PROCESSES, _OTHER_TRACKS, _FRAMES, _SAMPLES = range(5)
"""Sections of the picture, from top to bottom: few rows of devices, then deep stacks of calls.

Curves come last: there may be dozens, and above the calls they would hide them.
"""
_SLICES, _MEMORY, _COUNTERS = range(3)
"""What a group shows, from top to bottom."""
_STREAMS = (DEVICE, COMMUNICATION)
_MAX_ASIDE = 4
"""Streams of a device that do little; more of them would fill a screen."""
_LITTLE = 0.01
"""Events, as a share of those of the busiest stream."""
_DIGITS = regex(r"\d+")
_NUMBER = regex(r"-?\d+")


@dataclass(frozen=True, slots=True)
class Order:
    """What decides where a track stands."""

    section: int = 0
    operators: int = 0
    """Groups with a track of many operators come first in their section."""
    in_group: tuple[Any, ...] = ()
    aside: bool = False
    """Whether it computes nothing, so that it stands elsewhere where there are many like it."""


@dataclass(frozen=True, slots=True)
class Track:
    """One track: slices on rows, or the curve of a counter."""

    kind: str
    group: str
    """Process or device; tracks of one group stand together."""
    name: str
    id: int = 0
    rows: int = 1
    events: int = 0
    unit: str = ""
    lowest: float = 0.0
    highest: float = 0.0
    order: Order = Order()


class Naming(msgspec.Struct, frozen=True):
    """What processes, threads and devices are called."""

    word: str
    """What an accelerator of this maker is called."""
    names: Mapping[tuple[str, str | None], str]

    @classmethod
    def of(cls, trace: Trace, word: str) -> Naming:
        """Names from the `tracks` table."""
        track_names = trace.lazy("tracks").select(pl.col("pid", "tid", "name").cast(pl.String))
        rows = track_names.drop_nulls("name").collect().rows()
        return cls(word, {(pid or "", tid): name.strip() for pid, tid, name in rows if name})

    def thread(self, pid: str, tid: str, kind: str, *, operators: int, events: int) -> Track:
        """A thread of a process; `kind` is "annotation" where it only frames the recording."""
        name = self._thread_name(pid, tid)
        # Where processes and threads are numbered alike, the first thread has its process's number.
        place = (_SLICES, tid != pid, -operators, -events, _natural(tid))
        order = Order(_FRAMES if kind == ANNOTATION else _PROCESSES, operators, place)
        return Track(kind, self.process(pid), name or "marks", events=events, order=order)

    def _thread_name(self, pid: str, tid: str) -> str:
        name = self.names.get((pid, tid))
        if not _NUMBER.fullmatch(tid):
            return name or tid
        # Threads of one program are often all named like it.
        return f"thread {tid}" if not name else name if tid in name else f"{name} ({tid})"

    def process(self, pid: str) -> str:
        """What a process is called."""
        name = self.names.get((pid, None))
        if name:
            return f"{name} ({pid})"
        return (f"process {pid}" if _NUMBER.fullmatch(pid) else pid) or "recording"

    def stream(
        self, pid: str, device: int | None, stream: str, *, kind: str, computes: bool, events: int
    ) -> Track:
        """A stream of a device; what computes comes first, then what communicates, then copies."""
        group = self.process(pid) if device is None else self.device(device)
        name = self.names.get((pid, stream), group)
        if name == group:
            name = f"stream {stream}" if stream not in {"", group} else "without a stream"
        name = f"{name} annotations" if kind == ANNOTATION else name
        use = (kind == ANNOTATION, not computes, kind == COMMUNICATION)
        place = (_SLICES, use, pid, _natural(stream))
        order = Order(_DEVICES, 0, place, aside=not computes)
        return Track(kind, group, name, events=events, order=order)

    def captured(self, device: int, events: int) -> Track:
        """Operators and modules over what graphs replay on a device; above its streams."""
        order = Order(_DEVICES, 0, (_SLICES, (False, False, False), "", (-1, "")))
        return Track(ANNOTATION, self.device(device), FROM_CAPTURE, events=events, order=order)

    def curve(self, kind: str, place: str, name: str, unit: str) -> Track:
        """A counter or memory curve, with the others of its device."""
        number = self._number(place)
        group = f"{place if number is None else self.device(number)}, counters"
        rank = _MEMORY if kind == MEMORY else _COUNTERS
        return Track(kind, group, name, unit=unit, order=Order(_SAMPLES, 0, (rank, name)))

    def device(self, number: int) -> str:
        return f"{self.word} {number}"

    def _number(self, place: str) -> int | None:
        """The number of a device, however it is written: `0`, `GPU 0`, `GPU0`."""
        bare = place.removeprefix(self.word).strip()
        return int(bare) if bare.isdigit() else None


def rank_tracks(tracks: list[Track]) -> tuple[list[Track], list[int]]:
    """Tracks in their order with ids by place, and the id of each that was given.

    Devices that work come first.  Of the processes, those with most operators come first; of their
    threads the main one, then the busiest.  Streams that would fill a screen stand in a group of
    their own, further down: some back ends use a new stream for every few copies.
    """
    busiest: Counter[str] = Counter()
    for track in tracks:
        if track.kind in _STREAMS:
            busiest[track.group] = max(busiest[track.group], track.events)
    aside = [
        track.order.aside
        or (track.kind in _STREAMS and track.events < _LITTLE * busiest[track.group])
        for track in tracks
    ]
    many = Counter(track.group for track, away in zip(tracks, aside, strict=True) if away)
    tracks = [
        replace(
            track,
            group=f"{track.group}, other streams",
            order=replace(track.order, section=_OTHER_TRACKS),
        )
        if away and many[track.group] > _MAX_ASIDE
        else track
        for track, away in zip(tracks, aside, strict=True)
    ]
    most: Counter[tuple[int, str]] = Counter()
    working = {track.group for track in tracks if track.kind in _STREAMS}
    for track in tracks:
        group = (track.order.section, track.group)
        most[group] = max(most[group], track.order.operators)

    def place(number: int) -> tuple[Any, ...]:
        group, order = tracks[number].group, tracks[number].order
        idle = order.section == _DEVICES and group not in working
        section = _OTHER_TRACKS if idle else order.section
        return section, -most[order.section, group], _natural(group), order.in_group

    by_place = sorted(range(len(tracks)), key=place)
    ids = [0] * len(tracks)
    for rank, number in enumerate(by_place):
        ids[number] = rank
    # From here on their ids say where they stand.
    listed = [replace(tracks[n], id=rank, order=Order()) for rank, n in enumerate(by_place)]
    return listed, ids


def _natural(text: str) -> tuple[int, str]:
    """Text by the last number in it: stream 7 comes before stream 20."""
    digits = _DIGITS.findall(text)
    return (int(digits[-1]) if digits else -1), text


_FRAMING = ("trace", "instant")
"""Host kinds that frame or mark a recording."""
_AIDING = ("memcpy", "memset", "sync")
"""Device kinds that compute nothing."""


class Side(msgspec.Struct, frozen=True, eq=False):
    """The events of the host or of the devices; arrays have one entry per row of the table."""

    start: Ints
    """On the clock of the trace."""
    dur: Ints
    label: Ints
    """Place in `labels`."""
    labels: Sequence[tuple[str, str]]
    """Names with the kinds of what is called so."""
    track: columns.Codes
    """Place in `tracks`; -1 for what is left out."""
    tracks: Sequence[Track]


def host_side(trace: Trace, naming: Naming) -> Side:
    """Host calls on their threads."""
    host, kinds = columns.host_columns(trace), columns.host_kinds(trace)
    track, lanes = columns.host_lanes(trace)
    events = np.bincount(track, minlength=len(lanes)).tolist()
    operators = _count(track, kinds.among("operator"), len(lanes))
    frames = _count(track, kinds.among(*_FRAMING), len(lanes))
    tracks = [
        naming.thread(
            *lane,
            ANNOTATION if frames[number] == events[number] else HOST,
            operators=operators[number],
            events=events[number],
        )
        for number, lane in enumerate(lanes)
    ]
    label, labels = _labels(columns.host_names(trace), kinds)
    side = Side(host["ts_ns"].to_numpy(), host["dur_ns"].to_numpy(), label, labels, track, tracks)
    return _over_replays(side, trace, naming) if kinds.among(*CAPTURED_KINDS).any() else side


def _over_replays(side: Side, trace: Trace, naming: Naming) -> Side:
    """The side with captured calls on tracks beside the streams, while their work runs."""
    columns_of_host = ("index", "kind", "captured_caller")
    host = trace.lazy("host").select(columns_of_host).collect(engine="in-memory")
    work = trace.lazy("device").select("ts_ns", "dur_ns", "captured_call")
    spans = captured_spans(host, work.collect(engine="in-memory"))
    start, dur, track = side.start.copy(), side.dur.copy(), np.array(side.track, dtype=np.int64)
    track[columns.host_kinds(trace).among(*CAPTURED_KINDS)] = -1
    start[spans.row], dur[spans.row] = spans.start, spans.end - spans.start
    number = columns.device_numbers(trace)[spans.device_row]
    tracks = list(side.tracks)
    for device in np.unique(number).tolist():
        mine = spans.row[number == device]
        track[mine] = len(tracks)
        tracks.append(naming.captured(device, len(mine)))
    return structs.replace(side, start=start, dur=dur, track=track, tracks=tracks)


def device_side(trace: Trace, naming: Naming) -> Side:
    """Work on the streams of devices; annotations on devices have tracks of their own."""
    device, kinds = columns.device_columns(trace), columns.device_kinds(trace)
    label, labels = _labels(columns.device_names(trace), kinds)
    track, places = _device_places(trace, kinds.among("annotation"))
    talks = [
        kind == "collective" or (kind == "kernel" and is_collective_kernel(name))
        for name, kind in labels
    ]
    events = np.bincount(track, minlength=len(places)).tolist()
    talking = _count(track, np.array(talks or [False], dtype=np.bool_)[label], len(places))
    aiding = _count(track, kinds.among(*_AIDING), len(places))
    computing = {
        place[:3]
        for place, aids, many in zip(places, aiding, events, strict=True)
        if not place[3] and aids < many
    }
    tracks = [
        naming.stream(
            pid,
            number,
            stream,
            kind=ANNOTATION if annotates else COMMUNICATION if 2 * talk > many else DEVICE,
            computes=(pid, number, stream) in computing,
            events=many,
        )
        for (pid, number, stream, annotates), talk, many in zip(
            places, talking, events, strict=True
        )
    ]
    return Side(
        device["ts_ns"].to_numpy(), device["dur_ns"].to_numpy(), label, labels, track, tracks
    )


def side_within(side: Side, start_ns: int, end_ns: int) -> Side:
    """A side without what lies wholly outside a span, and without the tracks that leaves empty.

    Marks of a profiler may be hours away from the work.
    """
    inside = (side.start + side.dur >= start_ns) & (side.start <= end_ns)
    events = np.bincount(side.track[inside], minlength=len(side.tracks))
    number = np.append(np.where(events > 0, np.cumsum(events > 0) - 1, -1), -1)
    left = [
        replace(track, events=int(count))
        for track, count in zip(side.tracks, events, strict=True)
        if count
    ]
    return structs.replace(side, track=np.where(inside, number[side.track], -1), tracks=left)


def _count(track: columns.Codes, chosen: Flags, tracks: int) -> list[int]:
    counts: list[int] = np.bincount(track[chosen], minlength=tracks).tolist()
    return counts


def _device_places(
    trace: Trace, annotates: Flags
) -> tuple[columns.Codes, list[tuple[str, int | None, str, bool]]]:
    """A number per device event for where it is drawn, and what each stands for.

    That is a process, a device, a stream, and whether it shows annotations.
    """
    stream = pl.coalesce("stream", "tid").alias("stream")
    frame = trace.lazy("device").select("pid", "device", stream).collect()
    pid, pids = columns.encode(frame["pid"])
    streams, names = columns.encode(frame["stream"])
    number = frame["device"].fill_null(-1).to_numpy().astype(np.int64) + 1
    shape = (len(pids), int(number.max(initial=0)) + 1, len(names), 2)
    joint = ((pid * shape[1] + number) * shape[2] + streams) * 2 + annotates
    distinct, track = np.unique(joint, return_inverse=True)
    places = [
        (pids[process] or "", device - 1 if device else None, names[which] or "", bool(noted))
        for process, device, which, noted in zip(
            *(part.tolist() for part in np.unravel_index(distinct, shape)), strict=True
        )
    ]
    return track.reshape(-1), places


def _labels(named: columns.Texts, kinds: columns.Texts) -> tuple[Ints, list[tuple[str, str]]]:
    """A number per event for its name and kind, and what each number stands for."""
    joint = wide(named.codes) * len(kinds.texts) + kinds.codes
    seen = np.zeros(len(named.texts) * len(kinds.texts), dtype=np.bool_)
    seen[joint] = True
    pairs = [divmod(code, len(kinds.texts)) for code in np.flatnonzero(seen).tolist()]
    labels = [(named.texts[name], kinds.texts[which]) for name, which in pairs]
    return (np.cumsum(seen) - 1)[joint], labels
