"""What cycles should take: learned from rows with a known law."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

import msgspec
import numpy as np
import polars as pl
import pytest

from cycle_tables import cycle_rows
from timesink.errors import TimesinkError, UnreadableError, UsageError
from timesink.watcher.expected.judged import judge_rows
from timesink.watcher.expected.model import DurationModel, learn_model, model_from
from timesink.watcher.expected.trees import AskedForest, boosted_forest
from timesink.watcher.expected.workload import PHASES, workload_of

# Importing it takes a second: that is for those who learn with it.
boosting = pytest.mark.skipif(find_spec("sklearn") is None, reason="needs scikit-learn")


@cache
def learn_durations(*, boosting: bool) -> DurationModel:
    return learn_model(cycle_rows(), boosting=boosting, rounds=60)


@pytest.fixture
def model() -> DurationModel:
    return learn_durations(boosting=False)


@pytest.fixture(params=[False, pytest.param(True, marks=boosting)], ids=["table", "boosted"])
def either(request) -> DurationModel:
    return learn_durations(boosting=request.param)


def test_new_runs_are_within_their_noise(either):
    accuracy = judge_rows(either, cycle_rows(10, seed=2)).accuracy
    assert accuracy.rows > 500
    assert accuracy.median_ape_pct < 1.5
    assert accuracy.within_10pct == 100
    assert accuracy.alarms / accuracy.rows < 0.04


def test_a_lasting_shift_is_one_episode_that_says_what_it_cost(either):
    rows = cycle_rows(10, seed=2)
    late = (pl.col("job_name") == "run03") & (pl.int_range(pl.len()).over("job_name") >= 30)
    times = pl.when(late).then(1.2).otherwise(1.0)
    episode = judge_rows(either, rows.with_columns(pl.col("duration_us") * times)).episodes[0]
    assert (episode.run, episode.kind, episode.phase) == ("run03", "lasting", "decode")
    assert episode.observed_us / episode.expected_us == pytest.approx(1.2, abs=0.03)
    assert episode.first_row == pytest.approx(211, abs=1)
    assert 20 <= episode.cycles <= 31
    assert episode.lost_us == pytest.approx(episode.cycles * episode.expected_us * 0.2, rel=0.15)


def test_a_spike_is_told_and_is_nothing_lasting(model):
    rows = cycle_rows(4, seed=3)
    slow = rows.with_row_index().with_columns(
        pl.when(pl.col("index") == 100).then(pl.col("duration_us") * 5).otherwise("duration_us")
        .alias("duration_us")
    )  # fmt: skip
    episode = judge_rows(model, slow.drop("index")).episodes[0]
    assert (episode.kind, episode.cycles, episode.first_row) == ("spike", 1, 101)


def test_no_cycle_is_in_two_episodes(model):
    rows = cycle_rows(1, seed=3)
    usual = judge_rows(model, rows).expected.expected_us
    # A spike, and a shift that began with it but is sure only later.
    times = np.where(np.arange(60) > 30, np.exp(model.limits.allowance * 1.7), 1.0)
    times[30] = 1.5
    judgement = judge_rows(model, rows.with_columns(duration_us=pl.Series(usual * times)))
    [episode] = judgement.episodes
    assert (episode.kind, episode.first_row, episode.cycles) == ("lasting", 31, 30)
    assert episode.lost_us == pytest.approx(float((usual * (times - 1)).sum()))


def test_order_of_rows_does_not_matter(model):
    rows = cycle_rows(4, seed=3)
    mixed = rows.sample(fraction=1, shuffle=True, seed=5)
    assert judge_rows(model, mixed).accuracy == judge_rows(model, rows).accuracy


def test_other_workloads_are_counted_and_never_alarm(model):
    rows = cycle_rows(2, seed=3).with_columns(batch_size=300.0, duration_us=pl.lit(9e6))
    judged = judge_rows(model, rows)
    assert (judged.expected.outside.sum(), judged.alarm.sum()) == (120, 0)


def test_nothing_later_and_no_duration_is_a_feature():
    rows = cycle_rows(2)
    workload = workload_of(rows)
    early_workload = workload_of(rows.head(20).with_columns(duration_us=pl.lit(1.0)))
    np.testing.assert_array_equal(workload.features[:20], early_workload.features)


def test_phases_come_from_modes_or_from_what_changes():
    rows = cycle_rows(1, 4)
    assert workload_of(rows).phases.tolist() == [2, 0, 0, 0]
    workload = workload_of(rows.with_columns(forward_mode=pl.Series([1.0, 2.0, 2.0, 3.0])))
    assert [PHASES[phase] for phase in workload.phases] == ["prefill", "decode", "decode", "mixed"]


def test_columns_of_users_are_features():
    rows = cycle_rows(12).select("duration_us", "job_name", "start_ts")
    rows = rows.with_columns(pixels=pl.int_range(pl.len()).cast(pl.Float64) % 7)
    rows = rows.with_columns(duration_us=1000.0 + 100 * pl.col("pixels"))
    assert judge_rows(learn_model(rows, boosting=False), rows).accuracy.mape_pct < 0.1


@boosting
def test_trees_say_what_scikit_learn_says(monkeypatch):
    import sklearn.ensemble

    regressors = []
    plain = sklearn.ensemble.HistGradientBoostingRegressor

    def record_regressor(**options: object) -> object:
        regressors.append(plain(**options))
        return regressors[-1]

    monkeypatch.setattr(sklearn.ensemble, "HistGradientBoostingRegressor", record_regressor)
    random = np.random.default_rng(0)
    features = random.standard_normal((500, 4))
    features[random.random((500, 4)) < 0.1] = np.nan
    forest = boosted_forest(features, np.nansum(features, axis=1), seed=1, rounds=20)
    assert forest.problem(4) == ""
    np.testing.assert_allclose(
        AskedForest(forest).predict(features), regressors[0].predict(features)
    )


def test_a_model_is_the_same_after_writing(model):
    assert model_from(model.to_json(), "m.json") == model


def _change_model(model: DurationModel, **parts: object) -> bytes:
    return msgspec.json.encode(msgspec.structs.replace(model, **parts))


@pytest.mark.parametrize(
    "change",
    [
        lambda _: b"{}",
        lambda _: b"[" * 100_000,
        lambda duration_model: duration_model.to_json()[:-100],
        lambda duration_model: _change_model(duration_model, schema="timesink/watch-model/9"),
        lambda duration_model: _change_model(duration_model, features=duration_model.features[1:]),
        lambda duration_model: _change_model(duration_model, cycle_us=0.0),
        lambda duration_model: _change_model(
            duration_model, forest=_tree(duration_model, left=[0] * len(duration_model.forest.left))
        ),
        lambda duration_model: _change_model(
            duration_model,
            forest=_tree(duration_model, feature=[99] * len(duration_model.forest.feature)),
        ),
        lambda duration_model: _change_model(
            duration_model, forest=_tree(duration_model, value=duration_model.forest.value[1:])
        ),
        lambda duration_model: _change_model(
            duration_model, forest=_tree(duration_model, roots=[10**9])
        ),
        lambda duration_model: duration_model.to_json().replace(b'"start":0.0', b'"start":1e999'),
        lambda duration_model: _change_model(
            duration_model, limits=msgspec.structs.replace(duration_model.limits, groups=[])
        ),
    ],
)
def test_files_that_are_no_model_are_refused(model, change):
    with pytest.raises(UnreadableError, match=r"^m\.json: not a model timesink can use"):
        model_from(change(model), "m.json")


def _tree(model: DurationModel, **parts: object) -> object:
    return msgspec.structs.replace(model.forest, **parts)


@pytest.mark.parametrize("height", [0, 1, 49])
def test_too_few_cycles_are_refused(height):
    with pytest.raises(UsageError, match="too few to learn from"):
        learn_model(cycle_rows(1).head(height), boosting=False)


def test_without_a_workload_cycles_should_all_take_the_same():
    rows = cycle_rows(6).select("duration_us", "job_name", "start_ts")
    learned_model = learn_model(rows.with_columns(duration_us=9e3 + pl.int_range(pl.len()) % 7))
    slow = rows.head(60).with_columns(duration_us=pl.lit(18e3))
    assert model_from(learned_model.to_json(), "model.json") == learned_model
    assert learned_model.features == []
    assert judge_rows(learned_model, slow).episodes[0].expected_us == pytest.approx(9e3, rel=0.01)


def test_missing_columns_are_refused(model):
    rows = cycle_rows()
    with pytest.raises(TimesinkError, match="lack batch_size"):
        judge_rows(model, rows.drop("batch_size"))


def test_no_rows_and_one_row_are_judged(model):
    assert judge_rows(model, cycle_rows().head(0)).accuracy.rows == 0
    assert judge_rows(model, cycle_rows().head(1)).accuracy.rows == 1
