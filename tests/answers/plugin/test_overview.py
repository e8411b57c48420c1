"""`/overview`: the form of the response."""

from __future__ import annotations

from typing import Any

import pytest

import timesink
from cases import DATA_LOADER, STEP, K, O, R, columns, read, step_rows
from timesink.answers.plugin.overview import overview
from timesink.answers.plugin.query import Query
from timesink.model.trace import Trace


def work(number: int, start: float, kernel_us: float) -> list[dict]:
    return [R(start, 5, c=number), K("gemm", start + 10, kernel_us, c=number)]


def two_steps() -> Trace:
    """Steps of 100 and 101 us with kernels of 40 and 41 us."""
    first, second = work(1, 10, 40), work(2, 110, 41)
    return read(STEP(1, 0, 100), *first, STEP(2, 100, 101), *second)


@pytest.fixture(scope="module")
def answer() -> dict[str, Any]:
    return overview(two_steps(), Query(workers=3))


def test_keys_in_order(answer: dict[str, Any]):
    assert list(answer) == [
        "steps",
        "performance",
        "recommendations",
        "environments",
        "gpu_metrics",
    ]


def test_each_part_has_a_column_of_numbers_and_one_of_hover_texts(answer: dict[str, Any]):
    first, *other_columns = answer["steps"]["columns"]
    assert first == {"type": "string", "name": "Step"}
    assert other_columns[0] == {"type": "number", "name": "Kernel"}
    assert other_columns[1] == {"type": "string", "role": "tooltip", "p": {"html": "true"}}
    assert columns(answer["steps"])[1:] == [
        "Kernel",
        "Memcpy",
        "Memset",
        "Runtime",
        "DataLoader",
        "CPU Exec",
        "Other",
    ]
    assert {len(row) for row in answer["steps"]["rows"]} == {len(answer["steps"]["columns"])}


def test_rows_hold_whole_microseconds_as_whole_numbers(answer: dict[str, Any]):
    assert step_rows(answer) == [["1", 40, 0, 0, 5, 0, 0, 55], ["2", 41, 0, 0, 5, 0, 0, 55]]
    assert all(isinstance(row[1], int) for row in answer["steps"]["rows"])


def test_rows_hold_fractions_as_they_are():
    trace = read(STEP(1, 0, 100), *work(1, 10.5, 40.25))
    assert step_rows(overview(trace, Query()))[0][1] == 40.25


def test_hover_texts_name_step_part_and_share(answer: dict[str, Any]):
    hover = answer["steps"]["rows"][1][2]
    assert hover.startswith('<div class="visualization-tooltip"')
    for part in ("Step 2", "101 us", "<b>Kernel: 41 us</b>", "40.59 %"):
        assert part in hover


def test_hover_texts_of_a_cut_step_say_so():
    trace = read(STEP(1, 0, 100), *work(1, 10, 40), STEP(2, 100, 50))
    cut = overview(trace, Query())["steps"]["rows"][1]
    assert "cut by the end of the recording" in cut[2]


def test_averages_are_rounded_half_to_even(answer: dict[str, Any]):
    (average,) = answer["performance"]
    assert (average["name"], average["value"], average["extra"]) == ("Average Step Time", 100, 100)
    kernel = average["children"][0]
    assert kernel == {"name": "Kernel", "description": "", "value": 40, "extra": 40.3}


def test_environment(answer: dict[str, Any]):
    assert answer["environments"] == [
        {"title": "Number of Worker(s)", "value": "3"},
        {"title": "Device Type", "value": "GPU"},
    ]


class TestRecommendations:
    def test_nothing_to_say(self):
        trace = read(STEP(1, 0, 100), O("train", 0, 100), *work(1, 0, 90))
        assert overview(trace, Query())["recommendations"] == "<ul><li>N/A</li></ul>"

    def test_one_item_per_finding(self):
        trace = read(STEP(1, 0, 100), O(DATA_LOADER, 0, 40), *work(1, 40, 50))
        text = overview(trace, Query())["recommendations"]
        assert text.startswith("<ul><li>Data loading takes 40.0 us")
        assert text.count("<li>") == text.count("</li>") == 1

    def test_names_from_the_trace_are_text(self):
        trace = read(
            STEP(1, 0, 9000), R(0, 5, c=1), K("a", 10, 90, c=1), O("<script>", 100, 7900),
            R(7980, 5, c=2), K("b", 8000, 1000, c=2),
        )  # fmt: skip
        text = overview(trace, Query())["recommendations"]
        assert "&lt;script&gt;" in text
        assert "<script>" not in text


def test_the_sample():
    answer = overview(timesink.open(timesink.sample()), Query())
    assert [row[0] for row in answer["steps"]["rows"]] == ["3", "4"]
    assert answer["gpu_metrics"]["data"][1] == {"title": "Name", "value": "NVIDIA H200"}


def test_nothing_at_all():
    answer = overview(read(), Query())
    assert answer["steps"]["rows"] == []
    assert answer["performance"][0]["value"] == 0
    assert "gpu_metrics" not in answer
