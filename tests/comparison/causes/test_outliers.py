"""Cycles that take longer than typical ones."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from many_roles import one_role
from timesink.comparison.causes.slow_steps import CycleSplit, split_cycles, typical_and_outliers
from timesink.comparison.results import Process

MS = 1_000_000


def role_of(*lengths_ms: float) -> Process:
    lengths = [round(length * MS) for length in lengths_ms]
    table = pl.DataFrame({"cycle": range(1, len(lengths) + 1), "cycle_dur_ns": lengths})
    return Process("run", "run.csv", "7", table)


def split(*lengths_ms: float) -> CycleSplit:
    return split_cycles(role_of(*lengths_ms))


class TestOutliers:
    def test_a_single_slow_cycle_is_found(self):
        cycle_split = split(50, 51, 49, 50, 80, 50, 51, 50)
        assert cycle_split.slow == (5,)
        assert cycle_split.typical == (1, 2, 3, 4, 6, 7, 8)
        assert cycle_split.typical_ns == 50 * MS

    def test_a_tenth_longer_is_not_slow(self):
        assert split(50, 50, 50, 50, 54.9, 50, 50, 50).slow == ()

    def test_cycles_that_scatter_have_no_outliers(self):
        assert split(50, 62, 41, 55, 68, 44, 59, 48, 66, 52).slow == ()

    def test_short_cycles_are_on_neither_side(self):
        cycle_split = split(50, 51, 20, 50, 80, 50, 51, 50)
        assert (cycle_split.slow, cycle_split.fast) == ((5,), (3,))
        assert 3 not in cycle_split.typical

    def test_a_slow_half_is_slow_against_the_other(self):
        cycle_split = split(*[50, 51, 49, 50, 50], *[80, 81, 79, 80, 80])
        assert cycle_split.slow == (6, 7, 8, 9, 10)
        assert [(level.first, level.last) for level in cycle_split.levels] == [(1, 5), (6, 10)]
        assert cycle_split.has_levels

    def test_few_slow_cycles_are_no_level(self):
        assert not split(50, 51, 49, 50, 80, 50, 51, 50).has_levels

    def test_a_few_fast_cycles_do_not_make_the_others_slow(self):
        cycle_split = split(*[80, 81, 79, 80] * 5, 50, 51)
        assert cycle_split.slow == ()
        assert cycle_split.fast == (21, 22)

    def test_warm_up_is_no_slow_cycle_where_there_are_others(self):
        cycle_split = split(200, 50, 51, 49, 50, 90, 50, 51, 50, 50)
        assert cycle_split.warm_up == (1,)
        assert cycle_split.slow == (6,)

    def test_warm_up_alone_is_no_slow_cycle(self):
        cycle_split = split(200, 50, 51, 49, 50, 51, 50, 51, 50, 50)
        assert (cycle_split.slow, cycle_split.warm_up) == ((), (1,))


class TestRoles:
    def test_both_sides_hold_their_cycles_only(self):
        role = one_role(7, seed=1, cycles=8)
        longer = pl.when(pl.col("cycle") == 3).then(pl.col("cycle_dur_ns") * 2)
        table = role.behaviour.with_columns(longer.otherwise(pl.col("cycle_dur_ns")))
        role = Process("run", "run.csv", "7", table)
        sides = typical_and_outliers(role, split_cycles(role))
        assert sides is not None
        assert [side.label for side in sides] == ["typical", "slow"]
        assert sides[1].behaviour["cycle"].unique().to_list() == [3]
        assert sides[0].cycles == 7

    def test_none_without_slow_cycles(self):
        role = role_of(50, 50, 50, 50)
        assert typical_and_outliers(role, split_cycles(role)) is None

    def test_none_with_too_few_typical_ones(self):
        role = role_of(50, 50, 90)
        assert typical_and_outliers(role, split_cycles(role)) is None

    def test_none_where_no_length_is_known(self):
        role = role_of(0, 0, 0, 0)
        assert typical_and_outliers(role, split_cycles(role)) is None
        assert split(0, 0).typical == ()


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=40))
def test_every_cycle_is_in_one_place(lengths: list[float]):
    cycle_split = split(*lengths)
    warm = set(cycle_split.warm_up) - set(cycle_split.slow)
    assert sorted([*cycle_split.typical, *cycle_split.slow, *cycle_split.fast, *warm]) == list(
        range(1, len(lengths) + 1)
    )


class TestPeriod:
    def test_every_fifth_cycle_is_a_period_with_its_share(self):
        cycle_split = split(*[50, 51, 49, 50, 800] * 4)
        assert (cycle_split.slow, cycle_split.period) == ((5, 10, 15, 20), 5)
        assert round(cycle_split.slow_share, 2) == 0.8

    def test_healthy_neighbours_are_no_level(self):
        (level,) = split(*[50, 51, 49, 50, 800] * 4).levels
        assert (level.first, level.last, level.mean_ns) == (1, 20, 50 * MS)

    def test_slow_cycles_that_come_as_they_like_have_none(self):
        assert split(50, 51, 800, 49, 50, 50, 800, 51, 50, 800, 50, 51).period == 0
        assert split(*[50, 51, 49, 50, 800] * 3, *[50] * 10).period == 0
