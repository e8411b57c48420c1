"""Pictures of kernels: what all share, the classes of runs side by side, kernels under roofs.

Under roofs kernels stand by their arithmetic per byte, and by how fast it was done.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

import msgspec
import polars as pl

from timesink.analyses.kernels.peaks import DevicePeaks
from timesink.analyses.kernels.roofline import Roofline, named_roofs, why_no_roofline
from timesink.analyses.kernels.usage import CLASSES, DeviceUse, of_device
from timesink.answers.kernels import kernel_labels
from timesink.answers.kernels.report import KernelReport
from timesink.errors import NotFoundError
from timesink.model import units
from timesink.output import drawing as draw

HEAD = 58
"""Pixels the title and the line under it take."""
MARGIN = 20
LOW_DASH = (5, 4)
"""The border between low and high is a dashed line in every picture."""
_LINE = 17
_FILLS = {
    "both_low": "#7d2433",
    "low_sm": "#74bfae",
    "low_dram": "#3f78b8",
    "neither_low": "#f5e3a0",
}
CLASS_FILL = {name: draw.Colour(fill, fill) for name, fill in _FILLS.items()} | {
    "unknown": draw.FAINT
}
"""Their brightness falls into steps that stay apart in grey; what has no counters is hatched."""
CLASS_HATCH = dict.fromkeys(CLASSES) | {"unknown": draw.Hatch(draw.QUIET, gap=5, width=0.8)}


class Subject(msgspec.Struct, frozen=True, eq=False):
    """One device of a run: times of different devices are never in one picture."""

    report: KernelReport
    use: DeviceUse

    @property
    def calls(self) -> pl.DataFrame:
        """The launches of the device, in launch order."""
        return of_device(self.report.calls, self.use)

    @property
    def run(self) -> str:
        """Name of the recording."""
        return kernel_labels.run_name(self.report)

    @property
    def is_sample(self) -> bool:
        """Whether the launches stand for more."""
        return self.report.sampling is not None and self.report.sampling.every > 1

    def about(self) -> str:
        """What the device is, which of several, and how much was measured."""
        device = self.use.name
        if len(self.report.devices) > 1:
            number = kernel_labels.device_name(self.report, self.use)
            device = f"{number} ({device})" if device else number
        calls = units.count_noun(self.use.calls, "kernel calls")
        time = units.brief_ns(self.use.total_ns)
        facts = f"{calls} seen, about {time} in all" if self.is_sample else f"{calls}, {time}"
        return ", ".join(filter(None, (device, facts)))

    def notes(self) -> Iterator[str]:
        """What a reader must know about the numbers."""
        sampling = self.report.sampling
        if sampling and self.is_sample:
            which = "launches of each kernel" if sampling.per == "kernel" else "launches"
            yield f"A sample: 1 in {sampling.every} {which}; times are estimates."
        if self.use.untimed:
            yield f"{units.count_noun(self.use.untimed, 'calls')} without a duration left out."


def device_sheet(
    subject: Subject,
    title: str,
    size: tuple[float, float],
    shapes: Iterable[draw.Shape],
    notes: Iterable[str],
    *,
    description: str,
) -> draw.Drawing:
    """A picture of one device under its title and what was measured; notes at its foot."""
    width, _ = size
    room, about = width - 2 * MARGIN, subject.about()
    run = draw.cut_middle(subject.run, 12, max(room - draw.text_width(f": {about}", 12), room / 3))
    under = draw.Label(MARGIN, 48, draw.cut_text(f"{run}: {about}", 12, room), 12, fill=draw.QUIET)
    all_notes = (*notes, *subject.notes())
    named = f"{title}; {subject.run}"
    return sheet(title, size, (under, *shapes), all_notes, description=description, named=named)


def sheet(
    title: str,
    size: tuple[float, float],
    shapes: Iterable[draw.Shape],
    notes: Iterable[str],
    *,
    description: str,
    named: str = "",
) -> draw.Drawing:
    """A picture of a width, with its notes from a height on, in small lines; long ones go on.

    `named` is what it is called where that is more than its title.
    """
    width, foot = size
    lines = [line for note in notes for line in _wrap_text(note, width - 2 * MARGIN)]
    small = (
        draw.Label(MARGIN, foot + _LINE * number + 11, line, 11, fill=draw.QUIET)
        for number, line in enumerate(lines)
    )
    return draw.Drawing(
        width=width,
        height=foot + _LINE * len(lines) + (8 if lines else 0),
        shapes=(draw.Label(MARGIN, 29, title, 15, bold=True), *shapes, *small),
        title=named or title,
        description=description,
    )


def _wrap_text(text: str, room: float) -> Iterator[str]:
    line = ""
    for word in text.split():
        longer = f"{line} {word}".strip()
        if line and draw.text_width(longer, 11) > room:
            yield line
            longer = word
        line = longer
    if line:
        yield draw.cut_text(line, 11, room)


# -- classes and shares ----------------------------------------------------------------------------


def class_legend(entries: Mapping[str, str], line: float, right: float) -> list[draw.Shape]:
    """A box and words for each class, in as many lines of text as it takes from `line` on."""
    shapes: list[draw.Shape] = []
    x: float = MARGIN
    for name, entry in entries.items():
        width = 17 + draw.text_width(entry, 11.5)
        if x > MARGIN and x + width > right:
            x, line = MARGIN, line + 20
        shapes.append(
            draw.Rect(x, line - 10, 11, 11, CLASS_FILL[name], draw.FAINT, CLASS_HATCH[name])
        )
        shapes.append(draw.Label(x + 17, line, entry, 11.5))
        x += width + 16
    return shapes


def legend_bottom(legend: Sequence[draw.Shape]) -> float:
    """Where its last line sits."""
    return max((shape.y for shape in legend if isinstance(shape, draw.Label)), default=0.0)


def some_percent(share: float) -> str:
    """A share that is not nothing, to begin a sentence with."""
    return "Less than 0.1 %" if share < 0.0005 else units.share(share, 1)


# -- runs side by side -----------------------------------------------------------------------------


_BAR, _GAP = 26, 12
_NAME_ROOM, _TIME_ROOM = 230, 84


def class_bars(reports: Sequence[KernelReport], width: float = 900) -> draw.Drawing:
    """Which share of its kernel time each run spends in each class: one bar each."""
    rows = kernel_labels.device_rows(reports)
    names = draw.telling_parts([name for name, _ in rows], 12, _NAME_ROOM)
    bars = [(name, use) for name, (_, use) in zip(names, rows, strict=True)]
    axis = kernel_labels.axis_of_all(reports)
    entries = {
        name: f"{kernel_labels.class_title(name, axis)} ({kernel_labels.MEANINGS[name]})"
        for name in CLASSES
        if name != "unknown"
    }
    if any(use.class_share["unknown"] for report in reports for use in report.devices):
        entries["unknown"] = kernel_labels.class_title("unknown", axis)
    legend = class_legend(entries, 54, width - MARGIN)
    left = MARGIN + max(draw.text_width(name, 12) for name in names) + 10
    height = len(bars) * (_BAR + _GAP) - _GAP
    frame = draw.Frame(left, legend_bottom(legend) + 36, width - left - _TIME_ROOM, height)
    across, marks = frame.across(), range(0, 101, 20)
    notes = [f"Low: below {units.share(reports[0].thresholds.low, 1)} of the peak."]
    axes = {use.axis for report in reports for use in report.devices}
    if "tensor" in axes:
        which = "Runs" if len(axes) == 1 else "Some runs"
        notes.append(
            f"{which} without an SM counter: the tensor pipe is used in place of it, so both low"
            " is overestimated."
        )
    run_names = zip(kernel_labels.run_names(reports), reports, strict=True)
    sampled = [name for name, report in run_names if report.sampling]
    if sampled:
        notes.append(f"Samples, so their shares are estimates: {', '.join(sampled)}.")
    sentences = [
        f"{name}: {', '.join(kernel_labels.class_shares(use).values()) or 'no kernel time'}."
        for name, use in bars
    ]
    return sheet(
        "Kernel time by class",
        (width, frame.bottom + 56),
        (
            *legend,
            *(
                draw.Line(across(mark), frame.top - 4, across(mark), frame.bottom + 4, draw.FAINT)
                for mark in marks
            ),
            *(shape for place, bar in enumerate(bars) for shape in _bar(frame, place, *bar)),
            draw.Label(frame.right + 10, frame.top - 8, "kernel time", 11, fill=draw.QUIET),
            *draw.x_axis(frame, across, marks, "share of the kernel time, %"),
        ),
        notes,
        description=" ".join(sentences),
    )


def _bar(frame: draw.Frame, place: int, name: str, use: DeviceUse) -> Iterator[draw.Shape]:
    top = frame.top + place * (_BAR + _GAP)
    line = top + _BAR / 2 + 4
    yield draw.Label(frame.left - 10, line, name, 12, "end")
    yield draw.Label(frame.right + 10, line, units.brief_ns(use.total_ns), 12)
    reached = 0.0
    for key in CLASSES:
        share = use.class_share[key]
        if share:
            left, width = frame.left + reached * frame.width, share * frame.width
            fill, hatch, share_text = CLASS_FILL[key], CLASS_HATCH[key], units.share(share, 1)
            tip = f"{kernel_labels.class_title(key, use.axis)}: {share_text}"
            yield draw.Rect(left, top, width, _BAR, fill, hatch=hatch, tip=tip)
            # As precise as there is room for.
            labels = (share_text, f"{100 * share:.0f} %")
            fitting = (text for text in labels if draw.text_width(text, 12, bold=True) + 6 <= width)
            colour, halo = (draw.INK, draw.PAPER) if hatch else (draw.on_top_of(fill), None)
            for label in islice(fitting, 1):
                middle = left + width / 2
                yield draw.Label(middle, line, label, 12, "middle", colour, bold=True, halo=halo)
        reached += share
    if not reached:
        yield draw.Rect(frame.left, top, frame.width, _BAR, draw.WASH)
        yield draw.Label(frame.left + 8, line, "no kernel time", 12, fill=draw.QUIET)


# -- kernels under the roofs of their device -------------------------------------------------------

_NUMBERED = 5
"""Kernels with a number and a line of their own."""
_LEFT, _HIGH = 84, 340
_LABEL_ROOM = 168
"""Pixels to the right of the plot for the names of the roofs."""
_SMALLEST, _LARGEST = 3.0, 20.0
_MIN_DECADES, _DECADES = 2, 7
"""Powers of ten an axis covers; kernels beyond are drawn at its end."""
_BOUND_FILL = {"compute": CLASS_FILL["low_dram"], "memory": CLASS_FILL["low_sm"]}
_NO_ROOF = draw.Colour("#c9ced6", "#6b7280")
_LEGEND = {"memory": "bound by memory", "compute": "bound by compute", None: "no roofline known"}


class _Dot(msgspec.Struct, frozen=True):
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
        return "" if of is None else f", {of:.0f} % of its roofline"

    @property
    def tip(self) -> str:
        return (
            f"{self.name}: {units.share(self.share, 1)} of the time,"
            f" {units.brief_rate(self.flop_per_s, 'FLOP')},"
            f" {self.intensity:.3g} FLOP/byte{self.of_roof}"
        )

    @property
    def fill(self) -> draw.Colour:
        return _BOUND_FILL.get(self.bound or "", _NO_ROOF)


def roofline_picture(subject: Subject, width: float = 760) -> draw.Drawing:
    """The kernels of one device, by name, as dots under its roofs."""
    roofline = subject.report.roofline
    if roofline is None:
        raise NotFoundError(
            f"{subject.run}: no roofline can be drawn", why_no_roofline(subject.report.trace)
        )
    dots = _dots(subject, roofline)
    roofs = named_roofs(roofline.peaks, roofline.precisions)
    frame = draw.Frame(_LEFT, HEAD + 34, width - _LEFT - (_LABEL_ROOM if roofs else MARGIN), _HIGH)
    # Room for the dots and the corners of the roofs.
    bandwidth = roofline.peaks.dram_bytes_per_s if roofline.peaks else None
    ridges = [peak / bandwidth for peak in roofs] if bandwidth else []
    across, upwards = (
        draw.LogScale(*_around([dot.intensity for dot in dots] + ridges), frame.left, frame.right),
        draw.LogScale(
            *_around([dot.flop_per_s for dot in dots] + list(roofs)), frame.bottom, frame.top
        ),
    )
    x_marks, y_marks = (draw.decades(scale.low, scale.high) for scale in (across, upwards))
    key, numbered = frame.bottom + 58, dots[:_NUMBERED]
    described = [dot.tip for dot in numbered]
    of_roof = roofline.of(subject.use).roof_share_pct
    if of_roof is not None:
        described.insert(0, f"At the roofline the work would take {of_roof:.0f} % of the time")
    notes = [f"No roofline: {roofline.reason}."] if roofline.reason else []
    total_share = sum(dot.share for dot in dots)
    if subject.use.total_ns and total_share < 0.9995:
        left = units.share(1 - total_share, 1)
        notes.append(f"Not shown: {left} of the time, in kernels without counted FLOP.")
    notes += (f"{note[:1].upper()}{note[1:]}." for note in roofline.notes)
    return device_sheet(
        subject,
        "Roofline of the kernels" if roofs else "Kernels by arithmetic and memory traffic",
        (width, key + 19 * len(numbered) + 10),
        (
            *_legend(dots),
            draw.Rect(frame.left, frame.top, frame.width, frame.height, draw.WASH),
            *draw.grid(frame, map(across, x_marks), map(upwards, y_marks)),
            *_roof_lines(frame, across, upwards, roofs, roofline.peaks),
            *_circles(dots, numbered, across, upwards),
            frame.outline(),
            *draw.x_axis(frame, across, x_marks, "FLOP per byte of DRAM traffic"),
            *draw.y_axis(frame, upwards, y_marks, "FLOP/s", label=_power_label, room=50),
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
    total_ns = subject.use.total_ns
    columns = ("intensity", "achieved_flop_per_s", "roof_share_pct", "bound")
    rows = groups.select("group", "total_ns", *columns).iter_rows()
    return [_Dot(name, time / total_ns if total_ns else 0.0, *more) for name, time, *more in rows]


def _around(values: Sequence[float]) -> tuple[float, float]:
    """A range with room around the values, of some decades but not too many."""
    if not values:
        return 1.0, 1000.0
    low, high = min(values) / 2, max(values) * 2
    widen = max(1.0, math.sqrt(10**_MIN_DECADES / (high / low)))
    low, high = low / widen, high * widen
    return max(low, high / 10**_DECADES), high


def _power_label(value: float) -> str:
    """A power of ten with its prefix: `10 T`."""
    number, unit = units.rate(value, "").split(" ")
    return f"{draw.tick_label(float(number))} {unit.removesuffix('/s')}".strip()


def _roof_lines(
    frame: draw.Frame,
    across: draw.LogScale,
    upwards: draw.LogScale,
    roofs: dict[float, str],
    peaks: DevicePeaks | None,
) -> Iterator[draw.Shape]:
    """Flat roofs from where the memory stops to limit; one slope up to the highest of them."""
    bandwidth = peaks.dram_bytes_per_s if peaks else None
    roofs = {peak: name for peak, name in roofs.items() if upwards.low <= peak <= upwards.high}
    for peak in roofs:
        start = max(across.low, peak / bandwidth) if bandwidth else across.low
        y = upwards(peak)
        yield draw.Line(across(start), y, frame.right, y, draw.INK, 1.5)
    # Names stand beside the plot, moved down where two would touch.
    free = 0.0
    for peak, name in roofs.items():
        y = max(upwards(peak), free)
        yield draw.Line(frame.right, upwards(peak), frame.right + 8, y, draw.QUIET)
        yield draw.Label(frame.right + 12, y - 1, draw.cut_text(name, 11.5, _LABEL_ROOM - 20), 11.5)
        yield draw.Label(
            frame.right + 12, y + 13, units.brief_rate(peak, "FLOP"), 11.5, fill=draw.QUIET
        )
        free = y + 34
    if not bandwidth:
        return
    end = min(across.high, max(roofs, default=upwards.high) / bandwidth)
    start = max(across.low, upwards.low / bandwidth)
    if start >= end:
        return
    x1, y1 = across(start), upwards(start * bandwidth)
    x2, y2 = across(end), upwards(end * bandwidth)
    yield draw.Line(x1, y1, x2, y2, draw.INK, 1.5)
    label = f"DRAM {units.brief_rate(bandwidth, 'B')}"
    # Above the slope there is nothing; the label ends where the line is some way up.
    place = max(0.62, min(0.95, (draw.text_width(label, 11.5) + 20) / max(x2 - x1, 1.0)))
    x, y = x1 + place * (x2 - x1), y1 + place * (y2 - y1)
    yield draw.Label(x - 10, y, label, 11.5, "end", halo=draw.WASH)


def _circles(
    dots: Sequence[_Dot], numbered: Sequence[_Dot], across: draw.LogScale, upwards: draw.LogScale
) -> Iterator[draw.Shape]:
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
        yield draw.Circle(x, y, radius, dot.fill, draw.INK, 0.85, dot.tip)
    taken: list[tuple[float, float]] = []
    for number, dot in enumerate(numbered, 1):
        x, y = _number_place(places[dot], taken)
        taken.append((x, y))
        yield draw.Label(
            x, y + 4, str(number), 12, "middle", draw.BLACK, bold=True, halo=draw.WHITE
        )


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


def _key(numbered: Sequence[_Dot], top: float, width: float) -> Iterator[draw.Shape]:
    """The numbered kernels by name."""
    for number, dot in enumerate(numbered, 1):
        y = top + 19 * (number - 1) + 12
        label = f"{units.share(dot.share, 1)} of the time{dot.of_roof}"
        room = width - _LEFT - 10 - MARGIN - draw.text_width(label, 12) - 16
        yield draw.Label(_LEFT, y, str(number), 12, "end", bold=True)
        yield draw.Label(_LEFT + 10, y, draw.cut_text(dot.name, 12, room), 12)
        yield draw.Label(width - MARGIN, y, label, 12, "end", draw.QUIET)


def _legend(dots: Sequence[_Dot]) -> Iterator[draw.Shape]:
    x, y = float(_LEFT), HEAD + 16
    fills = {dot.bound: dot.fill for dot in dots}
    for bound, title in _LEGEND.items():
        if bound in fills:
            yield draw.Circle(x + 6, y - 4, 6, fills[bound], draw.INK, 0.85)
            yield draw.Label(x + 18, y, title, 11.5)
            x += 18 + draw.text_width(title, 11.5) + 16
    yield draw.Label(x, y, "area: share of the time", 11.5, fill=draw.QUIET)
