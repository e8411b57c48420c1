"""The traces of several ranks as one Chrome JSON, on one clock, with arrows between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from isal import igzip

from timesink.formats.chrome.writer import Event, encode_ns, events, ns_of
from timesink.formats.written_files import written_aside
from timesink.model.trace import Trace

_RANK_STEP = 10_000_000
"""Added to the numbers of processes per rank; those of Linux stay below it."""
_ORDER_STEP = 100_000_000
_FLOW_STEP = 1 << 44
"""Added to the numbers of arrows per rank; 512 ranks still fit what JavaScript counts exactly."""
_ARROW_BASE = 1 << 52
_encode = msgspec.json.Encoder().encode


class RankPart(msgspec.Struct, frozen=True):
    """One rank of a merged trace."""

    rank: int
    trace: Trace
    ahead_ns: int = 0
    """How far its clock is ahead of the common one."""


class ArrowEnd(msgspec.Struct, frozen=True):
    """Where an arrow between ranks meets one of them, on the clock of that rank."""

    number: int
    rank: int
    name: str
    phase: str
    """`s`, `t` or `f`."""
    pid: str
    tid: str
    ts_ns: int


def write_merged_json(
    path: Path, parts: Iterable[RankPart], arrows: Sequence[ArrowEnd] = ()
) -> int:
    """Write ranks one after the other into one file; the number of events."""
    packed = path.name.lower().endswith(".gz")
    written = 0
    by_rank: dict[int, list[ArrowEnd]] = {}
    for arrow in arrows:
        by_rank.setdefault(arrow.rank, []).append(arrow)
    with (
        written_aside(path) as aside,
        igzip.open(aside, "wb") if packed else aside.open("wb") as file,  # type: ignore[no-untyped-call]
    ):
        zero: int | None = None
        for part in parts:
            if zero is None:
                zero = part.trace.metadata.clock_offset_ns
                head = _encode({"schemaVersion": 1, "baseTimeNanoseconds": zero})
                file.write(head[:-1] + b',\n"traceEvents": [\n')
            for event in _events_of(part, zero, by_rank.get(part.rank, ())):
                file.write((b",\n" if written else b"") + _encode(event))
                written += 1
        file.write(b"\n]}\n")
    return written


def _events_of(part: RankPart, zero: int, arrows: Iterable[ArrowEnd]) -> Iterator[Event]:
    shift = part.trace.metadata.clock_offset_ns - part.ahead_ns - zero
    for event in events(part.trace):
        pid = event.get("pid")
        moved = {**event, "pid": _process(pid, part.rank)}
        if "ts" in event:
            moved["ts"] = encode_ns(ns_of(event["ts"]) + shift)
        if isinstance(event.get("id"), int):
            moved["id"] = event["id"] % _FLOW_STEP + part.rank * _FLOW_STEP
        if event["ph"] == "M":
            moved["args"] = _label_arguments(event, part.rank)
        yield moved
    for arrow in arrows:
        end: Event = {"bp": "e"} if arrow.phase == "f" else {}
        yield {
            "ph": arrow.phase,
            "cat": "collective",
            "name": arrow.name,
            "id": _ARROW_BASE + arrow.number,
            "pid": _process(_number(arrow.pid), part.rank),
            "tid": _number(arrow.tid),
            "ts": encode_ns(arrow.ts_ns - part.ahead_ns - zero),
            **end,
        }


def _process(pid: Any, rank: int) -> Any:
    """A number that no process of another rank has."""
    if isinstance(pid, int) and 0 <= pid < _RANK_STEP:
        return pid + rank * _RANK_STEP
    return f"rank {rank} {pid}"


def _number(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdigit() else text


def _label_arguments(event: Event, rank: int) -> Event:
    """Names and order of processes, with their rank first."""
    arguments: Event = event["args"]
    if event["name"] == "process_name":
        return {"name": f"rank {rank}: {arguments['name']}"}
    if event["name"] == "process_sort_index":
        order = min(abs(int(arguments["sort_index"])), _ORDER_STEP - 1)
        return {"sort_index": rank * _ORDER_STEP + order}
    return arguments
