"""What a picture is made of. Lengths are in pixels; y grows downwards, text sits on its y."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from timesink.render.drawing.colours import INK, Colour

Anchor: TypeAlias = Literal["start", "middle", "end"]
Point: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Hatch:
    """Slanted lines over a fill, so that it is known without its colour."""

    stroke: Colour
    gap: float = 6
    width: float = 1
    falling: bool = False


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

    def moved(self, right: float, down: float) -> Rect:
        return replace(self, x=self.x + right, y=self.y + down)


@dataclass(frozen=True, slots=True)
class Line:
    x1: float
    y1: float
    x2: float
    y2: float
    stroke: Colour = INK
    width: float = 1
    dash: tuple[float, float] | None = None

    def moved(self, right: float, down: float) -> Line:
        return replace(
            self, x1=self.x1 + right, y1=self.y1 + down, x2=self.x2 + right, y2=self.y2 + down
        )


@dataclass(frozen=True, slots=True)
class Polygon:
    points: tuple[Point, ...]
    fill: Colour

    def moved(self, right: float, down: float) -> Polygon:
        return replace(self, points=tuple((x + right, y + down) for x, y in self.points))


@dataclass(frozen=True, slots=True)
class Circle:
    x: float
    y: float
    radius: float
    fill: Colour
    stroke: Colour | None = None
    opacity: float = 1
    tip: str = ""

    def moved(self, right: float, down: float) -> Circle:
        return replace(self, x=self.x + right, y=self.y + down)


@dataclass(frozen=True, slots=True)
class Text:
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

    def moved(self, right: float, down: float) -> Text:
        return replace(self, x=self.x + right, y=self.y + down)


Shape: TypeAlias = Rect | Line | Polygon | Circle | Text


@dataclass(frozen=True, slots=True)
class Drawing:
    """Shapes on a sheet, the first at the bottom, and what they show in words."""

    width: float
    height: float
    shapes: tuple[Shape, ...]
    title: str
    description: str = ""


def side_by_side(drawings: Sequence[Drawing], gap: float = 0) -> Drawing:
    """Drawings on one sheet, from left to right.

    >>> one = Drawing(100, 50, (Text(5, 20, "a"),), "first")
    >>> both = side_by_side([one, one], gap=10)
    >>> both.width, both.height, [shape.x for shape in both.shapes]
    (210, 50, [5, 115])
    """
    return _together(drawings, gap, rightwards=True)


def stacked(drawings: Sequence[Drawing], gap: float = 0) -> Drawing:
    """Drawings on one sheet, from top to bottom.

    >>> one = Drawing(100, 50, (), "first")
    >>> stacked([one, one]).height
    100
    """
    return _together(drawings, gap, rightwards=False)


def _together(drawings: Sequence[Drawing], gap: float, *, rightwards: bool) -> Drawing:
    shapes: list[Shape] = []
    place: float = 0
    for drawing in drawings:
        by = (place, 0) if rightwards else (0, place)
        shapes += (shape.moved(*by) for shape in drawing.shapes)
        place += gap + (drawing.width if rightwards else drawing.height)
    place -= gap
    across = max(drawing.height if rightwards else drawing.width for drawing in drawings)
    return Drawing(
        width=place if rightwards else across,
        height=across if rightwards else place,
        shapes=tuple(shapes),
        title="; ".join(drawing.title for drawing in drawings),
        description=" ".join(d.description for d in drawings if d.description),
    )
