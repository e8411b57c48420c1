"""Copies from or to pageable memory."""

from __future__ import annotations

import pytest

from cases import STEP, K, device_event, read
from timesink.model.trace import Trace
from timesink.rules.device_work import pageable_copies

PAGEABLE, PINNED = "Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pinned -> Device)"


def copying(us: int, name: str = PAGEABLE, *others: dict) -> Trace:
    copy = device_event("Memcpy", name, 100, us, c=1, x=None, device=0, bytes=4096)
    return read(STEP(1, 0, 1000), copy, *others)


def test_share_gain_and_evidence():
    (finding,) = pageable_copies(copying(100))
    assert (finding.rule, finding.severity) == ("pageable-copies", "medium")
    assert finding.share == pytest.approx(0.1)
    assert finding.gain_ns == 50_000
    assert finding.sentence.startswith("1 copy (4.0 KiB)")
    assert "100.0 us of each 1.00 ms step (10.0 %)" in finding.sentence
    (copy,) = (item.to_dict() for item in finding.evidence)
    assert copy == {"kind": "copy", "name": PAGEABLE, "copies": 1, "total_us": 100, "bytes": 4096}


def test_only_time_without_kernels_counts():
    (finding,) = pageable_copies(copying(100, PAGEABLE, K("gemm", 120, 60)))
    assert finding.share == pytest.approx(0.04)


@pytest.mark.parametrize(("us", "found"), [(5, 0), (6, 1)])
def test_half_a_percent_is_needed(us: int, found: int):
    assert len(pageable_copies(copying(us))) == found


def test_pinned_memory_is_fine():
    assert pageable_copies(copying(500, PINNED)) == []


def test_no_copies_and_no_steps():
    assert pageable_copies(read(STEP(1, 0, 1000))) == pageable_copies(read()) == []
