"""Classes of launches by what they leave unused."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from measured_kernels import launch, trace_of_launches
from timelines import patient
from timesink.analyses.kernels.calls import kernel_calls
from timesink.analyses.kernels.usage import CLASSES, Thresholds, axis_of, bin_shares, with_class
from timesink.errors import UsageError


def calls_of(*uses: tuple[float | None, float | None], device: int = 0) -> pl.DataFrame:
    """One launch of 10 ns for each pair of SM and DRAM use."""
    return kernel_calls(
        trace_of_launches(
            *(launch(10, {}, sm_pct=sm, dram_pct=dram, device=device) for sm, dram in uses)
        )
    )


def classes(calls: pl.DataFrame, thresholds: Thresholds = Thresholds()) -> list[str]:  # noqa: B008
    return with_class(calls, thresholds)["class"].to_list()


def test_four_classes_and_the_unknown():
    uses = [(10, 10), (10, 50), (50, 10), (50, 50), (None, 50), (50, None)]
    assert classes(calls_of(*uses)) == [*CLASSES, "unknown"]


def test_borders_of_low():
    """A third itself is not low; 0.33 of a table with two decimals is."""
    third = 100 / 3
    assert classes(calls_of((third, 0), (33.0, 0), (33.34, 0))) == [
        "low_dram",
        "both_low",
        "low_dram",
    ]


def test_thresholds_can_be_moved():
    assert classes(calls_of((40, 40)), Thresholds.above(0.5)) == ["both_low"]
    assert classes(calls_of((40, 40)), Thresholds(0.25, 0.5)) == ["neither_low"]


@pytest.mark.parametrize("low", [0, 1.5, -0.2, 33])
def test_a_threshold_is_a_fraction(low: float) -> None:
    with pytest.raises(UsageError, match="no fraction of the peak") as raised:
        Thresholds.above(low)
    assert "--low 0.33" in raised.value.hint


def test_the_tensor_pipe_stands_in_for_a_missing_sm_metric():
    calls = kernel_calls(trace_of_launches(launch(10, {}, tensor_pct=80.0, dram_pct=1.0)))
    assert axis_of(calls) == "tensor"
    assert classes(calls) == ["low_dram"]


def test_each_device_has_its_own_axis():
    """One device with an SM metric does not make the other one unknown."""
    calls = kernel_calls(
        trace_of_launches(
            launch(10, {}, device=0, sm_pct=80.0, tensor_pct=0.0, dram_pct=1.0),
            launch(10, {}, device=1, tensor_pct=80.0, dram_pct=1.0),
            launch(10, {}, device=0, tensor_pct=80.0, dram_pct=1.0),
        )
    )
    assert classes(calls) == ["low_dram", "low_dram", "unknown"]


def test_bins_are_thirds():
    calls = calls_of((0, 0), (33.3, 40), (34, 66), (67, 100), (None, 10))
    assert bin_shares(calls) == ((0.2, 0.2, 0.0), (0.0, 0.2, 0.0), (0.0, 0.0, 0.2))


def test_bins_count_what_launches_stand_for():
    calls = calls_of((0, 0), (90, 0)).with_columns(weight=pl.Series([3.0, 1.0]))
    assert bin_shares(calls) == ((0.75, 0, 0), (0, 0, 0), (0.25, 0, 0))


def test_bins_without_any_time():
    assert bin_shares(calls_of()) == ((0.0,) * 3,) * 3


_percent = st.none() | st.floats(0, 120)


@patient
@given(st.lists(st.tuples(_percent, _percent), min_size=1, max_size=8))
def test_bins_add_up_to_the_classes(uses: list[tuple[float | None, float | None]]) -> None:
    calls = calls_of(*uses)
    bins, call_classes = bin_shares(calls), classes(calls)
    if axis_of(calls) == "tensor":
        assert sum(map(sum, bins)) == 0
        return
    share = {name: call_classes.count(name) / len(call_classes) for name in CLASSES}
    assert bins[0][0] == pytest.approx(share["both_low"])
    assert bins[0][1] + bins[0][2] == pytest.approx(share["low_sm"])
    assert bins[1][0] + bins[2][0] == pytest.approx(share["low_dram"])
    assert sum(map(sum, bins)) == pytest.approx(1 - share["unknown"])
