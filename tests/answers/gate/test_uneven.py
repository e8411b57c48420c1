"""Slow-downs that are large and uneven never pass, and runs of one program never fail."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import timesink
from builders import annotation, kineto, operator, write
from length_runs import compared_lengths
from timesink.answers.comparison.budgets import evaluate
from timesink.answers.comparison.gate_result import GateAnswer, gate_of
from timesink.answers.comparison.report import ComparisonAnswer, compare
from timesink.comparison.gate.budget_file import Budget, Increase
from timesink.comparison.gate.verdict import Limit

EVEN_US = [1000, 1012, 995, 1003, 988, 1020, 1007, 991, 1001, 1015] * 2
LONG_TAIL_US = [
    310, 95000, 720, 2400, 1100, 18000, 450, 1300, 5200, 900,
    640, 31000, 2100, 870, 1500, 4100, 380, 7600, 1900, 1050,
]  # fmt: skip
"""Over two orders of magnitude; the mean is nine times that of even ones."""


def sometimes(every: int, first: int, factor: int = 60, cycles: int = 20) -> list[int]:
    """Even cycles, of which one in so many takes as many times as long."""
    return [
        us * factor if number % every == first else us
        for number, us in enumerate((EVEN_US * 5)[:cycles])
    ]


def gates_of(comparison: ComparisonAnswer, pct: float) -> list[GateAnswer]:
    """By every way in which cycle time may have a limit."""
    gates = [gate_of(comparison, limit) for limit in (Limit(pct), Limit())]
    for allowed in (Increase(pct=pct), Increase(ns=1e5)):
        budget = Budget("cycle", "cycle", None, allowed)
        gates.append(gate_of(comparison, None, evaluate([budget], comparison)))
    return gates


def of_lengths(base_us: Sequence[int], new_us: Sequence[int]) -> ComparisonAnswer:
    return compared_lengths(*([1000 * us for us in side] for side in (base_us, new_us)))


@pytest.mark.parametrize(
    "new",
    [
        sometimes(10, 4),
        sometimes(10, 0),
        sometimes(10, 0, cycles=10),
        sometimes(2, 1, factor=13),
        EVEN_US[:10] + [13 * us for us in EVEN_US[:10]],
        EVEN_US[:18] + [60 * us for us in EVEN_US[:2]],
        [60 * us for us in EVEN_US[:2]] + EVEN_US[:18],
        LONG_TAIL_US,
    ],
    ids=[
        "one in ten", "the first of ten", "the first alone", "every other", "the second half",
        "the last ones", "the first ones",
        "two orders of magnitude",
    ],
)  # fmt: skip
def test_a_sevenfold_slow_down_never_passes(new: Sequence[int]):
    base = EVEN_US
    assert sum(new) / len(new) > 6 * sum(base) / len(base)
    # What does not pass a wide limit passes no narrow one.
    for gate in gates_of(of_lengths(base, new), 50.0):
        assert gate.outcome in {"failed", "unjudged"}, gate.checks
        assert gate.exit_code in {3, 1}
        if gate.outcome == "unjudged":
            assert "timesink ab --base" in gate.reasons[0]


@pytest.mark.parametrize(
    ("base", "new"),
    [
        (EVEN_US, EVEN_US[7:] + EVEN_US[:7]),
        (sometimes(10, 4), sometimes(10, 7)),
        (LONG_TAIL_US, LONG_TAIL_US[11:] + LONG_TAIL_US[:11]),
        (EVEN_US, sometimes(20, 13, factor=3)),
        (EVEN_US, [4 * EVEN_US[0], *EVEN_US[1:]]),
    ],
    ids=["even", "one in ten on both sides", "long tails", "one hiccup", "a slow first cycle"],
)
def test_runs_of_one_program_never_fail(base: Sequence[int], new: Sequence[int]):
    for gate in gates_of(of_lengths(base, new), 5.0):
        assert gate.outcome != "failed"


@pytest.mark.parametrize(("base", "new"), [("normal", "normal_b")])
def test_nor_do_recordings_of_one_program(shared_root: Path, base: str, new: str):
    faults = shared_root / "data/h200/faults"
    for gate in gates_of(timesink.compare(faults / base, faults / new), 5.0):
        assert gate.outcome != "failed"


def test_nor_do_those_of_a_host_alone(tmp_path: Path):
    """The same calls, all of which take 1.3 times as long: another machine does that."""

    def recorded(name: str, by: float) -> Path:
        events = [
            event
            for number in range(20)
            for event in (
                annotation("step", 2000.0 * number, 1000 * by + number % 3),
                operator("aten::mm", 2000.0 * number + 10, 400 * by),
                operator("aten::add", 2000.0 * number + 410 * by + 10, 300 * by),
            )
        ]
        return write(tmp_path / name, kineto(events))

    both = compare(recorded("base.json", 1.0), recorded("new.json", 1.3), cache=False)
    gate = gate_of(both, Limit(5.0))
    assert gate.exit_code == 1
    assert "Not decided: the recorded calls are the same;" in gate.reasons[0]


FEW_BASE_US = [75500, 77000, 76200, 78900, 80100, 81100]
FEW_NEW_US = [100000, 122000, 166000, 82000, 107000, 166000]


def test_six_steps_that_are_all_longer_fail_and_say_so_with_one_interval():
    comparison = of_lengths(FEW_BASE_US, FEW_NEW_US)
    gate = gate_of(comparison, Limit(5.0))
    assert gate.outcome == "failed"
    (reason,) = gate.reasons
    assert "(95 % interval +5.6 to +1" in reason
    assert reason.count("interval") == 1
    assert "All 6 new steps are longer than all 6 base steps (exact p = 0.002)." in reason
    assert "may be noise" not in comparison.headline


def test_three_steps_decide_nothing_and_say_how_many_do():
    gate = gate_of(of_lengths(FEW_BASE_US[:3], FEW_NEW_US[:3]), Limit(5.0))
    assert gate.outcome == "unjudged"
    statement = "3 steps in each run can at best give p = 0.1: record at least 4 after warm-up."
    assert statement in gate.reasons[0]
