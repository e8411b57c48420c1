"""What findings save: what a replay says, alone and together, and never more than there is."""

from __future__ import annotations

from pathlib import Path

import pytest

import timesink
from cases import DATA_LOADER, MAIN, STEP, K, O, R, host_event, read
from timesink.analyses.replay.own_clock import own_timeline
from timesink.model.findings import Finding
from timesink.model.trace import Trace
from timesink.rules.efficiency import proven_findings
from timesink.rules.run_findings import find_all


def by_rule(trace: Trace) -> dict[str, Finding]:
    return {finding.id: finding for finding in proven_findings(trace)}


def trace_of_waits(kernel: int, host: int) -> Trace:
    """A step of many waits: each for a kernel that the host launched right before."""
    events, period_us = [], kernel + host
    for number in range(20):
        begin = number * period_us
        wait = host_event(
            "Runtime", "cudaStreamSynchronize", begin + 10, kernel, MAIN, correlation=0
        )
        events += [
            O("aten::item", begin, period_us - 1),
            R(begin + 2, 5, c=number + 1),
            wait,
            K("reduce", begin + 8, kernel, c=number + 1),
        ]
    return read(STEP(1, 0, 20 * period_us), *events)


class TestAlone:
    def test_waits_that_are_taken_out_let_the_host_run_ahead(self):
        saved = by_rule(trace_of_waits(kernel=100, host=100))["many-waits"].cost_ns
        # The device has 2 ms of work, the step 4 ms: more than the half cannot be saved.
        assert 1_000_000 < saved <= 2_000_000

    def test_launches_that_decide_the_step_save_what_they_take(self):
        launches = [R(25 * number, 20, c=number + 1) for number in range(40)]
        kernels = [K("k", 25 * number + 22, 2, c=number + 1) for number in range(40)]
        trace = read(STEP(1, 0, 1000), *launches, *kernels)
        finding = by_rule(trace)["low-utilisation-launch-bound"]
        assert finding.cost_ns == pytest.approx(900_000, rel=0.1)

    def test_work_of_a_device_that_waits_for_the_host_saves_nothing(self):
        trace = read(
            STEP(1, 0, 1000),
            R(10, 5, c=1),
            K("nchwToNhwcKernel", 20, 300, c=1),
            O("aten::slow", 400, 580),
        )
        finding = by_rule(trace)["layout-conversions"]
        assert finding.cost_ns == 0
        assert finding.no_saving == (
            "the host is the bottleneck, and the device is idle here anyway"
        )


class TestTogether:
    def test_each_adds_to_those_above(self, shared_root: Path):
        trace = own_timeline(timesink.open(shared_root / "data/h200/traces/resnet50_train"))
        savings_ns = [finding.together_ns for finding in proven_findings(trace) if finding.cost_ns]
        assert savings_ns == sorted(savings_ns)
        assert len(savings_ns) > 1


def test_what_a_rule_finds_is_told_as_it_is():
    trace = trace_of_waits(kernel=100, host=100)
    assert [finding.sentence for finding in proven_findings(trace)] == [
        finding.sentence for finding in find_all(trace)
    ]


class TestNoPromise:
    def test_where_nothing_links_work_to_its_launch(self):
        def step(correlation: int) -> Trace:
            loader = O(DATA_LOADER, 0, 300)
            return read(
                STEP(1, 0, 1000), loader, R(390, 5, c=correlation), K("gemm", 400, 600, c=1)
            )

        assert by_rule(step(1))["data-loading"].cost_ns == 300_000
        finding = by_rule(step(0))["data-loading"]
        assert (finding.cost_ns, finding.most_ns) == (0, 300_000)
        assert finding.unknown_saving
        words = timesink.analyze(step(0)).headline
        assert "-bound" not in words
        assert "saving" not in words
        assert not timesink.whatif(step(0)).is_told
