"""Pictures of kernels: which to draw, and how well a device was used, in shares and along the run.

Time between memory and SM use is shaded cells; along the run there is one row per metric over the
kernel time, in launch order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from timesink.analyses.kernels.calls import UTILISATIONS, has_counters
from timesink.analyses.kernels.groups import Density, Strip, density, strip
from timesink.analyses.kernels.usage import CLASSES
from timesink.answers.kernels import kernel_labels
from timesink.answers.kernels.kernel_labels import UNIT, class_title
from timesink.answers.kernels.report import KernelReport, no_counters
from timesink.answers.kernels.roof_pictures import (
    CLASS_FILL,
    CLASS_HATCH,
    HEAD,
    LOW_DASH,
    MARGIN,
    Subject,
    class_bars,
    class_legend,
    device_sheet,
    legend_bottom,
    roofline_picture,
    some_percent,
)
from timesink.errors import NotFoundError
from timesink.model import units
from timesink.model.arrays import true_runs
from timesink.output import drawing
from timesink.output.blocks import Picture
from timesink.output.pictures import picture

PICTURES = ("density", "strip", "classes", "roofline")
_WITH_TIMES = "record durations and utilisation with `timesink ncu -- PROGRAM`"
_BESIDE, _FULL = 464, 1008
"""Widths on a page: of a picture beside the density, and of one that fills a line."""
_ROWS = 340
"""Height of all rows of a strip beside the density."""


def draw(reports: Sequence[KernelReport], name: str | None = None) -> drawing.Drawing:
    """The picture called `name`, of every device of every run.

    Without a name several runs are compared by their classes, and one run is shown by where its
    time lies and how it changes.
    """
    subjects = [Subject(report, use) for report in reports for use in report.devices]
    if not subjects:
        raise NotFoundError(f"{kernel_labels.run_name(reports[0])}: has no kernels to draw")
    counted = [subject for subject in subjects if kernel_labels.has_utilisation(subject.use)]
    if name is None and counted and len(reports) == 1:
        return drawing.stack_drawings([_overview(subject) for subject in counted])
    name = name or ("classes" if counted else "strip")
    can_draw = counted or (name == "strip" and any(map(_has_occupancy, subjects)))
    if name != "roofline" and not can_draw:
        trace = subjects[0].report.trace
        hint = _WITH_TIMES if has_counters(trace) else no_counters(trace)
        raise NotFoundError(f"{subjects[0].run}: has no utilisation to draw", hint)
    if name == "classes":
        return class_bars(reports)
    # Of one device each, and how many stand in a row.
    of_one: dict[str, tuple[Callable[[Subject], drawing.Drawing], int]] = {
        "density": (density_picture, 3),
        "strip": (strip_picture, 1),
        "roofline": (roofline_picture, 2),
    }
    drawn, in_a_row = of_one[name]
    pictures = list(map(drawn, subjects))
    rows = [pictures[start : start + in_a_row] for start in range(0, len(pictures), in_a_row)]
    return drawing.stack_drawings([drawing.side_by_side(row) for row in rows])


def _overview(subject: Subject) -> drawing.Drawing:
    """Where the time of a device lies, and beside it how that changes along the run."""
    high = round(_ROWS / len(metrics_of(subject)))
    return drawing.side_by_side([density_picture(subject), strip_picture(subject, 760, high)])


def _has_occupancy(subject: Subject) -> bool:
    """Whether there is something to draw without utilisations."""
    return bool(subject.calls["occupancy_pct"].is_not_null().any())


# -- on pages --------------------------------------------------------------------------------------


def device_pictures(subject: Subject) -> Iterator[Picture]:
    """What can be drawn of a device: where its time lies, against roofs, and along the run."""
    if not kernel_labels.has_utilisation(subject.use):
        if _has_occupancy(subject):
            yield picture(strip_picture(subject, _FULL))
        return
    yield picture(density_picture(subject))
    if subject.report.roofline is None:
        high = round(_ROWS / len(metrics_of(subject)))
        yield picture(strip_picture(subject, _BESIDE, high))
        return
    yield picture(roofline_picture(subject, _BESIDE))
    yield picture(strip_picture(subject, _FULL))


def class_picture(reports: Sequence[KernelReport]) -> Iterator[Picture]:
    """The classes of several runs, a bar each; nothing where no run has counters."""
    if any(kernel_labels.has_utilisation(use) for report in reports for use in report.devices):
        yield picture(class_bars(reports, _FULL))


# -- time between memory and SM use ---------------------------------------------------------------

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


def density_picture(subject: Subject) -> drawing.Drawing:
    """How the time of one device's kernels spreads over DRAM and SM use."""
    spread = density(subject.calls, subject.report.thresholds)
    frame = drawing.Frame(_LEFT, HEAD + _HISTOGRAM + 14, _SIDE, _SIDE)
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
    narrow_texts = [" ".join(shares[name]) for name, field in fields.items() if _is_narrow(*field)]
    notes = [f"In the narrow fields: {', '.join(narrow_texts)}."] if narrow_texts else []
    if spread.missing:
        notes.append(f"{some_percent(spread.missing)} of the time has no counters.")
    if spread.beyond:
        notes.append(
            f"{some_percent(spread.beyond)} of the time is above 100 %: in the last cells."
        )
    if spread.axis == "tensor":
        notes.append(
            "The tensor pipe is used in place of the SM: kernels on other pipes count as low, so"
            " both low is overestimated."
        )
    every = [
        " ".join(shares[name])
        for name, share in subject.use.class_share.items()
        if share or name != "unknown"
    ]
    return device_sheet(
        subject,
        f"Kernel time by DRAM and {UNIT[spread.axis]} utilisation",
        (frame.right + _HISTOGRAM + MARGIN + 6, frame.bottom + 94),
        (
            *_cells(frame, spread),
            *_histograms(frame, spread),
            drawing.Line(x, frame.top, x, frame.bottom, drawing.INK, dash=LOW_DASH),
            drawing.Line(frame.left, y, frame.right, y, drawing.INK, dash=LOW_DASH),
            frame.outline(),
            *drawing.x_axis(frame, frame.across(), _MARKS, "DRAM, % of peak"),
            *drawing.y_axis(frame, frame.upwards(), _MARKS, _Y_TITLE[spread.axis], room=38),
            *_class_labels(frame, fields, shares, spread),
            *_legend(frame, spread, subject.report.thresholds.low),
        ),
        notes,
        description=f"Share of kernel time: {', '.join(every)}.",
    )


def _cells(frame: drawing.Frame, spread: Density) -> Iterator[drawing.Shape]:
    across, upwards = frame.across(), frame.upwards()
    edges, most = spread.edges_pct, float(spread.shares.max(initial=0.0))
    yield drawing.Rect(frame.left, frame.top, frame.width, frame.height, drawing.WASH)
    for row, column in np.argwhere(spread.shares > 0):
        share = float(spread.shares[row, column])
        left, right = across(edges[column]), across(edges[column + 1])
        bottom, top = upwards(edges[row]), upwards(edges[row + 1])
        tip = (
            f"{units.share(share, 1)} of the time: DRAM {edges[column]:.0f} to"
            f" {edges[column + 1]:.0f} %,"
            f" {UNIT[spread.axis]} {edges[row]:.0f} to {edges[row + 1]:.0f} %"
        )
        yield drawing.Rect(
            left, top, right - left, bottom - top, drawing.ramp(_shade(share, most)), tip=tip
        )


def _shade(share: float, most: float) -> float:
    """The square root: small shares are seen beside one large."""
    return float(np.sqrt(share / most)) if most else 0.0


def _histograms(frame: drawing.Frame, spread: Density) -> Iterator[drawing.Shape]:
    """Shares by DRAM alone above the plot, by SM alone to the right of it."""
    across, upwards, edges = frame.across(), frame.upwards(), spread.edges_pct
    for place, length, tip in _bars(spread.shares.sum(axis=0)):
        left, right = across(edges[place]), across(edges[place + 1])
        top = frame.top - 5 - length
        yield drawing.Rect(left + 0.5, top, right - left - 1, length, drawing.AREA, tip=tip)
    for place, length, tip in _bars(spread.shares.sum(axis=1)):
        bottom, top = upwards(edges[place]), upwards(edges[place + 1])
        yield drawing.Rect(
            frame.right + 5, top + 0.5, length, bottom - top - 1, drawing.AREA, tip=tip
        )


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
    frame: drawing.Frame,
    fields: dict[str, _Field],
    shares: dict[str, tuple[str, str]],
    spread: Density,
) -> Iterator[drawing.Shape]:
    """Name and share of each class, where its field has the least time behind it."""
    for name, field in fields.items():
        if _is_narrow(*field):
            continue
        # Of equal ones the first: the outer end of the upper border.
        box = min(_label_boxes(*field), key=lambda box: _time_behind(box, frame, spread))
        outer, _, inner, _ = field
        anchor: drawing.Anchor = "start" if box.left < (outer + inner) / 2 else "end"
        place = box.left if anchor == "start" else box.right
        title, share = shares[name]
        yield drawing.Label(place, box.top + 10, title, 11.5, anchor, halo=drawing.WASH)
        yield drawing.Label(place, box.top + 27, share, 15, anchor, bold=True, halo=drawing.WASH)


def _is_narrow(outer: float, top: float, inner: float, bottom: float) -> bool:
    wide, high = _LABEL
    return abs(outer - inner) < wide + 16 or bottom - top < high + 15


def _label_boxes(outer: float, top: float, inner: float, bottom: float) -> list[drawing.Frame]:
    """Places for a label along the sides of a field, from the top down."""
    wide, high = _LABEL
    left, right = sorted((outer, inner))
    start, end = left + 8, right - 8 - wide
    first, last = top + 8, bottom - 7 - high
    return [
        drawing.Frame(x, first + (last - first) * part, wide, high)
        for part in (0, 0.25, 0.5, 0.75, 1)
        for x in ((start, end) if outer < inner else (end, start))
    ]


def _time_behind(box: drawing.Frame, frame: drawing.Frame, spread: Density) -> float:
    across, upwards = frame.across(), frame.upwards()
    columns = [across(edge) for edge in spread.edges_pct]
    rows = [upwards(edge) for edge in spread.edges_pct]
    first, last = np.searchsorted(columns, (box.left, box.right))
    low, high = np.searchsorted(rows[::-1], (box.top, box.bottom))
    side = len(rows) - 1
    return float(spread.shares[side - high : side - low + 1, first - 1 : last].sum())


# -- legend and notes ------------------------------------------------------------------------------


def _legend(frame: drawing.Frame, spread: Density, low: float) -> Iterator[drawing.Shape]:
    most = float(spread.shares.max(initial=0.0))
    top, left = frame.bottom + 56, frame.left + 84
    yield drawing.Label(frame.left, top + 10, "time in a cell", 11, fill=drawing.QUIET)
    if most:
        place = drawing.Scale(0, 1, left, left + _LEGEND)
        for step in range(drawing.RAMP_STEPS):
            start, end = place(step / drawing.RAMP_STEPS), place((step + 1) / drawing.RAMP_STEPS)
            yield drawing.Rect(
                start, top, end - start, 11, drawing.ramp(step / (drawing.RAMP_STEPS - 1))
            )
        # Round shares far enough apart on the scale, the largest first.
        shades: list[float] = []
        for share in _ROUND_SHARES:
            shade = _shade(share, most)
            if share > most or any(other - shade <= 0.3 for other in shades):
                continue
            shades.append(shade)
            x = place(shade)
            yield drawing.Line(x, top + 11, x, top + 14, drawing.QUIET)
            yield drawing.Label(x, top + 25, units.share(share, 1), 10.5, "middle", drawing.QUIET)
    right = frame.right + _HISTOGRAM
    yield drawing.Line(right - 142, top + 6, right - 118, top + 6, drawing.INK, dash=LOW_DASH)
    yield drawing.Label(
        right - 112, top + 10, f"low: below {100 * low:.3g} %", 11, fill=drawing.QUIET
    )


# -- along the run ---------------------------------------------------------------------------------


_GAP, _LANE = 14, 36
_ROW_LEFT, _ROW_RIGHT = 84, 70
"""Room for titles and for the means beside the rows."""
_ALL = 1 - 1e-6
_WITHOUT_GAPS = "gaps between kernels are left out"
_SAMPLED = "launches that were not measured are left out, so this is not the timeline of the run"
_OCCUPANCY = ("occupancy_pct",)
_TITLES = {
    "tensor_pct": "tensor pipe",
    "dram_pct": "DRAM",
    "sm_pct": "SM",
    "occupancy_pct": "occupancy",
}


def strip_picture(subject: Subject, width: float = 1000, row: float = 84) -> drawing.Drawing:
    """How the use of one device changes from its first kernel to its last."""
    metrics = metrics_of(subject)
    plot = width - _ROW_LEFT - _ROW_RIGHT
    along = strip(subject.calls, round(plot), metrics)
    classes, top = _classes(subject, along, width)
    frames = [
        drawing.Frame(_ROW_LEFT, top + place * (row + _GAP), plot, row)
        for place in range(len(metrics))
    ]
    where = "of the measured launches, in order" if subject.is_sample else "along the run"
    means = [
        f"{_TITLES[name]} {units.percent(getattr(subject.use, name))}"
        for name in metrics
        if getattr(subject.use, name, None) is not None
    ]
    notes = []
    if along.stretches:
        notes.append(
            f"Each of {units.count(along.stretches)} columns is the mean of"
            f" {units.brief_ns(along.total_ns / along.stretches)}, weighted by time;"
            f" {_SAMPLED if subject.is_sample else _WITHOUT_GAPS}."
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
    names = tuple(name for name in UTILISATIONS if getattr(subject.use, name) is not None)
    return names or _OCCUPANCY


def _classes(subject: Subject, along: Strip, width: float) -> tuple[list[drawing.Shape], float]:
    """The classes of this run along it, with their shares of its time; where the rows begin."""
    if not kernel_labels.has_utilisation(subject.use):
        return [], HEAD + 14
    legend = class_legend(kernel_labels.class_shares(subject.use), HEAD + 18, width - MARGIN)
    top = max(legend_bottom(legend), HEAD) + 12
    lane = drawing.Frame(_ROW_LEFT, top, width - _ROW_LEFT - _ROW_RIGHT, _LANE)
    return [*legend, *_class_lane(lane, along)], lane.bottom + _GAP


def _class_lane(lane: drawing.Frame, along: Strip) -> Iterator[drawing.Shape]:
    """Classes on top of each other by their share of each stretch; what is left has no counters."""
    shares = along.class_shares[:, : CLASSES.index("unknown")]
    reached = np.cumsum(shares, axis=1)
    hatch = CLASS_HATCH["unknown"] if (reached[:, -1:] < _ALL).any() else None
    yield drawing.Label(lane.left - 7, lane.top + lane.height / 2 + 4, "class", 12, "end")
    yield drawing.Label(lane.right + 8, lane.bottom - 4, "mean", 11.5, fill=drawing.QUIET)
    yield drawing.Rect(
        lane.left, lane.top, lane.width, lane.height, CLASS_FILL["unknown"], hatch=hatch
    )
    # The last class is drawn first and reaches down behind the others.
    for place in reversed(range(shares.shape[1])):
        if shares[:, place].any():
            for points in _areas(lane, 100 * reached[:, place]):
                yield drawing.Polygon(points, CLASS_FILL[CLASSES[place]])
    yield lane.outline()


def _row(
    frame: drawing.Frame, metric: str, subject: Subject, along: Strip
) -> Iterator[drawing.Shape]:
    values = along.means_pct[metric]
    across, upwards = frame.across(0, max(len(values), 1)), frame.upwards()
    middle = frame.top + frame.height / 2
    yield drawing.Rect(frame.left, frame.top, frame.width, frame.height, drawing.WASH)
    for start, end in _spans(np.isnan(values)):
        left, right = across(start), across(end)
        yield drawing.Rect(
            left, frame.top, right - left, frame.height, hatch=drawing.Hatch(drawing.FAINT, gap=6)
        )
    for points in _areas(frame, values):
        yield drawing.Polygon(points, drawing.AREA)
    if metric not in _OCCUPANCY:
        y = upwards(100 * subject.report.thresholds.low)
        yield drawing.Line(frame.left, y, frame.right, y, drawing.INK, dash=LOW_DASH)
    yield frame.outline()
    yield from drawing.y_axis(frame, upwards, (0, 50, 100))
    yield drawing.Label(frame.left - 38, middle, _TITLES[metric], 12, "middle", upright=True)
    mean = getattr(subject.use, metric, None)
    if mean is not None:
        yield drawing.Label(frame.right + 8, middle + 4, units.share(mean, 100), 12.5, bold=True)


def _areas(
    frame: drawing.Frame, values: NDArray[np.float64]
) -> Iterator[tuple[drawing.Point, ...]]:
    """Outlines of the stretches in a row that have a value, as steps."""
    across, upwards = frame.across(0, max(len(values), 1)), frame.upwards()
    heights = values.tolist()
    for start, end in _spans(~np.isnan(values)):
        points: list[drawing.Point] = [(across(start), frame.bottom)]
        place = start
        for y, run in groupby(round(upwards(min(value, 100.0)), 1) for value in heights[start:end]):
            after = place + len(list(run))
            points += [(across(place), y), (across(after), y)]
            place = after
        yield (*points, (across(end), frame.bottom))


def _spans(chosen: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First place of each unbroken span of true ones, and the place after its last."""
    return list(zip(*(places.tolist() for places in true_runs(chosen)), strict=True))


def _time_axis(frame: drawing.Frame, total_ns: float, *, sampled: bool) -> list[drawing.Shape]:
    if not total_ns:
        return [
            drawing.Label(
                frame.left, frame.bottom + 20, "no kernel has a duration", 12, fill=drawing.QUIET
            )
        ]
    size, unit = units.time_scale(total_ns)
    what = "kernel time estimated from the measured launches, in order"
    title = f"{what if sampled else 'kernel time in launch order'}, {unit}"
    ticks = drawing.nice_ticks(0, total_ns / size, most=11)
    return drawing.x_axis(frame, frame.across(0, total_ns / size), ticks, title)
