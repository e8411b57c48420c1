"""The timelines that processes left behind, packed and named."""

from __future__ import annotations

import errno
import gzip
import os
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from timesink.errors import reason_of
from timesink.patterns import regex
from timesink.recorder.folder import (
    CLOCK_MARK,
    COMPILED_CODE,
    CUT_MARK,
    MEMORY_SNAPSHOT,
    OTHER_STEP_MARK,
    SHOWN_STEP_MARK,
    STEP_MARK,
    Note,
    ProcessNotes,
    RecordingFolder,
)
from timesink.recorder.graph_captures import collect_captures

# Cycles and the program's own ranges, one within the other.
#
# A step of an optimizer often lies in a range the program marks itself, which ends a little
# later.
# The cycle ends with that range: viewers drop what overlaps without lying within.


@dataclass(frozen=True)
class Range:
    """A named range of a thread, as the timeline has it, in nanoseconds."""

    name: str
    thread: str
    start_ns: int
    end_ns: int


def nest_ranges(ranges: Iterable[Range]) -> Mapping[Range, Range]:
    """The ranges that have to change, and what they become."""
    threads: dict[str, list[Range]] = defaultdict(list)
    for span in ranges:
        threads[span.thread].append(span)
    changed: dict[Range, Range] = {}
    for thread_spans in threads.values():
        marks = [span for span in thread_spans if span.name.startswith(STEP_MARK)]
        other_spans = [span for span in thread_spans if not span.name.startswith(STEP_MARK)]
        if marks:
            steps = sorted(marks, key=lambda mark: mark.start_ns)
            changed |= dict(zip(steps, _move_starts(steps, other_spans), strict=True))
            last = steps[-1]
            # Ranges that the end of the recording has cut end with its last cycle.
            changed |= {
                span: replace(span, end_ns=last.end_ns)
                for span in other_spans
                if last.start_ns <= span.start_ns < last.end_ns < span.end_ns
            }
    return {old: new for old, new in changed.items() if old != new}


def _move_starts(steps: Sequence[Range], other_spans: Sequence[Range]) -> list[Range]:
    """Cycles that begin after the ranges that were open, where these end in the cycle."""
    marked_ns = [step.start_ns for step in steps]
    starts_ns = list(marked_ns)
    for span in other_spans:
        index = bisect_left(marked_ns, span.end_ns) - 1
        if index > 0 and span.start_ns < marked_ns[index] and span.end_ns <= steps[index].end_ns:
            starts_ns[index] = max(starts_ns[index], span.end_ns)
    # Where a cycle begins later, the one before it ends later.
    ends_ns = [step.end_ns for step in steps]
    for place, start_ns in enumerate(starts_ns[1:]):
        if start_ns != marked_ns[place + 1]:
            ends_ns[place] = start_ns
    moved = zip(steps, starts_ns, ends_ns, strict=True)
    return [replace(step, start_ns=start, end_ns=end) for step, start, end in moved]


# A timeline as torch.profiler wrote it, packed; the recorder's own marks are taken out.

_CHUNK = 4 * 1024**2
_LEVEL = 4
"""Of packing; higher ones take far longer than they save."""

_BASE = regex(rb'"baseTimeNanoseconds":\s*(\d+)')
_ANNOTATION = regex(
    rb'(?P<head>"cat":\s*"user_annotation",\s*"name":\s*"(?P<name>(?:[^"\\]|\\.)*)",\s*'
    rb'"pid":\s*\d+,\s*"tid":\s*(?P<thread>\d+),\s*"ts":\s*)(?P<start>[\d.]+)'
    rb'(?P<between>,\s*"dur":\s*)(?P<lasts>[\d.]+)'
)
_CLOCK_EVENT = regex(
    rb'\{[^{}]*"name":\s*"' + CLOCK_MARK.encode() + rb'\d+"[^{}]*(?:\{[^{}]*\}[^{}]*)?\},\s*'
)
_ENDS_EVENT = b"},\n"


@dataclass
class TimelineRanges:
    """What a timeline says about its clock and its ranges."""

    base_ns: int = 0
    ranges: list[Range] = field(default_factory=list)

    def span_ns(self, name: str) -> tuple[int, int] | None:
        """Beginning and end of a range, in Unix nanoseconds."""
        named_range = next((candidate for candidate in self.ranges if candidate.name == name), None)
        return (
            (self.base_ns + named_range.start_ns, self.base_ns + named_range.end_ns)
            if named_range
            else None
        )


def pack(raw: Path, packed: Path, cut: str = "") -> TimelineRanges:
    """Pack a timeline; `cut` names the mark of a cycle that was not recorded to its end.

    The file appears whole or not at all; until then it lies beside the raw one.
    """
    timeline = TimelineRanges()
    for piece in _pieces(raw):
        if not timeline.base_ns and (base := _BASE.search(piece)):
            timeline.base_ns = int(base[1])
        timeline.ranges += map(_range_of, _ANNOTATION.finditer(piece))
    changes = nest_ranges(span for span in timeline.ranges if not span.name.startswith(CLOCK_MARK))
    unfinished = raw.with_suffix(".packing")
    try:
        with gzip.open(unfinished, "wb", _LEVEL) as writing:
            for piece in _pieces(raw):
                writing.write(_clean_piece(piece, changes, cut))
        unfinished.replace(packed)
    finally:
        unfinished.unlink(missing_ok=True)
    return timeline


def _pieces(raw: Path) -> Iterator[bytes]:
    """The text in pieces that end where an event does."""
    rest = b""
    with raw.open("rb") as reading:
        while chunk := reading.read(_CHUNK):
            text = rest + chunk
            end = text.rfind(_ENDS_EVENT)
            complete_end = end + len(_ENDS_EVENT) if end >= 0 else 0
            if complete_end:
                yield text[:complete_end]
            rest = text[complete_end:]
    yield rest


def _range_of(event: re.Match[bytes]) -> Range:
    start_ns = _nanoseconds(event["start"])
    return Range(
        event["name"].decode(errors="replace"),
        event["thread"].decode(),
        start_ns,
        start_ns + _nanoseconds(event["lasts"]),
    )


def _nanoseconds(text: bytes) -> int:
    """Microseconds as written, exactly."""
    integer, _, part = text.partition(b".")
    return int(integer) * 1000 + int((part + b"000")[:3])


def _microseconds(time_ns: int) -> bytes:
    """The other way round."""
    return f"{time_ns // 1000}.{time_ns % 1000:03}".encode()


def _clean_piece(piece: bytes, changes: Mapping[Range, Range], cut: str) -> bytes:
    def changed(event: re.Match[bytes]) -> bytes:
        new = changes.get(_range_of(event))
        if new is None:
            return event[0]
        start, lasts = _microseconds(new.start_ns), _microseconds(new.end_ns - new.start_ns)
        return event["head"] + start + event["between"] + lasts

    if changes:
        piece = _ANNOTATION.sub(changed, piece)
    if cut:
        piece = piece.replace(f'"{cut}"'.encode(), f'"{CUT_MARK}"'.encode())
    for old, new in ((SHOWN_STEP_MARK, OTHER_STEP_MARK), (STEP_MARK, SHOWN_STEP_MARK)):
        piece = piece.replace(f'"{old}'.encode(), f'"{new}'.encode())
    return _CLOCK_EVENT.sub(b"", piece) if CLOCK_MARK.encode() in piece else piece


# Whether timeline and counters tell the same time, and putting it right where they do not.

_TOLERATED_US = 1000.0
"""Counters are sampled every few milliseconds: less than this cannot be seen in them."""

ClockMark = tuple[str, int, int]
"""A mark of the timeline, and when it was at the earliest and at the latest by the system clock."""


@dataclass(frozen=True)
class Offset:
    """How far the system clock is ahead of the timeline's, and how far that is uncertain."""

    offset_us: float
    spread_us: float


def measure_offset(marks: Iterable[ClockMark], timeline: TimelineRanges) -> Offset | None:
    """The offset every mark allows; None where the timeline has no mark."""
    least, most = [], []
    for name, before_ns, after_ns in marks:
        span_ns = timeline.span_ns(name)
        if span_ns is not None:
            least.append(before_ns - span_ns[0])
            most.append(after_ns - span_ns[1])
    if not least:
        return None
    low, high = max(least) / 1000, min(most) / 1000
    return Offset(round((low + high) / 2, 3), round(abs(high - low) / 2, 3))


def shift_counters(path: Path, offset: Offset, beside: Path) -> bool:
    """Put counters on the timeline's clock; whether that was needed.

    `beside` is a folder for what is not finished.
    """
    if abs(offset.offset_us) <= _TOLERATED_US or not path.exists():
        return False
    shifted = beside / path.name
    with path.open() as reading, shifted.open("w") as writing:
        writing.write(reading.readline())
        for line in reading:
            time_us, comma, rest = line.partition(",")
            writing.write(f"{int(time_us) - round(offset.offset_us)}{comma}{rest}")
    os.replace(shifted, path)  # noqa: PTH105 - says what happens to a file that is there
    return True


_FULL = (errno.ENOSPC, errno.EDQUOT)
KILLED = "the program was killed before its recording was written"
KILLED_PLAIN = "the program was killed"
"""Unprofiled steps are written as they come."""


@dataclass(frozen=True)
class Recorded:
    """What one process recorded."""

    pid: int
    rank: int | None
    world_size: int | None
    trace: str | None
    """Name of its file; None where it could not write one."""
    by: str
    name: str
    skipped: int
    cycles: int
    why_partial: str
    offset: Offset | None
    recorded_ns: tuple[int, ...]
    versions: Note
    devices: tuple[str, ...]
    """UUIDs of the GPUs it sees, in its order."""
    dropped: int
    """Other processes of the same rank that recorded, and are not kept."""
    memory: str | None = None
    """Name of its memory snapshot."""
    trouble: tuple[str, ...] = ()
    """What could not be kept beside the timeline, and why."""

    @property
    def is_complete(self) -> bool:
        return not self.why_partial


def collect_traces(processes: Sequence[ProcessNotes], place: RecordingFolder) -> list[Recorded]:
    """Pack the timeline of every process that recorded cycles, the lowest rank first.

    A worker that was started again has recorded twice: the one with more cycles counts.
    """
    workers: dict[tuple[str, int], list[ProcessNotes]] = defaultdict(list)
    for process in processes:
        if process.last("window") is not None:
            rank = _rank(process)
            workers[("rank", rank) if rank >= 0 else ("pid", process.pid)].append(process)

    def worth(process: ProcessNotes) -> tuple[int, int, int]:
        exported, window = process.last("exported") or {}, process.last("window") or {}
        cycles, plain = exported.get("cycles", -1), exported.get("plain", 0)
        return cycles, plain, window.get("started_us", 0)

    best = [(max(rivals, key=worth), len(rivals) - 1) for rivals in workers.values()]
    recorded: list[Recorded] = []
    for process, dropped in sorted(best, key=lambda entry: (_rank(entry[0]), entry[0].pid)):
        # What tells the timelines apart: the rank, else the number of the process.
        several = ((process.last("window") or {}).get("world_size") or 1) > 1
        by_rank = f"rank{_rank(process)}" if several and _rank(process) >= 0 else ""
        name = by_rank or (f"pid{process.pid}" if recorded else "")
        collected = _collect_process(process, place.trace(name), place.control, dropped)
        memory = _collect_memory(process.pid, place.memory(name), place.control)
        trouble = []
        try:
            collect_captures(process, place.captures(name), place.control)
        except OSError as error:
            trouble.append(f"captured graphs of process {process.pid} are lost: {reason_of(error)}")
        try:
            # Beside a timeline its name says which; no file where nothing was compiled.
            left = place.control / COMPILED_CODE.format(pid=process.pid)
            left.replace(place.compiled(name))
        except FileNotFoundError:
            pass
        except OSError as error:
            trouble.append(f"compiled code of process {process.pid} is lost: {reason_of(error)}")
        recorded.append(replace(collected, memory=memory, trouble=tuple(trouble)))
    return recorded


def _collect_memory(pid: int, kept: Path, control: Path) -> str | None:
    """The memory snapshot of a process: of a failed allocation, else of the end."""
    for kind in ("oom.", ""):
        path = control / MEMORY_SNAPSHOT.format(pid=pid, kind=kind)
        with suppress(OSError):
            path.replace(kept)
            return kept.name
    return None


def collect_memory_alone(processes: Sequence[ProcessNotes], place: RecordingFolder) -> str | None:
    """The snapshot of a program that ended before a step was recorded; None where it has none."""
    for process in processes:
        name = _collect_memory(process.pid, place.memory(), place.control)
        if name is not None:
            return name
    return None


def _rank(process: ProcessNotes) -> int:
    rank = (process.last("window") or {}).get("rank")
    return rank if isinstance(rank, int) else -1


def _collect_process(process: ProcessNotes, packed: Path, control: Path, dropped: int) -> Recorded:
    window, exported = process.last("window") or {}, process.last("exported") or {}
    timeline, problem = _pack_timeline(process, exported, packed, control)
    ended = process.last("exported") or process.last("failed")
    killed = KILLED_PLAIN if window.get("plain_only") else KILLED
    marks = [(name, before, after) for name, before, after in exported.get("clock", ())]
    return Recorded(
        pid=process.pid,
        rank=window.get("rank"),
        world_size=window.get("world_size"),
        trace=packed.name if timeline is not None else None,
        by=window["by"],
        name=window["name"],
        skipped=window["skipped"],
        cycles=exported.get("cycles", 0),
        why_partial=problem or str(ended["why"] if ended is not None else killed),
        offset=measure_offset(marks, timeline) if timeline is not None else None,
        recorded_ns=tuple(exported.get("recorded_ns", ())),
        versions=process.last("torch") or {},
        devices=tuple(exported.get("devices", ())),
        dropped=dropped,
    )


def _pack_timeline(
    process: ProcessNotes, exported: Note, packed: Path, control: Path
) -> tuple[TimelineRanges | None, str]:
    """What was found in the timeline of a process, or why it cannot be kept."""
    # As the profiler wrote it, or what it had written of it when it was killed.
    names = [exported.get("file", ""), f"trace-{process.pid}.unfinished.json"]
    paths = (control / name for name in names if name)
    raw = next((path for path in paths if path.is_file() and path.stat().st_size), None)
    if raw is None:
        return None, ""
    try:
        return pack(raw, packed, exported.get("cut", "")), ""
    except OSError as error:
        if error.errno in _FULL:
            # It makes room for the rest.
            raw.unlink(missing_ok=True)
        return None, f"the timeline cannot be written: {reason_of(error)}"
