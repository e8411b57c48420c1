"""Which forward call a backward call belongs to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import timesink
from builders import Event, flow
from cases import MAIN, OTHER, PID, O, read
from timesink.analyses.forest import call_forest
from timesink.analyses.modules import link_backward
from timesink.model.trace import Trace

ENGINE = "autograd::engine::evaluate_function: "
ACCUMULATE = f"{ENGINE}torch::autograd::AccumulateGrad"


def forward(name: str, ts: int, dur: int, sequence: int, tid: str = MAIN) -> Event:
    return O(name, ts, dur, tid=tid, **{"Sequence number": sequence, "Fwd thread id": 0})


def backward(name: str, ts: int, dur: int, sequence: int, thread: int = 1) -> Event:
    return O(name, ts, dur, tid=OTHER, **{"Sequence number": sequence, "Fwd thread id": thread})


def arrow(number: int, start: int, end: int) -> list[Event]:
    return [
        flow("s", number, start, category="fwdbwd", pid=PID, tid=MAIN),
        flow("f", number, end, category="fwdbwd", pid=PID, tid=OTHER),
    ]


def pairs(trace: Trace) -> list[tuple[str, str | None]]:
    """Name of each backward call, and of its forward call with the start in us."""
    forest, links = call_forest(trace), link_backward(trace)
    begin = int(forest.start.min())

    def name_of(node: int) -> str:
        return forest.names[forest.name[node]].removeprefix(ENGINE)

    def place_of(node: int) -> str | None:
        return f"{name_of(node)} at {(forest.start[node] - begin) // 1000}" if node >= 0 else None

    node_pairs = zip(links.node.tolist(), links.forward.tolist(), strict=True)
    return [(name_of(node), place_of(source)) for node, source in node_pairs]


def test_arrows():
    trace = read(
        O("aten::mm", 0, 20),
        O("aten::relu", 30, 20),
        O(f"{ENGINE}ReluBackward0", 100, 10, tid=OTHER),
        O(f"{ENGINE}MmBackward0", 120, 30, tid=OTHER),
        O("MmBackward0", 122, 20, tid=OTHER),
        *arrow(1, 30, 100),
        *arrow(2, 0, 122),
    )
    assert pairs(trace) == [("ReluBackward0", "aten::relu at 30"), ("MmBackward0", "aten::mm at 0")]


def test_an_arrow_without_its_other_end_ties_nothing():
    trace = read(
        O("aten::mm", 0, 20), O(f"{ENGINE}MmBackward0", 120, 30, tid=OTHER), *arrow(2, 0, 120)[:1]
    )
    assert pairs(trace) == [("MmBackward0", None)]


def test_sequence_numbers_where_there_are_no_arrows():
    """A call that makes no gradient function leaves its number to the next."""
    trace = read(
        forward("aten::to", 0, 10, 7),
        forward("aten::conv2d", 20, 30, 7),
        forward("aten::convolution", 22, 20, 7),
        forward("aten::relu", 60, 10, 8),
        backward(f"{ENGINE}ReluBackward0", 100, 10, 8),
        backward(f"{ENGINE}ConvolutionBackward0", 120, 30, 7),
        backward("ConvolutionBackward0", 125, 20, 7),
    )
    assert pairs(trace) == [
        ("ReluBackward0", "aten::relu at 60"),
        ("ConvolutionBackward0", "aten::convolution at 22"),
    ]


def test_old_recordings_name_the_functions_alone():
    trace = read(
        forward("aten::mm", 0, 20, 3),
        backward("MmBackward", 100, 40, 3),
        O("aten::mm", 110, 20, tid=OTHER),
        O("torch::autograd::AccumulateGrad", 150, 10, tid=OTHER),
    )
    assert pairs(trace) == [
        ("MmBackward", "aten::mm at 0"),
        ("torch::autograd::AccumulateGrad", "aten::mm at 0"),
    ]


def test_the_same_numbers_on_two_forward_threads():
    """Each counts for itself, so a number alone does not tell which thread is meant."""
    trace = read(
        forward("aten::mm", 0, 20, 5),
        forward("aten::relu", 30, 20, 6),
        forward("aten::mul", 60, 5, 5, tid="789"),
        backward(f"{ENGINE}ReluBackward0", 100, 10, 6, thread=1),
        backward(f"{ENGINE}MmBackward0", 120, 10, 5, thread=1),
        backward(f"{ENGINE}MulBackward0", 140, 10, 5, thread=2),
    )
    assert pairs(trace) == [
        ("ReluBackward0", "aten::relu at 30"),
        ("MmBackward0", "aten::mm at 0"),
        ("MulBackward0", "aten::mul at 60"),
    ]


def test_a_gradient_is_summed_for_the_call_before_it():
    trace = read(
        forward("aten::mm", 0, 20, 5),
        backward(f"{ENGINE}MmBackward0", 100, 10, 5),
        O(ACCUMULATE, 120, 10, tid=OTHER),
        O(ACCUMULATE, 140, 10, tid=OTHER),
    )
    assert [source for _, source in pairs(trace)] == ["aten::mm at 0"] * 3


def test_a_gradient_sum_with_nothing_before_it_stands_alone():
    trace = read(
        forward("aten::mm", 0, 20, 5),
        O(ACCUMULATE, 80, 10, tid=OTHER),
        backward(f"{ENGINE}MmBackward0", 100, 10, 5),
    )
    assert [source for _, source in pairs(trace)] == [None, "aten::mm at 0"]


def test_calls_inside_a_backward_call_are_part_of_it():
    """However deep: what a checkpoint computes again and sends back counts once."""
    trace = read(
        forward("aten::checkpoint", 0, 20, 5),
        backward(f"{ENGINE}CheckpointFunctionBackward", 100, 90, 5),
        backward("CheckpointFunctionBackward", 101, 88, 5),
        O("aten::linear", 105, 20, tid=OTHER),
        O("run_backward", 130, 50, tid=OTHER),
        backward(f"{ENGINE}AddmmBackward0", 135, 20, 6),
        backward("AddmmBackward0", 137, 10, 6),
        O("torch::autograd::AccumulateGrad", 160, 10, tid=OTHER),
    )
    assert pairs(trace) == [("CheckpointFunctionBackward", "aten::checkpoint at 0")]


def test_nothing_recorded():
    assert len(link_backward(read()).node) == 0


# -- real recordings -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "h200/traces/resnet50_train",
        "tracelens/mi300/resnet_act_checkpoint.json.gz",
    ],
)
def test_arrows_and_sequence_numbers_agree(shared_root: Path, path: str):
    trace = timesink.open(shared_root / "data" / path)
    arrows = link_backward(trace)
    numbers = link_backward(without_arrows(trace))
    assert (arrows.forward >= 0).all()
    assert arrows.forward.tolist() == numbers.forward.tolist()


def without_arrows(trace: Trace) -> Trace:
    frames: dict[str, Any] = {
        name: frame for name, frame in trace.frames.items() if name != "flows"
    }
    return Trace(trace.metadata, trace.health, frames)


def test_every_backward_call_of_a_recording_without_arrows(shared_root: Path):
    path = "kineto/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz"
    trace = timesink.open(shared_root / "data" / path)
    assert trace.flows.filter(pl.col("kind") == "forward_backward").is_empty()
    links = link_backward(trace)
    assert (len(links.node), int((links.forward >= 0).sum())) == (2034, 2034)
