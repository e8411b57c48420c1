"""Anomalies of recorded runs with known faults, and of runs without one."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from recorded_roles import recorded_roles as roles
from timesink.comparison.causes.machine import find_anomalies
from timesink.comparison.results import Process
from timesink.comparison.steps.sides import anatomy_of_role
from timesink.comparison.steps.verdict import compare_roles, cycle_change

FIRST = {
    "gpu_clock": "gpu_clock",
    "cpu_squeeze": "cpu_contention",
    "gpu_contention": "gpu_contention",
    "hbm_saturation": "hbm_contention",
    "pcie_saturation": "pcie_contention",
}


def causes(base: Process, new: Process, kind: str = "strict") -> list[str]:
    pair = compare_roles(base, new, kind)
    pair = pair.equal_work or pair
    sides = (anatomy_of_role(side) for side in (pair.base, pair.new))
    return [anomaly.id for anomaly in find_anomalies(pair, *sides)[0]]


@pytest.mark.parametrize("fault", ["gpu_clock", "cpu_squeeze"])
def test_each_fault_comes_first_against_another_healthy_run(shared_root: Path, fault: str):
    """Against the run that was recorded for it, test_diagnosis_acceptance looks."""
    runs = shared_root / "data/h200/faults"
    assert causes(roles(runs / "normal_b")[0], roles(runs / fault)[0])[:1] == [FIRST[fault]]


UNEVEN = (1.5, 1.55, 1.6, 1.7, 1.9, 2.1, 2.2, 2.3, 2.3)
"""How many times as long the cycles of a crowded host take, one after the other."""


def crowd_host(role: Process) -> Process:
    """A healthy run as it is beside programs that take half of all cores.

    Threads wait 2.4 times as long for one; the clock goes down as more cores are busy.
    """
    rows = role.behaviour.filter(pl.col("cycle") <= len(UNEVEN))
    longer = pl.Series(UNEVEN).gather(rows["cycle"] - 1)
    kind = pl.col("function_class").cast(pl.String)
    grows = pl.when(kind == "runq").then(2.4).when(pl.col("device") == "Host").then(longer)
    metric = pl.col("metric").cast(pl.String)
    slower = pl.when(metric == "cpu_frequency").then(0.88 * pl.col("mu")).otherwise("mu")
    changed = rows.with_columns(
        (pl.col("cycle_dur_ns") * longer).cast(pl.Int64),
        (pl.col("dur_ns") * grows.otherwise(1.0)).cast(pl.Int64),
        (pl.col("cycle_ts_ns") * 2).cast(pl.Int64),
        mu=pl.when(metric == "host_cpu_usage").then(51 + pl.col("mu")).otherwise(slower),
    )
    return Process("crowded", "crowded.csv", role.pid, changed)


def test_programs_that_take_half_the_cores_come_before_the_clock_they_lower(shared_root: Path):
    folder = shared_root / "data/latencyprism/SGLang/cpu_frequency_reduction/normal_perf_data"
    healthy = roles(folder / "result_perf_data.csv.gz")[0]
    new = crowd_host(healthy)
    assert causes(healthy, new) == ["cpu_contention", "cpu_clock"]
    times = compare_roles(healthy, new, "strict").cycle_times
    assert cycle_change(times) == "longer"
    assert times.interval_ns is not None
    assert times.interval_ns[1] < 1.5 * times.base_mean_ns
