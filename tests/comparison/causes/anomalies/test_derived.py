"""Counters that follow from traced calls and from bit masks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from behaviour_rows import table_of
from compared import pair_of
from shared_resources import Side, pair
from timesink.analyses.behaviour.anatomy import anatomy_of
from timesink.comparison.causes.machine import find_anomalies
from timesink.comparison.causes.resources import CounterReading, derived_readings
from timesink.comparison.results import Pair, Process
from timesink.comparison.steps.verdict import compare_roles
from timesink.model.schema import BEHAVIOUR
from timesink.rules.counter_names import resource_of

MS = 1_000_000


def role(*, on_cpu: float, waits: float, files: float = 20.0, cycle: float = 100.0) -> Process:
    """Twelve cycles of what the scheduler and the file system did, in ms."""
    rows = []
    for number in range(1, 13):
        usual: dict[str, Any] = {
            "cycle": number, "cycle_type": "generic", "pid": "7", "anchor": "step",
            "cycle_ts_ns": number * 1000 * MS, "cycle_dur_ns": int(cycle * MS) + number,
            "device": "Host", "interpolated": "none",
        }  # fmt: skip
        for name, sort, time, calls in (
            ("oncpu", "oncpu", on_cpu, 100),
            ("runq", "runq", waits, 100),
            ("write", "disk_read_and_write", files, 1000),
        ):
            rows.append(
                usual
                | {"function": name, "short_name": name, "function_class": sort, "calls": calls}
                | {"dur_ns": int(time * MS) + 7 * number, "beta_pct": 100 * time / cycle}
            )
    return Process("x", "x.csv", "7", table_of(rows))


def pair_of_roles(base: Process, new: Process) -> Pair:
    return compare_roles(base, new, "strict")


def causes(base: Process, new: Process) -> list[str]:
    both = pair_of_roles(base, new)
    anatomies = (anatomy_of(side.behaviour) for side in (both.base, both.new))
    return [anomaly.id for anomaly in find_anomalies(both, *anatomies)[0]]


HEALTHY = role(on_cpu=90, waits=5)


def test_scheduler_events_tell_how_long_threads_wait_for_a_core():
    waiting = role(on_cpu=90, waits=60, cycle=155)
    reading = derived_readings(pair_of_roles(HEALTHY, waiting), [])[0]
    assert reading.metric == "runq_wait_share"
    assert reading.base_mean == pytest.approx(100 * 5 / 95, rel=1e-3)
    assert reading.new_mean == pytest.approx(40, rel=1e-3)
    assert causes(HEALTHY, waiting) == ["cpu_contention"]


def test_reads_and_writes_that_take_longer_while_the_host_does_not():
    assert causes(HEALTHY, role(on_cpu=90, waits=5, files=80, cycle=160)) == ["disk_io"]


def test_reads_and_writes_on_a_slower_host_tell_nothing():
    assert causes(HEALTHY, role(on_cpu=270, waits=15, files=60, cycle=300)) == []


def test_the_same_run_is_the_same():
    assert causes(HEALTHY, HEALTHY) == []


@pytest.mark.parametrize(
    ("mask", "power", "heat"),
    [(0x0, 0, 0), (0x1, 0, 0), (0x4, 100, 0), (0x80, 100, 0), (0x20, 0, 100), (0x44, 100, 100)],
)
def test_bits_of_the_reasons_to_slow_down(mask: int, power: float, heat: float):
    mask_reading = CounterReading(
        "clocks_throttle_reasons", "GPU 0", "", resource_of("clocks_throttle_reasons"),
        np.zeros(3), np.full(3, float(mask)),
    )  # fmt: skip
    by_resource = {
        reading.resource.resource: reading
        for reading in derived_readings(pair(Side(), Side()), [mask_reading])
    }
    assert by_resource["power_throttle"].new_mean == power
    assert by_resource["thermal_throttle"].new_mean == heat
    assert by_resource["power_throttle"].base_mean == 0


@pytest.mark.parametrize("mask", [4.5, -4.0, 1e300])
def test_means_of_masks_and_other_nonsense_tell_nothing(mask: float):
    mask_reading = CounterReading(
        "clocks_event_reasons", "GPU 0", "", resource_of("clocks_event_reasons"),
        np.zeros(3), np.full(3, mask),
    )  # fmt: skip
    assert all(
        reading.new_mean == 0 for reading in derived_readings(pair(Side(), Side()), [mask_reading])
    )


def test_nothing_follows_from_nothing():
    nothing = Process("x", "x.csv", "7", BEHAVIOUR.empty())
    assert derived_readings(pair_of(base=nothing, new=replace(nothing)), []) == []
