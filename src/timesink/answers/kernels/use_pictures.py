"""How well a device was used: time between memory and SM use as shaded cells, and along the run.

Along the run there is one row per metric over the kernel time, in launch order.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from timesink.analyses.kernels.calls import UTILISATIONS
from timesink.analyses.kernels.groups import Density, Strip, density, strip
from timesink.analyses.kernels.usage import CLASSES
from timesink.answers.kernels import words
from timesink.answers.kernels.picture_sheet import (
    CLASS_FILL,
    CLASS_HATCH,
    HEAD,
    LOW_DASH,
    MARGIN,
    Subject,
    class_legend,
    device_sheet,
    legend_bottom,
    some_percent,
)
from timesink.answers.kernels.words import UNIT, class_title
from timesink.model import units
from timesink.output import drawing as draw

_SIDE, _LEFT = 360, 74
_HISTOGRAM = 44
_LEGEND = 150
_LABEL = (74, 28)
"""Width and height of the label of a class."""
_MARKS = (0, 20, 40, 60, 80, 100)
_ROUND_SHARES = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
_Y_TITLE = {
    "sm": "SM (busiest unit), % of peak",
    "tensor": "tensor pipe, % of peak (no SM counter recorded)",
}
_Field: TypeAlias = tuple[float, float, float, float]
"""Outer side, top, inner side and bottom of a class."""


def density_picture(subject: Subject) -> draw.Drawing:
    """How the time of one device's kernels spreads over DRAM and SM use."""
    spread = density(subject.calls, subject.report.thresholds)
    frame = draw.Frame(_LEFT, HEAD + _HISTOGRAM + 14, _SIDE, _SIDE)
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
    notes = [f"In the narrow fields: {', '.join(told)}."] if told else []
    if spread.missing:
        notes.append(f"{some_percent(spread.missing)} of the time has no counters.")
    if spread.beyond:
        notes.append(
            f"{some_percent(spread.beyond)} of the time is above 100 %: in the last cells."
        )
    if spread.axis == "tensor":
        notes.append(
            "The tensor pipe stands for the SM: kernels on other pipes count as low, so both low"
            " is too large."
        )
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
            draw.Line(x, frame.top, x, frame.bottom, draw.INK, dash=LOW_DASH),
            draw.Line(frame.left, y, frame.right, y, draw.INK, dash=LOW_DASH),
            frame.outline(),
            *draw.x_axis(frame, frame.across(), _MARKS, "DRAM, % of peak"),
            *draw.y_axis(frame, frame.upwards(), _MARKS, _Y_TITLE[spread.axis], room=38),
            *_class_labels(frame, fields, shares, spread),
            *_legend(frame, spread, subject.report.thresholds.low),
        ),
        notes,
        description=f"Share of kernel time: {', '.join(every)}.",
    )


def _cells(frame: draw.Frame, spread: Density) -> Iterator[draw.Shape]:
    across, upwards = frame.across(), frame.upwards()
    edges, most = spread.edges_pct, float(spread.shares.max(initial=0.0))
    yield draw.Rect(frame.left, frame.top, frame.width, frame.height, draw.WASH)
    for row, column in np.argwhere(spread.shares > 0):
        share = float(spread.shares[row, column])
        left, right = across(edges[column]), across(edges[column + 1])
        bottom, top = upwards(edges[row]), upwards(edges[row + 1])
        tip = (
            f"{units.share(share, 1)} of the time: DRAM {edges[column]:.0f} to"
            f" {edges[column + 1]:.0f} %,"
            f" {UNIT[spread.axis]} {edges[row]:.0f} to {edges[row + 1]:.0f} %"
        )
        yield draw.Rect(
            left, top, right - left, bottom - top, draw.ramp(_shade(share, most)), tip=tip
        )


def _shade(share: float, most: float) -> float:
    """The square root: small shares are seen beside one large."""
    return float(np.sqrt(share / most)) if most else 0.0


def _histograms(frame: draw.Frame, spread: Density) -> Iterator[draw.Shape]:
    """Shares by DRAM alone above the plot, by SM alone to the right of it."""
    across, upwards, edges = frame.across(), frame.upwards(), spread.edges_pct
    for place, length, tip in _bars(spread.shares.sum(axis=0)):
        left, right = across(edges[place]), across(edges[place + 1])
        top = frame.top - 5 - length
        yield draw.Rect(left + 0.5, top, right - left - 1, length, draw.AREA, tip=tip)
    for place, length, tip in _bars(spread.shares.sum(axis=1)):
        bottom, top = upwards(edges[place]), upwards(edges[place + 1])
        yield draw.Rect(frame.right + 5, top + 0.5, length, bottom - top - 1, draw.AREA, tip=tip)


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
    frame: draw.Frame,
    fields: dict[str, _Field],
    shares: dict[str, tuple[str, str]],
    spread: Density,
) -> Iterator[draw.Shape]:
    """Name and share of each class, where its field has the least time behind it."""
    for name, field in fields.items():
        if _is_narrow(*field):
            continue
        # Of equal ones the first: the outer end of the upper border.
        box = min(_label_boxes(*field), key=lambda box: _time_behind(box, frame, spread))
        outer, _, inner, _ = field
        anchor: draw.Anchor = "start" if box.left < (outer + inner) / 2 else "end"
        place = box.left if anchor == "start" else box.right
        title, share = shares[name]
        yield draw.Label(place, box.top + 10, title, 11.5, anchor, halo=draw.WASH)
        yield draw.Label(place, box.top + 27, share, 15, anchor, bold=True, halo=draw.WASH)


def _is_narrow(outer: float, top: float, inner: float, bottom: float) -> bool:
    wide, high = _LABEL
    return abs(outer - inner) < wide + 16 or bottom - top < high + 15


def _label_boxes(outer: float, top: float, inner: float, bottom: float) -> list[draw.Frame]:
    """Places for a label along the sides of a field, from the top down."""
    wide, high = _LABEL
    left, right = sorted((outer, inner))
    start, end = left + 8, right - 8 - wide
    first, last = top + 8, bottom - 7 - high
    return [
        draw.Frame(x, first + (last - first) * part, wide, high)
        for part in (0, 0.25, 0.5, 0.75, 1)
        for x in ((start, end) if outer < inner else (end, start))
    ]


def _time_behind(box: draw.Frame, frame: draw.Frame, spread: Density) -> float:
    across, upwards = frame.across(), frame.upwards()
    columns = [across(edge) for edge in spread.edges_pct]
    rows = [upwards(edge) for edge in spread.edges_pct]
    first, last = np.searchsorted(columns, (box.left, box.right))
    low, high = np.searchsorted(rows[::-1], (box.top, box.bottom))
    side = len(rows) - 1
    return float(spread.shares[side - high : side - low + 1, first - 1 : last].sum())


# -- legend and notes ------------------------------------------------------------------------------


def _legend(frame: draw.Frame, spread: Density, low: float) -> Iterator[draw.Shape]:
    most = float(spread.shares.max(initial=0.0))
    top, left = frame.bottom + 56, frame.left + 84
    yield draw.Label(frame.left, top + 10, "time in a cell", 11, fill=draw.QUIET)
    if most:
        place = draw.Scale(0, 1, left, left + _LEGEND)
        for step in range(draw.RAMP_STEPS):
            start, end = place(step / draw.RAMP_STEPS), place((step + 1) / draw.RAMP_STEPS)
            yield draw.Rect(start, top, end - start, 11, draw.ramp(step / (draw.RAMP_STEPS - 1)))
        # Round shares far enough apart on the scale, the largest first.
        kept: list[float] = []
        for share in _ROUND_SHARES:
            shade = _shade(share, most)
            if share > most or any(other - shade <= 0.3 for other in kept):
                continue
            kept.append(shade)
            x = place(shade)
            yield draw.Line(x, top + 11, x, top + 14, draw.QUIET)
            yield draw.Label(x, top + 25, units.share(share, 1), 10.5, "middle", draw.QUIET)
    right = frame.right + _HISTOGRAM
    yield draw.Line(right - 142, top + 6, right - 118, top + 6, draw.INK, dash=LOW_DASH)
    yield draw.Label(right - 112, top + 10, f"low: below {100 * low:.3g} %", 11, fill=draw.QUIET)


# -- along the run ---------------------------------------------------------------------------------


_GAP, _LANE = 14, 36
_ROW_LEFT, _ROW_RIGHT = 84, 70
"""Room for titles and for the means beside the rows."""
_ALL = 1 - 1e-6
_WHOLE = "kernels follow each other without the gaps between them"
_SAMPLED = "launches between the measured ones are not shown, so this is not the course of the run"
_OCCUPANCY = ("occupancy_pct",)
_TITLES = {
    "tensor_pct": "tensor pipe",
    "dram_pct": "DRAM",
    "sm_pct": "SM",
    "occupancy_pct": "occupancy",
}


def strip_picture(subject: Subject, width: float = 1000, row: float = 84) -> draw.Drawing:
    """How the use of one device changes from its first kernel to its last."""
    metrics = metrics_of(subject)
    plot = width - _ROW_LEFT - _ROW_RIGHT
    along = strip(subject.calls, round(plot), metrics)
    classes, top = _classes(subject, along, width)
    frames = [
        draw.Frame(_ROW_LEFT, top + place * (row + _GAP), plot, row)
        for place in range(len(metrics))
    ]
    where = "of the measured launches, in order" if subject.is_sample else "along the run"
    means = [
        f"{_TITLES[name]} {getattr(subject.use, name):.1f} %"
        for name in metrics
        if getattr(subject.use, name, None) is not None
    ]
    notes = []
    if along.stretches:
        notes.append(
            f"Each of {units.count(along.stretches)} columns is the mean of"
            f" {units.brief_ns(along.total_ns / along.stretches)}, weighted by time;"
            f" {_SAMPLED if subject.is_sample else _WHOLE}."
        )
    missing = subject.use.class_share["unknown"]
    if missing and metrics != _OCCUPANCY:
        notes.append(f"{some_percent(missing)} of the time has no counters (hatched).")
    return device_sheet(
        subject,
        f"{'Occupancy' if metrics == _OCCUPANCY else 'Utilisation'} {where}",
        (width, frames[-1].bottom + 50),
        (
            *classes,
            *(
                shape
                for frame, name in zip(frames, metrics, strict=True)
                for shape in _row(frame, name, subject, along)
            ),
            *_time_axis(frames[-1], along.total_ns, sampled=subject.is_sample),
        ),
        notes,
        description=f"Means weighted by time: {', '.join(means)}." if means else "",
    )


def metrics_of(subject: Subject) -> tuple[str, ...]:
    """The metrics that have rows: utilisations, else the occupancy a timeline knows."""
    known = tuple(name for name in UTILISATIONS if getattr(subject.use, name) is not None)
    return known or _OCCUPANCY


def _classes(subject: Subject, along: Strip, width: float) -> tuple[list[draw.Shape], float]:
    """The classes of this run along it, with their shares of its time; where the rows begin."""
    if not words.has_utilisation(subject.use):
        return [], HEAD + 14
    legend = class_legend(words.class_shares(subject.use), HEAD + 18, width - MARGIN)
    top = max(legend_bottom(legend), HEAD) + 12
    lane = draw.Frame(_ROW_LEFT, top, width - _ROW_LEFT - _ROW_RIGHT, _LANE)
    return [*legend, *_class_lane(lane, along)], lane.bottom + _GAP


def _class_lane(lane: draw.Frame, along: Strip) -> Iterator[draw.Shape]:
    """Classes on top of each other by their share of each stretch; what is left has no counters."""
    known = along.class_shares[:, : CLASSES.index("unknown")]
    reached = np.cumsum(known, axis=1)
    hatch = CLASS_HATCH["unknown"] if (reached[:, -1:] < _ALL).any() else None
    yield draw.Label(lane.left - 7, lane.top + lane.height / 2 + 4, "class", 12, "end")
    yield draw.Label(lane.right + 8, lane.bottom - 4, "mean", 11.5, fill=draw.QUIET)
    yield draw.Rect(
        lane.left, lane.top, lane.width, lane.height, CLASS_FILL["unknown"], hatch=hatch
    )
    # The last class is drawn first and reaches down behind the others.
    for place in reversed(range(known.shape[1])):
        if known[:, place].any():
            for points in _areas(lane, 100 * reached[:, place]):
                yield draw.Polygon(points, CLASS_FILL[CLASSES[place]])
    yield lane.outline()


def _row(frame: draw.Frame, metric: str, subject: Subject, along: Strip) -> Iterator[draw.Shape]:
    values = along.means_pct[metric]
    across, upwards = frame.across(0, max(len(values), 1)), frame.upwards()
    middle = frame.top + frame.height / 2
    yield draw.Rect(frame.left, frame.top, frame.width, frame.height, draw.WASH)
    for start, end in _spans(np.isnan(values)):
        left, right = across(start), across(end)
        yield draw.Rect(
            left, frame.top, right - left, frame.height, hatch=draw.Hatch(draw.FAINT, gap=6)
        )
    for points in _areas(frame, values):
        yield draw.Polygon(points, draw.AREA)
    if metric not in _OCCUPANCY:
        y = upwards(100 * subject.report.thresholds.low)
        yield draw.Line(frame.left, y, frame.right, y, draw.INK, dash=LOW_DASH)
    yield frame.outline()
    yield from draw.y_axis(frame, upwards, (0, 50, 100))
    yield draw.Label(frame.left - 38, middle, _TITLES[metric], 12, "middle", upright=True)
    mean = getattr(subject.use, metric, None)
    if mean is not None:
        yield draw.Label(frame.right + 8, middle + 4, units.share(mean, 100), 12.5, bold=True)


def _areas(frame: draw.Frame, values: NDArray[np.float64]) -> Iterator[tuple[draw.Point, ...]]:
    """Outlines of the stretches in a row that have a value, as steps."""
    across, upwards = frame.across(0, max(len(values), 1)), frame.upwards()
    shown = values.tolist()
    for start, end in _spans(~np.isnan(values)):
        points: list[draw.Point] = [(across(start), frame.bottom)]
        place = start
        for y, run in groupby(round(upwards(min(value, 100.0)), 1) for value in shown[start:end]):
            after = place + len(list(run))
            points += [(across(place), y), (across(after), y)]
            place = after
        yield (*points, (across(end), frame.bottom))


def _spans(chosen: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First place of each unbroken span of true ones, and the place after its last."""
    changes = np.flatnonzero(np.diff(np.concatenate(([False], chosen, [False])).astype(np.int8)))
    return list(zip(changes[::2].tolist(), changes[1::2].tolist(), strict=True))


def _time_axis(frame: draw.Frame, total_ns: float, *, sampled: bool) -> list[draw.Shape]:
    if not total_ns:
        return [
            draw.Label(
                frame.left, frame.bottom + 20, "no kernel has a duration", 12, fill=draw.QUIET
            )
        ]
    unit = units.duration_ns(total_ns).rsplit(" ", 1)[1]
    size = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit]
    what = "time the measured launches stand for, one after the other"
    title = f"{what if sampled else 'kernel time in launch order'}, {unit}"
    ticks = draw.nice_ticks(0, total_ns / size, most=11)
    return draw.x_axis(frame, frame.across(0, total_ns / size), ticks, title)
