"""A drawing as PNG on light paper, for `kernels -o FILE.png`: the same shapes as in the SVG.

It needs Pillow, which is no part of the plain installation and brings the one font of these files.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, singledispatchmethod
from io import BytesIO
from math import hypot
from typing import TYPE_CHECKING

from timesink.errors import OutputError
from timesink.output.drawing import (
    PAPER,
    Circle,
    Colour,
    Drawing,
    Label,
    Line,
    Point,
    Polygon,
    Rect,
    Segment,
    hatch_lines,
    rgb,
)
from timesink.output.names import printable

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont, ImageFont

_FINER = 3
"""Drawn that much larger and then made smaller, which smooths the edges."""
_ANCHORS = {"start": "ls", "middle": "ms", "end": "rs"}


def to_png(drawing: Drawing, scale: float = 2) -> bytes:
    """The drawing as a PNG file of `scale` pixels per unit of length."""
    try:
        from PIL import Image, ImageDraw  # noqa: PLC0415 - optional
    except ImportError as error:
        raise OutputError(
            "PNG needs Pillow, which is not installed",
            "pip install 'timesink[png]', or write SVG: -o NAME.svg",
        ) from error
    size = (round(drawing.width * scale), round(drawing.height * scale))
    large = Image.new("RGB", (size[0] * _FINER, size[1] * _FINER), rgb(PAPER.light))
    # In this mode what is drawn is mixed with what lies below.
    pen = _PngPen(ImageDraw.Draw(large, "RGBA"), scale * _FINER)
    for shape in drawing.shapes:
        pen.draw(shape)
    buffer = BytesIO()
    large.reduce(_FINER).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


class _PngPen:
    """Draws shapes on an image that is `scale` times as large as the drawing."""

    def __init__(self, image: ImageDraw, scale: float) -> None:
        self._image = image
        self._scale = scale

    @singledispatchmethod
    def draw(self, shape: object) -> None:
        raise TypeError(f"{type(shape).__name__} is no shape")

    @draw.register
    def _(self, shape: Rect) -> None:
        corners = self._pixels(shape.x, shape.y, shape.x + shape.width, shape.y + shape.height)
        left, top, right, bottom = corners
        # The last row and column belong to the neighbour.
        box = (left, top, max(right - 1, left), max(bottom - 1, top))
        if shape.fill:
            self._image.rectangle(box, fill=rgb(shape.fill.light))
        if shape.hatch:
            for segment in hatch_lines(shape, shape.hatch):
                self._segment(segment, shape.hatch.stroke, shape.hatch.width)
        if shape.stroke:
            self._image.rectangle(box, outline=rgb(shape.stroke.light), width=self._thickness(1))

    @draw.register
    def _(self, shape: Line) -> None:
        for segment in _dashes(shape):
            self._segment(segment, shape.stroke, shape.width)

    @draw.register
    def _(self, shape: Polygon) -> None:
        points: list[Point] = [(x * self._scale, y * self._scale) for x, y in shape.points]
        self._image.polygon(points, fill=rgb(shape.fill.light))

    @draw.register
    def _(self, shape: Circle) -> None:
        x, y, radius = shape.x, shape.y, shape.radius
        fill = (*rgb(shape.fill.light), round(255 * shape.opacity))
        self._image.ellipse(
            self._pixels(x - radius, y - radius, x + radius, y + radius),
            fill=fill,
            outline=rgb(shape.stroke.light) if shape.stroke else None,
            width=self._thickness(1) if shape.stroke else 0,
        )

    @draw.register
    def _(self, shape: Label) -> None:
        text, font = printable(shape.text), _font(shape.size * self._scale)
        anchor, colour = _ANCHORS[shape.anchor], rgb(shape.fill.light)
        x, y = shape.x * self._scale, shape.y * self._scale
        if shape.upright:
            from PIL import Image, ImageDraw  # noqa: PLC0415 - optional

            room = round(font.getlength(text) + 4 * self._scale)
            line = round(2 * shape.size * self._scale)
            mask = Image.new("L", (room, line), 0)
            start = {"start": 0, "middle": room / 2, "end": room}[shape.anchor]
            ImageDraw.Draw(mask).text((start, line / 2), text, 255, font, anchor)
            corner = (round(x - line / 2), round(y - (room - start)))
            self._image.bitmap(corner, mask.rotate(90, expand=True), fill=colour)
            return
        # The font has one weight: a thin line around the letters makes them bold.
        heavier = self._thickness(shape.size / 45) if shape.bold else 0
        strokes = [(colour, heavier)]
        if shape.halo:
            strokes.insert(0, (rgb(shape.halo.light), self._thickness(1.5)))
        for fill, width in strokes:
            self._image.text((x, y), text, fill, font, anchor, stroke_width=width, stroke_fill=fill)

    def _segment(self, segment: Segment, stroke: Colour, width: float) -> None:
        x1, y1, x2, y2 = self._pixels(*segment)
        self._image.line((x1, y1, x2, y2), fill=rgb(stroke.light), width=self._thickness(width))

    def _pixels(self, *lengths: float) -> tuple[int, int, int, int]:
        first, second, third, fourth = (round(length * self._scale) for length in lengths)
        return first, second, third, fourth

    def _thickness(self, width: float) -> int:
        return max(1, round(width * self._scale))


@lru_cache(maxsize=32)
def _font(size: float) -> FreeTypeFont | ImageFont:
    from PIL import ImageFont  # noqa: PLC0415 - optional

    return ImageFont.load_default(size)


def _dashes(line: Line) -> Iterator[Segment]:
    """The drawn parts of a line."""
    length = hypot(line.x2 - line.x1, line.y2 - line.y1)
    if not line.dash or not length:
        yield (line.x1, line.y1, line.x2, line.y2)
        return
    right, down = (line.x2 - line.x1) / length, (line.y2 - line.y1) / length
    drawn, left_out = line.dash
    start = 0.0
    while start < length:
        end = min(start + drawn, length)
        yield (
            line.x1 + right * start,
            line.y1 + down * start,
            line.x1 + right * end,
            line.y1 + down * end,
        )
        start += drawn + left_out
