"""Limits on what single runs tell: program, counts, memory and device time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import timesink
from builders import annotation, kernel, kineto, memcpy, memory, operator, runtime, write
from compared_runs import process_table, rank_fields, write_table
from timesink.answers.comparison.budget_file import load_budgets
from timesink.answers.comparison.budgets import evaluate
from timesink.answers.comparison.gate_result import gate_of
from timesink.answers.comparison.report import Comparison
from timesink.answers.comparison.work import compare
from timesink.model.findings import Finding

EVERY = """
program = "same"
launches = "+0"
syncs = "+0"
bytes_copied = "+0"
device_time = "1%"
"""


def checks(folder: Path, text: str, comparison: Comparison) -> dict[str, Finding]:
    path = folder / "budgets.toml"
    path.write_text(text)
    return {one.name: one for one in evaluate(load_budgets(path), comparison)}


def outcomes(folder: Path, text: str, comparison: Comparison) -> dict[str, str]:
    return {name: one.outcome for name, one in checks(folder, text, comparison).items()}


def recorded(
    path: Path, *, items: Any = 1, gemm: str = "gemm", gemm_us: float = 80.0, peak: int = 0,
    **fields: Any,
) -> Path:  # fmt: skip
    """Twelve cycles of 1 ms: a kernel, and calls of `.item()`, as many or by cycle."""
    pid = 100 + fields.get("distributedInfo", {}).get("rank", 0)
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
            start, own = at + 200 + 100 * place, link + 1 + place
            events += [
                operator("aten::item", start, 60),
                runtime("cudaMemcpyAsync", start + 5, 10, own),
                memcpy("Memcpy DtoH (Device -> Pinned)", start + 10, 2, own, bytes=4),
                runtime("cudaStreamSynchronize", start + 20, 10, 0),
            ]
    for event in events:
        if event.get("cat") not in ("kernel", "gpu_memcpy"):
            event["pid"] = event["tid"] = pid
    path.parent.mkdir(parents=True, exist_ok=True)
    return write(path, kineto(events, **fields))


def pair(folder: Path, base: dict[str, Any], new: dict[str, Any]) -> Comparison:
    sides = recorded(folder / "base.json", **base), recorded(folder / "new.json", **new)
    return compare(*sides, cache=False)


class TestOneEdit:
    def test_one_more_item_per_cycle_is_caught_by_every_count(self, tmp_path: Path):
        found = checks(tmp_path, EVERY, pair(tmp_path, {}, {"items": 2}))
        assert {one.outcome for one in found.values()} == {"failed"}
        assert list(found) == ["program", "launches", "syncs", "bytes_copied", "device_time"]
        assert "aten::item" in found["program"].sentence
        assert found["syncs"].sentence == ("1 → 2 waits for the device per cycle (+1); +0 allowed.")
        assert found["bytes_copied"].sentence == "4 → 8 B copied per cycle (+4 B); +0 allowed."

    def test_a_replaced_kernel_is_caught_by_the_program_alone(self, tmp_path: Path):
        found = outcomes(tmp_path, EVERY, pair(tmp_path, {}, {"gemm": "other_kernel"}))
        assert found.pop("program") == "failed"
        assert {*found.values()} == {"passed"}

    def test_equal_runs_pass_and_the_gate_leads_with_what_is_certain(self, tmp_path: Path):
        same = pair(tmp_path, {}, {})
        gate = gate_of(same, None, [*checks(tmp_path, EVERY, same).values()])
        assert gate.outcome == "passed"
        assert gate.leading[:2] == ["The program is the same.", "2 launches per cycle, as before."]
        assert [one.kind for one in gate.checks][-2:] == ["cycle time", "recordings"]

    def test_without_limits_the_gate_tells_the_same(self, tmp_path: Path):
        gate = gate_of(pair(tmp_path, {}, {"items": 2}))
        assert gate.outcome == "passed"
        assert gate.leading[0].startswith("The program changed: ")
        assert gate.leading[1].startswith("2 → 3 launches per cycle (+1); 1 → 2 waits for the dev")

    @pytest.mark.parametrize(
        ("limit", "outcome"), [('"+1"', "passed"), ('"100%"', "passed"), ('"49%"', "failed")]
    )
    def test_some_more_may_be_allowed(self, tmp_path: Path, limit: str, outcome: str):
        more = pair(tmp_path, {}, {"items": 2})
        assert outcomes(tmp_path, f"launches = {limit}", more) == {"launches": outcome}

    def test_fewer_are_within_every_limit(self, tmp_path: Path):
        fewer = pair(tmp_path, {"items": 2}, {"items": 1})
        assert outcomes(tmp_path, 'syncs = "+0"', fewer) == {"syncs": "passed"}


class TestNotDecided:
    def test_counts_that_differ_from_cycle_to_cycle(self, tmp_path: Path):
        some = pair(tmp_path, {}, {"items": lambda number: 1 + number % 2})
        found = checks(tmp_path, 'syncs = "+0"', some)["syncs"]
        assert found.outcome == "unjudged"
        assert "cycles differ (1 to 1 and 1 to 2)" in found.sentence

    def test_counts_that_differ_alike_on_both_sides_pass(self, tmp_path: Path):
        def uneven(number: int) -> int:
            return 1 + number % 2

        both = pair(tmp_path, {"items": uneven}, {"items": uneven})
        assert outcomes(tmp_path, 'syncs = "+0"', both) == {"syncs": "passed"}

    def test_what_to_record_is_named(self, tmp_path: Path):
        found = checks(tmp_path, 'peak_memory = "2%"', pair(tmp_path, {"peak": 5}, {}))
        assert found["peak_memory"].outcome == "unjudged"
        assert found["peak_memory"].sentence == (
            "peak_memory not decided: in the new run allocations were not recorded: "
            "record with --with memory."
        )

    def test_tables_of_behaviour_have_no_program(self, tmp_path: Path):
        paths = [write_table(tmp_path / f"{side}.csv", process_table(7)) for side in "ab"]
        found = outcomes(tmp_path, EVERY, compare(*paths, cache=False))
        assert found["program"] == found["launches"] == found["device_time"] == "unjudged"

    @pytest.mark.parametrize(
        ("slow", "outcome"), [(1.0, "passed"), (1.01, "unjudged"), (1.04, "failed")]
    )
    def test_device_time_fails_only_beyond_its_interval(
        self, tmp_path: Path, slow: float, outcome: str
    ):
        changed = pair(tmp_path, {}, {"gemm_us": 80 * slow})
        found = checks(tmp_path, 'device_time = "1%"', changed)["device_time"]
        assert found.outcome == outcome
        assert ("timesink ab --base" in found.sentence) == (outcome == "unjudged")


def test_peak_memory(tmp_path: Path):
    more = pair(tmp_path, {"peak": 2**30}, {"peak": 2**30 + 2**25})
    assert outcomes(tmp_path, 'peak_memory = "2%"', more) == {"peak_memory": "failed"}
    assert outcomes(tmp_path, 'peak_memory = "+32 MiB"', more) == {"peak_memory": "passed"}


def test_of_several_ranks_the_worst_is_told(tmp_path: Path):
    for side in ("base", "new"):
        for rank in range(2):
            items = 2 if (side, rank) == ("new", 1) else 1
            recorded(tmp_path / side / f"rank{rank}.json", items=items, **rank_fields(rank))
    both = compare(tmp_path / "base", tmp_path / "new", cache=False)
    found = checks(tmp_path, 'syncs = "+0"\nprogram = "same"', both)
    assert found["program"].outcome == found["syncs"].outcome == "failed"
    assert "in rank 1" in found["syncs"].sentence


class TestRecordings:
    """One program on an H200, recorded with faults and without."""

    @pytest.fixture
    def faults(self, shared: Path) -> Path:
        return shared / "data/h200/faults"

    @pytest.mark.parametrize(("base", "new"), [("normal", "normal_b"), ("normal_b", "normal")])
    def test_a_rerun_passes_all_of_them(self, faults: Path, tmp_path: Path, base: str, new: str):
        again = timesink.compare(faults / base, faults / new)
        assert {*outcomes(tmp_path, EVERY, again).values()} == {"passed"}

    def test_waits_and_copies_put_in(self, faults: Path, tmp_path: Path):
        found = checks(tmp_path, EVERY, timesink.compare(faults / "normal", faults / "sync_bug"))
        assert {one.outcome for one in found.values()} == {"failed"}
        assert found["program"].sentence.startswith("The program changed: 100 x aten::item added,")
        assert found["syncs"].sentence.startswith("1 → 101 waits for the device per cycle (+100)")

    def test_kernels_put_in(self, faults: Path, tmp_path: Path):
        other = timesink.compare(faults / "normal", faults / "fp32_regression")
        found = outcomes(tmp_path, EVERY, other)
        assert (found["program"], found["launches"], found["syncs"]) == (
            "failed", "failed", "passed")  # fmt: skip
