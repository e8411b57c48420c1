"""The pages as text."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from ncu_files import CLOCKS_WARNING, Call, expected_calls, text_page
from timesink.formats.ncu import numbers as lines
from timesink.formats.ncu import pages as module

CALLS = [
    Call("void gemm<float, (int)4>(T1 *, T2)", 26_336, tensor_pct=72.37, grid=(3, 80, 1)),
    Call("copy", 2_970_000, dram_pct=10.97, pid="7", device=2, compute_capability="8.0"),
]
FULL = """\
[1835] python3.12@127.0.0.1
  void reduce<512, 1>(T1 *) (30, 4, 1)x(384, 1, 1), Context 1, Stream 7, Device 0, CC 9.0
    Warning: Data collection happened without fixed GPU frequencies. Results may be inconsistent.
    Section: GPU Speed Of Light Throughput
    ----------------------- ----------- ------------
    Metric Name             Metric Unit Metric Value
    ----------------------- ----------- ------------
    DRAM Frequency                  Ghz         3.20
    Memory Throughput                 %        32.10
    DRAM Throughput                   %         7.41
    Duration                         us        25.15
    Compute (SM) Throughput           %        23.42
    ----------------------- ----------- ------------

    OPT   This kernel grid is too small to fill the available resources, resulting in only 0.9 full
          waves across all SMs. Look at Launch Statistics for more details.
    ----- -----------------------------------------------------------------------------------------
    INF   The ratio of peak float (FP32) to double (FP64) performance on this device is 2:1.

    Section: Launch Statistics
    -------------------------------- --------------- ---------------
    Metric Name                          Metric Unit    Metric Value
    -------------------------------- --------------- ---------------
    Cluster Scheduling Policy                           PolicySpread
    Registers Per Thread             register/thread             168
    Memory Throughput                        Gbyte/s          356.16
    -------------------------------- --------------- ---------------
    Section: Occupancy
    ------------------------------- ----------- ------------
    Achieved Occupancy                        %        17.87
    ------------------------------- ----------- ------------

  copy (1, 1, 1)x(128, 1, 1), Context 1, Stream 13, Device 0, CC 9.0
    Section: GPU Speed Of Light Throughput
    ----------------------- ----------- ------------
    Metric Name             Metric Unit Metric Value
    ----------------------- ----------- ------------
    Duration                         ms         1.50
    ----------------------- ----------- ------------
"""
RAW = """\
[2513] python3.12@127.0.0.1
  gemm (8, 1, 1)x(256, 1, 1), Context 1, Stream 7, Device 0, CC 9.0
  Metric Name                                 Metric Unit         Metric Value
  --------------------------------------- --------------- --------------------
  device__attribute_display_name                                   NVIDIA H200
  device__attribute_multiprocessor_count                                   132
  gpu__time_duration.sum                               us             5.984000
  launch__grid_size                                                      1,056

  copy (8, 1, 1)x(256, 1, 1), Context 1, Stream 7, Device 0, CC 9.0
  Metric Name                                 Metric Unit         Metric Value
  --------------------------------------- --------------- --------------------
  gpu__time_duration.sum                               us             2.400000
"""


def test_a_line_of_another_layout_ends_a_table(read) -> None:
    """Where the end of a table is lost, the next launch is not taken for a row of it."""
    cut = FULL.index("    Compute (SM) Throughput")
    trace = read(FULL[:cut] + FULL[FULL.index("  copy (1, 1, 1)") :])
    assert trace.kernel_calls["name"].to_list() == ["void reduce<512, 1>(T1 *)", "copy"]


def test_blocks(read) -> None:
    trace = read(text_page(CALLS))
    assert trace.kernel_calls.equals(expected_calls(CALLS, with_ids=False))
    assert trace.metadata.extra["layout"] == "text"
    assert [(device.id, device.compute_capability) for device in trace.metadata.devices] == [
        (0, "9.0"),
        (2, "8.0"),
    ]
    assert trace.health == ()


def test_the_log_before_and_after(read) -> None:
    before = [CLOCKS_WARNING, "==PROF== Connected to process 7 (/a b)", "Avg latency: 1701.56 ms"]
    trace = read(text_page(CALLS, before=before, after=["==ERROR== failed", "bye"]))
    assert trace.kernel_calls.height == 2
    assert {entry.code: entry.count for entry in trace.health} == {
        "profiler_error": 1,
        "uncontrolled_clocks": 1,
        "log_lines": 2,
    }


def test_sections_with_advice(read) -> None:
    trace = read(FULL)
    assert trace.kernel_calls.select(
        "name", "dur_ns", "dram_pct", "sm_pct", "occupancy_pct", "stream"
    ).rows() == [
        ("void reduce<512, 1>(T1 *)", 25_150, 7.41, 23.42, 17.87, "7"),
        ("copy", 1_500_000, None, None, None, "13"),
    ]
    assert trace.kernel_metrics.rows() == [
        (0, "DRAM Frequency", 3.2e9, "hz"),
        (0, "Memory Throughput", 32.1, "%"),
        (0, "Registers Per Thread", 168.0, "register/thread"),
        (0, "Memory Throughput", 356.16e9, "byte/s"),
    ]
    assert {entry.code for entry in trace.health} == {
        "uncontrolled_clocks",
        "missing_metric",
        "text_metrics",
    }


def test_the_raw_page(read) -> None:
    trace = read(RAW)
    assert trace.kernel_calls["dur_ns"].to_list() == [5_984, 2_400]
    assert trace.kernel_metrics.rows() == [(0, "launch__grid_size", 1056.0, "")]
    (device,) = trace.metadata.devices
    assert (device.name, device.multiprocessors) == ("NVIDIA H200", 132)


def test_the_same_kernel_twice_is_two_launches(read) -> None:
    assert read(text_page([CALLS[0], CALLS[0]])).kernel_calls.height == 2


@pytest.mark.parametrize("size", [1, 100, 1000])
def test_stretches_of_any_size(read, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    full_trace = read(FULL)
    monkeypatch.setattr(module, "stretches", partial(_small, size=size))
    small = read(FULL)
    assert small.kernel_calls.equals(full_trace.kernel_calls)
    assert small.kernel_metrics.equals(full_trace.kernel_metrics)


def _small(blocks: Any, size: int) -> Any:
    return lines.stretches((bytes([letter]) for block in blocks for letter in block), size)
