"""The roofs of a device in a roofline: a slope for its memory, a level for each precision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from timesink.analyses.roofline.peaks import DevicePeaks
from timesink.analyses.roofline.roofline import Roofline
from timesink.model import units
from timesink.render.drawing.axes import Frame
from timesink.render.drawing.colours import INK, QUIET, WASH
from timesink.render.drawing.lettering import cut_text, text_width
from timesink.render.drawing.scales import Log
from timesink.render.drawing.shapes import Line, Shape, Text

LABEL_ROOM = 168
"""Pixels to the right of the plot for the names of the roofs."""


def roofs_of(roofline: Roofline) -> dict[float, str]:
    """Peaks of the precisions that occur, the highest first; equal ones share a line."""
    if roofline.peaks is None:
        return {}
    named: dict[float, list[str]] = {}
    for precision in roofline.precisions:
        peak = roofline.peaks.peak(precision)
        if peak:
            named.setdefault(peak, []).append(precision.replace("_", " "))
    return {peak: _joined(named[peak]) for peak in sorted(named, reverse=True)}


def _joined(precisions: Sequence[str]) -> str:
    """Several kinds of tensor arithmetic in a word.

    >>> _joined(["fp16 tensor", "bf16 tensor"]), _joined(["fp32", "fp64 tensor"])
    ('fp16, bf16 tensor', 'fp32, fp64 tensor')
    """
    last = precisions[-1].partition(" ")[2]
    same = last and all(one.endswith(f" {last}") for one in precisions)
    if not same:
        return ", ".join(precisions)
    return f"{', '.join(one.partition(' ')[0] for one in precisions)} {last}"


def roof_lines(
    frame: Frame,
    across: Log,
    upwards: Log,
    roofs: dict[float, str],
    peaks: DevicePeaks | None,
) -> Iterator[Shape]:
    """Flat roofs from where the memory stops to limit; one slope up to the highest of them."""
    bandwidth = peaks.dram_bytes_per_s if peaks else None
    roofs = {peak: name for peak, name in roofs.items() if upwards.low <= peak <= upwards.high}
    for peak in roofs:
        start = max(across.low, peak / bandwidth) if bandwidth else across.low
        y = upwards(peak)
        yield Line(across(start), y, frame.right, y, INK, 1.5)
    yield from _roof_labels(frame, upwards, roofs)
    if bandwidth:
        yield from _slope(across, upwards, bandwidth, max(roofs, default=upwards.high))


def _roof_labels(frame: Frame, upwards: Log, roofs: dict[float, str]) -> Iterator[Shape]:
    """Beside the plot, moved down where two would touch."""
    free = 0.0
    for peak, name in roofs.items():
        y = max(upwards(peak), free)
        yield Line(frame.right, upwards(peak), frame.right + 8, y, QUIET)
        room = LABEL_ROOM - 20
        yield Text(frame.right + 12, y - 1, cut_text(name, 11.5, room), 11.5)
        yield Text(frame.right + 12, y + 13, units.rate(peak, "FLOP"), 11.5, fill=QUIET)
        free = y + 34


def _slope(across: Log, upwards: Log, bandwidth: float, top: float) -> Iterator[Shape]:
    end = min(across.high, top / bandwidth)
    start = max(across.low, upwards.low / bandwidth)
    if start >= end:
        return
    x1, y1 = across(start), upwards(start * bandwidth)
    x2, y2 = across(end), upwards(end * bandwidth)
    yield Line(x1, y1, x2, y2, INK, 1.5)
    words = f"DRAM {units.rate(bandwidth, 'B')}"
    # Above the slope there is nothing; the label ends where the line is some way up.
    place = max(0.62, min(0.95, (text_width(words, 11.5) + 20) / max(x2 - x1, 1.0)))
    x, y = x1 + place * (x2 - x1), y1 + place * (y2 - y1)
    yield Text(x - 10, y, words, 11.5, "end", halo=WASH)
