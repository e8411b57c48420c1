"""Counters of single kernels joined with a timeline."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.json import encode
from numpy.typing import NDArray

from timesink.analyses.kernels import join as finding
from timesink.analyses.kernels.calls import Sampling
from timesink.analyses.kernels.join import Join, join_calls
from timesink.analyses.kernels.table import SHAPE
from timesink.answers.kernels.kernels_json import JoinJson

Numbers = NDArray[np.int64]

LAYER = [1, 2, 3, 2, 4, 5, 2, 6, 7, 3, 3, 8, 1, 9, 4, 2]
STEP = np.array([20, 21, *LAYER * 12, 22, 1, 23])
"""What a step launches: twelve equal layers, and a little before and behind them."""
PLACES = np.arange(len(STEP))


def table(launches: Numbers, *, batch: int = 1, trimmed: bool = False) -> pl.DataFrame:
    """Calls of kernels, the number of each is its function; as one or the other profiler writes."""
    full, short = "void at::native::kernel_{0}<{1}ul, true>(int)", "void at::kernel_{0}<{1}, 1>(T1)"
    texts = [(short if trimmed else full).format(number, number % 3) for number in launches]
    shape = dict.fromkeys(SHAPE, 1) | {"grid_x": launches * batch, "block_x": 128}
    return pl.DataFrame({"name": texts, **shape, "dur_ns": launches * 100}).with_columns(
        pl.col("name").cast(pl.Categorical), device=0, pid=pl.lit("7"), family=pl.lit("other")
    )


TIMELINE = table(np.tile(STEP, 2))
STEPS = pl.Series(np.repeat(["3", "4"], len(STEP)))


def join(launches: Numbers, sampling: Sampling | None = None, *, marked: bool = True) -> Join:
    steps = STEPS if marked else None
    return join_calls(table(launches, trimmed=True), TIMELINE, steps=steps, sampling=sampling)


def same_layer(kernel_join: Join, places: Numbers) -> float:
    """Share of the launches that are in their own layer, which step it may be."""
    rows = kernel_join.rows.fill_null(-1).to_numpy() % len(STEP)
    return float(((rows - 2) // len(LAYER) == (places % len(STEP) - 2) // len(LAYER)).mean())


class TestOneProgram:
    def test_a_step_is_found_in_the_first_that_fits(self):
        kernel_join = join(STEP)
        assert kernel_join.rows.to_list() == PLACES.tolist()
        assert kernel_join.how.unique().to_list() == ["exact"]
        assert (kernel_join.aligned, kernel_join.aligned_share, kernel_join.exact_share) == (
            len(STEP),
            1.0,
            1.0,
        )
        assert (kernel_join.timeline_calls, kernel_join.timeline_covered_share) == (
            2 * len(STEP),
            1.0,
        )
        assert (kernel_join.steps, kernel_join.refused, kernel_join.reason) == (("3",), False, "")

    def test_steps_need_no_marks(self):
        kernel_join = join(np.tile(STEP, 3), marked=False)
        assert (kernel_join.aligned_share, kernel_join.steps) == (1.0, ())
        assert same_layer(kernel_join, np.tile(PLACES, 3)) == 1.0

    def test_counters_of_more_steps_than_the_timeline_has(self):
        kernel_join = join(np.tile(STEP, 5))
        assert kernel_join.rows.to_list() == PLACES.tolist() * 5

    def test_every_tenth_launch_is_missing(self):
        recorded_places = PLACES[PLACES % 10 != 9]
        kernel_join = join(STEP[recorded_places])
        assert kernel_join.aligned_share == 1.0
        assert same_layer(kernel_join, recorded_places) > 0.99

    @pytest.mark.parametrize("sampling", [None, Sampling(10, "launch"), Sampling(10, "kernel")])
    def test_every_tenth_launch_is_there(self, sampling: Sampling | None):
        kernel_join = join(STEP[::10], sampling)
        assert kernel_join.aligned_share == 1.0
        assert same_layer(kernel_join, PLACES[::10]) > 0.9

    def test_every_seventh_launch_of_each_kernel_is_there(self):
        places = sampled_launches(np.tile(STEP, 9), 7)
        kernel_join = join(STEP[places % len(STEP)], Sampling(7, "kernel"))
        assert kernel_join.aligned_share == 1.0
        assert same_layer(kernel_join, places) > 0.95

    def test_every_launch_is_every_first(self):
        assert join(STEP, Sampling(1, "kernel")).rows.to_list() == PLACES.tolist()

    def test_initialisation_is_in_no_step(self):
        kernel_join = join(np.concatenate([np.arange(50, 90), STEP, STEP]))
        assert kernel_join.rows.to_list() == [None] * 40 + PLACES.tolist() * 2
        assert kernel_join.rows.null_count() == kernel_join.how.null_count() == 40

    def test_steps_of_two_sorts_are_both_found(self):
        other = np.array([30, *[31, 32, 33, 34, 32, 35] * 9, 36])
        timeline = table(np.concatenate([other, STEP]))
        steps = pl.Series(["1"] * len(other) + ["2"] * len(STEP))
        launches = table(np.concatenate([other, STEP, STEP]), trimmed=True)
        kernel_join = join_calls(launches, timeline, steps=steps)
        assert kernel_join.rows.to_list() == [
            *range(timeline.height),
            *(PLACES + len(other)).tolist(),
        ]
        assert sorted(kernel_join.steps) == ["1", "2"]

    def test_what_lies_outside_of_steps_is_looked_at_last(self):
        before = np.arange(40, 70)
        timeline = table(np.concatenate([before, STEP]))
        steps = pl.Series([None] * len(before) + ["1"] * len(STEP))
        launches = np.concatenate([before, STEP])
        kernel_join = join_calls(table(launches, trimmed=True), timeline, steps=steps)
        assert kernel_join.rows.to_list() == list(range(timeline.height))

    def test_replaced_kernels_are_joined_by_name(self):
        launches = table(STEP, trimmed=True)
        other_grid = pl.int_range(pl.len()) % 25 == 12
        kernel_join = join_calls(
            launches.with_columns(grid_x=pl.when(other_grid).then(999).otherwise("grid_x")),
            TIMELINE,
            steps=STEPS,
        )
        assert kernel_join.rows.to_list() == PLACES.tolist()
        assert kernel_join.how.to_list() == ["name" if n % 25 == 12 else "exact" for n in PLACES]
        assert kernel_join.exact_share < kernel_join.aligned_share == 1.0

    def test_time_counts_as_well(self):
        launches = np.append(STEP, np.full(20, 500))
        kernel_join = join(launches)
        assert kernel_join.aligned_share == pytest.approx(len(STEP) / len(launches))
        assert kernel_join.aligned_time_share == pytest.approx(STEP.sum() / launches.sum())
        for untimed in (table(STEP).drop("dur_ns"), table(STEP * 0)):
            assert join_calls(untimed, TIMELINE).aligned_time_share is None


def sampled_launches(launches: Numbers, every: int) -> Numbers:
    """Places of every n-th launch of each kernel."""
    seen: Counter[int] = Counter()
    sampled_places = []
    for place, number in enumerate(launches.tolist()):
        if seen[number] % every == 0:
            sampled_places.append(place)
        seen[number] += 1
    return np.array(sampled_places)


class TestDifferentPrograms:
    def test_other_kernels(self):
        kernel_join = join(STEP + 100)
        assert (kernel_join.aligned, kernel_join.refused, kernel_join.steps) == (0, True, ())
        assert kernel_join.reason == (
            "only 0.0 % of the 197 kernels were found in the timeline:"
            " another program, batch size or software version?"
        )

    def test_another_batch_size(self):
        kernel_join = join_calls(table(STEP, batch=2, trimmed=True), TIMELINE, steps=STEPS)
        assert kernel_join.refused
        assert kernel_join.aligned_share < 0.1

    @pytest.mark.parametrize("sampling", [None, Sampling(5, "kernel")])
    def test_the_same_kernels_in_no_order(self, sampling: Sampling | None):
        shuffled = np.random.default_rng(1).permutation(np.tile(STEP, 2))
        kernel_join = join(shuffled, sampling)
        assert kernel_join.refused
        assert kernel_join.aligned_share < 0.5

    def test_a_long_recording_is_looked_at_in_parts(self):
        shuffled = np.random.default_rng(1).permutation(np.tile(STEP, 20))
        assert join(shuffled).aligned_share < 0.1
        assert join(np.tile(STEP, 20)).aligned_share == 1.0

    def test_too_many_pairs_for_a_path(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(finding, "_MAX_PAIRS", 0)
        assert join(STEP[5:-5]).aligned_share == 1.0
        assert join(STEP + 100).refused

    def test_what_is_enough_can_be_said(self):
        launches = table(np.append(STEP, np.arange(300, 300 + len(STEP))), trimmed=True)
        assert join_calls(launches, TIMELINE, steps=STEPS).refused
        assert not join_calls(launches, TIMELINE, steps=STEPS, min_aligned=0.5).refused

    def test_a_long_warm_up_is_named(self):
        kernel_join = join(np.append(np.arange(300, 500), STEP))
        assert kernel_join.reason.endswith(
            "the first 200 are not in it; initialisation and warm-up?"
        )

    def test_nothing_to_join(self):
        for launches, timeline in ((TIMELINE[:0], TIMELINE), (TIMELINE, TIMELINE[:0])):
            kernel_join = join_calls(launches, timeline)
            assert kernel_join.reason == "one of the recordings holds no kernel"
            assert kernel_join.rows.null_count() == launches.height


def test_processes_and_devices_are_joined_one_by_one():
    timeline = pl.concat([TIMELINE, TIMELINE.with_columns(device=1)])
    both = [table(STEP, trimmed=True).with_columns(device=device) for device in (1, 0)]
    order = np.argsort(np.tile(PLACES, 2), kind="stable")
    kernel_join = join_calls(pl.concat(both)[order], timeline, steps=pl.concat([STEPS, STEPS]))
    on_one = PLACES + 2 * len(STEP)
    assert kernel_join.rows.to_list() == np.stack([on_one, PLACES], axis=1).ravel().tolist()


def test_facts_are_json():
    facts = json.loads(encode(JoinJson.of(join(STEP), None)))
    assert facts["steps"] == ["3"]
    assert facts["refused"] is False
    assert "rows" not in facts


@given(st.lists(st.integers(0, 6), max_size=40), st.lists(st.integers(0, 6), max_size=40))
def test_rows_are_rows_of_the_timeline(launches: list[int], timed: list[int]):
    ours, theirs = (table(np.array(side, dtype=np.int64)) for side in (launches, timed))
    kernel_join = join_calls(ours, theirs)
    assert kernel_join.rows.is_null().to_list() == kernel_join.how.is_null().to_list()
    assert kernel_join.aligned == len(launches) - kernel_join.rows.null_count()
    exact = kernel_join.how == "exact"
    rows = kernel_join.rows.filter(exact).to_list()
    assert [timed[row] for row in rows] == ours["grid_x"].filter(exact).to_list()


# -- real recordings -------------------------------------------------------------------------------
