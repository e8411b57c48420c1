"""What blocks of a snapshot are for, what is live at the peak, what grows."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import timesink
from memory_snapshots import (
    ATTENTION,
    LOGGING,
    PARAMETERS,
    START_US,
    Allocator,
    train,
    write_snapshot,
)
from timesink.analyses.snapshot.blocks import blocks_at_peak, snapshot_blocks, snapshot_peaks
from timesink.analyses.snapshot.stacks import stack_facts
from timesink.analyses.snapshot.tables import memory_step_bounds
from timesink.answers.views import find_view
from timesink.formats.source_file import read_trace
from timesink.model.trace import Trace

VIEWS = [
    *("memory-categories", "memory-modules", "memory-stacks", "memory-steps", "memory-growth"),
    *("memory-unfreed", "memory-reserved", "memory-failures", "memory-peaks"),
]


def _trace(tmp_path: Path, made: Allocator, **options: object) -> Trace:
    snapshot = made.snapshot(**options)  # type: ignore[arg-type]
    return read_trace(write_snapshot(tmp_path / "memory.pickle", snapshot))


def _by(frame: pl.DataFrame, key: str, value: str = "bytes") -> dict[str, int]:
    return dict(frame.select(key, value).iter_rows())


def _rounded(*sizes: int) -> int:
    return sum(-(-size // 512) * 512 for size in sizes)


def test_the_peak_is_that_of_the_allocator(tmp_path: Path):
    made = train(5)
    trace = _trace(tmp_path, made)
    assert snapshot_peaks(trace)["GPU0"].bytes == made.peak
    assert blocks_at_peak(trace)["bytes"].sum() == made.peak
    for view in ("memory-categories", "memory-modules", "memory-stacks"):
        assert find_view(view).table(trace)["bytes"].sum() == made.peak
    peaks = find_view("memory-peaks").table(trace)
    assert peaks["peak_allocated_bytes"].to_list() == [made.peak]


def test_categories_say_what_memory_is_for(tmp_path: Path):
    sizes = _by(find_view("memory-categories").table(_trace(tmp_path, train(5))), "category")
    assert sizes["parameters"] == _rounded(*PARAMETERS)
    assert sizes["optimizer_state"] == 2 * _rounded(*PARAMETERS)
    assert sizes["gradients"] == _rounded(PARAMETERS[0])
    assert sizes["activations"] == _rounded(*[6_000_000] * 3, 500_000)
    assert sizes["workspace"] == _rounded(3_000_000)
    assert "other" not in sizes


def test_temporary_memory_is_workspace(tmp_path: Path):
    blocks = snapshot_blocks(_trace(tmp_path, train(3)))
    brief = blocks.filter(pl.col("requested_bytes").is_in([1_000_000, 3_000_000, 5_000_000]))
    assert brief["category"].unique().to_list() == ["workspace"]


def test_modules_are_calls_of_forward(tmp_path: Path):
    modules = _by(find_view("memory-modules").table(_trace(tmp_path, train(3))), "module")
    assert modules["net.py:20 > linear"] == _rounded(*[6_000_000] * 3)
    assert modules["net.py:31"] == _rounded(500_000)


def test_steps_end_with_the_optimizer(tmp_path: Path):
    made = train(5)
    trace = _trace(tmp_path, made)
    steps = find_view("memory-steps").table(trace)
    assert steps["step"].to_list() == ["0", "1", "2", "3", "4"]
    assert steps["peak_bytes"].max() == made.peak
    assert set(steps["module"]) == {"net.py:20 > linear"}
    assert steps["growth_bytes"].to_list()[2:] == [0, 0, 0]
    assert find_view("memory-growth").table(trace).is_empty()


def test_marked_steps_come_first(tmp_path: Path):
    snapshot = train(2).snapshot()
    snapshot["external_annotations"] = [
        {"stage": stage, "name": f"ProfilerStep#{step}", "device": 0, "time_us": START_US + time}
        for step, times in ((7, (0, 400)), (8, (400, 900)))
        for stage, time in zip(("START", "END"), times, strict=True)
    ]
    trace = read_trace(write_snapshot(tmp_path / "a.pickle", snapshot))
    assert memory_step_bounds(trace)["name"].to_list() == ["7", "8"]


def test_what_grows_is_named(tmp_path: Path):
    trace = _trace(tmp_path, train(7, leak=700_000))
    growth = find_view("memory-growth").table(trace)
    assert growth["place"].to_list() == ["/code/train.py(61): log"]
    assert growth["growth_bytes"].to_list() == [_rounded(700_000)]
    kept = find_view("memory-unfreed").table(trace).filter(category="other")
    assert kept["blocks"].to_list() == [7]
    assert kept["steps"].to_list() == [6]
    finding = timesink.analyze(trace).findings[0]
    assert (finding.rule, finding.severity) == ("growing-memory", "high")
    assert "/code/train.py(61): log" in finding.sentence


def test_clean_training_has_no_finding(tmp_path: Path):
    assert timesink.analyze(_trace(tmp_path, train(7))).findings == ()


def test_failures_are_findings(tmp_path: Path):
    trace = _trace(tmp_path, train(3, fails=True))
    finding = timesink.analyze(trace).findings[0]
    assert finding.rule == "failed-allocation"
    assert "80.0 GiB" in finding.sentence
    assert "/code/net.py(20): forward" in finding.sentence
    assert find_view("memory-failures").table(trace)["device_free_bytes"].to_list() == [1 << 20]


def test_fragments_are_a_finding(tmp_path: Path):
    made = Allocator()
    blocks = [made.alloc(32 << 20, ATTENTION) for _ in range(64)]
    made.free(*blocks[::2])
    trace = _trace(tmp_path, made)
    finding = timesink.analyze(trace).findings[0]
    assert finding.rule == "fragmented-memory"
    reserved = find_view("memory-reserved").table(trace)
    assert reserved["free_bytes"].sum() == made.reserved - made.allocated
    assert reserved["fragmentation_pct"][0] > 90


def test_history_may_begin_late(tmp_path: Path):
    made = train(5)
    trace = _trace(tmp_path, made, keep=60)
    sizes = _by(find_view("memory-categories").table(trace), "category")
    # Blocks from before have their stacks all the same.
    assert sizes["parameters"] == _rounded(*PARAMETERS)
    assert snapshot_peaks(trace)["GPU0"].bytes == made.peak


def test_blocks_without_history_are_at_the_peak(tmp_path: Path):
    made = train(2)
    trace = _trace(tmp_path, made, old=True)
    assert blocks_at_peak(trace)["bytes"].sum() == made.allocated
    for view in VIEWS:
        find_view(view).table(trace)


def test_an_empty_snapshot_has_a_headline(tmp_path: Path):
    assert "No blocks" in timesink.analyze(_trace(tmp_path, Allocator())).headline


@pytest.mark.parametrize(
    ("stack", "part", "module"),
    [
        ("torch/nn/functional.py(2): relu;a/net.py(4): forward", "forward", "net.py:4"),
        ("torch/nn/modules/conv.py(9): __init__;net.py(2): __init__", "setup", "net.py:2 > conv"),
        ("at::cuda::getNewWorkspace", "library", ""),
        ("torch::autograd::Engine::evaluate_function", "backward", ""),
        ("torch/utils/data/_utils/pin_memory.py(3): pin", "loading", ""),
        ("run.py(3): main", "other", ""),
        ("", "no_stack", ""),
    ],
)
def test_stacks_tell_the_part_of_a_program(stack: str, part: str, module: str):
    facts = stack_facts(stack)
    assert (facts.part, facts.module) == (part, module)


def test_a_kept_tensor_is_none_of_the_optimizer(tmp_path: Path):
    made = train(4, leak=100_000)
    blocks = snapshot_blocks(_trace(tmp_path, made))
    logged = blocks.filter(pl.col("place") == "/code/train.py(61): log")
    assert logged.height == 4
    assert LOGGING[0]["line"] == 61
    assert logged["category"].unique().to_list() == ["other"]
