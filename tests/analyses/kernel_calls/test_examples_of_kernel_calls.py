"""Small examples of what analyses.kernel_calls computes."""

from __future__ import annotations

import numpy as np
import polars as pl

import timesink
from timesink.analyses.kernels.calls import (
    Sampling,
    has_counters,
    kernel_calls,
    launch_origins,
    sampling_of,
    with_weights,
)
from timesink.analyses.kernels.families import load_families
from timesink.analyses.kernels.groups import call_groups, density, strip
from timesink.analyses.kernels.usage import (
    Thresholds,
    axis_of,
    bin_shares,
    device_use,
    headroom,
    of_device,
    with_class,
)


def test_kernel_calls() -> None:
    calls = kernel_calls(timesink.open(timesink.sample()))
    assert (calls.columns[-4:], calls.height > 0) == (
        ["ts_ns", "device_row", "short_name", "family"],
        True,
    )


def test_has_counters() -> None:
    assert not has_counters(timesink.open(timesink.sample()))


def test_thresholds() -> None:
    assert repr(Thresholds.above(0.5)) == "Thresholds(low=0.5, high=0.75)"


def test_axis_of() -> None:
    assert (
        axis_of(pl.DataFrame({"sm_pct": [None, 3.5]})),
        axis_of(pl.DataFrame({"sm_pct": [None]})),
    ) == ("sm", "tensor")


def test_with_class() -> None:
    nowhere = pl.Series([None] * 2, dtype=pl.Int32)
    use = {"sm_pct": [10.0, 50.0], "tensor_pct": [0.0, 0.0], "dram_pct": [20.0, 20.0]}
    assert with_class(pl.DataFrame({"host": nowhere, "device": nowhere, **use}))[
        "class"
    ].to_list() == ["both_low", "low_dram"]


def test_bin_shares() -> None:
    use = {"sm_pct": [10.0, 90.0], "dram_pct": [20.0, 50.0], "dur_ns": [30, 10]}
    assert bin_shares(pl.DataFrame(use)) == ((0.75, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.25, 0.0))


def test_density() -> None:
    calls = pl.DataFrame({"dur_ns": [30, 10], "sm_pct": [5.0, 101.0], "dram_pct": [50.0, 2.0]})
    spread = density(calls, cells=3)
    assert (spread.shares.tolist(), spread.beyond) == (
        [[0.0, 0.75, 0.0], [0.0, 0.0, 0.0], [0.25, 0.0, 0.0]],
        0.25,
    )


def test_families_of() -> None:
    assert (
        load_families().of("void at::native::reduce_kernel<512, 1, Sum<float>>(Sum)") == "reduction"
    )


def test_load_families() -> None:
    assert load_families().of("ampere_sgemm_128x64_tn") == "gemm"


def test_call_groups() -> None:
    groups = call_groups(kernel_calls(timesink.open(timesink.sample())), "family")
    assert groups["group"].to_list()[:2] == ["normalisation", "copy"]


def test_launch_origins() -> None:
    assert launch_origins(timesink.open(timesink.sample())).columns == [
        "operator",
        "innermost_operator",
        "module",
        "step",
    ]


def test_sampling_str() -> None:
    assert (str(Sampling(7, "kernel")), str(Sampling(2))) == (
        "every 7th launch of each kernel",
        "every 2nd launch",
    )


def test_sampling_fewest() -> None:
    assert Sampling(5, "kernel").fewest(np.array([1, 3])).tolist() == [1.0, 11.0]


def test_sampling_most() -> None:
    assert Sampling(5, "kernel").most(np.array([1, 3])).tolist() == [5.0, 15.0]


def test_sampling_expected() -> None:
    assert Sampling(7, "kernel").expected(np.array([1, 2, 100])).round(1).tolist() == [
        2.7,
        10.6,
        697.0,
    ]


def test_sampling_of() -> None:
    assert sampling_of(timesink.open(timesink.sample()).metadata) is None


def test_with_weights() -> None:
    calls = pl.DataFrame({"host": "a", "pid": "1", "short_name": ["cub::scan", "scan", "add"]})
    assert with_weights(calls, Sampling(5, "kernel"))["weight"].round(2).to_list() == [
        3.87,
        3.87,
        2.19,
    ]


def test_strip() -> None:
    calls = pl.DataFrame(
        {"dur_ns": [30, 10], "sm_pct": [20.0, 80.0], "class": ["both_low", "low_dram"]}
    )
    along = strip(calls, 2, metrics=("sm_pct",))
    assert (along.means_pct["sm_pct"].tolist(), along.class_shares[1].tolist()) == (
        [20.0, 50.0],
        [0.5, 0.0, 0.5, 0.0, 0.0],
    )


def test_device_use() -> None:
    trace = timesink.open(timesink.sample())
    assert [use.device for use in device_use(kernel_calls(trace), trace)] == [0]


def test_of_device() -> None:
    report = timesink.kernels(timesink.sample())
    assert of_device(report.calls, report.devices[0]).height == report.devices[0].calls


def test_headroom() -> None:
    use = {"dur_ns": [200, 50], "tensor_pct": [10.0, None], "dram_pct": [25.0, None]}
    assert pl.DataFrame({**use, "sm_pct": [None, 104.0]}).select(
        headroom()
    ).to_series().to_list() == [150.0, 0.0]
