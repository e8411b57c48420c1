"""Devices of memory records: names, order, capacity."""

from __future__ import annotations

from typing import Any

import pytest

from builders import Event
from cases import ALLOC, O, read, read_document
from mlu import training_loop
from timesink.analyses.memory_curve import (
    default_device,
    memory_capacities,
    memory_device_names,
    memory_records,
)


def on(device_type: int | None, number: int | None, ts: int = 1) -> Event:
    record = ALLOC(ts, 1)
    place: dict[str, Any] = {"Device Type": device_type, "Device Id": number}
    values = {key: value for key, value in place.items() if value is not None}
    rest = {key: value for key, value in record["args"].items() if key not in place}
    return record | {"args": rest | values}


@pytest.mark.parametrize(
    ("device_type", "number", "name"),
    [
        (0, -1, "CPU"),
        (1, 3, "GPU3"),
        (6, 0, "GPU0"),
        (12, 1, "XPU1"),
        (7, 2, "type 7:2"),
        (None, 2, "type unknown:2"),
    ],
)
def test_name_by_type_and_number(device_type: int | None, number: int, name: str):
    assert memory_device_names(read(on(device_type, number))) == [name]


def test_unknown_type_beside_a_known_one():
    trace = read(on(1, 0), on(7, 0))
    assert memory_device_names(trace) == ["GPU0", "type 7:0"]


def test_private_type_is_the_vendors_device():
    trace = read_document(training_loop(device=2)[0])
    assert memory_device_names(trace) == ["MLU2"]


def test_devices_are_listed_by_name_and_number():
    trace = read(on(1, 10), on(1, 2), on(0, -1))
    assert memory_device_names(trace) == ["CPU", "GPU2", "GPU10"]
    assert default_device(memory_device_names(trace)) == "GPU2"


def test_host_is_the_default_without_accelerators():
    assert default_device(["CPU"]) == "CPU"


def test_capacity_goes_by_the_id_of_the_device():
    listed = [
        {"id": 3, "name": "NVIDIA H200", "totalGlobalMem": 300},
        {"id": 1, "name": "NVIDIA H200", "totalGlobalMem": 100},
    ]
    trace = read(on(0, -1), on(1, 1), on(1, 2), deviceProperties=listed)
    assert memory_capacities(trace) == {"GPU1": 100}


def test_capacity_is_not_that_of_another_sort_of_device():
    listed = [{"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 300}]
    trace = read(on(1, 0), on(7, 0), on(None, 0), deviceProperties=listed)
    assert memory_capacities(trace) == {"GPU0": 300}


def test_records_come_in_the_order_of_time():
    trace = read(ALLOC(30, 3), ALLOC(10, 1, device=0), ALLOC(20, 2, tid="456"))
    assert memory_records(trace)["bytes"].to_list() == [1, 2, 3]


def test_nothing_recorded():
    trace = read(O("aten::mm", 0, 10))
    assert memory_device_names(trace) == []
    assert memory_records(trace).is_empty()
