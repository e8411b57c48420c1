"""Single blocks: which release belongs to which allocation, and what was live at the peak."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import timesink
from builders import Event
from cases import ALLOC, DATA_LOADER, MODULE, STEP, O, read
from timesink.analyses.memory_blocks import live_at_peak, memory_events
from timesink.analyses.memory_curve import memory_peaks
from timesink.model.trace import Trace

US = 1000
A, B = 0xA000, 0xB000


def lives(trace: Trace, *window: int) -> list[tuple[int, int | None, int | None]]:
    """Size, start and end of each block, in us."""
    times = (pl.col("allocated_ts_ns") // US, pl.col("released_ts_ns") // US)
    limits = [time * US for time in window]
    return memory_events(trace, *limits).select("bytes", *times).rows()


# -- blocks ----------------------------------------------------------------------------------------


def test_released_blocks_then_those_that_stay_then_those_from_before():
    trace = read(
        ALLOC(10, 1, address=A),
        ALLOC(20, 2, address=B),
        ALLOC(30, -64, address=0xC000),
        ALLOC(40, 4, address=0xD000),
        ALLOC(50, -2, address=B),
        ALLOC(60, -1, address=A),
    )
    assert lives(trace) == [(2, 20, 50), (1, 10, 60), (4, 40, None), (64, None, 30)]


def test_address_is_used_again():
    trace = read(
        ALLOC(10, 1, address=A),
        ALLOC(20, -1, address=A),
        ALLOC(30, 2, address=A),
        ALLOC(40, -2, address=A),
    )
    assert lives(trace) == [(1, 10, 20), (2, 30, 40)]


def test_release_that_was_not_recorded_costs_only_its_own_block():
    trace = read(ALLOC(10, 1, address=A), ALLOC(20, 2, address=A), ALLOC(30, -2, address=A))
    assert lives(trace) == [(2, 20, 30), (1, 10, None)]


def test_second_release_of_an_address_is_kept():
    trace = read(ALLOC(10, 1, address=A), ALLOC(20, -1, address=A), ALLOC(30, -5, address=A))
    assert lives(trace) == [(1, 10, 20), (5, None, 30)]


def test_equal_addresses_on_host_and_device_are_two_blocks():
    trace = read(
        ALLOC(10, 1, address=A),
        ALLOC(20, 2, address=A, device=0),
        ALLOC(30, -1, address=A),
        ALLOC(40, -2, address=A, device=0),
    )
    assert memory_events(trace)["device"].to_list() == ["CPU", "GPU0"]
    assert lives(trace) == [(1, 10, 30), (2, 20, 40)]


def test_records_without_a_process_are_of_one():
    def without_process(event: Event) -> Event:
        return {key: value for key, value in event.items() if key != "pid"}

    trace = read(
        without_process(ALLOC(10, 1, address=A)),
        without_process(ALLOC(30, -1, address=A)),
        ALLOC(40, -7, address=A),
    )
    assert lives(trace) == [(1, 10, 30), (7, None, 40)]


def test_window_shows_blocks_with_their_whole_life():
    trace = read(
        ALLOC(10, 1, address=A),
        ALLOC(20, 2, address=B),
        ALLOC(50, -2, address=B),
        ALLOC(60, -1, address=A),
    )
    assert lives(trace, 15, 30) == [(2, 20, 50)]
    assert lives(trace, 50, 60) == [(2, 20, 50), (1, 10, 60)]
    assert lives(trace, 21, 49) == []


def test_block_belongs_to_the_operator_that_took_it():
    trace = read(
        O("aten::conv2d", 0, 100),
        O("aten::empty", 10, 20),
        ALLOC(15, 8, address=A),
        O("aten::add", 200, 50),
        ALLOC(210, -8, address=A),
        ALLOC(220, -4, address=B),
    )
    assert memory_events(trace).select("operator", "caller").rows() == [
        ("aten::empty", "aten::conv2d"),
        (None, None),
    ]


def test_records_without_addresses_are_no_blocks():
    record = ALLOC(10, 8)
    record["args"].pop("Addr")
    assert memory_events(read(record)).is_empty()


# -- live at the peak ------------------------------------------------------------------------------


def training_step() -> Trace:
    """100 bytes from before; most is in use when the backward pass takes its 16."""
    return read(
        STEP(1, 0, 400),
        O(DATA_LOADER, 10, 40),
        O("aten::stack", 20, 10),
        ALLOC(25, 4, device=0, address=1, total=104),
        MODULE("nn.Module: Net_0", 60, 100, python_id=1, parent=None, module=0),
        MODULE("nn.Module: Linear_0", 70, 50, python_id=2, parent=1, module=1),
        O("aten::linear", 80, 30),
        ALLOC(85, 32, device=0, address=2, total=136),
        ALLOC(90, 8, device=0, address=3, total=144),
        ALLOC(95, -8, device=0, address=3, total=136),
        O("autograd::engine::evaluate_function: AddmmBackward0", 200, 50),
        O("aten::mm", 210, 20),
        ALLOC(215, 16, device=0, address=4, total=152),
        ALLOC(290, -32, device=0, address=2, total=120),
        O("Optimizer.step#SGD.step", 300, 50),
        O("aten::zeros", 310, 20),
        ALLOC(315, 24, device=0, address=5, total=144),
    )


def test_live_blocks_by_operator_module_and_part_of_the_step():
    live = live_at_peak(training_step())
    assert live.select("category", "operator", "module", "blocks", "bytes").rows() == [
        ("before_recording", None, None, None, 100),
        ("forward", "aten::linear", "nn.Module: Linear_0", 1, 32),
        ("backward", "aten::mm", None, 1, 16),
        ("data_loader", "aten::stack", None, 1, 4),
    ]


def test_memory_of_the_optimizer():
    trace = read(
        O("Optimizer.step#SGD.step", 0, 50),
        O("aten::zeros", 10, 20),
        ALLOC(15, 24, total=24),
        ALLOC(70, 8, total=32, address=1),
    )
    assert live_at_peak(trace).select("category", "operator", "bytes").rows() == [
        ("optimizer", "aten::zeros", 24),
        ("outside_operators", None, 8),
    ]


def test_at_equal_times_the_order_of_the_records_decides():
    trace = read(
        O("aten::mm", 0, 50),
        ALLOC(10, 8, address=A, total=8),
        ALLOC(10, 4, address=B, total=12),
        ALLOC(10, -8, address=A, total=4),
    )
    assert live_at_peak(trace)["bytes"].to_list() == [12]


def test_without_addresses_nobody_knows():
    record = ALLOC(10, 8, total=8)
    record["args"].pop("Addr")
    assert live_at_peak(read(record)).select("category", "bytes").rows() == [("no_addresses", 8)]


def test_nothing_recorded():
    trace = read(O("aten::mm", 0, 10))
    assert memory_events(trace).is_empty()
    assert live_at_peak(trace).is_empty()


@pytest.mark.parametrize(
    "path",
    [
        "h200/traces/resnet50_train/worker0.1794701473054949011.pt.trace.json.gz",
        "tracelens/mi300/timesformer.json.gz",
        "kineto/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz",
    ],
)
def test_what_is_live_adds_up_to_the_peak(shared_root: Path, path: str):
    trace = timesink.open(shared_root / "data" / path)
    live = live_at_peak(trace).group_by("device").agg(pl.col("bytes").sum()).sort("device")
    assert live.rows() == memory_peaks(trace).select("device", "peak_allocated_bytes").rows()
