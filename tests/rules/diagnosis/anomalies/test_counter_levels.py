"""What counters of both sides are read from, and which changes of them are certain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from shared_resources import Side, anomalies, pair
from timesink.analyses.behaviour.anatomy import LEVELS, PART_TIMES, PLACE_TIMES, Anatomy
from timesink.analyses.comparison import WITHIN, Pair
from timesink.rules.counter_levels import CounterReading, harmful_chances, readings
from timesink.rules.counter_names import resource_of

OTHERS = "device_others_usage"
IN_TURNS = [90.0, 0.0, 0.0, 90.0, 0.0, 0.0, 0.0, 90.0, 0.0, 0.0, 0.0, 0.0]


def chance_of(base: list[float], new: list[float], metric: str = OTHERS) -> float:
    sides = np.array(base), np.array(new)
    one = CounterReading(metric, "GPU 0", "%", resource_of(metric, "%"), *sides)
    return float(harmful_chances([one], [0.0])[0])


def test_others_on_a_device_that_nobody_else_used_are_certain() -> None:
    assert chance_of([0.0] * 12, IN_TURNS) == 0.0
    found = anomalies(
        Side({OTHERS: (0.0, "%")}), Side({OTHERS: (IN_TURNS, "%")}, kernels=15.0, cycle_ms=105.0)
    )
    assert [one.cause for one in found] == ["gpu_contention"]


@pytest.mark.parametrize(
    ("base", "new", "metric"),
    [
        ([0.0] * 11 + [40.0], IN_TURNS, OTHERS),
        ([0.0] * 4, IN_TURNS, OTHERS),
        ([0.0] * 12, [90.0, 90.0] + [0.0] * 10, OTHERS),
        ([0.0] * 12, IN_TURNS, "gpu_usage"),
    ],
    ids=["had a neighbour", "hardly looked", "seen twice", "is its own"],
)
def test_others_are_not_certain_otherwise(base: list[float], new: list[float], metric: str) -> None:
    assert chance_of(base, new, metric) > 0.0


def levels(cycles: range, value: float) -> pl.DataFrame:
    rows = [(cycle, "gpu_usage", "GPU 0", "%", value) for cycle in cycles]
    return pl.DataFrame(rows, schema=LEVELS, orient="row")


def read(told: Pair, *, plain: bool) -> list[list[float]]:
    """Values of the only counter on both sides; plain cycles of NEW read 70 %."""
    nothing = [pl.DataFrame(schema=schema) for schema in (PART_TIMES, PLACE_TIMES)]
    base = Anatomy(*nothing, levels=levels(range(1, 3), 10.0))
    new = Anatomy(*nothing, levels=levels(range(1, 3), 20.0))
    if plain:
        base = replace(base, plain_levels=levels(range(-2, 0), 30.0))
        new = replace(new, plain_levels=levels(range(-2, 0), 70.0))
    (found,) = readings(told, base, new)
    return [found.base.tolist(), found.new.tolist()]


def test_counters_of_plain_cycles_are_read_too() -> None:
    two_runs = pair(Side(), Side())
    assert read(two_runs, plain=False) == [[10.0] * 2, [20.0] * 2]
    assert read(two_runs, plain=True) == [[30.0] * 2 + [10.0] * 2, [70.0] * 2 + [20.0] * 2]


def test_parts_of_a_run_share_its_plain_cycles_and_are_read_without() -> None:
    told = pair(Side(), Side())
    within = replace(told, kind=WITHIN)
    halves = replace(told, cycle_times=replace(told.cycle_times, one_run=True))
    for one in (within, halves):
        assert read(one, plain=True) == [[10.0] * 2, [20.0] * 2]
