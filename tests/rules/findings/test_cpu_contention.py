"""Threads that wait for a core that others have, by counters beside the trace."""

from __future__ import annotations

from pathlib import Path

import pytest

import timesink
from builders import counter as counter_event
from cases import STEP, K, R, read
from timesink.model.trace import Trace
from timesink.rules.host_contention import cpu_contention

RUN_QUEUE = "process_runq_wait_pct"


def with_counter(
    *values: float, counter: str = RUN_QUEUE, kernel_us: int = 200, first_us: int = 100
) -> Trace:
    """A step of 1 ms with one kernel at its start, and samples 100 us apart."""
    samples = [
        counter_event(counter, first_us + 100 * place, value=value)
        for place, value in enumerate(values)
    ]
    return read(STEP(1, 0, 1000), R(0, 1, c=1), K("gemm", 1, kernel_us, c=1), *samples)


def test_evidence_and_what_it_may_cost():
    (finding,) = cpu_contention(with_counter(40.0, 60.0, 59.0))
    assert finding.rule == "cpu-contention"
    assert f"53.0 % of the time ({RUN_QUEUE}, 0: up to 60.0 % in 3 samples)" in finding.sentence
    # No more than the device has nothing to do.
    assert finding.cost_ns == pytest.approx(0.53 * 800_000)
    assert "pidstat" in finding.advice


def test_a_device_that_works_all_the_time_waits_for_nobody():
    (finding,) = cpu_contention(with_counter(53.0, 53.0, kernel_us=998))
    assert finding.severity == "low"


@pytest.mark.parametrize(
    "trace",
    [
        with_counter(2.0, 3.0),
        with_counter(53.0),
        with_counter(53.0, 60.0, first_us=5000),
        with_counter(53.0, 60.0, counter="host_mem_usage_pct"),
        with_counter(),
    ],
    ids=["little", "one sample", "outside of the steps", "another counter", "none"],
)
def test_what_is_no_contention(trace: Trace):
    assert cpu_contention(trace) == []


def test_a_busy_host_is_the_headline(shared_root: Path):
    answer = timesink.analyze(shared_root / "data" / "h200" / "faults" / "cpu_squeeze")
    assert "CPU contention: a thread waits for a core" in answer.headline
