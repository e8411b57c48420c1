"""Axes of a plot: marks, their labels and a title."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from timesink.render.drawing.colours import FAINT, QUIET
from timesink.render.drawing.scales import Linear, Log
from timesink.render.drawing.shapes import Line, Rect, Shape, Text

LABEL_SIZE = 11
TITLE_SIZE = 12
_MARK = 4


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a plot lies on the sheet."""

    left: float
    top: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.left + self.width

    @property
    def bottom(self) -> float:
        return self.top + self.height

    def outline(self) -> Rect:
        return Rect(self.left, self.top, self.width, self.height, stroke=QUIET)

    def across(self, low: float = 0, high: float = 100) -> Linear:
        return Linear(low, high, self.left, self.right)

    def upwards(self, low: float = 0, high: float = 100) -> Linear:
        return Linear(low, high, self.bottom, self.top)


def tick_label(value: float) -> str:
    """A mark's value, with no more digits than it has.

    >>> tick_label(20.0), tick_label(0.5), tick_label(1500)
    ('20', '0.5', '1 500')
    """
    return f"{value:,.10g}".replace(",", " ")


def x_axis(
    frame: Frame,
    scale: Linear | Log,
    ticks: Iterable[float],
    title: str,
    label: Callable[[float], str] = tick_label,
) -> list[Shape]:
    """Marks and labels under a plot, its title under them."""
    shapes: list[Shape] = []
    for value in ticks:
        x = scale(value)
        shapes.append(Line(x, frame.bottom, x, frame.bottom + _MARK, QUIET))
        shapes.append(Text(x, frame.bottom + 17, label(value), LABEL_SIZE, "middle", QUIET))
    middle = frame.left + frame.width / 2
    shapes.append(Text(middle, frame.bottom + 36, title, TITLE_SIZE, "middle"))
    return shapes


def y_axis(
    frame: Frame,
    scale: Linear | Log,
    ticks: Iterable[float],
    title: str = "",
    *,
    label: Callable[[float], str] = tick_label,
    room: float = 34,
) -> list[Shape]:
    """Marks and labels to the left of a plot; its title, turned, `room` pixels further."""
    shapes: list[Shape] = []
    for value in ticks:
        y = scale(value)
        shapes.append(Line(frame.left - _MARK, y, frame.left, y, QUIET))
        shapes.append(Text(frame.left - 7, y + 4, label(value), LABEL_SIZE, "end", QUIET))
    if title:
        middle = frame.top + frame.height / 2
        shapes.append(Text(frame.left - room, middle, title, TITLE_SIZE, "middle", upright=True))
    return shapes


def grid(
    frame: Frame,
    across: Iterable[float] = (),
    upwards: Iterable[float] = (),
) -> list[Shape]:
    """Faint lines at pixels `across` (upright ones) and `upwards` (level ones)."""
    upright: list[Shape] = [Line(x, frame.top, x, frame.bottom, FAINT) for x in across]
    return upright + [Line(frame.left, y, frame.right, y, FAINT) for y in upwards]
