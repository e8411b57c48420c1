"""Small examples of what analyses.ranks computes."""

from __future__ import annotations

import numpy as np
import polars as pl

import timesink
from timesink.analyses.columns import stack_tables
from timesink.analyses.ranks.analysis import (
    analyse_ranks,
    cost_together,
    judged_ranks,
    step_waits,
)
from timesink.analyses.ranks.collectives import kind_told, peer_median, so_far
from timesink.analyses.ranks.lateness import Panel, late_steps, least_share
from timesink.analyses.ranks.own_time import (
    find_blocked_ranges,
    function_times,
    own_time_before,
    waited_for,
    work_of_shapes,
)
from timesink.analyses.ranks.rank_set import NamedRecording, rank_numbers, ranks_of_traces
from timesink.analyses.ranks.summary import (
    _believable,
    from_parquet,
    summarise_rank,
    thinned_to,
    to_parquet,
    within_limits,
)
from timesink.analyses.ranks.tables import straggler_rows
from timesink.model.findings import Straggler


def test_analyse_ranks() -> None:
    summary = summarise_rank(timesink.open(timesink.sample()))
    assert analyse_ranks({0: summary}).stragglers == ()


def test_function_times() -> None:
    times = function_times(timesink.open(timesink.sample()), np.array([[0, 2**62]]))
    assert sorted(times["place"].cast(str).unique()) == ["copy", "host", "kernel", "waiting"]


def test_kind_told() -> None:
    assert (
        kind_told("TENSOR_MODEL_PARALLEL_GROUP"),
        kind_told("mesh_dp_shard"),
        kind_told("undefined"),
    ) == ("tp", "dp", None)
    assert (kind_told("EXPERT_DATA_PARALLEL_GROUP"), kind_told("EXPERT_MODEL_PARALLEL_GROUP")) == (
        "dp",
        "ep",
    )


def test_judged_ranks() -> None:
    assert judged_ranks({}) == {}


def test_least_share() -> None:
    assert (least_share(64), least_share(2)) == (0.025, 0.05)


def test_affected() -> None:
    assert late_steps(np.array([0.0, 8.0, 10.0, 1.0]), step_ns=100.0).tolist() == [
        False,
        True,
        True,
        False,
    ]


def test_peer_median() -> None:
    assert peer_median(np.array([1.0, 2.0, 9.0, 4.0]), np.array([0, 0, 0, 1]))[0].tolist() == [
        2.0,
        2.0,
        2.0,
        4.0,
    ]


def test_numbered() -> None:
    assert rank_numbers([NamedRecording("b", 1, None), NamedRecording("a", 0, None)])[0] == (1, 0)
    assert rank_numbers([NamedRecording("rank4", None, 4), NamedRecording("x", None, None)]) == (
        (4, 0),
        ("x does not say which rank it is: it counts as rank 0",),
    )


def test_work_of_shapes() -> None:
    assert (work_of_shapes("[[2, 3], [3, 5], []]"), work_of_shapes("[[2, 3], [2, 3]]")) == (
        30.0,
        6.0,
    )
    assert (work_of_shapes("[[], []]"), work_of_shapes("")) == (0.0, 0.0)


def test_blocked() -> None:
    working = np.array([[0, 10], [12, 20], [30, 40]])
    assert find_blocked_ranges(working, np.array([[5, 27]])).tolist() == [[20, 27]]


def test_own_time_before() -> None:
    assert own_time_before(np.array([0, 10, 30]), np.array([[12, 25]])).tolist() == [10, 7]


def test_waited_for() -> None:
    assert waited_for(np.array([30, 20]), np.array([[12, 25]])).tolist() == [5, 8]


def test_rankset() -> None:
    rank_set = ranks_of_traces({"worker0": timesink.open(timesink.sample())})
    assert (list(rank_set.ranks), rank_set.names, rank_set.analysis.stragglers) == (
        [0],
        ["worker0"],
        (),
    )


def test_stacked() -> None:
    step_table = pl.DataFrame({"step": ["3", "4"]})
    assert stack_tables({0: step_table, 7: step_table})["rank"].to_list() == [0, 0, 7, 7]


def test_summarise_rank() -> None:
    assert summarise_rank(timesink.open(timesink.sample())).steps.columns[:3] == [
        "step",
        "start_ns",
        "end_ns",
    ]


def test_believable() -> None:
    assert (_believable(63), _believable(10**12)) == (63, None)


def test_to_parquet() -> None:
    content = to_parquet(summarise_rank(timesink.open(timesink.sample())))
    assert from_parquet(content).about.device == "NVIDIA H200"


def test_step_waits() -> None:
    row = {"rank": 0, "step": "1", "collective": "all_reduce", "held_up_ns": 0, "exposed_ns": 9}
    times = [{"start_ns": 0, "wait_ns": 10}, {"start_ns": 5, "wait_ns": 10}]
    assert step_waits(pl.DataFrame([row | time for time in times]))[
        "wait_suffered_ns"
    ].to_list() == [15]


def test_within_limits() -> None:
    trace = timesink.open(timesink.sample())
    assert within_limits(summarise_rank(trace), trace) is summarise_rank(trace)


def test_thinned_to() -> None:
    summary = summarise_rank(timesink.open(timesink.sample()))
    assert thinned_to(summary, 1000) is summary


def test_cost_together() -> None:
    panel_ns = np.array([[5.0, 5.0], [5.0, 0.0]])
    panel = Panel(np.arange(2), ("1", "2"), panel_ns, panel_ns, panel_ns, {}, panel_ns, np.zeros(2))
    always = Straggler("gpu_clock", "", rank=0, cost_ns=10.0, share=0.2, steps=("1", "2"))
    once = Straggler("host_code", "", rank=1, cost_ns=7.0, share=0.1, steps=("1",))
    assert cost_together([always, once], panel)[0] == 12.0


def test_straggler_rows() -> None:
    assert straggler_rows(ranks_of_traces({"a": timesink.open(timesink.sample())})).height == 0


def test_so_far() -> None:
    calls = pl.DataFrame({"rank": [0, 1, 0], "start_ns": [7, 0, 3], "own_ns": [2, 5, 1]})
    assert so_far(calls).tolist() == [3.0, 5.0, 1.0]
