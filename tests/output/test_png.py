"""Drawings as PNG."""

from __future__ import annotations

import sys
from io import BytesIO

import pytest

from timesink.errors import OutputError
from timesink.output.drawing import (
    Circle,
    Colour,
    Drawing,
    Hatch,
    Label,
    Line,
    Polygon,
    Rect,
    Shape,
)
from timesink.output.png import to_png

Pixel = tuple[int, int, int]
RED, BLUE, BLACK = (Colour(code, code) for code in ("#ff0000", "#0000ff", "#000000"))
WHITE: Pixel = (255, 255, 255)


def pixels(*shapes: Shape, size: int = 20) -> dict[tuple[int, int], Pixel]:
    """Colour by place, one pixel per unit of length."""
    image = pytest.importorskip("PIL.Image")
    opened = image.open(BytesIO(to_png(Drawing(size, size, shapes, "A title"), scale=1)))
    assert opened.size == (size, size)
    return {(x, y): opened.getpixel((x, y)) for x in range(size) for y in range(size)}


def dark(image: dict[tuple[int, int], Pixel]) -> list[tuple[int, int]]:
    return [place for place, colour in image.items() if sum(colour) < 380]


def test_neighbours_touch_and_do_not_overlap():
    image = pixels(Rect(0, 0, 7, 20, RED), Rect(7, 0, 5, 20, BLUE))
    assert [image[x, 3] for x in (0, 6, 7, 11, 12)] == [
        *((255, 0, 0), (255, 0, 0), (0, 0, 255), (0, 0, 255)),
        WHITE,
    ]


def test_a_hatch_covers_part_of_its_rectangle():
    places = dark(pixels(Rect(0, 0, 20, 10, hatch=Hatch(BLACK, gap=5, width=2))))
    assert 40 < len(places) < 130
    assert max(y for _, y in places) <= 10


def test_a_dashed_line_has_gaps():
    image = pixels(Line(0, 10, 20, 10, BLACK, 2, dash=(5, 5)))
    assert [sum(image[x, 10]) < 380 for x in (2, 7, 12, 17)] == [True, False, True, False]


def test_what_is_seen_through_is_mixed():
    red, green, blue = pixels(Circle(10, 10, 8, BLUE, opacity=0.5))[10, 10]
    assert 110 < red == green < 145
    assert blue == 255


def test_polygons_are_filled():
    image = pixels(Polygon(((0, 0), (20, 0), (0, 20)), BLACK))
    assert sum(image[3, 3]) == 0
    assert image[17, 17] == WHITE


@pytest.mark.parametrize(("anchor", "left"), [("start", 30), ("middle", 15), ("end", 0)])
def test_text_is_anchored(anchor: str, left: int):
    places = dark(pixels(Label(30, 30, "mmm", 12, anchor, BLACK), size=60))  # type: ignore[arg-type]
    assert left - 2 <= min(x for x, _ in places) <= left + 4
    assert max(y for _, y in places) <= 31


def test_upright_text_reads_from_below():
    places = dark(pixels(Label(30, 30, "mmm", 12, "middle", BLACK, upright=True), size=60))
    across, up = ([place[axis] for place in places] for axis in (0, 1))
    assert max(up) - min(up) > max(across) - min(across)
    assert abs((max(up) + min(up)) / 2 - 30) <= 2


def test_bold_is_heavier_and_a_halo_clears_the_ground():
    plain, bold = (
        len(dark(pixels(Label(2, 15, "ml", 12, fill=BLACK, bold=is_bold))))
        for is_bold in (False, True)
    )
    assert bold > plain
    ground = Rect(0, 0, 20, 20, RED)
    paper = Colour("#ffffff", "#ffffff")
    with_halo = pixels(ground, Label(2, 15, "l", 12, fill=BLACK, halo=paper))
    assert WHITE in with_halo.values()


def test_letters_the_font_lacks_do_no_harm():
    assert to_png(Drawing(50, 20, (Label(2, 15, "\u65e5\u672c \x00"),), "A title"))


def test_without_pillow_the_way_out_is_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(OutputError) as raised:
        to_png(Drawing(10, 10, (), "A title"))
    assert "timesink[png]" in raised.value.hint
    assert ".svg" in raised.value.hint
