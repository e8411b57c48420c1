"""`DataParallel` on several devices."""

from __future__ import annotations

import pytest

from cases import OTHER, STEP, C, K, O, read
from timesink.answers.analysis.finding_values import evidence_json
from timesink.rules.communication import data_parallel

NAME = "DataParallel.forward"


def test_share_and_evidence():
    steps = [STEP(1, 0, 1000), STEP(2, 1000, 1000)]
    calls = [O(NAME, 100, 300), O(NAME, 1100, 500)]
    (finding,) = data_parallel(read(*steps, *calls, K("a", 200, 50), K("b", 200, 50, device=1)))
    assert finding.rule == "data-parallel"
    assert finding.share == pytest.approx(0.4)
    call, *devices = finding.evidence
    assert evidence_json(call) == {
        "kind": "call",
        "name": NAME,
        "calls": 2,
        "host_us_per_step": 400,
    }
    assert [device.name for device in devices] == ["0", "1"]


def test_it_is_worth_a_word_even_when_short():
    devices = [C(200, 50, c=0), C(300, 50, c=0, device=1)]
    (finding,) = data_parallel(read(STEP(1, 0, 1000), O(NAME, 0, 10), *devices))
    # What several processes would save, one does not tell.
    assert (finding.severity, finding.cost_ns) == ("low", 0.0)
    assert finding.unknown_saving


def test_one_device_is_fine():
    assert data_parallel(read(STEP(1, 0, 1000), O(NAME, 0, 500), K("a", 200, 50))) == []


def test_the_distributed_one_is_fine():
    devices = [K("a", 200, 50), K("b", 200, 50, device=1)]
    assert data_parallel(read(O("DistributedDataParallel.forward", 0, 500), *devices)) == []


def test_calls_that_overlap_or_lie_outside_count_once_or_not_at_all():
    devices = [K("a", 200, 50), K("b", 200, 50, device=1)]
    calls = [O(NAME, 0, 500), O(NAME, 100, 500, tid=OTHER), O(NAME, 1000, 5000)]
    (finding,) = data_parallel(read(STEP(1, 0, 1000), *calls, *devices))
    assert finding.share == pytest.approx(0.6)
