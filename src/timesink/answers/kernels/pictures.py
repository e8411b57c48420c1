"""Pictures of how well kernels use the hardware: which to draw, and runs side by side as bars."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from timesink.analyses.kernels.calls import has_counters
from timesink.analyses.kernels.usage import CLASSES, DeviceUse
from timesink.answers.kernels import words
from timesink.answers.kernels.picture_sheet import (
    CLASS_FILL,
    CLASS_HATCH,
    MARGIN,
    Subject,
    class_legend,
    legend_bottom,
    sheet,
)
from timesink.answers.kernels.report import KernelReport, no_counters
from timesink.answers.kernels.roofline_picture import roofline_picture
from timesink.answers.kernels.use_pictures import density_picture, metrics_of, strip_picture
from timesink.errors import NotFoundError
from timesink.model import units
from timesink.output.blocks import Picture
from timesink.output.drawing import (
    FAINT,
    INK,
    PAPER,
    QUIET,
    WASH,
    Drawing,
    Frame,
    Label,
    Line,
    Rect,
    Shape,
    on_top_of,
    side_by_side,
    stacked,
    telling_parts,
    text_width,
    x_axis,
)
from timesink.output.pictures import picture

PICTURES = ("density", "strip", "classes", "roofline")
_ONE_DEVICE: dict[str, tuple[Callable[[Subject], Drawing], int]] = {
    "density": (density_picture, 3),
    "strip": (strip_picture, 1),
    "roofline": (roofline_picture, 2),
}
"""Pictures of one device, and how many stand in a row."""
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
    drawn, in_a_row = _ONE_DEVICE[name]
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
