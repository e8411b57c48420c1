"""What a picture is made of: colours for light and dark paper, and shapes.

Colours are told from each other by their brightness alone.  Lengths are in pixels; y grows
downwards, text sits on its y.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Literal, TypeAlias

Rgb: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Colour:
    """What to paint with on light paper, and on dark paper; as `#rrggbb`."""

    light: str
    dark: str

    @property
    def fixed(self) -> bool:
        """Whether it is the same on any paper."""
        return self.light == self.dark


PAPER = Colour("#ffffff", "#16181d")
INK = Colour("#1d2129", "#e9ecf1")
QUIET = Colour("#5c6370", "#a3abb8")
FAINT = Colour("#dde1e7", "#383d47")
"""Grid lines and frames."""
WASH = Colour("#f4f6f9", "#1f232a")
"""Ground of a plot in which empty places should be seen."""
WHITE = Colour("#ffffff", "#ffffff")
BLACK = Colour("#1d2129", "#1d2129")

_BLUES = ("#dbe7f5", "#a6c8e6", "#5f9fd0", "#2a6fae", "#0b3c75", "#06214a")
_BLUES_ON_DARK = ("#22303f", "#27517a", "#2f77b0", "#5b9fd6", "#a5cdf0", "#eef6ff")
RAMP_STEPS = 24
"""Shades of a ramp: more would not be told apart."""


def ramp(part: float) -> Colour:
    """A shade for a part of the most: deeper for more, on dark paper brighter."""
    step = round(min(max(part, 0.0), 1.0) * (RAMP_STEPS - 1)) / (RAMP_STEPS - 1)
    return Colour(_between(_BLUES, step), _between(_BLUES_ON_DARK, step))


AREA = Colour("#3f7fbd", "#5b9fd6")
"""One series on its own."""


def on_top_of(fill: Colour) -> Colour:
    """What to write with on a fill that is the same on any paper."""
    return BLACK if luminance(fill.light) > 0.36 else WHITE


def luminance(colour: str) -> float:
    """How bright a colour is to the eye, from 0 (black) to 1 (white)."""
    red, green, blue = (_linear(part / 255) for part in rgb(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def rgb(colour: str) -> Rgb:
    """Red, green and blue of `#rrggbb`."""
    return (int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16))


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else float(((part + 0.055) / 1.055) ** 2.4)


def _between(stops: Sequence[str], part: float) -> str:
    place = part * (len(stops) - 1)
    first = min(int(place), len(stops) - 2)
    weight = place - first
    mixed = (
        round(low + (high - low) * weight)
        for low, high in zip(rgb(stops[first]), rgb(stops[first + 1]), strict=True)
    )
    return "#" + "".join(f"{part:02x}" for part in mixed)


# -- shapes ----------------------------------------------------------------------------------------


Anchor: TypeAlias = Literal["start", "middle", "end"]
Point: TypeAlias = tuple[float, float]
Segment: TypeAlias = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Hatch:
    """Slanted lines over a fill, so that it is known without its colour."""

    stroke: Colour
    gap: float = 6
    width: float = 1


@dataclass(frozen=True, slots=True)
class Rect:
    x: float
    y: float
    width: float
    height: float
    fill: Colour | None = None
    stroke: Colour | None = None
    hatch: Hatch | None = None
    tip: str = ""
    """Shown under the pointer, where a format can."""


@dataclass(frozen=True, slots=True)
class Line:
    x1: float
    y1: float
    x2: float
    y2: float
    stroke: Colour = INK
    width: float = 1
    dash: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Polygon:
    points: tuple[Point, ...]
    fill: Colour


@dataclass(frozen=True, slots=True)
class Circle:
    x: float
    y: float
    radius: float
    fill: Colour
    stroke: Colour | None = None
    opacity: float = 1
    tip: str = ""


@dataclass(frozen=True, slots=True)
class Label:
    x: float
    y: float
    text: str
    size: float = 12
    anchor: Anchor = "start"
    fill: Colour = INK
    bold: bool = False
    upright: bool = False
    """Turned to be read from below."""
    halo: Colour | None = None
    """Drawn around the letters, so that they are read on any ground."""


Shape: TypeAlias = Rect | Line | Polygon | Circle | Label


@dataclass(frozen=True, slots=True)
class Drawing:
    """Shapes on a sheet, the first at the bottom, and what they show in words."""

    width: float
    height: float
    shapes: tuple[Shape, ...]
    title: str
    description: str = ""


def side_by_side(drawings: Sequence[Drawing]) -> Drawing:
    """Drawings on one sheet, from left to right."""
    starts = [0.0, *accumulate(drawing.width for drawing in drawings)]
    return _together(drawings, [(start, 0) for start in starts])


def stacked(drawings: Sequence[Drawing]) -> Drawing:
    """Drawings on one sheet, from top to bottom."""
    starts = [0.0, *accumulate(drawing.height for drawing in drawings)]
    return _together(drawings, [(0, start) for start in starts])


def _together(drawings: Sequence[Drawing], places: Sequence[Point]) -> Drawing:
    """Each drawing at its place; the last place is where the next one would be."""
    return Drawing(
        width=places[-1][0] or max(drawing.width for drawing in drawings),
        height=places[-1][1] or max(drawing.height for drawing in drawings),
        shapes=tuple(
            _moved(shape, *place)
            for drawing, place in zip(drawings, places, strict=False)
            for shape in drawing.shapes
        ),
        title="; ".join(drawing.title for drawing in drawings),
        description=" ".join(d.description for d in drawings if d.description),
    )


def _moved(shape: Shape, right: float, down: float) -> Shape:
    if isinstance(shape, Polygon):
        return replace(shape, points=tuple((x + right, y + down) for x, y in shape.points))
    if isinstance(shape, Line):
        (x1, x2), (y1, y2) = (shape.x1, shape.x2), (shape.y1, shape.y2)
        return replace(shape, x1=x1 + right, y1=y1 + down, x2=x2 + right, y2=y2 + down)
    return replace(shape, x=shape.x + right, y=shape.y + down)


def hatch_lines(rect: Rect, hatch: Hatch) -> list[Segment]:
    """Slanted segments inside a rectangle; drawn one by one, they look alike in every format.

    Their places do not depend on where it begins, so the lines of neighbours meet.
    """
    left, right = rect.x, rect.x + rect.width
    top, bottom = rect.y, rect.y + rect.height
    segments = []
    # Rising lines have x + y = place.
    first, last = (left + top) / hatch.gap, (right + bottom) / hatch.gap
    for number in range(math.floor(first) + 1, math.ceil(last)):
        place = number * hatch.gap
        x1, x2 = max(left, place - bottom), min(right, place - top)
        segments.append((x1, place - x1, x2, place - x2))
    return segments
