"""What decides how long a run takes, and what has slack."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import timesink
from builders import complete
from cases import MAIN, OTHER, PID, STEP, K, O, R, host_event, read
from timesink.analyses.replay.critical_path import critical_path, slack
from timesink.analyses.replay.graph import replay_graph
from timesink.analyses.replay.play import play
from timesink.model.trace import Trace


def waiting_trace() -> Trace:
    """A short host, one long kernel after a short one, and a wait for both."""
    return read(
        STEP(1, 0, 500),
        O("aten::mm", 10, 40),
        R(20, 10, c=1),
        K("short", 35, 5, c=1),
        R(60, 10, c=2),
        K("long", 75, 400, c=2),
        host_event("Runtime", "cudaDeviceSynchronize", 80, 400, MAIN, correlation=9),
    )


def by_kind(trace: Trace) -> dict[str, int]:
    pieces = critical_path(trace, play(replay_graph(trace)))
    sums = pieces.group_by("kind").agg(pl.col("dur_ns").sum() // 1000)
    return dict(sums.rows())


def test_a_kernel_that_the_host_waits_for_decides():
    assert by_kind(waiting_trace()) == {
        "kernel": 400,
        "launch": 15,  # from the begin of the launch to the start of the kernel
        "host": 70,  # before the launch, and after the wait
        "wake_up": 5,
        "runtime_call": 10,
    }


def test_pieces_follow_one_another_without_a_hole():
    pieces = critical_path(waiting_trace(), play(replay_graph(waiting_trace())))
    end = pieces["start_ns"] + pieces["dur_ns"]
    assert end[:-1].to_list() == pieces["start_ns"][1:].to_list()
    assert (pieces["start_ns"][0], end[-1]) == (0, 500_000)


def test_a_path_whose_thread_was_recorded_late_has_no_hole_before_it():
    trace = read(
        complete("cpu_op", "aten::ones", 0, 10, pid=PID + 1, tid=OTHER, args={}),
        host_event("cpu_op", "aten::mm", 200, 300, MAIN),
    )
    pieces = critical_path(trace, play(replay_graph(trace)))
    assert pieces["start_ns"][0] == 0
    assert pieces["dur_ns"].sum() == 500_000


def test_what_is_not_on_the_path_has_slack():
    trace = waiting_trace()
    graph = replay_graph(trace)
    spare = slack(play(graph))[graph.node_of_activity]
    assert dict(zip(trace.device["name"], (spare / 1000).tolist(), strict=True)) == {
        "short": pytest.approx(33.5),  # until the long one could not start in time
        "long": 0.0,
    }


def test_a_window_of_it():
    pieces = critical_path(waiting_trace(), play(replay_graph(waiting_trace())), (100_000, 200_000))
    assert pieces.select("name", "dur_ns").rows() == [("long", 100_000)]


def test_work_of_a_device_alone():
    trace = read(K("a", 10, 5), K("b", 40, 10))
    names = critical_path(trace, play(replay_graph(trace)))["name"].to_list()
    assert names == ["a", "b", "b"]  # the gap before the second belongs to it


def test_the_path_of_the_sample_is_as_long_as_its_steps():
    trace = timesink.open(timesink.sample())
    played = play(replay_graph(trace))
    pieces = critical_path(trace, played)
    total_ns = played.node.max() - pieces["start_ns"][0]
    assert pieces["dur_ns"].sum() == pytest.approx(total_ns, rel=1e-6)
    assert not np.signbit(slack(played)).any() or slack(played).min() > -1
