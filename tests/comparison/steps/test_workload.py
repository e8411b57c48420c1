"""The same work is recognised through noise; other work is not taken for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from programs import (
    ADD,
    CONVOLUTION,
    EMBED,
    GEMM,
    LAYER,
    NORM,
    POOLING,
    batch,
    role,
    without,
)
from timesink.comparison.steps.recorded_events import work_per_cycle
from timesink.comparison.steps.workload import check_workload, with_equal_work
from timesink.model.schema import BEHAVIOUR

ON_DEVICE = pl.col("device").cast(pl.String) != "Host"
BASE = role([batch(12)] * 12)


def new(cycles, **more: Any):
    return role(cycles, "new", **more)


def reason_text(workload):
    return " ".join(workload.reasons)


@pytest.mark.parametrize(("base", "other"), [(12, 10), (30, 30), (3, 40)])
def test_the_number_of_cycles_does_not_matter(base, other):
    workload = check_workload(role([batch(12)] * base), new([batch(12)] * other))
    assert workload.comparable
    assert workload.work_ratio == 1.0
    assert not workload.reasons


@given(st.randoms(use_true_random=False))
def test_counts_that_jitter_are_the_same_work(noise):
    cycles = [
        {name: max(1, round(n * noise.uniform(0.8, 1.2))) for name, n in batch(12).items()}
        for _ in range(12)
    ]
    assert check_workload(role(cycles[:7]), new(cycles[7:])).comparable


def test_one_kernel_more_is_the_same_work():
    workload = check_workload(BASE, new([batch(12) | {"memory_hog": 1}] * 10))
    assert workload.comparable
    assert workload.work_ratio == 1.0


def test_a_large_new_kernel_is_the_same_work_with_a_remark():
    workload = check_workload(BASE, new([batch(12) | {"memory_hog": 1000}] * 10))
    assert workload.comparable
    assert "of the counted time of new is in functions" in reason_text(workload)


def test_cycles_cut_by_the_recording_do_not_matter():
    cut = [batch(1), *[batch(12)] * 8, batch(5)]
    workload = check_workload(BASE, new(cut))
    assert workload.comparable
    assert workload.work_ratio == 1.0


@pytest.mark.parametrize("lost", [[1, 2, 3], [4, 6], [11, 12]])
def test_cycles_without_their_device_work_do_not_matter(lost):
    full_role = new([batch(12)] * 12)
    workload = check_workload(BASE, without(full_role, ON_DEVICE & pl.col("cycle").is_in(lost)))
    assert workload.comparable
    assert workload.work_ratio == 1.0
    assert f"{len(lost)} of 12 steps of new have no device work" in reason_text(workload)


@pytest.mark.parametrize(("base", "other", "ratio"), [(12, 24, 0.5), (24, 12, 2.0)])
def test_twice_the_work_is_a_mismatch_with_its_ratio(base, other, ratio):
    twice = {name: calls * 2 for name, calls in batch(12).items()}
    cycles = {12: batch(12), 24: twice}
    workload = check_workload(role([cycles[base]] * 12), new([cycles[other]] * 12))
    assert not workload.comparable
    assert workload.work_ratio == ratio
    assert "does the work of 2 steps" in reason_text(workload)


def test_layers_against_batches():
    workload = check_workload(
        BASE, new([batch(1), *[LAYER] * 11] * 5, anchor="DecoderLayer.forward")
    )
    assert not workload.comparable
    assert workload.work_ratio == 12.0
    assert "`step` in base and by `DecoderLayer.forward` in new" in reason_text(workload)
    assert "The same work takes about" in reason_text(workload)


def test_a_ratio_is_mirrored_when_sides_are_swapped():
    halves = new([{GEMM: 4, ADD: 6}] * 20)
    wholes = role([{GEMM: 20, ADD: 30}] * 8)
    there, back = check_workload(wholes, halves), check_workload(halves, wholes)
    assert there.work_ratio == 5.0
    assert back.work_ratio == pytest.approx(1 / 5)


def test_prefill_is_no_decode():
    workload = check_workload(role([batch(12)] * 9, cycle_type="prefill"),
                           new([batch(12)] * 9, cycle_type="decode"))  # fmt: skip
    assert not workload.comparable
    assert "Prefill and decode" in reason_text(workload)


def test_anchors_tell_prefill_from_decode_too():
    prefill = role([batch(12)] * 9, anchor="ModelRunner.forward_extend")
    decode = new([batch(12)] * 9, anchor="ModelRunner.forward_decode")
    layers = new([batch(12)] * 9, anchor="Qwen3DecoderLayer.forward")
    assert not check_workload(prefill, decode).comparable
    assert check_workload(prefill, layers).comparable


def test_untyped_cycles_may_be_decode():
    assert check_workload(BASE, new([batch(12)] * 9, cycle_type="decode")).comparable


def test_another_anchor_with_the_same_work_is_a_remark():
    workload = check_workload(BASE, new([batch(12)] * 10, anchor="Engine.step"))
    assert workload.comparable
    assert "`step` in base and by `Engine.step` in new. Both do the same work." in reason_text(
        workload
    )


def test_numbered_anchors_are_the_same():
    first = role([batch(12)] * 9, anchor="ProfilerStep#3")
    assert not check_workload(first, new([batch(12)] * 9, anchor="ProfilerStep#7")).reasons


def test_another_model_is_not_comparable():
    image = {CONVOLUTION: 50, POOLING: 2, ADD: 16, GEMM: 1, "batch_norm_kernel": 53}
    workload = check_workload(BASE, new([image] * 10))
    assert not workload.comparable
    assert workload.work_ratio is None
    assert "run different programs" in reason_text(workload)


def test_nothing_in_common_is_not_comparable():
    workload = check_workload(
        without(BASE, ~ON_DEVICE), without(new([{"alien": 3}] * 9), ~ON_DEVICE)
    )
    assert not workload.comparable
    assert "No function runs on both sides" in reason_text(workload)


def test_an_empty_side_is_not_comparable():
    empty = without(new([batch(1)]), pl.lit(value=True))
    assert reason_text(check_workload(BASE, empty)) == "new has no steps."


def test_another_device_runs_the_same_program():
    hopper = {
        "nvjet_sm90_tst_256x8_64x6_2x1_v_bz_TNT": 48,
        NORM.replace("8u", "4u"): 24,
        "cudnn_generated_fort_native_sdpa_sm80_flash_fprop_wmma_f16_kernel0_0": 12,
        ADD.replace("float", "c10::BFloat16"): 36,
        EMBED: 1,
    }
    workload = check_workload(BASE, new([hopper] * 10, device="MLU 3"))
    assert workload.comparable
    assert workload.work_ratio == 1.0


def test_without_device_work_operators_are_counted():
    more = {"device": "Host", "function_class": "cpu_operator"}
    base, same, half = (
        role([{"aten::mm": calls, "aten::add": 2 * calls}] * 9, **more) for calls in (8, 8, 4)
    )
    assert check_workload(base, same).comparable
    assert check_workload(base, half).work_ratio == 2.0


def test_turns_on_a_cpu_may_vary_with_the_load():
    idle = role([{}] * 9)
    few, some, many = (
        replace(idle, behaviour=idle.behaviour.with_columns(calls=pl.lit(calls, pl.Int64)))
        for calls in (1000, 2000, 64_000)
    )
    assert check_workload(few, some).comparable
    assert check_workload(many, few).work_ratio == 64.0


def test_one_side_without_device_work_is_said():
    workload = check_workload(BASE, without(new([batch(12)] * 9), ON_DEVICE))
    assert workload.comparable
    sentence = (
        "new recorded no device work; such functions of base and their counters are not compared"
    )
    assert sentence in reason_text(workload)


def with_host(full_role, sort, name, calls):
    """The role with a host function in each of its cycles."""
    cycles = full_role.behaviour.unique("cycle", maintain_order=True)
    rows = cycles.with_columns(
        *(pl.lit(name, pl.Categorical).alias(column) for column in ("function", "short_name")),
        pl.lit("Host", pl.Categorical).alias("device"),
        pl.lit(sort, pl.Categorical).alias("function_class"),
        pl.lit(calls, pl.Int64).alias("calls"),
        pl.lit(calls * 1000, pl.Int64).alias("dur_ns"),
    )
    return replace(full_role, behaviour=pl.concat([full_role.behaviour, rows]))


ON_HOST = ~ON_DEVICE


def test_one_side_without_host_events_is_said():
    workload = check_workload(BASE, without(new([batch(12)] * 9), ON_HOST))
    assert workload.comparable
    assert "new recorded no host events" in reason_text(workload)


def test_operators_that_were_not_recorded_are_no_other_work():
    launches = [with_host(side, "cpu_launch", "cuLaunch", 9) for side in (BASE, new([{}] * 9))]
    hosts = [without(side, ON_DEVICE) for side in launches]
    full_role = with_host(with_host(hosts[0], "cpu_operator", "aten::mm", 50), "oncpu", "oncpu", 5)
    workload = check_workload(full_role, hosts[1])
    assert workload.comparable
    assert "new recorded no operators; such functions of base" in reason_text(workload)
    sentence = (
        "base recorded operators, which costs host time: part of the difference may be profiler"
    )
    assert sentence in reason_text(workload)
    assert sentence in reason_text(check_workload(hosts[1], full_role))


def test_how_often_a_thread_is_in_no_call_is_no_work():
    sides = [without(role([{}] * 9, label), ON_DEVICE) for label in ("base", "new")]
    workload = check_workload(
        *(
            with_host(side, "cpu_untraced", "(no recorded call)", calls)
            for side, calls in zip(sides, (1, 500), strict=True)
        )
    )
    assert workload.work_ratio == 1.0
    assert not workload.reasons


@pytest.mark.parametrize("said_by", ["method", "anchor", "no host events"])
def test_lengths_by_unlike_clocks_are_said(said_by):
    kernels = new([batch(12)] * 9, anchor=GEMM if said_by == "anchor" else "step")
    if said_by == "no host events":
        kernels = without(kernels, ON_HOST)
    kernels = replace(kernels, method={"method": "kernels", "anchor": None}.get(said_by, "marker"))
    there, back = check_workload(BASE, kernels), check_workload(kernels, BASE)
    sentence = "Steps of base are timed on the host, those of new on the device"
    assert there.comparable
    assert sentence in reason_text(there)
    assert sentence in reason_text(back)
    assert sentence not in reason_text(check_workload(kernels, kernels))


CYCLES = st.lists(
    st.dictionaries(st.sampled_from([GEMM, ADD, NORM, EMBED, "other", "else"]), st.integers(0, 40)),
    min_size=1,
    max_size=8,
)
UNKNOWN = st.sets(st.sampled_from(["anchor", "cycle_ts_ns", "function_class", "short_name"]))


@given(CYCLES, CYCLES, UNKNOWN)
def test_any_two_runs_get_a_verdict_that_holds_the_other_way_round(left, right, unknown):
    sides = [
        replace(side, behaviour=side.behaviour.with_columns(pl.lit(None).alias(c) for c in unknown))
        for side in (role(left), new(right))
    ]
    sides = [replace(side, behaviour=side.behaviour.cast(BEHAVIOUR.schema)) for side in sides]
    there, back = check_workload(*sides), check_workload(*sides[::-1])
    assert there.comparable == back.comparable
    assert there.comparable or there.reasons
    assert (there.work_ratio is None) == (back.work_ratio is None)
    regrouped = with_equal_work(*sides, there)
    assert (regrouped is None) == (with_equal_work(*sides[::-1], back) is None)
    if regrouped is not None:
        assert all(side.behaviour.height for side in regrouped)


def test_two_ratios_with_as_much_behind_them_are_none():
    workload = check_workload(role([{GEMM: 4, NORM: 16}] * 9), new([{GEMM: 16, NORM: 4}] * 9))
    assert not workload.comparable
    assert workload.work_ratio is None
    assert "do different amounts of work per step" in reason_text(workload)


@pytest.mark.parametrize("unknown", [None, 0])
def test_calls_that_are_not_recorded_are_said(unknown):
    other = new([batch(12)] * 12)
    other = replace(other, behaviour=other.behaviour.with_columns(calls=pl.lit(unknown, pl.Int64)))
    workload = check_workload(BASE, other)
    assert workload.comparable
    assert workload.reasons[0].startswith("Calls are not recorded in new")


def test_a_function_of_two_classes_counts_with_both():
    twice = pl.concat([BASE.behaviour, _also_waiting(BASE.behaviour)])
    work = work_per_cycle(twice, twice)
    assert work.table.filter(pl.col("key") == GEMM)["calls_base"].to_list() == [96.0]


def _also_waiting(table: pl.DataFrame) -> pl.DataFrame:
    other = pl.lit("gpu_comm").cast(table.schema["function_class"])
    return table.filter(pl.col("function") == GEMM).with_columns(function_class=other)


def test_equal_work_keeps_both_classes_of_a_function():
    layers = new([LAYER] * 48)
    layers = replace(
        layers, behaviour=pl.concat([layers.behaviour, _also_waiting(layers.behaviour)])
    )
    base = replace(BASE, behaviour=pl.concat([BASE.behaviour, _also_waiting(BASE.behaviour)]))
    _, grouped = with_equal_work(base, layers, check_workload(base, layers))
    calls = grouped.behaviour.filter(pl.col("cycle") == 1, pl.col("function") == GEMM)["calls"]
    assert calls.to_list() == [48, 48]


def test_prompts_among_tokens_are_another_mix():
    prompt = "void flash_fwd_prompt_kernel<Flash_fwd_kernel_traits<64>>(Flash_fwd_params)"
    requests = role([{**batch(12), prompt: 3}] * 6)
    workload = check_workload(requests, BASE)
    assert "flash_fwd_prompt_kernel" in reason_text(workload)
    assert "prompts and tokens" in reason_text(workload)
    assert "prompts and tokens" not in reason_text(check_workload(BASE, new([batch(12)] * 6)))


def test_equal_work_with_another_mix_is_about_equal():
    prompt = "void flash_fwd_prompt_kernel<Flash_fwd_kernel_traits<64>>(Flash_fwd_params)"
    seven = {name: 7 * calls for name, calls in batch(12).items()}
    exact = check_workload(role([seven] * 6), new([batch(12)] * 9))
    assert exact.work_ratio == 7
    assert "only about equal" not in reason_text(exact)
    request = {**seven, GEMM: 7 * 48 - 12, prompt: 12}
    for workload in (
        check_workload(role([request] * 6), new([batch(12)] * 9)),
        check_workload(role([batch(12)] * 9), new([request] * 6)),
    ):
        assert not workload.comparable
        assert "prompts and tokens" in reason_text(workload)
        assert "Call counts differ from that by up to 4%: the work is only about" in reason_text(
            workload
        )


def test_python_calls_slow_the_host():
    called = pl.lit("cpu_python").cast(BASE.behaviour.schema["function_class"])
    host = BASE.behaviour.filter(~ON_DEVICE).with_columns(function_class=called)
    workload = check_workload(replace(BASE, behaviour=pl.concat([BASE.behaviour, host])), BASE)
    assert "base recorded Python calls, which slow the host." in reason_text(workload)


@pytest.mark.parametrize("anchor", ["PREFILL bs=3", "run_pre_fill", "step[EXTEND bs=2]"])
def test_anchors_tell_prefill_from_decode(anchor):
    workload = check_workload(
        role([batch(12)] * 9, anchor=anchor), new([batch(12)] * 9, anchor="decode")
    )
    assert not workload.comparable
    assert "Prefill and decode steps are different work" in reason_text(workload)
