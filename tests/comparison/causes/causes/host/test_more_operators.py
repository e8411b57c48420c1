"""Different workload of a program that computes on the host."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slowed import MS, USUAL, Call, Program, causes

HOST = Program(
    {
        name: call
        for name, call in USUAL.calls.items()
        if call.function_class in {"cpu_annotation", "cpu_operator"}
    }
).but(aten__embedding=Call("cpu_operator", 1, 1.0), aten__argmax=Call("cpu_operator", 1, 2.0))


def with_layers(factor: float, pace: float = 1.0) -> Program:
    """All operators but those at both ends run so many times as often."""
    calls = {
        name: replace(call, calls=round(factor * call.calls), ms=factor * call.ms)
        if call.calls > 1
        else call
        for name, call in HOST.calls.items()
    }
    return replace(HOST, calls=calls).slowed(pace)


def test_more_layers_are_other_work() -> None:
    (cause,) = causes(HOST, with_layers(1.25))
    assert cause.id == "workload_change"
    assert "operators run about 1.25 times as often, aten::attention 12 → 15" in cause.sentence
    assert cause.cost_ns == pytest.approx(0.25 * 51 * MS, rel=0.2)
    assert cause.evidence[0].unit == "calls per cycle"


def test_fewer_layers_explain_what_was_gained() -> None:
    (cause,) = causes(with_layers(1.25), HOST)
    assert cause.id == "workload_change"
    assert cause.cost_ns == pytest.approx(-0.25 * 51 * MS, rel=0.2)


@pytest.mark.parametrize("pace", [0.8, 1.5])
def test_the_pace_of_the_host_is_no_part_of_it(pace: float) -> None:
    (cause,) = causes(HOST, with_layers(1.25, pace))
    assert cause.id == "workload_change"
    assert cause.cost_ns == pytest.approx(0.25 * 51 * MS * pace, rel=0.35)


def test_one_operator_that_runs_more_often_is_code() -> None:
    (cause,) = causes(HOST, HOST.but(aten__add=Call("cpu_operator", 140, 8.0)))
    assert cause.id == "host_code"


def test_the_same_work_at_another_pace_has_no_cause() -> None:
    assert causes(HOST, HOST.slowed(1.4)) == ()
