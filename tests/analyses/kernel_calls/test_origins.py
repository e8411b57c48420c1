"""Why the kernels of a timeline ran."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given

from builders import Event, flow
from cases import MAIN, MODULE, OTHER, PID, STEP, K, O, R, read
from measured_kernels import launch, trace_of_launches
from timelines import patient, random_traces
from timesink.analyses.kernels.calls import ORIGINS, kernel_calls, launch_origins
from timesink.model.trace import Trace

ENGINE = "autograd::engine::evaluate_function: "


def origins(trace: Trace, *columns: str) -> list[Any]:
    rows = launch_origins(trace).select(columns or ORIGINS).rows()
    return [row[0] for row in rows] if len(columns) == 1 else rows


def module(name: str, ts: int, dur: int) -> Event:
    return MODULE(f"nn.Module: {name}", ts, dur, python_id=ts, parent=None, module=ts)


def launch_events(ts: int, number: int, *, tid: str = MAIN) -> list[Event]:
    return [R(ts, 2, c=number, tid=tid), K(f"k{number}", ts + 500, 3, c=number)]


class TestOperator:
    def test_the_outermost_one_and_the_innermost(self):
        trace = read(
            STEP(3, 0, 100),
            O("aten::conv2d", 10, 50),
            O("aten::convolution", 12, 40),
            O("aten::cudnn_convolution", 14, 30),
            *launch_events(20, 1),
        )
        assert origins(trace, "operator", "innermost_operator") == [
            ("aten::conv2d", "aten::cudnn_convolution")
        ]

    def test_inside_the_module_that_calls_it(self):
        trace = read(
            O("CheckpointFunction", 0, 100),
            module("Linear_0", 5, 80),
            O("aten::linear", 10, 50),
            O("aten::addmm", 12, 40),
            *launch_events(20, 1),
        )
        assert origins(trace, "operator") == ["aten::linear"]

    def test_functions_of_the_backward_pass_without_the_engine(self):
        trace = read(
            O(f"{ENGINE}ConvolutionBackward0", 0, 50, tid=OTHER),
            O("ConvolutionBackward0", 2, 40, tid=OTHER),
            *launch_events(10, 1, tid=OTHER),
            O(f"{ENGINE}torch::autograd::AccumulateGrad", 60, 30, tid=OTHER),
            O("aten::add_", 65, 20, tid=OTHER),
            *launch_events(70, 2, tid=OTHER),
        )
        assert origins(trace, "operator") == ["ConvolutionBackward0", "AccumulateGrad"]

    def test_optimizer_steps_keep_their_name(self):
        trace = read(
            O("Optimizer.step#AdamW.step", 0, 90),
            O("aten::_foreach_add_", 5, 20),
            *launch_events(9, 1),
        )
        assert origins(trace, "operator", "innermost_operator") == [
            ("Optimizer.step#AdamW.step", "aten::_foreach_add_")
        ]

    def test_compiled_graphs_frame_what_they_call(self):
        trace = read(
            O("Torch-Compiled Region: 0/0", 0, 100),
            O("aten::mm", 10, 20),
            *launch_events(12, 1),
            *launch_events(50, 2),
        )
        assert origins(trace, "operator") == ["aten::mm", "Torch-Compiled Region: 0/0"]

    def test_nobody_launched_it(self):
        trace = read(R(5, 2, c=1), K("a", 50, 3, c=1), K("b", 60, 3, c=77))
        assert origins(trace) == [(None, None, None, None)] * 2


class TestModule:
    def test_the_path_of_modules_around(self):
        trace = read(
            module("Net_0", 0, 100),
            *launch_events(5, 1),
            module("Block_3", 10, 50),
            O("aten::mm", 15, 20),
            *launch_events(20, 2),
            O("aten::mm", 200, 20),
            *launch_events(210, 3),
        )
        assert origins(trace, "module") == ["Net_0", "Net_0.Block_3", None]

    @pytest.mark.parametrize("by", ["arrow", "number"])
    def test_backward_calls_belong_to_the_module_of_the_forward_pass(self, by: str):
        forward, backward = {}, {}
        if by == "number":
            forward, backward = {"Sequence number": 4}, {"Sequence number": 4, "Fwd thread id": 1}
        arrow = [
            flow("s", 1, 20, category="fwdbwd", pid=PID, tid=MAIN),
            flow("f", 1, 200, category="fwdbwd", pid=PID, tid=OTHER),
        ]
        trace = read(
            module("Net_0", 0, 100),
            module("Linear_2", 10, 50),
            O("aten::addmm", 20, 30, **forward),
            O(f"{ENGINE}AddmmBackward0", 200, 40, tid=OTHER, **backward),
            O("aten::mm", 205, 30, tid=OTHER),
            *launch_events(210, 1, tid=OTHER),
            *(arrow if by == "arrow" else ()),
        )
        assert origins(trace, "operator", "module") == [("AddmmBackward0", "Net_0.Linear_2")]

    def test_a_module_that_runs_again_in_the_backward_pass(self):
        trace = read(
            module("Net_0", 0, 100),
            O("aten::addmm", 20, 30, **{"Sequence number": 4}),
            O(
                f"{ENGINE}CheckpointFunctionBackward",
                200,
                90,
                **{"Sequence number": 4, "Fwd thread id": 1},
            ),
            module("Linear_1", 210, 50),
            O("aten::linear", 215, 30),
            *launch_events(220, 1),
        )
        assert origins(trace, "operator", "module") == [("aten::linear", "Linear_1")]

    def test_dotted_names_of_lightning(self):
        trace = read(
            O("[pl][module]torch.nn.Sequential: encoder", 0, 100),
            O("[pl][module]torch.nn.Linear: encoder.0", 10, 40),
            O("aten::linear", 15, 30),
            *launch_events(20, 1),
            Framework="pytorch-lightning",
        )
        assert origins(trace, "operator", "module") == [("aten::linear", "encoder.0")]

    def test_as_operators_carry_it(self):
        hierarchy = {"Module Hierarchy": "TOP(Net)::forward.layer1(Block)::forward"}
        trace = read(
            O("aten::conv2d", 0, 50, **hierarchy), O("aten::mul", 5, 20), *launch_events(9, 1)
        )
        assert origins(trace, "module") == [hierarchy["Module Hierarchy"]]


class TestStep:
    def test_the_one_that_launched_it(self):
        trace = read(
            STEP(3, 0, 100),
            *launch_events(50, 1),
            STEP(4, 100, 100),
            *launch_events(150, 2),
            *launch_events(250, 3),
        )
        assert origins(trace, "step") == ["3", "4", None]

    def test_without_marks_there_are_none(self):
        assert origins(read(O("aten::mm", 0, 50), *launch_events(9, 1)), "step") == [None]

    def test_by_time_where_the_launch_is_not_recorded(self):
        trace = read(STEP(3, 0, 100), O("aten::mm", 5, 20), K("k", 40, 10, c=9))
        assert origins(trace, "step") == ["3"]


@given(random_traces)
@patient
def test_a_row_for_each_call(trace: Trace):
    origin_rows = launch_origins(trace)
    assert origin_rows.schema == pl.Schema(dict.fromkeys(ORIGINS, pl.Categorical()))
    assert origin_rows.height == kernel_calls(trace).height


def test_a_kernel_profiler_does_not_say():
    assert origins(trace_of_launches(launch(5, {}), launch(6, {}))) == [(None,) * 4] * 2
