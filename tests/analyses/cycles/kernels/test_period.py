"""Cycles from the kernel sequence alone."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loops import US, decode_step, trace_of_kernels
from timesink.analyses.cycles.search import find_cycles
from timesink.errors import NotFoundError


@given(layers=st.integers(1, 20), steps=st.integers(4, 8), kinds=st.integers(2, 9))
@settings(max_examples=6)
def test_the_step_wins_over_its_layers(layers, steps, kinds):
    names = decode_step(layers, kinds) * steps
    cycles = find_cycles(trace_of_kernels(names, pause_at="embedding"))
    assert (cycles.method, cycles.on_device) == ("kernels", True)
    assert cycles.table.height == steps
    assert cycles.anchor == "embedding"


def test_cycles_follow_one_another():
    names = decode_step(8) * 6
    table = find_cycles(trace_of_kernels(names, pause_at="embedding")).table
    assert table["start_ns"].to_list()[1:] == table["end_ns"].to_list()[:-1]
    last = table["end_ns"][-1] - table["start_ns"][-1]
    assert last == (len(decode_step(8)) * 11 - 1) * US


def test_without_a_kernel_of_its_own_the_spectrum_gives_the_step():
    cycles = find_cycles(trace_of_kernels(["a", "b", "a", "a", "b", "b"] * 12))
    assert cycles.table.height in {11, 12}


def test_kernels_before_the_loop_belong_to_none():
    warm_up = ["load"] * 5 + ["cast"] * 7
    cycles = find_cycles(trace_of_kernels([*warm_up, *(decode_step(8) * 10)], pause_at="embedding"))
    assert cycles.table.height == 10
    assert cycles.notes[0].startswith("12 kernels before the first step")


def test_a_cycle_cut_by_the_recording_is_left_out():
    names = decode_step(8) * 6
    cycles = find_cycles(trace_of_kernels(names[:-20], pause_at="embedding"))
    assert cycles.table.height == 5
    assert "left out" in " ".join(cycles.notes)


def test_an_extra_kernel_now_and_then_does_not_hide_the_step():
    steps = [decode_step(8) for _ in range(20)]
    for number in (3, 9, 15):
        steps[number].insert(10, "reallocate")
    cycles = find_cycles(
        trace_of_kernels([name for step in steps for name in step], pause_at="embedding")
    )
    assert cycles.table.height == 20
    assert cycles.confidence < 0.9


def test_a_few_lost_kernels_do_not_hide_the_step():
    pick = random.Random(5)  # noqa: S311 - not a secret
    names = [name for name in decode_step(32, 8) * 20 if pick.random() > 0.004]
    cycles = find_cycles(trace_of_kernels(names, pause_at="embedding"))
    assert cycles.table.height == 20


def test_prefills_and_decodes_in_any_order_are_cycles():
    pick = random.Random(3)  # noqa: S311 - not a secret
    prefill = [name.replace("layer", "wide") for name in decode_step(8)]
    steps = [prefill if pick.random() < 0.3 else decode_step(8) for _ in range(30)]
    cycles = find_cycles(
        trace_of_kernels([name for step in steps for name in step], pause_at="embedding")
    )
    assert (cycles.anchor, cycles.table.height) == ("embedding", 30)
    assert "several step types" in cycles.notes[-1]


def test_steps_that_all_differ_are_not_read_as_their_layers():
    pick = random.Random(4)  # noqa: S311 - not a secret
    names = [name for _ in range(30) for name in decode_step(pick.randint(4, 40))]
    with pytest.raises(NotFoundError):
        find_cycles(trace_of_kernels(names, pause_at="embedding"))


@pytest.mark.parametrize("kinds", [2, 3, 10, 40])
def test_chance_is_refused(kinds):
    pick = random.Random(kinds)  # noqa: S311 - not a secret
    names = [f"kernel_{pick.randrange(kinds)}" for _ in range(1_500)]
    with pytest.raises(NotFoundError) as refused:
        find_cycles(trace_of_kernels(names))
    assert "--marker" in refused.value.hint


def test_one_kernel_over_and_over_has_no_period():
    with pytest.raises(NotFoundError):
        find_cycles(trace_of_kernels(["gemm"] * 500))


def test_a_kernel_can_be_asked_for():
    cycles = find_cycles(trace_of_kernels(decode_step(8) * 6), marker="embedding")
    assert (cycles.method, cycles.on_device) == ("marker", True)
    assert cycles.table.height == 6


def test_passes_inside_of_a_request_are_listed():
    prefill = ["gather", *(f"wide_{name}" for name in decode_step(2))]
    trace = trace_of_kernels((prefill + decode_step(2) * 6) * 3, pause_at="gather")
    cycles = find_cycles(trace)
    assert cycles.table.height == 3
    (inner,) = cycles.alternatives
    assert (inner.method, inner.anchor, inner.count) == ("kernels", "embedding", 18)
    assert find_cycles(trace, marker=inner.marker).table.height == 18


def test_a_long_name_is_asked_for_by_a_pattern_that_fits_no_other():
    long = "cutlass_gemm_" + "x" * 80
    step = ["embedding", *[f"{long}_a", f"{long}_b", "norm", "add", f"{long}_b"] * 4, "head", "out"]
    cycles = find_cycles(trace_of_kernels(step * 6, pause_at="embedding"))
    assert cycles.table.height == 6
    (inner,) = cycles.alternatives
    assert find_cycles(trace_of_kernels(step * 6), marker=inner.marker).table.height == inner.count
