"""The length of every cycle as a picture."""

from __future__ import annotations

from timesink.answers.comparison.cycle_pictures import (
    OTHER,
    USUAL,
    WIDTH,
    CycleBars,
    cycle_picture,
    side,
)
from timesink.output.drawing import Label, Rect


def bars(*sides: CycleBars) -> list[Rect]:
    return [shape for shape in cycle_picture(sides).shapes if isinstance(shape, Rect)]


def test_every_cycle_has_a_bar_on_one_scale():
    first, second, third = bars(side("base", [2e6, 4e6], USUAL), side("new", [8e6], OTHER))
    assert second.height == 2 * first.height
    assert third.height == 4 * first.height
    assert (first.fill, third.fill) == (USUAL, OTHER)


def test_sides_do_not_overlap():
    drawn_bars = bars(side("base", [1e6] * 50, USUAL), side("new", [1e6] * 3, OTHER))
    ends = [bar.x + bar.width for bar in drawn_bars]
    assert all(end <= bar.x for end, bar in zip(ends, drawn_bars[1:], strict=False))
    assert ends[-1] <= WIDTH


def test_warm_up_is_hatched():
    hatched = [bar.hatch is not None for bar in bars(side("run", [9e6, 1e6, 1e6], USUAL, 1))]
    assert hatched == [True, False, False]


def test_of_very_many_cycles_some_share_a_bar():
    drawn_bars = bars(side("run", [1e6] * 100_000, USUAL))
    assert 100 < len(drawn_bars) < WIDTH
    assert all(bar.width > 0 for bar in drawn_bars)


def test_the_unit_suits_the_lengths():
    for length, unit in ((3e9, "s"), (3e6, "ms"), (3e3, "us"), (3.0, "ns")):
        shapes = cycle_picture([side("run", [length], USUAL)]).shapes
        assert f"step time, {unit}" in [shape.text for shape in shapes if isinstance(shape, Label)]


def test_it_says_what_it_shows():
    drawn = cycle_picture([side("run", [2e6, 4e6], USUAL)])
    assert drawn.description == "Step times: run (2 steps, 3.00 ms on average)."
