"""Which launches an expression picks, asked launch by launch."""

from __future__ import annotations

import re

import pytest

from timesink.recorder.ncu.plan import LARGEST, SMALLEST, LaunchPicks, launch_picks

EVERY = [2, 3, 5, 7, 10, 11, 13, 19, 50, 97, 100, 499, 667, 997, 1000]


def picked_launches(chosen: LaunchPicks, launches: int) -> list[int]:
    pattern = re.compile(chosen.expression)
    return [number for number in range(1, launches + 1) if pattern.fullmatch(str(number))]


@pytest.mark.parametrize("every", EVERY)
def test_first_of_every_n_until_the_period_ends(every: int):
    chosen = launch_picks(every)
    within = [1 + every * index for index in range(chosen.picked)]
    expected = [
        number
        for start in range(0, 5000, chosen.period)
        for number in (start + first for first in within)
        if number <= 5000
    ]
    assert picked_launches(chosen, 5000) == expected


@pytest.mark.parametrize("every", EVERY)
def test_long_runs_repeat_the_period(every: int):
    chosen = launch_picks(every)
    pattern = re.compile(chosen.expression)
    for number in (1, 1 + every, 2, chosen.period):
        later = number + 123 * chosen.period
        assert bool(pattern.fullmatch(str(number))) == bool(pattern.fullmatch(str(later)))


def test_powers_of_ten_are_short():
    assert [launch_picks(every).expression for every in (10, 100, 1000)] == [
        "[0-9]*(1)",
        "1|[0-9]*(01)",
        "1|[0-9]*(001)",
    ]


def test_every_number_allowed_is_met_to_a_hundredth_in_a_short_expression():
    for every in range(SMALLEST, LARGEST + 1):
        chosen = launch_picks(every)
        assert abs(chosen.picked * every / chosen.period - 1) < 0.01
        assert len(chosen.expression) < 4000
        # A colon would end the field of the option it stands in.
        assert set(chosen.expression) <= set("0123456789[]-*()|")


def test_stride_is_the_number_itself_unless_that_divides_the_period():
    """Otherwise a prime would turn into a power of ten, and meet the same layers again."""
    strides = {every: launch_picks(every) for every in (97, 499, 997, 999)}
    assert all(chosen.picked >= 10 for chosen in strides.values())
