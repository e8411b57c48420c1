# ruff: noqa: ARG002, N802, PLR0917 - names and arguments are those of the library
"""The binding for images without nvidia-ml-py, against a library that fills what it is given."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import pytest

from timesink.recorder import nvml_binding
from timesink.recorder.counter_probes import UnavailableError
from timesink.recorder.nvidia_counters import load_nvml
from timesink.recorder.nvml_binding import (
    UNKNOWN_MEMORY,
    Binding,
    FieldValue,
    NotedSample,
    NVMLError,
    ProcessInfo,
    ProcessUtilization,
)


class Library:
    """As ctypes shows libnvidia-ml: functions that return a status and fill what they point to."""

    processes = 2

    def nvmlInit_v2(self) -> int:
        return 0

    def nvmlDeviceGetCount_v2(self, count: Any) -> int:
        count._obj.value = 1
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, index: Any, handle: Any) -> int:
        handle._obj.value = 0x1000 + index.value
        return 0

    def nvmlDeviceGetUUID(self, device: Any, text: Any, size: Any) -> int:
        text.value = b"GPU-aa11"
        assert size.value >= 80
        return 0

    def nvmlDeviceGetClockInfo(self, device: Any, kind: Any, clock: Any) -> int:
        clock._obj.value = 1980 + kind.value
        return 0

    def nvmlDeviceGetTemperature(self, device: Any, sensor: Any, degrees: Any) -> int:
        return 3

    def nvmlDeviceGetUtilizationRates(self, device: Any, rates: Any) -> int:
        rates._obj.gpu, rates._obj.memory = 37, 12
        return 0

    def nvmlDeviceGetMemoryInfo(self, device: Any, memory: Any) -> int:
        memory._obj.used = 2**33
        return 0

    def nvmlDeviceGetFieldValues(self, device: Any, count: Any, values: Any) -> int:
        assert count.value == len(values)
        for value in values:
            value.valueType, value.value.ullVal = 3, value.fieldId + value.scopeId
        return 0

    def nvmlDeviceGetComputeRunningProcesses_v3(self, device: Any, count: Any, infos: Any) -> int:
        room, count._obj.value = count._obj.value, self.processes
        if room < self.processes:
            return 7
        for number in range(self.processes):
            infos[number].pid, infos[number].usedGpuMemory = 100 + number, 2**40
        infos[0].usedGpuMemory = UNKNOWN_MEMORY
        return 0

    def nvmlDeviceGetSamples(
        self, device: Any, kind: Any, since: Any, value_type: Any, count: Any, samples: Any
    ) -> int:
        if since.value:
            return 6
        value_type._obj.value, count._obj.value = 1, 2
        for number in range(2 if samples else 0):
            samples[number].timeStamp = 10**15 + number
            samples[number].sampleValue.uiVal = 100 * (kind.value + number)
        return 0

    def nvmlDeviceGetProcessUtilization(
        self, device: Any, samples: Any, count: Any, since: Any
    ) -> int:
        if since.value:
            return 6
        if samples is None:
            count._obj.value = 2
            return 7
        for number in range(2):
            samples[number].pid, samples[number].smUtil = 100 + number, 50
            samples[number].timeStamp = 10**15 + number
        return 0


@pytest.fixture
def fake_binding() -> Binding:
    return Binding(Library())


def test_structures_are_laid_out_as_in_the_header():
    sizes = {ProcessInfo: 24, ProcessUtilization: 32, FieldValue: 40, NotedSample: 16}
    assert {kind: ctypes.sizeof(kind) for kind in sizes} == sizes


def test_values_of_a_device(fake_binding):
    fake_binding.nvmlInit()
    assert fake_binding.nvmlDeviceGetCount() == 1
    device = fake_binding.nvmlDeviceGetHandleByIndex(0)
    assert device.value == 0x1000
    assert fake_binding.nvmlDeviceGetUUID(device) == "GPU-aa11"
    assert fake_binding.nvmlDeviceGetClockInfo(device, 1) == 1981
    assert fake_binding.nvmlDeviceGetUtilizationRates(device).memory == 12
    assert fake_binding.nvmlDeviceGetMemoryInfo(device).used == 2**33
    fields = fake_binding.nvmlDeviceGetFieldValues(device, [(138, 2**32 - 1), 186])
    assert [field.value.ullVal for field in fields] == [138 + 2**32 - 1, 186]


def test_an_error_has_its_number_and_a_reason(fake_binding):
    with pytest.raises(NVMLError, match="not supported") as raised:
        fake_binding.nvmlDeviceGetTemperature(None, 0)
    assert raised.value.value == 3


def test_a_function_that_an_old_driver_has_not_is_an_error_of_it(fake_binding):
    with pytest.raises(NVMLError, match="too old"):
        fake_binding.nvmlDeviceGetPowerUsage(None)


@pytest.mark.parametrize("many", [2, 100])
def test_as_many_processes_as_there_are(fake_binding, many):
    fake_binding._library.processes = many
    processes = fake_binding.nvmlDeviceGetComputeRunningProcesses(None)
    assert [process.pid for process in processes] == list(range(100, 100 + many))
    assert [process.usedGpuMemory for process in processes[:2]] == [0, 2**40]


def test_use_of_processes_since_a_moment(fake_binding):
    uses = fake_binding.nvmlDeviceGetProcessUtilization(None, 0)
    assert [(use.pid, use.smUtil) for use in uses] == [(100, 50), (101, 50)]
    with pytest.raises(NVMLError) as raised:
        fake_binding.nvmlDeviceGetProcessUtilization(None, 5)
    assert raised.value.value == 6


def test_it_is_taken_where_nvidia_ml_py_is_not(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setattr(nvml_binding, "load", lambda: Binding(Library()))
    assert isinstance(load_nvml(), Binding)


def test_without_a_driver_that_is_the_reason(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setattr(nvml_binding, "_LIBRARY", "libno-such-thing.so.1")
    with pytest.raises(UnavailableError, match="no NVIDIA driver"):
        load_nvml()


def test_notes_of_the_driver(fake_binding):
    _, samples = fake_binding.nvmlDeviceGetSamples(None, 1, 0)
    assert [(sample.timeStamp, sample.sampleValue.uiVal) for sample in samples] == [
        (10**15, 100),
        (10**15 + 1, 200),
    ]
    with pytest.raises(NVMLError, match="not found"):
        fake_binding.nvmlDeviceGetSamples(None, 1, 1)
