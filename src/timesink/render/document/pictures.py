"""Drawings of kernels as blocks, each on paper of its own: light, whatever the page is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from timesink.output.blocks import Picture
from timesink.render.drawing.shapes import Drawing
from timesink.render.drawing.svg import to_svg
from timesink.render.kernels import words
from timesink.render.kernels.pictures import class_bars, density, roofline, strip
from timesink.render.kernels.pictures.subject import Subject
from timesink.reports.kernels import KernelReport

_BESIDE = 464
"""Width of a picture beside the density, so that both fill a line of the page."""
_WHOLE = 1008
_ROWS = 340
"""Height of all rows of a strip beside the density."""


def picture(drawing: Drawing) -> Picture:
    """A drawing with its own words; names of a trace are text in it.

    >>> from timesink.render.drawing.shapes import Text
    >>> "a&lt;b" in picture(Drawing(100, 40, (Text(50, 25, "a<b"),), "Nothing")).svg
    True
    """
    # The drawing shows its title itself; who cannot see it hears the caption.
    return Picture("", to_svg(drawing, dark=False), drawing.description or drawing.title)


def device_pictures(subject: Subject) -> Iterator[Picture]:
    """What can be drawn of a device: where its time lies, against roofs, and along the run."""
    if not words.has_utilisation(subject.use):
        if strip.has_occupancy(subject):
            yield picture(strip.picture(subject, _WHOLE))
        return
    yield picture(density.picture(subject))
    if subject.report.roofline is None:
        high = round(_ROWS / len(strip.metrics_of(subject)))
        yield picture(strip.picture(subject, _BESIDE, high))
        return
    yield picture(roofline.picture(subject, _BESIDE))
    yield picture(strip.picture(subject, _WHOLE))


def class_picture(reports: Sequence[KernelReport]) -> Iterator[Picture]:
    """The classes of several runs, a bar each; nothing where no run has counters."""
    if any(words.has_utilisation(use) for report in reports for use in report.devices):
        yield picture(class_bars.picture(reports, _WHOLE))
