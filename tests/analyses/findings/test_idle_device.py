"""Devices that stand still for most of a step, and why."""

from __future__ import annotations

import pytest

from cases import DATA_LOADER, MAIN, STEP, C, K, O, R, host_event, read
from timesink.analyses.findings.finding import Finding
from timesink.analyses.findings.idle_device import low_utilisation
from timesink.model.trace import Trace


def sync(ts: int, dur: int) -> dict:
    return host_event("cuda_runtime", "cudaStreamSynchronize", ts, dur, MAIN)


def busy_for(us: int, *others: dict, launched: int = 90) -> Trace:
    """A step of 1 ms with one kernel from 100 us on; the host is at work all the time."""
    kernel = [R(launched, 5, c=1), K("gemm", 100, us, c=1)]
    return read(STEP(1, 0, 1000), O("train", 0, 1000), *kernel, *others)


def rules(trace: Trace) -> list[str]:
    return [finding.rule for finding in low_utilisation(trace)]


def test_numbers_and_evidence():
    finding: Finding
    (finding,) = low_utilisation(busy_for(300))
    assert (finding.rule, finding.severity) == ("low-utilisation-launch-bound", "high")
    assert finding.share == pytest.approx(0.7)
    assert finding.gain_ns == 700_000
    assert "GPU 0 runs kernels 30.0 % of the time" in finding.sentence
    assert "700.0 us of each 1.00 ms step (70.0 %)" in finding.sentence
    (device,) = (item.to_dict() for item in finding.evidence)
    assert (device["kind"], device["name"]) == ("device", "GPU 0")
    assert device["utilisation_pct"] == pytest.approx(30)
    assert (device["idle_us_per_step"], device["host_us_per_step"]) == (700, 700)


@pytest.mark.parametrize(("us", "found"), [(499, 1), (500, 0)])
def test_half_of_the_time_is_enough(us: int, found: int):
    assert len(low_utilisation(busy_for(us))) == found


class TestCause:
    def test_the_host_waits_for_the_device(self):
        waits = [sync(110, 800), R(960, 5, c=2), K("last", 970, 30, c=2)]
        assert rules(busy_for(100, *waits)) == ["low-utilisation-sync-bound"]

    def test_nothing_is_recorded_of_the_host(self):
        kernels = [R(2, 5, c=1), K("a", 10, 90, c=1), R(8000, 5, c=2), K("b", 8100, 100, c=2)]
        assert rules(read(STEP(1, 0, 9000), *kernels)) == ["low-utilisation-host-stalled"]

    def test_work_is_queued_and_waits(self):
        queued = [R(96, 2, c=2), K("last", 900, 100, c=2)]
        assert rules(busy_for(100, *queued)) == ["low-utilisation-dependency-bound"]

    def test_copies(self):
        copy = [R(96, 2, c=2), C(150, 800, c=2)]
        assert rules(busy_for(50, *copy)) == ["low-utilisation-copy-bound"]

    def test_causes_with_a_rule_of_their_own_are_not_said_twice(self):
        assert rules(busy_for(100, O(DATA_LOADER, 300, 600))) == []
        assert rules(busy_for(100, O("gloo:all_reduce", 300, 600))) == []


def test_each_device_has_its_finding():
    trace = busy_for(300, R(92, 2, c=2), K("gemm", 100, 400, c=2, device=3))
    assert [f.title for f in low_utilisation(trace)] == [
        "GPU 0 is idle most of the time",
        "GPU 3 is idle most of the time",
    ]


def test_no_device_work_and_no_steps():
    assert low_utilisation(read(STEP(1, 0, 1000), O("mm", 0, 500))) == []
    assert low_utilisation(read(STEP(1, 0, 0), K("gemm", 0, 0))) == []
    assert low_utilisation(read()) == []
