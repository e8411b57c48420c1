"""How long a collective took is how long its kernels ran, not the host call that announces them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import timesink
from builders import step
from cases import K, O, read
from timesink.analyses.communication_calls import communication_records
from timesink.analyses.communication_workers import compare_workers, summarise_worker


def test_short_broadcasts_take_as_long_as_their_kernels(shared_root: Path):
    trace = timesink.open(shared_root / "data/hta/nccl_parser_config/nccl_data.json.gz")
    named = pl.col("name").cast(pl.String).str.contains("Broadcast")
    kernels = int(trace.device.filter(named)["dur_ns"].sum())
    assert kernels == pytest.approx(114_334, abs=1)
    records = communication_records(trace).filter(collective="broadcast")
    assert records["dur_ns"].sum() == kernels
    by_name = compare_workers({"rank0": summarise_worker(trace)}).by_name
    row = by_name.filter(collective="broadcast").row(0, named=True)
    assert row["duration_ns"] == kernels
    assert row["bus_bytes_per_s"] == pytest.approx(row["size_bytes"] / kernels * 1e9)


def test_calls_without_recorded_kernels_have_no_duration_and_no_bandwidth():
    trace = read(step(1, 0, 1000), O("nccl:all_reduce", 0, 500), K("k", 600, 100))
    assert communication_records(trace)["dur_ns"].to_list() == [None]
    row = compare_workers({"rank0": summarise_worker(trace)}).by_name.row(0, named=True)
    assert (row["duration_ns"], row["bus_bytes_per_s"]) == (None, None)


def test_the_host_call_of_a_library_that_moves_data_itself_is_its_duration():
    trace = read(step(1, 0, 1000), O("gloo:all_reduce", 100, 500))
    assert communication_records(trace)["dur_ns"].to_list() == [500_000]
