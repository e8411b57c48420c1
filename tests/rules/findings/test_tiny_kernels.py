"""Many kernels too short to be worth their launch."""

from __future__ import annotations

import pytest

from cases import STEP, K, O, R, read
from timesink.answers.analysis.finding_values import evidence_json
from timesink.model.trace import Trace
from timesink.rules.device_work import tiny_kernels


def kernels(count: int, us: int, *more_events: dict) -> Trace:
    """A step with kernels 10 us apart, each launched 1 us before it starts."""
    events = [STEP(1, 0, 10 * count), O("train", 0, 10 * count)]
    for place in range(count):
        start = 10 * place + 1
        events += [R(start - 1, 1, c=place + 1), K("add", start, us, c=place + 1)]
    return read(*events, *more_events)


def test_share_gain_and_evidence():
    (finding,) = tiny_kernels(kernels(60, 2))
    assert finding.rule == "tiny-kernels"
    # The device waits 1 us before the first kernel, 8 us after each, and 7 us after the last.
    assert finding.cost_ns == pytest.approx(480_000, rel=0.02)
    assert finding.share == pytest.approx(0.8, rel=0.02)
    (kernel,) = (evidence_json(item) for item in finding.evidence)
    assert kernel == {"kind": "kernel", "name": "add", "calls_per_step": 60, "mean_us": 2}


@pytest.mark.parametrize(("count", "finding_count"), [(49, 0), (50, 1)])
def test_fifty_a_step_are_needed(count: int, finding_count: int):
    assert len(tiny_kernels(kernels(count, 2))) == finding_count


@pytest.mark.parametrize(("us", "finding_count"), [(4, 1), (5, 0)])
def test_five_microseconds_are_not_tiny(us: int, finding_count: int):
    assert len(tiny_kernels(kernels(60, us))) == finding_count


def test_half_of_the_kernels_must_be_tiny():
    long = [K("gemm", 0, 6) for _ in range(61)]
    assert tiny_kernels(kernels(60, 2, *long)) == []


def test_of_several_devices_the_worst_counts():
    more_events = [K("add", 10 * place + 1, 4, c=place + 1, device=1) for place in range(60)]
    (finding,) = tiny_kernels(kernels(60, 2, *more_events))
    assert finding.cost_ns == pytest.approx(480_000, rel=0.02)


def test_nothing_is_said_where_launches_are_not_recorded():
    kernel_events = [K("add", 10 * place, 2) for place in range(60)]
    assert tiny_kernels(read(STEP(1, 0, 600), *kernel_events)) == []


def test_kernels_that_keep_the_device_busy_are_fine():
    busy = [K("gemm", 0, 600)]
    assert tiny_kernels(kernels(60, 2, *busy)) == []


def test_no_kernels():
    assert tiny_kernels(read(STEP(1, 0, 100))) == tiny_kernels(read()) == []
