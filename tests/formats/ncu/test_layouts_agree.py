"""Every layout, unit, locale and order gives the same table."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from ncu_files import (
    DECIMALS,
    LOCALES,
    METRICS,
    Call,
    details_csv,
    expected_calls,
    expected_metrics,
    raw_csv,
    text_page,
)
from timesink.formats.source_file import read_trace
from timesink.model.trace import Trace

NAME = st.text(
    st.characters(min_codepoint=33, max_codepoint=0x2FF, exclude_categories=("C", "Z")), min_size=1
)
NAMES = st.lists(NAME, min_size=1, max_size=6).map(" ".join)
MISSING = st.sampled_from([None, "n/a", "nan", "N/A", "-", "-nan"])
PERCENT = st.decimals(0, 120, places=2).map(float) | MISSING
SIZE = st.integers(1, 2**31 - 1)
SHAPE = st.tuples(SIZE, SIZE, SIZE)
BYTES = st.integers(0, 10**15).map(lambda number: (number, "byte"))

CALLS = st.builds(
    Call,
    name=NAMES,
    dur_ns=st.integers(0, 10**13) | MISSING,
    tensor_pct=PERCENT,
    dram_pct=PERCENT,
    sm_pct=PERCENT,
    occupancy_pct=PERCENT,
    pid=st.sampled_from(["7", "100", "2513"]),
    device=st.integers(0, 3),
    host=st.sampled_from(["127.0.0.1", "node-2"]),
    stream=st.sampled_from(["7", "13"]),
    grid=SHAPE,
    block=SHAPE,
    metrics=st.fixed_dictionaries({"dram__bytes.sum": BYTES}),
)
RUNS = st.lists(CALLS, min_size=1, max_size=6).map(
    # One value that can be read in one way only says which locale it is.
    lambda calls: [*calls, Call("last", 72_370, tensor_pct=72.37, dram_pct=0.5)]
)
LINE = st.text(st.characters(exclude_categories=("C", "Z")) | st.sampled_from(' ",'), max_size=40)
NOISE = LINE.map(lambda text: f"> {text}")
UNITS = st.sampled_from(sorted(DECIMALS))
LOCALE = st.sampled_from(LOCALES)


def read(text: str, ending: str = "\n", *, marked: bool = False) -> Trace:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "calls.out"
        content = text.replace("\n", ending).encode("utf-8-sig" if marked else "utf-8")
        path.write_bytes(content)
        return read_trace(path)


def metrics_of(trace: Trace) -> pl.DataFrame:
    return trace.kernel_metrics.sort("index", pl.col("metric").cast(pl.String))


@given(
    calls=RUNS,
    unit=UNITS,
    locale=LOCALE,
    order=st.permutations(sorted(METRICS)),
    noise=st.dictionaries(st.integers(0, 12), NOISE, max_size=3),
    around=st.lists(NOISE, max_size=3),
    quote=st.sampled_from(['"', ""]),
    ending=st.sampled_from(["\n", "\r\n"]),
    marked=st.booleans(),
)
def test_details(*, calls, unit, locale, order, noise, around, quote, ending, marked) -> None:
    text = details_csv(
        calls, time_unit=unit, locale=locale, order=order, before=around, between=noise,
        after=around, quote=quote,
    )  # fmt: skip
    trace = read(text, ending, marked=marked)
    assert_frame_equal(trace.kernel_calls, expected_calls(calls), check_exact=True)
    assert_frame_equal(metrics_of(trace), expected_metrics(calls), check_exact=True)


@given(calls=RUNS, unit=UNITS, locale=LOCALE, around=st.lists(NOISE, max_size=3))
@settings(max_examples=5)
def test_raw(calls, unit, locale, around) -> None:
    trace = read(raw_csv(calls, time_unit=unit, locale=locale, before=around, after=around))
    assert_frame_equal(trace.kernel_calls, expected_calls(calls), check_exact=True)
    assert_frame_equal(metrics_of(trace), expected_metrics(calls), check_exact=True)


@given(calls=RUNS, unit=UNITS, locale=LOCALE, around=st.lists(NOISE, max_size=3))
@settings(max_examples=5)
def test_text(calls, unit, locale, around) -> None:
    trace = read(text_page(calls, time_unit=unit, locale=locale, before=around, after=around))
    assert_frame_equal(trace.kernel_calls, expected_calls(calls, with_ids=False), check_exact=True)
    assert_frame_equal(metrics_of(trace), expected_metrics(calls), check_exact=True)


@given(calls=RUNS)
@settings(max_examples=3)
def test_labels(calls) -> None:
    """The details page names its metrics for people."""
    for write in (details_csv, text_page):
        trace = read(write(calls, labels=True))
        expected = expected_calls(calls, with_ids=write is details_csv)
        assert_frame_equal(trace.kernel_calls, expected, check_exact=True)


def test_shapes_of_older_versions() -> None:
    """The time takes the place of the shape; metrics may still tell it."""
    page = text_page([Call("add(int *)", 5_984, grid=(4, 5, 6), metrics={
        "launch__grid_dim_x": (4, ""), "launch__grid_dim_y": (5, ""), "launch__grid_dim_z": (6, ""),
    })])  # fmt: skip
    shape = " (4, 5, 6)x(128, 1, 1), Context 1, Stream 7, Device 0, CC 9.0"
    assert shape in page
    trace = read(page.replace(shape, ", 2021-Mar-29 21:11:57, Context 1, Stream 7"))
    call = trace.kernel_calls.row(0, named=True)
    assert (call["name"], call["dur_ns"], call["device"]) == ("add(int *)", 5_984, None)
    assert [call[f"grid_{axis}"] for axis in "xyz"] == [4, 5, 6]
    assert call["block_x"] is None


def test_a_call_of_each_layout_is_the_same() -> None:
    call = Call("gemm", 26_336, tensor_pct=72.37, dram_pct=3.5, sm_pct=100.4, occupancy_pct=12.25)
    other = replace(call, name="copy", dur_ns=5_984)
    tables = [
        read(write([call, other])).kernel_calls.drop("launch_id")
        for write in (details_csv, raw_csv, text_page)
    ]
    assert all(table.equals(tables[0]) for table in tables)
