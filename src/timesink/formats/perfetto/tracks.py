"""Tracks of a Perfetto trace: the process, the thread and the name that each stands for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from timesink.formats.perfetto import numbers as n
from timesink.formats.perfetto.packets import Packets
from timesink.formats.wire import split_messages
from timesink.patterns import regex

OVERLAP = regex(r"overlap \d+")
"""The name of a track beside its parent, for slices that cross others of it."""
_MAX_DEPTH = 64
"""Tracks above one another; a longer chain is a circle."""

Lane = int | str
LaneRow = tuple[str, Lane, Lane, str, Any]
"""Name of a metadata event, process, lane, and the argument with its value."""


class TraceTrack(msgspec.Struct):
    """One track, as far as the trace describes it."""

    name: str | None = None
    parent: int = 0
    pid: int | None = None
    process_name: str = ""
    tid: int | None = None
    thread_name: str = ""
    labels: str = ""
    sort_index: int | None = None
    is_process: bool = False
    is_counter: bool = False
    unit: int = 1
    is_incremental: bool = False


class Place(msgspec.Struct, frozen=True):
    """Where the events of a track are shown: process, lane, and the name of the lane."""

    pid: Lane
    tid: Lane
    name: str


class TraceTracks:
    """The tracks of a trace by their numbers, and names of processes and threads."""

    def __init__(self, packets: Packets) -> None:
        self.tracks: dict[int, TraceTrack] = {}
        self.process_names: dict[int, str] = {}
        self.thread_names: dict[tuple[int, int], str] = {}
        self._places: dict[int, Place] = {}
        self._taken: dict[tuple[Lane, str], int] = {}
        self._read_descriptors(packets)
        self._read_sequences(packets)
        self._read_process_tree(packets)

    def _read_descriptors(self, packets: Packets) -> None:
        _, fields = packets.of(n.TRACK_DESCRIPTOR)
        count = len(fields.break_at) + int(fields.message.max(initial=-1)) + 1
        uuids, parents = fields.numbers(n.UUID, count), fields.numbers(n.PARENT, count)
        names = fields.text_of(n.TRACK_NAME, count)
        static_names = fields.text_of(n.STATIC_NAME, count)
        ranks, has_rank = fields.numbers(n.SORT_RANK, count), fields.has(n.SORT_RANK, count)
        for row in range(count):
            # A later description of a track adds to an earlier one.
            track = self.tracks.setdefault(int(uuids[row]), TraceTrack())
            track.parent = int(parents[row]) or track.parent
            written = (names[row], static_names[row], track.name)
            track.name = next((name for name in written if name is not None), None)
            if has_rank[row]:
                track.sort_index = int(ranks[row])
        for of, pid, process_name, sort_index, labels in _processes(packets, fields):
            track = self.tracks[int(uuids[of])]
            track.pid, track.is_process = pid, True
            track.process_name, track.labels = process_name or track.process_name, labels
            track.sort_index = sort_index if sort_index is not None else track.sort_index
            if process_name:
                self.process_names.setdefault(pid, process_name)
        for of, pid, tid, thread_name, sort_index in _threads(packets, fields):
            track = self.tracks[int(uuids[of])]
            track.pid, track.tid = pid, tid
            track.thread_name = thread_name or track.thread_name
            track.sort_index = sort_index if sort_index is not None else track.sort_index
            if thread_name:
                self.thread_names.setdefault((pid, tid), thread_name)
        of_track, starts, ends = fields.submessages(n.COUNTER_TRACK)
        counters = split_messages(packets.data, starts, ends)
        units = counters.numbers(n.UNIT_MULTIPLIER, len(of_track))
        steps = counters.numbers(n.IS_INCREMENTAL, len(of_track))
        for place, of in enumerate(of_track.tolist()):
            track = self.tracks[int(uuids[of])]
            track.is_counter, track.unit = True, int(units[place]) or 1
            track.is_incremental = bool(steps[place])

    def _read_sequences(self, packets: Packets) -> None:
        """Old recorders describe a thread for all events of a sequence of packets."""
        packet, fields = packets.of(n.THREAD_DESCRIPTOR)
        for of, pid, tid, thread_name in _thread_rows(fields, len(packet)):
            number = sequence_track(int(packets.sequence[packet[of]]))
            self.tracks[number] = TraceTrack(pid=pid, tid=tid, thread_name=thread_name)
            if thread_name:
                self.thread_names.setdefault((pid, tid), thread_name)
        packet, fields = packets.of(n.PROCESS_DESCRIPTOR)
        names = fields.text_of(n.PROCESS_NAME, len(packet))
        pids = fields.numbers(n.PID, len(packet))
        for of, name in enumerate(names):
            if name:
                self.process_names.setdefault(int(pids[of]), name)

    def _read_process_tree(self, packets: Packets) -> None:
        _, trees = packets.of(n.PROCESS_TREE)
        _, starts, ends = trees.submessages(1)
        processes = split_messages(packets.data, starts, ends)
        pids = processes.numbers(1, len(starts))
        commands = processes.select(3)
        texts = zip(processes.message[commands].tolist(), processes.texts(commands), strict=True)
        for of, text in reversed(list(texts)):
            self.process_names.setdefault(int(pids[of]), text)
        _, starts, ends = trees.submessages(2)
        threads = split_messages(packets.data, starts, ends)
        tids, groups = threads.numbers(1, len(starts)), threads.numbers(3, len(starts))
        for of, name in enumerate(threads.text_of(2, len(starts))):
            if name:
                self.thread_names.setdefault((int(groups[of]), int(tids[of])), name)

    def place(self, number: int) -> Place:
        """Where the events of a track are shown."""
        place = self._places.get(number)
        if place is None:
            place = self._places[number] = self._find_place(number)
        return place

    def _find_place(self, number: int) -> Place:
        track = self.tracks.get(number)
        unnamed = f"track {number & 0xFFFF_FFFF:x}"
        if track is None:
            return Place(unnamed, "", "")
        if track.parent in self.tracks and OVERLAP.fullmatch(track.name or ""):
            # Slices that would cross others of their lane are written beside it.
            return self.place(track.parent)
        chain = list(self._chain(number))
        process = next((above for above in chain if above.pid is not None), chain[-1])
        pid: Lane = process.pid if process.pid is not None else process.name or ""
        if process.pid is None and process.name is None:
            pid = unnamed
        if track.tid is not None:
            return Place(pid, track.tid, track.thread_name or track.name or "")
        if track is process:
            return Place(pid, pid, track.name or track.process_name if track.is_process else "")
        return Place(pid, self._lane(pid, track, number), track.name or "")

    def _chain(self, number: int) -> Iterator[TraceTrack]:
        for _ in range(_MAX_DEPTH):
            track = self.tracks.get(number)
            if track is None:
                return
            yield track
            number = track.parent

    def _lane(self, pid: Lane, track: TraceTrack, number: int) -> str:
        """A lane of a process that no other track of it has."""
        name = "track" if track.name is None else track.name
        owner = self._taken.setdefault((pid, name), number)
        is_own = owner == number and track.name is not None
        return name if is_own else f"{name} {number & 0xFFFF_FFFF:x}"

    def lane_rows(self) -> list[LaneRow]:
        """Names, labels and order of the processes and lanes in use: rows of metadata events."""
        rows: list[LaneRow] = []
        named: set[Lane] = set()
        for number, track in self.tracks.items():
            if track.is_process and track.pid is not None:
                rows += self._process_rows(track.pid, named)
                if track.labels:
                    rows.append(("process_labels", track.pid, 0, "labels", track.labels))
                if track.sort_index is not None:
                    order = ("process_sort_index", track.pid, 0, "sort_index", track.sort_index)
                    rows.append(order)
            elif not track.is_counter:
                self.place(number)
        for number, place in self._places.items():
            if isinstance(place.pid, int):
                rows += self._process_rows(place.pid, named)
            if place.name and place.name != place.tid:
                rows.append(("thread_name", place.pid, place.tid, "name", place.name))
            described = self.tracks.get(number, TraceTrack())
            if described.sort_index is not None and not described.is_process:
                name = "thread_sort_index" if described.parent else "process_sort_index"
                rows.append((name, place.pid, place.tid, "sort_index", described.sort_index))
        return rows

    def _process_rows(self, pid: int, named: set[Lane]) -> list[LaneRow]:
        """The name of a process, where it was not there before."""
        name = None if pid in named else self.process_names.get(pid)
        named.add(pid)
        return [("process_name", pid, 0, "name", name)] if name else []


def sequence_track(sequence: int) -> int:
    """The number that stands for the track of a sequence of packets.

    >>> sequence_track(3)
    -4
    """
    return -sequence - 1


def _processes(
    packets: Packets, descriptors: Any
) -> Iterator[tuple[int, int, str, int | None, str]]:
    of_track, starts, ends = descriptors.submessages(n.PROCESS)
    fields = split_messages(packets.data, starts, ends)
    count = len(of_track)
    pids, names = fields.numbers(n.PID, count), fields.text_of(n.PROCESS_NAME, count)
    ranks, has_rank = fields.numbers(n.PROCESS_SORT, count), fields.has(n.PROCESS_SORT, count)
    labels: dict[int, list[str]] = {}
    rows = fields.select(n.PROCESS_LABELS)
    for of, text in zip(fields.message[rows].tolist(), fields.texts(rows), strict=True):
        labels.setdefault(of, []).append(text)
    for place, of in enumerate(of_track.tolist()):
        rank = int(ranks[place]) if has_rank[place] else None
        label = ", ".join(labels.get(place, []))
        yield of, int(pids[place]), names[place] or "", rank, label


def _threads(packets: Packets, descriptors: Any) -> Iterator[tuple[int, int, int, str, int | None]]:
    of_track, starts, ends = descriptors.submessages(n.THREAD)
    fields = split_messages(packets.data, starts, ends)
    count = len(of_track)
    ranks, has_rank = fields.numbers(n.THREAD_SORT, count), fields.has(n.THREAD_SORT, count)
    for place, pid, tid, name in _thread_rows(fields, count):
        rank = int(ranks[place]) if has_rank[place] else None
        yield int(of_track[place]), pid, tid, name, rank


def _thread_rows(fields: Any, count: int) -> Iterator[tuple[int, int, int, str]]:
    pids, tids = fields.numbers(n.THREAD_PID, count), fields.numbers(n.THREAD_TID, count)
    for place, name in enumerate(fields.text_of(n.THREAD_NAME, count)):
        yield place, int(pids[place]), int(tids[place]), name or ""
