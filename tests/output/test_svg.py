"""Drawings as SVG."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from msgspec.structs import replace

from timesink.output.drawing import (
    FAINT,
    INK,
    WHITE,
    Circle,
    Drawing,
    Hatch,
    Label,
    Line,
    Polygon,
    Rect,
    Shape,
    side_by_side,
    stack_drawings,
)
from timesink.output.pictures import picture, to_svg

SPACE = "{http://www.w3.org/2000/svg}"
ALL: tuple[Shape, ...] = (
    Rect(0, 0, 10, 10, INK, FAINT, Hatch(WHITE), tip="a rectangle"),
    Line(0, 0, 5, 5, dash=(2, 1)),
    Polygon(((0, 0), (1, 0), (1, 1)), INK),
    Circle(4, 4, 2, INK, WHITE, 0.5, "a circle"),
    Label(1, 9, "words", 9, "end", upright=True, bold=True, halo=WHITE),
)


def svg_root(*shapes: Shape, title: str = "A title") -> ET.Element:
    drawing = Drawing(20, 10, shapes, title, "What it shows")
    return ET.fromstring(to_svg(drawing))  # noqa: S314 - our own text


def child_element(root: ET.Element, name: str) -> ET.Element:
    element = root.find(f"{SPACE}{name}")
    assert element is not None
    return element


def test_it_says_what_it_shows():
    root = svg_root(*ALL)
    assert root.attrib["role"] == "img"
    assert child_element(root, "title").text == "A title"
    assert child_element(root, "desc").text == "What it shows"


def test_every_shape_is_drawn():
    names = [element.tag.removeprefix(SPACE) for element in svg_root(*ALL)]
    drawn = ["rect", "rect", "path", "line", "polygon", "circle", "text"]  # the sheet comes first
    assert names == ["title", "desc", "style", *drawn]


def test_shapes_say_what_they_are_under_the_pointer():
    root = svg_root(*ALL)
    assert [title.text for title in root.findall(f"*/{SPACE}title")] == ["a rectangle", "a circle"]


@pytest.mark.parametrize("text", ["</text><script>", "a & b", "\x00\x1b", "\u202e", '"', "\ud800"])
def test_text_of_recordings_is_no_markup(text: str):
    root = svg_root(Label(0, 0, text), Rect(0, 0, 1, 1, tip=text), title=text)
    label = child_element(root, "text").text or ""
    assert label.isprintable()
    assert not root.findall(f".//{SPACE}script")


def test_colours_follow_the_paper():
    style = child_element(svg_root(Label(0, 0, "a")), "style").text or ""
    light, dark = style.split("@media (prefers-color-scheme:dark)")
    assert f"fill:{INK.light}" in light
    assert f"fill:{INK.dark}" in dark


def test_colours_that_do_not_are_plain_attributes():
    assert child_element(svg_root(Circle(1, 1, 1, WHITE)), "circle").attrib["fill"] == "#ffffff"


def test_numbers_are_short():
    line = child_element(svg_root(Line(1 / 3, -0.001, -0.5, 10)), "line")
    assert [line.attrib[name] for name in ("x1", "y1", "x2", "y2")] == ["0.33", "0", "-0.5", "10"]


def test_nothing_is_loaded():
    assert to_svg(Drawing(20, 10, ALL, "A title")).count("http") == 1  # the name of the format


def test_sheets_are_put_together():
    first, second = Drawing(10, 20, ALL, "a", "A."), Drawing(30, 5, ALL, "b", "B.")
    beside, below = side_by_side([first, second]), stack_drawings([first, second])
    assert (beside.width, beside.height) == (40, 20)
    assert (below.width, below.height) == (30, 25)
    assert beside.title == "a; b"
    assert below.description == "A. B."
    rect, line, polygon, circle, label = beside.shapes[len(ALL) :]
    assert (rect, label) == (replace(ALL[0], x=10), replace(ALL[4], x=11))
    assert line == replace(ALL[1], x1=10, x2=15)
    assert polygon == replace(ALL[2], points=((10, 0), (11, 0), (11, 1)))
    assert circle == replace(ALL[3], x=14)
    _, line, polygon, _, label = below.shapes[len(ALL) :]
    assert line == replace(ALL[1], y1=20, y2=25)
    assert polygon == replace(ALL[2], points=((0, 20), (1, 20), (1, 21)))
    assert label == replace(ALL[4], y=29)


def test_a_drawing_is_a_block_on_light_paper():
    block = picture(Drawing(100, 40, (Label(50, 25, "a<b"),), "Nothing"))
    assert ("a&lt;b" in block.svg, block.caption) == (True, "Nothing")
    assert "prefers-color-scheme" not in block.svg
