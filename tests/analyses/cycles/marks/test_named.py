"""Cycles from marks that were asked for by name."""

from __future__ import annotations

import pytest

from marked import note, work
from timelines import trace_of
from timesink.analyses.cycles.search import find_cycles
from timesink.errors import NoCyclesError


@pytest.mark.parametrize("marker", ["train step", "train*", "train step 3"])
def test_names_fit_with_and_without_numbers(marker):
    notes = [note(f"train step {at}", 100 * at, 60) for at in range(6)]
    cycles = find_cycles(trace_of([*notes, *work(0, 600)]), marker=marker)
    assert cycles.table.height == (1 if marker.endswith("3") else 6)
    assert cycles.table["end_ns"][0] - cycles.table["start_ns"][0] == 60


def test_a_short_operator_marks_its_cycle_from_start_to_start():
    embedding = [
        {"kind": "operator", "name": "embedding", "pid": "1", "tid": "1"}
        | {"ts_ns": 100 * at, "dur_ns": 3}
        for at in range(5)
    ]
    trace = trace_of([*embedding, *work(0, 500)])
    spans = find_cycles(trace, marker="embedding").table.select("start_ns", "end_ns").rows()
    assert spans == [(100 * at, 100 * at + 100) for at in range(4)] + [(400, 490)]


def test_an_unknown_name_is_refused_with_those_there_are():
    trace = trace_of([*(note("step", 100 * at, 95) for at in range(5)), *work(0, 500)])
    with pytest.raises(NoCyclesError, match="no event is called 'batch'") as refused:
        find_cycles(trace, marker="batch")
    assert refused.value.marks == ("step",)
    assert "--marker step" in refused.value.hint
