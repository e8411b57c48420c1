"""Time between memory use and use of the multiprocessors, as shaded cells."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from timesink.analyses.kernel_calls.density import Density, density
from timesink.model import units
from timesink.render.drawing.axes import Frame, x_axis, y_axis
from timesink.render.drawing.colours import AREA, INK, QUIET, RAMP_STEPS, WASH, ramp
from timesink.render.drawing.scales import Linear
from timesink.render.drawing.shapes import Anchor, Drawing, Line, Rect, Shape, Text
from timesink.render.kernels.classes import UNIT, class_title
from timesink.render.kernels.pictures.subject import (
    HEAD,
    LINE,
    MARGIN,
    Subject,
    footnotes,
    heading,
    some_percent,
)

SIDE = 360
_HISTOGRAM = 44
_LEFT = 74
_Field: TypeAlias = tuple[float, float, float, float]
"""Outer side, top, inner side and bottom of a class."""
_MARKS = (0, 20, 40, 60, 80, 100)
_LEGEND = 150
_LABEL = (74, 28)
"""Width and height of the label of a class."""
_Y_TITLE = {
    "sm": "SM (busiest unit), % of peak",
    "tensor": "tensor pipe, % of peak (no SM counter recorded)",
}


def picture(subject: Subject) -> Drawing:
    """How the time of one device's kernels spreads over DRAM and SM use."""
    spread = density(subject.calls, subject.report.thresholds)
    frame = Frame(_LEFT, HEAD + _HISTOGRAM + 14, SIDE, SIDE)
    width = frame.right + _HISTOGRAM + MARGIN + 6
    axis = UNIT[spread.axis]
    foot = frame.bottom + 94
    notes = footnotes([*_unlabelled(frame, subject), *_notes(subject, spread)], foot, width)
    title = f"Where kernel time lies: DRAM and {axis} use"
    return Drawing(
        width=width,
        height=foot + LINE * len(notes) + (8 if notes else 0),
        shapes=(
            *heading(subject, title, width),
            *_cells(frame, spread),
            *_histograms(frame, spread),
            *_borders(frame, subject),
            frame.outline(),
            *x_axis(frame, frame.across(), _MARKS, "DRAM, % of peak"),
            *y_axis(frame, frame.upwards(), _MARKS, _Y_TITLE[spread.axis], room=38),
            *_class_labels(frame, subject, spread),
            *_legend(frame, spread, subject.report.thresholds.low),
            *notes,
        ),
        title=f"{title}; {subject.run}",
        description=_description(subject),
    )


def _cells(frame: Frame, spread: Density) -> list[Shape]:
    across, upwards = frame.across(), frame.upwards()
    edges, most = spread.edges_pct, float(spread.shares.max(initial=0.0))
    shapes: list[Shape] = [Rect(frame.left, frame.top, frame.width, frame.height, WASH)]
    for row, column in np.argwhere(spread.shares > 0):
        share = float(spread.shares[row, column])
        left, right = across(edges[column]), across(edges[column + 1])
        bottom, top = upwards(edges[row]), upwards(edges[row + 1])
        tip = (
            f"{_percent(share)} of the time: DRAM {edges[column]:.0f} to {edges[column + 1]:.0f} %,"
            f" {UNIT[spread.axis]} {edges[row]:.0f} to {edges[row + 1]:.0f} %"
        )
        fill = ramp(_shade(share, most))
        shapes.append(Rect(left, top, right - left, bottom - top, fill, tip=tip))
    return shapes


def _shade(share: float, most: float) -> float:
    """The square root: small shares are seen beside one large."""
    return float(np.sqrt(share / most)) if most else 0.0


def _histograms(frame: Frame, spread: Density) -> list[Shape]:
    """Shares by DRAM alone above the plot, by SM alone to the right of it."""
    across, upwards, edges = frame.across(), frame.upwards(), spread.edges_pct
    over, beside = spread.shares.sum(axis=0), spread.shares.sum(axis=1)
    shapes: list[Shape] = []
    for place, length in _bars(over):
        left, right = across(edges[place]), across(edges[place + 1])
        top = frame.top - 5 - length
        tip = f"{_percent(over[place])} of the time"
        shapes.append(Rect(left + 0.5, top, right - left - 1, length, AREA, tip=tip))
    for place, length in _bars(beside):
        bottom, top = upwards(edges[place]), upwards(edges[place + 1])
        tip = f"{_percent(beside[place])} of the time"
        shapes.append(Rect(frame.right + 5, top + 0.5, length, bottom - top - 1, AREA, tip=tip))
    return shapes


def _bars(shares: NDArray[np.float64]) -> list[tuple[int, float]]:
    """Place and length of the bars that have one; the longest fills the histogram."""
    most = float(shares.max(initial=0.0))
    return [
        (int(place), max(1.0, _HISTOGRAM * float(shares[place]) / most))
        for place in np.flatnonzero(shares)
    ]


def _borders(frame: Frame, subject: Subject) -> list[Shape]:
    limit = 100 * subject.report.thresholds.low
    x, y = frame.across()(limit), frame.upwards()(limit)
    return [
        Line(x, frame.top, x, frame.bottom, INK, dash=(5, 4)),
        Line(frame.left, y, frame.right, y, INK, dash=(5, 4)),
    ]


def _class_labels(frame: Frame, subject: Subject, spread: Density) -> list[Shape]:
    """Name and share of each class, where its field has the least time behind it."""
    shapes: list[Shape] = []
    for name, (outer, top, inner, bottom) in _fields(frame, subject).items():
        if _is_narrow(outer, top, inner, bottom):
            continue
        # Of equal ones the first: the outer end of the upper border.
        boxes = _label_boxes(outer, top, inner, bottom)
        box = min(boxes, key=lambda box: _time_behind(box, frame, spread))
        anchor: Anchor = "start" if box.left < (outer + inner) / 2 else "end"
        place = box.left if anchor == "start" else box.right
        title = class_title(name, subject.use.axis)
        share = _percent(subject.use.class_share[name])
        shapes.append(Text(place, box.top + 10, title, 11.5, anchor, halo=WASH))
        shapes.append(Text(place, box.top + 27, share, 15, anchor, bold=True, halo=WASH))
    return shapes


def _fields(frame: Frame, subject: Subject) -> dict[str, _Field]:
    """Where each class lies."""
    limit = 100 * subject.report.thresholds.low
    x, y = frame.across()(limit), frame.upwards()(limit)
    return {
        "both_low": (frame.left, y, x, frame.bottom),
        "low_sm": (frame.right, y, x, frame.bottom),
        "low_dram": (frame.left, frame.top, x, y),
        "neither_low": (frame.right, frame.top, x, y),
    }


def _is_narrow(outer: float, top: float, inner: float, bottom: float) -> bool:
    wide, high = _LABEL
    return abs(outer - inner) < wide + 16 or bottom - top < high + 15


def _label_boxes(outer: float, top: float, inner: float, bottom: float) -> list[Frame]:
    """Places for a label along the sides of a field, from the top down."""
    wide, high = _LABEL
    left, right = sorted((outer, inner))
    start, end = left + 8, right - 8 - wide
    first, last = top + 8, bottom - 7 - high
    return [
        Frame(x, first + (last - first) * part, wide, high)
        for part in (0, 0.25, 0.5, 0.75, 1)
        for x in ((start, end) if outer < inner else (end, start))
    ]


def _time_behind(box: Frame, frame: Frame, spread: Density) -> float:
    across, upwards = frame.across(), frame.upwards()
    columns = [across(edge) for edge in spread.edges_pct]
    rows = [upwards(edge) for edge in spread.edges_pct]
    first, last = np.searchsorted(columns, (box.left, box.right))
    low, high = np.searchsorted(rows[::-1], (box.top, box.bottom))
    side = len(rows) - 1
    return float(spread.shares[side - high : side - low + 1, first - 1 : last].sum())


def _legend(frame: Frame, spread: Density, low: float) -> list[Shape]:
    most = float(spread.shares.max(initial=0.0))
    top = frame.bottom + 56
    shapes: list[Shape] = [Text(frame.left, top + 10, "time in a cell", 11, fill=QUIET)]
    left = frame.left + 84
    if most:
        place = Linear(0, 1, left, left + _LEGEND)
        for step in range(RAMP_STEPS):
            start, end = place(step / RAMP_STEPS), place((step + 1) / RAMP_STEPS)
            shapes.append(Rect(start, top, end - start, 11, ramp(step / (RAMP_STEPS - 1))))
        for share in _legend_marks(most):
            x = place(_shade(share, most))
            shapes.append(Line(x, top + 11, x, top + 14, QUIET))
            shapes.append(Text(x, top + 25, _percent(share), 10.5, "middle", QUIET))
    right = frame.right + _HISTOGRAM
    shapes.append(Line(right - 142, top + 6, right - 118, top + 6, INK, dash=(5, 4)))
    shapes.append(Text(right - 112, top + 10, f"low: below {100 * low:.3g} %", 11, fill=QUIET))
    return shapes


def _legend_marks(most: float) -> list[float]:
    """Round shares far enough apart on the scale, the largest first."""
    kept: list[float] = []
    for share in (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001):
        place = _shade(share, most)
        if share <= most and all(_shade(other, most) - place > 0.3 for other in kept):
            kept.append(share)
    return kept


def _unlabelled(frame: Frame, subject: Subject) -> list[str]:
    """Classes whose fields are too narrow for words."""
    shares = [
        f"{class_title(name, subject.use.axis)} {_percent(subject.use.class_share[name])}"
        for name, field in _fields(frame, subject).items()
        if _is_narrow(*field)
    ]
    return [f"In the narrow fields: {', '.join(shares)}."] if shares else []


def _notes(subject: Subject, spread: Density) -> list[str]:
    notes = []
    if spread.missing:
        notes.append(f"{some_percent(spread.missing)} of the time has no counters.")
    if spread.beyond:
        over = some_percent(spread.beyond)
        notes.append(f"{over} of the time is above 100 %: in the last cells.")
    if spread.axis == "tensor":
        notes.append(
            "The tensor pipe stands for the SM: kernels on other pipes count as low, so both low"
            " is too large."
        )
    return notes + subject.notes


def _percent(share: float) -> str:
    return units.share(share, 1)


def _description(subject: Subject) -> str:
    shares = (
        f"{class_title(name, subject.use.axis)} {_percent(share)}"
        for name, share in subject.use.class_share.items()
        if share or name != "unknown"
    )
    return f"Share of kernel time: {', '.join(shares)}."
