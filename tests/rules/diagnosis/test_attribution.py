"""What each part of a cycle adds to the change of the mean cycle."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from behaviour_rows import behaviour, role_of
from compared import pair_of
from timelines import patient
from timesink.analyses.behaviour.anatomy import CYCLE_SPANS, PART_TIMES, Anatomy
from timesink.analyses.comparison import Pair
from timesink.analyses.comparison.sides import anatomy_of_role
from timesink.analyses.comparison.verdict import compare_roles
from timesink.model.diagnosis import Component
from timesink.rules.diagnosis import attribution

Times = dict[tuple[str, str | None], list[float]]


def anatomy(times: Times) -> Anatomy:
    """Cycles with these times of each part and family."""
    rows = [
        (number, part, family, time)
        for (part, family), each in times.items()
        for number, time in enumerate(each, 1)
    ]
    parts = pl.DataFrame(rows, PART_TIMES, orient="row")
    lengths = [sum(each) for each in zip(*times.values(), strict=True)]
    spans = [(number, 0, round(length)) for number, length in enumerate(lengths, 1)]
    empty = pl.DataFrame()
    return Anatomy(parts, empty, empty, cycles=pl.DataFrame(spans, CYCLE_SPANS, orient="row"))


def named(components: tuple[Component, ...]) -> dict[str, float]:
    return {one.name: one.delta_ns for one in components}


def test_largest_change_first_with_its_interval() -> None:
    base = anatomy({("host_cpu", None): [50.0] * 6, ("idle", None): [10.0] * 6})
    new = anatomy({("host_cpu", None): [52.0] * 6, ("device_compute", "gemm"): [40.0] * 6})
    found = attribution(pair_of(), base, new)
    assert list(named(found).items()) == [
        ("device_compute/gemm", 40.0),
        ("idle", -10.0),
        ("host_cpu", 2.0),
    ]
    for one in found:
        assert one.interval_ns is not None
        assert one.interval_ns[0] <= one.delta_ns <= one.interval_ns[1]


def test_one_cycle_has_a_change_and_no_interval() -> None:
    one = anatomy({("idle", None): [10.0]})
    (found,) = attribution(pair_of(), one, anatomy({("idle", None): [30.0]}))
    assert (found.delta_ns, found.interval_ns, found.p_value) == (20.0, None, None)


def test_nothing_from_nothing() -> None:
    empty = anatomy({("idle", None): []})
    assert attribution(pair_of(), empty, empty) == ()


_lengths = st.lists(st.integers(1, 1000).map(float), min_size=3, max_size=3)
_sides = st.dictionaries(
    st.sampled_from(
        [("idle", None), ("host_cpu", None), ("device_compute", "gemm"), ("copies", None)]
    ),
    _lengths,
    min_size=1,
)


@patient
@given(_sides, _sides)
def test_changes_add_up_to_that_of_the_mean_cycle(base: Times, new: Times) -> None:
    sides = anatomy(base), anatomy(new)
    before, after = (side.parts["dur_ns"].sum() / 3 for side in sides)
    total = sum(one.delta_ns for one in attribution(pair_of(), *sides))
    assert total == pytest.approx(after - before, abs=1e-9)


# -- kernels ---------------------------------------------------------------------------------------


def kernels(*each: tuple[str, int, int]) -> list[dict[str, object]]:
    """Three cycles with the same kernels: name, time and calls."""
    return [
        {"cycle": number, "function": name, "dur_ns": time, "calls": calls, "beta_pct": 1.0}
        for number in (1, 2, 3)
        for name, time, calls in each
    ]


def compared(base: list[dict[str, object]], new: list[dict[str, object]]) -> Pair:
    return compare_roles(role_of(behaviour(*base)), role_of(behaviour(*new), "new"), "strict")


def gemm(pair: Pair) -> Component:
    found = attribution(pair, anatomy_of_role(pair.base), anatomy_of_role(pair.new))
    (one,) = (each for each in found if each.family == "gemm")
    return one


def test_kernels_launched_equally_often_are_told_apart_from_more_and_other_ones() -> None:
    base = kernels(("sgemm_a", 100, 10), ("sgemm_b", 50, 5))
    new = kernels(("sgemm_a", 300, 10), ("sgemm_b", 80, 8), ("sgemm_c", 20, 1))
    found = gemm(compared(base, new))
    assert found.delta_ns == 250
    assert found.same_launches_ns == 200


def test_a_cycle_of_which_half_was_recorded_does_not_make_launches_unequal() -> None:
    base = kernels(("sgemm_a", 100, 10))
    base[0] |= {"dur_ns": 50, "calls": 5}
    found = gemm(compared(base, kernels(("sgemm_a", 200, 10))))
    assert found.same_launches_ns == pytest.approx(10 * 2.5 / 3 * 10)


def test_kernels_behind_others_count_for_their_share() -> None:
    pair = compared(kernels(("sgemm_a", 100, 10)), kernels(("sgemm_a", 300, 10)))
    base, new = (
        anatomy({("device_compute", "gemm"): [half] * 3, ("idle", None): [1_000 - half] * 3})
        for half in (50.0, 150.0)
    )
    (found,) = (one for one in attribution(pair, base, new) if one.family == "gemm")
    assert found.same_launches_ns == found.delta_ns == 100
