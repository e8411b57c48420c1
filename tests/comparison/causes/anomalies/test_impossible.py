"""Values that no counter can have."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

import slowed
from shared_resources import Side, both, pair
from timesink.analyses.behaviour.anatomy import PART_TIMES, PLACE_TIMES, Anatomy
from timesink.analyses.behaviour.counters import LEVELS
from timesink.comparison.causes.diagnosis import diagnose
from timesink.comparison.causes.resources import impossible_levels, without_impossible

NOTHING = Anatomy(*(pl.DataFrame(schema=schema) for schema in (PART_TIMES, PLACE_TIMES, LEVELS)))
USUAL = {"gpu_usage": (12.0, "%"), "gpu_sm_frequency": (1980.0, "MHz"), "gpu_temp": (40.0, "C")}


def anatomy(metric: str, unit: str | None, *values: float | None) -> Anatomy:
    rows = [(cycle, metric, "GPU 0", unit, value) for cycle, value in enumerate(values, 1)]
    return replace(NOTHING, levels=pl.DataFrame(rows, schema=LEVELS, orient="row"))


def remaining_levels(metric: str, unit: str | None, *values: float | None) -> list[float]:
    return without_impossible(anatomy(metric, unit, *values)).levels["value"].to_list()


@pytest.mark.parametrize(
    ("metric", "unit", "possible", "impossible"),
    [
        ("gpu_usage", "%", 100.6, 5000.0),
        ("gpu_sm_util", "100 %", 0.9, 30.0),
        ("host_cpu_usage", "%", 100.0, -1.0),
        ("gpu_sm_frequency", "MHz", 1980.0, -1980.0),
        ("gpu_frequency", "0.01 MHz", 198_000.0, 1e300),
        ("gpu_power_mw", "mW", 700e3, 2.0**32 * 1e3),
        ("gpu_temp", "C", -5.0, 65_535.0),
        ("gpu_pcie_receive_kbps", "kB/s", 32e6, float("inf")),
        ("process_runq_wait_pct", "%", 162.0, -3.0),
    ],
)
def test_only_what_cannot_be_is_left_out(
    metric: str, unit: str, possible: float, impossible: float
):
    assert remaining_levels(metric, unit, possible, impossible, possible) == [possible, possible]


def test_what_is_not_known_is_not_impossible():
    assert len(remaining_levels("gpu_usage", "%", None, 5.0)) == 2
    assert remaining_levels("somebody's own counter", None, -5.0, 1e30) == [-5.0, 1e30]


def test_it_is_told_on_which_side_and_in_how_many_cycles():
    wrong = anatomy("gpu_usage", "%", 5000, 9, 500)
    notes = tuple(impossible_levels(pair(Side(), Side()), NOTHING, wrong))
    assert notes == ("gpu_usage of GPU 0 cannot be 5 000 %: left out in 2 cycles of new.",)


def test_nothing_is_told_of_counters_that_can_be():
    usual = anatomy("gpu_usage", "%", 5, 100)
    assert list(impossible_levels(pair(Side(), Side()), usual, NOTHING)) == []


@pytest.mark.parametrize("name", ["gpu_usage", "gpu_sm_frequency"])
@pytest.mark.parametrize("value", [-700.0, 1e9])
def test_they_are_neither_anomalies_nor_symptoms(name: str, value: float):
    levels: dict[str, Any] = {**USUAL, name: (value, USUAL[name][1])}
    new = Side(levels, kernels=20.0)
    assert both(Side(USUAL), new) == ((), ())


def test_a_diagnosis_notes_them():
    usual_pair = slowed.pair(slowed.USUAL, slowed.USUAL)
    assert usual_pair.new.anatomy is not None
    levels = anatomy("gpu_usage", "%", 5000.0).levels
    new = replace(usual_pair.new, anatomy=replace(usual_pair.new.anatomy, levels=levels))
    assert any("cannot be 5 000 %" in note for note in diagnose(replace(usual_pair, new=new)).notes)
