"""Memory over time: totals or sums, steps, thinning, peaks."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import timesink
from builders import Event
from cases import ALLOC, STEP, O, read
from timesink.analyses.memory_curve import (
    as_steps,
    memory_curve,
    memory_peaks,
    memory_records,
    recording_start,
    thin_curve,
)
from timesink.model.trace import Trace

US = 1000


def without_totals(record: Event, *more: str) -> Event:
    """As PyTorch before 1.10 wrote it."""
    left_out = {"Addr", "Total Allocated", "Total Reserved", *more}
    return record | {"args": {k: v for k, v in record["args"].items() if k not in left_out}}


def line(trace: Trace, device: str = "GPU0") -> list[tuple[int, int | None]]:
    curve = memory_curve(trace).filter(pl.col("device") == device)
    return curve.select("allocated_bytes", "reserved_bytes").rows()


# -- where the numbers come from -------------------------------------------------------------------


def test_totals_as_recorded():
    trace = read(ALLOC(10, 8, device=0, total=108), ALLOC(20, -8, device=0, total=100))
    assert line(trace) == [(108, 216), (100, 200)]
    assert memory_curve(trace)["source"].to_list() == ["recorded", "recorded"]


def test_totals_need_no_address():
    record = ALLOC(10, 8, device=0, total=108)
    record["args"].pop("Addr")
    assert line(read(record)) == [(108, 216)]


def test_sums_where_there_are_no_totals():
    moves = [(10, 8), (20, 4), (30, -8)]
    trace = read(*(without_totals(ALLOC(ts, size, device=0)) for ts, size in moves))
    assert line(trace) == [(8, None), (12, None), (4, None)]
    assert memory_curve(trace)["source"].unique().to_list() == ["summed"]


def test_sums_allow_for_what_was_there_before():
    moves = [(10, 8), (20, -30), (30, 4)]
    trace = read(*(without_totals(ALLOC(ts, size, device=0)) for ts, size in moves))
    assert line(trace) == [(30, None), (0, None), (4, None)]


def test_devices_are_judged_one_by_one():
    trace = read(without_totals(ALLOC(10, 8)), ALLOC(20, 8, device=0, total=50))
    assert memory_curve(trace).select("device", "allocated_bytes", "source").rows() == [
        ("CPU", 8, "summed"),
        ("GPU0", 50, "recorded"),
    ]


def test_recording_starts_with_its_first_event():
    assert recording_start(read(ALLOC(30, 8), ALLOC(40, 8))) == 30 * US
    assert recording_start(read(O("aten::mm", 20, 5), ALLOC(30, 8))) == 20 * US


# -- drawing ---------------------------------------------------------------------------------------


@pytest.fixture
def spikes() -> Trace:
    """A saw, with one spike each of allocated and of reserved memory between its teeth."""
    records = [ALLOC(10 * place, 1, device=0, total=100 + place % 7) for place in range(2000)]
    records[777]["args"]["Total Allocated"] = 5000
    records[778]["args"]["Total Reserved"] = 9000
    return read(*records, *(ALLOC(ts, 1, total=ts) for ts in (1, 2, 3)))


def test_steps_hold_each_value_until_the_next():
    trace = read(*(ALLOC(ts, 1, total=total) for ts, total in ((5, 10), (9, 30), (12, 20))))
    steps = as_steps(memory_curve(trace)).select(pl.col("ts_ns") // US, "allocated_bytes")
    assert steps.rows() == [(5, 10), (9, 10), (9, 30), (12, 30), (12, 20)]


@pytest.mark.parametrize("points", [4, 5, 50, 1999])
def test_thinning_keeps_the_peaks_and_both_ends(spikes: Trace, points: int):
    full_curve = memory_curve(spikes).filter(pl.col("device") == "GPU0")
    thin = thin_curve(memory_curve(spikes), points).filter(pl.col("device") == "GPU0")
    assert thin.height == points
    assert thin["ts_ns"].is_sorted()
    for name, peak in (("allocated_bytes", 5000), ("reserved_bytes", 9000)):
        at_peak = pl.col(name) == peak
        assert (
            thin.filter(at_peak)["ts_ns"].to_list() == full_curve.filter(at_peak)["ts_ns"].to_list()
        )
    assert thin["ts_ns"].to_list()[:: points - 1] == full_curve["ts_ns"].to_list()[::1999]


def test_thinning_tells_how_many_points_there_were(spikes: Trace):
    thin = thin_curve(memory_curve(spikes), 50)
    counts = thin.group_by("device", maintain_order=True).agg(
        pl.len(), pl.col("points_before").max()
    )
    assert counts.rows() == [("CPU", 3, 3), ("GPU0", 50, 2000)]


# -- peaks -----------------------------------------------------------------------------------------


def test_peak_with_its_step_spare_memory_and_capacity():
    reserved_later = ALLOC(260, 1, device=0, total=30)
    reserved_later["args"]["Total Reserved"] = 500
    trace = read(
        STEP(3, 0, 100),
        STEP(4, 100, 100),
        ALLOC(50, 8, device=0, total=40),
        ALLOC(150, 8, device=0, total=90),
        reserved_later,
        deviceProperties=[{"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 1000}],
    )
    assert memory_peaks(trace).to_dicts() == [
        {
            "device": "GPU0",
            "source": "recorded",
            "peak_allocated_bytes": 90,
            "peak_allocated_ts_ns": 150 * US,
            "peak_step": "4",
            "reserved_at_peak_bytes": 180,
            "fragmentation_bytes": 90,
            "peak_reserved_bytes": 500,
            "peak_reserved_ts_ns": 260 * US,
            "capacity_bytes": 1000,
        }
    ]


def test_fragmentation_is_unknown_without_reserved_memory():
    peaks = memory_peaks(read(without_totals(ALLOC(10, 8, device=0))))
    assert peaks["fragmentation_bytes"].to_list() == [None]
    assert peaks["peak_reserved_bytes"].to_list() == [None]


def test_nothing_recorded():
    trace = read(O("aten::mm", 0, 10))
    assert memory_curve(trace).is_empty()
    assert memory_peaks(trace).is_empty()
    assert thin_curve(as_steps(memory_curve(trace))).is_empty()


def test_recorded_totals_are_sums_and_what_was_there_before(shared_root: Path):
    path = shared_root / "data" / "tracelens" / "h100" / "timesformer.json.gz"
    trace = timesink.open(path)
    records = memory_records(trace).select("device", sums=pl.col("bytes").cum_sum().over("device"))
    curve = memory_curve(trace).hstack([records.sort("device", maintain_order=True)["sums"]])
    before = (pl.col("allocated_bytes") - pl.col("sums")).n_unique()
    assert curve.group_by("device").agg(before).sort("device").rows() == [("CPU", 1), ("GPU0", 1)]
