"""The views of a recording made on a Cambricon MLU: their structure, and the numbers in them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cases import by_name, read_document, step_rows, table
from mlu import training_loop
from mlu_loop import PARTS, RING_SUM, SCALE, Answers, OperatorRow
from timesink.analyses.names import device_word
from timesink.answers.plugin.memory import memory_table
from timesink.answers.plugin.operators import (
    kernel_pie,
    kernel_table_view,
    operation_pie,
    operation_table,
)
from timesink.answers.plugin.overview import overview
from timesink.answers.plugin.query import Query
from timesink.model.trace import Trace

RECORDED_ANSWERS = "seeds/003_*"

VIEWS: dict[str, tuple[Callable[[Trace, Query], dict[str, Any]], Query]] = {
    "overview": (overview, Query()),
    "operation": (operation_pie, Query({"group_by": "Operation"})),
    "operation/table": (operation_table, Query({"group_by": "Operation"})),
    "kernel/table": (kernel_table_view, Query({"group_by": "Kernel"})),
    "kernel": (kernel_pie, Query({"group_by": "Kernel"})),
}
"""In the order of the recorded answers."""

VARIANTS: dict[str, dict[str, Any]] = {
    "first plugin": {},
    "steps": {"steps": True},
    "current categories": {"old_categories": False},
    "properties": {"properties": True, "old_categories": False, "steps": True},
    "collective as operator": {"collective_category": "cpu_op", "steps": True},
    "third device": {"device": 2, "iterations": 3},
}


@pytest.fixture(scope="module", params=VARIANTS)
def training_run(request: pytest.FixtureRequest) -> tuple[Trace, Answers]:
    document, answers = training_loop(**VARIANTS[request.param])
    return read_document(document), answers


@pytest.fixture(scope="module")
def like_the_first_plugin() -> Trace:
    """As the recordings behind the recorded answers: one step, no device properties."""
    return read_document(training_loop()[0])


def ask(trace: Trace, view: str) -> dict[str, Any]:
    respond, query = VIEWS[view]
    response: dict[str, Any] = json.loads(json.dumps(respond(trace, query)))
    return response


# -- structure -------------------------------------------------------------------------------------

TEXT, NUMBER, FLAG = "text", "number", "flag"


def outline(value: Any) -> Any:
    """Keys in their order and sorts of values; of a list, what its different members look like."""
    if isinstance(value, dict):
        return [(key, outline(inner)) for key, inner in value.items()]
    if isinstance(value, list):
        looks: list[Any] = []
        for inner in value:
            look = outline(inner)
            if look not in looks:
                looks.append(look)
        return {"list": looks}
    return FLAG if isinstance(value, bool) else TEXT if isinstance(value, str) else NUMBER


HOVER = {"type": "string", "role": "tooltip", "p": {"html": "true"}}
NAME_AND_VALUE = [{"type": "string", "name": "name"}, {"type": "number", "name": "value"}]
LINES = {"list": [[("title", TEXT), ("value", TEXT)]]}
PIE = [
    ("title", TEXT),
    ("columns", {"list": [[("type", TEXT), ("name", TEXT)]]}),
    ("rows", {"list": [{"list": [TEXT, NUMBER]}]}),
]
PART = [("name", TEXT), ("description", TEXT), ("value", NUMBER), ("extra", NUMBER)]
OUTLINES: dict[str, Any] = {
    "overview": [
        (
            "steps",
            [
                (
                    "columns",
                    {
                        "list": [
                            [("type", TEXT), ("name", TEXT)],
                            [("type", TEXT), ("role", TEXT), ("p", [("html", TEXT)])],
                        ]
                    },
                ),
                ("rows", {"list": [{"list": [TEXT, NUMBER]}]}),
            ],
        ),
        ("performance", {"list": [[*PART, ("children", {"list": [PART]})]]}),
        ("recommendations", TEXT),
        ("environments", LINES),
        ("mlu_metrics", [("title", TEXT), ("data", LINES), ("tooltip", TEXT)]),
    ],
    "operation": [
        ("device_total_time", PIE),
        ("device_self_time", PIE),
        ("host_total_time", PIE),
        ("host_self_time", PIE),
    ],
    "operation/table": [
        (
            "metadata",
            [
                ("sort", TEXT),
                (
                    "tooltips",
                    [("tc_eligible", TEXT), ("tc_self_ratio", TEXT), ("tc_total_ratio", TEXT)],
                ),
            ],
        ),
        (
            "data",
            {
                "list": [
                    [
                        ("name", TEXT),
                        ("calls", NUMBER),
                        ("device_self_duration", NUMBER),
                        ("device_total_duration", NUMBER),
                        ("host_self_duration", NUMBER),
                        ("host_total_duration", NUMBER),
                        ("tc_eligible", TEXT),
                        ("tc_self_ratio", NUMBER),
                        ("tc_total_ratio", NUMBER),
                        ("has_call_stack", FLAG),
                    ]
                ]
            },
        ),
    ],
    "kernel/table": [
        ("metadata", [("sort", TEXT)]),
        (
            "data",
            [
                (
                    "columns",
                    {
                        "list": [
                            [("type", TEXT), ("name", TEXT)],
                            [("type", TEXT), ("name", TEXT), ("tooltip", TEXT)],
                        ]
                    },
                ),
                ("rows", {"list": [{"list": [TEXT, NUMBER]}]}),
            ],
        ),
    ],
    "kernel": [("total", PIE[1:])],
}
"""What every response looks like."""

FIXED: dict[str, dict[str, Any]] = {
    "overview": {
        "steps.columns": [
            {"type": "string", "name": "Step"},
            *(column for part in PARTS for column in ({"type": "number", "name": part}, HOVER)),
        ],
        "environments": [
            {"title": "Number of Worker(s)", "value": "1"},
            {"title": "Device Type", "value": "MLU"},
        ],
        "mlu_metrics.title": "MLU Summary",
    },
    "operation": {
        "device_total_time.title": "Device Total Time (us)",
        "device_total_time.columns": NAME_AND_VALUE,
        "device_self_time.title": "Device Self Time (us)",
        "device_self_time.columns": NAME_AND_VALUE,
        "host_total_time.title": "Host Total Time (us)",
        "host_total_time.columns": NAME_AND_VALUE,
        "host_self_time.title": "Host Self Time (us)",
        "host_self_time.columns": NAME_AND_VALUE,
    },
    "operation/table": {"metadata.sort": "device_self_duration"},
    "kernel/table": {
        "metadata.sort": "Total Duration (us)",
        "data.columns": [
            {"type": "string", "name": "Name"},
            {"type": "string", "name": "Tensor Cores Used"},
            {"type": "number", "name": "Calls"},
            {"type": "number", "name": "Total Duration (us)"},
            {"type": "number", "name": "Mean Duration (us)"},
            {"type": "number", "name": "Max Duration (us)"},
            {"type": "number", "name": "Min Duration (us)"},
        ],
    },
    "kernel": {"total.columns": NAME_AND_VALUE},
}
"""What is the same in every response of a view, by its place."""


def at(response: Any, place: str) -> Any:
    for key in place.split("."):
        response = response[key]
    if place == "data.columns":  # the words of tooltips are free
        return [
            {key: item for key, item in column.items() if key != "tooltip"} for column in response
        ]
    return response


@pytest.mark.parametrize("view", VIEWS)
def test_structure(like_the_first_plugin: Trace, view: str):
    response = ask(like_the_first_plugin, view)
    assert outline(response) == OUTLINES[view]
    assert {place: at(response, place) for place in FIXED[view]} == FIXED[view]


@pytest.mark.parametrize("place", range(10))
def test_structure_is_that_of_the_recorded_answers(
    shared_root: Path, like_the_first_plugin: Trace, place: int
):
    (file,) = shared_root.glob(RECORDED_ANSWERS)
    recorded = json.loads(file.read_text(encoding="utf-8").splitlines()[place])
    view = list(VIEWS)[place % len(VIEWS)]
    response = ask(like_the_first_plugin, view)
    assert outline(response) == outline(recorded)
    for same in FIXED[view]:
        assert at(response, same) == at(recorded, same)


def test_titles_of_the_summary(like_the_first_plugin: Trace):
    lines = ask(like_the_first_plugin, "overview")["mlu_metrics"]["data"]
    assert [line["title"] for line in lines] == [
        "MLU 0:",
        "MLU Utilization",
        "Kernel Time using Tensor Cores",
    ]


# -- an MLU is called so ---------------------------------------------------------------------------


def test_device_is_an_mlu_with_and_without_properties(training_run: tuple[Trace, Answers]):
    trace, _ = training_run
    assert device_word(trace) == "MLU"
    answer = ask(trace, "overview")
    assert {"title": "Device Type", "value": "MLU"} in answer["environments"]
    assert "gpu_metrics" not in answer


def test_memory_of_the_device_goes_by_its_name(training_run: tuple[Trace, Answers]):
    trace, answers = training_run
    answer = memory_table(trace, Query({"memory_metric": "B"}))
    device = answer["metadata"]["default_device"]
    assert device in {"MLU0", "MLU2"}
    names = [column["name"] for column in answer["columns"]]
    rows = [dict(zip(names, row, strict=True)) for row in answer["rows"][device]]
    self_sizes = {row["Operator Name"]: row["Self Size Increase (B)"] for row in rows}
    assert {name: size for name, size in self_sizes.items() if size} == answers.memory


def test_properties_of_the_device():
    trace = read_document(training_loop(properties=True)[0])
    metrics = {
        line["title"]: line["value"] for line in ask(trace, "overview")["mlu_metrics"]["data"]
    }
    assert (metrics["Name"], metrics["Memory"], metrics["Compute Capability"]) == (
        "MLU370",
        "24.0 GB",
        "3.0",
    )


# -- there are no tensor cores ---------------------------------------------------------------------


def test_no_operator_is_eligible_for_tensor_cores(training_run: tuple[Trace, Answers]):
    rows = ask(training_run[0], "operation/table")["data"]
    assert {row["tc_eligible"] for row in rows} == {"No"}
    assert {row[key] for row in rows for key in ("tc_self_ratio", "tc_total_ratio")} == {0}


def test_no_kernel_uses_tensor_cores(training_run: tuple[Trace, Answers]):
    rows = ask(training_run[0], "kernel/table")["data"]["rows"]
    assert {row[1] for row in rows} == {"No"}
    lines = ask(training_run[0], "overview")["mlu_metrics"]["data"]
    assert {"title": "Kernel Time using Tensor Cores", "value": "0.0 %"} in lines


# -- numbers ---------------------------------------------------------------------------------------


def test_steps(training_run: tuple[Trace, Answers]):
    trace, answers = training_run
    expected = [[name, *(costs[part] for part in PARTS)] for name, costs in answers.steps.items()]
    answer = ask(trace, "overview")
    assert step_rows(answer) == expected
    assert all(isinstance(cell, str) for row in answer["steps"]["rows"] for cell in row[2::2])


def test_average_step(training_run: tuple[Trace, Answers]):
    trace, answers = training_run
    (average,) = ask(trace, "overview")["performance"]
    steps = list(answers.steps.values())
    means = {part: sum(step[part] for step in steps) / len(steps) for part in (*PARTS, "Total")}
    assert average["value"] == means["Total"]
    assert {part["name"]: part["value"] for part in average["children"]} == {
        part: means[part] for part in PARTS
    }
    assert [part["extra"] for part in average["children"]] == [
        round(100 * means[part] / means["Total"], 2) for part in PARTS
    ]


def test_utilisation(training_run: tuple[Trace, Answers]):
    trace, answers = training_run
    metrics = {
        line["title"]: line["value"] for line in ask(trace, "overview")["mlu_metrics"]["data"]
    }
    assert metrics["MLU Utilization"] == f"{answers.utilisation_pct} %"


def test_operators(training_run: tuple[Trace, Answers]):
    trace, answers = training_run
    rows = ask(trace, "operation/table")["data"]
    operator_rows = {
        row["name"]: OperatorRow(
            row["calls"],
            row["device_self_duration"],
            row["device_total_duration"],
            row["host_self_duration"],
            row["host_total_duration"],
        )
        for row in rows
    }
    assert operator_rows == answers.operators
    values = [row["device_self_duration"] for row in rows]
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("measure", ["device_total", "device_self", "host_total", "host_self"])
def test_shares_of_operators(training_run: tuple[Trace, Answers], measure: str):
    trace, answers = training_run
    rows = ask(trace, "operation")[f"{measure}_time"]["rows"]
    expected = {name: getattr(row, measure) for name, row in answers.operators.items()}
    assert dict(rows) == {name: value for name, value in expected.items() if value}
    assert [value for _, value in rows] == sorted(expected.values(), reverse=True)[: len(rows)]


def test_kernels(training_run: tuple[Trace, Answers]):
    trace, answers = training_run
    rows = table(ask(trace, "kernel/table")["data"])
    kernel_rows = [tuple(row[name] for name in row if name != "Tensor Cores Used") for row in rows]
    expected = [
        (name, len(took), sum(took), round(sum(took) / len(took)), max(took), min(took))
        for name, took in answers.kernels.items()
    ]
    assert kernel_rows == sorted(expected, key=lambda row: -row[2])


def test_shares_of_kernels(training_run: tuple[Trace, Answers]):
    trace, answers = training_run
    rows = ask(trace, "kernel")["total"]["rows"]
    expected = [[name, sum(took)] for name, took in answers.kernels.items()]
    assert rows == sorted(expected, key=lambda row: -row[1])


def test_kernels_by_operator_and_shape(training_run: tuple[Trace, Answers]):
    trace, answers = training_run
    rows = table(kernel_table_view(trace, Query({"group_by": "KernelNameAndOpName"}))["data"])
    assert list(rows[0]) == [
        "Name",
        "Operator",
        "DimXYZ",
        "Kernel Type",
        "Kernel Uses Tensor Cores",
        "Calls",
        "Total Duration (us)",
        "Mean Duration (us)",
        "Max Duration (us)",
        "Min Duration (us)",
    ]
    assert {json.dumps(json.loads(row["DimXYZ"])) for row in rows} == {"[4, 1, 1]"}
    assert {row["Kernel Type"] for row in rows} == {"UNION"}
    operators = {row["Name"]: row["Operator"] for row in rows}
    assert (operators[RING_SUM], operators[SCALE]) == ("cncl:all_reduce", "aten::mul_")
    assert sum(row["Total Duration (us)"] for row in rows) == sum(
        map(sum, answers.kernels.values())
    )


# -- on paper --------------------------------------------------------------------------------------


def test_one_iteration_worked_out_on_paper():
    """Without the answers of the generator, so that a slip in both cannot hide."""
    trace = read_document(training_loop(iterations=1, steps=True)[0])
    answer = ask(trace, "overview")
    parts = {
        "Kernel": 256,  # 70 + 45 + 25 + 40 + 55 + 12 + 9
        "Memcpy": 30,
        "Memset": 6,
        "Communication": 110,  # call 550 to 630, its kernel until 660
        "Runtime": 125,  # 11 calls of 20, less 55 under kernels and 40 under the collective
        "DataLoader": 100,
        "CPU Exec": 164,
        "Other": 209,
    }
    assert step_rows(answer) == [["3", *parts.values()]]
    assert answer["performance"][0]["value"] == 1000
    assert {"title": "MLU Utilization", "value": "31.6 %"} in answer["mlu_metrics"]["data"]
    durations = ("device_self", "device_total", "host_self", "host_total")
    operators = by_name(
        ask(trace, "operation/table")["data"], *(f"{name}_duration" for name in durations)
    )
    assert operators["aten::convolution_backward"] == (95, 95, 50, 90)
    assert operators["c10d::allreduce_"] == (0, 75, 20, 100)
    kernels = dict(ask(trace, "kernel")["total"]["rows"])
    assert (kernels[RING_SUM], kernels[SCALE]) == (60, 21)
