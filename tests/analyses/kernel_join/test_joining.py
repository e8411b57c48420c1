"""Counters of single kernels joined with a timeline."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import timesink
from timesink.analyses.kernels import join as finding
from timesink.analyses.kernels.calls import Sampling, kernel_calls, launch_origins
from timesink.analyses.kernels.join import Join, join_calls
from timesink.analyses.kernels.table import SHAPE
from timesink.analyses.names import kernel_name
from timesink.model.trace import Trace

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


def same_layer(found: Join, places: Numbers) -> float:
    """Share of the launches that are in their own layer, which step it may be."""
    rows = found.rows.fill_null(-1).to_numpy() % len(STEP)
    return float(((rows - 2) // len(LAYER) == (places % len(STEP) - 2) // len(LAYER)).mean())


class TestOneProgram:
    def test_a_step_is_found_in_the_first_that_fits(self):
        found = join(STEP)
        assert found.rows.to_list() == PLACES.tolist()
        assert found.how.unique().to_list() == ["exact"]
        assert (found.aligned, found.aligned_share, found.exact_share) == (len(STEP), 1.0, 1.0)
        assert (found.timeline_calls, found.timeline_covered_share) == (2 * len(STEP), 1.0)
        assert (found.steps, found.refused, found.reason) == (("3",), False, "")

    def test_steps_need_no_marks(self):
        found = join(np.tile(STEP, 3), marked=False)
        assert (found.aligned_share, found.steps) == (1.0, ())
        assert same_layer(found, np.tile(PLACES, 3)) == 1.0

    def test_counters_of_more_steps_than_the_timeline_has(self):
        found = join(np.tile(STEP, 5))
        assert found.rows.to_list() == PLACES.tolist() * 5

    def test_every_tenth_launch_is_missing(self):
        kept = PLACES[PLACES % 10 != 9]
        found = join(STEP[kept])
        assert found.aligned_share == 1.0
        assert same_layer(found, kept) > 0.99

    @pytest.mark.parametrize("sampling", [None, Sampling(10, "launch"), Sampling(10, "kernel")])
    def test_every_tenth_launch_is_there(self, sampling: Sampling | None):
        found = join(STEP[::10], sampling)
        assert found.aligned_share == 1.0
        assert same_layer(found, PLACES[::10]) > 0.9

    def test_every_seventh_launch_of_each_kernel_is_there(self):
        places = sampled(np.tile(STEP, 9), 7)
        found = join(STEP[places % len(STEP)], Sampling(7, "kernel"))
        assert found.aligned_share == 1.0
        assert same_layer(found, places) > 0.95

    def test_every_launch_is_every_first(self):
        assert join(STEP, Sampling(1, "kernel")).rows.to_list() == PLACES.tolist()

    def test_initialisation_is_in_no_step(self):
        found = join(np.concatenate([np.arange(50, 90), STEP, STEP]))
        assert found.rows.to_list() == [None] * 40 + PLACES.tolist() * 2
        assert found.rows.null_count() == found.how.null_count() == 40

    def test_steps_of_two_sorts_are_both_found(self):
        other = np.array([30, *[31, 32, 33, 34, 32, 35] * 9, 36])
        timeline = table(np.concatenate([other, STEP]))
        steps = pl.Series(["1"] * len(other) + ["2"] * len(STEP))
        launches = table(np.concatenate([other, STEP, STEP]), trimmed=True)
        found = join_calls(launches, timeline, steps=steps)
        assert found.rows.to_list() == [*range(timeline.height), *(PLACES + len(other)).tolist()]
        assert sorted(found.steps) == ["1", "2"]

    def test_what_lies_outside_of_steps_is_looked_at_last(self):
        before = np.arange(40, 70)
        timeline = table(np.concatenate([before, STEP]))
        steps = pl.Series([None] * len(before) + ["1"] * len(STEP))
        launches = np.concatenate([before, STEP])
        found = join_calls(table(launches, trimmed=True), timeline, steps=steps)
        assert found.rows.to_list() == list(range(timeline.height))

    def test_replaced_kernels_are_joined_by_name(self):
        launches = table(STEP, trimmed=True)
        other_grid = pl.int_range(pl.len()) % 25 == 12
        found = join_calls(
            launches.with_columns(grid_x=pl.when(other_grid).then(999).otherwise("grid_x")),
            TIMELINE,
            steps=STEPS,
        )
        assert found.rows.to_list() == PLACES.tolist()
        assert found.how.to_list() == ["name" if n % 25 == 12 else "exact" for n in PLACES]
        assert found.exact_share < found.aligned_share == 1.0

    def test_time_counts_as_well(self):
        launches = np.append(STEP, np.full(20, 500))
        found = join(launches)
        assert found.aligned_share == pytest.approx(len(STEP) / len(launches))
        assert found.aligned_time_share == pytest.approx(STEP.sum() / launches.sum())
        for untimed in (table(STEP).drop("dur_ns"), table(STEP * 0)):
            assert join_calls(untimed, TIMELINE).aligned_time_share is None


def sampled(launches: Numbers, every: int) -> Numbers:
    """Places of every n-th launch of each kernel."""
    seen: Counter[int] = Counter()
    kept = []
    for place, number in enumerate(launches.tolist()):
        if seen[number] % every == 0:
            kept.append(place)
        seen[number] += 1
    return np.array(kept)


class TestDifferentPrograms:
    def test_other_kernels(self):
        found = join(STEP + 100)
        assert (found.aligned, found.refused, found.steps) == (0, True, ())
        assert found.reason == (
            "only 0.0 % of the 197 kernels were found in the timeline:"
            " another program, batch size or software version?"
        )

    def test_another_batch_size(self):
        found = join_calls(table(STEP, batch=2, trimmed=True), TIMELINE, steps=STEPS)
        assert found.refused
        assert found.aligned_share < 0.1

    @pytest.mark.parametrize("sampling", [None, Sampling(5, "launch"), Sampling(5, "kernel")])
    def test_the_same_kernels_in_no_order(self, sampling: Sampling | None):
        shuffled = np.random.default_rng(1).permutation(np.tile(STEP, 2))
        found = join(shuffled, sampling)
        assert found.refused
        assert found.aligned_share < 0.5

    def test_a_long_recording_is_looked_at_in_parts(self):
        shuffled = np.random.default_rng(1).permutation(np.tile(STEP, 20))
        assert join(shuffled).aligned_share < 0.1
        assert join(np.tile(STEP, 20)).aligned_share == 1.0

    def test_too_many_pairs_for_a_path(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(finding, "_MOST_PAIRS", 0)
        assert join(STEP[5:-5]).aligned_share == 1.0
        assert join(STEP + 100).refused

    def test_what_is_enough_can_be_said(self):
        launches = table(np.append(STEP, np.arange(300, 300 + len(STEP))), trimmed=True)
        assert join_calls(launches, TIMELINE, steps=STEPS).refused
        assert not join_calls(launches, TIMELINE, steps=STEPS, min_aligned=0.5).refused

    def test_a_long_warm_up_is_named(self):
        found = join(np.append(np.arange(300, 500), STEP))
        assert found.reason.endswith("the first 200 are not in it; initialisation and warm-up?")

    def test_nothing_to_join(self):
        for launches, timeline in ((TIMELINE[:0], TIMELINE), (TIMELINE, TIMELINE[:0])):
            found = join_calls(launches, timeline)
            assert found.reason == "one of the recordings holds no kernel"
            assert found.rows.null_count() == launches.height


def test_processes_and_devices_are_joined_one_by_one():
    timeline = pl.concat([TIMELINE, TIMELINE.with_columns(device=1)])
    both = [table(STEP, trimmed=True).with_columns(device=device) for device in (1, 0)]
    order = np.argsort(np.tile(PLACES, 2), kind="stable")
    found = join_calls(pl.concat(both)[order], timeline, steps=pl.concat([STEPS, STEPS]))
    on_one = PLACES + 2 * len(STEP)
    assert found.rows.to_list() == np.stack([on_one, PLACES], axis=1).ravel().tolist()


def test_facts_are_json():
    facts = json.loads(json.dumps(join(STEP).to_dict()))
    assert facts["steps"] == ["3"]
    assert facts["refused"] is False
    assert "rows" not in facts


@given(st.lists(st.integers(0, 6), max_size=40), st.lists(st.integers(0, 6), max_size=40))
def test_rows_are_rows_of_the_timeline(launches: list[int], timed: list[int]):
    ours, theirs = (table(np.array(side, dtype=np.int64)) for side in (launches, timed))
    found = join_calls(ours, theirs)
    assert found.rows.is_null().to_list() == found.how.is_null().to_list()
    assert found.aligned == len(launches) - found.rows.null_count()
    exact = found.how == "exact"
    rows = found.rows.filter(exact).to_list()
    assert [timed[row] for row in rows] == ours["grid_x"].filter(exact).to_list()


# -- real recordings -------------------------------------------------------------------------------


def trace_of(shared: Path, program: str) -> Trace:
    return timesink.open(shared / f"data/h200/traces/{program}")


def counters_of(shared: Path, program: str) -> pl.DataFrame:
    return kernel_calls(timesink.open(shared / f"data/h200/ncu/{program}.csv.gz"))


@pytest.mark.parametrize("program", ["gpt_infer", "unet_train"])
def test_counters_and_timeline_of_one_program(shared: Path, program: str):
    trace, counters = trace_of(shared, program), counters_of(shared, program)
    timeline, origins = kernel_calls(trace), launch_origins(trace)
    every = pl.int_range(pl.len()) % 10
    for part, least in ((True, 0.99), (every != 9, 0.95), (every == 4, 0.95)):
        found = join_calls(counters.filter(part), timeline, steps=origins["step"])
        assert found.aligned_share >= least
        assert found.steps == ("3",)


@pytest.mark.parametrize(
    ("program", "other"),
    [
        ("gpt_infer", "bert_train"),
        ("unet_train", "resnet50_train"),
    ],
)
def test_counters_and_timeline_of_two_programs(shared: Path, program: str, other: str):
    trace, counters = trace_of(shared, other), counters_of(shared, program)
    timeline, steps = kernel_calls(trace), launch_origins(trace)["step"]
    for part, sampling in ((1, None), (10, None), (10, Sampling(10, "kernel"))):
        found = join_calls(counters[::part], timeline, steps=steps, sampling=sampling)
        assert found.refused
        assert found.aligned_share < 0.5


@pytest.mark.parametrize("program", ["gpt_infer"])
def test_launches_find_the_module_and_operator_they_came_from(shared: Path, program: str):
    trace = trace_of(shared, program)
    timeline, origins = kernel_calls(trace), launch_origins(trace)
    step = np.flatnonzero((origins["step"] == "4").fill_null(value=False).to_numpy())
    number = np.arange(len(step))
    functions = timeline["name"].cast(pl.String).map_elements(kernel_name, pl.String)
    own = functions.rank("dense").to_numpy()[step]
    for chosen, sampling, least in (
        (number % 10 != 9, None, 0.99),
        (number % 10 == 0, Sampling(10, "launch"), 0.99),
        (np.isin(number, sampled(own, 10)), Sampling(10, "kernel"), 0.95),
        (number % 10 == 0, None, 0.9),
    ):
        rows = step[chosen]
        found = join_calls(timeline[rows], timeline, steps=origins["step"], sampling=sampling)
        why = origins.select("operator", "module")
        reached = why[found.rows]
        same = [pl.Series(reached[name].eq_missing(why[rows][name])) for name in why.columns]
        assert (same[0] & same[1]).mean() >= least
