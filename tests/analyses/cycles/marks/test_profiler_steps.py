"""Cycles from profiler steps."""

from __future__ import annotations

from marked import mark, note, work
from timelines import trace_of
from timesink.analyses.cycles.search import find_cycles


def test_steps_come_before_everything_else():
    notes = [note("inner", 100 * at, 90) for at in range(30)]
    cycles = find_cycles(trace_of([*notes, *work(0, 3_000)], steps=[mark(n) for n in range(3)]))
    assert (cycles.method, cycles.anchor) == ("step", "ProfilerStep")
    assert cycles.table["start_ns"].to_list() == [0, 1_000, 2_000]


def test_every_process_has_its_own_steps():
    marks = [mark(number, pid) for pid in ("5", "6") for number in range(4)]
    again = [mark(number, "5", "2") for number in range(3)]
    table = find_cycles(trace_of(steps=[*marks, *again])).table
    assert table["pid"].to_list() == ["5"] * 4 + ["6"] * 4
    assert table["cycle"].to_list() == [0, 1, 2, 3] * 2


def test_cycles_carry_the_numbers_of_the_steps():
    cycles = find_cycles(trace_of(work(0, 9_000), steps=[mark(number) for number in (5, 6, 8)]))
    assert cycles.table["cycle"].to_list() == [5, 6, 8]
    twice = [mark(5), mark(6), mark(8), {**mark(9), "step": 5, "name": "ProfilerStep#5"}]
    assert find_cycles(trace_of(work(0, 9_000), steps=twice)).table["cycle"][0] == 1


def test_a_single_step_is_taken_but_not_trusted():
    cycles = find_cycles(trace_of(work(0, 900), steps=[mark(0)]))
    assert cycles.table.height == 1
    assert cycles.confidence <= 0.5
    assert "single" in cycles.notes[0]


def test_passes_marked_inside_of_a_single_step_say_more():
    notes = [note("decode_step", 100 * at, 95) for at in range(9)]
    cycles = find_cycles(trace_of([*notes, *work(0, 900)], steps=[mark(0)]))
    assert (cycles.method, cycles.table.height) == ("marker", 9)
