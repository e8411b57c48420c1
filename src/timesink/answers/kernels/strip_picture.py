"""Utilisation along a run: one row per metric over the kernel time, in launch order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from timesink.analyses.kernels.calls import UTILISATIONS
from timesink.analyses.kernels.groups import Strip, strip
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
from timesink.model import units
from timesink.output.drawing import (
    AREA,
    FAINT,
    INK,
    QUIET,
    WASH,
    Drawing,
    Hatch,
    Label,
    Line,
    Point,
    Polygon,
    Rect,
    Shape,
)
from timesink.output.plot import Frame, nice_ticks, x_axis, y_axis

_GAP, _LANE = 14, 36
_LEFT, _RIGHT = 84, 70
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


def strip_picture(subject: Subject, width: float = 1000, row: float = 84) -> Drawing:
    """How the use of one device changes from its first kernel to its last."""
    metrics = metrics_of(subject)
    plot = width - _LEFT - _RIGHT
    along = strip(subject.calls, round(plot), metrics)
    classes, top = _classes(subject, along, width)
    frames = [Frame(_LEFT, top + place * (row + _GAP), plot, row) for place in range(len(metrics))]
    where = "of the measured launches, in order" if subject.is_sample else "along the run"
    means = [
        f"{_TITLES[name]} {getattr(subject.use, name):.1f} %"
        for name in metrics
        if getattr(subject.use, name, None) is not None
    ]
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
        _notes(subject, along, metrics),
        description=f"Means weighted by time: {', '.join(means)}." if means else "",
    )


def metrics_of(subject: Subject) -> tuple[str, ...]:
    """The metrics that have rows: utilisations, else the occupancy a timeline knows."""
    known = tuple(name for name in UTILISATIONS if getattr(subject.use, name) is not None)
    return known or _OCCUPANCY


def _classes(subject: Subject, along: Strip, width: float) -> tuple[list[Shape], float]:
    """The classes of this run along it, with their shares of its time; where the rows begin."""
    if not words.has_utilisation(subject.use):
        return [], HEAD + 14
    entries = {
        name: f"{words.class_title(name, subject.use.axis)} {units.share(share, 1)}"
        for name, share in subject.use.class_share.items()
        if share
    }
    legend = class_legend(entries, HEAD + 18, width - MARGIN)
    top = max(legend_bottom(legend), HEAD) + 12
    lane = Frame(_LEFT, top, width - _LEFT - _RIGHT, _LANE)
    return [*legend, *_class_lane(lane, along)], lane.bottom + _GAP


def _class_lane(lane: Frame, along: Strip) -> Iterator[Shape]:
    """Classes on top of each other by their share of each stretch; what is left has no counters."""
    known = along.class_shares[:, : CLASSES.index("unknown")]
    reached = np.cumsum(known, axis=1)
    hatch = CLASS_HATCH["unknown"] if (reached[:, -1:] < _ALL).any() else None
    yield Label(lane.left - 7, lane.top + lane.height / 2 + 4, "class", 12, "end")
    yield Label(lane.right + 8, lane.bottom - 4, "mean", 11.5, fill=QUIET)
    yield Rect(lane.left, lane.top, lane.width, lane.height, CLASS_FILL["unknown"], hatch=hatch)
    # The last class is drawn first and reaches down behind the others.
    for place in reversed(range(known.shape[1])):
        if known[:, place].any():
            for points in _areas(lane, 100 * reached[:, place]):
                yield Polygon(points, CLASS_FILL[CLASSES[place]])
    yield lane.outline()


def _row(frame: Frame, metric: str, subject: Subject, along: Strip) -> Iterator[Shape]:
    values = along.means_pct[metric]
    across, upwards = frame.across(0, max(len(values), 1)), frame.upwards()
    middle = frame.top + frame.height / 2
    yield Rect(frame.left, frame.top, frame.width, frame.height, WASH)
    for start, end in _spans(np.isnan(values)):
        left, right = across(start), across(end)
        yield Rect(left, frame.top, right - left, frame.height, hatch=Hatch(FAINT, gap=6))
    for points in _areas(frame, values):
        yield Polygon(points, AREA)
    if metric not in _OCCUPANCY:
        y = upwards(100 * subject.report.thresholds.low)
        yield Line(frame.left, y, frame.right, y, INK, dash=LOW_DASH)
    yield frame.outline()
    yield from y_axis(frame, upwards, (0, 50, 100))
    yield Label(frame.left - 38, middle, _TITLES[metric], 12, "middle", upright=True)
    mean = getattr(subject.use, metric, None)
    if mean is not None:
        yield Label(frame.right + 8, middle + 4, units.share(mean, 100), 12.5, bold=True)


def _areas(frame: Frame, values: NDArray[np.float64]) -> Iterator[tuple[Point, ...]]:
    """Outlines of the stretches in a row that have a value, as steps."""
    across, upwards = frame.across(0, max(len(values), 1)), frame.upwards()
    shown = values.tolist()
    for start, end in _spans(~np.isnan(values)):
        points: list[Point] = [(across(start), frame.bottom)]
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


def _time_axis(frame: Frame, total_ns: float, *, sampled: bool) -> list[Shape]:
    if not total_ns:
        return [Label(frame.left, frame.bottom + 20, "no kernel has a duration", 12, fill=QUIET)]
    unit = units.duration_ns(total_ns).rsplit(" ", 1)[1]
    size = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit]
    what = "time the measured launches stand for, one after the other"
    title = f"{what if sampled else 'kernel time in launch order'}, {unit}"
    ticks = nice_ticks(0, total_ns / size, most=11)
    return x_axis(frame, frame.across(0, total_ns / size), ticks, title)


def _notes(subject: Subject, along: Strip, metrics: tuple[str, ...]) -> Iterator[str]:
    if along.stretches:
        yield (
            f"Each of {units.count(along.stretches)} columns is the mean of"
            f" {units.brief_ns(along.total_ns / along.stretches)}, weighted by time;"
            f" {_SAMPLED if subject.is_sample else _WHOLE}."
        )
    missing = subject.use.class_share["unknown"]
    if missing and metrics != _OCCUPANCY:
        yield f"{some_percent(missing)} of the time has no counters (hatched)."
