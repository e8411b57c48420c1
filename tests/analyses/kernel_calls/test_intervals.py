"""Intervals of sampled recordings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import timesink
from measured_kernels import launch, trace_of_launches
from timesink.analyses.kernels.calls import Sampling, kernel_calls
from timesink.analyses.kernels.usage import CLASSES, device_use, sample_intervals, with_class
from timesink.model.trace import Trace


def intervals(trace: Trace, sampling: Sampling) -> Mapping[str, tuple[float, float]]:
    return sample_intervals(with_class(kernel_calls(trace)), sampling)


def varied_trace(launches: int, kernels: int = 3) -> Trace:
    generator = np.random.default_rng(7)
    return trace_of_launches(
        *(
            launch(
                int(generator.integers(100, 1000)),
                {},
                name=f"f{n % kernels}",
                sm_pct=float(generator.uniform(0, 100)),
                dram_pct=float(generator.uniform(0, 100)),
            )
            for n in range(launches)
        )
    )


def test_equal_launches_leave_no_doubt():
    trace = trace_of_launches(*(launch(10, {}, sm_pct=50.0, dram_pct=5.0) for _ in range(20)))
    bounds = intervals(trace, Sampling(5, "launch"))
    assert bounds["total_ns"] == (1000, 1000)
    assert bounds["sm_pct"] == pytest.approx((50, 50))
    assert bounds["low_dram_share"] == (1, 1)
    assert "tensor_pct" not in bounds


def test_launches_after_the_last_one_seen_are_in_doubt():
    trace = trace_of_launches(
        launch(10, {}, name="f"), launch(10, {}, name="f"), launch(10, {}, name="g")
    )
    bounds = intervals(trace, Sampling(5, "kernel"))
    assert bounds["total_ns"] == (70, 150)


def test_all_numbers_have_an_interval():
    bounds = intervals(varied_trace(30), Sampling(4, "kernel"))
    shares = {f"{name}_share" for name in CLASSES}
    assert set(bounds) == {"total_ns", "dram_pct", "sm_pct", *shares}
    assert all(low <= high for low, high in bounds.values())


def test_the_same_recording_has_the_same_intervals():
    first, second = (intervals(varied_trace(40), Sampling(4, "kernel")) for _ in range(2))
    assert first == second


def test_more_launches_are_surer():
    few, many = (intervals(varied_trace(n, kernels=1), Sampling(4, "launch")) for n in (20, 2000))
    assert few["sm_pct"][1] - few["sm_pct"][0] > 5 * (many["sm_pct"][1] - many["sm_pct"][0])


def test_parcels_of_many_launches_vary_as_the_launches_do(monkeypatch):
    trace = varied_trace(600, kernels=1)
    single_bounds = intervals(trace, Sampling(4, "launch"))
    monkeypatch.setattr("timesink.analyses.kernels.usage._MAX_PARCELS", 100)
    together = intervals(trace, Sampling(4, "launch"))
    for name in ("total_ns", "sm_pct", "both_low_share"):
        width, of_parcels = (
            np.subtract(*bounds[name][::-1]) for bounds in (single_bounds, together)
        )
        assert of_parcels == pytest.approx(width, rel=0.35)


def test_nothing_recorded():
    assert intervals(trace_of_launches(), Sampling(4, "kernel")) == {"total_ns": (0.0, 0.0)}


def test_every_nth_launch_of_each_kernel_covers_the_whole(shared_root: Path):
    full_trace = timesink.open(shared_root / "data/h200/ncu/unet_train.csv.gz")
    calls = kernel_calls(full_trace)
    (truth,) = device_use(calls, full_trace)
    number = calls.select(pl.int_range(pl.len()).over("short_name")).to_series()
    part = full_trace.kernel_calls.filter(number % 7 == 0)
    bounds = intervals(
        replace(full_trace, frames={"kernel_calls": part.lazy()}), Sampling(7, "kernel")
    )
    assert bounds["total_ns"][0] <= truth.total_ns <= bounds["total_ns"][1]
