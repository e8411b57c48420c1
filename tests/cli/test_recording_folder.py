"""What `timesink record` leaves, through every command that reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

import timesink
from recorded_runs import (
    counter_rows,
    recorded_counters,
    recorded_ranks,
    write_recording,
    write_run,
)

pytestmark = pytest.mark.usefixtures("reads_here")

INTERRUPTED = {
    "complete": False,
    "why_partial": "interrupted, after 4 of 6 cycles",
    "overhead": {"cycle_us": 400.0},
}


@pytest.fixture(scope="module")
def usual(place: Path) -> Path:
    """A recording that several tests read."""
    return write_recording(place / "usual")


@pytest.fixture(scope="module")
def partial(place: Path) -> Path:
    """One that ended early."""
    return write_recording(place / "partial", **INTERRUPTED)


def plain(text: str) -> str:
    return " ".join(text.split())


def test_info_says_how_it_was_recorded(run, usual: Path):
    output = run("info", usual).out
    for part in (
        "python train.py --lr 0.1",
        "6 steps by optimizer step AdamW, 5 before them skipped, complete",
        "AMD EPYC 9654, 16 cores, 128.0 GiB, Linux 6.1",
        "steps +2.0 % with it (980 us → 1.00 ms)",
        "every 500 us, 1.2 % of a core, its clock 3.20 us from the trace's",
        "python 3.12.3, timesink 0.1.0, torch 2.11.0",
        "No problems found",
    ):
        assert part in output


def test_info_passes_on_notes_of_the_recorder(run, tmp_path: Path):
    output = run(
        "info", write_recording(tmp_path, notes=["two optimizers step", "another note"])
    ).out
    assert [line.split(maxsplit=1) for line in output.splitlines() if line.startswith("note ")] == [
        ["note", "two optimizers step"],
        ["note", "another note"],
    ]


def test_info_of_what_the_recorder_did_not_know(run, tmp_path: Path):
    sections = ("cycles", "clock", "overhead", "host", "exit", "counters", "complete", "command")
    write_recording(tmp_path, **dict.fromkeys(sections))
    outcome = run("info", tmp_path)
    assert outcome.code == 0
    assert "No problems found" in outcome.out
    for label in ("command", "recorded", "machine", "profiler", "sampler"):
        assert f"\n{label} " not in outcome.out


def test_info_of_a_whole_program_without_counters(run, tmp_path: Path):
    cycles = {"by": "whole program", "name": None, "asked": None, "skipped": None}
    sampled = {"file": None, "samples": 0, "recorded": []}
    write_recording(tmp_path, cycles={**cycles, "recorded": None}, counters=sampled)
    output = run("info", tmp_path).out
    assert "the whole program, complete" in output
    assert "sampler" not in output


def test_a_partial_recording_says_so_everywhere(run, partial: Path):
    why = "interrupted, after 4 of 6 cycles"
    assert why in run("info", partial).out
    assert why in run("info", partial, "--format", "html").out
    assert f"note: the recording ended early: {why}" in run("analyze", partial).out
    assert f"the recording ended early: {why}" in run("analyze", partial, "--format", "md").out
    assert why in run("analyze", partial, "--format", "html").out
    health = run("analyze", partial, "--format", "json").json["health"]
    assert [entry["code"] for entry in health] == ["heavy_profiling", "partial_recording"]
    assert health[1]["example"] == why
    assert why in plain(run("behaviour", partial).out)
    assert why in plain(run("diagnose", partial).out)


def test_compare_says_what_was_recorded_otherwise(usual: Path, tmp_path: Path):
    unit = {"by": "function", "name": "generate"}
    new = write_recording(
        tmp_path / "new", cycles=unit, versions={"torch": "2.12.0", "timesink": "2"}
    )
    notes = timesink.compare(usual, new).notes
    assert "steps were recorded by optimizer step in base, by function generate in new" in notes
    assert "recorded with other versions: torch 2.11.0 → 2.12.0" in notes


def test_what_is_said_of_a_run_counts_once(run, tmp_path: Path):
    recorded_ranks(tmp_path)
    write_run(tmp_path, counters={"missing": [{"counter": "gpu_usage", "why": "no driver"}]})
    answer = run("info", tmp_path, "--format", "json").json
    assert [(entry["code"], entry["count"]) for entry in answer["health"]] == [
        ("missing_counters", 1)
    ]
    assert all(len(trace["health"]) == 1 for trace in answer["traces"])


def test_a_launcher_is_not_taken_for_a_rank(run, tmp_path: Path):
    counters = counter_rows([("host_cpu_usage", "Host"), ("process_cpu_usage", "pid 7")])
    (write_recording(tmp_path) / "counters.csv").write_text(counters)
    answer = run("behaviour", tmp_path, "--format", "json").json
    assert [row["metric"] for row in answer["counters"]] == ["host_cpu_usage"]
    assert not any("is taken for" in note for note in answer["notes"])


def test_counters_alone_are_shown(run, tmp_path: Path):
    outcome = run("info", recorded_counters(tmp_path))
    assert outcome.code == 0
    sampled = run("info", tmp_path, "--format", "json").json["sampled"]
    assert [(row["counter"], row["samples"]) for row in sampled] == [
        ("gpu_usage", 16),
        ("host_cpu_usage", 16),
    ]


def test_counters_alone_may_be_all_there_is(run, tmp_path: Path):
    cycles = {"by": None, "name": None, "asked": 20, "skipped": 0, "recorded": 0}
    output = run("info", recorded_counters(tmp_path, complete=True, cycles=cycles)).out
    assert "only counters, complete" in output
    assert "of 20 steps" not in output


def test_missing_counters_take_a_line_for_each_reason(run, tmp_path: Path):
    missing = [{"counter": f"gpu_{n}", "why": "no driver; no device"} for n in range(19)]
    missing.append({"counter": "ib_rx", "why": "no card"})
    output = run("info", write_recording(tmp_path, counters={"missing": missing})).out
    assert "gpu_0, gpu_1, gpu_2 and 16 more: no driver; no device; ib_rx: no card" in output


@pytest.mark.parametrize("command", ["analyze", "cycles", "behaviour", "diagnose"])
def test_counters_alone_have_no_calls(decline, tmp_path: Path, command: str):
    message, hint = decline(command, recorded_counters(tmp_path))
    assert "only counters; no calls, kernels or steps" in message
    assert "(the program did not use PyTorch)" in message
    assert hint.startswith(f"timesink info {tmp_path}")


def test_counters_alone_compare_with_nothing(decline, tmp_path: Path):
    message, _ = decline(
        "compare", write_recording(tmp_path / "base"), recorded_counters(tmp_path / "new")
    )
    assert "only counters" in message


def test_a_program_killed_before_its_first_cycle(run, tmp_path: Path):
    killed = {"complete": False, "why_partial": "killed", "versions": {"torch": "2.11.0"}}
    answer = run("info", recorded_counters(tmp_path, **killed), "--format", "json").json
    assert [(entry["code"], entry["example"]) for entry in answer["health"]] == [
        ("lost_recording", "killed"),
        ("counters_only", "killed"),
    ]


def test_output_does_not_replace_the_description(decline, tmp_path: Path):
    write_recording(tmp_path)
    decline("analyze", tmp_path, "-o", tmp_path / "run.json", "--force")
