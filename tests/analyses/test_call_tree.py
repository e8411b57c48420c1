"""The calls of a thread as a tree."""

from __future__ import annotations

from pathlib import Path

import timesink
from builders import Event, annotation, flow
from cases import MAIN, MODULE, OTHER, PID, STEP, O, read
from timesink.analyses.call_tree import call_tree, threads
from timesink.model.trace import Trace

ENGINE = "autograd::engine::evaluate_function: "


def outline(trace: Trace, thread: tuple[str, str] | None = None) -> list[str]:
    """Names, indented by depth."""
    depths: list[int] = []
    lines = []
    for name, parent in call_tree(trace, thread).select("name", "parent_id").iter_rows():
        depths.append(0 if parent is None else depths[parent] + 1)
        lines.append("  " * depths[-1] + name)
    return lines


def module(name: str, ts: int, dur: int) -> Event:
    return MODULE(f"nn.Module: {name}", ts, dur, python_id=ts, parent=None, module=0)


def arrow(number: int, start: int, end: int) -> list[Event]:
    return [
        flow("s", number, start, category="fwdbwd", pid=PID, tid=MAIN),
        flow("f", number, end, category="fwdbwd", pid=PID, tid=OTHER),
    ]


# -- threads ---------------------------------------------------------------------------------------


def test_the_thread_with_steps_comes_first():
    trace = read(O("aten::mm", 0, 900, tid=OTHER), STEP(1, 100, 50))
    assert threads(trace) == [(str(PID), MAIN), (str(PID), OTHER)]


def test_without_steps_the_longest_comes_first():
    trace = read(O("aten::mm", 0, 50), O("aten::mm", 100, 80, tid=OTHER))
    assert threads(trace) == [(str(PID), OTHER), (str(PID), MAIN)]


def test_the_thread_of_the_backward_pass_is_not_the_main_one():
    trace = read(O("aten::mm", 0, 50), O(f"{ENGINE}MmBackward0", 100, 80, tid=OTHER))
    assert threads(trace)[0] == (str(PID), MAIN)


def test_every_thread_can_be_shown():
    trace = read(STEP(1, 0, 50), O("aten::mm", 60, 10, tid=OTHER), O("aten::mul", 80, 10, tid="7"))
    assert [outline(trace, thread) for thread in threads(trace)] == [
        ["ProfilerStep#1"],
        ["aten::mm"],
        ["aten::mul"],
    ]


# -- calls -----------------------------------------------------------------------------------------


def test_calls_inside_calls():
    trace = read(
        STEP(1, 0, 100),
        O("aten::linear", 10, 40),
        O("aten::addmm", 20, 20),
        annotation("nccl:all_reduce", 60, 10) | {"pid": PID, "tid": MAIN},
        O("aten::mul", 200, 10),
    )
    assert outline(trace) == [
        "ProfilerStep#1",
        "  aten::linear",
        "    aten::addmm",
        "  nccl:all_reduce",
        "aten::mul",
    ]
    assert call_tree(trace)["type"].to_list() == [
        "ProfilerStep",
        "Operator",
        "Operator",
        "user_annotation",
        "Operator",
    ]


def test_a_call_that_only_calls_itself_is_shown_once():
    trace = read(O("aten::sum", 0, 50), O("aten::sum", 5, 40), O("aten::empty", 10, 5))
    assert outline(trace) == ["aten::sum", "  aten::empty"]


def test_nothing_recorded():
    assert call_tree(read()).is_empty()
    assert threads(read()) == []


# -- the backward pass -----------------------------------------------------------------------------


def training_events() -> list[Event]:
    return [
        STEP(1, 0, 500),
        module("Net", 10, 90),
        module("Linear", 20, 30),
        O("aten::addmm", 25, 20),
        O("aten::relu", 60, 20),
        O("aten::mse_loss", 110, 20),
        O("Optimizer.step#SGD.step", 400, 50),
        O(f"{ENGINE}MseLossBackward0", 200, 10, tid=OTHER),
        O(f"{ENGINE}ReluBackward0", 220, 10, tid=OTHER),
        O(f"{ENGINE}AddmmBackward0", 240, 20, tid=OTHER),
        O("aten::mm", 245, 10, tid=OTHER),
        O(f"{ENGINE}torch::autograd::AccumulateGrad", 270, 10, tid=OTHER),
        *arrow(1, 110, 200),
        *arrow(2, 60, 220),
        *arrow(3, 25, 240),
    ]


def test_backward_calls_stand_under_their_modules():
    assert outline(read(*training_events())) == [
        "ProfilerStep#1",
        "  nn.Module: Net",
        "    nn.Module: Linear",
        "      aten::addmm",
        "    aten::relu",
        "  aten::mse_loss",
        "  nn.Module: Net.backward",
        f"    {ENGINE}ReluBackward0",
        "    nn.Module: Linear.backward",
        f"      {ENGINE}AddmmBackward0",
        "        aten::mm",
        f"      {ENGINE}torch::autograd::AccumulateGrad",
        "  Optimizer.step#SGD.step",
    ]


def test_a_backward_pass_lasts_from_its_first_call_to_its_last():
    tree = call_tree(read(*training_events()))
    begin = tree["start_ns"].min()
    passes = tree.filter(type="backward").select("start_ns", "end_ns", "tid", "node").rows()
    assert [(start - begin, end - begin, tid, node) for start, end, tid, node in passes] == [
        (220_000, 280_000, MAIN, None),
        (240_000, 280_000, MAIN, None),
    ]


def test_their_own_thread_shows_backward_calls_as_recorded():
    assert outline(read(*training_events()), (str(PID), OTHER)) == [
        f"{ENGINE}MseLossBackward0",
        f"{ENGINE}ReluBackward0",
        f"{ENGINE}AddmmBackward0",
        "  aten::mm",
        f"{ENGINE}torch::autograd::AccumulateGrad",
    ]


def test_backward_pass_on_the_same_thread():
    events = [event | {"tid": MAIN} if "tid" in event else event for event in training_events()]
    assert outline(read(*events))[5:8] == [
        "  aten::mse_loss",
        f"  {ENGINE}MseLossBackward0",
        "  nn.Module: Net.backward",
    ]
    assert len(outline(read(*events))) == 14


def test_no_call_is_lost_or_doubled(shared_root: Path):
    trace = timesink.open(shared_root / "data/h200/traces/resnet50_train")
    main, other = (call_tree(trace, thread) for thread in threads(trace))
    moved = main.filter(tid=threads(trace)[1][1])
    assert main["node"].drop_nulls().is_unique().all()
    assert 0.99 < moved.height / other.height < 1
    assert main.filter(tid=threads(trace)[0][1], type="Module").height == 549


# -- Lightning -------------------------------------------------------------------------------------


def test_lightning_shows_its_actions():
    trace = read(
        O("[pl][profile]run_training_epoch", 0, 100),
        O("aten::mm", 5, 10),
        O("[pl][profile]training_step", 20, 50),
        O("aten::mm", 25, 10),
        Framework="pytorch-lightning",
    )
    assert outline(trace) == ["run_training_epoch", "  training_step"]
    assert call_tree(trace)["type"].unique().to_list() == ["pl_profile"]
