"""A host whose calls all take longer, by all sorts of factors: no place is to blame."""

from __future__ import annotations

from dataclasses import replace

from slowed import USUAL, Call, Program, causes

WIDE = USUAL.but(
    **{f"aten__op{at}": Call("cpu_operator", 50, 2.0) for at in range(12)}  # type: ignore[arg-type]
)


def slower(program: Program, factors: dict[str, float]) -> Program:
    calls = {
        name: replace(call, ms=call.ms * factors.get(name, 1.0))
        for name, call in program.calls.items()
    }
    return replace(program, calls=calls)


def test_the_largest_of_many_unlike_factors_is_no_place():
    factors = {f"aten::op{at}": 1.1 + 0.1 * at for at in range(12)}
    factors |= {"aten::mm": 1.1, "aten::attention": 1.2, "aten::add": 2.0, "aten::cat": 1.6}
    assert causes(WIDE, slower(WIDE, factors)) == ()


def test_one_call_that_lies_apart_from_all_others_is_a_place():
    factors = {name: 1.1 for name in WIDE.calls if name.startswith("aten")} | {"aten::add": 2.0}
    (cause,) = causes(WIDE, slower(WIDE, factors))
    assert cause.id == "host_code"
    assert "aten::add" in cause.sentence
