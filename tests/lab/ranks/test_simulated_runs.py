"""Generated runs obey physics, and say the truth about themselves."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import polars as pl
import pytest

from thinning import every_nth
from timesink.errors import UsageError
from timesink.model.trace import Trace
from timesink_lab.ranks.generated import START_NS, tables_of
from timesink_lab.ranks.layout import PlannedLayout
from timesink_lab.ranks.plan import CAUSE_OF_KIND, KINDS, Plan, Straggler
from timesink_lab.ranks.simulate import FIRST_STEP, SimulatedRun, carry_out
from timesink_lab.ranks.truth import Truth

PLANS = {
    "data": Plan(ranks=4, ranks_per_node=2, steps=2),
    "sharded": Plan(ranks=4, ranks_per_node=2, steps=2, sharded=True),
    "tensor": Plan(ranks=4, ranks_per_node=2, tensor=2, steps=2),
    "expert": Plan(ranks=4, ranks_per_node=2, expert=2, steps=2),
    "pipeline": Plan(
        ranks=6, ranks_per_node=3, tensor=2, pipeline=3, microbatches=3, steps=2, layers=1
    ),
    "one rank": Plan(ranks=1, steps=2),
}
_IN_STAGES = Plan(ranks=4, ranks_per_node=2, pipeline=2, steps=4, layers=1)

Generated = tuple[SimulatedRun, dict[int, Trace]]


@cache
def simulate_run(name: str) -> Generated:
    run = carry_out(PLANS[name])
    return run, dict(tables_of(run))


@pytest.fixture(params=PLANS)
def run(request) -> Generated:
    return simulate_run(request.param)


def test_nothing_overlaps_on_a_stream_or_starts_before_its_launch(run):
    for trace in run[1].values():
        work = trace.device.filter(pl.col("kind") != "annotation").sort("ts_ns")
        after = (pl.col("ts_ns") + pl.col("dur_ns")).shift().over("stream", order_by="ts_ns")
        assert work.select((pl.col("ts_ns") >= after).all()).item()
        launches = trace.host.filter(pl.col("kind") == "runtime").select("correlation", "ts_ns")
        both = work.join(launches, on="correlation", suffix="_launch")
        assert both.height == work.height
        assert (both["ts_ns"] > both["ts_ns_launch"]).all()


def test_collectives_of_a_group_end_together_once_clocks_agree(run):
    calls = pl.concat([_collectives(run[0], rank, trace) for rank, trace in run[1].items()])
    met = calls.group_by("group", "place").agg(
        ranks=pl.len(),
        size=pl.col("size").first(),
        apart=pl.col("end").max() - pl.col("end").min(),
        shortest=(pl.col("end") - pl.col("start")).min(),
    )
    assert (met["ranks"] == met["size"]).all()
    assert (met["apart"] < 10_000).all()
    assert (met["shortest"] > 0).all()


def _collectives(run: SimulatedRun, rank: int, trace) -> pl.DataFrame:
    """Collective kernels on the true clock, counted within their group."""
    kernels = trace.device.join(trace.collectives, on="index").sort("ts_ns")
    one_sided = pl.col("collective").cast(pl.String).is_in(["send", "recv"])
    offset, drift = run.truth.clock_offset_ns[rank], run.truth.clock_drift_ppm[rank] * 1e-6
    first = pl.col("ts_ns") - trace.metadata.clock_offset_ns - START_NS - offset
    start = first / (1 + drift)
    return kernels.filter(~one_sided).select(
        group=pl.col("group_name").cast(pl.String),
        place=pl.int_range(pl.len()).over("group_name"),
        size="group_size",
        start=start,
        end=start + pl.col("dur_ns"),
    )


def test_what_is_sent_is_received_at_the_same_moment():
    run, traces = simulate_run("pipeline")
    ends: dict[str, dict[str, list[float]]] = {"send": {}, "recv": {}}
    for rank, trace in traces.items():
        offset = run.truth.clock_offset_ns[rank]
        calls = trace.device.filter(
            pl.col("name").cast(pl.String).str.contains("^nccl:(send|recv)")
        )
        for name, start, length in calls.select("name", "ts_ns", "dur_ns").iter_rows():
            kind, ranks = name.removeprefix("nccl:").split()
            pair = ranks if kind == "send" else "->".join(reversed(ranks.split("<-")))
            ends[kind].setdefault(pair, []).append(start + length - offset)
    assert ends["send"].keys() == ends["recv"].keys()
    for pair, sent in ends["send"].items():
        received = ends["recv"][pair]
        assert np.abs(np.sort(sent) - np.sort(received)).max() < 15_000


@cache
def healthy_in_stages() -> Truth:
    return carry_out(_IN_STAGES).truth


@pytest.mark.parametrize("kind", every_nth(KINDS, 2))
def test_a_straggler_costs_about_what_was_asked_and_is_told(kind):
    plan, healthy = _IN_STAGES, healthy_in_stages()
    run = carry_out(replace(plan, stragglers=(Straggler(kind, rank=3),)))
    (answer,) = run.truth.answers
    assert answer.cause == CAUSE_OF_KIND[kind]
    assert answer.cost_us == pytest.approx(run.truth.run_us - healthy.run_us)
    in_steps = answer.cost_us / len(answer.steps) / (healthy.run_us / plan.steps)
    # Stages get whole layers more: what these cost is as it is.
    assert in_steps > 0.05 if kind.endswith("stage") else in_steps == pytest.approx(0.25, rel=0.2)
    expected = {"slow_node": range(2, 4), "first_stage": range(2), "last_stage": range(2, 4)}
    assert set(answer.ranks) == set(expected.get(kind, [3]))
    assert len(answer.steps) == (2 if kind in {"thermal", "gc_pause"} else 4)
    assert set(answer.steps) <= {FIRST_STEP + step for step in range(plan.steps)}


@pytest.mark.parametrize("kind", ["python_stall", "slow_host", "sync", "slow_clock"])
def test_a_little_is_little_although_the_host_is_ahead_of_the_device(kind):
    run = carry_out(Plan(ranks=4, steps=3, stragglers=(Straggler(kind, rank=2, intensity=0.05),)))
    (answer,) = run.truth.answers
    assert 0.03 < answer.cost_us / run.truth.healthy_run_us < 0.07


def test_two_stragglers_are_told_apart():
    both = (
        Straggler("data_loading", rank=1, share=0.5),
        Straggler("uneven_work", rank=6),
    )
    truth = carry_out(Plan(ranks=8, steps=4, stragglers=both)).truth
    assert [answer.ranks for answer in truth.answers] == [(1,), (6,)]
    assert len(truth.answers[0].steps) == 2
    assert all(answer.cost_us > 0 for answer in truth.answers)


def test_clocks_of_a_node_agree_and_those_of_others_are_apart():
    truth = carry_out(Plan(ranks=32, steps=1)).truth
    offsets = np.array(truth.clock_offset_ns).reshape(4, 8)
    assert (offsets == offsets[:, :1]).all()
    assert len(np.unique(offsets)) == 4
    assert 0 < np.ptp(offsets) <= 5_000_000


def test_every_rank_is_in_one_group_of_each_role():
    layout = PlannedLayout(Plan(ranks=32, tensor=2, pipeline=2, expert=4))
    for role, groups in layout.members.items():
        ranks = np.concatenate(groups)
        assert sorted(ranks) == list(range(32)), role


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: Plan(ranks=10, tensor=4), "cannot be divided"),
        (lambda: Plan(ranks=0), "needs ranks"),
        (lambda: Plan(stragglers=(Straggler("tired"),)), "no slowness of the kind"),
        (lambda: Plan(ranks=2, stragglers=(Straggler("sync", 2),)), "no rank 2"),
        (lambda: Plan(stragglers=(Straggler("sync", share=0.0),)), "share of the steps"),
        (lambda: carry_out(Plan(stragglers=(Straggler("last_stage"),))), "without pipeline"),
    ],
)
def test_plans_that_cannot_be_are_refused(make, reason):
    with pytest.raises(UsageError, match=reason):
        make()
