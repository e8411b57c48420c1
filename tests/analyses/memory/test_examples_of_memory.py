"""Small examples of what analyses.memory computes."""

from __future__ import annotations

import numpy as np
import polars as pl

import timesink
from timesink.analyses.memory_blocks import (
    live_at_peak,
    memory_blocks,
    memory_by_operator,
    memory_events,
    memory_outside_operators,
    record_nodes,
    record_operators,
)
from timesink.analyses.memory_curve import (
    as_steps,
    default_device,
    in_window,
    largest_triangles,
    memory_capacities,
    memory_curve,
    memory_device,
    memory_device_names,
    memory_peaks,
    memory_records,
    peak_records,
    recording_start,
    thin_curve,
)


def test_recording_start() -> None:
    trace = timesink.open(timesink.sample())
    assert recording_start(trace) <= trace.memory["ts_ns"].min()


def test_memory_curve() -> None:
    curve = memory_curve(timesink.open(timesink.sample()))
    assert curve.columns == ["device", "ts_ns", "allocated_bytes", "reserved_bytes", "source"]


def test_peak_records() -> None:
    assert list(peak_records(timesink.open(timesink.sample()))) == ["CPU", "GPU0"]


def test_as_steps() -> None:
    curve = pl.DataFrame({"device": ["GPU0"] * 2, "ts_ns": [5, 9], "allocated_bytes": [1, 3]})
    assert as_steps(curve).select("ts_ns", "allocated_bytes").rows() == [(5, 1), (9, 1), (9, 3)]


def test_thin_curve() -> None:
    curve = memory_curve(timesink.open(timesink.sample()))
    thin = thin_curve(curve, 5)
    assert thin["allocated_bytes"].max() == curve["allocated_bytes"].max()


def test_memory_peaks() -> None:
    peaks = memory_peaks(timesink.open(timesink.sample()))
    assert bool((peaks["peak_reserved_bytes"] >= peaks["reserved_at_peak_bytes"]).all())


def test_memory_device() -> None:
    assert (
        memory_device(0, -1, "GPU"),
        memory_device(1, 3, "GPU"),
        memory_device(20, 0, "MLU"),
    ) == ("CPU", "GPU3", "MLU0")
    assert memory_device(7, 0, "GPU") == "type 7:0"


def test_memory_records() -> None:
    assert memory_records(timesink.open(timesink.sample()))["device"].unique().to_list() == [
        "CPU",
        "GPU0",
    ]


def test_within() -> None:
    times = pl.DataFrame({"ts_ns": [1, 2, None, 4]})
    assert times.filter(in_window(pl.col("ts_ns"), 2, None)).to_series().to_list() == [2, 4]


def test_memory_device_names() -> None:
    assert memory_device_names(timesink.open(timesink.sample())) == ["CPU", "GPU0"]


def test_default_device() -> None:
    assert (default_device(["CPU", "GPU1", "GPU3"]), default_device(["CPU"])) == ("GPU1", "CPU")


def test_memory_capacities() -> None:
    assert list(memory_capacities(timesink.open(timesink.sample()))) == ["GPU0"]


def test_memory_blocks() -> None:
    blocks = memory_blocks(timesink.open(timesink.sample()))
    assert bool((blocks.taken[blocks.released >= 0] < blocks.released[blocks.released >= 0]).all())


def test_memory_events() -> None:
    events = memory_events(timesink.open(timesink.sample()))
    assert bool((events["duration_ns"].drop_nulls() >= 0).all())


def test_live_at_peak() -> None:
    assert live_at_peak(timesink.open(timesink.sample())).columns == [
        "device",
        "category",
        "operator",
        "module",
        "blocks",
        "bytes",
    ]


def test_record_nodes() -> None:
    trace = timesink.open(timesink.sample())
    assert len(record_nodes(trace)) == trace.memory.height


def test_record_operators() -> None:
    trace = timesink.open(timesink.sample())
    assert bool((record_operators(trace) <= record_nodes(trace)).all())


def test_memory_by_operator() -> None:
    table = memory_by_operator(timesink.open(timesink.sample()))
    assert bool((table["allocation_bytes"] >= table["self_allocation_bytes"]).all())


def test_memory_outside_operators() -> None:
    assert memory_outside_operators(timesink.open(timesink.sample())).columns == [
        "device",
        "records",
        "size_increase_bytes",
        "allocation_count",
        "allocation_bytes",
    ]


def test_largest_triangles() -> None:
    x = np.arange(9.0)
    assert largest_triangles(x, np.array([0.0, 0, 9, 0, 0, 0, 0, -5, 0]), 4).tolist() == [
        0,
        2,
        7,
        8,
    ]
