"""The raw page as CSV: one column per metric."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from ncu_files import DURATION, Call, details_csv, expected_calls, expected_metrics, raw_csv
from timesink.formats.ncu import numbers as lines
from timesink.formats.ncu import pages as csv_pages

CALLS = [
    Call("gemm", 26_336, tensor_pct=72.37, metrics={"dram__bytes.sum": (4096, "byte")}),
    Call("copy", 5_984, dram_pct=88.25, metrics={"dram__bytes.sum": (8, "byte")}),
    Call("reduce", None, pid="7", device=1, metrics={"dram__bytes.sum": (0, "byte")}),
]


def test_rows(read) -> None:
    trace = read(raw_csv(CALLS))
    assert trace.kernel_calls.equals(expected_calls(CALLS))
    assert trace.kernel_metrics.equals(expected_metrics(CALLS))
    assert trace.metadata.extra["layout"] == "raw-csv"
    assert [(entry.code, entry.count) for entry in trace.health] == [("missing_metric", 1)]


def test_the_machine_is_described_once(read) -> None:
    trace = read(raw_csv(CALLS))
    first, second = trace.metadata.devices
    assert (first.id, second.id, first.name, second.name) == (0, 1, "NVIDIA H200", "NVIDIA H200")
    assert (first.multiprocessors, first.memory_bytes) == (132, 150_109_880_320)
    assert first.properties["fb_bus_width"] == 6016
    assert first.properties["clock_rate"] == 1_980_000
    assert "passes" not in " ".join(first.properties)


def test_the_capability_may_be_an_attribute(read) -> None:
    text = raw_csv(CALLS[:1])
    header, units, row = (line.split('","') for line in text.splitlines())
    place = header.index("CC")
    without = ['","'.join(line[:place] + line[place + 1 :]) for line in (header, units, row)]
    trace = read("\n".join(without) + "\n")
    assert trace.metadata.devices[0].compute_capability == "9.0"


def test_base_units(read) -> None:
    trace = read(raw_csv(CALLS, time_unit="ns"))
    assert trace.kernel_calls.equals(expected_calls(CALLS))


def test_without_the_row_of_units_durations_are_unknown(read) -> None:
    header, _, *rows = raw_csv(CALLS).splitlines()
    trace = read("\n".join([header, *rows]) + "\n")
    assert trace.kernel_calls["dur_ns"].null_count() == 3
    assert trace.kernel_calls["tensor_pct"].to_list() == [72.37, 0.0, 0.0]
    assert DURATION in trace.kernel_metrics["metric"].to_list()


def test_lines_of_the_program(read) -> None:
    header, units, *rows = raw_csv(CALLS).splitlines()
    text = "\n".join(["hello", header, "loss 0,5", units, rows[0], '"a", "b"', *rows[1:], "bye"])
    trace = read(text + "\n")
    assert trace.kernel_calls.equals(expected_calls(CALLS))
    assert [entry.count for entry in trace.health if entry.code == "log_lines"] == [4]


def test_a_row_that_comes_twice(read) -> None:
    header, units, *rows = raw_csv(CALLS[:2]).splitlines()
    trace = read("\n".join([header, units, *rows, rows[0]]) + "\n")
    assert trace.kernel_calls.equals(expected_calls(CALLS[:2]))
    assert [entry.code for entry in trace.health] == ["repeated_rows"]


def test_a_cut_last_row(read) -> None:
    trace = read(raw_csv(CALLS[:2])[:-30])
    assert trace.kernel_calls["name"].to_list() == ["gemm"]
    assert [entry.code for entry in trace.health] == ["cut_line"]


def test_details_behind_a_raw_page(read) -> None:
    trace = read(raw_csv(CALLS) + details_csv(CALLS, before=()))
    assert trace.kernel_calls["dur_ns"].to_list() == [26_336, 5_984, None] * 2
    assert trace.metadata.extra["layout"] == "raw-csv"


@pytest.mark.parametrize("size", [1, 700])
def test_stretches_of_any_size(read, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    calls = [replace(call, dur_ns=number) for number in range(2) for call in CALLS]
    full_trace = read(raw_csv(calls))
    monkeypatch.setattr(csv_pages, "stretches", partial(_small, size=size))
    small = read(raw_csv(calls))
    assert small.kernel_calls.equals(full_trace.kernel_calls)
    assert small.kernel_metrics.equals(full_trace.kernel_metrics)


def _small(blocks: Any, size: int) -> Any:
    cut = (block[at : at + 7] for block in blocks for at in range(0, len(block), 7))
    return lines.stretches(cut, size)
