"""Communication that nothing hides, and the wrong library for it."""

from __future__ import annotations

import pytest

from cases import STEP, K, O, R, read
from timesink.answers.analysis.finding_values import evidence_json
from timesink.model.trace import Trace
from timesink.rules.communication import exposed_communication, gloo_on_devices

NCCL_KERNEL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
GPU = {"deviceProperties": [{"id": 0, "name": "NVIDIA H200", "computeMajor": 9}]}


def communication_trace(us: int) -> Trace:
    """A step of 1 ms that computes for 400 us, half of it while it communicates as well."""
    return read(
        STEP(1, 0, 1000),
        O("nccl:all_reduce", 400, 20, x=1),
        R(405, 5, c=1, x=1),
        K("gemm", 100, 400, c=2),
        K(NCCL_KERNEL, 500, us, c=1, x=1),
    )


class TestExposed:
    def test_share_gain_and_evidence(self):
        (finding,) = exposed_communication(communication_trace(250))
        assert (finding.rule, finding.severity) == ("exposed-communication", "high")
        assert finding.share == pytest.approx(0.25)
        assert finding.cost_ns == 250_000
        kernel, step = (evidence_json(item) for item in finding.evidence)
        assert kernel == {"kind": "kernel", "name": NCCL_KERNEL, "calls": 1, "total_us": 250}
        assert step == {"kind": "step", "name": "1", "communication_us": 250, "step_us": 1000}

    @pytest.mark.parametrize(("us", "finding_count"), [(100, 0), (101, 1)])
    def test_a_tenth_is_needed(self, us: int, finding_count: int):
        assert len(exposed_communication(communication_trace(us))) == finding_count

    def test_hidden_communication_is_fine(self):
        trace = read(STEP(1, 0, 1000), K("gemm", 0, 1000), K(NCCL_KERNEL, 0, 900))
        assert exposed_communication(trace) == []

    def test_calls_are_the_evidence_where_no_kernel_communicates(self):
        (finding,) = exposed_communication(read(STEP(1, 0, 100), O("gloo:all_reduce", 0, 50)))
        assert evidence_json(finding.evidence[0]) == {
            "kind": "call",
            "name": "gloo:all_reduce",
            "calls": 1,
            "total_us": 50,
        }

    def test_no_steps(self):
        assert exposed_communication(read()) == []


class TestGloo:
    def test_calls_through_the_host_on_nvidia_devices(self):
        calls = [O("gloo:all_reduce", 100, 50), O("gloo:broadcast", 200, 30)]
        (finding,) = gloo_on_devices(read(STEP(1, 0, 1000), *calls, K("gemm", 300, 100), **GPU))
        assert finding.rule == "gloo-on-devices"
        assert finding.share == pytest.approx(0.08)
        assert [item.name for item in finding.evidence] == ["gloo:all_reduce", "gloo:broadcast"]

    def test_nothing_to_say_where_nccl_is_used_as_well(self):
        calls = [O("gloo:barrier", 100, 50), O("nccl:all_reduce", 200, 50)]
        assert gloo_on_devices(read(*calls, K("gemm", 300, 100), **GPU)) == []

    def test_nothing_to_say_without_a_device(self):
        assert gloo_on_devices(read(O("gloo:all_reduce", 100, 50))) == []

    def test_nothing_to_say_without_calls(self):
        assert gloo_on_devices(read(K("gemm", 300, 100), **GPU)) == []


def test_no_more_communication_is_hidden_than_there_is_computation():
    (finding,) = exposed_communication(
        read(STEP(1, 0, 1000), O("gloo:all_reduce", 0, 700), K("gemm", 700, 200))
    )
    assert finding.cost_ns == 200_000
