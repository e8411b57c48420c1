"""Limits on what single runs tell: program, counts, memory and device time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import timesink
from builders import annotation, kernel, kineto, memcpy, memory, operator, runtime, write
from compared_runs import process_table, write_table
from timesink.answers.comparison.budgets import evaluate
from timesink.answers.comparison.gate_result import gate_of
from timesink.answers.comparison.report import ComparisonAnswer, PairAnswer, compare
from timesink.comparison.gate.budget_file import load_budgets
from timesink.model.findings import Finding

EVERY = """
program = "same"
launches = "+0"
syncs = "+0"
bytes_copied = "+0"
device_time = "1%"
"""


def checks(folder: Path, text: str, comparison: ComparisonAnswer) -> dict[str, Finding]:
    path = folder / "budgets.toml"
    path.write_text(text)
    return {result.name: result for result in evaluate(load_budgets(path), comparison)}


def outcomes(folder: Path, text: str, comparison: ComparisonAnswer) -> dict[str, str]:
    return {name: result.outcome for name, result in checks(folder, text, comparison).items()}


def write_recording(
    path: Path, *, items: Any = 1, gemm: str = "gemm", gemm_us: float = 80.0, peak: int = 0
) -> Path:  # fmt: skip
    """Twelve cycles of 1 ms: a kernel, and calls of `.item()`, as many or by cycle."""
    events = [memory(30, 100, total=peak)] if peak else []
    for number in range(12):
        at, link = 1000.0 * number, 100 * number + 1
        events += [
            annotation("decode_step", at, 900 + number % 3),
            operator("aten::mm", at + 10, 60),
            runtime("cudaLaunchKernel", at + 15, 20, link),
            kernel(gemm, at + 40, gemm_us + 0.1 * (number % 2), link),
        ]
        for place in range(items(number) if callable(items) else items):
            start, correlation = at + 200 + 100 * place, link + 1 + place
            events += [
                operator("aten::item", start, 60),
                runtime("cudaMemcpyAsync", start + 5, 10, correlation),
                memcpy("Memcpy DtoH (Device -> Pinned)", start + 10, 2, correlation, bytes=4),
                runtime("cudaStreamSynchronize", start + 20, 10, 0),
            ]
    for event in events:
        if event.get("cat") not in ("kernel", "gpu_memcpy"):
            event["pid"] = event["tid"] = 100
    path.parent.mkdir(parents=True, exist_ok=True)
    return write(path, kineto(events))


def pair(folder: Path, base: dict[str, Any], new: dict[str, Any]) -> ComparisonAnswer:
    sides = (
        write_recording(folder / "base.json", **base),
        write_recording(folder / "new.json", **new),
    )
    return compare(*sides, cache=False)


@pytest.fixture(scope="module")
def same(tmp_path_factory: pytest.TempPathFactory) -> ComparisonAnswer:
    return pair(tmp_path_factory.mktemp("same"), {}, {})


@pytest.fixture(scope="module")
def more(tmp_path_factory: pytest.TempPathFactory) -> ComparisonAnswer:
    """One more `.item()` per step."""
    return pair(tmp_path_factory.mktemp("more"), {}, {"items": 2})


@pytest.fixture(scope="module")
def other_kernel(tmp_path_factory: pytest.TempPathFactory) -> ComparisonAnswer:
    """Another kernel that takes as long, and 32 MiB more."""
    new = {"gemm": "other_kernel", "peak": 2**30 + 2**25}
    return pair(tmp_path_factory.mktemp("replaced"), {"peak": 2**30}, new)


@pytest.fixture(scope="module")
def slower(tmp_path_factory: pytest.TempPathFactory) -> ComparisonAnswer:
    """A kernel that takes 1 % longer; only the base knows its memory."""
    return pair(tmp_path_factory.mktemp("slower"), {"peak": 5}, {"gemm_us": 80 * 1.01})


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> ComparisonAnswer:
    """A kernel that takes 4 % longer."""
    return pair(tmp_path_factory.mktemp("slow"), {}, {"gemm_us": 80 * 1.04})


def of_rank(rank: int, comparison: ComparisonAnswer) -> PairAnswer:
    """Its only pair as that of a rank."""
    (only_pair,) = comparison.pairs
    base, new = (replace(role, rank=rank) for role in (only_pair.pair.base, only_pair.pair.new))
    return replace(only_pair, base=base, new=new)


class TestOneEdit:
    def test_a_replaced_kernel_is_caught_by_the_program_alone(
        self, tmp_path: Path, other_kernel: ComparisonAnswer
    ):
        states = outcomes(tmp_path, EVERY, other_kernel)
        assert states.pop("program") == "failed"
        assert {*states.values()} == {"passed"}

    def test_equal_runs_pass_and_the_gate_leads_with_what_is_certain(
        self, tmp_path: Path, same: ComparisonAnswer
    ):
        gate = gate_of(same, None, [*checks(tmp_path, EVERY, same).values()])
        assert gate.outcome == "passed"
        assert gate.leading[:2] == [
            "The recorded calls are the same.",
            "2 launches per step, unchanged.",
        ]
        assert [check.kind for check in gate.checks][-2:] == ["cycle time", "recordings"]

    def test_without_limits_the_gate_tells_the_same(self, more: ComparisonAnswer):
        gate = gate_of(more)
        assert gate.outcome == "passed"
        assert gate.leading[0].startswith("The program changed: ")
        assert gate.leading[1].startswith("2 → 3 launches per step (+1); 1 → 2 waits for the dev")

    @pytest.mark.parametrize(
        ("limit", "outcome"), [('"+1"', "passed"), ('"100%"', "passed"), ('"49%"', "failed")]
    )
    def test_some_more_may_be_allowed(
        self, tmp_path: Path, more: ComparisonAnswer, limit: str, outcome: str
    ):
        assert outcomes(tmp_path, f"launches = {limit}", more) == {"launches": outcome}


class TestNotDecided:
    def test_counts_that_differ_from_cycle_to_cycle(self, tmp_path: Path):
        some = pair(tmp_path, {}, {"items": lambda number: 1 + number % 2})
        result = checks(tmp_path, 'syncs = "+0"', some)["syncs"]
        assert result.outcome == "unjudged"
        assert "steps differ (1 to 1 and 1 to 2)" in result.sentence

    def test_tables_of_behaviour_have_no_program(self, tmp_path: Path):
        paths = [write_table(tmp_path / f"{side}.csv", process_table(7)) for side in "ab"]
        states = outcomes(tmp_path, EVERY, compare(*paths, cache=False))
        assert states["program"] == states["launches"] == states["device_time"] == "unjudged"

    @pytest.mark.parametrize(
        ("name", "outcome"), [("same", "passed"), ("slower", "unjudged"), ("slow", "failed")]
    )
    def test_device_time_fails_only_beyond_its_interval(
        self, tmp_path: Path, request: pytest.FixtureRequest, name: str, outcome: str
    ):
        changed = request.getfixturevalue(name)
        result = checks(tmp_path, 'device_time = "1%"', changed)["device_time"]
        assert result.outcome == outcome
        assert ("timesink ab --base" in result.sentence) == (outcome == "unjudged")


def test_peak_memory(tmp_path: Path, other_kernel: ComparisonAnswer):
    assert outcomes(tmp_path, 'peak_memory = "2%"', other_kernel) == {"peak_memory": "failed"}
    assert outcomes(tmp_path, 'peak_memory = "+32 MiB"', other_kernel) == {"peak_memory": "passed"}


def test_of_several_ranks_the_worst_is_told(
    tmp_path: Path, same: ComparisonAnswer, more: ComparisonAnswer
):
    both = replace(same, pairs=(of_rank(0, same), of_rank(1, more)))
    results = checks(tmp_path, 'syncs = "+0"\nprogram = "same"', both)
    assert results["program"].outcome == results["syncs"].outcome == "failed"
    assert "in rank 1" in results["syncs"].sentence


class TestRecordings:
    """One program on an H200, recorded with faults and without."""

    @pytest.fixture
    def faults(self, shared_root: Path) -> Path:
        return shared_root / "data/h200/faults"

    def test_kernels_put_in(self, faults: Path, tmp_path: Path):
        other = timesink.compare(faults / "normal", faults / "fp32_regression")
        states = outcomes(tmp_path, EVERY, other)
        assert (states["program"], states["launches"], states["syncs"]) == (
            "failed", "failed", "passed")  # fmt: skip
