"""Marks on axes, and the room that text takes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from timesink.output.drawing import (
    BLACK,
    INK,
    WHITE,
    Colour,
    Hatch,
    LogScale,
    Rect,
    Scale,
    cut_middle,
    cut_text,
    decades,
    hatch_lines,
    luminance,
    nice_ticks,
    on_top_of,
    ramp,
    rgb,
    telling_parts,
    text_width,
    tick_label,
)


@given(st.floats(1e-9, 1e15), st.integers(3, 12))
def test_marks_are_round_few_and_within(high: float, most: int):
    marks = nice_ticks(0, high, most)
    assert marks[0] == 0
    assert 2 <= len(marks) <= most
    assert marks[-1] <= high * (1 + 1e-6)
    assert high - marks[-1] <= marks[1] * (1 + 1e-6)
    assert f"{marks[1]:.1e}"[0] in "125"


def test_marks():
    assert nice_ticks(0, 0) == [0]
    assert nice_ticks(0, 69.5) == [0.0, 20.0, 40.0, 60.0]
    assert nice_ticks(0, 1, most=3) == [0.0, 0.5, 1.0]
    assert decades(0.01, 1) == [0.01, 0.1, 1.0]
    assert [tick_label(value) for value in (20.0, 0.5, 1500)] == ["20", "0.5", "1 500"]


@given(st.floats(1e-12, 1e12), st.floats(1, 1e9))
def test_decades_are_all_within(low: float, times: float):
    marks = decades(low, low * times)
    assert all(low * 0.999 <= mark <= low * times * 1.001 for mark in marks)
    assert all(after == pytest.approx(10 * mark) for mark, after in pairwise(marks))


def test_scales_meet_their_ends():
    for scale in (Scale(2, 8, 100, 20), LogScale(2, 8, 100, 20)):
        assert (scale(2), scale(8)) == pytest.approx((100, 20))
    assert Scale(5, 5, 100, 20)(5) == 100
    assert Scale(0, 100, 50, 250)(25) == LogScale(1, 100, 0, 200)(10) == 100


@given(st.text(max_size=80), st.integers(30, 300))
@example("A\x08\x08\U00012544", 126)
def test_cut_text_fits(text: str, room: int):
    for cut in (cut_text(text, 12, room), cut_middle(text, 12, room)):
        assert text_width(cut, 12) <= room
        assert cut.isprintable()


def test_what_is_cut():
    assert cut_text("ampere_fp16_s16816gemm", 12, 80) == "ampere_fp..."
    assert cut_middle("resnet50_train_batch_0064", 12, 110) == "resnet5...h_0064"


def test_what_fits_is_not_cut():
    assert cut_text("gemm", 12, 100) == cut_middle("gemm", 12, 100) == "gemm"


class TestTellingParts:
    def test_short_names_stay(self):
        assert telling_parts(["runs/a.csv", "runs/b.csv"], 12, 200) == ["runs/a.csv", "runs/b.csv"]

    def test_long_ones_lose_what_they_share(self):
        names = [f"a_rather_long_folder/run_{number:02}/of_many.csv" for number in (7, 8)]
        assert telling_parts(names, 12, 150) == ["...07...", "...08..."]

    def test_few_letters_are_not_worth_dots(self):
        names = ["run_of_monday/batch_8.csv", "run_of_monday/batch_16.csv"]
        assert telling_parts(names, 12, 100) == ["...8.csv", "...16.csv"]

    def test_a_single_name_keeps_its_ends(self):
        assert telling_parts(["abcdefghijklmnopqrstuvwxyz"], 10, 80) == ["abcde...wxyz"]

    @given(st.lists(st.text("ab_", max_size=30), min_size=2, max_size=4, unique=True))
    def test_names_stay_different_where_there_is_room(self, names: list[str]):
        assert len(set(telling_parts(names, 1, 20))) == len(names)


@given(st.floats(0, 40), st.floats(0, 40), st.floats(1, 40), st.floats(1, 40))
def test_hatches_stay_inside(x: float, y: float, width: float, height: float):
    rect = Rect(x, y, width, height)
    for x1, y1, x2, y2 in hatch_lines(rect, Hatch(INK, gap=3)):
        assert x - 1e-6 <= x1 <= x2 <= x + width + 1e-6
        assert all(y - 1e-6 <= end <= y + height + 1e-6 for end in (y1, y2))


def test_hatches_meet_those_of_neighbours():
    assert hatch_lines(Rect(0, 0, 4, 4), Hatch(INK, gap=4)) == [(0, 4, 4, 0)]


def test_letters_are_read_on_their_fill():
    assert on_top_of(Colour("#f6e39a", "#f6e39a")) == BLACK
    assert on_top_of(Colour("#0b3c75", "#0b3c75")) == WHITE
    assert (round(luminance("#808080"), 2), rgb("#0080ff")) == (0.22, (0, 128, 255))
    assert (ramp(0.0).light, ramp(1.0).light) == ("#dbe7f5", "#06214a")


def test_more_is_darker_on_light_paper_and_brighter_on_dark():
    shades = [ramp(part / 50) for part in range(51)]
    light = [luminance(shade.light) for shade in shades]
    dark = [luminance(shade.dark) for shade in shades]
    assert light == sorted(light, reverse=True)
    assert dark == sorted(dark)
    assert len({rgb(shade.light) for shade in shades}) > 20
