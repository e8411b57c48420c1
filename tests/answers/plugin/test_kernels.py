"""Responses of the kernel view and the device summary: known answers, gaps in the data, MLU."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import timesink
from builders import complete, kineto, mlu_trace
from cases import STEP, K, O, R, columns, read, read_document, table
from timesink.answers.plugin.operators import kernel_pie, kernel_table_view, tensor_core_pie
from timesink.answers.plugin.overview import device_summary
from timesink.answers.plugin.query import Query
from timesink.errors import NotFoundError
from timesink.model.trace import Trace

BY_NAME = Query({"group_by": "Kernel"})
BY_PROPERTIES = Query({"group_by": "KernelNameAndOpName"})

RUNS = {
    0: "resnet50_num_workers_0/worker0.1623143089861",
    5: "resnet50_num_workers_4/worker0.1623212756351",
}
"""Recordings with known answers, by the line of their first answer."""


@pytest.fixture(scope="module", params=RUNS)
def golden_run(shared_root: Path, request: pytest.FixtureRequest) -> tuple[Trace, list[Any]]:
    """A recording and its answers: overview, operators (two), kernel table, kernel pie."""
    file = shared_root / "data/kineto" / f"{RUNS[request.param]}.pt.trace.json.gz"
    lines = (shared_root / "data/kineto/tb_golden.jsonl").read_text("utf-8").splitlines()
    answers = [json.loads(line) for line in lines[request.param : request.param + 5]]
    return timesink.open(file), answers


def without_prose(value: Any) -> str:
    """As text, so that the order of keys counts; the words of tooltips are free."""

    def drop_tooltip(inner: dict[str, Any]) -> dict[str, Any]:
        return {key: "" if key == "tooltip" else item for key, item in inner.items()}

    return json.dumps(json.loads(json.dumps(value), object_hook=drop_tooltip))


def test_known_kernel_table(golden_run: tuple[Trace, list[Any]]):
    trace, answers = golden_run
    assert without_prose(kernel_table_view(trace, BY_NAME)) == without_prose(answers[3])


def test_known_kernel_pie(golden_run: tuple[Trace, list[Any]]):
    trace, answers = golden_run
    assert without_prose(kernel_pie(trace, BY_NAME)) == without_prose(answers[4])


def test_known_device_summary(golden_run: tuple[Trace, list[Any]]):
    trace, answers = golden_run
    key, summary = device_summary(trace) or ("", {})
    assert without_prose(summary) == without_prose(answers[0][key])


# -- the kernel view -------------------------------------------------------------------------------


@pytest.mark.parametrize("view", [kernel_pie, kernel_table_view, tensor_core_pie])
def test_a_trace_without_kernels_has_no_kernel_view(view: Any):
    with pytest.raises(NotFoundError, match="no kernels"):
        view(read(O("aten::add", 0, 10)), BY_NAME)


def test_estimates_are_shown_only_where_some_kernel_states_them():
    silent = kernel_table_view(read(K("a", 0, 10)), BY_NAME)["data"]
    assert columns(silent)[-1] == "Min Duration (us)"
    zero = kernel_table_view(
        read(K("a", 0, 10, **{"blocks per SM": 0, "est. achieved occupancy %": 0})), BY_NAME
    )["data"]
    assert columns(zero)[-2:] == ["Min Duration (us)", "Mean Est. Achieved Occupancy (%)"]


def test_a_kernel_that_states_no_estimate_has_an_empty_cell():
    trace = read(K("a", 0, 20), K("b", 30, 10, **{"est. achieved occupancy %": 30}))
    rows = kernel_table_view(trace, BY_NAME)["data"]["rows"]
    assert [row[-1] for row in rows] == [None, 30.0]


def test_tensor_cores_used():
    trace = read(K("nvjet_sm90_hsh", 0, 30), K("volta_sgemm_64x64_nt", 40, 20), K("mine", 70, 10))
    rows = table(kernel_table_view(trace, BY_NAME)["data"])
    assert [row["Tensor Cores Used"] for row in rows] == ["Yes", "No", "Unknown"]


def test_tensor_core_pie_has_two_parts_where_every_kernel_is_known():
    trace = read(K("nvjet_sm90_hsh", 0, 30), K("volta_sgemm_64x64_nt", 40, 10))
    assert tensor_core_pie(trace, Query())["total"]["rows"] == [
        ["Using Tensor Cores", 0.75],
        ["Not Using Tensor Cores", 0.25],
    ]


def test_kernels_by_properties():
    shape = {"grid": [8, 2, 1], "block": [128, 1, 1]}
    numbers = {"registers per thread": "32", "shared memory": 0}
    trace = read(
        O("aten::mm", 0, 50, x=1),
        R(10, 5, c=1, x=1),
        K("nvjet_sm90_hsh", 20, 10.5, c=1, x=1, **shape, **numbers),
        K("mine", 60, 5, c=99),
    )
    linked, unlinked = table(kernel_table_view(trace, BY_PROPERTIES)["data"])
    assert linked == {
        "Name": "nvjet_sm90_hsh",
        "Operator": "aten::mm",
        "Grid": "[8, 2, 1]",
        "Block": "[128, 1, 1]",
        "Register Per Thread": 32,
        "Shared Memory": 0,
        "Kernel Uses Tensor Cores": "Yes",
        "Op is Tensor Cores eligible": "Yes",
        "Calls": 1,
        "Total Duration (us)": 10.5,
        "Mean Duration (us)": 10,
        "Max Duration (us)": 10.5,
        "Min Duration (us)": 10.5,
    }
    assert unlinked["Operator"] == "launch not in trace"
    assert (unlinked["Grid"], unlinked["Register Per Thread"]) == (None, None)
    assert unlinked["Op is Tensor Cores eligible"] == "No"


def test_mlu_kernels_by_properties():
    (row,) = table(kernel_table_view(read_document(mlu_trace()), BY_PROPERTIES)["data"])
    assert row == {
        "Name": "MLUKernelAdd",
        "Operator": "aten::add",
        "DimXYZ": "[4, 1, 1]",
        "Kernel Type": "UNION",
        "Kernel Uses Tensor Cores": "No",
        "Calls": 1,
        "Total Duration (us)": 4,
        "Mean Duration (us)": 4,
        "Max Duration (us)": 4,
        "Min Duration (us)": 4,
    }


# -- the device summary ----------------------------------------------------------------------------


def lines(trace: Trace) -> list[tuple[str, str]]:
    _, summary = device_summary(trace) or ("", {"data": []})
    return [(line["title"], line["value"]) for line in summary["data"]]


def test_devices_are_looked_up_by_their_number():
    devices = [
        {
            "id": 1,
            "name": "NVIDIA H200",
            "totalGlobalMem": 2**30,
            "computeMajor": 9,
            "computeMinor": 0,
        },
        {"id": 0, "name": "NVIDIA A100"},
    ]
    trace = read(
        STEP(1, 0, 100),
        R(1, 1, c=1),
        K("a", 10, 50, c=1, device=1),
        K("a", 10, 20, c=1, device=0),
        deviceProperties=devices,
    )
    assert lines(trace) == [
        ("GPU 0:", ""),
        ("Name", "NVIDIA A100"),
        ("GPU Utilization", "20.0 %"),
        ("<hr/>", ""),
        ("GPU 1:", ""),
        ("Name", "NVIDIA H200"),
        ("Memory", "1.0 GB"),
        ("Compute Capability", "9.0"),
        ("GPU Utilization", "50.0 %"),
    ]


def test_a_kernel_on_an_unknown_device_is_summed_up_as_well():
    kernel = complete("kernel", "a", 10, 50, pid="somewhere", tid=7, args={})
    assert ("GPU without number:", "") in lines(read_document(kineto([STEP(1, 0, 100), kernel])))


def test_the_tooltip_states_every_denominator():
    trace = read(
        STEP(1, 0, 100),
        R(1, 1, c=1),
        K("a", 10, 50, c=1),
        STEP(2, 200, 100),
        R(201, 1, c=2),
        K("a", 210, 50, c=2),
    )
    _, summary = device_summary(trace) or ("", {})
    assert "GPU 0: 33.33 % of 0.300 ms from first to last step" in summary["tooltip"]
    assert "50.0 % of the 0.200 ms inside steps" in summary["tooltip"]


def test_no_summary_without_kernels():
    assert device_summary(read(STEP(1, 0, 100))) is None


def test_mlu_summary():
    key, summary = device_summary(read_document(mlu_trace())) or ("", {})
    assert (key, summary["title"]) == ("mlu_metrics", "MLU Summary")
    assert [line["title"] for line in summary["data"]] == [
        "MLU 0:",
        "Name",
        "Memory",
        "MLU Utilization",
        "Kernel Time using Tensor Cores",
    ]
