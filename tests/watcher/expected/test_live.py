"""Cycles of a running program, judged as they come."""

from __future__ import annotations

from itertools import accumulate, cycle, islice, pairwise

import msgspec
import numpy as np
import polars as pl
import pytest

from cycle_tables import cycle_rows
from timesink.errors import UnreadableError, UsageError
from timesink.watcher.expected.live import JudgedCycles, LiveJudge
from timesink.watcher.expected.model import LiveModel, is_calmer, learn_live, live_model_from


def plain_rows(count: int, *, seed: int = 0, noise: float = 0.02, us: float = 4000.0):
    """Cycles of one stream that tell nothing of their workload."""
    took = us * np.exp(noise * np.random.default_rng(seed).standard_normal(count))
    start = (np.cumsum(took) - took) / 1e6
    return pl.DataFrame({"job_name": "7.0", "start_ts": start, "duration_us": took})


def slower(rows: pl.DataFrame, factor: float, first: int, behind: int | None = None):
    """Durations times a factor, from one row up to another."""
    place = pl.int_range(pl.len())
    late = (place >= first) & (place < (rows.height if behind is None else behind))
    return rows.with_columns(
        duration_us=pl.when(late).then(factor).otherwise(1.0) * pl.col("duration_us")
    )


def served_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """Runs one behind the other, as one stream of a server."""
    return rows.with_columns(job_name=pl.lit("s"), start_ts=pl.int_range(pl.len()) * 0.03)


@pytest.fixture(scope="module")
def model() -> LiveModel:
    return learn_live(plain_rows(1000))


@pytest.fixture(scope="module")
def server() -> LiveModel:
    return learn_live(served_rows(cycle_rows()))


@pytest.mark.parametrize(("factor", "within"), [(1.25, 12), (1.5, 10), (2.0, 10)])
def test_a_shift_raises_one_alarm_soon(model, factor, within):
    judge = LiveJudge(model)
    judged_cycles = judge.judge(slower(plain_rows(3000, seed=1), factor, 2000))
    [alarm] = judged_cycles.raised
    cycle_s = 0.004 * factor
    onset = judged_cycles.table["start_ts"][2000]
    assert alarm.since_s == pytest.approx(onset, abs=within / 2 * cycle_s)
    assert onset < alarm.raised_s < onset + within * 0.0045
    assert (alarm.stream, alarm.phase, judged_cycles.ended) == ("7.0", "cycle", ())
    [now] = judge.open_alarms
    assert now.rule == "lasting"
    assert now.observed_us / now.expected_us == pytest.approx(factor, rel=0.01)
    assert now.lost_us == pytest.approx(1000 * 4000 * (factor - 1), rel=0.1)


def test_an_alarm_ends_when_cycles_are_as_before(model):
    judge = LiveJudge(model)
    judged_cycles = judge.judge(slower(plain_rows(800, seed=1), 1.5, 200, 500))
    [ended] = judged_cycles.ended
    assert ended.number == judged_cycles.raised[0].number
    assert ended.ended_s == pytest.approx(judged_cycles.table["start_ts"][500], abs=0.1)
    assert ended.cycles == pytest.approx(300, abs=12)
    assert judge.open_alarms == ()


def test_healthy_cycles_and_single_slow_ones_raise_nothing(model):
    rows = plain_rows(20_000, seed=2)
    slow = pl.int_range(pl.len()) % 50 == 7
    rows = rows.with_columns(pl.col("duration_us") * pl.when(slow).then(5.0).otherwise(1.0))
    judged_cycles = LiveJudge(model).judge(rows)
    assert judged_cycles.raised == ()
    assert (judged_cycles.table["duration_us"] > judged_cycles.table["limit_us"]).sum() == 400


def test_several_slow_cycles_of_a_few_are_spikes_unless_they_are_over_in_a_moment(model):
    def judged(cycle_us: float, live_model: LiveModel) -> JudgedCycles:
        rows = plain_rows(300, seed=3, us=cycle_us)
        rows = slower(slower(rows, 1.6, 200, 202), 1.6, 203, 204)
        return LiveJudge(live_model).judge(rows)

    judged_cycles = judged(400_000.0, learn_live(plain_rows(1000, us=400_000.0)))
    assert [(alarm.rule, alarm.cycles) for alarm in judged_cycles.raised] == [("spike", 4)]
    assert (len(judged_cycles.ended), judged_cycles.brief) == (1, 0)
    assert judged(4000.0, model).raised == ()


@pytest.mark.parametrize(
    ("cycles", "factor", "alarms"), [(60, 1.5, 0), (400, 1.5, 1), (60, 3.0, 0)]
)
def test_slow_cycles_that_are_over_within_a_second_are_counted_only(model, cycles, factor, alarms):
    judge = LiveJudge(model)
    judged_cycles = judge.judge(slower(plain_rows(1000, seed=1), factor, 500, 500 + cycles))
    assert (len(judged_cycles.raised), len(judged_cycles.ended), judged_cycles.brief) == (
        alarms,
        alarms,
        1 - alarms,
    )
    assert [alarm.number for alarm in judged_cycles.raised] == [1][:alarms]
    assert not judge.is_slow


def test_cycles_that_are_slow_and_then_less_so_are_one_alarm_from_the_first_on():
    model = learn_live(plain_rows(1000, noise=0.04, us=20_000.0))
    rows = slower(plain_rows(300, seed=1, noise=0.01, us=20_000.0), 1.25, 100, 125)
    [alarm] = LiveJudge(model).judge(slower(rows, 1.13, 125)).raised
    onset = rows["start_ts"][100]
    assert onset - 0.1 < alarm.since_s < alarm.raised_s < onset + 0.25


def test_very_slow_cycles_are_an_alarm_as_soon_as_they_took_a_moment(model):
    rows = slower(plain_rows(600, seed=2), 20.0, 500)
    ends_s = pl.col("duration_us").cum_sum() / 1e6
    rows = rows.with_columns(start_ts=ends_s - pl.col("duration_us") / 1e6)
    [alarm] = LiveJudge(model).judge(rows).raised
    assert alarm.raised_s == rows["start_ts"][502]


def test_what_is_over_does_not_raise_an_alarm_later():
    def rows_of(*modes: float) -> pl.DataFrame:
        drawn, mode = np.random.default_rng(1), np.repeat(modes, 1000 // len(modes))
        noise = np.where(mode == 3, 0.6, 0.02) * drawn.standard_normal(1000)
        took = 20_000 * np.exp(noise)
        return plain_rows(1000).with_columns(
            duration_us=pl.Series(took), forward_mode=pl.Series(mode),
            start_ts=pl.Series(np.cumsum(took) / 1e6),
        )  # fmt: skip

    judge = LiveJudge(learn_live(rows_of(2.0, 3.0, 2.0, 3.0)))
    # Prefills scatter: between decode cycles that are slow and the next ones they tell nothing.
    judged_cycles = judge.judge(slower(rows_of(2.0, 3.0, 2.0, 3.0), 2.0, 200, 250))
    [alarm] = judged_cycles.raised
    assert alarm.raised_s < judged_cycles.table["start_ts"][250]


def test_a_small_shift_that_does_not_last_raises_nothing(model):
    rows = slower(plain_rows(3000, seed=4), 1.07, 1000, 1250)
    assert LiveJudge(model).judge(rows).raised == ()


def test_slow_seconds_of_a_program_that_scatters_raise_nothing_but_what_stays_does():
    def rows_of(seed: int) -> pl.DataFrame:
        return plain_rows(1500, seed=seed, noise=0.05, us=58_000.0)

    learned = learn_live(rows_of(1))
    assert LiveJudge(learned).judge(slower(rows_of(2), 1.17, 700, 745)).raised == ()
    [alarm] = LiveJudge(learned).judge(slower(rows_of(2), 1.17, 700)).raised
    assert 700 * 0.058 < alarm.raised_s < 700 * 0.058 + 15


def test_where_cycles_scatter_nearly_all_of_a_few_tell_within_ten():
    def rows_of(seed: int) -> pl.DataFrame:
        return plain_rows(1500, seed=seed, noise=0.075, us=60_000.0)

    judged_cycles = LiveJudge(learn_live(rows_of(1))).judge(slower(rows_of(2), 1.5, 700))
    [alarm] = judged_cycles.raised
    starts = judged_cycles.table["start_ts"]
    assert starts[700] < alarm.raised_s < starts[709]


def test_cycles_that_scatter_tell_what_is_far_beyond_by_themselves():
    def rows_of(seed: int, share: float) -> pl.DataFrame:
        drawn = np.random.default_rng(seed)
        mode = np.where(drawn.random(2000) < share, 3.0, 2.0)
        noise = np.where(mode == 3, 0.2, 0.01) * drawn.standard_normal(2000)
        return plain_rows(2000).with_columns(
            duration_us=pl.Series(20_000 * np.exp(noise)), forward_mode=pl.Series(mode),
            start_ts=pl.int_range(pl.len()) * 0.03,
        )  # fmt: skip

    judge = LiveJudge(learn_live(rows_of(1, 0.3)))
    arrive = pl.concat([rows_of(2, 0.3).head(1000), rows_of(3, 1.0).tail(1000)])
    times = arrive.with_columns(start_ts=pl.int_range(pl.len()) * 0.03)
    judged_cycles = judge.judge(slower(times, 2.3, 1000))
    assert 0 <= judged_cycles.raised[0].raised_s - 30.0 <= 10 * 0.03


@pytest.mark.parametrize("sizes", [(3, 7, 64)])
def test_batches_make_no_difference(server, sizes):
    rows = served_rows(cycle_rows(2, 40, seed=5)).with_columns(pl.col("start_ts") * 2)
    other = slower(rows, 1.4, 25, 50).with_columns(job_name=pl.lit("t"))
    both = pl.concat([slower(rows, 1.3, 15, 45), other]).sort("start_ts", maintain_order=True)
    single_judge, parts = LiveJudge(server), LiveJudge(server)
    at_once = single_judge.judge(both)
    ends = [*accumulate(islice(cycle(sizes), both.height), initial=0)]
    judged_parts = [parts.judge(both[at:end]) for at, end in pairwise(ends) if at < both.height]
    assert pl.concat([part.table for part in judged_parts]).equals(at_once.table)
    assert sum((part.raised for part in judged_parts), ()) == at_once.raised
    assert sum((part.ended for part in judged_parts), ()) == at_once.ended
    assert len(at_once.raised) == 2
    assert parts.open_alarms == single_judge.open_alarms


def test_longer_requests_are_explained_or_outside(server):
    rows = served_rows(cycle_rows(8, seed=6))
    assert LiveJudge(server).judge(rows).raised == ()
    longer = rows.with_columns(pl.col("avg_input_length", "duration_us") * 9)
    judged_cycles = LiveJudge(server).judge(longer)
    assert judged_cycles.raised == ()
    assert judged_cycles.table["outside"].all()
    assert judged_cycles.table["expected_us"].null_count() == rows.height


def test_an_alarm_tells_its_workload(server):
    rows = served_rows(cycle_rows(4, seed=7))
    judge = LiveJudge(server)
    judge.judge(slower(rows, 1.5, 70))
    [alarm] = judge.open_alarms
    assert {*alarm.workload} == {"batch_size", "avg_input_length", "avg_output_length"}
    assert alarm.phase in ("decode", "mixed")


def test_a_host_that_is_half_as_fast_every_other_second_has_wide_limits():
    def alternating(seed: int) -> pl.DataFrame:
        rows = plain_rows(10_000, seed=seed)
        is_slow = (pl.col("start_ts").floor().cast(pl.Int64) % 2) == 1
        return rows.with_columns(pl.col("duration_us") * pl.when(is_slow).then(2.0).otherwise(1.0))

    learned = learn_live(alternating(1))
    assert LiveJudge(learned).judge(alternating(2)).raised == ()
    assert LiveJudge(learned).judge(slower(alternating(2), 8.0, 5000)).raised != ()


def busy_loop(seed: int, *, drift: float = 0.1, correlation_length: float = 700.0) -> pl.DataFrame:
    """Steps of 14 ms that scatter by a factor of two, at a level that wanders for ten seconds."""
    random = np.random.default_rng(seed)
    level, rho = [random.standard_normal()], float(np.exp(-1 / correlation_length))
    for shock in random.standard_normal(9139) * np.sqrt(1 - rho * rho):
        level.append(rho * level[-1] + shock)
    took = 14000 * np.exp(0.35 * random.standard_normal(9140) + drift * np.array(level))
    start = (np.cumsum(took) - took) / 1e6
    return pl.DataFrame({"job_name": "7.0", "start_ts": start, "duration_us": took})


def test_limits_that_are_shown_are_those_of_alarms():
    """A limit of 650 ms stood beside 14 ms, and the alarm came at 43 ms."""
    wild = learn_live(busy_loop(4)[:2140])
    rows = slower(busy_loop(4)[2140:], 3.0, 3000)
    judge = LiveJudge(wild)
    limit_us = judge.judge(rows).table["limit_us"].median()
    [alarm] = judge.open_alarms
    assert alarm.observed_us > alarm.expected_us * np.exp(wild.limits.lasting)
    assert limit_us == pytest.approx(alarm.expected_us * np.exp(wild.limits.soonest[0]), rel=0.05)
    assert np.exp(wild.limits.soonest[0]) <= np.exp(wild.limits.levels[0]) < 5


def test_a_restless_start_is_known():
    restless = plain_rows(600, noise=1.0, us=20_000.0)
    model, calm = learn_live(restless), plain_rows(600, seed=1, us=20_000.0)
    low, high = model.range_us
    assert high > 10 * low
    assert is_calmer(model, LiveJudge(model).judge(calm).table)
    assert not is_calmer(model, LiveJudge(model).judge(restless).table)
    assert not is_calmer(learn_live(calm), LiveJudge(learn_live(calm)).judge(calm).table)


def test_a_slow_start_is_known(model):
    fast = LiveJudge(model).judge(plain_rows(600, us=2000.0)).table
    assert is_calmer(model, fast)
    assert not is_calmer(model, fast.with_columns(expected_us=pl.lit(None, dtype=pl.Float64)))


def test_a_slow_beginning_is_not_learned(model):
    rows = slower(slower(plain_rows(1000), 3.0, 0, 60), 100.0, 0, 2)
    learned_model = learn_live(rows)
    assert learned_model.cycles == pytest.approx(940, abs=10)
    assert learned_model.limits.sums[0].limit == pytest.approx(model.limits.sums[0].limit, rel=0.2)


def test_drift_is_not_learned(model):
    rows = plain_rows(5000, seed=4)
    grows = 1 + 0.5 * pl.int_range(pl.len()) / pl.len()
    judge = LiveJudge(model)
    judge.judge(rows.with_columns(pl.col("duration_us") * grows))
    assert len(judge.open_alarms) == 1


def test_gaps_clock_jumps_and_odd_rows_are_let_pass(model, server):
    rows = plain_rows(400, seed=5)
    place = pl.int_range(pl.len())
    jumps = pl.when(place < 100).then(1e6).when(place < 200).then(0.0).otherwise(9e6)
    odd = pl.when(place % 9 == 4).then(None).when(place % 9 == 5).then(-1.0)
    rows = rows.with_columns(pl.col("start_ts") + jumps, odd.otherwise("duration_us").alias(
        "duration_us")).with_columns(tokens=pl.lit(3.0))  # fmt: skip
    judged_cycles = LiveJudge(model).judge(rows)
    assert (judged_cycles.raised, judged_cycles.table.height) == ((), 400)
    gone = LiveJudge(server).judge(served_rows(cycle_rows(1)).drop("batch_size"))
    assert gone.table["outside"].all()


def test_no_rows_are_judged(model, server):
    for live_model in (model, server):
        judge = LiveJudge(live_model)
        assert judge.judge(plain_rows(0)).table.height == 0
        assert judge.judge(plain_rows(1)).table.height == 1


def test_many_streams_stay_bounded(model):
    judge = LiveJudge(model)
    for first in range(0, 1200, 600):
        names = [f"{number}.0" for number in range(first, first + 600)]
        judge.judge(plain_rows(600).with_columns(job_name=pl.Series(names)))
    assert len(judge._streams) <= 1024


def test_a_constant_workload_that_changes_is_outside():
    rows = plain_rows(500).with_columns(batch_size=pl.lit(32))
    learned = learn_live(rows, source="optimizer step SGD")
    assert learned.source == "optimizer step SGD"
    other = rows.with_columns(pl.lit(64).alias("batch_size"), pl.col("duration_us") * 2)
    judged_cycles = LiveJudge(learned).judge(other)
    assert (judged_cycles.raised, judged_cycles.table["outside"].all()) == ((), True)
    assert judged_cycles.table["phase"].unique().to_list() == ["cycle"]


def test_a_live_model_is_the_same_after_writing(server):
    assert live_model_from(server.to_json(), "m.json") == server


@pytest.mark.parametrize(
    "change",
    [
        lambda _: b"{}",
        lambda live_model: live_model.to_json()[:-100],
        lambda live_model: live_model.model.to_json(),
        lambda live_model: live_model.to_json().replace(b"watch-live/1", b"watch-live/9"),
        lambda live_model: _limits(live_model, sums=[]),
        lambda live_model: _limits(live_model, groups=live_model.limits.groups[1:]),
    ],
)
def test_files_that_are_no_live_model_are_refused(model, change):
    with pytest.raises(UnreadableError, match=r"^m\.json: not a model of a running program"):
        live_model_from(change(model), "m.json")


def _limits(model: LiveModel, **parts: object) -> bytes:
    limits = msgspec.structs.replace(model.limits, **parts)
    return msgspec.structs.replace(model, limits=limits).to_json()


def test_too_few_cycles_are_not_learned_from():
    with pytest.raises(UsageError, match="too few to learn from"):
        learn_live(plain_rows(30))
