"""Host calls nested by thread."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
import timesink
from cases import DATA_LOADER, MAIN, MODULE, OTHER, PID, STEP, K, O, R, host_event, read
from recordings import Recording, recordings
from timesink.analyses.forest import (
    ROLE_NAMES,
    CallForest,
    call_forest,
    chains,
    nest_calls,
)
from timesink.model.nested_calls import nest_in_order, subtree_sizes
from timesink.model.trace import Trace
from timesink.runtime.native import is_native

Tree: TypeAlias = dict[str, "Tree"]


def tree(forest: CallForest, node: int = -1) -> Tree:
    """Names of the calls inside one, each with the calls inside it."""
    return {forest.names[forest.name[n]]: tree(forest, int(n)) for n in forest.children(node)}


def node_index(forest: CallForest, name: str) -> int:
    return next(n for n in range(len(forest)) if forest.names[forest.name[n]] == name)


class TestNesting:
    def test_a_call_is_inside_the_shortest_call_around_it(self):
        trace = read(O("c", 30, 10), O("a", 0, 100), O("d", 60, 10), O("b", 20, 30))
        assert tree(call_forest(trace)) == {"a": {"b": {"c": {}}, "d": {}}}

    def test_of_calls_that_start_together_the_longer_is_outside(self):
        assert tree(call_forest(read(O("b", 0, 50), O("a", 0, 100)))) == {"a": {"b": {}}}

    def test_calls_may_end_together(self):
        assert tree(call_forest(read(O("a", 0, 100), O("b", 50, 50)))) == {"a": {"b": {}}}

    def test_of_equal_calls_the_first_in_the_file_is_outside(self):
        assert tree(call_forest(read(O("a", 0, 10), O("b", 0, 10)))) == {"a": {"b": {}}}

    def test_a_module_is_around_an_operator_that_takes_as_long(self):
        module = MODULE("nn.Module: ReLU_0", 0, 10, python_id=1, parent=None, module=0)
        inside = {"nn.Module: ReLU_0": {"aten::relu": {}}}
        assert tree(call_forest(read(O("aten::relu", 0, 10), module))) == inside
        assert tree(call_forest(read(module, O("aten::relu", 0, 10)))) == inside

    def test_a_call_that_starts_where_another_ends_is_beside_it(self):
        assert tree(call_forest(read(O("a", 0, 10), O("b", 10, 10)))) == {"a": {}, "b": {}}

    def test_calls_without_length(self):
        trace = read(O("a", 0, 10), O("first", 0, 0), O("middle", 5, 0), O("last", 10, 0))
        assert tree(call_forest(trace)) == {"a": {"first": {}, "middle": {}}, "last": {}}

    def test_sizes_and_order_of_finishing(self):
        forest = call_forest(read(O("a", 0, 100), O("b", 10, 50), O("c", 20, 10), O("d", 70, 10)))
        assert forest.size.tolist() == [4, 2, 1, 1]
        assert forest.post_order.tolist() == [3, 1, 0, 2]
        assert forest.subtree_sum(forest.end - forest.start).tolist() == [
            170_000,
            60_000,
            10_000,
            10_000,
        ]

    def test_nothing(self):
        forest = call_forest(read(R(0, 10, c=1), K("gemm", 20, 5, c=1)))
        assert len(forest) == 0
        assert (
            forest.size.tolist() == forest.post_order.tolist() == forest.children(-1).tolist() == []
        )


class TestThreads:
    def test_threads_are_apart_and_in_the_order_of_their_first_call(self):
        trace = read(O("late", 50, 10), O("early", 0, 100, tid=OTHER), O("later", 55, 2))
        forest = call_forest(trace)
        assert forest.threads == [(str(PID), OTHER), (str(PID), MAIN)]
        assert tree(forest) == {"early": {}, "late": {"later": {}}}

    @pytest.mark.parametrize("tids", ["ab", "ba"])
    def test_threads_that_start_together_are_ordered_by_name(self, tids: str):
        forest = call_forest(read(*(O("mm", 0, 10, tid=tid) for tid in tids)))
        assert [tid for _, tid in forest.threads] == ["a", "b"]

    def test_the_same_thread_number_in_two_processes(self):
        other = {**O("b", 10, 10), "pid": "node1(77)"}
        assert tree(call_forest(read(O("a", 0, 100), other))) == {"a": {}, "b": {}}


class TestCrossing:
    def test_a_call_that_outlasts_another_is_beside_it_with_its_own_time_after_it(self):
        forest = call_forest(read(O("outer", 0, 100), O("a", 10, 20), O("b", 20, 20)))
        assert tree(forest) == {"outer": {"a": {}, "b": {}}}
        assert forest.crossing.tolist() == [False, False, True]
        assert forest.self_start.tolist() == [0, 10_000, 30_000]

    def test_a_call_that_outlasts_its_step_still_belongs_to_it(self):
        forest = call_forest(read(STEP(1, 0, 100), O("a", 90, 20), STEP(2, 100, 100)))
        assert tree(forest) == {"ProfilerStep#1": {"a": {}}, "ProfilerStep#2": {}}
        assert forest.crossing[node_index(forest, "a")]
        assert forest.self_start[node_index(forest, "a")] == 90_000

    def test_calls_inside_one_that_outlasts_its_step_stay_inside(self):
        events = [O("a", 90, 30), O("before", 92, 3), O("across", 95, 10), O("after", 110, 5)]
        forest = call_forest(read(STEP(1, 0, 100), *events))
        inside = {"before": {}, "across": {}, "after": {}}
        assert tree(forest) == {"ProfilerStep#1": {"a": inside}}
        assert forest.crossing.tolist() == [False, True, False, False, False]

    def test_other_threads_are_not_concerned(self):
        events = [O("a", 0, 10, tid=OTHER), O("b", 5, 10, tid=OTHER), O("c", 0, 10), O("d", 5, 5)]
        assert tree(call_forest(read(*events))) == {"a": {}, "b": {}, "c": {"d": {}}}


class TestMerging:
    def stands_for(self, *events: dict) -> list[int]:
        return call_forest(read(*events)).stands_for.tolist()

    def test_an_only_callee_of_the_same_name_is_one_call_with_its_caller(self):
        assert self.stands_for(O("mm", 0, 90), O("mm", 10, 60), O("mm", 20, 20)) == [0, 0, 0]

    def test_two_callees_are_calls_of_their_own(self):
        assert self.stands_for(O("mm", 0, 90), O("mm", 10, 20), O("add", 40, 20)) == [0, 1, 2]

    def test_another_name_is_a_call_of_its_own(self):
        assert self.stands_for(O("mm", 0, 90), O("add", 10, 60), O("mm", 20, 20)) == [0, 1, 2]

    def test_annotations_are_not_merged(self):
        notes = [host_event("user_annotation", "nccl:send", ts, 10 - ts, MAIN) for ts in (0, 2)]
        assert self.stands_for(*notes) == [0, 1]


class TestRoles:
    @pytest.mark.parametrize(
        ("event", "role"),
        [
            (O("aten::mm", 0, 1), "operator"),
            (O("nccl:all_reduce", 0, 1), "operator"),
            (O("DataParallel.forward", 0, 1), "wrapper"),
            (O("DistributedDataParallel.forward", 0, 1), "wrapper"),
            (O("Optimizer.zero_grad#SGD.zero_grad", 0, 1), "wrapper"),
            (O("Optimizer.step#SGD.step", 0, 1), "optimizer"),
            (O(DATA_LOADER, 0, 1), "data_loader"),
            (STEP(1, 0, 1), "step"),
            (host_event("user_annotation", "ProfilerStep#1", 0, 1, MAIN), "step"),
            (host_event("user_annotation", DATA_LOADER, 0, 1, MAIN), "data_loader"),
            (host_event("user_annotation", "nccl:all_reduce", 0, 1, MAIN), "collective"),
            (host_event("Python", "train", 0, 1, MAIN), "python"),
            (MODULE("nn.Module: Linear_0", 0, 1, python_id=1, parent=None, module=0), "module"),
        ],
    )
    def test_by_name_and_category(self, event: dict, role: str):
        assert [ROLE_NAMES[number] for number in call_forest(read(event)).role] == [role]

    @pytest.mark.parametrize(
        "event",
        [
            host_event("user_annotation", "forward", 0, 1, MAIN),
            MODULE("train.py(3): step", 0, 1, python_id=1, parent=None, module=None),
            R(0, 1, c=1),
        ],
    )
    def test_other_host_events_are_not_calls(self, event: dict):
        assert len(call_forest(read(event))) == 0

    def test_rows_of_operator_statistics(self):
        forest = call_forest(
            read(STEP(1, 0, 100), O("mm", 0, 50), O("mm", 10, 20), O(DATA_LOADER, 60, 9))
        )
        assert forest.is_operator.tolist() == [False, True, False, False]


# -- against the oracle ----------------------------------------------------------------------------


def check_against_the_oracle(trace: Trace) -> None:
    forest, nodes = call_forest(trace), oracle.forest(trace)
    number = {node: place for place, node in enumerate(nodes)}
    roots = [node for node in nodes if node.parent is None]
    finished = [number[node] for root in roots for node in root.finished()]
    assert forest.row.tolist() == [node.row for node in nodes]
    assert [forest.threads[thread] for thread in forest.thread] == [node.thread for node in nodes]
    assert [forest.names[name] for name in forest.name] == [node.name for node in nodes]
    assert [ROLE_NAMES[role] for role in forest.role] == [node.role for node in nodes]
    assert forest.parent.tolist() == [number.get(node.parent, -1) for node in nodes]
    assert forest.depth.tolist() == [node.depth for node in nodes]
    assert forest.crossing.tolist() == [node.crossing for node in nodes]
    assert forest.self_start.tolist() == [node.self_start for node in nodes]
    assert forest.stands_for.tolist() == [number[node.stands_for] for node in nodes]
    assert forest.size.tolist() == [len(list(node.subtree())) for node in nodes]
    assert forest.post_order.argsort().tolist() == finished
    sums = forest.subtree_sum(forest.row + 1)
    assert sums.tolist() == [
        sum(descendant.row + 1 for descendant in node.subtree()) for node in nodes
    ]
    for node, place in number.items():
        assert forest.children(place).tolist() == [number[child] for child in node.children]


def test_the_sample_is_as_the_oracle_says():
    check_against_the_oracle(timesink.open(timesink.sample()))


@given(recordings(nested=True, work=14))
def test_nested_calls_are_as_the_oracle_says(recording: Recording):
    check_against_the_oracle(recording.trace)


@given(recordings(work=14))
def test_crossing_calls_are_as_the_oracle_says(recording: Recording):
    check_against_the_oracle(recording.trace)


@pytest.mark.parametrize("kind", [[0, 1, 0, 2, 1], [2, 0, 2, 1, 0], [1, 2, 1, 0, 2]])
def test_rows_of_chains_do_not_depend_on_how_names_are_numbered(kind):
    # Numbers of names depend on what was read before, also by threads beside this one.
    caller, depth = np.array([-1, 0, -1, 0, 2]), np.array([0, 1, 0, 1, 1])
    row, first = chains(caller, depth, np.array(kind))
    assert row.tolist() == [0, 1, 0, 2, 1]
    assert first.tolist() == [0, 1, 3]


def test_numbers_of_threads_need_not_follow_one_another():
    thread = np.array([3, 3, 9, 9])
    start, end = np.array([0, 5, 0, 5]), np.array([10, 15, 10, 8])
    nesting = nest_calls(thread, start, end)
    assert nesting.crossing.tolist() == [False, True, False, False]
    assert nesting.parent.tolist()[2:] == [-1, 2]


CALLS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(0, 12), st.booleans()), max_size=40
)


@pytest.mark.skipif(not is_native(), reason="compiled code is not there, or turned off")
@given(CALLS)
def test_compiled_nesting_is_that_of_arrays_and_the_loop(calls):
    ordered = sorted(calls, key=lambda call: (call[0], call[1], -call[2]))
    thread, start, length = (np.array([call[at] for call in ordered], np.int64) for at in range(3))
    frames = np.array([call[3] for call in ordered], np.bool_)
    compiled = nest_calls(thread, start, start + length, frames)
    plain = nest_in_order(thread, start, start + length, frames)
    for name in ("parent", "depth", "crossing", "self_start"):
        assert np.array_equal(getattr(compiled, name), getattr(plain, name)), name
    assert np.array_equal(compiled.size, subtree_sizes(plain.depth, plain.parent))
