"""Which picture to draw: the one asked for, or the one that says most about the runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from timesink.analyses.kernel_calls.calls import has_counters
from timesink.answers import kernel_words as words
from timesink.errors import NotFoundError
from timesink.render.drawing.shapes import Drawing, side_by_side, stacked
from timesink.render.kernels.pictures import class_bars, density, roofline, strip
from timesink.render.kernels.pictures.subject import Subject, subjects
from timesink.reports.kernels import KernelReport
from timesink.reports.kernels.notes import no_counters

_WITH_TIMES = "record durations and utilisations with `timesink ncu -- PROGRAM`"
PICTURES = ("density", "strip", "classes", "roofline")
_ONE_DEVICE: dict[str, tuple[Callable[[Subject], Drawing], int]] = {
    "density": (density.picture, 3),
    "strip": (strip.picture, 1),
    "roofline": (roofline.picture, 2),
}
"""Pictures of one device, and how many stand in a row."""


def draw(reports: Sequence[KernelReport], name: str | None = None) -> Drawing:
    """The picture called `name`, of every device of every run.

    Without a name several runs are compared by their classes, and one run is shown by where its
    time lies and how it changes.
    """
    shown = [subject for report in reports for subject in subjects(report)]
    if not shown:
        raise NotFoundError(f"{words.run_name(reports[0])}: has no kernels to draw")
    if name is None:
        return _best(reports, shown)
    if name != "roofline":
        _check(shown, occupancy_will_do=name == "strip")
    if name == "classes":
        return class_bars.picture(reports)
    picture, in_a_row = _ONE_DEVICE[name]
    return _in_rows([picture(subject) for subject in shown], in_a_row)


def overview(subject: Subject) -> Drawing:
    """Where the time of a device lies, and beside it how that changes along the run."""
    left = density.picture(subject)
    rows = len(strip.metrics_of(subject))
    return side_by_side([left, strip.picture(subject, width=760, row=round(340 / rows))])


def _best(reports: Sequence[KernelReport], shown: Sequence[Subject]) -> Drawing:
    counted = [subject for subject in shown if words.has_utilisation(subject.use)]
    if not counted:
        return draw(reports, "strip")
    if len(reports) > 1:
        return class_bars.picture(reports)
    return _in_rows([overview(subject) for subject in counted], 1)


def _check(shown: Sequence[Subject], *, occupancy_will_do: bool) -> None:
    """Refuse to draw what no device knows."""
    known = any(words.has_utilisation(subject.use) for subject in shown)
    if not known and occupancy_will_do:
        known = any(strip.has_occupancy(subject) for subject in shown)
    if not known:
        report = shown[0].report
        hint = _WITH_TIMES if has_counters(report.trace) else no_counters(report.trace)
        raise NotFoundError(f"{shown[0].run}: has no utilisation to draw", hint)


def _in_rows(drawings: Sequence[Drawing], in_a_row: int) -> Drawing:
    rows = [drawings[start : start + in_a_row] for start in range(0, len(drawings), in_a_row)]
    return stacked([side_by_side(row) for row in rows])
