"""What the launches of a sample stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from measured_kernels import launch, trace_of_launches
from timelines import patient
from timesink.analyses.kernels.calls import (
    Per,
    Sampling,
    call_time,
    kernel_calls,
    sampling_of,
    with_weights,
)
from timesink.errors import UsageError


def weights(sampling: Sampling | None, *names: str, **columns: Any) -> list[float]:
    trace = trace_of_launches(*(launch(10, {}, name=name, **columns) for name in names))
    return with_weights(kernel_calls(trace), sampling)["weight"].to_list()


@pytest.mark.parametrize(
    ("collected", "sampling"),
    [
        ({"every": 7, "per": "kernel"}, Sampling(7, "kernel")),
        ({"every": 7}, Sampling(7, "kernel")),
        ({"every": 3, "per": "launch"}, Sampling(3, "launch")),
        ({"every": 1}, None),
        ({"every": None}, None),
        ({"every": "many"}, None),
        ({}, None),
        (None, None),
        ("damaged", None),
    ],
)
def test_a_file_says_how_it_was_sampled(collected: object, sampling: Sampling | None) -> None:
    assert sampling_of(trace_of_launches(collected=collected).metadata) == sampling


def test_without_sampling_a_launch_is_a_launch():
    assert weights(None, "f", "g") == [1.0, 1.0]
    assert weights(Sampling(1), "f") == [1.0]


def test_of_every_nth_launch_each_stands_for_n():
    assert weights(Sampling(10, "launch"), "f", "f", "g") == [10.0, 10.0, 10.0]


def test_of_every_nth_launch_of_a_kernel_the_last_stands_for_fewer():
    f, again, g = weights(Sampling(10, "kernel"), "f", "f", "g")
    assert f == again
    assert 11 < f + again < 20
    assert 1 < g < 5.5


def test_a_function_is_known_by_its_bare_name():
    names = ("void at::native::f<1>(T)", "void cub::f<2>(T)", "g")
    first, second, other = weights(Sampling(5, "kernel"), *names)
    assert first == second != other


def test_each_process_counts_by_itself():
    trace = trace_of_launches(launch(1, {}, name="f", pid="1"), launch(1, {}, name="f", pid="2"))
    weighed = with_weights(kernel_calls(trace), Sampling(5, "kernel"))
    assert weighed["weight"].to_list() == weights(Sampling(5, "kernel"), "f") * 2


def test_time_of_a_call_is_scaled():
    calls = pl.DataFrame({"dur_ns": [10, None], "weight": [2.5, 3.0]})
    assert calls.select(call_time()).to_series().to_list() == [25.0, None]
    assert calls.drop("weight").select(call_time()).to_series().to_list() == [10.0, None]


def test_nothing_stands_for_less_than_a_launch():
    with pytest.raises(UsageError, match="0th") as raised:
        Sampling(0)
    assert "--every" in raised.value.hint


@patient
@given(st.integers(1, 40), st.integers(1, 50), st.sampled_from(["kernel", "launch"]))
def test_launches_lie_between_the_fewest_and_the_most(every: int, seen: int, per: Per) -> None:
    counts, sampling = np.array([seen]), Sampling(every, per)
    fewest, expected, most = (
        float(count(counts)[0]) for count in (sampling.fewest, sampling.expected, sampling.most)
    )
    assert seen <= fewest <= most == seen * every
    assert fewest - 0.01 <= expected <= most + 0.01
    if per == "kernel":
        assert expected <= seen * every - (every - 1) / 2 + 0.01


@patient
@given(st.integers(2, 12), st.lists(st.integers(1, 40), min_size=1, max_size=5))
def test_what_ran_is_within_what_was_seen(every: int, launches: list[int]) -> None:
    """Sampling as the collector does it: launches 1, n + 1, 2 n + 1, ... of each function."""
    seen = np.array([len(range(0, count, every)) for count in launches])
    sampling = Sampling(every, "kernel")
    assert (sampling.fewest(seen) <= launches).all()
    assert (sampling.most(seen) >= launches).all()


def test_many_launches_seen_leave_little_doubt():
    (expected,) = Sampling(7, "kernel").expected(np.array([1000]))
    assert expected == pytest.approx(7 * 1000 - 3, abs=0.01)
