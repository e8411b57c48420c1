"""Small recordings whose kernel tables and device summary can be worked out on paper."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from builders import Event
from cases import STEP, K, O, R, read, table, with_tensor_cores
from timesink.analyses.device_utilisation import (
    UTILISATION,
    sm_efficiency_intervals,
    utilisation_counters,
)
from timesink.answers.plugin.operators import kernel_pie, kernel_table_view, tensor_core_pie
from timesink.answers.plugin.overview import overview
from timesink.answers.plugin.query import Query
from timesink.model.trace import Trace

BLOCKS, OCCUPANCY = "Mean Blocks Per SM", "Mean Est. Achieved Occupancy (%)"


def geometry(blocks: float, occupancy: float) -> dict[str, float]:
    return {"blocks per SM": blocks, "est. achieved occupancy %": occupancy}


def kernels(trace: Trace, group_by: str) -> list[dict[str, Any]]:
    return table(kernel_table_view(trace, Query({"group_by": group_by}))["data"])


def summary(trace: Trace) -> dict[str, str]:
    return {
        line["title"]: line["value"] for line in overview(trace, Query())["gpu_metrics"]["data"]
    }


def percent(share: float) -> str:
    return f"{round(100 * share, 2)} %"


# -- utilisation -----------------------------------------------------------------------------------


def busy_half_of_the_time() -> Trace:
    return read(
        O("aten::mat_mul", 100, 100, x=2),
        O("aten::mm", 120, 70, x=4),
        R(121, 1, c=1, x=4),
        R(192, 1, c=2, x=2),
        R(194, 1, c=3, x=2),
        R(123, 1, c=4, x=4),
        R(196, 1, c=5, x=2),
        K("a", 130, 10, c=1, x=4, device=1, **geometry(0.5, 0.6)),
        K("b", 135, 15, c=2, x=2, device=1, **geometry(0.6, 0.1)),
        K("b", 150, 0, c=3, x=2, device=1, **geometry(0.3, 0.2)),
        K("a", 145, 25, c=4, x=4, device=1, **geometry(0.3, 1.0)),
        K("a", 200, 20, c=5, x=2, device=1, **geometry(10.5, 0.3)),
    )


def test_device_summary():
    blocks = 0.5 * 5 + 1.0 * 5 + 0.6 * 5 + 0.9 * 5 + 0.3 * 20 + 1.0 * 20
    metrics = summary(busy_half_of_the_time())
    assert metrics["GPU 1:"] == ""
    assert metrics["GPU Utilization"] == percent(60 / 120)
    assert metrics["Est. SM Efficiency"] == percent(blocks / 120)
    assert metrics["Est. Achieved Occupancy"] == f"{round((6 + 1.5 + 25 + 6) / 70, 2)} %"


def test_utilisation_over_time():
    samples = utilisation_counters(busy_half_of_the_time()).filter(pl.col("counter") == UTILISATION)
    first, last = samples["ts_ns"][0], samples["ts_ns"][-1]
    assert last - first == 120_000
    scale, end = [1, 0], [0]
    assert samples["value"].to_list() == [*scale, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 1, 1, *end]


def test_multiprocessors_in_use_over_time():
    # The old plugin also had one of nearly nothing from 170 to 200, left over from rounding.
    pieces = sm_efficiency_intervals(busy_half_of_the_time(), 1)
    lengths = (pieces["end_ns"] - pieces["start_ns"]).to_list()
    assert lengths == [5_000, 5_000, 5_000, 5_000, 20_000, 20_000]
    assert pieces["value"].to_list() == pytest.approx([0.5, 1.0, 0.6, 0.9, 0.3, 1.0])


def test_blocks_and_occupancy_of_kernels_weigh_by_time():
    rows_by_name = {row["Name"]: row for row in kernels(busy_half_of_the_time(), "Kernel")}
    assert (rows_by_name["a"][BLOCKS], rows_by_name["a"][OCCUPANCY]) == (
        round(222.5 / 55, 2),
        round(37 / 55, 2),
    )
    assert (rows_by_name["b"][BLOCKS], rows_by_name["b"][OCCUPANCY]) == (0.6, 0.1)


def test_blocks_and_occupancy_by_operator():
    rows = kernels(busy_half_of_the_time(), "KernelNameAndOpName")
    values = {(row["Name"], row["Operator"]): (row[BLOCKS], row[OCCUPANCY]) for row in rows}
    assert values == {
        ("a", "aten::mm"): (round(12.5 / 35, 2), round(31 / 35, 2)),
        ("a", "aten::mat_mul"): (10.5, 0.3),
        ("b", "aten::mat_mul"): (0.6, 0.1),
    }


def test_kernels_outside_the_steps():
    trace = read(
        R(50, 5, c=1),
        K("a", 60, 20, c=1, **geometry(0.5, 0.6)),
        STEP(2, 100, 100),
        R(230, 5, c=2),
        K("a", 240, 25, c=2, **geometry(10.5, 0.3)),
    )
    metrics = summary(trace)
    assert metrics["GPU Utilization"] == "0.0 %"
    assert not {"Est. SM Efficiency", "Est. Achieved Occupancy"} & set(metrics)
    (row,) = kernels(trace, "Kernel")
    assert row[BLOCKS] == round((10 + 262.5) / 45, 2)
    assert row[OCCUPANCY] == round((12 + 7.5) / 45, 2)


def test_kernels_that_say_nothing_are_left_out_of_the_mean():
    # The old plugin took a missing occupancy as zero.
    trace = read(
        O("aten::mm", 100, 50, x=1),
        K("a", 110, 10, **geometry(2, 40)),
        K("a", 130, 30),
    )
    (row,) = kernels(trace, "Kernel")
    assert (row["Calls"], row[BLOCKS], row[OCCUPANCY]) == (2, 2, 40)


# -- groups ----------------------------------------------------------------------------------------

NUMBERS = (
    "Calls",
    "Total Duration (us)",
    "Mean Duration (us)",
    "Max Duration (us)",
    "Min Duration (us)",
)


def launch_shape(**other: Any) -> dict[str, Any]:
    shape = {
        "grid": [16, 1, 1],
        "block": [256, 1, 1],
        "registers per thread": 18,
        "shared memory": 64,
    }
    merged = shape | {name.replace("_", " "): value for name, value in other.items()}
    return {name: value for name, value in merged.items() if value is not ...}


def launches(*kernels_of: tuple[str, int, dict[str, Any]]) -> list[Event]:
    """One operator after the other, each launching a kernel of this length and shape."""
    events = []
    for number, (operator, length, shape) in enumerate(kernels_of, start=1):
        start = 100 * number
        events += [
            O(operator, start, 50, x=number),
            R(start + 5, 5, c=number, x=number),
            K("kernel1", start + 20, length, c=number, x=number, **shape),
        ]
    return events


def test_kernels_grouped_by_operator_and_shape():
    usual = launch_shape()
    trace = read(
        *launches(
            ("op1", 15, usual),
            ("op1", 10, usual),
            ("op1", 13, launch_shape(block=[64, 1, 1])),
            ("op2", 17, usual),
        )
    )
    rows = kernels(trace, "KernelNameAndOpName")
    values = [(row["Operator"], *(row[name] for name in NUMBERS)) for row in rows]
    assert values == [
        ("op1", 2, 25, 12, 15, 10),  # 12.5 is shown as 12: halves go to the even number
        ("op2", 1, 17, 17, 17, 17),
        ("op1", 1, 13, 13, 13, 13),
    ]


def test_kernels_with_incomplete_shapes_stay_apart():
    nothing = launch_shape(grid=..., block=..., registers_per_thread=..., shared_memory=...)
    trace = read(
        *launches(
            ("op1", 1, launch_shape(grid=...)),
            ("op1", 2, launch_shape(block=...)),
            ("op1", 3, launch_shape(registers_per_thread=...)),
            ("op1", 4, launch_shape(shared_memory=...)),
            ("op1", 5, nothing),
        )
    )
    rows = kernels(trace, "KernelNameAndOpName")
    assert [row["Total Duration (us)"] for row in rows] == [5, 4, 3, 2, 1]


@pytest.mark.parametrize("name", ["registers_per_thread", "shared_memory"])
def test_missing_is_not_zero(name: str):
    # The old plugin put a missing number and a zero in one group.
    trace = read(
        *launches(("op1", 1, launch_shape(**{name: 0})), ("op1", 2, launch_shape(**{name: ...})))
    )
    column = {"registers_per_thread": "Register Per Thread", "shared_memory": "Shared Memory"}[name]
    rows = kernels(trace, "KernelNameAndOpName")
    assert [(row["Total Duration (us)"], row[column]) for row in rows] == [(2, None), (1, 0)]


# -- tensor cores ----------------------------------------------------------------------------------


def test_share_of_tensor_cores():
    trace = with_tensor_cores()
    assert summary(trace)["Kernel Time using Tensor Cores"] == "60.0 %"
    # The old plugin took every name it did not know for a kernel without tensor cores.
    assert tensor_core_pie(trace, Query())["total"]["rows"] == [
        ["Using Tensor Cores", 0.6],
        ["Not Using Tensor Cores", 0.0],
        ["Unknown", 0.4],
    ]


def test_kernels_by_time():
    assert kernel_pie(with_tensor_cores(), Query({"group_by": "Kernel"}))["total"]["rows"] == [
        ["volta_fp16_s884cudnn_fp16_256x64", 15],
        ["kernel_no_tc", 10],
    ]
