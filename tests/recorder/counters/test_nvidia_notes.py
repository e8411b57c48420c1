"""What NVIDIA's driver notes down by itself, with its time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from sampling_counters import sampled_until, setting_of
from timesink.recorder.counter_probes import GPU_LANE
from timesink.recorder.counter_sampler import GPU_SOURCE

probes = GPU_SOURCE.probes


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self, woken: Callable[[], None] = lambda: None) -> None:
        self.slept_s = 0.0
        self._woken = woken

    def monotonic(self) -> float:
        return self.slept_s

    def sleep(self, seconds: float) -> None:
        self.slept_s += seconds
        self._woken()

    time_ns = staticmethod(time.time_ns)


def test_what_the_driver_notes_down_keeps_the_time_it_was_noted(nvml):
    now_us = time.time_ns() // 1000
    [device] = nvml.DEVICES
    device.noted = {0: [(now_us, 120_000)], 1: [(now_us, 0)]}
    power, load, memory = (
        next(probe for probe in probes(setting_of()) if name in probe.counters)
        for name in ("gpu_power_instant_mw", "gpu_usage", "gpu_mem_util")
    )
    for probe in (power, load):
        list(probe.read(0.0))
    begun_us = now_us + 10_000_000
    device.noted[0] += [(begun_us, 130_000), (begun_us + 20_000, 700_000)]
    device.noted[1] += [(begun_us, 7), (begun_us + 200_000, 96)]
    assert [(sample.at_us, sample.value) for sample in power.read(1.0)] == [
        (begun_us, 130_000),
        (begun_us + 20_000, 700_000),
    ]
    # A mean holds for the middle of its time, if the time before it is known.
    assert [(sample.at_us, sample.value) for sample in load.read(1.0)] == [
        (begun_us, 7),
        (begun_us + 100_000, 96),
    ]
    assert list(load.read(2.0)) == []
    # Not noted by this driver: asked for as before.
    assert [
        (sample.at_us, sample.value)
        for sample in memory.read(1.0)
        if sample.counter == "gpu_mem_util"
    ] == [(None, 12)]


def test_notes_of_another_clock_are_not_taken(nvml):
    nvml.DEVICES[0].noted = {0: [(1_000_000, 120_000)]}
    power = next(
        probe for probe in probes(setting_of()) if "gpu_power_instant_mw" in probe.counters
    )
    assert [(sample.at_us, sample.value) for sample in power.read(1.0)] == [(None, 155_000)]


def test_devices_without_notes_are_waited_for_together(nvml, monkeypatch):
    nvml.DEVICES += [nvml.Device(f"GPU-{number}") for number in range(7)]
    for device in nvml.DEVICES:
        device.noted = {0: [], 1: [], 2: []}
    clock = Clock()
    monkeypatch.setattr("timesink.recorder.nvidia_counters.time", clock)
    probe_list = list(probes(setting_of("gpu_power_instant_mw,gpu_usage,gpu_mem_util")))
    assert 0 < clock.slept_s < 1
    assert {lane for probe in probe_list for lane in [probe.lane]} == {GPU_LANE}
    assert len({probe.device for probe in probe_list}) == 8


def test_a_driver_that_was_asleep_has_its_notes_a_moment_later(nvml, monkeypatch):
    nvml.DEVICES.append(nvml.Device("GPU-bb22"))
    for device in nvml.DEVICES:
        device.noted = {0: []}
    note = (time.time_ns() // 1000, 120_000)
    clock = Clock(lambda: nvml.DEVICES[1].noted[0].append(note))
    monkeypatch.setattr("timesink.recorder.nvidia_counters.time", clock)
    lanes = {probe.device: probe.lane for probe in probes(setting_of("gpu_power_instant_mw"))}
    assert lanes == {"GPU 0": GPU_LANE, "GPU 1": "notes of GPU 1"}


def test_rows_have_the_time_of_the_note_and_the_last_notes_are_there(nvml, tmp_path):
    first_us = time.time_ns() // 1000 + 30_000_000
    notes = [(first_us, 300_000)]
    nvml.DEVICES[0].noted = {0: notes}

    def are_there(rows: list[Any]) -> bool:
        if rows:
            # Long before it is its turn again.
            notes.append((first_us + 20_000 * len(notes), 400_000))
        return bool(rows)

    _, rows = sampled_until(tmp_path, "gpu_power_instant_mw", are_there)
    assert rows == [
        (first_us, "gpu_power_instant_mw", "GPU 0", 300_000),
        (first_us + 20_000, "gpu_power_instant_mw", "GPU 0", 400_000),
    ]
