"""Devices whose memory is nearly full."""

from __future__ import annotations

import pytest

from cases import ALLOC, O, read
from timesink.model.trace import Trace
from timesink.rules.device_work import memory_limit

GIB = 1024**3
GPU = {"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 10 * GIB}


def allocation_trace(total: int, device: int = 0, **fields: object) -> Trace:
    return read(O("mm", 0, 10), ALLOC(5, 512, device=device, address=1, total=total), **fields)


def test_numbers_and_evidence():
    (finding,) = memory_limit(allocation_trace(19 * GIB // 2, deviceProperties=[GPU]))
    # It costs no time until it is full.
    assert (finding.rule, finding.severity) == ("memory-near-limit", "low")
    (device,) = finding.evidence
    assert device.name == "GPU0"
    assert device.numbers["peak_allocated_bytes"] == 19 * GIB // 2
    assert device.numbers["capacity_bytes"] == 10 * GIB


@pytest.mark.parametrize(("total", "finding_count"), [(9 * GIB, 0), (9 * GIB + 1, 1)])
def test_nine_tenths_are_needed(total: int, finding_count: int):
    assert len(memory_limit(allocation_trace(total, deviceProperties=[GPU]))) == finding_count


def test_what_no_device_can_hold_is_a_fault_of_the_recording():
    impossible = allocation_trace(2**63 - 1, deviceProperties=[GPU])
    assert memory_limit(impossible) == []
    assert "impossible_memory" in {entry.code for entry in impossible.health}


def test_the_host_and_devices_of_unknown_size_are_left_alone():
    assert memory_limit(allocation_trace(99 * GIB, device=-1, deviceProperties=[GPU])) == []
    assert memory_limit(allocation_trace(99 * GIB, device=1, deviceProperties=[GPU])) == []
    assert memory_limit(allocation_trace(99 * GIB)) == []


def test_devices_share_a_finding():
    gpus = [GPU, GPU | {"id": 1}]
    full = [
        ALLOC(5, 512, device=0, total=19 * GIB // 2),
        ALLOC(6, 512, device=1, total=9 * GIB + 1),
    ]
    (finding,) = memory_limit(read(O("mm", 0, 10), *full, deviceProperties=gpus))
    assert finding.title == "Memory of 2 devices nearly full"
    assert "(95.0 %), the most of 2 devices above 90.0 %" in finding.sentence
    assert [item.name for item in finding.evidence] == ["GPU0", "GPU1"]


def test_no_memory_was_recorded():
    assert memory_limit(read(O("mm", 0, 10), deviceProperties=[GPU])) == []
