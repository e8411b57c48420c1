"""What a picture is about: one device of one run, and the words at its head and foot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from timesink.analyses.kernel_calls.usage import DeviceUse, of_device
from timesink.answers import kernel_words as words
from timesink.model import units
from timesink.render.drawing.colours import QUIET
from timesink.render.drawing.lettering import cut_middle, cut_text, text_width
from timesink.render.drawing.shapes import Shape, Text
from timesink.reports.kernels import KernelReport

TITLE_SIZE = 15
TEXT_SIZE = 12
HEAD = 58
"""Pixels the title and the line under it take."""
LINE = 17
MARGIN = 20


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
    def device(self) -> str:
        """What the device is, and which of several; empty where nothing is known."""
        if len(self.report.devices) == 1:
            return self.use.name
        number = words.device_name(self.report, self.use)
        return f"{number} ({self.use.name})" if self.use.name else number

    @property
    def facts(self) -> str:
        """How much was measured."""
        calls = units.counted(self.use.calls, "kernel calls")
        time = units.brief_ns(self.use.total_ns)
        return f"{calls} seen, about {time} in all" if self.is_sample else f"{calls}, {time}"

    @property
    def is_sample(self) -> bool:
        """Whether the launches stand for more."""
        return self.report.sampling is not None and self.report.sampling.every > 1

    @property
    def notes(self) -> list[str]:
        """What a reader must know about the numbers."""
        notes = []
        sampling = self.report.sampling
        if sampling and self.is_sample:
            which = "launches of each kernel" if sampling.per == "kernel" else "launches"
            notes.append(f"A sample: 1 in {sampling.every} {which}; times are estimates.")
        if self.use.untimed:
            calls = units.counted(self.use.untimed, "calls")
            notes.append(f"{calls} without a duration left out.")
        return notes


def subjects(report: KernelReport) -> list[Subject]:
    """Each device of a run."""
    return [Subject(report, use) for use in report.devices]


def heading(subject: Subject, title: str, width: float) -> list[Shape]:
    """Title of a picture and, under it, what it shows."""
    room = width - 2 * MARGIN
    rest = ", ".join(filter(None, (subject.device, subject.facts)))
    left = room - text_width(f": {rest}", TEXT_SIZE)
    run = cut_middle(subject.run, TEXT_SIZE, max(left, room / 3))
    about = f"{run}: {rest}"
    return [
        Text(MARGIN, 29, title, TITLE_SIZE, bold=True),
        Text(MARGIN, 48, cut_text(about, TEXT_SIZE, room), TEXT_SIZE, fill=QUIET),
    ]


def footnotes(notes: Sequence[str], top: float, width: float) -> list[Shape]:
    """Small lines at the foot of a picture, one per note or more where it is long."""
    lines = [line for note in notes for line in _wrapped(note, width - 2 * MARGIN)]
    return [
        Text(MARGIN, top + LINE * number + 11, line, 11, fill=QUIET)
        for number, line in enumerate(lines)
    ]


def some_percent(share: float) -> str:
    """A share that is not nothing, to begin a sentence with.

    >>> some_percent(0.309), some_percent(0.0002)
    ('30.9 %', 'Less than 0.1 %')
    """
    return "Less than 0.1 %" if share < 0.0005 else units.share(share, 1)


def _wrapped(text: str, room: float) -> Iterator[str]:
    line = ""
    for word in text.split():
        longer = f"{line} {word}".strip()
        if line and text_width(longer, 11) > room:
            yield line
            longer = word
        line = longer
    if line:
        yield cut_text(line, 11, room)
