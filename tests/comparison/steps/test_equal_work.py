"""Cycles of one side are put together until both sides hold the same work."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from programs import LAYER, batch, role, without
from timesink.comparison.steps.workload import check_workload, with_equal_work
from timesink.model.schema import BEHAVIOUR

LAYERS = 8
BATCHES = role([batch(LAYERS)] * 9, "base", anchor="run_batch")


def layers(many, first=0):
    """Single layers; the one that starts a batch holds what runs once per batch as well."""
    cycles = [batch(1) if at % LAYERS == 0 else LAYER for at in range(first, first + many)]
    return role(cycles, "new", anchor="layer")


def regroup(base, new):
    return with_equal_work(base, new, check_workload(base, new))


def cycles_of(side):
    return side.behaviour.unique("cycle").sort("cycle")


def test_layers_become_batches():
    base, new = regroup(BATCHES, layers(50))
    assert base is BATCHES
    assert cycles_of(new)["cycle"].to_list() == [1, 2, 3, 4, 5, 6]
    assert check_workload(base, new).work_ratio == 1.0
    once = new.behaviour.unique(["cycle", "function"]).filter(cycle=1)
    calls = dict(once.select(pl.col("function").cast(pl.String), "calls").iter_rows())
    assert {name: n for name, n in calls.items() if name != "oncpu"} == batch(LAYERS)
    assert new.behaviour.schema == pl.Schema(BEHAVIOUR.schema)


def test_only_whole_batches_are_kept_and_the_rest_is_counted():
    _, new = regroup(BATCHES, layers(38, first=5))
    assert cycles_of(new).height == 4
    assert "6 of 38 steps are in no complete group" in new.notes[0]
    assert cycles_of(new)["anchor"][0] == "8 x layer"


def test_lengths_are_those_of_the_whole_group():
    fine = layers(24)
    _, new = regroup(BATCHES, fine)
    spans = cycles_of(fine).sort("cycle")["cycle_dur_ns"].to_list()
    assert cycles_of(new)["cycle_dur_ns"].to_list() == [sum(spans[:8]), sum(spans[8:16])]
    first = new.behaviour.filter(cycle=1)
    expected = 100 * first["dur_ns"] / first["cycle_dur_ns"]
    assert first["beta_pct"].to_list() == pytest.approx(expected.to_list())


def test_sides_may_be_swapped():
    fine = replace(layers(50), label="base")
    base, new = regroup(fine, replace(BATCHES, label="new"))
    assert cycles_of(base).height == 6
    assert cycles_of(new).height == 9


def test_without_marks_any_consecutive_cycles_do():
    twice = role([{name: 2 * n for name, n in LAYER.items()}] * 9)
    _, new = regroup(twice, role([LAYER] * 7, "new"))
    assert cycles_of(new).height == 3
    assert "from the first recorded step on" in new.notes[0]


def test_cycles_whose_device_work_was_not_recorded_are_left_out():
    lost = (pl.col("device").cast(pl.String) != "Host") & (pl.col("cycle") <= 11)
    _, new = regroup(BATCHES, without(layers(50), lost))
    assert cycles_of(new).height == 4
    assert check_workload(BATCHES, new).work_ratio == 1.0


def test_groups_do_not_reach_over_a_pause():
    fine = layers(50)
    later = pl.when(pl.col("cycle") > 20).then(10**12).otherwise(0)
    behaviour = fine.behaviour.with_columns(pl.col("cycle_ts_ns") + later)
    _, new = regroup(BATCHES, replace(fine, behaviour=behaviour))
    assert cycles_of(new).height == 5
    assert cycles_of(new)["cycle_dur_ns"].max() < 10**12


def with_counter(side, values):
    """The same role with a metric on its kernels: one value per step, in turns."""
    value = pl.Series([float(values[number % len(values)]) for number in side.behaviour["cycle"]])
    measured = side.behaviour.with_columns(
        metric=pl.lit("gpu_sm_util", BEHAVIOUR.schema["metric"]),
        mu=value,
        sigma=value / 10,
        unit=pl.lit("%", BEHAVIOUR.schema["unit"]),
    )
    return replace(side, behaviour=measured)


def test_a_constant_counter_stays_exactly_what_it_was():
    _, new = regroup(BATCHES, with_counter(layers(50), [0.1]))
    assert set(new.behaviour["mu"]) == {0.1}
    assert new.behaviour["sigma"].to_list() == pytest.approx([0.01] * new.behaviour.height)


def test_counters_are_means_weighted_by_time():
    _, new = regroup(BATCHES, with_counter(layers(16 + 1), [10, 30]))
    kernels = new.behaviour.filter(pl.col("calls") == 4 * LAYERS)
    assert kernels["mu"].to_list() == pytest.approx([20.0] * 2)
    assert kernels["sigma"].to_list() == pytest.approx([((1 + 9) / 2) ** 0.5] * 2)


def test_several_metrics_do_not_count_time_twice():
    fine = with_counter(layers(50), [5])
    other = fine.behaviour.with_columns(metric=pl.lit("gpu_temp", BEHAVIOUR.schema["metric"]))
    _, new = regroup(BATCHES, replace(fine, behaviour=pl.concat([fine.behaviour, other])))
    kernels = new.behaviour.filter(pl.col("calls") == 4 * LAYERS)
    assert kernels["metric"].cast(pl.String).unique().sort().to_list() == [
        "gpu_sm_util",
        "gpu_temp",
    ]
    assert set(kernels["dur_ns"]) == {4 * LAYERS * 1000}


def test_cycles_of_the_same_work_stay_as_they_are():
    assert regroup(BATCHES, replace(BATCHES, label="new")) is None


def test_a_larger_model_is_not_taken_for_more_batches():
    """Its embedding, sampling and whatever else runs once per batch still do."""
    once = {f"once_{number}": 1 for number in range(6)}
    larger, smaller = (batch(layers) | once for layers in (24, 12))
    assert regroup(role([larger] * 9), role([smaller] * 9, "new")) is None


def test_parts_of_a_cycle_cannot_be_put_together():
    threes = role([{name: 3 * n for name, n in LAYER.items()}] * 9)
    twos = role([{name: 2 * n for name, n in LAYER.items()}] * 9, "new")
    assert check_workload(threes, twos).work_ratio == pytest.approx(1.5)
    assert regroup(threes, twos) is None
