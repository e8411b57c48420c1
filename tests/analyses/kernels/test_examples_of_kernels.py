"""Small examples of what analyses.kernels computes."""

from __future__ import annotations

import timesink
from timesink.analyses.kernels.table import (
    kernel_groups,
    kernel_launches,
    kernel_table,
    operator_tensor_core_share,
    tensor_core_shares,
)
from timesink.analyses.names import (
    has_tensor_cores,
    is_eligible,
    tensor_core_use,
    uses_tensor_cores,
)


def test_kernel_launches() -> None:
    assert kernel_launches(timesink.open(timesink.sample())).columns[:5] == [
        "name",
        "ts_ns",
        "dur_ns",
        "device",
        "tensor_cores",
    ]


def test_kernel_table() -> None:
    assert kernel_table(timesink.open(timesink.sample())).columns == [
        "name",
        "short_name",
        "tensor_cores",
        "calls",
        "total_ns",
        "mean_ns",
        "max_ns",
        "min_ns",
        "blocks_per_sm",
        "occupancy_pct",
    ]


def test_kernel_groups() -> None:
    groups = kernel_groups(timesink.open(timesink.sample()))
    assert int(groups["calls"].sum()) == kernel_launches(timesink.open(timesink.sample())).height


def test_tensor_core_shares() -> None:
    assert 0 < tensor_core_shares(timesink.open(timesink.sample()))[0] < 1


def test_operator_tensor_core_share() -> None:
    assert operator_tensor_core_share(timesink.open(timesink.sample())).columns == [
        "device",
        "kernel_ns",
        "tensor_core_ns",
        "unknown_ns",
        "ratio",
    ]


def test_uses_tensor_cores() -> None:
    assert uses_tensor_cores("volta_fp16_s884cudnn_fp16_128x128_ldg8_relu_f2f_exp")
    assert not uses_tensor_cores("void at::native::vectorized_elementwise_kernel<4, Add>(int)")
    assert uses_tensor_cores("my_kernel") is None


def test_is_eligible() -> None:
    assert (
        is_eligible("aten::mm"),
        is_eligible("ConvolutionBackward0"),
        is_eligible("aten::add"),
    ) == (True, True, False)


def test_has_tensor_cores() -> None:
    assert has_tensor_cores(timesink.open(timesink.sample()))


def test_tensor_core_use() -> None:
    assert repr(tensor_core_use(timesink.open(timesink.sample())).dtype) == "Boolean"
