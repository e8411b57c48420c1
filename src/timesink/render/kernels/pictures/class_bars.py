"""Runs side by side: one bar each, divided by class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from timesink.analyses.kernel_calls.classes import CLASSES
from timesink.analyses.kernel_calls.usage import DeviceUse
from timesink.answers import kernel_words as words
from timesink.answers.kernel_words import axis_of_all
from timesink.model import units
from timesink.render.drawing.axes import Frame, x_axis
from timesink.render.drawing.colours import FAINT, INK, PAPER, QUIET, WASH, on_top_of
from timesink.render.drawing.lettering import telling_parts, text_width
from timesink.render.drawing.shapes import Drawing, Line, Rect, Shape, Text
from timesink.render.kernels.classes import CLASS_FILL, CLASS_HATCH, class_title
from timesink.render.kernels.pictures.legend import class_legend, legend_bottom
from timesink.render.kernels.pictures.subject import LINE, MARGIN, footnotes
from timesink.reports.kernels import KernelReport

WIDTH = 900
_Bar: TypeAlias = tuple[str, DeviceUse]
_HIGH, _GAP = 26, 12
_NAME_ROOM = 230
_TIME_ROOM = 84


def picture(reports: Sequence[KernelReport], width: float = WIDTH) -> Drawing:
    """Which share of its kernel time each run spends in each class."""
    bars = _bars(reports)
    left = MARGIN + max(text_width(name, 12) for name, _ in bars) + 10
    height = len(bars) * (_HIGH + _GAP) - _GAP
    legend = _legend(reports, bars, width)
    frame = Frame(left, legend_bottom(legend) + 36, width - left - _TIME_ROOM, height)
    foot = frame.bottom + 56
    notes = footnotes(_notes(reports), foot, width)
    title = "Kernel time by what it leaves unused"
    return Drawing(
        width=width,
        height=foot + LINE * len(notes) + (8 if notes else 0),
        shapes=(
            Text(MARGIN, 29, title, 15, bold=True),
            *legend,
            *_grid(frame),
            *(
                shape
                for place, (name, use) in enumerate(bars)
                for shape in _bar(frame, place, name, use)
            ),
            Text(frame.right + 10, frame.top - 8, "kernel time", 11, fill=QUIET),
            *x_axis(frame, frame.across(), range(0, 101, 20), "share of the kernel time, %"),
            *notes,
        ),
        title=title,
        description=" ".join(map(_sentence, bars)),
    )


def _bars(reports: Sequence[KernelReport]) -> list[_Bar]:
    """One for each device of each run, with its name."""
    named = words.device_rows(reports)
    names = telling_parts([name for name, _ in named], 12, _NAME_ROOM)
    return [(name, use) for name, (_, use) in zip(names, named, strict=True)]


def _legend(reports: Sequence[KernelReport], bars: Sequence[_Bar], width: float) -> list[Shape]:
    axis = axis_of_all(reports)
    entries = {
        name: f"{class_title(name, axis)} ({words.MEANINGS[name]})"
        for name in CLASSES
        if name != "unknown" or any(use.class_share[name] for _, use in bars)
    }
    if "unknown" in entries:
        entries["unknown"] = class_title("unknown", axis)
    return class_legend(entries, MARGIN, 54, width - MARGIN)


def _grid(frame: Frame) -> list[Shape]:
    across = frame.across()
    return [
        Line(across(mark), frame.top - 4, across(mark), frame.bottom + 4, FAINT)
        for mark in range(0, 101, 20)
    ]


def _bar(frame: Frame, place: int, name: str, use: DeviceUse) -> list[Shape]:
    top = frame.top + place * (_HIGH + _GAP)
    line = top + _HIGH / 2 + 4
    shapes: list[Shape] = [
        Text(frame.left - 10, line, name, 12, "end"),
        Text(frame.right + 10, line, units.brief_ns(use.total_ns), 12),
    ]
    reached = 0.0
    for key in CLASSES:
        share = use.class_share[key]
        if share:
            part = Frame(frame.left + reached * frame.width, top, share * frame.width, _HIGH)
            shapes += _part(part, key, use, share)
        reached += share
    if not reached:
        shapes.append(Rect(frame.left, top, frame.width, _HIGH, WASH))
        shapes.append(Text(frame.left + 8, line, "no kernel time", 12, fill=QUIET))
    return shapes


def _part(part: Frame, key: str, use: DeviceUse, share: float) -> list[Shape]:
    fill, hatch = CLASS_FILL[key], CLASS_HATCH[key]
    shown = units.share(share, 1)
    tip = f"{class_title(key, use.axis)}: {shown}"
    shapes: list[Shape] = [
        Rect(part.left, part.top, part.width, part.height, fill, hatch=hatch, tip=tip)
    ]
    fitting = [
        label
        for label in (shown, f"{100 * share:.0f} %")
        if text_width(label, 12, bold=True) + 6 <= part.width
    ]
    if fitting:
        middle, line = part.left + part.width / 2, part.top + part.height / 2 + 4
        colour, halo = (INK, PAPER) if hatch else (on_top_of(fill), None)
        shapes.append(Text(middle, line, fitting[0], 12, "middle", colour, bold=True, halo=halo))
    return shapes


def _notes(reports: Sequence[KernelReport]) -> list[str]:
    notes = [f"Low: below {units.share(reports[0].thresholds.low, 1)} of the peak."]
    axes = {use.axis for report in reports for use in report.devices}
    if "tensor" in axes:
        which = "Runs" if len(axes) == 1 else "Some runs"
        notes.append(
            f"{which} without a counter of the SM: the tensor pipe stands for it, so both low is"
            " too large."
        )
    sampled = [
        name
        for name, report in zip(words.run_names(reports), reports, strict=True)
        if report.sampling
    ]
    if sampled:
        notes.append(f"Samples, so their shares are estimates: {', '.join(sampled)}.")
    return notes


def _sentence(bar: _Bar) -> str:
    name, use = bar
    shares = (
        f"{class_title(key, use.axis)} {units.share(share, 1)}"
        for key, share in use.class_share.items()
        if share
    )
    return f"{name}: {', '.join(shares) or 'no kernel time'}."
