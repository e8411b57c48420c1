"""The timelines that processes left behind, packed and named."""

from __future__ import annotations

import errno
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from timesink.collect.record.clock import Offset, measure_offset
from timesink.collect.record.notes import Note, ProcessNotes
from timesink.collect.record.packing import TimelineRanges, pack
from timesink.collect.record.places import RecordingFolder

_FULL = (errno.ENOSPC, errno.EDQUOT)
KILLED = "the program was killed before its recording was written"


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
    pace: Note
    versions: Note
    devices: tuple[str, ...]
    """UUIDs of the GPUs it sees, in its order."""
    dropped: int
    """Other processes of the same rank that recorded, and are not kept."""

    @property
    def is_complete(self) -> bool:
        return not self.why_partial


def collect_traces(processes: Sequence[ProcessNotes], place: RecordingFolder) -> list[Recorded]:
    """Pack the timeline of every process that recorded cycles, the lowest rank first.

    A worker that was started again has recorded twice: the one with more cycles counts.
    """
    recording = [process for process in processes if process.last("window") is not None]
    workers: dict[tuple[str, int], list[ProcessNotes]] = defaultdict(list)
    for process in recording:
        rank = _rank(process)
        workers[("rank", rank) if rank >= 0 else ("pid", process.pid)].append(process)
    best = [(max(rivals, key=_worth), len(rivals) - 1) for rivals in workers.values()]
    best.sort(key=lambda one: (_rank(one[0]), one[0].pid))
    names = _names([process for process, _ in best])
    return [
        _collected(process, place.trace(name), place.control, dropped)
        for (process, dropped), name in zip(best, names, strict=True)
    ]


def _worth(process: ProcessNotes) -> tuple[int, int]:
    exported = process.last("exported")
    started_us = (process.last("window") or {}).get("started_us", 0)
    return (exported["cycles"] if exported else -1, started_us)


def _rank(process: ProcessNotes) -> int:
    rank = (process.last("window") or {}).get("rank")
    return rank if isinstance(rank, int) else -1


def _names(processes: Sequence[ProcessNotes]) -> list[str]:
    """What tells the timelines apart: the rank, else the number of the process."""
    names: list[str] = []
    for process in processes:
        several = ((process.last("window") or {}).get("world_size") or 1) > 1
        by_rank = f"rank{_rank(process)}" if several and _rank(process) >= 0 else ""
        names.append(by_rank or (f"pid{process.pid}" if names else ""))
    return names


def _collected(process: ProcessNotes, packed: Path, control: Path, dropped: int) -> Recorded:
    window, exported = process.last("window") or {}, process.last("exported") or {}
    found, problem = _packed(process, exported, packed, control)
    ended = process.last("exported") or process.last("failed")
    marks = [(name, before, after) for name, before, after in exported.get("clock", ())]
    return Recorded(
        pid=process.pid,
        rank=window.get("rank"),
        world_size=window.get("world_size"),
        trace=packed.name if found is not None else None,
        by=window["by"],
        name=window["name"],
        skipped=window["skipped"],
        cycles=exported.get("cycles", 0),
        why_partial=problem or str(ended["why"] if ended is not None else KILLED),
        offset=measure_offset(marks, found) if found is not None else None,
        recorded_ns=tuple(exported.get("recorded_ns", ())),
        pace=process.last("pace") or {},
        versions=process.last("torch") or {},
        devices=tuple(exported.get("devices", ())),
        dropped=dropped,
    )


def _packed(
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
        return None, f"the timeline cannot be written: {error.strerror or error}"
