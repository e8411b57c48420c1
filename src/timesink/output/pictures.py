"""A drawing as SVG: a file of its own, or a part of a page; and as PNG, on light paper.

PNG needs Pillow, which is no part of the plain installation.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, singledispatchmethod
from io import BytesIO
from math import hypot
from typing import TYPE_CHECKING

from timesink.errors import OutputError
from timesink.output.blocks import Picture
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
from timesink.output.names import in_html, printable

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont, ImageFont

_SPACE = "http://www.w3.org/2000/svg"
_FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def to_svg(drawing: Drawing, *, dark: bool = True) -> str:
    """The drawing as one SVG element with its title and description, for light and dark paper.

    Without `dark` the paper is light wherever it lies, as on a page with a switch of its own.
    """
    pen = _SvgPen()
    body = [pen.draw(shape) for shape in drawing.shapes]
    sheet = pen.draw(Rect(0, 0, drawing.width, drawing.height, PAPER))
    size = _numbers(width=drawing.width, height=drawing.height)
    box = f"0 0 {_number(drawing.width)} {_number(drawing.height)}"
    return "\n".join(
        [
            f'<svg xmlns="{_SPACE}" {size} viewBox="{box}" role="img" font-family="{_FONTS}">',
            f"<title>{in_html(drawing.title)}</title>",
            f"<desc>{in_html(drawing.description)}</desc>",
            pen.style(dark=dark),
            sheet,
            *body,
            "</svg>\n",
        ]
    )


def picture(drawing: Drawing) -> Picture:
    """A drawing as a block, with its own words; names of a trace are text in it."""
    # The drawing shows its title itself; who cannot see it hears the caption.  Its paper is light,
    # whatever the page is.
    return Picture("", to_svg(drawing, dark=False), drawing.description or drawing.title)


class _SvgPen:
    """Writes shapes as elements and remembers which colours they need.

    A colour that differs on dark paper is a class named after it: pictures on one page share the
    class without knowing of each other.
    """

    def __init__(self) -> None:
        self._rules: dict[str, tuple[str, Colour]] = {}

    def style(self, *, dark: bool) -> str:
        light, other = (
            "".join(
                f".{name}{{{what}:{getattr(colour, paper)}}}"
                for name, (what, colour) in self._rules.items()
            )
            for paper in ("light", "dark")
        )
        on_dark = f"@media (prefers-color-scheme:dark){{{other}}}" if dark else ""
        return f"<style>{light}{on_dark}</style>"

    @singledispatchmethod
    def draw(self, shape: object) -> str:
        raise TypeError(f"{type(shape).__name__} is no shape")

    @draw.register
    def _(self, shape: Rect) -> str:
        box = _numbers(x=shape.x, y=shape.y, width=shape.width, height=shape.height)
        colours = self._colours(shape.fill, shape.stroke)
        # Cells that touch must not show the sheet between them.
        rect = _element("rect", f'{box} {colours} shape-rendering="crispEdges"', shape.tip)
        if shape.hatch is None:
            return rect
        path = "".join(
            f"M{_number(x1)} {_number(y1)}L{_number(x2)} {_number(y2)}"
            for x1, y1, x2, y2 in hatch_lines(shape, shape.hatch)
        )
        lines = self._colours(None, shape.hatch.stroke)
        return f'{rect}<path d="{path}" {lines} stroke-width="{_number(shape.hatch.width)}"/>'

    @draw.register
    def _(self, shape: Line) -> str:
        ends = _numbers(x1=shape.x1, y1=shape.y1, x2=shape.x2, y2=shape.y2)
        more = self._colours(None, shape.stroke)
        if shape.width != 1:
            more += f' stroke-width="{_number(shape.width)}"'
        if shape.dash:
            more += f' stroke-dasharray="{" ".join(map(_number, shape.dash))}"'
        if shape.x1 == shape.x2 or shape.y1 == shape.y2:
            more += ' shape-rendering="crispEdges"'
        return f"<line {ends} {more}/>"

    @draw.register
    def _(self, shape: Polygon) -> str:
        points = " ".join(f"{_number(x)},{_number(y)}" for x, y in shape.points)
        return f'<polygon points="{points}" {self._colours(shape.fill, None)}/>'

    @draw.register
    def _(self, shape: Circle) -> str:
        place = _numbers(cx=shape.x, cy=shape.y, r=shape.radius)
        more = self._colours(shape.fill, shape.stroke)
        if shape.opacity != 1:
            more += f' fill-opacity="{_number(shape.opacity)}"'
        return _element("circle", f"{place} {more}", shape.tip)

    @draw.register
    def _(self, shape: Label) -> str:
        more = _numbers(x=shape.x, y=shape.y) + f' font-size="{_number(shape.size)}"'
        more += " " + self._colours(shape.fill, shape.halo)
        if shape.anchor != "start":
            more += f' text-anchor="{shape.anchor}"'
        if shape.bold:
            more += ' font-weight="600"'
        if shape.upright:
            more += f' transform="rotate(-90 {_number(shape.x)} {_number(shape.y)})"'
        if shape.halo:
            more += ' stroke-width="3" stroke-linejoin="round" paint-order="stroke"'
        return f"<text {more}>{in_html(shape.text)}</text>"

    def _colours(self, fill: Colour | None, stroke: Colour | None) -> str:
        """Attributes that paint: classes for what depends on the paper."""
        attributes: list[str] = []
        classes: list[str] = []
        if fill is None:
            attributes.append('fill="none"')
        for what, colour in (("fill", fill), ("stroke", stroke)):
            if colour is None:
                continue
            if colour.light == colour.dark:
                attributes.append(f'{what}="{colour.light}"')
            else:
                name = f"{what[0]}-{colour.light[1:]}-{colour.dark[1:]}"
                self._rules[name] = (what, colour)
                classes.append(name)
        if classes:
            attributes.append(f'class="{" ".join(classes)}"')
        return " ".join(attributes)


def _element(name: str, attributes: str, tip: str) -> str:
    if not tip:
        return f"<{name} {attributes}/>"
    return f"<{name} {attributes}><title>{in_html(tip)}</title></{name}>"


def _numbers(**named: float) -> str:
    return " ".join(f'{name}="{_number(value)}"' for name, value in named.items())


def _number(value: float) -> str:
    """As short as a hundredth of a pixel allows."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


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
