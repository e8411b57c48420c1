"""Whether timeline and counters tell the same time, and putting it right where they do not."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from timesink.collect.record.packing import TimelineRanges

_TOLERATED_US = 1000.0
"""Counters are sampled every few milliseconds: less than this cannot be seen in them."""

ClockMark = tuple[str, int, int]
"""A mark of the timeline, and when it was at the earliest and at the latest by the system clock."""


@dataclass(frozen=True)
class Offset:
    """How far the system clock is ahead of the timeline's, and how far that is uncertain."""

    offset_us: float
    spread_us: float


def measure_offset(marks: Iterable[ClockMark], found: TimelineRanges) -> Offset | None:
    """The offset every mark allows; None where the timeline has no mark."""
    least, most = [], []
    for name, before_ns, after_ns in marks:
        span_ns = found.span_ns(name)
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
