"""Small examples of what analyses.cycles computes."""

from __future__ import annotations

import numpy as np

import timesink
from timesink.analyses.cycles.marks import (
    decodes,
    extends,
    family_name,
    is_pass_call,
    is_unit_name,
    is_wait,
    type_of_name,
)
from timesink.analyses.cycles.search import cycle_summary, find_cycles
from timesink.analyses.cycles.spans import period_ns, spans_of


def test_find_cycles() -> None:
    cycles = find_cycles(timesink.open(timesink.sample()))
    assert (cycles.method, cycles.table.height) == ("step", 2)


def test_period_ns() -> None:
    starts, ends = np.array([0, 10]), np.array([8, 19])
    assert period_ns(spans_of(["1"] * 2, ["step"] * 2, starts, ends, ["generic"] * 2)) == 10


def test_family_name() -> None:
    assert family_name("layer.12 step[DECODE bs=32]") == "layer.# step[DECODE bs=#]"


def test_cycle_summary() -> None:
    summary = cycle_summary(find_cycles(timesink.open(timesink.sample())))
    assert summary["cycles"].to_list() == [2]


def test_type_of_name() -> None:
    assert [
        type_of_name(name) for name in ("step[DECODE bs=32]", "forward_extend", "train_decoder")
    ] == ["decode", "prefill", "generic"]
    assert type_of_name("execute_context_0(0)_generation_32(32)") == "decode"


def test_extends() -> None:
    assert extends("ModelRunner.forward_extend")


def test_decodes() -> None:
    assert (decodes("ModelRunner.forward_decode"), decodes("LlamaDecoderLayer.forward")) == (
        True,
        False,
    )


def test_is_pass_call() -> None:
    assert (
        is_pass_call("Scheduler.run_batch"),
        is_pass_call("generation/utils.py(2215): generate"),
    ) == (True, False)


def test_is_unit_name() -> None:
    assert (is_unit_name("train step 3"), is_unit_name("load weights")) == (True, False)


def test_is_wait() -> None:
    assert (
        is_wait("Event.wait"),
        is_wait("threading.py(589): wait"),
        is_wait("Scheduler.run_batch"),
    ) == (True, True, False)
