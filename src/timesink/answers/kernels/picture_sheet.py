"""What pictures of kernels share: the device they are about, title and notes, paint of classes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from timesink.analyses.kernels.usage import CLASSES, DeviceUse, of_device
from timesink.answers.kernels import words
from timesink.answers.kernels.report import KernelReport
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


@dataclass(frozen=True, eq=False)
class Subject:
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
        return words.run_name(self.report)

    @property
    def is_sample(self) -> bool:
        """Whether the launches stand for more."""
        return self.report.sampling is not None and self.report.sampling.every > 1

    def about(self) -> str:
        """What the device is, which of several, and how much was measured."""
        device = self.use.name
        if len(self.report.devices) > 1:
            number = words.device_name(self.report, self.use)
            device = f"{number} ({device})" if device else number
        calls = units.counted(self.use.calls, "kernel calls")
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
            yield f"{units.counted(self.use.untimed, 'calls')} without a duration left out."


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
    told = (*notes, *subject.notes())
    named = f"{title}; {subject.run}"
    return sheet(title, size, (under, *shapes), told, description=description, named=named)


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
    lines = [line for note in notes for line in _wrapped(note, width - 2 * MARGIN)]
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


def _wrapped(text: str, room: float) -> Iterator[str]:
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
    for name, told in entries.items():
        width = 17 + draw.text_width(told, 11.5)
        if x > MARGIN and x + width > right:
            x, line = MARGIN, line + 20
        shapes.append(
            draw.Rect(x, line - 10, 11, 11, CLASS_FILL[name], draw.FAINT, CLASS_HATCH[name])
        )
        shapes.append(draw.Label(x + 17, line, told, 11.5))
        x += width + 16
    return shapes


def legend_bottom(legend: Sequence[draw.Shape]) -> float:
    """Where its last line sits."""
    return max((shape.y for shape in legend if isinstance(shape, draw.Label)), default=0.0)


def some_percent(share: float) -> str:
    """A share that is not nothing, to begin a sentence with."""
    return "Less than 0.1 %" if share < 0.0005 else units.share(share, 1)
