"""The fixed-width table of kernels."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncu_files import Call, kernel_table
from timesink.formats import kernel_table as module
from timesink.formats.source_file import read_trace

CALLS = [
    Call("vectorized_elementwise_kernel", 16_576, tensor_pct=33, dram_pct=29),
    Call("a" * 60, 4_224, tensor_pct=100, dram_pct=7),
]


def test_rows(tmp_path: Path) -> None:
    path = tmp_path / "table.txt"
    path.write_text(kernel_table(CALLS))
    trace = read_trace(path)
    assert trace.kernel_calls.select("name", "dur_ns", "tensor_pct", "dram_pct").rows() == [
        ("vectorized_elementwise_kernel", 16_576, 33.0, 29.0),
        ("a" * 47 + "...", 4_224, 100.0, 7.0),
    ]
    assert trace.kernel_calls["sm_pct"].null_count() == 2
    assert trace.kernel_calls["device"].null_count() == 2
    assert (trace.metadata.format, trace.metadata.events) == ("kernel-table", 2)
    assert trace.metadata.extra["layout"] == "table"
    assert trace.health == ()


def test_packed_and_with_other_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "table.txt.gz"
    path.write_bytes(gzip.compress(kernel_table(CALLS).replace("\n", "\r\n").encode("utf-8-sig")))
    assert read_trace(path).kernel_calls["dur_ns"].to_list() == [16_576, 4_224]


def test_lines_that_do_not_fit_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "table.txt"
    path.write_text(kernel_table(CALLS) + "\nhello\ngemm | soon 0.1 0.2\n")
    trace = read_trace(path)
    assert trace.kernel_calls.height == 2
    (entry,) = trace.health
    assert (entry.code, entry.count, entry.example) == ("bad_table_row", 2, "hello")


def test_missing_is_not_zero(tmp_path: Path) -> None:
    path = tmp_path / "table.txt"
    path.write_text(kernel_table(CALLS).replace("  0.33", "   n/a").replace("  0.07", "     -"))
    trace = read_trace(path)
    assert trace.kernel_calls["tensor_pct"].to_list() == [None, 100.0]
    assert trace.kernel_calls["dram_pct"].to_list() == [29.0, None]


@given(st.integers(0, 10_000))
def test_fractions_become_exact_percents(tmp_path_factory, hundredths: int) -> None:
    path = tmp_path_factory.getbasetemp() / "one.txt"
    path.write_text(kernel_table([Call("a", 1, tensor_pct=hundredths, dram_pct=0)]))
    assert read_trace(path).kernel_calls["tensor_pct"].to_list() == [float(hundredths)]


@pytest.mark.parametrize("text", ["Kernel Name,Latency\n", '"ID","Process ID"\n', "Kernel\n"])
def test_other_tables_are_not_taken(text: str) -> None:
    assert not module.sniff(text.encode(), "table.txt")


@pytest.mark.parametrize(
    ("name", "calls", "total"),
    [
        ("000_896f68ed3a7423fd", 990, 69_537_216),
        ("001_a62fcc25c90d6fd4", 971, 32_061_824),
        ("002_abc90e299168b04d", 560, 59_945_216),
    ],
)
def test_seeds(shared_root: Path, name: str, calls: int, total: int) -> None:
    table = read_trace(shared_root / "seeds" / f"{name}.txt").kernel_calls
    assert (table.height, table["dur_ns"].sum()) == (calls, total)
