"""Small recordings whose operator table can be worked out on paper."""

from __future__ import annotations

from typing import Any

import pytest

from cases import OTHER, K, O, R, by_name, read, with_tensor_cores
from timesink.answers.plugin.operators import kernel_table_view, operation_table
from timesink.answers.plugin.query import Query
from timesink.model.trace import Trace

TIMES = (
    "calls",
    "host_total_duration",
    "host_self_duration",
    "device_total_duration",
    "device_self_duration",
)


def operators(trace: Trace, *keys: str) -> dict[str, tuple[Any, ...]]:
    return by_name(operation_table(trace, Query({"group_by": "Operation"}))["data"], *keys)


def test_kernels_belong_to_the_call_with_their_id():
    trace = read(
        O("aten::mat_mul", 100, 100, x=2),
        O("aten::mm", 120, 70, x=4),
        R(120, 0, c=1, x=4),
        R(120, 0, c=2, x=2),
        R(190, 0, c=3, x=4),
        R(190, 0, c=4, x=2),
        K("gemm", 130, 5, c=1, x=4),
        K("gemm", 130, 6, c=2, x=2),
        K("gemm", 130, 7, c=3, x=4),
        K("gemm", 130, 8, c=4, x=2),
    )
    assert operators(trace, "device_total_duration", "device_self_duration") == {
        "aten::mat_mul": (26, 14),
        "aten::mm": (12, 12),
    }


@pytest.mark.parametrize("inner_start", [100, 130])
def test_inner_calls_are_taken_from_outer_ones(inner_start: int):
    trace = read(O("aten::mat_mul", 100, 100, x=2), O("aten::mm", inner_start, 70, x=4))
    assert operators(trace, "host_self_duration") == {"aten::mat_mul": (30,), "aten::mm": (70,)}


def test_call_inside_a_call_of_the_same_name_counts_once():
    trace = read(
        O("aten::mm", 100, 100, x=2),
        O("aten::mm", 110, 80, x=3),
        O("aten::mm", 120, 60, x=4),
        R(130, 20, c=1, x=4),
        K("gemm", 220, 8, c=1, x=4),
    )
    assert operators(trace, *TIMES) == {"aten::mm": (1, 100, 80, 8, 8)}


def test_merged_call_keeps_its_own_launches():
    # The old plugin lost the launches of the outer call.
    trace = read(
        O("aten::mm", 0, 100, x=1),
        R(5, 10, c=1, x=1),
        O("aten::mm", 20, 50, x=2),
        K("gemm", 30, 9, c=1, x=1),
    )
    assert operators(trace, *TIMES) == {"aten::mm": (1, 100, 90, 9, 9)}


def launched_on_a_thread_without_operators() -> Trace:
    return read(
        O("aten::mm", 100, 100, x=2),
        R(120, 20, c=1, x=335, tid=OTHER),
        K("gemm", 220, 8, c=1, x=335),
    )


def test_launch_outside_operators_is_not_theirs():
    trace = launched_on_a_thread_without_operators()
    assert operators(trace, "device_total_duration")["aten::mm"] == (0,)
    (row,) = kernel_table_view(trace, Query({"group_by": "Kernel"}))["data"]["rows"]
    assert (row[0], row[2], row[3]) == ("gemm", 1, 8)


def test_one_launch_of_two_kernels():
    trace = read(
        O("Broadcast", 100, 300, x=2),
        R(130, 20, c=1, x=2),
        K("broadcast_kernel", 160, 120318, c=1, x=2),
        K("broadcast_kernel", 170, 132800, c=1, x=2),
    )
    assert operators(trace, "device_total_duration")["Broadcast"] == (253118,)
    by_kernel, by_operator = (
        kernel_table_view(trace, Query({"group_by": group}))["data"]["rows"]
        for group in ("Kernel", "KernelNameAndOpName")
    )
    assert [(row[0], row[2]) for row in by_kernel] == [("broadcast_kernel", 2)]
    assert [(row[0], row[1]) for row in by_operator] == [("broadcast_kernel", "Broadcast")]


def test_own_time_is_without_inner_calls_and_launches():
    trace = read(
        O("aten::mat_mul", 100, 100, x=2),
        O("aten::mm", 120, 40, x=4),
        R(150, 10, c=1, x=4),
        K("gemm", 160, 20, c=1, x=4),
        R(170, 25, c=2, x=2),
        K("gemm", 180, 16, c=2, x=2),
    )
    assert operators(trace, *TIMES) == {
        "aten::mat_mul": (1, 100, 35, 36, 16),
        "aten::mm": (1, 40, 30, 20, 20),
    }


def test_own_time_is_never_negative():
    # Launches of 2 x 60 us side by side in a call of 100 us: what they cover is taken off once.
    trace = read(
        O("aten::mm", 100, 100, x=2),
        R(110, 60, c=1, x=2),
        R(120, 60, c=2, x=2),
        K("gemm", 200, 5, c=1, x=2),
    )
    assert operators(trace, "host_self_duration") == {"aten::mm": (30,)}


def test_two_calls_with_the_same_id_keep_their_own_kernels():
    # The old plugin gave every launch to the first call with the id.
    trace = read(
        O("aten::add", 100, 20, x=1),
        R(105, 5, c=1, x=1),
        O("aten::mul", 130, 20, x=1),
        R(135, 5, c=2, x=1),
        K("add_kernel", 110, 5, c=1, x=1),
        K("mul_kernel", 140, 6, c=2, x=1),
    )
    assert operators(trace, "device_self_duration") == {"aten::add": (5,), "aten::mul": (6,)}


def test_launch_without_an_id_belongs_to_the_call_around_it():
    trace = read(O("aten::add", 100, 20, x=1), R(105, 5, c=1), K("add_kernel", 110, 5, c=1))
    assert operators(trace, "device_self_duration") == {"aten::add": (5,)}


# -- tensor cores ----------------------------------------------------------------------------------

TENSOR_CORE_FIELDS = ("tc_eligible", "tc_self_ratio", "tc_total_ratio")


def test_tensor_core_ratios_of_operators():
    ratios = operators(with_tensor_cores(), *TENSOR_CORE_FIELDS)
    assert ratios == {
        "aten::conv2d": ("Yes", 0, 60),
        "op_no_tc": ("No", 0, 0),
        "aten::cudnn_convolution": ("Yes", 100, 100),
    }
