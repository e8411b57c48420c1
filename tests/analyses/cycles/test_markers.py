"""Cycles from profiler steps and annotations."""

from __future__ import annotations

import pytest

from timelines import Row, trace_of
from timesink.analyses.cycles.finding import find_cycles
from timesink.analyses.cycles.summary import cycle_summary
from timesink.errors import NotFoundError, UsageError
from timesink.model.trace import Trace


def note(name: str, start: int, length: int, pid: str = "1") -> Row:
    return {"kind": "annotation", "name": name, "pid": pid, "tid": "1"} | {
        "ts_ns": start,
        "dur_ns": length,
    }


def work(start: int, end: int, every: int = 10, pid: str = "1") -> list[Row]:
    """Operators all over a stretch of time."""
    return [
        {"kind": "operator", "name": "mm", "pid": pid, "tid": "1", "ts_ns": at, "dur_ns": every - 2}
        for at in range(start, end, every)
    ]


def mark(number: int, pid: str = "1", tid: str = "1") -> Row:
    return {"step": number, "name": f"ProfilerStep#{number}", "pid": pid, "tid": tid} | {
        "ts_ns": 1_000 * number,
        "dur_ns": 900,
    }


def spans(trace: Trace, **options: str) -> list[tuple[int, int]]:
    return find_cycles(trace, **options).table.select("start_ns", "end_ns").rows()


# -- steps -----------------------------------------------------------------------------------------


def test_steps_come_before_everything_else():
    notes = [note("inner", 100 * at, 90) for at in range(30)]
    found = find_cycles(trace_of([*notes, *work(0, 3_000)], steps=[mark(n) for n in range(3)]))
    assert (found.method, found.anchor) == ("step", "ProfilerStep")
    assert found.table["start_ns"].to_list() == [0, 1_000, 2_000]


def test_every_process_has_its_own_steps():
    marks = [mark(number, pid) for pid in ("5", "6") for number in range(4)]
    again = [mark(number, "5", "2") for number in range(3)]
    found = find_cycles(trace_of(steps=[*marks, *again])).table
    assert found["pid"].to_list() == ["5"] * 4 + ["6"] * 4
    assert found["cycle"].to_list() == [1, 2, 3, 4] * 2


def test_a_single_step_is_taken_but_not_trusted():
    found = find_cycles(trace_of(work(0, 900), steps=[mark(0)]))
    assert found.table.height == 1
    assert found.confidence <= 0.5
    assert "single" in found.notes[0]


def test_passes_marked_inside_of_a_single_step_say_more():
    notes = [note("decode_step", 100 * at, 95) for at in range(9)]
    found = find_cycles(trace_of([*notes, *work(0, 900)], steps=[mark(0)]))
    assert (found.method, found.table.height) == ("marker", 9)


# -- annotations -----------------------------------------------------------------------------------


def test_the_annotation_that_holds_the_others_is_taken():
    notes = [note("decode_step", 100 * at, 95) for at in range(20)]
    layers = [note(f"layer {at % 4}", 100 * (at // 4) + 23 * (at % 4), 22) for at in range(80)]
    found = find_cycles(trace_of([*layers, *notes, *work(0, 2_000)]))
    assert (found.anchor, found.table.height) == ("decode_step", 20)
    assert set(found.table["type"]) == {"decode"}


def test_numbered_annotations_are_one():
    notes = [note(f"iteration {at}", 100 * at, 95) for at in range(6)]
    found = find_cycles(trace_of([*notes, *work(0, 600)]))
    assert (found.anchor, found.table.height) == ("iteration #", 6)


def test_passes_are_told_by_what_is_in_them():
    kinds = ["execute_context_1(8)_generation_0(0)"] + ["execute_context_0(0)_generation_4(4)"] * 5
    notes = [note(name, 100 * at, 95) for at, name in enumerate(kinds)]
    found = find_cycles(trace_of([*notes, *work(0, 600)])).table
    assert found["type"].to_list() == ["prefill"] + ["decode"] * 5


def test_prefill_annotations_beside_the_decode_ones():
    notes = [note("decode", 1_000 + 100 * at, 95) for at in range(20)]
    found = find_cycles(trace_of([note("prefill", 0, 990), *notes, *work(0, 3_000)])).table
    assert found["type"].to_list() == ["prefill"] + ["decode"] * 20


def test_an_optimizer_step_closes_its_cycle():
    notes = [note("Optimizer.step#SGD.step", 100 * at + 90, 8) for at in range(6)]
    trace = trace_of([*notes, *work(0, 600)])
    assert spans(trace) == [(0, 98), *((100 * at - 2, 100 * at + 98) for at in range(1, 6))]


def test_what_libraries_annotate_is_no_unit():
    notes = [note("nccl:all_reduce", 100 * at, 95) for at in range(20)]
    with pytest.raises(NotFoundError):
        find_cycles(trace_of([*notes, *work(0, 2_000)]))


def test_annotations_that_overlap_themselves_are_no_unit():
    notes = [note("request", 30 * at, 100) for at in range(20)]
    with pytest.raises(NotFoundError) as refused:
        find_cycles(trace_of([*notes, *work(0, 700)]))
    assert refused.value.hint == "name what marks a cycle: --marker request"


def test_a_lone_pass_is_one_cycle():
    trace = trace_of([note("step[DECODE bs=32]", 0, 1_000), *work(10, 990)])
    found = find_cycles(trace)
    assert found.table.select("type", "start_ns", "end_ns").rows() == [("decode", 0, 1_000)]


# -- asked for -------------------------------------------------------------------------------------


@pytest.mark.parametrize("marker", ["train step", "train*", "train step 3"])
def test_names_fit_with_and_without_numbers(marker):
    notes = [note(f"train step {at}", 100 * at, 60) for at in range(6)]
    found = find_cycles(trace_of([*notes, *work(0, 600)]), marker=marker)
    assert found.table.height == (1 if marker.endswith("3") else 6)
    assert found.table["end_ns"][0] - found.table["start_ns"][0] == 60


def test_a_short_operator_marks_its_cycle_from_start_to_start():
    embedding = [
        {"kind": "operator", "name": "embedding", "pid": "1", "tid": "1"}
        | {"ts_ns": 100 * at, "dur_ns": 3}
        for at in range(5)
    ]
    trace = trace_of([*embedding, *work(0, 500)])
    assert spans(trace, marker="embedding") == [(100 * at, 100 * at + 100) for at in range(4)] + [
        (400, 490)
    ]


def test_an_unknown_name_is_refused_with_those_there_are():
    trace = trace_of([*(note("step", 100 * at, 95) for at in range(5)), *work(0, 500)])
    with pytest.raises(NotFoundError, match="no event is called 'batch'") as refused:
        find_cycles(trace, marker="batch")
    assert "--marker step" in refused.value.hint


def test_an_unknown_method_is_refused():
    with pytest.raises(UsageError):
        find_cycles(trace_of(work(0, 100)), by="luck")


def test_an_empty_recording_is_refused():
    with pytest.raises(NotFoundError):
        find_cycles(trace_of())


# -- how far to trust ------------------------------------------------------------------------------


def test_unlike_cycles_are_trusted_less():
    notes = [note("part", 1_000 * at, 990) for at in range(10)]
    even = find_cycles(trace_of([*notes, *work(0, 10_000)]))
    uneven = find_cycles(trace_of([*notes, *work(0, 10_000), *work(3_000, 4_000, 2)]))
    assert uneven.likeness < even.likeness == 1.0
    assert uneven.confidence < even.confidence


def test_processes_without_cycles_are_named():
    notes = [note("part", 1_000 * at, 990) for at in range(10)]
    trace = trace_of([*notes, *work(0, 10_000), *work(0, 9_000, pid="77")])
    assert find_cycles(trace).notes == ("no cycles in process 77, which did other work",)
    assert find_cycles(trace, pid="1").notes == ()


def test_summary_of_each_type():
    notes = [note("decode", 1_000 + 100 * at, 80 + at) for at in range(5)]
    found = find_cycles(trace_of([note("prefill", 0, 990), *notes, *work(0, 1_500)]))
    prefill, decode = cycle_summary(found).to_dicts()
    assert (prefill["cycles"], prefill["period_ns"], prefill["length_cv"]) == (1, None, None)
    assert (decode["cycles"], decode["period_ns"], decode["length_median_ns"]) == (5, 100, 82)
    assert (decode["length_iqr_ns"], decode["shortest_ns"], decode["longest_ns"]) == (2, 80, 84)
