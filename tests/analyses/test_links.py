"""Device work, the calls that launched it, and the host calls these were made in."""

from __future__ import annotations

import polars as pl
from hypothesis import given

import oracle
import timesink
from builders import complete
from cases import MAIN, OTHER, PID, STEP, K, O, R, host_event, read
from recordings import Recording, recordings
from timesink.analyses.forest import call_forest
from timesink.analyses.links import link_launches
from timesink.analyses.steps import within_steps
from timesink.model.trace import Trace


def owners(trace: Trace) -> list[str | None]:
    """Names of the host calls that launched the device work, by start of the work."""
    forest, links = call_forest(trace), link_launches(trace)
    order = trace.device["ts_ns"].arg_sort()
    nodes = [int(links.node[row]) for row in order]
    return [forest.names[forest.name[node]] if node >= 0 else None for node in nodes]


def launch(ts: int, dur: int, *, x: int | None = None, tid: str = MAIN) -> list[dict]:
    """A runtime call and its kernel, some time later."""
    return [R(ts, dur, c=ts + 1, x=x, tid=tid), K("gemm", 1000 + ts, 5, c=ts + 1)]


class TestDeviceWorkAndItsCall:
    def test_by_correlation_id(self):
        trace = read(*launch(10, 5), *launch(20, 5))
        rows = link_launches(trace).call_row
        assert trace.host["ts_ns"][rows].to_list() == [10_000, 20_000]

    def test_a_launch_that_was_not_recorded(self):
        links = link_launches(read(O("mm", 0, 100), R(10, 5, c=1), K("gemm", 50, 5, c=2)))
        assert links.call_row.tolist() == links.node.tolist() == [-1]

    def test_no_host_at_all(self):
        links = link_launches(read(K("gemm", 50, 5, c=2)))
        assert links.call_row.tolist() == links.node.tolist() == [-1]
        assert links.calls.tolist() == []

    def test_correlation_zero_links_nothing(self):
        assert link_launches(read(R(10, 5, c=0), K("gemm", 50, 5, c=0))).call_row.tolist() == [-1]

    def test_of_nested_calls_with_one_id_the_outer_one_launched(self):
        inner = host_event("cuda_driver", "cuLaunchKernel", 12, 2, MAIN, correlation=1)
        trace = read(inner, R(10, 5, c=1), K("gemm", 50, 5, c=1))
        assert trace.host["name"][link_launches(trace).call_row].to_list() == ["cudaLaunchKernel"]

    def test_processes_that_launch_at_the_same_time_with_the_same_id(self):
        # Ranks of one job do the same things at the same time.
        def rank(pid: int, ts: int) -> list[dict]:
            place = {"pid": pid, "tid": 7, "args": {"correlation": 5}}
            return [
                complete("cuda_runtime", f"launch{pid}", ts, 10, **place),
                complete("kernel", "gemm", ts + 50, 5, **place),
            ]

        trace = read(*rank(100, 0), *rank(200, 5))
        rows = link_launches(trace).call_row
        assert trace.host["name"][rows].to_list() == ["launch100", "launch200"]

    def test_one_call_may_launch_several(self):
        trace = read(O("graph", 0, 99), R(10, 5, c=1), K("a", 50, 5, c=1), K("b", 60, 5, c=1))
        assert owners(trace) == ["graph", "graph"]


class TestCallAndWhatIsAroundIt:
    def test_the_innermost_call_around_it(self):
        trace = read(O("linear", 0, 100), O("mm", 10, 20), *launch(15, 5), *launch(50, 5))
        assert owners(trace) == ["mm", "linear"]

    def test_a_step_where_there_is_nothing_closer(self):
        assert owners(read(STEP(1, 0, 100), *launch(15, 5))) == ["ProfilerStep#1"]

    def test_nothing_around_it(self):
        assert owners(read(O("mm", 0, 10), *launch(15, 5))) == [None]

    def test_only_its_own_thread_counts(self):
        assert owners(read(O("mm", 0, 100), *launch(15, 5, tid=OTHER))) == [None]

    def test_the_same_thread_number_in_another_process_is_another_thread(self):
        elsewhere = complete("Operator", "mm", 0, 100, pid=PID + 1, tid=MAIN)
        assert owners(read(elsewhere, *launch(15, 5))) == [None]

    def test_calls_at_both_ends_are_inside(self):
        trace = read(O("mm", 10, 20), *launch(10, 20))
        assert owners(trace) == ["mm"]


class TestExternalIds:
    def test_the_id_chooses_among_the_calls_around_it(self):
        assert owners(
            read(O("linear", 0, 100, x=1), O("mm", 10, 20, x=2), *launch(15, 5, x=1))
        ) == ["linear"]

    def test_a_wrong_id_does_not_move_a_launch(self):
        # The first operator has the id as well, and took everything in the old plugin.
        events = [O("a", 0, 10, x=1), *launch(2, 3, x=1), O("b", 20, 10, x=1), *launch(22, 3, x=1)]
        assert owners(read(*events)) == ["a", "b"]

    def test_ids_of_zero_say_nothing(self):
        assert owners(read(O("a", 0, 10, x=0), O("b", 20, 10, x=5), *launch(22, 3, x=0))) == ["b"]

    def test_no_id_at_all(self):
        assert owners(read(O("a", 0, 10), *launch(2, 3))) == ["a"]

    def test_an_id_names_the_call_where_nothing_is_around_the_launch(self):
        assert owners(read(O("a", 0, 10, x=7), *launch(50, 3, x=7, tid=OTHER))) == ["a"]

    def test_a_launch_that_outlasts_the_call_with_its_id(self):
        # Times of old profilers are cut to whole microseconds, start and length apart.
        assert owners(read(O("a", 0, 10, x=7), *launch(9, 3, x=7))) == ["a"]

    def test_a_launch_where_the_call_with_its_id_ends_and_another_begins(self):
        assert owners(read(O("a", 0, 10, x=7), O("b", 10, 10, x=8), *launch(10, 0, x=7))) == ["a"]


def test_all_runtime_and_driver_calls_are_listed():
    sync = host_event("cuda_runtime", "cudaDeviceSynchronize", 50, 10, MAIN)
    driver = host_event("cuda_driver", "cuLaunchKernel", 20, 2, MAIN, correlation=4)
    trace = read(O("mm", 0, 40), driver, *launch(10, 5), sync)
    links = link_launches(trace)
    listed = zip(trace.host["name"][links.calls].to_list(), links.call_node.tolist(), strict=True)
    assert dict(listed) == {"cudaLaunchKernel": 0, "cuLaunchKernel": 0, "cudaDeviceSynchronize": -1}


def check_against_the_oracle(trace: Trace) -> None:
    launch_links, nodes = link_launches(trace), oracle.forest(trace)
    number = {node: place for place, node in enumerate(nodes)}
    calls, links = oracle.launches(trace), oracle.link(trace, nodes)
    assert launch_links.calls.tolist() == [call["row"] for call in calls]
    assert launch_links.call_node.tolist() == [
        number.get(oracle.owner(call, nodes), -1) for call in calls
    ]
    assert launch_links.call_row.tolist() == [row for row, _ in links]
    assert launch_links.node.tolist() == [number.get(node, -1) for _, node in links]


def test_links_of_a_step_of_the_sample_are_as_the_oracle_says():
    step = within_steps(timesink.open(timesink.sample()), "3")
    # The oracle compares every call with every other: a third of them has all there is.
    middle = step.host["ts_ns"].quantile(0.35)
    host = step.lazy("host").filter(pl.col("ts_ns") < middle)
    check_against_the_oracle(Trace(step.metadata, step.health, {**step.frames, "host": host}))


@given(recordings(nested=True))
def test_links_among_nested_calls_are_as_the_oracle_says(recording: Recording):
    check_against_the_oracle(recording.trace)


@given(recordings())
def test_links_among_crossing_calls_are_as_the_oracle_says(recording: Recording):
    check_against_the_oracle(recording.trace)
