"""What counters of both sides are read from, and which changes of them are certain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from shared_resources import Side, anomalies, pair
from timesink.analyses.behaviour.anatomy import PART_TIMES, PLACE_TIMES, Anatomy
from timesink.analyses.behaviour.counters import LEVELS
from timesink.comparison.causes.resources import CounterReading, harmful_chances, readings
from timesink.comparison.results import WITHIN, Pair
from timesink.rules.counter_names import resource_of

NEIGHBOUR_USAGE = "device_others_usage"
IN_TURNS = [90.0, 0.0, 0.0, 90.0, 0.0, 0.0, 0.0, 90.0, 0.0, 0.0, 0.0, 0.0]


def chance_of(base: list[float], new: list[float], metric: str = NEIGHBOUR_USAGE) -> float:
    sides = np.array(base), np.array(new)
    reading = CounterReading(metric, "GPU 0", "%", resource_of(metric, "%"), *sides)
    return float(harmful_chances([reading], [0.0])[0])


def test_others_on_a_device_that_nobody_else_used_are_certain() -> None:
    assert chance_of([0.0] * 12, IN_TURNS) == 0.0
    anomaly_list = anomalies(
        Side({NEIGHBOUR_USAGE: (0.0, "%")}),
        Side({NEIGHBOUR_USAGE: (IN_TURNS, "%")}, kernels=15.0, cycle_ms=105.0),
    )
    assert [anomaly.id for anomaly in anomaly_list] == ["gpu_contention"]


@pytest.mark.parametrize(
    ("base", "new", "metric"),
    [
        ([0.0] * 11 + [40.0], IN_TURNS, NEIGHBOUR_USAGE),
        ([0.0] * 4, IN_TURNS, NEIGHBOUR_USAGE),
        ([0.0] * 12, [90.0, 90.0] + [0.0] * 10, NEIGHBOUR_USAGE),
        ([0.0] * 12, IN_TURNS, "gpu_usage"),
    ],
    ids=["had a neighbour", "hardly looked", "seen twice", "is its own"],
)
def test_others_are_not_certain_otherwise(base: list[float], new: list[float], metric: str) -> None:
    assert chance_of(base, new, metric) > 0.0


def levels(cycles: range, value: float) -> pl.DataFrame:
    rows = [(cycle, "gpu_usage", "GPU 0", "%", value) for cycle in cycles]
    return pl.DataFrame(rows, schema=LEVELS, orient="row")


def read(sides: Pair, *, plain: bool) -> list[list[float]]:
    """Values of the only counter on both sides; plain cycles of NEW read 70 %."""
    nothing = [pl.DataFrame(schema=schema) for schema in (PART_TIMES, PLACE_TIMES)]
    base = Anatomy(*nothing, levels=levels(range(1, 3), 10.0))
    new = Anatomy(*nothing, levels=levels(range(1, 3), 20.0))
    if plain:
        base = replace(base, plain_levels=levels(range(-2, 0), 30.0))
        new = replace(new, plain_levels=levels(range(-2, 0), 70.0))
    (reading,) = readings(sides, base, new)
    return [reading.base.tolist(), reading.new.tolist()]


def test_counters_of_plain_cycles_are_read_too() -> None:
    two_runs = pair(Side(), Side())
    assert read(two_runs, plain=False) == [[10.0] * 2, [20.0] * 2]
    assert read(two_runs, plain=True) == [[30.0] * 2 + [10.0] * 2, [70.0] * 2 + [20.0] * 2]


def test_parts_of_a_run_share_its_plain_cycles_and_are_read_without() -> None:
    two_sides = pair(Side(), Side())
    within = replace(two_sides, kind=WITHIN)
    halves = replace(two_sides, cycle_times=replace(two_sides.cycle_times, one_run=True))
    for parts in (within, halves):
        assert read(parts, plain=True) == [[10.0] * 2, [20.0] * 2]
