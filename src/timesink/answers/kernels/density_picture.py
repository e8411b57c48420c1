"""Time between memory use and use of the multiprocessors, as shaded cells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from timesink.analyses.kernels.groups import Density, density
from timesink.answers.kernels.picture_sheet import (
    HEAD,
    LOW_DASH,
    MARGIN,
    Subject,
    device_sheet,
    some_percent,
)
from timesink.answers.kernels.words import UNIT, class_title
from timesink.model import units
from timesink.output.drawing import (
    AREA,
    INK,
    QUIET,
    RAMP_STEPS,
    WASH,
    Anchor,
    Drawing,
    Label,
    Line,
    Rect,
    Shape,
    ramp,
)
from timesink.output.plot import Frame, Scale, x_axis, y_axis

_SIDE, _LEFT = 360, 74
_HISTOGRAM = 44
_LEGEND = 150
_LABEL = (74, 28)
"""Width and height of the label of a class."""
_MARKS = (0, 20, 40, 60, 80, 100)
_Y_TITLE = {
    "sm": "SM (busiest unit), % of peak",
    "tensor": "tensor pipe, % of peak (no SM counter recorded)",
}
_Field: TypeAlias = tuple[float, float, float, float]
"""Outer side, top, inner side and bottom of a class."""


def density_picture(subject: Subject) -> Drawing:
    """How the time of one device's kernels spreads over DRAM and SM use."""
    spread = density(subject.calls, subject.report.thresholds)
    frame = Frame(_LEFT, HEAD + _HISTOGRAM + 14, _SIDE, _SIDE)
    limit = 100 * subject.report.thresholds.low
    x, y = frame.across()(limit), frame.upwards()(limit)
    fields: dict[str, _Field] = {
        "both_low": (frame.left, y, x, frame.bottom),
        "low_sm": (frame.right, y, x, frame.bottom),
        "low_dram": (frame.left, frame.top, x, y),
        "neither_low": (frame.right, frame.top, x, y),
    }
    shares = {
        name: (class_title(name, subject.use.axis), units.share(share, 1))
        for name, share in subject.use.class_share.items()
    }
    told = [" ".join(shares[name]) for name, field in fields.items() if _is_narrow(*field)]
    narrow = [f"In the narrow fields: {', '.join(told)}."] if told else []
    every = [
        " ".join(shares[name])
        for name, share in subject.use.class_share.items()
        if share or name != "unknown"
    ]
    return device_sheet(
        subject,
        f"Where kernel time lies: DRAM and {UNIT[spread.axis]} use",
        (frame.right + _HISTOGRAM + MARGIN + 6, frame.bottom + 94),
        (
            *_cells(frame, spread),
            *_histograms(frame, spread),
            Line(x, frame.top, x, frame.bottom, INK, dash=LOW_DASH),
            Line(frame.left, y, frame.right, y, INK, dash=LOW_DASH),
            frame.outline(),
            *x_axis(frame, frame.across(), _MARKS, "DRAM, % of peak"),
            *y_axis(frame, frame.upwards(), _MARKS, _Y_TITLE[spread.axis], room=38),
            *_class_labels(frame, fields, shares, spread),
            *_legend(frame, spread, subject.report.thresholds.low),
        ),
        [*narrow, *_notes(spread)],
        description=f"Share of kernel time: {', '.join(every)}.",
    )


def _cells(frame: Frame, spread: Density) -> Iterator[Shape]:
    across, upwards = frame.across(), frame.upwards()
    edges, most = spread.edges_pct, float(spread.shares.max(initial=0.0))
    yield Rect(frame.left, frame.top, frame.width, frame.height, WASH)
    for row, column in np.argwhere(spread.shares > 0):
        share = float(spread.shares[row, column])
        left, right = across(edges[column]), across(edges[column + 1])
        bottom, top = upwards(edges[row]), upwards(edges[row + 1])
        tip = (
            f"{units.share(share, 1)} of the time: DRAM {edges[column]:.0f} to"
            f" {edges[column + 1]:.0f} %,"
            f" {UNIT[spread.axis]} {edges[row]:.0f} to {edges[row + 1]:.0f} %"
        )
        yield Rect(left, top, right - left, bottom - top, ramp(_shade(share, most)), tip=tip)


def _shade(share: float, most: float) -> float:
    """The square root: small shares are seen beside one large."""
    return float(np.sqrt(share / most)) if most else 0.0


def _histograms(frame: Frame, spread: Density) -> Iterator[Shape]:
    """Shares by DRAM alone above the plot, by SM alone to the right of it."""
    across, upwards, edges = frame.across(), frame.upwards(), spread.edges_pct
    for place, length, tip in _bars(spread.shares.sum(axis=0)):
        left, right = across(edges[place]), across(edges[place + 1])
        top = frame.top - 5 - length
        yield Rect(left + 0.5, top, right - left - 1, length, AREA, tip=tip)
    for place, length, tip in _bars(spread.shares.sum(axis=1)):
        bottom, top = upwards(edges[place]), upwards(edges[place + 1])
        yield Rect(frame.right + 5, top + 0.5, length, bottom - top - 1, AREA, tip=tip)


def _bars(shares: NDArray[np.float64]) -> Iterator[tuple[int, float, str]]:
    """Place, length and words of the bars that have one; the longest fills the histogram."""
    most = float(shares.max(initial=0.0))
    for place in np.flatnonzero(shares):
        share = float(shares[place])
        yield (
            int(place),
            max(1.0, _HISTOGRAM * share / most),
            f"{units.share(share, 1)} of the time",
        )


# -- labels of classes -----------------------------------------------------------------------------


def _class_labels(
    frame: Frame, fields: dict[str, _Field], shares: dict[str, tuple[str, str]], spread: Density
) -> Iterator[Shape]:
    """Name and share of each class, where its field has the least time behind it."""
    for name, field in fields.items():
        if _is_narrow(*field):
            continue
        # Of equal ones the first: the outer end of the upper border.
        box = min(_label_boxes(*field), key=lambda box: _time_behind(box, frame, spread))
        outer, _, inner, _ = field
        anchor: Anchor = "start" if box.left < (outer + inner) / 2 else "end"
        place = box.left if anchor == "start" else box.right
        title, share = shares[name]
        yield Label(place, box.top + 10, title, 11.5, anchor, halo=WASH)
        yield Label(place, box.top + 27, share, 15, anchor, bold=True, halo=WASH)


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


# -- legend and notes ------------------------------------------------------------------------------


def _legend(frame: Frame, spread: Density, low: float) -> Iterator[Shape]:
    most = float(spread.shares.max(initial=0.0))
    top, left = frame.bottom + 56, frame.left + 84
    yield Label(frame.left, top + 10, "time in a cell", 11, fill=QUIET)
    if most:
        place = Scale(0, 1, left, left + _LEGEND)
        for step in range(RAMP_STEPS):
            start, end = place(step / RAMP_STEPS), place((step + 1) / RAMP_STEPS)
            yield Rect(start, top, end - start, 11, ramp(step / (RAMP_STEPS - 1)))
        for share in _legend_marks(most):
            x = place(_shade(share, most))
            yield Line(x, top + 11, x, top + 14, QUIET)
            yield Label(x, top + 25, units.share(share, 1), 10.5, "middle", QUIET)
    right = frame.right + _HISTOGRAM
    yield Line(right - 142, top + 6, right - 118, top + 6, INK, dash=LOW_DASH)
    yield Label(right - 112, top + 10, f"low: below {100 * low:.3g} %", 11, fill=QUIET)


def _legend_marks(most: float) -> list[float]:
    """Round shares far enough apart on the scale, the largest first."""
    kept: list[float] = []
    for share in (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001):
        place = _shade(share, most)
        if share <= most and all(_shade(other, most) - place > 0.3 for other in kept):
            kept.append(share)
    return kept


def _notes(spread: Density) -> Iterator[str]:
    if spread.missing:
        yield f"{some_percent(spread.missing)} of the time has no counters."
    if spread.beyond:
        yield f"{some_percent(spread.beyond)} of the time is above 100 %: in the last cells."
    if spread.axis == "tensor":
        yield (
            "The tensor pipe stands for the SM: kernels on other pipes count as low, so both low"
            " is too large."
        )
