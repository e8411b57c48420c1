"""A timeline as torch.profiler wrote it, packed; the recorder's own marks are taken out."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from timesink.collect.record.marks import (
    CLOCK_MARK,
    CUT_MARK,
    OTHER_STEP_MARK,
    SHOWN_STEP_MARK,
    STEP_MARK,
)
from timesink.collect.record.nesting import Range, nested

_CHUNK = 4 * 1024**2
_LEVEL = 4
"""Of packing; higher ones take far longer than they save."""

_BASE = re.compile(rb'"baseTimeNanoseconds":\s*(\d+)')
_ANNOTATION = re.compile(
    rb'(?P<head>"cat":\s*"user_annotation",\s*"name":\s*"(?P<name>(?:[^"\\]|\\.)*)",\s*'
    rb'"pid":\s*\d+,\s*"tid":\s*(?P<thread>\d+),\s*"ts":\s*)(?P<start>[\d.]+)'
    rb'(?P<between>,\s*"dur":\s*)(?P<lasts>[\d.]+)'
)
_CLOCK_EVENT = re.compile(
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
        one = next((one for one in self.ranges if one.name == name), None)
        return (self.base_ns + one.start_ns, self.base_ns + one.end_ns) if one else None


def pack(raw: Path, packed: Path, cut: str = "") -> TimelineRanges:
    """Pack a timeline; `cut` names the mark of a cycle that was not recorded to its end.

    The file appears whole or not at all; until then it lies beside the raw one.
    """
    found = TimelineRanges()
    for piece in _pieces(raw):
        if not found.base_ns and (base := _BASE.search(piece)):
            found.base_ns = int(base[1])
        found.ranges += map(_range_of, _ANNOTATION.finditer(piece))
    changes = nested(one for one in found.ranges if not one.name.startswith(CLOCK_MARK))
    unfinished = raw.with_suffix(".packing")
    try:
        with gzip.open(unfinished, "wb", _LEVEL) as writing:
            for piece in _pieces(raw):
                writing.write(_cleaned(piece, changes, cut))
        unfinished.replace(packed)
    finally:
        unfinished.unlink(missing_ok=True)
    return found


def _pieces(raw: Path) -> Iterator[bytes]:
    """The text in pieces that end where an event does."""
    rest = b""
    with raw.open("rb") as reading:
        while chunk := reading.read(_CHUNK):
            text = rest + chunk
            end = text.rfind(_ENDS_EVENT)
            whole = end + len(_ENDS_EVENT) if end >= 0 else 0
            if whole:
                yield text[:whole]
            rest = text[whole:]
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
    whole, _, part = text.partition(b".")
    return int(whole) * 1000 + int((part + b"000")[:3])


def _microseconds(time_ns: int) -> bytes:
    """The other way round."""
    return f"{time_ns // 1000}.{time_ns % 1000:03}".encode()


def _cleaned(piece: bytes, changes: Mapping[Range, Range], cut: str) -> bytes:
    if changes:
        piece = _ANNOTATION.sub(lambda event: _changed(event, changes), piece)
    if cut:
        piece = piece.replace(f'"{cut}"'.encode(), f'"{CUT_MARK}"'.encode())
    for old, new in ((SHOWN_STEP_MARK, OTHER_STEP_MARK), (STEP_MARK, SHOWN_STEP_MARK)):
        piece = piece.replace(f'"{old}'.encode(), f'"{new}'.encode())
    return _CLOCK_EVENT.sub(b"", piece) if CLOCK_MARK.encode() in piece else piece


def _changed(event: re.Match[bytes], changes: Mapping[Range, Range]) -> bytes:
    new = changes.get(_range_of(event))
    if new is None:
        return event[0]
    start, lasts = _microseconds(new.start_ns), _microseconds(new.end_ns - new.start_ns)
    return event["head"] + start + event["between"] + lasts
