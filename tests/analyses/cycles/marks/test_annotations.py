"""Cycles from annotations that nobody named."""

from __future__ import annotations

import pytest

from marked import mark, note, work
from timelines import trace_of
from timesink.analyses.cycles.marks import is_batch_name, type_of_name
from timesink.analyses.cycles.search import find_cycles
from timesink.errors import NoCyclesError


def test_the_annotation_that_holds_the_others_is_taken():
    notes = [note("decode_step", 100 * at, 95) for at in range(20)]
    layers = [note(f"layer {at % 4}", 100 * (at // 4) + 23 * (at % 4), 22) for at in range(80)]
    cycles = find_cycles(trace_of([*layers, *notes, *work(0, 2_000)]))
    assert (cycles.anchor, cycles.table.height) == ("decode_step", 20)
    assert set(cycles.table["type"]) == {"decode"}


def test_numbered_annotations_are_one():
    notes = [note(f"iteration {at}", 100 * at, 95) for at in range(6)]
    cycles = find_cycles(trace_of([*notes, *work(0, 600)]))
    assert (cycles.anchor, cycles.table.height) == ("iteration #", 6)


def test_passes_are_told_by_what_is_in_them():
    kinds = ["execute_context_1(8)_generation_0(0)"] + ["execute_context_0(0)_generation_4(4)"] * 5
    notes = [note(name, 100 * at, 95) for at, name in enumerate(kinds)]
    table = find_cycles(trace_of([*notes, *work(0, 600)])).table
    assert table["type"].to_list() == ["prefill"] + ["decode"] * 5


def test_prefill_annotations_beside_the_decode_ones():
    notes = [note("decode", 1_000 + 100 * at, 95) for at in range(20)]
    table = find_cycles(trace_of([note("prefill", 0, 990), *notes, *work(0, 3_000)])).table
    assert table["type"].to_list() == ["prefill"] + ["decode"] * 20


def test_an_optimizer_step_closes_its_cycle():
    notes = [note("Optimizer.step#SGD.step", 100 * at + 90, 8) for at in range(6)]
    trace = trace_of([*notes, *work(0, 600)])
    spans = find_cycles(trace).table.select("start_ns", "end_ns").rows()
    assert spans == [(0, 98), *((100 * at - 2, 100 * at + 98) for at in range(1, 6))]


def test_what_libraries_annotate_is_no_unit():
    notes = [note("nccl:all_reduce", 100 * at, 95) for at in range(20)]
    with pytest.raises(NoCyclesError):
        find_cycles(trace_of([*notes, *work(0, 2_000)]))


def test_annotations_that_overlap_themselves_are_no_unit():
    notes = [note("request", 30 * at, 100) for at in range(20)]
    with pytest.raises(NoCyclesError) as refused:
        find_cycles(trace_of([*notes, *work(0, 700)]))
    assert refused.value.marks == ("request",)
    assert refused.value.hint == "name what marks a step: --marker request"


def test_a_lone_pass_is_one_cycle():
    trace = trace_of([note("step[DECODE bs=32]", 0, 1_000), *work(10, 990)])
    cycles = find_cycles(trace)
    assert cycles.table.select("type", "start_ns", "end_ns").rows() == [("decode", 0, 1_000)]


def test_annotations_of_many_names_do_not_hide_the_unit():
    names = [
        "".join(chr(97 + number // 26**place % 26) for place in range(3)) for number in range(400)
    ]
    inner = [note(name, 1_000 * turn + at, 1) for turn in range(5) for at, name in enumerate(names)]
    outer = [note("turn", 1_000 * turn, 990) for turn in range(5)]
    cycles = find_cycles(trace_of([*inner, *outer, *work(0, 5_000)]))
    assert (cycles.anchor, cycles.table.height) == ("turn", 5)


_PASSES = ["execute_context_1(8)_generation_0(0)"] + ["execute_context_0(0)_generation_4(4)"] * 5


def test_steps_of_a_server_are_prefills_and_decodes_by_the_passes_in_them(capfd):
    passes = [note(name, 1_000 * at + 20, 800) for at, name in enumerate(_PASSES)]
    steps = [mark(at) for at in range(6)]
    cycles = find_cycles(trace_of([*passes, *work(0, 6_000)], steps=steps))
    assert cycles.method == "step"
    assert cycles.table["type"].to_list() == ["prefill"] + ["decode"] * 5
    assert capfd.readouterr().err == ""


def test_passes_that_hold_little_of_the_work_tell_what_their_cycles_are():
    passes = [note(name, 1_000 * at, 300) for at, name in enumerate(_PASSES)]
    table = find_cycles(trace_of([*passes, *work(0, 6_000)])).table
    assert table["type"].to_list() == ["prefill"] + ["decode"] * 5


@pytest.mark.parametrize(
    ("name", "pass_type"),
    [
        ("execute_32_context_0(sq0sk0)_generation_32(sq32sk55086)", "decode"),
        ("execute_context_2_generation_0", "prefill"),
        ("execute_new_3_cached_0", "prefill"),
        ("execute_new_0_cached_16", "decode"),
        ("execute_context_1(512)_generation_31(31)", "generic"),
    ],
)
def test_words_of_servers_for_their_passes(name: str, pass_type: str):
    assert (type_of_name(name), is_batch_name(name)) == (pass_type, True)


@pytest.mark.parametrize(("launched_at", "is_step"), [(50, True), (80, False)])
def test_a_mark_that_holds_calls_but_launches_nothing_is_no_step(launched_at: int, is_step: bool):  # noqa: FBT001
    notes = [note("part", 100 * at, 75) for at in range(20)]
    calls = [call for at in range(0, 2_000, 100) for call in work(at, at + 75)]
    host, device = [*notes, *calls], []
    for at in range(20):
        ids = {"correlation": at + 1, "pid": "1", "ts_ns": 100 * at + launched_at}
        host.append({"kind": "runtime", "name": "cudaLaunchKernel", "tid": "1", "dur_ns": 2} | ids)
        device.append({"kind": "kernel", "device": 0, "stream": "7", "dur_ns": 90} | ids)
    # Columns are those of the first rows.
    cycles = find_cycles(trace_of(host[::-1], device))
    assert ("covers" in cycles.reason) == is_step
