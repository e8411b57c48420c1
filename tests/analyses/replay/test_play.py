"""When nodes come: the compiled pass gives what the loop in Python gives, to the last bit."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import timesink
from timesink.analyses.replay.graph import replay_graph
from timesink.analyses.replay.play import (
    moments_by_loop,
    moments_of_nodes,
    passes_of,
    play,
    work_so_far,
)
from timesink.runtime.native import NATIVE_VARIABLE, is_native

compiled = pytest.mark.skipif(not is_native(), reason="compiled code is not there, or turned off")
TIMES = st.floats(-1e15, 1e15) | st.sampled_from([0.0, -0.0, float("inf"), float("nan"), 5e-324])


@st.composite
def graphs(draw):
    """Links to any node, also to those that come later, as a damaged recording might have them."""
    count = draw(st.integers(0, 40))
    links = st.lists(st.integers(-1, max(count - 1, -1)), min_size=count, max_size=count)
    times = st.lists(TIMES, min_size=count, max_size=count)
    (before, needs), (gap, lag) = (
        [np.array(draw(values), dtype) for _ in range(2)]
        for values, dtype in ((links, np.int32), (times, np.float64))
    )
    kind = np.array(draw(st.lists(st.integers(0, 2), min_size=count, max_size=count)), np.int64)
    numbers = np.arange(count, dtype=np.int32)
    graph = FakeGraph(
        before=before,
        needs=needs,
        gap=gap,
        lag=lag,
        point=np.where(kind == 1, numbers, -1),
        activity=np.where(kind == 2, numbers, -1),
        waits=np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count)), np.bool_),
    )
    return graph, *(np.array(draw(times), np.float64) for _ in range(2))


@dataclass
class FakeGraph:
    """What a replay reads of a graph."""

    before: np.ndarray
    needs: np.ndarray
    gap: np.ndarray
    lag: np.ndarray
    point: np.ndarray
    activity: np.ndarray
    waits: np.ndarray

    def __len__(self) -> int:
        return len(self.before)


@compiled
@given(graphs())
def test_both_give_the_same(drawn):
    graph, work, length = drawn
    with np.errstate(invalid="ignore"):
        gap, lag = passes_of(graph, work, length)
    by_loop = moments_by_loop(graph.before, gap, graph.needs, lag)
    # The sign of what is not a number says nothing.
    np.testing.assert_array_equal(moments_of_nodes(graph, work, length), by_loop)


@compiled
@pytest.mark.parametrize("name", ["h200/traces/cuda_graph", "tracelens/h100/bert-small.json.gz"])
def test_recordings(shared_root: Path, name: str, monkeypatch: pytest.MonkeyPatch):
    trace = timesink.open(shared_root / "data" / name)
    graph = replay_graph(trace)
    natively = play(graph)
    costs = np.random.default_rng(1).random((2, len(graph.points.time)))
    worked = work_so_far(graph, *costs)
    monkeypatch.setenv(NATIVE_VARIABLE, "0")
    assert work_so_far(graph, *costs).tobytes() == worked.tobytes()
    assert play(graph).node.tobytes() == natively.node.tobytes()
    assert len(graph)


@compiled
@pytest.mark.parametrize("link", [5, -2, 2**31 - 1])
def test_a_link_to_no_node_is_refused(link):
    links, none = np.array([-1, link], np.int32), np.full(2, -1, np.int32)
    zeros = np.zeros(2)
    graph = FakeGraph(links, none, zeros, zeros, none, none, np.zeros(2, np.bool_))
    with pytest.raises(IndexError):
        moments_of_nodes(graph, zeros, zeros)


@compiled
def test_arrays_of_other_lengths_are_refused():
    none, zeros = np.full(2, -1, np.int32), np.zeros(2)
    graph = FakeGraph(none, none, zeros[:1], zeros, none, none, np.zeros(2, np.bool_))
    with pytest.raises(ValueError, match="one length"):
        moments_of_nodes(graph, zeros, zeros)


@compiled
def test_arrays_of_other_types_are_refused():
    none, zeros = np.full(2, -1, np.int32), np.zeros(2)
    graph = FakeGraph(none, none.astype(np.int64), zeros, zeros, none, none, zeros > 0)
    with pytest.raises(ValueError, match="int32 is needed"):
        moments_of_nodes(graph, zeros, zeros)
