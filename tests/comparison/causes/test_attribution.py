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
from timesink.comparison.causes.diagnosis import attribution
from timesink.comparison.results import Pair
from timesink.comparison.steps.sides import anatomy_of_role
from timesink.comparison.steps.verdict import compare_roles
from timesink.model.diagnosis import Component

Times = dict[tuple[str, str | None], list[float]]


def anatomy(times: Times) -> Anatomy:
    """Cycles with these times of each part and family."""
    rows = [
        (number, part, family, time)
        for (part, family), part_times in times.items()
        for number, time in enumerate(part_times, 1)
    ]
    parts = pl.DataFrame(rows, PART_TIMES, orient="row")
    lengths = [sum(cycle_times) for cycle_times in zip(*times.values(), strict=True)]
    spans = [(number, 0, round(length)) for number, length in enumerate(lengths, 1)]
    empty = pl.DataFrame()
    return Anatomy(parts, empty, empty, cycles=pl.DataFrame(spans, CYCLE_SPANS, orient="row"))


def deltas_by_name(components: tuple[Component, ...]) -> dict[str, float]:
    return {component.name: component.delta_ns for component in components}


def test_largest_change_first_with_its_interval() -> None:
    base = anatomy({("host_cpu", None): [50.0] * 6, ("idle", None): [10.0] * 6})
    new = anatomy({("host_cpu", None): [52.0] * 6, ("device_compute", "gemm"): [40.0] * 6})
    components = attribution(pair_of(), base, new)
    assert list(deltas_by_name(components).items()) == [
        ("device_compute/gemm", 40.0),
        ("idle", -10.0),
        ("host_cpu", 2.0),
    ]
    for component in components:
        assert component.interval_ns is not None
        assert component.interval_ns[0] <= component.delta_ns <= component.interval_ns[1]


def test_one_cycle_has_a_change_and_no_interval() -> None:
    single_cycle = anatomy({("idle", None): [10.0]})
    (component,) = attribution(pair_of(), single_cycle, anatomy({("idle", None): [30.0]}))
    assert (component.delta_ns, component.interval_ns, component.p_value) == (20.0, None, None)


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
    total = sum(component.delta_ns for component in attribution(pair_of(), *sides))
    assert total == pytest.approx(after - before, abs=1e-9)


# -- kernels ---------------------------------------------------------------------------------------


def kernels(*kernel_rows: tuple[str, int, int]) -> list[dict[str, object]]:
    """Three cycles with the same kernels: name, time and calls."""
    return [
        {"cycle": number, "function": name, "dur_ns": time, "calls": calls, "beta_pct": 1.0}
        for number in (1, 2, 3)
        for name, time, calls in kernel_rows
    ]


def compare_behaviours(base: list[dict[str, object]], new: list[dict[str, object]]) -> Pair:
    return compare_roles(role_of(behaviour(*base)), role_of(behaviour(*new), "new"), "strict")


def gemm(pair: Pair) -> Component:
    components = attribution(pair, anatomy_of_role(pair.base), anatomy_of_role(pair.new))
    (component,) = (candidate for candidate in components if candidate.family == "gemm")
    return component


def test_kernels_launched_equally_often_are_told_apart_from_more_and_other_ones() -> None:
    base = kernels(("sgemm_a", 100, 10), ("sgemm_b", 50, 5))
    new = kernels(("sgemm_a", 300, 10), ("sgemm_b", 80, 8), ("sgemm_c", 20, 1))
    component = gemm(compare_behaviours(base, new))
    assert component.delta_ns == 250
    assert component.same_launches_ns == 200


def test_a_cycle_of_which_half_was_recorded_does_not_make_launches_unequal() -> None:
    base = kernels(("sgemm_a", 100, 10))
    base[0] |= {"dur_ns": 50, "calls": 5}
    component = gemm(compare_behaviours(base, kernels(("sgemm_a", 200, 10))))
    assert component.same_launches_ns == pytest.approx(10 * 2.5 / 3 * 10)


def test_kernels_behind_others_count_for_their_share() -> None:
    pair = compare_behaviours(kernels(("sgemm_a", 100, 10)), kernels(("sgemm_a", 300, 10)))
    base, new = (
        anatomy({("device_compute", "gemm"): [half] * 3, ("idle", None): [1_000 - half] * 3})
        for half in (50.0, 150.0)
    )
    (component,) = (
        candidate for candidate in attribution(pair, base, new) if candidate.family == "gemm"
    )
    assert component.same_launches_ns == component.delta_ns == 100
