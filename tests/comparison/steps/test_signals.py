"""What one run tells exactly: its program, launches, waits, bytes and memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from builders import annotation, kernel, kineto, memcpy, memory, operator, runtime, write
from recorded_roles import roles_of
from timesink.comparison.gate.baseline_store import save_baseline
from timesink.comparison.reading import processes_of
from timesink.comparison.signals import SIGNALS, Signals, signals_of


def write_run(path: Path, cycles: Sequence[Any], more: Sequence[Any] = ()) -> Path:
    """Cycles of 1 ms, each with a kernel of 80 us and what is said to come after it."""
    events = list(more)
    for number, cycle_calls in enumerate(cycles):
        at, link = 1000.0 * number, 100 * number + 1
        events += [
            annotation("decode_step", at, 900),
            operator("aten::mm", at + 10, 60),
            runtime("cudaLaunchKernel", at + 15, 20, link),
            kernel("gemm", at + 40, 80, link),
            *cycle_calls(at + 200, link + 1),
        ]
    return write(path, kineto(events))


def no_calls(_at: float, _link: int) -> list[Any]:
    return []


def item(at: float, link: int) -> list[Any]:
    """What `.item()` does."""
    return [
        operator("aten::item", at, 60),
        runtime("cudaMemcpyAsync", at + 5, 10, link),
        memcpy("Memcpy DtoH (Device -> Pinned)", at + 10, 2, link, bytes=4),
        runtime("cudaStreamSynchronize", at + 20, 10, 0),
    ]


def blocking_copy(at: float, link: int) -> list[Any]:
    return [
        runtime("cudaMemcpy", at, 50, link),
        memcpy("Memcpy DtoH (Device -> Pageable)", at + 10, 2, link, bytes=4096),
    ]


def graph(at: float, link: int) -> list[Any]:
    """Three kernels that one call replays."""
    return [
        runtime("cudaGraphLaunch", at, 20, link),
        *(kernel(f"fused_{place}", at + 30 + 10 * place, 5, link) for place in range(3)),
    ]


def path_signals(path: Path) -> Signals:
    (role,) = roles_of(path)
    return signals_of(role)


@pytest.mark.parametrize(
    ("cycle_calls", "launches", "syncs", "copied"),
    [(no_calls, 1, 0, 0), (item, 2, 1, 4), (blocking_copy, 2, 1, 4096), (graph, 2, 0, 0)],
)
def test_counts_per_cycle(tmp_path: Path, cycle_calls: Any, launches: int, syncs: int, copied: int):
    signals = path_signals(write_run(tmp_path / "run.json", [cycle_calls] * 6))
    assert (signals.launches, signals.syncs, signals.copied_bytes) == (launches, syncs, copied)
    assert signals.ranges["launches"] == (launches, launches)


def test_the_middle_of_cycles_that_differ_and_their_range(tmp_path: Path):
    signals = path_signals(write_run(tmp_path / "run.json", [no_calls, item, no_calls] * 4))
    assert signals.syncs == 0
    assert signals.ranges["syncs"] == (0, 1)


def test_peak_memory_is_that_of_the_device_and_kept_in_baselines(tmp_path: Path):
    on_host = memory(50, 9000, address=2, device=-1, total=9000)
    on_host["args"]["Device Type"] = 0
    records = [memory(30, 100, total=5000), memory(40, -100, total=4900), on_host]
    path = write_run(tmp_path / "run.json", [item] * 5, records)
    assert path_signals(path).peak_memory_bytes == 5000
    baseline = save_baseline("main", path, store=tmp_path / "store")
    (member,) = processes_of(baseline.runs)
    assert signals_of(member) == path_signals(path)


def test_what_was_not_recorded_is_not_known(tmp_path: Path):
    marks = [
        event
        for number in range(6)
        for event in (
            annotation("decode_step", 1000.0 * number, 900),
            operator("aten::mm", 1000.0 * number + 10, 60),
        )
    ]
    signals = path_signals(write(tmp_path / "host.json", kineto(marks)))
    assert (signals.launches, signals.syncs, signals.device_ns, signals.peak_memory_bytes) == (
        None,
    ) * 4
    assert signals.cycle_ns == 900_000
    assert set(SIGNALS) <= {*Signals.__struct_fields__}
