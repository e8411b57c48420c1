"""What operators and modules cost cycle by cycle."""

from __future__ import annotations

from pathlib import Path

import polars as pl

import timesink
from builders import Event, kernel, kineto, operator, python_call, runtime, step, write
from timesink.analyses.behaviour.anatomy import CALL_TIMES, Anatomy, only_cycles
from timesink.analyses.behaviour.recorded_anatomy import anatomies
from timesink.analyses.cycles.search import find_cycles


def anatomy(path: Path, events: list[Event]) -> Anatomy:
    trace = timesink.open(write(path, kineto(events)), cache=False)
    (process_anatomy,) = anatomies(trace, find_cycles(trace)).values()
    return process_anatomy


def rows(process_anatomy: Anatomy, name: str) -> list[tuple[int, int, int, int]]:
    """Cycle, calls, device and host time in us."""
    mine = process_anatomy.calls.filter(name=name).sort("cycle")
    columns = mine.select("cycle", "calls", pl.col("device_ns", "host_ns") // 1000)
    return columns.rows()


def module(name: str, ts: int, dur: int) -> Event:
    ids = {"Python id": ts, "Python parent id": None, "Python module id": 0}
    return python_call(f"nn.Module: {name}", ts, dur, **ids)


def steps(*lengths: int) -> list[Event]:
    return [step(number + 1, 1000.0 * number, length) for number, length in enumerate(lengths)]


def test_device_time_counts_for_the_call_that_launched_it_and_all_around(tmp_path):
    events = [
        *steps(900, 900),
        operator("aten::linear", 10, 100),
        operator("aten::mm", 20, 80),
        runtime("cudaLaunchKernel", 30, 10, 1),
        # It runs in the next cycle, and is of the one that launched it.
        kernel("gemm", 1100, 50, 1),
        operator("aten::mm", 1020, 70),
        runtime("cudaLaunchKernel", 1030, 10, 2),
        kernel("gemm", 1200, 60, 2),
    ]
    process_anatomy = anatomy(tmp_path / "trace.json", events)
    assert process_anatomy.calls.schema == pl.Schema(CALL_TIMES)
    assert rows(process_anatomy, "aten::linear") == [(1, 1, 50, 100)]
    assert rows(process_anatomy, "aten::mm") == [(1, 1, 50, 80), (2, 1, 60, 70)]


def kernel_of_next_step() -> list[dict]:
    """Device work of the second step, without which the recording had cut it."""
    return [runtime("cudaLaunchKernel", 1700, 10, 9), kernel("other", 1720, 10, 9)]


def test_a_call_inside_of_one_of_its_own_name_counts_once(tmp_path):
    events = [
        *steps(900, 900),
        operator("aten::to", 10, 100),
        operator("aten::cat", 15, 90),
        operator("aten::to", 20, 80),
        runtime("cudaLaunchKernel", 30, 10, 1),
        kernel("copy", 200, 50, 1),
        operator("aten::to", 300, 40),
        operator("aten::to", 1300, 40),
        *kernel_of_next_step(),
    ]
    process_anatomy = anatomy(tmp_path / "trace.json", events)
    assert rows(process_anatomy, "aten::to") == [(1, 2, 50, 140), (2, 1, 0, 40)]


def test_modules_go_by_their_path(tmp_path):
    events = [
        *steps(900, 900),
        module("Net_0", 10, 300),
        module("Linear_0", 20, 100),
        operator("aten::mm", 30, 80),
        runtime("cudaLaunchKernel", 40, 10, 1),
        kernel("gemm", 500, 70, 1),
        module("Net_0", 1010, 300),
        *kernel_of_next_step(),
    ]
    process_anatomy = anatomy(tmp_path / "trace.json", events)
    assert rows(process_anatomy, "Net_0") == [(1, 1, 70, 300), (2, 1, 0, 300)]
    assert rows(process_anatomy, "Net_0.Linear_0") == [(1, 1, 70, 100)]
    assert set(process_anatomy.calls.filter(kind="operator")["name"]) == {"aten::mm"}


def test_the_backward_pass_counts_for_the_modules_of_its_forward_call(tmp_path):
    backward = operator("autograd::engine::evaluate_function: MmBackward0", 400, 90)
    backward["args"] = {"Sequence number": 7, "Fwd thread id": 1}
    forward = operator("aten::mm", 30, 50)
    forward["args"] = {"Sequence number": 7}
    events = [
        *steps(900, 900),
        module("Net_0", 10, 300),
        module("Linear_0", 20, 100),
        forward,
        backward,
        runtime("cudaLaunchKernel", 410, 10, 1),
        kernel("gemm", 600, 70, 1),
        operator("aten::add", 1010, 10),
    ]
    process_anatomy = anatomy(tmp_path / "trace.json", events)
    assert rows(process_anatomy, "Net_0.Linear_0") == [(1, 1, 70, 190)]
    assert rows(process_anatomy, "Net_0") == [(1, 1, 70, 390)]


def test_calls_of_other_cycles_go_with_them(tmp_path):
    events = [*steps(900, 900), operator("aten::mm", 10, 5), operator("aten::mm", 1010, 5)]
    process_anatomy = anatomy(tmp_path / "trace.json", events)
    assert rows(only_cycles(process_anatomy, [2]), "aten::mm") == [(2, 1, 0, 5)]
