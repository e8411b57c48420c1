"""When nodes come: the compiled pass gives what the loop in Python gives, to the last bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import timesink
from timesink.analyses.replay.graph import replay_graph
from timesink.analyses.replay.play import moments_by_loop, moments_of_nodes, play
from timesink.runtime.native import NATIVE_VARIABLE, native_module

compiled = pytest.mark.skipif(native_module() is None, reason="built without a compiler")
TIMES = st.floats(-1e15, 1e15) | st.sampled_from([0.0, -0.0, float("inf"), float("nan"), 5e-324])


@st.composite
def graphs(draw):
    """Links to any node, also to those that come later, as a damaged recording might have them."""
    count = draw(st.integers(0, 40))
    links = st.lists(st.integers(-1, max(count - 1, -1)), min_size=count, max_size=count)
    times = st.lists(TIMES, min_size=count, max_size=count)
    integers = (np.array(draw(links), np.int64) for _ in range(2))
    floats = (np.array(draw(times), np.float64) for _ in range(2))
    (before, needs), (gap, lag) = integers, floats
    return before, gap, needs, lag


@compiled
@given(graphs())
def test_both_give_the_same(graph):
    assert moments_of_nodes(*graph).tobytes() == moments_by_loop(*graph).tobytes()


@compiled
@pytest.mark.parametrize("name", ["h200/traces/cuda_graph", "tracelens/h100/bert-small.json.gz"])
def test_recordings(shared_root: Path, name: str, monkeypatch: pytest.MonkeyPatch):
    trace = timesink.open(shared_root / "data" / name)
    graph = replay_graph(trace)
    natively = play(graph)
    monkeypatch.setenv(NATIVE_VARIABLE, "0")
    assert play(graph).node.tobytes() == natively.node.tobytes()
    assert len(graph)


@compiled
@pytest.mark.parametrize("link", [5, -2, 2**62])
def test_a_link_to_no_node_is_refused(link):
    links = np.array([-1, link], np.int64)
    with pytest.raises(IndexError):
        moments_of_nodes(links, np.zeros(2), np.full(2, -1), np.zeros(2))


@compiled
def test_arrays_of_other_lengths_are_refused():
    with pytest.raises(ValueError, match="one length"):
        native_module().play(bytes(16), bytes(16), bytes(8), bytes(16))
