"""One cut of steps and one step time, whichever command is asked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import timesink
from cases import MAIN, STEP, K, O, R, host_event, read
from timelines import recording
from timesink.analyses.cycles.search import find_cycles, unmarked_repetitions
from timesink.analyses.cycles.spans import has_host_spans
from timesink.analyses.fitness import recording_fitness
from timesink.analyses.steps import complete_lengths, find_steps
from timesink.answers.analysis.sections import StepsJson
from timesink.cli import main
from timesink.model import units
from timesink.model.fitness import STEP_TIME
from timesink.model.trace import Trace

MARKED = (
    "h200/traces/bert_train",
    "h200/traces/cuda_graph/graph.1794703828349873378.pt.trace.json.gz",
    "h200/traces/ddp8_normal/rank0.1794703754643334605.pt.trace.json.gz",
    "h200/traces/resnet50_train",
    "hta/amd_trace/mi250_minitoy_train_ROCm6_2_kineto.json.gz",
    "hta/ns_resolution_trace",
    "hta/trace_compare/base",
    "hta/trace_compare/test",
    "tracelens/evals/test01_moe_fused_vs_unfused_1.json.gz",
    "tracelens/h100/bert-small.json.gz",
    "tracelens/mi300/resnet_act_checkpoint.json.gz",
)
"""Recordings with marked steps: in step with the device, far ahead of it, and cut at the end."""
UNMARKED = ("h200/faults/normal", "graphs/vllm_decode_full/graph_execution.json.gz")
SCREEN = "h200/traces/unet_train"


@pytest.fixture(autouse=True)
def kept_recordings(common_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recordings are read once for all of these."""
    monkeypatch.setenv("TIMESINK_CACHE_DIR", str(common_cache))


@pytest.fixture
def answer(shared_root: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What a command says of a recording."""

    def run(command: str, name: str, *words: str) -> str:
        path = str(shared_root / "data" / name)
        paths = [path, path] if command == "compare" else [path]
        assert main([command, *paths, *words]) == 0
        return " ".join(capsys.readouterr().out.split())

    return run


@pytest.mark.parametrize("name", MARKED)
def test_cycles_are_the_steps(shared_root: Path, name: str) -> None:
    trace = recording(shared_root, name)
    table = find_cycles(trace).table
    assert (table["end_ns"] - table["start_ns"]).to_list() == complete_lengths(trace).tolist()


def test_one_step_time_per_clock_in_every_command(answer: Callable[..., str]) -> None:
    name = MARKED[1]
    compared, analyzed, cycles, played = (
        json.loads(answer(command, name, "--format", "json"))
        for command in ("compare", "analyze", "cycles", "whatif")
    )
    step_us = analyzed["steps"]["mean_us"]
    assert cycles["runs"][0]["mean_ns"] == pytest.approx(1000 * step_us, abs=1)
    for key in ("recorded_step_us", "corrected_step_us", "corrected_ci95_us", "outside"):
        assert played["clock"][key] == analyzed["clock"][key]
    if analyzed["own"] is not None:
        corrected_us = analyzed["own"]["breakdown"]["step_us"]
        assert analyzed["clock"]["corrected_step_us"] == pytest.approx(corrected_us, abs=0.001)
    assert compared["cycle_time"]["base_us"] == pytest.approx(step_us, abs=0.002)
    assert analyzed["clock"]["recorded_step_us"] == pytest.approx(step_us, abs=0.001)


def test_six_steps_in_every_command(answer: Callable[..., str]) -> None:
    name = "hta/trace_diff/test"
    rows = json.loads(answer("analyze", name, "--view", "steps", "--format", "json"))
    (run,) = json.loads(answer("cycles", name, "--format", "json"))["runs"]
    cycles_us = [(row["end_ns"] - row["start_ns"]) / 1000 for row in run["cycles"]]
    assert [row["total_us"] for row in rows] == pytest.approx(cycles_us)
    assert [round(cycle_us / 1000) for cycle_us in cycles_us] == [118, 117, 115, 123, 117, 116]
    assert run["until_device_work"] is True


@pytest.mark.parametrize("name", UNMARKED)
def test_unmarked_recordings_say_what_comparisons_go_by(
    shared_root: Path, answer: Callable[..., str], name: str
) -> None:
    answered = json.loads(answer("analyze", name, "--format", "json"))["steps"]
    text = answer("analyze", name)
    assert "no steps are marked; the " in text
    if answered["repetitions"] is None:
        assert "timesink steps finds" not in text
        return
    cycles = find_cycles(recording(shared_root, name))
    assert answered["repetitions"]["count"] == cycles.count
    assert answered["repetitions"]["median_us"] == pytest.approx(cycles.median_ns / 1000, abs=0.001)
    assert f"timesink steps finds {cycles.count} repetition" in text
    (run,) = json.loads(answer("cycles", name, "--format", "json"))["runs"]
    assert run["median_ns"] == pytest.approx(1000 * answered["repetitions"]["median_us"], abs=1)
    length = units.brief_ns(cycles.median_ns)
    assert length in text
    assert f" of {length}" in answer("cycles", name)


def test_no_length_of_repetitions_where_the_recording_cannot_tell_it() -> None:
    marks = [host_event("user_annotation", "decode", 1000 * at, 900, MAIN) for at in range(5)]
    # The first work waits for what was queued before the recording.
    work = [number for at in range(5) for number in (R(1000 * at + 5, 5, c=at + 1),)]
    late = [K("gemm", 4000 + 100 * at, 90, c=at + 1) for at in range(5)]
    trace = read(*marks, *work, *late)
    assert unmarked_repetitions(trace) is not None
    assert not recording_fitness(trace).answers(STEP_TIME)
    assert StepsJson.of(trace).repetitions is None


def far_ahead() -> Trace:
    """Two steps that the host is done with while a warm-up of 100 us runs; each has a kernel."""
    return read(
        *(R(10, 5, c=9), K("warm-up", 20, 100, c=9)),
        *(STEP(1, 30, 40), O("aten::mm", 32, 9), R(35, 5, c=1), K("gemm", 130, 50, c=1)),
        *(STEP(2, 70, 40), O("aten::mm", 72, 9), R(75, 5, c=2), K("gemm", 180, 60, c=2)),
        *(STEP(3, 110, 40), O("aten::mm", 112, 9), R(115, 5, c=3), K("gemm", 240, 55, c=3)),
    )


def test_a_step_waits_for_earlier_work_and_ends_with_its_own() -> None:
    trace = far_ahead()
    cycles = find_cycles(trace)
    assert has_host_spans(cycles)
    assert cycles.table.select("start_ns", "end_ns").rows() == [
        (120_000, 180_000),
        (180_000, 240_000),
        (240_000, 295_000),
    ]
    # Whose calls and launches are whose is told by the marks.
    assert cycles.table["host_start_ns"].to_list() == [30_000, 70_000, 110_000]
    # All but the launch of the warm-up; marks are operators of old profilers.
    assert cycles.coverage == pytest.approx(9 / 10)
    steps = find_steps(trace)
    assert steps["device_events"].to_list() == [1, 1, 1]


def test_functions_count_for_the_step_that_called_them() -> None:
    table = timesink.behaviour(far_ahead()).table
    rows = table.filter(table["function"].is_in(["gemm", "aten::mm"]))
    calls = rows.sort("function", "cycle").select("function", "cycle", "calls", "cycle_dur_ns")
    lengths = (60_000, 60_000, 55_000)
    assert calls.rows() == [
        (function, number, 1, length)
        for function in ("aten::mm", "gemm")
        for number, length in enumerate(lengths, 1)
    ]


def numbers_ms(text: str, pattern: str) -> set[str]:
    """Times of a sentence as it is worded, wherever it comes."""
    return set(re.findall(pattern, text))


def test_one_step_time_on_a_screen(answer: Callable[..., str]) -> None:
    name = SCREEN
    text = answer("analyze", name)
    answered = json.loads(answer("analyze", name, "--format", "json"))
    clock = answered["clock"]
    for step_us in (
        answered["own"]["breakdown"]["step_us"],
        answered["own"]["efficiency"]["step"]["step_us"],
        answered["own"]["steps"]["mean_us"],
        answered["critical_path"]["cycle_us"],
        json.loads(answer("whatif", name, "--format", "json"))["today_us"],
    ):
        assert step_us == pytest.approx(clock["corrected_step_us"], abs=0.002)
    for step_us in (answered["breakdown"]["step_us"], answered["efficiency"]["step"]["step_us"]):
        assert step_us == pytest.approx(clock["recorded_step_us"], abs=0.002)
    low, high = clock["corrected_ci95_us"]
    assert low <= clock["corrected_step_us"] <= high
    if answered["steps"]["complete"] == 1:
        assert clock["own_cycle_us"] == clock["corrected_step_us"]
    corrected, recorded = (
        units.brief_ns(1000 * clock[name]).removesuffix(" ms")
        for name in ("corrected_step_us", "recorded_step_us")
    )
    for pattern, expected in (
        (r"without it ([\d.]+) ms", corrected),
        (r"of the ([\d.]+) ms a step takes", corrected),
        (r"of each ([\d.]+) ms step", corrected),
        (r"([\d.]+) ms as recorded", recorded),
    ):
        assert numbers_ms(text, pattern) == {expected}, pattern


def test_a_memory_peak_has_one_moment(answer: Callable[..., str]) -> None:
    name = SCREEN
    rows = r"(GPU ?\d+ \S+ \S+ [\d.]+ ms)"
    text, table = answer("analyze", name), answer("analyze", name, "--view", "memory-peaks")
    assert numbers_ms(text, rows) == numbers_ms(table, rows) != set()


@pytest.mark.parametrize(
    ("words", "caption"),
    [
        ((), "Times are as recorded, with profiler overhead; --clock corrected leaves it out. "),
        (("--clock", "own"), "Times are without profiler overhead. "),
    ],
)
def test_tables_say_which_clock_they_are_on(
    answer: Callable[..., str], words: tuple[str, ...], caption: str
) -> None:
    assert answer("analyze", SCREEN, "--view", "steps", *words).startswith(caption)
