"""The answer of `timesink analyze` as plain data."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from msgspec import to_builtins

import timesink
from builders import kineto
from cases import ALLOC, DATA_LOADER, MODULE, STEP, C, K, O, R, read, read_document
from timesink.analyses.steps import PARTS
from timesink.answers.analysis.finding_values import FindingJson
from timesink.answers.analysis.report import SCHEMA, Analysis
from timesink.answers.views import VIEWS, find_view
from timesink.errors import TimesinkError, UsageError
from timesink.model.trace import Trace

SECTIONS = [
    "schema",
    "headline",
    "recording",
    "source",
    "health",
    "device",
    "steps",
    "breakdown",
    "operators",
    "kernels",
    "memory",
    "modules",
    "distributed",
    "findings",
    "clock",
    "own",
    "critical_path",
    "efficiency",
]


@cache
def full_trace() -> Trace:
    """A recording that fills every section."""
    events = []
    for number in (1, 2):
        start = 1000 * number
        events += [
            STEP(number, start, 900),
            O(DATA_LOADER, start, 100),
            MODULE(
                "nn.Module: Linear_0", start + 200, 100, python_id=number, parent=None, module=0
            ),
            O("aten::mm", start + 210, 80, **{"Input dims": [[2, 3]], "Call stack": "a.py(1);b"}),
            R(start + 220, 10, c=number),
            K("gemm", start + 300, 200, c=number),
            O("nccl:all_reduce", start + 500, 50, x=70 + number),
            R(start + 510, 10, c=10 + number, x=70 + number),
            K("ncclDevKernel_AllReduce", start + 600, 100, c=10 + number, x=70 + number),
            R(start + 560, 10, c=20 + number),
            C(start + 700, 50, c=20 + number),
            ALLOC(start + 215, 512, device=0, address=5, total=4096),
            ALLOC(start + 800, -512, device=0, address=5, total=3584),
        ]
    properties = [{"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 2**30, "computeMajor": 9}]
    return read(*events, deviceProperties=properties)


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return Analysis(full_trace())


@pytest.fixture(scope="module")
def of_nothing() -> Analysis:
    return Analysis(read_document(kineto([])))


@pytest.fixture(scope="module")
def answer(analysis: Analysis) -> dict[str, Any]:
    return analysis.to_dict()


def numbers(value: Any, key: str = "") -> Iterator[tuple[str, float]]:
    """Every number of an answer with its key."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from numbers(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from numbers(inner, key)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield key, value


class TestWholeAnswer:
    def test_sections(self, answer: dict[str, Any]):
        assert list(answer) == SECTIONS
        assert answer["schema"] == SCHEMA == "timesink/analysis/1"

    def test_every_length_of_time_says_its_unit(self, answer: dict[str, Any]):
        timed = re.compile(
            r"time|dur|delay|wait|idle|busy|gap|total|self|mean|median|min|max|std|start|end|_at"
        )
        unit_suffix = re.compile(r"(_us|_ns|_pct|_bytes|_us_per_step|_per_s|_ratio|_count|_depth)$")
        unitless_keys = {
            key for key, _ in numbers(answer) if timed.search(key) and not unit_suffix.search(key)
        }
        # `gaps` and `waited` are counts.
        assert unitless_keys <= {"gaps", "waited", "blocks_per_sm", "calls_per_step"}

    def test_no_number_is_negative(self, answer: dict[str, Any]):
        free = {key for key, value in numbers(answer) if value < 0}
        assert free <= {"delay_us", "min_delay_us", "increase_bytes", "self_increase_bytes"}


class TestSections:
    def test_source(self, answer: dict[str, Any]):
        source = answer["source"]
        assert (source["vendor"], source["events"], source["kernel_events"]) == ("nvidia", 26, 4)
        assert (source["start_ns"], source["span_us"]) == (1_000_000, 1_900)

    def test_health_names_codes(self, answer: dict[str, Any]):
        assert {"rank_assumed"} == {entry["code"] for entry in answer["health"]}

    def test_device(self, answer: dict[str, Any]):
        (device,) = answer["device"]
        assert (device["device"], device["name"]) == (0, "NVIDIA H200")
        assert (device["memory_bytes"], device["compute_capability"]) == (2**30, "9.0")
        # Kernels 300 and copies 50 us a step, over both steps and the gap of 100 us between them.
        assert device["utilisation_pct"] == pytest.approx(100 * 600 / 1900)
        assert device["any_activity_pct"] == pytest.approx(100 * 700 / 1900)
        assert device["utilisation_within_steps_pct"] == pytest.approx(100 * 600 / 1800)
        assert device["window_us"] == 1900
        causes = device["idle_in_steps"]
        assert causes["idle_us"] == 2 * 550
        assert causes["data_loading_us"] == 2 * 100

    def test_steps(self, answer: dict[str, Any]):
        steps = answer["steps"]
        assert (steps["marked"], steps["count"], steps["complete"]) == (True, 2, 2)
        assert (steps["mean_us"], steps["min_us"], steps["max_us"]) == (900, 900, 900)
        assert [row["name"] for row in steps["rows"]] == ["1", "2"]
        assert [row["start_ns"] for row in steps["rows"]] == [1_000_000, 2_000_000]

    def test_parts_of_the_average_step_add_up(self, answer: dict[str, Any]):
        breakdown = answer["breakdown"]
        assert breakdown["step_us"] == 900
        assert [part["part"] for part in breakdown["parts"]] == list(PARTS)
        means = {part["part"]: part["mean_us"] for part in breakdown["parts"]}
        assert means["kernel"] == 200
        assert means["communication"] == 150
        assert sum(means.values()) == 900
        assert sum(part["share_pct"] for part in breakdown["parts"]) == pytest.approx(100)

    def test_operators_and_launch_sites_add_up_to_the_device_work(self, answer: dict[str, Any]):
        operators = answer["operators"]
        assert operators["group_by"] == "name"
        rows = {row["name"]: row for row in operators["rows"]}
        assert rows["aten::mm"]["device_self_us"] == 400
        assert rows["nccl:all_reduce"]["device_self_us"] == 200
        sites = {row["site"]: row["device_us"] for row in operators["launched_from"]}
        assert sites == {"operator": 600, "step": 100}

    def test_kernels(self, answer: dict[str, Any]):
        kernels = answer["kernels"]
        assert [(row["name"], row["calls"], row["total_us"]) for row in kernels["rows"]] == [
            ("gemm", 2, 400),
            ("ncclDevKernel_AllReduce", 2, 200),
        ]
        assert {row["operator"] for row in kernels["launches"]} == {"aten::mm", "nccl:all_reduce"}
        assert kernels["largest_gaps"][0]["gap_us"] == 550

    def test_memory(self, answer: dict[str, Any]):
        (peak,) = answer["memory"]["peaks"]
        assert (peak["device"], peak["peak_allocated_bytes"]) == ("GPU0", 4096)

    def test_modules(self, answer: dict[str, Any]):
        (module,) = answer["modules"]["rows"]
        assert (module["occurrences"], module["device_total_us"]) == (2, 400)

    def test_findings_are_the_findings(self, answer: dict[str, Any]):
        analysis = Analysis(full_trace())
        assert answer["findings"] == [
            to_builtins(FindingJson.of(finding)) for finding in analysis.findings
        ]


class TestTables:
    @pytest.mark.parametrize("view", VIEWS)
    def test_every_view_is_a_table(self, view: str, analysis: Analysis, of_nothing: Analysis):
        assert analysis.table(view).columns
        assert of_nothing.table(view).is_empty()

    def test_operators_by_shape(self):
        analysis = Analysis(full_trace(), group_by="shape")
        assert "input_dims" in analysis.table("operators").columns
        assert "input_dims" not in analysis.table("kernels").columns
        assert analysis.to_dict()["operators"]["group_by"] == "shape"

    def test_an_unknown_view(self):
        with pytest.raises(UsageError, match="no table 'kernel'") as error:
            find_view("kernel").table(full_trace())
        assert "kernels" in error.value.hint

    def test_an_unknown_group(self):
        with pytest.raises(UsageError, match="grouped by 'colour'") as error:
            Analysis(full_trace()).table("operators", "colour")
        assert error.value.hint == "choose one of name, shape, stack, shape-stack"

    def test_a_table_that_cannot_be_grouped(self):
        with pytest.raises(UsageError, match="'kernels' cannot be grouped"):
            Analysis(full_trace()).table("kernels", "shape")

    def test_grouped_for_once(self):
        analysis = Analysis(full_trace())
        assert "call_stack" in analysis.table("operators", "stack").columns
        assert "call_stack" not in analysis.table("operators").columns


def test_numbers_have_no_noise():
    step, kernel = 66_263.127, 33_000.001
    trace = read(STEP(1, 0, step), R(0, 5, c=1), K("gemm", 10, kernel, c=1))
    answer = Analysis(trace).to_dict()
    assert answer["steps"]["rows"][0]["total_us"] == step
    assert answer["breakdown"]["step_us"] == step
    assert answer["kernels"]["rows"][0]["mean_us"] == kernel
    for key, value in numbers(answer):
        if key.endswith(("_us", "_pct")):
            assert len(str(value).partition(".")[2]) <= 6, key


def test_a_device_without_a_number_is_not_known():
    kernel = K("gemm", 10, 5)
    del kernel["args"]["device"]
    trace = read(kernel | {"pid": "somewhere"})
    (device,) = Analysis(trace).to_dict()["device"]
    assert device["device"] is None
    assert device["time"]["busy_us"] == 5
    assert [stream["device"] for stream in device["streams"]] == [None]


class TestPandas:
    def test_what_it_needs(self, monkeypatch: pytest.MonkeyPatch):
        for name in ("pandas", "pyarrow"):
            monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(TimesinkError, match="needs pandas and pyarrow") as error:
            Analysis(full_trace()).to_pandas()
        assert "pip install pandas pyarrow" in error.value.hint

    def test_frame(self):
        pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
        assert len(Analysis(full_trace()).to_pandas("steps")) == 2


def test_a_notebook_shows_the_headline_and_tables():
    html = timesink.analyze(read(O("<b>", 0, 10)))._repr_html_()
    assert html.startswith("<p><b>No device work was recorded")
    assert "&lt;b&gt;" in html
