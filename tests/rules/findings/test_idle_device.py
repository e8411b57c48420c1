"""Devices that stand still for most of a step, and why."""

from __future__ import annotations

import pytest

from cases import DATA_LOADER, MAIN, MODULE, STEP, C, K, O, R, host_event, read
from timesink.analyses.fitness import recording_fitness
from timesink.answers.analysis.finding_values import evidence_json
from timesink.answers.analysis.report import headline
from timesink.model.findings import Finding
from timesink.model.trace import Trace
from timesink.rules.device_work import tiny_kernels
from timesink.rules.idle import dominant_operator, low_utilisation
from timesink.rules.run_findings import find_all


def sync(ts: int, dur: int) -> dict:
    return host_event("cuda_runtime", "cudaStreamSynchronize", ts, dur, MAIN)


def busy_for(us: int, *more_events: dict, launched: int = 90) -> Trace:
    """A step of 1 ms with one kernel from 100 us on; the host is at work all the time."""
    kernel = [R(launched, 5, c=1), K("gemm", 100, us, c=1)]
    return read(STEP(1, 0, 1000), O("train", 0, 1000), *kernel, *more_events)


def rules(trace: Trace) -> list[str]:
    return [finding.rule for finding in low_utilisation(trace)]


def test_numbers_and_evidence():
    finding: Finding
    (finding,) = low_utilisation(busy_for(300))
    assert (finding.rule, finding.severity) == ("low-utilisation-launch-bound", "high")
    assert finding.share == pytest.approx(0.7)
    assert finding.cost_ns == 700_000
    (device,) = (evidence_json(item) for item in finding.evidence)
    assert "sync_us_per_step" not in device
    assert (device["kind"], device["name"]) == ("device", "GPU 0")
    assert device["utilisation_pct"] == pytest.approx(30)
    assert (device["idle_us_per_step"], device["host_us_per_step"]) == (700, 700)


@pytest.mark.parametrize(("us", "finding_count"), [(499, 1), (800, 1), (801, 0)])
def test_a_fifth_of_the_time_without_work_gets_its_reason_named(us: int, finding_count: int):
    assert len(low_utilisation(busy_for(us))) == finding_count


class TestCause:
    def test_the_host_waits_for_the_device(self):
        waits = [sync(110, 800), R(960, 5, c=2), K("last", 970, 30, c=2)]
        assert rules(busy_for(100, *waits)) == ["low-utilisation-sync-bound"]

    def test_nothing_is_recorded_of_the_host(self):
        kernels = [R(2, 5, c=1), K("a", 10, 90, c=1), R(8000, 5, c=2), K("b", 8100, 100, c=2)]
        assert rules(read(STEP(1, 0, 9000), *kernels)) == ["low-utilisation-host-stalled"]

    def test_a_blocking_copy_holds_up_the_host(self):
        blocked = host_event("cuda_runtime", "hipMemcpyWithStream", 210, 740, MAIN, correlation=2)
        (finding,) = low_utilisation(busy_for(100, blocked, C(940, 10, c=2)))
        assert finding.rule == "low-utilisation-sync-bound"
        # 730 us up to the copy, and the 50 us after it, when the host is behind.
        assert finding.share == pytest.approx(0.78)
        call = evidence_json(finding.evidence[0])
        assert (call["kind"], call["name"]) == ("call", "hipMemcpyWithStream")

    def test_another_long_call_holds_up_the_host(self):
        freeing = host_event("cuda_runtime", "cudaFree", 210, 600, MAIN)
        later = [R(820, 5, c=2), K("last", 830, 10, c=2)]
        (finding,) = low_utilisation(busy_for(100, freeing, *later))
        assert finding.rule == "low-utilisation-runtime-bound"
        assert finding.cost_ns == 600_000
        assert [item.name for item in finding.evidence] == ["cudaFree", "GPU 0"]

    def test_work_is_queued_and_waits(self):
        queued = [R(96, 2, c=2), K("last", 900, 100, c=2)]
        assert rules(busy_for(100, *queued)) == ["low-utilisation-dependency-bound"]

    def test_copies(self):
        copy = [R(96, 2, c=2), C(150, 800, c=2)]
        assert rules(busy_for(50, *copy)) == ["low-utilisation-copy-bound"]

    def test_causes_with_a_rule_of_their_own_are_not_said_twice(self):
        assert rules(busy_for(100, O(DATA_LOADER, 300, 600))) == []
        assert rules(busy_for(100, O("gloo:all_reduce", 300, 600))) == []


class TestManyDevices:
    def test_those_with_the_same_cause_share_a_finding(self):
        trace = busy_for(300, R(92, 2, c=2), K("gemm", 100, 400, c=2, device=3))
        (finding,) = low_utilisation(trace)
        assert "GPUs 0, 3 run kernels 30.0 % to 40.0 % of the time" in finding.sentence
        assert "on the worst of them 700 us of the 1.00 ms step" in finding.sentence
        assert [item.name for item in finding.evidence] == ["GPU 0", "GPU 3"]

    def test_different_causes_are_different_findings(self):
        early = [R(0, 2, c=2), R(4, 2, c=3)]
        waiting = [K("a", 4, 2, c=2, device=3), K("b", 900, 100, c=3, device=3)]
        assert rules(busy_for(300, *early, *waiting)) == [
            "low-utilisation-launch-bound",
            "low-utilisation-dependency-bound",
        ]

    def test_more_than_a_few_are_counted(self):
        more_events = [
            event
            for device in range(1, 8)
            for event in (R(91, 1, c=9 + device), K("gemm", 100, 300, c=9 + device, device=device))
        ]
        (finding,) = low_utilisation(busy_for(300, *more_events))
        assert finding.title == "Idle time of 8 GPUs (0 to 7): kernel launches"


def test_where_launches_are_not_recorded_that_is_said_and_nothing_promised():
    trace = read(STEP(1, 0, 1000), O("train", 0, 1000), K("gemm", 100, 300))
    (finding,) = low_utilisation(trace)
    assert finding.rule == "low-utilisation-unexplained"
    assert finding.cost_ns == 0


def test_time_between_steps_is_not_idle_time_of_the_steps():
    events = []
    for number in (1, 2):
        start = 100_000 * number
        events += [STEP(number, start, 1000), O("train", start, 1000)]
        events += [R(start, 5, c=number), K("gemm", start + 10, 900, c=number)]
    assert rules(read(*events)) == []


def test_many_tiny_kernels_are_not_said_twice():
    launches = [
        event
        for place in range(60)
        for event in (R(500 + 5 * place, 1, c=place + 2), K("k", 502 + 5 * place, 1, c=place + 2))
    ]
    trace = busy_for(10, *launches)
    assert [finding.rule for finding in tiny_kernels(trace)] == ["tiny-kernels"]
    assert rules(trace) == []


def test_no_device_work_and_no_steps():
    assert low_utilisation(read(STEP(1, 0, 1000), O("mm", 0, 500))) == []
    assert low_utilisation(read(STEP(1, 0, 0), K("gemm", 0, 0))) == []
    assert low_utilisation(read()) == []


class TestWaitsForWorkThatWasNotRecorded:
    """A wait ends when the device is done: with nothing on it, the recording lacks that work."""

    def recorded(self, *later: dict) -> Trace:
        blocked = host_event("cuda_runtime", "hipMemcpyWithStream", 95, 493_000, MAIN)
        first = [R(2, 5, c=1), K("gemm", 10, 90, c=1)]
        return read(STEP(1, 0, 493_200), O("train", 0, 493_200), *first, blocked, *later)

    @pytest.mark.parametrize("later", [[], [R(493_110, 5, c=3), K("last", 493_120, 50, c=3)]])
    def test_a_copy_that_waits_with_an_empty_device_is_missing_data(self, later: list[dict]):
        trace = self.recorded(*later)
        assert not [finding.rule for finding in find_all(trace)]
        (missing,) = recording_fitness(trace).reasons
        assert missing.code == "work_not_recorded"
        assert "The host waits 493 ms of 493 ms" in missing.sentence
        assert missing.evidence["call"] == "hipMemcpyWithStream"

    def test_the_headline_does_not_advise_against_waits(self):
        text = headline(self.recorded())
        assert text.startswith("Cannot tell how idle the GPU is: the host waits 493 ms of 493 ms")
        assert "holds 90.0 us of GPU work in the 493 ms step (one step recorded)" in text
        assert "Record complete steps" in text


class TestDominantOperator:
    def test_the_operator_and_its_time(self):
        inner = O("aten::mm", 300, 100)
        (finding,) = dominant_operator(busy_for(100, O("aten::attention", 200, 600), inner))
        # What it calls is not its own.
        assert finding.cost_ns == 500_000

    def test_what_runs_while_the_device_works_does_not_count(self):
        assert dominant_operator(busy_for(800, O("aten::attention", 100, 700))) == []

    def test_without_a_device_nothing_is_promised(self):
        (finding,) = dominant_operator(read(STEP(1, 0, 1000), O("aten::conv", 0, 700)))
        assert (finding.share, finding.cost_ns) == (0.7, 0)


def python(name: str, ts: int, dur: int, self_us: int, parent: int | None = None) -> dict:
    return MODULE(name, ts, dur, python_id=self_us, parent=parent, module=None)


def test_the_python_function_that_takes_the_time_is_named():
    kernels = [R(5, 5, c=1), K("gemm", 20, 200, c=1), O("aten::mm", 0, 20)]
    stack = [python("train.py(3): main", 0, 9000, 1), python("io.py(7): save", 1000, 6000, 2, 1)]
    stack.append(python("<built-in method sleep>", 1500, 5000, 3, 2))
    (finding,) = low_utilisation(read(STEP(1, 0, 9000), *kernels, *stack))
    assert finding.rule == "low-utilisation-host-stalled"
    assert "with_stack" not in finding.advice


def test_work_whose_launches_are_missing_is_said_by_its_sort():
    copies = [C(100 + 90 * at, 5, c=90 + at) for at in range(10)]
    launched = [R(5, 5, c=1), K("gemm", 20, 50, c=1), O("aten::mm", 0, 20)]
    (finding,) = low_utilisation(read(STEP(1, 0, 1000), *launched, *copies))
    assert "unknown, as launches of its copies were not recorded" in finding.sentence
    (finding,) = low_utilisation(
        read(STEP(1, 0, 1000), O("aten::mm", 0, 20), *copies[:1], K("k", 900, 9))
    )


def test_a_dominant_operator_counts_its_runtime_calls_and_says_so():
    operator, launch = O("aten::attention", 0, 800), R(100, 300, c=1)
    with_call = read(STEP(1, 0, 1000), operator, launch, K("gemm", 900, 50, c=1))
    (finding,) = dominant_operator(with_call)
    assert "on the host with its runtime calls, in 1 call" in finding.sentence
    without = read(STEP(1, 0, 1000), operator, R(850, 5, c=1), K("gemm", 900, 50, c=1))
    assert "on the host by itself, in 1 call" in dominant_operator(without)[0].sentence
