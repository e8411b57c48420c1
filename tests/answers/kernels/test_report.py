"""The answer of `timesink kernels` as data."""

from __future__ import annotations

import json
from typing import Any

import pytest

import timesink
from cases import K, read
from measured_kernels import launch, trace_of_launches
from timesink.answers.kernels.kernels_json import SCHEMA, KernelRunsJson
from timesink.answers.kernels.reading import kernels
from timesink.answers.views import KERNEL_GROUPS
from timesink.errors import UsageError
from timesink.formats.small_files import plain_values
from timesink.model.health import HealthEntry
from timesink.model.trace import Trace

ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)"
MUL = "void at::native::vectorized_elementwise_kernel<4, at::native::MulFunctor<float>>(int)"


def small(**extra: Any) -> Trace:
    return trace_of_launches(
        launch(30, {}, name=ADD, tensor_pct=0.0, dram_pct=80.0, sm_pct=20.0),
        launch(10, {}, name=MUL, tensor_pct=0.0, dram_pct=20.0, sm_pct=10.0),
        launch(60, {}, name="nvjet_tst_64x8", tensor_pct=90.0, dram_pct=20.0, sm_pct=90.0),
        **extra,
    )


def walk(value: Any, path: str = "") -> list[tuple[str, Any]]:
    """Every key and number of an answer, at any depth."""
    if isinstance(value, dict):
        return [entry for key, inner in value.items() for entry in walk(inner, f"{path}.{key}")]
    if isinstance(value, list):
        return [entry for inner in value for entry in walk(inner, path)]
    return [(path, value)]


def test_the_whole_answer_of_one_run():
    answer = kernels(small(layout="details-csv")).to_dict()
    assert {key: answer[key] for key in ("schema", "source", "format", "layout")} == {
        "schema": SCHEMA,
        "source": "k.csv",
        "format": "ncu",
        "layout": "details-csv",
    }
    assert (answer["calls"], answer["kernels"], answer["total_ns"]) == (3, 2, 100)
    assert answer["sampled"] is answer["join"] is answer["roofline"] is None
    assert answer["thresholds"] == {"low_pct": 33.333333, "high_pct": 66.666667}
    (device,) = answer["devices"]
    assert device["class_pct"] == {
        "both_low": 10.0,
        "low_sm": 30.0,
        "low_dram": 60.0,
        "neither_low": 0.0,
        "unknown": 0.0,
    }
    assert device["bins_pct"] == [[10.0, 0.0, 30.0], [0.0, 0.0, 0.0], [60.0, 0.0, 0.0]]
    assert device["above_low_pct"] == {"tensor": 60.0, "dram": 30.0, "both": 0.0}
    assert (device["sm_pct"], device["headroom_ns"], device["headroom_pct"]) == (61.0, 20, 20.0)
    assert device["missing_ns"] == {"tensor": 0, "dram": 0, "sm": 0}
    assert list(answer["groups"]) == ["name", "family"]
    names = [(row["group"], row["variants"]) for row in answer["groups"]["name"]]
    assert names == [("nvjet_tst_64x8", 1), ("vectorized_elementwise_kernel", 2)]
    assert [row["group"] for row in answer["groups"]["family"]] == ["gemm", "elementwise"]


def test_numbers_say_their_unit_and_none_is_nan():
    text = kernels(small(collected={"every": 3, "per": "kernel"})).to_json()
    answer = json.loads(text, parse_constant=pytest.fail)
    fractions = [path for path, value in walk(answer) if isinstance(value, float)]
    assert fractions
    assert all("_pct" in path or "_ns" in path for path in fractions)


def test_json_is_the_dictionary():
    report = kernels(small())
    assert json.loads(report.to_json()) == json.loads(json.dumps(report.to_dict()))


def test_several_runs():
    answer = plain_values(
        KernelRunsJson.of([kernels(small()).json, kernels(small(layout="text")).json])
    )
    assert list(answer) == ["schema", "runs"]
    assert [run["layout"] for run in answer["runs"]] == [None, "text"]
    assert "schema" not in answer["runs"][0]


def test_several_devices_have_no_common_total():
    trace = trace_of_launches(launch(10, {}, device=0), launch(10, {}, device=1))
    assert kernels(trace).to_dict()["total_ns"] is None


def test_a_sample_is_described():
    report = kernels(small(collected={"every": 5, "per": "kernel"}))
    assert report.to_dict()["sampled"] == {
        "every": 5,
        "per": "kernel",
        "calls_seen": 3,
        "kernels_seen": 2,
        "launches_estimated": 10,
    }
    intervals = report.to_dict()["devices"][0]["intervals_95"]
    assert intervals["total_ns"][0] < report.devices[0].total_ns < intervals["total_ns"][1]
    assert {"sm_pct", "both_low_pct", "unknown_pct"} <= set(intervals)


def test_health_of_the_recording_is_in_the_answer():
    trace = small()
    damaged = Trace(trace.metadata, (HealthEntry("unreadable_file", 2),), trace.frames)
    assert kernels(damaged).to_dict()["health"][0]["code"] == "unreadable_file"


# -- groups ----------------------------------------------------------------------------------------


def test_full_names_are_labelled_by_what_tells_them_apart():
    groups = kernels(small()).groups("full-name")
    assert groups["group"].to_list() == ["nvjet_tst_64x8", ADD, MUL]
    assert groups["label"].to_list() == [
        "nvjet_tst_64x8",
        "vectorized_elementwise_kernel<CUDAFunctor_add>",
        "vectorized_elementwise_kernel<MulFunctor>",
    ]


@pytest.mark.parametrize("by", ["operator", "module"])
def test_counters_alone_do_not_know_who_launched(by: str) -> None:
    with pytest.raises(UsageError, match=f"which {by} launched a kernel") as raised:
        kernels(small()).groups(by)
    assert "--trace" in raised.value.hint


def test_a_timeline_may_not_know_who_launched():
    with pytest.raises(UsageError, match="the timeline does not say which module") as raised:
        kernels(read(K("f", 100, 10))).groups("module")
    assert "with_modules" in raised.value.hint


def test_an_unknown_way_to_group():
    with pytest.raises(UsageError, match="'colour'") as raised:
        kernels(small()).groups("colour")
    assert all(by in raised.value.hint for by in KERNEL_GROUPS)


def test_a_launch_without_a_name_has_a_group():
    report = kernels(trace_of_launches(launch(10, {}, name=None), launch(5, {}, name="f")))
    assert report.groups("full-name")["label"].to_list() == [None, "f"]


def test_the_sample_knows_its_operators():
    report = timesink.kernels(timesink.sample())
    groups = report.groups("operator")
    assert "aten::conv2d" in groups["group"].to_list()
    assert groups["calls"].sum() == report.calls.height


# -- on the screen ---------------------------------------------------------------------------------


def test_one_line_and_a_notebook():
    report = kernels(small())
    assert repr(report) == f"<KernelReport of k.csv: {report.headline}>"
    page = report._repr_html_()
    assert "<b>vectorized_elementwise_kernel has the most headroom (14 of 100 ns) and is" in page
    assert "3 calls of 2 kernels took 100 ns" in page
