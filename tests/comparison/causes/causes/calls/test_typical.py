"""What stands out of a pace that all share."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from timesink.comparison.causes.case import excess, slowdown

ALL = np.ones(6, dtype=bool)


def cycles(seed: int, factor: float = 1.0, scatter: float = 0.02) -> np.ndarray:
    """Twenty cycles of six functions whose pace wanders by half."""
    random = np.random.default_rng(seed)
    pace = factor * (1.25 + 0.25 * np.sin(np.arange(20) / 3))[:, None]
    noise = 1 + scatter * random.normal(size=(20, 6))
    return np.array([5.0, 40.0, 3.0, 8.0, 2.0, 6.0]) * pace * noise


@given(st.integers(0, 1000), st.floats(0.2, 5.0))
def test_a_common_pace_lets_nothing_stand_out(seed: int, factor: float) -> None:
    assert not excess(cycles(seed), cycles(seed + 1, factor), ALL).stands_out.any()


@given(st.integers(0, 1000), st.integers(0, 5))
def test_what_takes_twice_as_long_as_the_others_stands_out(seed: int, which: int) -> None:
    new = cycles(seed + 1, 1.4)
    new[:, which] *= 2
    assert np.flatnonzero(excess(cycles(seed), new, ALL).stands_out).tolist() == [which]


def test_pauses_at_random_do_not_stand_out() -> None:
    random = np.random.default_rng(0)
    new = cycles(2)
    for row in new:
        row[random.choice(6, p=new.mean(axis=0) / new.mean(axis=0).sum())] += 60
    assert not excess(cycles(1), new, ALL).stands_out.any()


def test_parts_of_one_thing_do_not_judge_each_other() -> None:
    new = cycles(2)
    new[:, 1:3] *= 4
    owner = np.array([0, 1, 1, 2, 3, 4])
    assert excess(cycles(1), new, ALL, owner).stands_out[1:3].all()


def test_nothing_to_go_by_is_an_unchanged_pace() -> None:
    nothing = np.zeros((0, 2))
    assert slowdown(nothing, nothing, np.array([True, True])) == 1.0
    assert not excess(nothing, nothing, np.array([True, True])).stands_out.any()


def test_what_did_not_get_faster_with_the_others_does_not_stand_out() -> None:
    new = cycles(2, 0.5)
    new[:, 1] *= 2
    assert not excess(cycles(1), new, ALL).stands_out.any()
