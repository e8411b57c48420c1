"""Host and device time of calls, their own and with what they call."""

from __future__ import annotations

from hypothesis import given

import oracle
from cases import OTHER, C, K, O, R, read
from recordings import Recording, recordings
from timesink.analyses.forest import call_forest
from timesink.analyses.operators import node_times
from timesink.model.trace import Trace


def own_host_times(*events: dict) -> dict[str, float]:
    """Time of each call without callees and runtime calls, in us."""
    trace = read(*events)
    forest, times = call_forest(trace), node_times(trace)
    names = [forest.names[code] for code in forest.name]
    return dict(zip(names, (times.host_self / 1000).tolist(), strict=True))


class TestOwnHostTime:
    def test_without_callees_and_runtime_calls(self):
        events = [O("a", 0, 100), O("b", 10, 20), R(50, 10, c=1), R(15, 5, c=2)]
        assert own_host_times(*events) == {"a": 70, "b": 15}

    def test_what_overlaps_is_taken_off_once(self):
        # A call into a library that makes a call of its own; the plugin went below zero.
        assert own_host_times(O("a", 0, 50), R(5, 40, c=1), R(10, 30, c=2)) == {"a": 10}

    def test_a_runtime_call_that_reaches_out_of_its_call_is_clipped(self):
        assert own_host_times(O("a", 0, 10, x=7), R(5, 40, c=1, x=7)) == {"a": 5}

    def test_a_runtime_call_around_a_callee(self):
        assert own_host_times(O("a", 0, 100), R(10, 50, c=1), O("b", 20, 10)) == {"a": 50, "b": 10}

    def test_calls_that_cross_share_no_time(self):
        assert own_host_times(O("a", 0, 20), O("b", 10, 20)) == {"a": 20, "b": 10}

    def test_crossing_callees_are_taken_off_once(self):
        assert own_host_times(O("f", 0, 50), O("a", 0, 20), O("b", 10, 20))["f"] == 20

    def test_runtime_calls_of_other_threads_do_not_matter(self):
        assert own_host_times(O("a", 0, 50), R(5, 40, c=1, tid=OTHER)) == {"a": 50}


class TestDeviceTime:
    def test_parallel_work_counts_each(self):
        trace = read(
            O("f", 0, 100),
            O("a", 10, 50),
            R(20, 5, c=1),
            K("gemm", 200, 30, c=1),
            R(30, 5, c=2),
            C(210, 30, c=2),
            R(70, 5, c=3),
            K("add", 300, 7, c=3),
        )
        times = node_times(trace)
        assert times.device_self.tolist() == [7_000, 60_000]
        assert times.device_total.tolist() == [67_000, 60_000]
        assert times.kernel_self.tolist() == [7_000, 30_000]

    def test_merged_calls_keep_all_launches(self):
        events = [O("mm", 0, 100), R(5, 5, c=1), O("mm", 20, 50), R(30, 5, c=2)]
        times = node_times(read(*events, K("a", 200, 3, c=1), K("b", 300, 4, c=2)))
        assert times.device_self.tolist() == [7_000, 0]
        assert times.host_self[0] == 90_000


def check_against_the_oracle(trace: Trace) -> None:
    nodes = oracle.forest(trace)
    oracle.add_times(trace, nodes)
    times = node_times(trace)
    assert times.host_total.tolist() == [node.end - node.start for node in nodes]
    assert times.device_self.tolist() == [node.launched_ns for node in nodes]
    below = [sum(descendant.launched_ns for descendant in node.subtree()) for node in nodes]
    assert times.device_total.tolist() == below
    for node, self_ns in zip(nodes, times.host_self.tolist(), strict=True):
        if node.stands_for is node:
            assert self_ns == node.self_ns


@given(recordings(nested=True))
def test_times_of_nested_calls_are_as_the_oracle_says(recording: Recording):
    check_against_the_oracle(recording.trace)


@given(recordings())
def test_times_of_crossing_calls_are_as_the_oracle_says(recording: Recording):
    check_against_the_oracle(recording.trace)
