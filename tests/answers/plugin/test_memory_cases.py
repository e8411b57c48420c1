"""Small recordings whose memory can be worked out on paper."""

from __future__ import annotations

from typing import Any

import pytest

from builders import Event
from cases import ALLOC, O, by_name, read
from timesink.answers.plugin.memory import memory_curve, memory_events, memory_table
from timesink.answers.plugin.operators import operation_table
from timesink.answers.plugin.query import Query
from timesink.model.trace import Trace

IN_BYTES = Query({"memory_metric": "B", "time_metric": "us"})
GPU = 0


def moves(device: int, *sizes: tuple[int, int]) -> list[Event]:
    """Sizes taken (and given back) at these times; equal sizes are the same block."""
    return [ALLOC(ts, size, device=device, address=abs(size)) for ts, size in sizes]


def linear_layer() -> list[Event]:
    """Four copies to the device, one of them through a buffer; then a layer of two operators."""
    return [
        O("aten::to", 10, 20),
        *moves(GPU, (15, 40)),
        O("aten::to", 40, 40),
        *moves(GPU, (45, 64)),
        O("aten::empty", 50, 20),
        *moves(GPU, (55, 100), (60, -100)),
        O("aten::to", 90, 5),
        O("aten::liner", 100, 100),
        *moves(-1, (101, 100), (102, -100)),
        *moves(GPU, (103, 60), (104, 50), (105, 20), (190, -110)),
        O("aten::t", 110, 10),
        *moves(-1, (115, 50)),
        O("aten::mm", 130, 20),
        *moves(GPU, (135, 120), (140, -120)),
        O("aten::add", 160, 20),
        *moves(GPU, (162, 60), (164, 30), (166, -90), (168, 20), (170, -20)),
        O("aten::to", 210, 5),
    ]


def rows_of(trace: Trace, device: str) -> dict[str, dict[str, Any]]:
    answer = memory_table(trace, IN_BYTES)
    names = [column["name"].replace(" (B)", "") for column in answer["columns"]]
    return {row[0]: dict(zip(names, row, strict=True)) for row in answer["rows"][device]}


def numbers(row: dict[str, Any]) -> list[int]:
    order = (
        "Self Size Increase",
        "Self Allocation Size",
        "Self Allocation Count",
        "Size Increase",
        "Allocation Size",
        "Allocation Count",
        "Calls",
    )
    return [row[name] for name in order]


def test_memory_of_operators_on_the_device():
    rows = rows_of(read(*linear_layer()), "GPU0")
    assert numbers(rows["aten::to"]) == [104, 104, 2, 104, 204, 3, 4]
    assert numbers(rows["aten::liner"]) == [20, 130, 3, 20, 360, 7, 1]


def test_memory_of_operators_on_the_host():
    rows = rows_of(read(*linear_layer()), "CPU")
    assert numbers(rows["aten::liner"]) == [0, 100, 1, 50, 150, 2, 1]
    assert set(rows) == {"aten::liner", "aten::t"}


def test_calls_are_those_of_the_operator_table():
    trace = read(*linear_layer())
    calls = by_name(operation_table(trace, Query())["data"], "calls")
    for device in ("CPU", "GPU0"):
        rows = rows_of(trace, device)
        assert {name: (row["Calls"],) for name, row in rows.items()}.items() <= calls.items()


# -- curve -----------------------------------------------------------------------------------------

HOST_TOTALS = [100, 150, 120, 120, 60, 90, 200, 180, 70, 20, 0]
DEVICE_TOTALS = [512, 1024, 768, 768, 2048, 1536, 1024, 512, 256, 128]


def two_curves() -> Trace:
    host = [
        ALLOC(1 + 10 * place, 1, address=1, total=total) for place, total in enumerate(HOST_TOTALS)
    ]
    device = [
        ALLOC(5 + 10 * place, 1, device=0, address=2, total=total)
        for place, total in enumerate(DEVICE_TOTALS)
    ]
    return read(*host, *device)


def test_curve_goes_in_steps():
    answer = memory_curve(two_curves(), IN_BYTES)
    assert {device: len(rows) for device, rows in answer["rows"].items()} == {"CPU": 21, "GPU0": 19}
    assert answer["rows"]["CPU"][:5] == [
        [0, 100, 200],
        [10, 100, 200],
        [10, 150, 300],
        [20, 150, 300],
        [20, 120, 240],
    ]
    assert answer["rows"]["GPU0"][0] == [4, 512, 1024]


def test_curve_names_devices_and_peaks():
    metadata = memory_curve(two_curves(), IN_BYTES)["metadata"]
    assert metadata["devices"] == ["CPU", "GPU0"]
    assert metadata["default_device"] == "GPU0"
    assert metadata["peaks"]["GPU0"].endswith("2048.0B")
    assert metadata["peaks"]["CPU"].endswith("200.0B")


# -- single blocks ---------------------------------------------------------------------------------


@pytest.fixture
def blocks() -> dict[str, list[list[Any]]]:
    trace = read(
        O("aten::mm", 0, 100),
        ALLOC(10, 512, device=0, address=7, total=512),
        ALLOC(20, 256, device=1, address=7, total=256),
        ALLOC(40, -512, device=0, address=7),
        ALLOC(60, -64, device=0, address=9),
    )
    rows: dict[str, list[list[Any]]] = memory_events(trace, IN_BYTES)["rows"]
    return rows


def test_block_lives_from_taking_to_giving_back(blocks: dict[str, list[list[Any]]]):
    assert blocks["GPU0"][0] == ["aten::mm", 512, 10, 40, 30]


def test_same_address_on_another_device_is_another_block(blocks: dict[str, list[list[Any]]]):
    assert blocks["GPU1"] == [["aten::mm", 256, 20, None, None]]


def test_block_taken_before_the_recording(blocks: dict[str, list[list[Any]]]):
    assert blocks["GPU0"][1][1:] == [64, None, 60, None]
