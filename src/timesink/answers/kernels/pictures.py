"""Pictures of how well kernels use the hardware: which to draw, runs side by side, roofs.

Under roofs kernels stand by their arithmetic per byte, and by how fast it was done.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import polars as pl

from timesink.analyses.kernels.calls import has_counters
from timesink.analyses.kernels.peaks import DevicePeaks
from timesink.analyses.kernels.roofline import Roofline, named_roofs, why_no_roofline
from timesink.analyses.kernels.usage import CLASSES, DeviceUse
from timesink.answers.kernels import words
from timesink.answers.kernels.picture_sheet import (
    CLASS_FILL,
    CLASS_HATCH,
    HEAD,
    MARGIN,
    Subject,
    class_legend,
    device_sheet,
    legend_bottom,
    sheet,
)
from timesink.answers.kernels.report import KernelReport, no_counters
from timesink.answers.kernels.use_pictures import density_picture, metrics_of, strip_picture
from timesink.errors import NotFoundError
from timesink.model import units
from timesink.output.blocks import Picture
from timesink.output.drawing import (
    BLACK,
    FAINT,
    INK,
    PAPER,
    QUIET,
    WASH,
    WHITE,
    Circle,
    Colour,
    Drawing,
    Frame,
    Label,
    Line,
    LogScale,
    Rect,
    Shape,
    cut_text,
    decades,
    grid,
    on_top_of,
    side_by_side,
    stacked,
    telling_parts,
    text_width,
    tick_label,
    x_axis,
    y_axis,
)
from timesink.output.pictures import picture

PICTURES = ("density", "strip", "classes", "roofline")
_WITH_TIMES = "record durations and utilisations with `timesink ncu -- PROGRAM`"
_BESIDE, _WHOLE = 464, 1008
"""Widths on a page: of a picture beside the density, and of one that fills a line."""
_ROWS = 340
"""Height of all rows of a strip beside the density."""
_BAR, _GAP = 26, 12
_NAME_ROOM, _TIME_ROOM = 230, 84


def draw(reports: Sequence[KernelReport], name: str | None = None) -> Drawing:
    """The picture called `name`, of every device of every run.

    Without a name several runs are compared by their classes, and one run is shown by where its
    time lies and how it changes.
    """
    shown = [Subject(report, use) for report in reports for use in report.devices]
    if not shown:
        raise NotFoundError(f"{words.run_name(reports[0])}: has no kernels to draw")
    counted = [subject for subject in shown if words.has_utilisation(subject.use)]
    if name is None and counted and len(reports) == 1:
        return stacked([_overview(subject) for subject in counted])
    name = name or ("classes" if counted else "strip")
    known = counted or (name == "strip" and any(map(_has_occupancy, shown)))
    if name != "roofline" and not known:
        trace = shown[0].report.trace
        hint = _WITH_TIMES if has_counters(trace) else no_counters(trace)
        raise NotFoundError(f"{shown[0].run}: has no utilisation to draw", hint)
    if name == "classes":
        return class_bars(reports)
    # Of one device each, and how many stand in a row.
    of_one: dict[str, tuple[Callable[[Subject], Drawing], int]] = {
        "density": (density_picture, 3),
        "strip": (strip_picture, 1),
        "roofline": (roofline_picture, 2),
    }
    drawn, in_a_row = of_one[name]
    made = list(map(drawn, shown))
    rows = [made[start : start + in_a_row] for start in range(0, len(made), in_a_row)]
    return stacked([side_by_side(row) for row in rows])


def _overview(subject: Subject) -> Drawing:
    """Where the time of a device lies, and beside it how that changes along the run."""
    high = round(_ROWS / len(metrics_of(subject)))
    return side_by_side([density_picture(subject), strip_picture(subject, 760, high)])


def _has_occupancy(subject: Subject) -> bool:
    """Whether there is something to draw without utilisations."""
    return bool(subject.calls["occupancy_pct"].is_not_null().any())


# -- on pages --------------------------------------------------------------------------------------


def device_pictures(subject: Subject) -> Iterator[Picture]:
    """What can be drawn of a device: where its time lies, against roofs, and along the run."""
    if not words.has_utilisation(subject.use):
        if _has_occupancy(subject):
            yield picture(strip_picture(subject, _WHOLE))
        return
    yield picture(density_picture(subject))
    if subject.report.roofline is None:
        high = round(_ROWS / len(metrics_of(subject)))
        yield picture(strip_picture(subject, _BESIDE, high))
        return
    yield picture(roofline_picture(subject, _BESIDE))
    yield picture(strip_picture(subject, _WHOLE))


def class_picture(reports: Sequence[KernelReport]) -> Iterator[Picture]:
    """The classes of several runs, a bar each; nothing where no run has counters."""
    if any(words.has_utilisation(use) for report in reports for use in report.devices):
        yield picture(class_bars(reports, _WHOLE))


# -- runs side by side -----------------------------------------------------------------------------


def class_bars(reports: Sequence[KernelReport], width: float = 900) -> Drawing:
    """Which share of its kernel time each run spends in each class: one bar each."""
    rows = words.device_rows(reports)
    names = telling_parts([name for name, _ in rows], 12, _NAME_ROOM)
    bars = [(name, use) for name, (_, use) in zip(names, rows, strict=True)]
    axis = words.axis_of_all(reports)
    entries = {
        name: f"{words.class_title(name, axis)} ({words.MEANINGS[name]})"
        for name in CLASSES
        if name != "unknown"
    }
    if any(use.class_share["unknown"] for report in reports for use in report.devices):
        entries["unknown"] = words.class_title("unknown", axis)
    legend = class_legend(entries, 54, width - MARGIN)
    left = MARGIN + max(text_width(name, 12) for name in names) + 10
    height = len(bars) * (_BAR + _GAP) - _GAP
    frame = Frame(left, legend_bottom(legend) + 36, width - left - _TIME_ROOM, height)
    across, marks = frame.across(), range(0, 101, 20)
    notes = [f"Low: below {units.share(reports[0].thresholds.low, 1)} of the peak."]
    axes = {use.axis for report in reports for use in report.devices}
    if "tensor" in axes:
        which = "Runs" if len(axes) == 1 else "Some runs"
        notes.append(
            f"{which} without a counter of the SM: the tensor pipe stands for it, so both low is"
            " too large."
        )
    run_names = zip(words.run_names(reports), reports, strict=True)
    sampled = [name for name, report in run_names if report.sampling]
    if sampled:
        notes.append(f"Samples, so their shares are estimates: {', '.join(sampled)}.")
    told = [
        f"{name}: {', '.join(words.class_shares(use).values()) or 'no kernel time'}."
        for name, use in bars
    ]
    return sheet(
        "Kernel time by what it leaves unused",
        (width, frame.bottom + 56),
        (
            *legend,
            *(
                Line(across(mark), frame.top - 4, across(mark), frame.bottom + 4, FAINT)
                for mark in marks
            ),
            *(shape for place, bar in enumerate(bars) for shape in _bar(frame, place, *bar)),
            Label(frame.right + 10, frame.top - 8, "kernel time", 11, fill=QUIET),
            *x_axis(frame, across, marks, "share of the kernel time, %"),
        ),
        notes,
        description=" ".join(told),
    )


def _bar(frame: Frame, place: int, name: str, use: DeviceUse) -> Iterator[Shape]:
    top = frame.top + place * (_BAR + _GAP)
    line = top + _BAR / 2 + 4
    yield Label(frame.left - 10, line, name, 12, "end")
    yield Label(frame.right + 10, line, units.brief_ns(use.total_ns), 12)
    reached = 0.0
    for key in CLASSES:
        share = use.class_share[key]
        if share:
            left, width = frame.left + reached * frame.width, share * frame.width
            fill, hatch, shown = CLASS_FILL[key], CLASS_HATCH[key], units.share(share, 1)
            tip = f"{words.class_title(key, use.axis)}: {shown}"
            yield Rect(left, top, width, _BAR, fill, hatch=hatch, tip=tip)
            # As precise as there is room for.
            labels = (shown, f"{100 * share:.0f} %")
            fitting = (one for one in labels if text_width(one, 12, bold=True) + 6 <= width)
            colour, halo = (INK, PAPER) if hatch else (on_top_of(fill), None)
            for label in islice(fitting, 1):
                middle = left + width / 2
                yield Label(middle, line, label, 12, "middle", colour, bold=True, halo=halo)
        reached += share
    if not reached:
        yield Rect(frame.left, top, frame.width, _BAR, WASH)
        yield Label(frame.left + 8, line, "no kernel time", 12, fill=QUIET)


# -- kernels under the roofs of their device -------------------------------------------------------

_NUMBERED = 5
"""Kernels with a number and a line of their own."""
_LEFT, _HIGH = 84, 340
_LABEL_ROOM = 168
"""Pixels to the right of the plot for the names of the roofs."""
_SMALLEST, _LARGEST = 3.0, 20.0
_LEAST, _DECADES = 2, 7
"""Powers of ten an axis covers; kernels beyond are drawn at its end."""
_BOUND_FILL = {"compute": CLASS_FILL["low_dram"], "memory": CLASS_FILL["low_sm"]}
_NO_ROOF = Colour("#c9ced6", "#6b7280")
_LEGEND = {"memory": "bound by memory", "compute": "bound by compute", None: "no roof known"}


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
    def of_roof(self) -> str:
        """How near its roof it comes, as the end of a sentence."""
        of = self.roof_share_pct
        return "" if of is None else f", {of:.0f} % of its roof"

    @property
    def tip(self) -> str:
        return (
            f"{self.name}: {units.share(self.share, 1)} of the time,"
            f" {units.rate(self.flop_per_s, 'FLOP')},"
            f" {self.intensity:.3g} FLOP/byte{self.of_roof}"
        )

    @property
    def fill(self) -> Colour:
        return _BOUND_FILL.get(self.bound or "", _NO_ROOF)


def roofline_picture(subject: Subject, width: float = 760) -> Drawing:
    """The kernels of one device, by name, as dots under its roofs."""
    roofline = subject.report.roofline
    if roofline is None:
        raise NotFoundError(
            f"{subject.run}: no roofline can be drawn", why_no_roofline(subject.report.trace)
        )
    dots = _dots(subject, roofline)
    roofs = named_roofs(roofline.peaks, roofline.precisions)
    frame = Frame(_LEFT, HEAD + 34, width - _LEFT - (_LABEL_ROOM if roofs else MARGIN), _HIGH)
    # Room for the dots and the corners of the roofs.
    bandwidth = roofline.peaks.dram_bytes_per_s if roofline.peaks else None
    ridges = [peak / bandwidth for peak in roofs] if bandwidth else []
    across, upwards = (
        LogScale(*_around([dot.intensity for dot in dots] + ridges), frame.left, frame.right),
        LogScale(*_around([dot.flop_per_s for dot in dots] + list(roofs)), frame.bottom, frame.top),
    )
    x_marks, y_marks = (decades(scale.low, scale.high) for scale in (across, upwards))
    key, numbered = frame.bottom + 58, dots[:_NUMBERED]
    described = [dot.tip for dot in numbered]
    of_roof = roofline.of(subject.use).roof_share_pct
    if of_roof is not None:
        described.insert(0, f"At the roofs the work takes {of_roof:.0f} % of the time")
    notes = [f"No roofs: {roofline.reason}."] if roofline.reason else []
    shown = sum(dot.share for dot in dots)
    if subject.use.total_ns and shown < 0.9995:
        left = units.share(1 - shown, 1)
        notes.append(f"Not shown: {left} of the time, in kernels without counted FLOP.")
    notes += (f"{note[:1].upper()}{note[1:]}." for note in roofline.notes)
    return device_sheet(
        subject,
        f"Kernels by arithmetic and traffic{', under the roofs of the device' if roofs else ''}",
        (width, key + 19 * len(numbered) + 10),
        (
            *_legend(dots),
            Rect(frame.left, frame.top, frame.width, frame.height, WASH),
            *grid(frame, map(across, x_marks), map(upwards, y_marks)),
            *_roof_lines(frame, across, upwards, roofs, roofline.peaks),
            *_circles(dots, numbered, across, upwards),
            frame.outline(),
            *x_axis(frame, across, x_marks, "FLOP per byte of DRAM traffic"),
            *y_axis(frame, upwards, y_marks, "FLOP/s", label=_prefixed, room=50),
            *_key(numbered, key, width),
        ),
        notes,
        description="; ".join(described),
    )


def _dots(subject: Subject, roofline: Roofline) -> list[_Dot]:
    """Kernels that did arithmetic and moved bytes, the longest first."""
    groups = roofline.groups(subject.calls, "short_name").filter(
        pl.col("group").is_not_null(), pl.col("intensity") > 0, pl.col("achieved_flop_per_s") > 0
    )
    whole = subject.use.total_ns
    known = ("intensity", "achieved_flop_per_s", "roof_share_pct", "bound")
    rows = groups.select("group", "total_ns", *known).iter_rows()
    return [_Dot(name, time / whole if whole else 0.0, *more) for name, time, *more in rows]


def _around(values: Sequence[float]) -> tuple[float, float]:
    """A range with room around the values, of some decades but not too many."""
    if not values:
        return 1.0, 1000.0
    low, high = min(values) / 2, max(values) * 2
    widen = max(1.0, math.sqrt(10**_LEAST / (high / low)))
    low, high = low / widen, high * widen
    return max(low, high / 10**_DECADES), high


def _prefixed(value: float) -> str:
    """A power of ten with its prefix: `10 T`."""
    number, unit = units.rate(value, "").split(" ")
    return f"{tick_label(float(number))} {unit.removesuffix('/s')}".strip()


def _roof_lines(
    frame: Frame,
    across: LogScale,
    upwards: LogScale,
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
    # Names stand beside the plot, moved down where two would touch.
    free = 0.0
    for peak, name in roofs.items():
        y = max(upwards(peak), free)
        yield Line(frame.right, upwards(peak), frame.right + 8, y, QUIET)
        yield Label(frame.right + 12, y - 1, cut_text(name, 11.5, _LABEL_ROOM - 20), 11.5)
        yield Label(frame.right + 12, y + 13, units.rate(peak, "FLOP"), 11.5, fill=QUIET)
        free = y + 34
    if not bandwidth:
        return
    end = min(across.high, max(roofs, default=upwards.high) / bandwidth)
    start = max(across.low, upwards.low / bandwidth)
    if start >= end:
        return
    x1, y1 = across(start), upwards(start * bandwidth)
    x2, y2 = across(end), upwards(end * bandwidth)
    yield Line(x1, y1, x2, y2, INK, 1.5)
    told = f"DRAM {units.rate(bandwidth, 'B')}"
    # Above the slope there is nothing; the label ends where the line is some way up.
    place = max(0.62, min(0.95, (text_width(told, 11.5) + 20) / max(x2 - x1, 1.0)))
    x, y = x1 + place * (x2 - x1), y1 + place * (y2 - y1)
    yield Label(x - 10, y, told, 11.5, "end", halo=WASH)


def _circles(
    dots: Sequence[_Dot], numbered: Sequence[_Dot], across: LogScale, upwards: LogScale
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
        yield Circle(x, y, radius, dot.fill, INK, 0.85, dot.tip)
    taken: list[tuple[float, float]] = []
    for number, dot in enumerate(numbered, 1):
        x, y = _number_place(places[dot], taken)
        taken.append((x, y))
        yield Label(x, y + 4, str(number), 12, "middle", BLACK, bold=True, halo=WHITE)


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
        told = f"{units.share(dot.share, 1)} of the time{dot.of_roof}"
        room = width - _LEFT - 10 - MARGIN - text_width(told, 12) - 16
        yield Label(_LEFT, y, str(number), 12, "end", bold=True)
        yield Label(_LEFT + 10, y, cut_text(dot.name, 12, room), 12)
        yield Label(width - MARGIN, y, told, 12, "end", QUIET)


def _legend(dots: Sequence[_Dot]) -> Iterator[Shape]:
    x, y = float(_LEFT), HEAD + 16
    fills = {dot.bound: dot.fill for dot in dots}
    for bound, title in _LEGEND.items():
        if bound in fills:
            yield Circle(x + 6, y - 4, 6, fills[bound], INK, 0.85)
            yield Label(x + 18, y, title, 11.5)
            x += 18 + text_width(title, 11.5) + 16
    yield Label(x, y, "area: share of the time", 11.5, fill=QUIET)
