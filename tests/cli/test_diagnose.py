"""`timesink slow-steps`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import timesink
from builders import write
from compared_runs import process_table, timeline, write_case, write_table
from timesink.answers.comparison.slow_steps import diagnose

SLOW = 5


def slow_timeline(cycles: int = 8, pid: int = 4242) -> dict[str, Any]:
    """A run in which one cycle has a gap at its end."""
    document = timeline(cycles, pid=pid)
    start = 1000.0 * (SLOW - 1)
    for event in document["traceEvents"]:
        if event.get("ts", 0) >= start + 1000:
            event["ts"] += 1500
        elif event.get("name") == "decode_step" and event["ts"] == start:
            event["dur"] += 1500
    return document


def slow_table(pid: int, *slow: int, cycles: int = 10) -> pl.DataFrame:
    """A process some of whose cycles take twice as long."""
    table = process_table(pid, cycles=cycles, seed=pid)
    numbers = table["cycle"].unique().sort()
    longer = pl.col("cycle").is_in([numbers[place - 1] for place in slow])
    length = pl.col("cycle_dur_ns")
    return table.with_columns(pl.when(longer).then(length * 2).otherwise(length))


@pytest.fixture(scope="module")
def recording(place: Path) -> Path:
    return write(place / "slow.json", slow_timeline())


@pytest.fixture(scope="module")
def tables(place: Path) -> Path:
    return write_table(place / "run.behaviour.parquet", slow_table(7, 4), slow_table(9))


class TestChoosing:
    def test_one_process(self, run, tables):
        assert run("diagnose", tables, "--pid", "9").out.startswith("No slow steps")

    def test_a_process_that_is_not_there(self, run, tables):
        outcome = run("diagnose", tables, "--pid", "8")
        assert outcome.code == 1
        assert "no process 8" in outcome.err
        assert "there are 7, 9" in outcome.err

    def test_a_marker_says_what_a_cycle_is(self, run, recording):
        outcome = run(
            "diagnose", recording, "--marker", "aten::sample", "--no-cache", "--format", "json"
        )
        assert outcome.json["processes"][0]["cycles"] >= 7

    def test_a_case_is_to_be_compared(self, run, tmp_path):
        outcome = run("diagnose", write_case(tmp_path / "case", [7], [7]))
        assert outcome.code == 2
        assert "timesink compare" in outcome.err

    def test_cycles_of_a_table_are_what_they_are(self, run, tables):
        assert run("diagnose", tables, "--marker", "x").code == 2


class TestFormats:
    def test_json_has_the_keys_of_a_diagnosis_and_each_process(self, run, recording):
        answer = run("diagnose", recording, "--no-cache", "--format", "json").json
        assert answer["schema"] == "timesink/diagnosis/1"
        assert answer["verdict"] == "regression"
        assert answer["cycle_time"]["p_value"] is None
        times = answer["cycle_time"]
        parts = sum(part["delta_us"] for part in answer["attribution"])
        assert parts == pytest.approx(times["new_us"] - times["base_us"])
        (process,) = answer["processes"]
        assert process["slow_cycles"] == [SLOW]
        assert len(process["typical_cycles"]) == 7
        assert process["verdict"] == "regression"

    def test_markdown_goes_to_a_file(self, run, recording, tmp_path):
        out = tmp_path / "why.md"
        assert run("diagnose", recording, "--no-cache", "-o", out).code == 0
        text = out.read_text(encoding="utf-8")
        assert text.startswith(f"# {recording}")
        assert "\n**1 of 8 steps is slow: " in text
        assert "## Which steps are slow and why" in text
        assert "Verdict" not in text

    def test_a_page_goes_to_a_file(self, run, recording, tmp_path):
        out = tmp_path / "why.html"
        assert run("diagnose", recording, "--no-cache", "-o", out).code == 0
        page = out.read_text(encoding="utf-8")
        assert page.startswith("<!doctype html>")
        assert "1 of 8 steps is slow: " in page

    def test_a_name_without_an_ending_is_a_folder(self, run, recording, tmp_path):
        out = tmp_path / "why"
        assert run("diagnose", recording, "--no-cache", "-o", f"{out}/").code == 0
        assert sorted(path.name for path in out.iterdir()) == ["diagnosis.json", "diagnosis.md"]
        again = run("diagnose", recording, "--no-cache", "-o", out, "--format", "json")
        assert again.code == 0
        (out / "diagnosis.json").write_text("mine")
        again = run("diagnose", recording, "-o", out, "--format", "json")
        assert again.code != 0
        assert "--force" in again.err
        assert run("diagnose", recording, "-o", out, "--format", "text").code == 2

    def test_markdown_of_several_processes(self, run, tables):
        outcome = run("diagnose", tables, "--format", "md")
        assert "| pid 7 |" in outcome.out
        assert "## pid 7" in outcome.out
        assert "## pid 9" not in outcome.out

    def test_what_is_read_is_not_overwritten(self, run, recording):
        assert run("diagnose", recording, "-o", recording, "--force", "--format", "json").code != 0


class TestPython:
    def test_an_open_trace_is_diagnosed(self, recording):
        report = diagnose(timesink.open(recording, cache=False))
        assert report.processes[0].split.slow == (SLOW,)
        assert "Diagnosed" in repr(report)

    def test_processes_are_read_together(self, tmp_path):
        both = write_table(tmp_path / "both.behaviour.parquet", slow_table(7, 4), slow_table(9, 6))
        report = diagnose(both)
        assert report.diagnosis.verdict == "regression"
        assert report.diagnosis.reason.startswith("2 of 2 processes have slow steps")

    def test_two_sorts_of_cycles_of_a_process_are_one_process(self, tmp_path):
        parts = [slow_table(7, 4), slow_table(7)]
        kinds = [
            part.with_columns(cycle_type=pl.lit(kind))
            for part, kind in zip(parts, ("prefill", "decode"), strict=True)
        ]
        report = diagnose(write_table(tmp_path / "run.behaviour.parquet", *kinds))
        assert report.headline.startswith("1 of 2 step types has slow steps. Worst is ")


def test_one_cycle_has_nothing_to_compare_with(tmp_path):
    table = write_table(tmp_path / "one.behaviour.parquet", process_table(7, cycles=1))
    report = diagnose(table)
    assert report.headline == "One step: nothing to compare it with."
    assert report.diagnosis.verdict == "incomparable"


def test_warm_up_alone_is_noted(tmp_path):
    slow = slow_table(7, 1, cycles=20)
    report = diagnose(write_table(tmp_path / "warm.behaviour.parquet", slow))
    assert report.diagnosis.verdict == "no_change"
    assert "Step 1 is warm-up" in report.diagnosis.notes[0]


def test_a_function_that_explains_a_cycle_is_named(run, tmp_path):
    document = slow_timeline()
    stalled = next(
        event
        for event in document["traceEvents"]
        if event["name"] == "aten::sample" and event["ts"] > 1000 * (SLOW - 1)
    )
    stalled["dur"] += 1500
    outcome = run("diagnose", write(tmp_path / "stall.json", document), "--no-cache")
    explanation = outcome.out.split("Single steps that one function explains:\n")[1].split("\n\n")[
        0
    ]
    assert " ".join(explanation.split()) == (
        f"Step {SLOW}: aten::sample on Host takes 1.54 ms, in typical steps at most 40.0 us."
    )
