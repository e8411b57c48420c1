"""Counters of NVIDIA devices, from a stand-in for the management library."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sampling_counters import counters_of, sampled_until, setting_of
from timesink.recorder.counter_probes import GPU_COUNTERS as COUNTERS
from timesink.recorder.counter_probes import Probe
from timesink.recorder.counter_sampler import GPU_SOURCE, describe_devices

probes = GPU_SOURCE.probes
SHARING = {"process_gpu_usage", "gpu_others_usage", "process_gpu_mem_bytes"} | {
    "gpu_mem_of_others_bytes"
}


def on_the_host(root: Path) -> Path:
    """A system whose processes have the numbers the driver knows."""
    (root / "proc/self/ns").mkdir(parents=True, exist_ok=True)
    (root / "proc/self/ns/pid").symlink_to("pid:[4026531836]")
    return root


def values(probe_list: list[Probe], now_s: float) -> dict[tuple[str, str], float]:
    samples = [sample for probe in probe_list for sample in probe.read(now_s)]
    return {(sample.counter, sample.device): sample.value for sample in samples}


def labels(probe_list: list[Probe]) -> list[str]:
    samples = [sample for probe in probe_list for sample in probe.read(1.0)]
    return sorted({sample.device for sample in samples})


def process(pid: int, memory: int = 0) -> Any:
    return SimpleNamespace(pid=pid, usedGpuMemory=memory or None)


def use(pid: int, share: int, at_us: int = 1) -> Any:
    return SimpleNamespace(pid=pid, smUtil=share, memUtil=0, timeStamp=at_us)


@pytest.mark.usefixtures("nvml")
def test_every_counter_with_the_value_of_the_library(tmp_path):
    probe_list = list(probes(setting_of(root=on_the_host(tmp_path))))
    values(probe_list, 1.0)
    after = {counter: value for (counter, _), value in values(probe_list, 3.0).items()}
    assert after == {
        "gpu_sm_frequency": 1965,
        "gpu_frequency": 1980,
        "gpu_mem_frequency": 3201,
        "gpu_power_mw": 140_000,
        "gpu_power_instant_mw": 155_000,
        "gpu_power_limit_mw": 700_000,
        "gpu_temp": 41,
        "gpu_usage": 37,
        "gpu_mem_util": 12,
        "gpu_mem_used": 4_000_000_000,
        "gpu_throttle_reasons": 4,
        "gpu_pcie_transmit_kbps": 111,
        "gpu_pcie_receive_kbps": 222,
        "gpu_link_transmit_kbps": 512.0,
        "gpu_link_receive_kbps": 512.0,
        "process_gpu_usage": 0,
        "gpu_others_usage": 0,
        "process_gpu_mem_bytes": 0,
        "gpu_mem_of_others_bytes": 0,
    }


@pytest.mark.usefixtures("nvml")
def test_what_takes_long_has_a_thread_of_its_own():
    lanes = {name: probe.lane for probe in probes(setting_of()) for name in probe.counters}
    assert lanes["gpu_pcie_transmit_kbps"] != lanes["gpu_usage"] != lanes["process_gpu_usage"]


VISIBLE = {
    "": ["GPU 0", "GPU 1", "GPU 2"],
    "CUDA_VISIBLE_DEVICES=2,0": ["GPU 0", "GPU 1"],
    "CUDA_VISIBLE_DEVICES=GPU-cc": ["GPU 0"],
    "CUDA_VISIBLE_DEVICES=MIG-1,MIG-GPU-cc33/2/0": ["GPU 0", "GPU 1"],
}


@pytest.mark.parametrize("visible", VISIBLE)
def test_devices_are_called_as_the_program_calls_them(nvml, visible):
    nvml.DEVICES += [nvml.Device("GPU-bb22"), nvml.Device("GPU-cc33")]
    nvml.INSTANCES["MIG-1"] = nvml.DEVICES[2]
    environment = dict([visible.split("=")]) if visible else {}
    setting = setting_of("gpu_temp", **environment)
    assert labels(list(probes(setting))) == VISIBLE[visible]
    described = describe_devices(environment)
    assert sorted(device["device"] for device in described) == VISIBLE[visible]
    last = max(described, key=lambda device: device["index"])
    assert last["uuid"] == "GPU-cc33"
    assert last["name"] == "NVIDIA H200"
    assert last["memory_bytes"] == 150_000_000_000
    assert last["driver"] == "570.10"


@pytest.mark.usefixtures("nvml")
def test_hidden_devices_are_named_as_that():
    setting = setting_of("gpu_temp", CUDA_VISIBLE_DEVICES="")
    assert list(probes(setting)) == []
    (missing,) = setting.missing.named()
    assert missing.counter == "gpu_temp"
    assert missing.why.startswith("CUDA_VISIBLE_DEVICES hides all devices")


def test_a_driver_that_does_not_start_is_the_reason(nvml):
    nvml.INIT_ERROR.append(9)
    setting = setting_of("gpu_temp,gpu_usage")
    assert list(probes(setting)) == []
    assert [missing.counter for missing in setting.missing.named()] == ["gpu_temp", "gpu_usage"]
    assert "NVML does not start (Driver Not Loaded)" in setting.missing.named()[0].why


def test_what_is_not_supported_is_named_once_and_the_rest_is_recorded(nvml, tmp_path):
    nvml.DEVICES.append(nvml.Device("GPU-bb22"))
    for device in nvml.DEVICES:
        device.errors |= {"nvmlDeviceGetTemperature": 3, "139": 3}
    nvml.DEVICES[1].errors["nvmlDeviceGetPowerUsage"] = 4
    sampled, rows = sampled_until(
        tmp_path, "gpu", lambda current_rows: "gpu_link_transmit_kbps" in counters_of(current_rows)
    )
    why = {missing.counter: missing.why for missing in sampled.missing}
    assert why["gpu_temp"] == "GPU 0, GPU 1: Not Supported"
    assert why["gpu_link_receive_kbps"] == "GPU 0, GPU 1: not supported by this device"
    assert why["gpu_power_mw"] == "GPU 1: Insufficient Permissions"
    assert ("gpu_power_mw", "GPU 0") in {(counter, device) for _, counter, device, _ in rows}
    assert "gpu_temp" not in sampled.recorded


def test_a_device_that_is_lost_is_named_once_and_the_others_go_on(nvml, tmp_path):
    nvml.DEVICES.append(nvml.Device("GPU-bb22"))
    lost_us: list[int] = []

    def lost_and_gone_on(rows: Any) -> bool:
        if not lost_us:
            nvml.DEVICES[1].errors["nvmlDeviceGetUtilizationRates"] = 15
            lost_us.append(time.time_ns() // 1000)
        # Both devices take turns: between three of the one lie two of the other.
        after = [ts for ts, _, device, _ in rows if device == "GPU 0" and ts > lost_us[0]]
        return len(after) > 2

    sampled, rows = sampled_until(
        tmp_path,
        "gpu_usage,host_cpu_usage",
        lambda current_rows: (
            "GPU 1" in {row[2] for row in current_rows} and lost_and_gone_on(current_rows)
        ),
    )
    (missing,) = sampled.missing
    assert missing.counter == "gpu_usage"
    assert missing.why.startswith("GPU 1: stopped after ")
    assert missing.why.endswith(": GPU is lost")
    assert set(sampled.recorded) == {"gpu_usage", "host_cpu_usage"}
    last_us = max(ts for ts, _, device, _ in rows if device == "GPU 1")
    assert any(ts > last_us for ts, _, device, _ in rows if device == "GPU 0")


def test_own_processes_and_others(nvml, tmp_path):
    root = on_the_host(tmp_path)
    nvml.DEVICES[0].running = [process(7, 500), process(99, 1200), process(98)]
    nvml.DEVICES[0].used = [use(7, 60), use(7, 20, 2), use(99, 30, 2)]
    probe_list = list(probes(setting_of(",".join(SHARING), root=root)))
    read = {counter: value for (counter, _), value in values(probe_list, 1.0).items()}
    assert read == {
        "process_gpu_usage": 40,
        "gpu_others_usage": 30,
        "process_gpu_mem_bytes": 500,
        "gpu_mem_of_others_bytes": 1200,
    }
    # The library has nothing new: nobody worked since.
    assert values(probe_list, 2.0)["gpu_others_usage", "GPU 0"] == 0


def test_numbers_of_another_namespace_tell_nobody_apart(nvml, tmp_path):
    nvml.DEVICES[0].running = [process(31_007, 500)]
    nvml.DEVICES[0].used = [use(31_007, 60)]
    counters = f"{','.join(SHARING)},gpu_temp"
    probe_list = list(probes(setting_of(counters, root=tmp_path)))
    assert set(values(probe_list, 1.0)) == {("gpu_temp", "GPU 0")}
    nvml.DEVICES[0].running.append(process(7, 100))
    assert values(probe_list, 2.0)["process_gpu_mem_bytes", "GPU 0"] == 100


def test_counters_that_never_came_say_why(nvml, tmp_path, monkeypatch):
    monkeypatch.setattr("timesink.recorder.counter_probes.has_own_numbers", lambda _: True)
    nvml.DEVICES[0].running = [process(2**22 + 1, 500)]
    sampled, _ = sampled_until(tmp_path, "gpu_temp,gpu_others_usage", lambda rows: len(rows) > 3)
    (missing,) = sampled.missing
    assert missing.counter == "gpu_others_usage"
    assert "own processes are not among them" in missing.why


@pytest.mark.usefixtures("nvml")
def test_all_that_was_asked_for_is_recorded_or_missing(tmp_path):
    sampled, _ = sampled_until(tmp_path, "gpu", lambda rows: len(rows) > 30)
    names = {missing.counter for missing in sampled.missing} | set(sampled.recorded)
    assert names == {counter.name for counter in COUNTERS}
