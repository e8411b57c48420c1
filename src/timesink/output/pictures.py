"""A drawing as SVG: a file of its own, or a part of a page."""

from __future__ import annotations

from functools import singledispatchmethod

from timesink.output.blocks import Picture
from timesink.output.drawing import (
    PAPER,
    Circle,
    Colour,
    Drawing,
    Label,
    Line,
    Polygon,
    Rect,
    hatch_lines,
)
from timesink.output.names import in_html

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
