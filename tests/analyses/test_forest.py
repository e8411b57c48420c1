"""Host calls nested by thread."""

from __future__ import annotations

from hypothesis import given, settings

import oracle
from oracle import Recording
from timesink.analyses.forest import ROLE_NAMES, call_forest
from timesink.model.trace import Trace


def same_as_the_oracle(trace: Trace) -> None:
    found, nodes = call_forest(trace), oracle.forest(trace)
    number = {node: place for place, node in enumerate(nodes)}
    finished = [node for node in nodes if node.parent is None]
    finished = {node: rank for rank, node in enumerate(n for r in finished for n in r.finished())}
    assert found.row.tolist() == [node.row for node in nodes]
    assert [found.threads[thread] for thread in found.thread] == [node.thread for node in nodes]
    assert [found.names[name] for name in found.name] == [node.name for node in nodes]
    assert [ROLE_NAMES[role] for role in found.role] == [node.role for node in nodes]
    assert found.parent.tolist() == [number.get(node.parent, -1) for node in nodes]
    assert found.depth.tolist() == [node.depth for node in nodes]
    assert found.crossing.tolist() == [node.crossing for node in nodes]
    assert found.self_start.tolist() == [node.self_start for node in nodes]
    assert found.stands_for.tolist() == [number[node.stands_for] for node in nodes]
    assert found.size.tolist() == [len(list(node.subtree())) for node in nodes]
    assert found.post_order.tolist() == [finished[node] for node in nodes]
    sums = found.subtree_sum(found.row + 1)
    assert sums.tolist() == [sum(each.row + 1 for each in node.subtree()) for node in nodes]
    for place, node in enumerate(nodes):
        assert found.children(place).tolist() == [number[child] for child in node.children]


@given(oracle.recordings(nested=True, work=14))
@settings(max_examples=150, deadline=None)
def test_nested_calls_are_as_the_oracle_says(recording: Recording):
    same_as_the_oracle(recording.trace)


@given(oracle.recordings(work=14))
@settings(max_examples=150, deadline=None)
def test_crossing_calls_are_as_the_oracle_says(recording: Recording):
    same_as_the_oracle(recording.trace)
