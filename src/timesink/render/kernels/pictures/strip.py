"""Utilisation along a run: one row per metric over the kernel time, in launch order."""

from __future__ import annotations

from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from timesink.analyses.kernel_calls.calls import UTILISATIONS
from timesink.analyses.kernel_calls.classes import CLASSES
from timesink.analyses.kernel_calls.strip import Strip, strip
from timesink.answers import kernel_words as words
from timesink.model import units
from timesink.render.drawing.axes import Frame, tick_label, x_axis, y_axis
from timesink.render.drawing.colours import AREA, FAINT, INK, QUIET, WASH
from timesink.render.drawing.scales import nice_ticks
from timesink.render.drawing.shapes import Drawing, Hatch, Line, Point, Polygon, Rect, Shape, Text
from timesink.render.kernels.classes import CLASS_FILL, CLASS_HATCH, class_title
from timesink.render.kernels.pictures.legend import class_legend, legend_bottom
from timesink.render.kernels.pictures.subject import (
    HEAD,
    LINE,
    MARGIN,
    Subject,
    footnotes,
    heading,
    some_percent,
)

WIDTH = 1000
ROW = 84
_GAP = 14
_LANE = 36
_LEFT = 84
_RIGHT = 70
"""Room for the means beside the rows."""
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


def picture(subject: Subject, width: float = WIDTH, row: float = ROW) -> Drawing:
    """How the use of one device changes from its first kernel to its last."""
    metrics = metrics_of(subject)
    plot = width - _LEFT - _RIGHT
    along = strip(subject.calls, round(plot), metrics)
    classes, top = _classes(subject, along, width)
    frames = [Frame(_LEFT, top + place * (row + _GAP), plot, row) for place in range(len(metrics))]
    foot = frames[-1].bottom + 50
    notes = footnotes(_notes(subject, along, metrics), foot, width)
    where = "of the measured launches, in order" if subject.is_sample else "along the run"
    title = f"{'Occupancy' if metrics == _OCCUPANCY else 'Utilisation'} {where}"
    return Drawing(
        width=width,
        height=foot + LINE * len(notes) + (8 if notes else 0),
        shapes=(
            *heading(subject, title, width),
            *classes,
            *(
                shape
                for frame, name in zip(frames, metrics, strict=True)
                for shape in _row(frame, name, subject, along)
            ),
            *_time_axis(frames[-1], along.total_ns, sampled=subject.is_sample),
            *notes,
        ),
        title=f"{title}; {subject.run}",
        description=_description(subject, metrics),
    )


def metrics_of(subject: Subject) -> tuple[str, ...]:
    """The metrics that have rows: utilisations, else the occupancy a timeline knows."""
    known = tuple(name for name in UTILISATIONS if getattr(subject.use, name) is not None)
    return known or _OCCUPANCY


def has_occupancy(subject: Subject) -> bool:
    """Whether there is something to draw without utilisations."""
    return bool(subject.calls["occupancy_pct"].is_not_null().any())


def _classes(subject: Subject, along: Strip, width: float) -> tuple[list[Shape], float]:
    """Classes along the run with their legend, and where the rows begin."""
    if not words.has_utilisation(subject.use):
        return [], HEAD + 14
    legend = _legend(subject, width)
    top = max(legend_bottom(legend), HEAD) + 12
    lane = Frame(_LEFT, top, width - _LEFT - _RIGHT, _LANE)
    return [*legend, *_class_lane(lane, along)], lane.bottom + _GAP


def _class_lane(lane: Frame, along: Strip) -> list[Shape]:
    """Classes on top of each other by their share of each stretch; what is left has no counters."""
    known = along.class_shares[:, : CLASSES.index("unknown")]
    reached = np.cumsum(known, axis=1)
    hatch = CLASS_HATCH["unknown"] if (reached[:, -1:] < _ALL).any() else None
    shapes: list[Shape] = [
        Text(lane.left - 7, lane.top + lane.height / 2 + 4, "class", 12, "end"),
        Text(lane.right + 8, lane.bottom - 4, "mean", 11.5, fill=QUIET),
        Rect(lane.left, lane.top, lane.width, lane.height, CLASS_FILL["unknown"], hatch=hatch),
    ]
    # The last class is drawn first and reaches down behind the others.
    for place in reversed(range(known.shape[1])):
        if known[:, place].any():
            outlines = _areas(lane, 100 * reached[:, place])
            shapes += (Polygon(points, CLASS_FILL[CLASSES[place]]) for points in outlines)
    return [*shapes, lane.outline()]


def _legend(subject: Subject, width: float) -> list[Shape]:
    """Only the classes of this run, with their shares of its time."""
    entries = {
        name: f"{class_title(name, subject.use.axis)} {units.share(share, 1)}"
        for name, share in subject.use.class_share.items()
        if share
    }
    return class_legend(entries, MARGIN, HEAD + 18, width - MARGIN)


def _row(frame: Frame, metric: str, subject: Subject, along: Strip) -> list[Shape]:
    upwards = frame.upwards()
    values = along.means_pct[metric]
    middle = frame.top + frame.height / 2
    mean = getattr(subject.use, metric, None)
    title = _TITLES[metric]
    return [
        Rect(frame.left, frame.top, frame.width, frame.height, WASH),
        *_unknown(frame, values),
        *(Polygon(points, AREA) for points in _areas(frame, values)),
        *([] if metric in _OCCUPANCY else [_border(frame, subject)]),
        frame.outline(),
        *y_axis(frame, upwards, (0, 50, 100)),
        Text(frame.left - 38, middle, title, 12, "middle", upright=True),
        *([] if mean is None else [_mean_label(frame, mean)]),
    ]


def _border(frame: Frame, subject: Subject) -> Line:
    y = frame.upwards()(100 * subject.report.thresholds.low)
    return Line(frame.left, y, frame.right, y, INK, dash=(5, 4))


def _mean_label(frame: Frame, mean: float) -> Text:
    y = frame.top + frame.height / 2 + 4
    return Text(frame.right + 8, y, units.share(mean, 100), 12.5, bold=True)


def _areas(frame: Frame, values: NDArray[np.float64]) -> list[tuple[Point, ...]]:
    """Outlines of the stretches in a row that have a value, as steps."""
    across, upwards = frame.across(0, max(len(values), 1)), frame.upwards()
    outlines, shown = [], values.tolist()
    for start, end in _spans(~np.isnan(values)):
        points: list[Point] = [(across(start), frame.bottom)]
        place = start
        for y, run in groupby(round(upwards(min(value, 100.0)), 1) for value in shown[start:end]):
            after = place + len(list(run))
            points += [(across(place), y), (across(after), y)]
            place = after
        outlines.append((*points, (across(end), frame.bottom)))
    return outlines


def _unknown(frame: Frame, values: NDArray[np.float64]) -> list[Shape]:
    across = frame.across(0, max(len(values), 1))
    return [
        Rect(
            *(across(start), frame.top, across(end) - across(start), frame.height),
            hatch=Hatch(FAINT, gap=6),
        )
        for start, end in _spans(np.isnan(values))
    ]


def _spans(chosen: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First place of each unbroken span of true ones, and the place after its last.

    >>> _spans(np.array([True, False, True, True]))
    [(0, 1), (2, 4)]
    """
    changes = np.flatnonzero(np.diff(np.concatenate(([False], chosen, [False])).astype(np.int8)))
    return list(zip(changes[::2].tolist(), changes[1::2].tolist(), strict=True))


def _time_axis(frame: Frame, total_ns: float, *, sampled: bool) -> list[Shape]:
    if not total_ns:
        return [Text(frame.left, frame.bottom + 20, "no kernel has a duration", 12, fill=QUIET)]
    unit = units.duration_ns(total_ns).rsplit(" ", 1)[1]
    size = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit]
    scale = frame.across(0, total_ns / size)
    what = "time the measured launches stand for, one after the other"
    title = f"{what if sampled else 'kernel time in launch order'}, {unit}"
    return x_axis(frame, scale, nice_ticks(0, total_ns / size, most=11), title, tick_label)


def _notes(subject: Subject, along: Strip, metrics: tuple[str, ...]) -> list[str]:
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
    return notes + subject.notes


def _description(subject: Subject, metrics: tuple[str, ...]) -> str:
    means = (
        f"{_TITLES[name]} {getattr(subject.use, name):.1f} %"
        for name in metrics
        if getattr(subject.use, name, None) is not None
    )
    told = ", ".join(means)
    return f"Means weighted by time: {told}." if told else ""
