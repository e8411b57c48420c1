"""Counters of AMD devices, from a stand-in for amdsmi."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sampling_counters import setting_of
from timesink.recorder import amd_counters as devices
from timesink.recorder.counter_probes import GPU_COUNTERS as COUNTERS
from timesink.recorder.counter_probes import ProbeContext
from timesink.recorder.counter_sampler import GPU_SOURCE, describe_devices

probes = GPU_SOURCE.probes


def values(setting: ProbeContext, *moments: float) -> dict[tuple[str, str], float]:
    probe_list = list(devices.probes(setting))
    samples: list[Any] = []
    for now_s in moments:
        samples = [sample for probe in probe_list for sample in probe.read(now_s)]
    return {(sample.counter, sample.device): sample.value for sample in samples}


def on_the_host(root: Path) -> Path:
    (root / "proc/self/ns").mkdir(parents=True)
    (root / "proc/self/ns/pid").symlink_to("pid:[4026531836]")
    return root


def test_every_counter_in_the_units_of_the_others(amd, tmp_path):
    amd.PROCESSES[:] = [
        {"pid": 7, "memory_usage": {"vram_mem": 300}},
        {"pid": 99, "memory_usage": {"vram_mem": 200}},
    ]
    setting = setting_of(root=on_the_host(tmp_path), HIP_VISIBLE_DEVICES="1")
    readings = values(setting, 1.0, 2.0)
    assert {device for _, device in readings} == {"GPU 0"}
    assert {counter: value for (counter, _), value in readings.items()} == {
        "gpu_frequency": 2100,
        "gpu_mem_frequency": 1300,
        "gpu_power_mw": 310_000,
        "gpu_power_limit_mw": 750_000,
        "gpu_temp": 52,
        "gpu_usage": 66,
        "gpu_mem_util": 21,
        "gpu_mem_used": 2048 * 2**20,
        "gpu_link_transmit_kbps": pytest.approx(102.4),
        "gpu_link_receive_kbps": pytest.approx(102.4),
        "process_gpu_mem_bytes": 300,
        "gpu_mem_of_others_bytes": 200,
    }
    named = {missing.counter for missing in setting.missing.named()}
    assert named | {counter for counter, _ in readings} == {counter.name for counter in COUNTERS}


@pytest.mark.usefixtures("amd")
def test_numbers_of_another_namespace_tell_nobody_apart(tmp_path):
    assert values(setting_of("process_gpu_mem_bytes", root=tmp_path), 1.0) == {}


def test_a_counter_of_one_device_that_fails_says_so_itself(amd):
    amd.ERRORS.add("amdsmi_get_temp_metric")
    probe = next(iter(devices.probes(setting_of("gpu_temp"))))
    with pytest.raises(amd.AmdSmiException):
        list(probe.read(1.0))
    amd.ERRORS.clear()


def test_a_driver_that_is_not_loaded_is_the_reason(amd):
    amd.ERRORS.add("amdsmi_init")
    setting = setting_of("gpu_temp")
    assert list(probes(setting)) == []
    (missing,) = setting.missing.named()
    assert missing.why.endswith("amdsmi does not start (Driver not loaded)")
    amd.ERRORS.clear()


@pytest.mark.usefixtures("amd")
def test_devices_are_described_under_the_labels_of_their_counters():
    described = describe_devices({"ROCR_VISIBLE_DEVICES": "1"})
    assert described == [
        {
            "device": "GPU 0",
            "name": "AMD Instinct MI300X",
            "memory_bytes": 196_592 * 2**20,
            "driver": "6.10",
            "uuid": "GPU-bb",
        }
    ]
