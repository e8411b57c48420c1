"""Recordings of one program whose recorder told cycles apart in other ways."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import timesink
from builders import Event, annotation, kineto, operator, step
from recorded_runs import write_recording
from timesink.answers.comparison.report import ComparisonAnswer

CYCLE_US = 1000
CYCLES = 12


def program(start: float, more_us: int = 0) -> list[Event]:
    """One cycle, which ends with a step of the optimizer that takes a fifth of it."""
    return [
        operator("aten::mm", start + 100, 300 + more_us),
        annotation("Optimizer.step#SGD.step", start + 750, 200),
        operator("aten::add_", start + 760, 150),
    ]


def by_optimizer(folder: Path) -> Path:
    events = [[step(n, CYCLE_US * n, CYCLE_US), *program(CYCLE_US * n)] for n in range(CYCLES)]
    return _write_run(folder, events, {"by": "optimizer step", "name": "SGD"})


def by_function(folder: Path) -> Path:
    events = [
        [
            step(n, CYCLE_US * n, CYCLE_US),
            annotation("train_step", CYCLE_US * n, 990),
            *program(CYCLE_US * n),
        ]
        for n in range(CYCLES)
    ]
    return _write_run(folder, events, {"by": "function", "name": "train_step"})


def write_program_run(folder: Path, more_us: int = 0) -> Path:
    events = [program(CYCLE_US * n, more_us) for n in range(CYCLES)]
    return _write_run(folder, events, {"by": "whole program", "name": None})


def _write_run(folder: Path, cycles: list[list[Event]], by: dict[str, str | None]) -> Path:
    events = [event for cycle in cycles for event in cycle]
    return write_recording(folder, trace=kineto(events), cycles=by)


def functions(comparison: ComparisonAnswer) -> set[str]:
    (pair,) = comparison.pairs
    return {
        name
        for role in (pair.pair.base, pair.pair.new)
        for name in role.behaviour["function"].cast(str).unique()
    }


def longer(folder: Path) -> Path:
    """The whole program, of which an operator takes longer."""
    return write_program_run(folder, 200)


WAYS = {
    "optimizer": by_optimizer,
    "function": by_function,
    "whole": write_program_run,
    "longer": longer,
}


@pytest.fixture(scope="module")
def compare_ways(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[str, str], ComparisonAnswer]:
    """Two ways to tell cycles apart, each pair compared once."""

    @cache
    def comparison(base: str, new: str) -> ComparisonAnswer:
        folder = tmp_path_factory.mktemp("ways")
        return timesink.compare(WAYS[base](folder / "base"), WAYS[new](folder / "new"))

    return comparison


@pytest.mark.parametrize(("base", "new"), [("optimizer", "function")])
def test_a_range_of_the_recorder_is_no_work_of_the_program(
    compare_ways: Callable[[str, str], ComparisonAnswer], base: str, new: str
):
    comparison = compare_ways(base, new)
    assert "train_step" not in functions(comparison)
    assert any(note.startswith("steps were recorded by") for note in comparison.notes)


def test_a_mark_of_one_side_alone_is_no_cause(compare_ways: Callable[[str, str], ComparisonAnswer]):
    (pair,) = compare_ways("longer", "function").pairs
    sentences = " ".join(cause.sentence for cause in pair.diagnosis.causes)
    assert "ProfilerStep" not in sentences
    assert "train_step" not in sentences


def test_ranges_stay_where_cycles_go_by_them(tmp_path: Path):
    folder = by_function(tmp_path)
    report = timesink.behaviour(folder, marker="train_step")
    assert report.table["cycle"].n_unique() == CYCLES
    assert "train_step" in report.table["function"].cast(str).unique()
    assert "train_step" not in timesink.behaviour(folder).table["function"].cast(str).unique()
