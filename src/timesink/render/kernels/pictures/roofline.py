"""Kernels under the roofs of their device: arithmetic per byte, and how fast it was done."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from timesink.analyses.roofline.peaks import DevicePeaks
from timesink.analyses.roofline.roofline import DeviceRoof, Roofline, why_no_roofline
from timesink.errors import NotFoundError
from timesink.model import units
from timesink.render.drawing.axes import Frame, grid, tick_label, x_axis, y_axis
from timesink.render.drawing.colours import BLACK, INK, QUIET, WASH, WHITE, Colour
from timesink.render.drawing.lettering import cut_text, text_width
from timesink.render.drawing.scales import Log, decades
from timesink.render.drawing.shapes import Circle, Drawing, Rect, Shape, Text
from timesink.render.kernels.classes import CLASS_FILL
from timesink.render.kernels.pictures.roofs import LABEL_ROOM, roof_lines, roofs_of
from timesink.render.kernels.pictures.subject import (
    HEAD,
    LINE,
    MARGIN,
    Subject,
    footnotes,
    heading,
)

WIDTH = 760
_NUMBERED = 5
"""Kernels with a number and a line of their own."""
_LEFT, _HIGH = 84, 340
_SMALLEST, _LARGEST = 3.0, 20.0
_LEAST, _DECADES = 2, 7
"""Powers of ten an axis covers; kernels beyond are drawn at its end."""
_BOUND_FILL = {"compute": CLASS_FILL["low_dram"], "memory": CLASS_FILL["low_sm"]}
_NO_ROOF = Colour("#c9ced6", "#6b7280")


@dataclass(frozen=True, slots=True)
class _Dot:
    """All launches of one kernel."""

    name: str
    share: float
    intensity: float
    flop_per_s: float
    roof_share_pct: float | None
    bound: str | None

    @property
    def tip(self) -> str:
        at_roof = (
            "" if self.roof_share_pct is None else f", {self.roof_share_pct:.0f} % of its roof"
        )
        return (
            f"{self.name}: {units.share(self.share, 1)} of the time,"
            f" {units.rate(self.flop_per_s, 'FLOP')},"
            f" {self.intensity:.3g} FLOP/byte{at_roof}"
        )


def picture(subject: Subject, width: float = WIDTH) -> Drawing:
    """The kernels of one device, by name, as dots under its roofs."""
    roofline = subject.report.roofline
    if roofline is None:
        raise NotFoundError(
            f"{subject.run}: no roofline can be drawn", why_no_roofline(subject.report.trace)
        )
    dots, roofs = _dots(subject, roofline), roofs_of(roofline)
    right = LABEL_ROOM if roofs else MARGIN
    frame = Frame(_LEFT, HEAD + 34, width - _LEFT - right, _HIGH)
    across, upwards = _scales(frame, dots, roofs, roofline.peaks)
    key = frame.bottom + 58
    numbered = dots[:_NUMBERED]
    foot = key + 19 * len(numbered) + 10
    notes = footnotes(_notes(subject, roofline, dots), foot, width)
    title = f"Kernels by arithmetic and traffic{', under the roofs of the device' if roofs else ''}"
    return Drawing(
        width=width,
        height=foot + LINE * len(notes) + (8 if notes else 0),
        shapes=(
            *heading(subject, title, width),
            *_legend(dots),
            Rect(frame.left, frame.top, frame.width, frame.height, WASH),
            *_grid(frame, across, upwards),
            *roof_lines(frame, across, upwards, roofs, roofline.peaks),
            *_circles(dots, numbered, across, upwards),
            frame.outline(),
            *x_axis(frame, across, _marks(across), "FLOP per byte of DRAM traffic"),
            *y_axis(frame, upwards, _marks(upwards), "FLOP/s", label=_prefixed, room=50),
            *_key(numbered, key, width),
            *notes,
        ),
        title=f"{title}; {subject.run}",
        description=_description(roofline.of(subject.use), numbered),
    )


# -- what is drawn ---------------------------------------------------------------------------------


def _dots(subject: Subject, roofline: Roofline) -> list[_Dot]:
    """Kernels that did arithmetic and moved bytes, the longest first."""
    groups = roofline.groups(subject.calls, "short_name").filter(
        pl.col("group").is_not_null(), pl.col("intensity") > 0, pl.col("achieved_flop_per_s") > 0
    )
    return [_dot(row, subject.use.total_ns) for row in groups.iter_rows(named=True)]


def _dot(row: dict[str, Any], total_ns: int) -> _Dot:
    return _Dot(
        name=row["group"],
        share=row["total_ns"] / total_ns if total_ns else 0.0,
        intensity=row["intensity"],
        flop_per_s=row["achieved_flop_per_s"],
        roof_share_pct=row["roof_share_pct"],
        bound=row["bound"],
    )


def _scales(
    frame: Frame, dots: Sequence[_Dot], roofs: dict[float, str], peaks: DevicePeaks | None
) -> tuple[Log, Log]:
    """Room for the dots and the corners of the roofs."""
    bandwidth = peaks.dram_bytes_per_s if peaks else None
    ridges = [peak / bandwidth for peak in roofs] if bandwidth else []
    x_low, x_high = _around([dot.intensity for dot in dots] + ridges)
    y_low, y_high = _around([dot.flop_per_s for dot in dots] + list(roofs))
    return (
        Log(x_low, x_high, frame.left, frame.right),
        Log(y_low, y_high, frame.bottom, frame.top),
    )


def _around(values: Sequence[float]) -> tuple[float, float]:
    """A range with room around the values, of some decades but not too many.

    >>> _around([2.0, 300.0]), _around([1e-9, 500.0])
    ((1.0, 600.0), (0.0001, 1000.0))
    """
    if not values:
        return 1.0, 1000.0
    low, high = min(values) / 2, max(values) * 2
    widen = max(1.0, math.sqrt(10**_LEAST / (high / low)))
    low, high = low / widen, high * widen
    return max(low, high / 10**_DECADES), high


def _prefixed(value: float) -> str:
    """A power of ten with its prefix.

    >>> _prefixed(1e13), _prefixed(1e8)
    ('10 T', '100 M')
    """
    number, unit = units.rate(value, "").split(" ")
    return f"{tick_label(float(number))} {unit.removesuffix('/s')}".strip()


def _marks(scale: Log) -> list[float]:
    return decades(scale.low, scale.high)


def _grid(frame: Frame, across: Log, upwards: Log) -> list[Shape]:
    return grid(frame, map(across, _marks(across)), map(upwards, _marks(upwards)))


# -- kernels ---------------------------------------------------------------------------------------


def _circles(
    dots: Sequence[_Dot], numbered: Sequence[_Dot], across: Log, upwards: Log
) -> Iterator[Shape]:
    """Areas as shares of time; small dots lie on large ones, numbers on everything."""
    most = max((dot.share for dot in dots), default=0.0) or 1.0
    places = {
        dot: (
            across(min(max(dot.intensity, across.low), across.high)),
            upwards(min(max(dot.flop_per_s, upwards.low), upwards.high)),
            max(_SMALLEST, _LARGEST * math.sqrt(dot.share / most)),
        )
        for dot in dots
    }
    for dot, (x, y, radius) in places.items():
        fill = _BOUND_FILL.get(dot.bound or "", _NO_ROOF)
        yield Circle(x, y, radius, fill, INK, 0.85, dot.tip)
    taken: list[tuple[float, float]] = []
    for number, dot in enumerate(numbered, 1):
        x, y = _number_place(places[dot], taken)
        taken.append((x, y))
        yield Text(x, y + 4, str(number), 12, "middle", BLACK, bold=True, halo=WHITE)


def _number_place(
    dot: tuple[float, float, float], taken: Sequence[tuple[float, float]]
) -> tuple[float, float]:
    """On the dot where it is large, else beside it; where no other number is."""
    x, y, radius = dot
    beside = radius + 9
    around = [(beside, 0), (0, -beside), (-beside, 0), (0, beside)]
    around += [(2 * right, 2 * down) for right, down in around]
    if radius >= 9:
        around.insert(0, (0, 0))
    places = [(x + right, y + down) for right, down in around]
    return next(
        (
            (left, top)
            for left, top in places
            if all(abs(left - x) > 11 or abs(top - y) > 13 for x, y in taken)
        ),
        places[0],
    )


def _key(numbered: Sequence[_Dot], top: float, width: float) -> Iterator[Shape]:
    """The numbered kernels by name."""
    for number, dot in enumerate(numbered, 1):
        y = top + 19 * (number - 1) + 12
        yield Text(_LEFT, y, str(number), 12, "end", bold=True)
        told = f"{units.share(dot.share, 1)} of the time"
        if dot.roof_share_pct is not None:
            told += f", {dot.roof_share_pct:.0f} % of its roof"
        room = width - _LEFT - 10 - MARGIN - text_width(told, 12) - 16
        yield Text(_LEFT + 10, y, cut_text(dot.name, 12, room), 12)
        yield Text(width - MARGIN, y, told, 12, "end", QUIET)


def _legend(dots: Sequence[_Dot]) -> Iterator[Shape]:
    x, y = float(_LEFT), HEAD + 16
    bounds = {dot.bound for dot in dots}
    titles = {"memory": "bound by memory", "compute": "bound by compute", None: "no roof known"}
    for bound, title in titles.items():
        if bound in bounds:
            yield Circle(x + 6, y - 4, 6, _BOUND_FILL.get(bound or "", _NO_ROOF), INK, 0.85)
            yield Text(x + 18, y, title, 11.5)
            x += 18 + text_width(title, 11.5) + 16
    yield Text(x, y, "area: share of the time", 11.5, fill=QUIET)


# -- words -----------------------------------------------------------------------------------------


def _notes(subject: Subject, roofline: Roofline, dots: Sequence[_Dot]) -> list[str]:
    notes = []
    if roofline.reason:
        notes.append(f"No roofs: {roofline.reason}.")
    shown = sum(dot.share for dot in dots)
    if subject.use.total_ns and shown < 0.9995:
        notes.append(
            f"Not shown: {units.share(1 - shown, 1)} of the time, in kernels without counted FLOP."
        )
    notes += [f"{note[:1].upper()}{note[1:]}." for note in roofline.notes]
    return notes + subject.notes


def _description(roof: DeviceRoof, numbered: Sequence[_Dot]) -> str:
    parts = [dot.tip for dot in numbered]
    if roof.roof_share_pct is not None:
        parts.insert(0, f"At the roofs the work takes {roof.roof_share_pct:.0f} % of the time")
    return "; ".join(parts)
