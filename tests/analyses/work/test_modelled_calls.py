"""Which call owns which kernel, and what is said of kernels without one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from builders import Event, kernel, operator, runtime, step
from cases import read
from timesink.analyses.forest import call_forest
from timesink.analyses.work.calls import (
    LIKE,
    MODELLED,
    NO_CALL,
    NO_SHAPES,
    modelled_calls,
    run_facts,
)

PRODUCT = {
    "Input Dims": [[4096, 4096], [4096, 4096]],
    "Input type": ["c10::BFloat16", "c10::BFloat16"],
}
FLOP = 2.0 * 4096**3


def call(name: str, ts: float, *inner: Event, number: int = 1, **arguments: Any) -> Iterator[Event]:
    """An operator of 50 us that launches a kernel of 200 us, itself or through what it calls."""
    yield operator(name, ts, 50, **{"External id": number, **arguments})
    yield from inner
    yield runtime("cudaLaunchKernel", ts + 10, 5, number)
    yield kernel("nvjet_tst", ts + 100, 200, number, grid=[32, 1, 1], block=[128, 1, 1])


def test_a_kernel_belongs_to_the_innermost_call_with_a_formula():
    inner = operator("aten::mm", 105, 40, **{"External id": 1, **PRODUCT})
    modelled = modelled_calls(read(*call("aten::linear", 100, inner, **PRODUCT)))
    assert modelled.sets["operator"].to_list() == ["aten::mm"]
    assert modelled.sets["matrix_flop"].to_list() == [FLOP]
    assert modelled.modelled_share == 1.0


def test_a_call_inside_its_namesake_counts_once():
    inner = operator("aten::mm", 105, 40, **{"External id": 1, **PRODUCT})
    modelled = modelled_calls(read(*call("aten::mm", 100, inner, **PRODUCT)))
    assert modelled.calls.height == 1


def test_equal_calls_are_one_set_and_their_kernels_run_side_by_side_once():
    events = [*call("aten::mm", 100, **PRODUCT), *call("aten::mm", 1000, number=2, **PRODUCT)]
    # The second call runs a second kernel on another stream, 100 us of it beside the first.
    events += [
        runtime("cudaLaunchKernel", 1030, 5, 3),
        kernel("nvjet_tst", 1200, 200, 3, stream=8),
    ]
    modelled = modelled_calls(read(*events))
    assert modelled.sets.height == 2
    assert modelled.calls["union_ns"].to_list() == [200_000, 300_000]


def test_what_was_launched_before_the_recording_is_like_its_twin():
    early = kernel("nvjet_tst", 10, 100, 77, grid=[32, 1, 1], block=[128, 1, 1])
    other = kernel("another", 20, 50, 78, grid=[32, 1, 1], block=[128, 1, 1])
    modelled = modelled_calls(read(early, other, *call("aten::mm", 100, **PRODUCT)))
    by_length = dict(zip(modelled.kernels["dur_ns"], modelled.kernels["known"], strict=True))
    assert by_length == {100_000: LIKE, 50_000: NO_CALL, 200_000: MODELLED}
    # The same kernel on the same grid does the same, however long it takes.
    assert sorted(modelled.kernels["share"]) == [0.0, 1.0, 1.0]


def test_without_a_grid_more_time_is_more_work():
    early = kernel("nvjet_tst", 10, 100, 77)
    modelled = modelled_calls(read(early, *call("aten::mm", 100, **PRODUCT)))
    assert modelled.kernels["share"].sum() == pytest.approx(1.5)


def test_kernels_of_a_graph_are_like_their_twins():
    """A graph is launched within a step, which has no work of its own."""
    replayed = {"grid": [32, 1, 1], "block": [128, 1, 1], "graph id": 3, "graph node id": 9}
    events = [
        step(1, 0, 2000),
        *call("aten::mm", 100, **PRODUCT),
        runtime("cudaGraphLaunch", 1000, 20, 50),
        kernel("nvjet_tst", 1100, 200, 50, **replayed),
    ]
    assert modelled_calls(read(*events)).kernels["known"].to_list() == [MODELLED, LIKE]


def test_without_shapes_nothing_is_modelled():
    modelled = modelled_calls(read(*call("aten::mm", 100)))
    assert modelled.kernels["known"].to_list() == [NO_SHAPES]
    assert modelled.modelled_share == 0.0


def test_parameters_are_those_of_one_backward_pass():
    events: list[Event] = []
    for number in range(2):
        events.append(step(number, 1000 * number, 900))
        for place, shape in enumerate(([16, 8], [16], [16, 8])):
            arguments = {"Input Dims": [shape], "Input type": ["float"]}
            at = 1000 * number + 100 + 10 * place
            events.append(operator("torch::autograd::AccumulateGrad", at, 5, **arguments))
    trace = read(*events)
    shapes = sorted(
        parameter.shape for parameter in run_facts(trace, call_forest(trace)).parameters
    )
    assert shapes == [(16,), (16, 8), (16, 8)]


SCORES = {"Input Dims": [[64, 1024], [64, 1024], [], []], "Input type": ["float"] * 2 + [""] * 2}
ATTENTION = {"Input Dims": [[2, 128, 8, 64]] * 6, "Input type": ["float"] * 6}
IMAGE = {
    "Input Dims": [[2, 8, 16, 16], [8, 8, 3, 3], [8], [], [], []],
    "Input type": ["float"] * 3 + ["ScalarList"] * 3,
    "Concrete Inputs": ["", "", "", "[1, 1]", "[1, 1]", "[1, 1]"],
}
CODES = {"Input Dims": [[64, 16], []], "Input type": ["int", ""]}


@pytest.mark.parametrize(
    ("outer", "inner", "arguments"),
    [
        ("aten::_softmax_backward_data", "aten::mul", SCORES),
        ("aten::_log_softmax_backward_data", "aten::mul", SCORES),
        ("aten::_efficient_attention_backward", "aten::mul", ATTENTION),
        ("aten::multinomial", "aten::div", SCORES),
        ("aten::miopen_convolution", "aten::add_", IMAGE),
        ("aten::sum", "aten::copy_", CODES),
        ("aten::cumsum", "aten::copy_", CODES),
        ("aten::sort", "aten::copy_", CODES),
        ("aten::_unique2", "aten::sort", CODES),
        ("aten::index", "aten::nonzero", CODES),
    ],
)
def test_what_an_operator_counts_itself_is_not_counted_again_inside(outer, inner, arguments):
    """It launches a kernel of its own after that of an operator it calls for a part."""
    part = operator(inner, 101, 8, **{"External id": 2, **SCORES})
    launch = runtime("cudaLaunchKernel", 103, 2, 2)
    first = kernel("elementwise_kernel", 130, 20, 2)
    modelled = modelled_calls(read(*call(outer, 100, part, launch, first, **arguments)))
    assert modelled.sets["operator"].to_list() == [outer]
    assert modelled.kernels["call"].to_list() == [0, 0]
