"""Small recordings whose overview can be worked out on paper."""

from __future__ import annotations

import numpy as np
import pytest

from cases import (
    DATA_LOADER,
    MAIN,
    OTHER,
    STEP,
    C,
    K,
    O,
    R,
    S,
    columns,
    costs,
    host_event,
    microseconds,
    read,
    step_rows,
)
from timesink.analyses.operators import operator_table
from timesink.analyses.steps import find_steps, role_ranges, step_breakdown, window
from timesink.answers.plugin.operators import kernel_table_view, operation_table
from timesink.answers.plugin.overview import overview
from timesink.answers.plugin.query import Query

ALL_PARTS = [
    "Step",
    "Kernel",
    "Memcpy",
    "Memset",
    "Communication",
    "Runtime",
    "DataLoader",
    "CPU Exec",
    "Other",
]


def every_category():
    return read(
        STEP(1, 50, 400, x=1),
        O(DATA_LOADER, 100, 180, x=2),
        O("aten::to", 200, 60, x=3),
        O("aten::nll_loss_backward", 340, 70, x=4, tid=OTHER),
        R(360, 20, c=1, x=4, tid=OTHER),
        R(390, 10, c=2, x=4, tid=OTHER),
        R(405, 5, c=3, x=4, tid=OTHER),
        C(405, 10, c=1, x=4),
        S(420, 5, c=2, x=4),
        K("nll_loss_backward_kernel", 430, 15, c=3, x=4),
    )


def test_every_category_has_its_part_of_the_step():
    assert costs(every_category()) == [[15, 10, 5, 0, 30, 180, 35, 125, 400]]


def test_overview_of_every_category():
    answer = overview(every_category(), Query())
    parts = [part for part in ALL_PARTS if part != "Communication"]
    assert columns(answer["steps"]) == parts
    assert step_rows(answer) == [["1", 15, 10, 5, 30, 180, 35, 125]]
    (average,) = answer["performance"]
    assert (average["value"], average["extra"]) == (400, 100)
    assert [part["name"] for part in average["children"]] == parts[1:]
    assert [part["extra"] for part in average["children"]] == [
        3.75,
        2.5,
        1.25,
        7.5,
        45,
        8.75,
        31.25,
    ]


def test_work_launched_by_the_step_itself():
    trace = read(STEP(1, 100, 300, x=2), R(130, 20, c=1, x=2), K("fill", 220, 8, c=1, x=2))
    assert costs(trace) == [[8, 0, 0, 0, 20, 0, 0, 272, 300]]
    assert operator_table(trace).is_empty()
    (row,) = kernel_table_view(trace, Query({"group_by": "KernelNameAndOpName"}))["data"]["rows"]
    assert row[0] == "fill"


def test_without_marks_the_recording_is_one_step():
    trace = read(
        O("aten::to", 100, 60, x=1),
        O("aten::nll_loss_backward", 300, 70, x=4, tid=OTHER),
        R(310, 20, c=1, x=4, tid=OTHER),
        K("nll_loss_backward_kernel", 320, 100, c=1, x=4),
    )
    assert costs(trace) == [[100, 0, 0, 0, 10, 0, 70, 140, 320]]
    assert find_steps(trace).select("name", "marked").rows() == [("0", False)]


def two_steps(copy_length: int):
    return (
        STEP(1, 100, 200),
        O("aten::to", 200, 60, x=2),
        R(250, 5, c=1, x=2),
        C(280, copy_length, c=1, x=2),
        STEP(2, 350, 150),
        O("aten::mm", 360, 50, x=4),
        R(400, 5, c=2, x=4),
        K("gemm", 410, 200, c=2, x=4),
    )


def test_steps_last_until_their_device_work_is_done():
    trace = read(*two_steps(copy_length=40))
    assert costs(trace) == [
        [0, 40, 0, 0, 5, 0, 55, 120, 220],
        [200, 0, 0, 0, 5, 0, 45, 10, 260],
    ]
    assert overview(trace, Query())["performance"][0]["value"] == 240


def test_device_work_of_a_step_delays_the_next():
    trace = read(*two_steps(copy_length=100), K("from before", 150, 90, c=99))
    assert microseconds(find_steps(trace)["start_ns"]) == [240, 380]
    assert costs(trace) == [
        [0, 100, 0, 0, 5, 0, 15, 20, 140],
        [200, 0, 0, 0, 5, 0, 25, 0, 230],
    ]


def last_steps_cut():
    return read(
        STEP(1, 100, 200),
        STEP(2, 300, 100),
        STEP(3, 400, 50),
        K("from before", 90, 20, c=99),
        R(125, 5, c=1),
        K("gemm", 150, 180, c=1),
    )


def test_last_steps_without_device_work_are_shown_and_left_out_of_averages():
    # The old plugin dropped such steps.  They stay, marked, and their time with them.
    trace = last_steps_cut()
    assert find_steps(trace).select("name", "complete").rows() == [
        ("1", True),
        ("2", False),
        ("3", False),
    ]
    assert microseconds(step_breakdown(trace)["total_ns"]) == [220, 70, 50]
    assert overview(trace, Query())["performance"][0]["value"] == 220


def test_utilisation_is_taken_over_complete_steps():
    assert window(find_steps(last_steps_cut())) == (110_000, 330_000)


def test_last_step_whose_work_is_missing_is_cut():
    launches = [(110, 1), (120, 2), (130, 3), (210, 4)]
    lost = [R(220, 5, c=5), R(230, 5, c=6)]
    trace = read(
        STEP(1, 100, 100),
        STEP(2, 200, 100),
        *(R(ts, 5, c=c) for ts, c in launches),
        *(K("gemm", ts + 5, 5, c=c) for ts, c in launches),
        *lost,
    )
    assert find_steps(trace)["complete"].to_list() == [True, False]
    assert overview(trace, Query())["performance"][0]["value"] == 100


def test_recording_without_a_device():
    trace = read(
        STEP(1, 100, 200),
        O("aten::to", 120, 10),
        STEP(2, 300, 100),
        O("aten::mm", 350, 40),
    )
    answer = overview(trace, Query())
    assert columns(answer["steps"]) == ["Step", "DataLoader", "CPU Exec", "Other"]
    assert step_rows(answer) == [["1", 0, 10, 190], ["2", 0, 40, 60]]
    assert {"title": "Device Type", "value": "CPU"} in answer["environments"]
    assert "gpu_metrics" not in answer


def test_runtime_calls_without_device_work():
    """Their time is shown, so that parts add up; the device they may have reached is not."""
    answer = overview(read(O("aten::mm", 100, 50), R(110, 20, c=1)), Query())
    assert columns(answer["steps"]) == ["Step", "Runtime", "DataLoader", "CPU Exec", "Other"]
    assert step_rows(answer) == [["0", 20, 0, 30, 0]]
    assert {"title": "Device Type", "value": "CPU"} in answer["environments"]


def test_communication_is_known_by_an_annotation_alone():
    trace = read(host_event("user_annotation", "nccl:all_reduce", 100, 50, MAIN))
    assert "Communication" in columns(overview(trace, Query())["steps"])


def test_collectives_are_device_work():
    # To the old plugin a device that only communicates was no device at all.
    card = {"id": 0, "name": "NVIDIA H200"}
    talk = K("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 110, 30)
    trace = read(O("aten::mm", 100, 50), talk, deviceProperties=[card])
    answer = overview(trace, Query())
    assert {"title": "Device Type", "value": "GPU"} in answer["environments"]
    assert columns(answer["steps"]) == ALL_PARTS
    assert costs(trace) == [[0, 0, 0, 30, 0, 0, 20, 0, 50]]


def test_device_of_an_unknown_maker_is_a_device():
    answer = overview(read(O("aten::mm", 100, 50), K("gemm", 110, 30)), Query())
    assert {"title": "Device Type", "value": "GPU"} in answer["environments"]
    assert answer["gpu_metrics"]["data"][0]["title"] == "GPU 0:"


@pytest.mark.parametrize("name", [DATA_LOADER, "enumerate(DataPipe)#MapperIterDataPipe"])
def test_loading_data_is_no_operator(name: str):
    trace = read(O(name, 100, 23), O("aten::mm", 130, 10))
    ranges = role_ranges(trace)["data_loader"]
    assert (np.asarray(ranges) - np.asarray(ranges).min()).tolist() == [[0, 23_000]]
    assert [row["name"] for row in operation_table(trace, Query())["data"]] == ["aten::mm"]


def test_parts_never_exceed_the_step():
    # Kernels that cover the whole step left the old plugin without free time, and it began anew.
    trace = read(
        STEP(1, 100, 100),
        O("aten::mm", 110, 50),
        R(115, 10, c=1),
        K("gemm", 100, 100, c=1),
        C(120, 10, c=2),
    )
    assert costs(trace) == [[100, 0, 0, 0, 0, 0, 0, 0, 100]]


def test_step_of_no_length():
    trace = read(STEP(1, 100, 0), O("aten::mm", 90, 50))
    answer = overview(trace, Query())
    assert costs(trace) == [[0, 0, 0, 0, 0, 0, 0, 0, 0]]
    assert answer["performance"][0]["value"] == 0
