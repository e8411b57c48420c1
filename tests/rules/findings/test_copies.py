"""Copies from or to pageable memory."""

from __future__ import annotations

import pytest

from cases import MAIN, STEP, K, device_event, host_event, read
from timesink.answers.analysis.finding_values import evidence_json
from timesink.model.trace import Trace
from timesink.rules.device_work import allocator_calls, pageable_copies

PAGEABLE, PINNED = "Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pinned -> Device)"


def copy_trace(us: int, name: str = PAGEABLE, *more_events: dict) -> Trace:
    copy = device_event("Memcpy", name, 100, us, c=1, x=None, device=0, bytes=4096)
    return read(STEP(1, 0, 1000), copy, *more_events)


def test_share_gain_and_evidence():
    (finding,) = pageable_copies(copy_trace(100))
    assert (finding.rule, finding.severity) == ("pageable-copies", "medium")
    assert finding.share == pytest.approx(0.1)
    assert finding.cost_ns == 50_000
    assert finding.sentence.startswith("1 copy (4.0 KiB)")
    (copy,) = (evidence_json(item) for item in finding.evidence)
    assert copy == {"kind": "copy", "name": PAGEABLE, "copies": 1, "total_us": 100, "bytes": 4096}


def test_only_time_without_kernels_counts():
    (finding,) = pageable_copies(copy_trace(100, PAGEABLE, K("gemm", 120, 60)))
    assert finding.share == pytest.approx(0.04)


@pytest.mark.parametrize(("us", "finding_count"), [(5, 0), (6, 1)])
def test_half_a_percent_is_needed(us: int, finding_count: int):
    assert len(pageable_copies(copy_trace(us))) == finding_count


def test_pinned_memory_is_fine():
    assert pageable_copies(copy_trace(500, PINNED)) == []


def test_no_copies_and_no_steps():
    assert pageable_copies(read(STEP(1, 0, 1000))) == pageable_copies(read()) == []


class TestAllocatorCalls:
    @pytest.mark.parametrize(
        "name", ["cudaMalloc", "cudaFree", "hipFree", "cnrtMalloc", "AscendCL@aclrtFree"]
    )
    def test_calls_inside_steps_are_a_finding(self, name: str):
        call = host_event("Runtime", name, 100, 200, MAIN)
        (finding,) = allocator_calls(read(STEP(1, 0, 1000), call, K("gemm", 200, 400)))
        assert finding.rule == "allocator-calls"
        assert "Allocating and freeing device memory takes 200 us of" in finding.sentence
        assert finding.sentence.endswith(", in 1 call a step.")
        # The device works during half of it.
        assert finding.cost_ns == 100_000
        assert finding.evidence[0].name == name

    def test_other_calls_and_calls_outside_steps_are_none(self):
        calls = [host_event("Runtime", "cudaMemcpy", 100, 200, MAIN)]
        calls += [host_event("Runtime", "cudaMalloc", 2000, 200, MAIN)]
        assert allocator_calls(read(STEP(1, 0, 1000), *calls, K("gemm", 400, 100))) == []
