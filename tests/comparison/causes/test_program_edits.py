"""What a change of a program means: every row of `edits.toml` is reached, and says what it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import timesink.comparison.causes
from call_trees import Call, copy, kernel, op, program, program_range, runtime
from program_changes import (
    CASES,
    DROPOUT,
    FLASH,
    MM,
    NORM,
    ONE_MORE,
    READ,
    READING,
    RELU,
    SOFTMAX,
    STEP,
    USUAL,
    WAIT,
    backward,
    below,
    every,
    of_size,
    resized_attention,
    steady,
)
from timesink.answers.comparison.program import program_lines
from timesink.comparison.causes.diagnosis import program_change
from timesink.comparison.causes.edit_facts import ProgramPasses, change_facts
from timesink.comparison.causes.program_edits import _fits, _rows
from timesink.comparison.program.calls import Program
from timesink.comparison.program.edits import difference
from timesink.model.data_files import toml_tables
from timesink.model.diagnosis import ProgramEdit
from timesink.model.findings import CAUSES
from timesink.rules.register import catalogue

ROWS = toml_tables(Path(timesink.comparison.causes.__file__).with_name("edits.toml"))["edit"]
KEYS = {
    "cause", "absorbs", "with", "kind", "came", "gone", "either", "both", "mostly", "only",
    "inside", "outermost", "some", "sorts", "backward", "inner", "again", "precision",
    "replaced", "many", "optimizer_once", "compiled", "layers", "resized", "reads", "no_sorts",
    "with_more", "host_only",
}  # fmt: skip
"""What rows may ask."""

Cycles = tuple[tuple[Call, ...], ...]


def as_cycles(cycles: Sequence[Sequence[Call]]) -> Cycles:
    return tuple(map(tuple, cycles))


@cache
def read(cycles: Cycles) -> Program:
    """A program that several cases have is read once."""
    return program(cycles)


@cache
def edits(base: Cycles, new: Cycles) -> tuple[ProgramEdit, ...]:
    return program_change(read(base), read(new)).edits


def change(base: Sequence[Sequence[Call]], new: Sequence[Sequence[Call]]) -> list[ProgramEdit]:
    return list(edits(as_cycles(base), as_cycles(new)))


def matched_rows(base: Sequence[Sequence[Call]], new: Sequence[Sequence[Call]]) -> set[int]:
    """Rows that name the cause of a change."""
    diff = difference(read(as_cycles(base)), read(as_cycles(new)))
    passes = ProgramPasses.of(diff)
    facts = [change_facts(diff, edit, passes) for edit in diff.changes]
    return {next(at for at, row in enumerate(_rows()) if _fits(row, facts_)) for facts_ in facts}


@pytest.mark.parametrize("row", range(len(ROWS)), ids=lambda row: f"{row}-{ROWS[row]['cause']}")
def test_every_row_has_a_case(row: int):
    cause, base, new = CASES[row]
    assert ROWS[row]["cause"] == cause
    assert row in matched_rows(base, new)
    assert cause in {edit.cause for edit in change(base, new)}


@pytest.mark.parametrize("number", range(len(CASES)))
def test_swapped_sides_have_the_same_cause(number: int):
    _, base, new = CASES[number]
    there, back = change(base, new), change(new, base)
    assert [cause.cause for cause in there] == [cause.cause for cause in back]
    assert [cause.device_ns for cause in there] == [-cause.device_ns for cause in back]


def test_rows_ask_only_what_is_answered():
    assert {key for row in ROWS for key in row} <= KEYS
    assert len(CASES) == len(ROWS)


def test_the_last_row_takes_what_is_left():
    assert set(ROWS[-1]) == {"cause"}


def test_every_cause_has_a_name_and_advice():
    causes = {row["cause"] for row in ROWS}
    named = {
        cause_name for row in ROWS for key in ("absorbs", "with") for cause_name in row.get(key, ())
    }
    assert named - {"*"} <= causes <= set(CAUSES)
    for cause in causes:
        row = catalogue()["causes"][cause]
        assert row["name"]
        assert row["advice"]


# -- consequences ----------------------------------------------------------------------------------


def only(base: Sequence[Sequence[Call]], new: Sequence[Sequence[Call]]) -> ProgramEdit:
    (cause,) = change(base, new)
    return cause


def test_a_cause_stands_for_its_consequences():
    """The kernel below a matrix product is another one, and its inputs are cast before."""
    half = op("aten::mm", kernel("ampere_fp16_s16816gemm_fp16_tn", 8))
    full = op("aten::mm", kernel("ampere_sgemm_tn", 20))
    cast = op("aten::to", op("aten::_to_copy", kernel("cast", 1)))
    cause = only([[RELU, full, NORM]] * 3, [[RELU, cast, half, NORM]] * 3)
    assert (cause.cause, cause.device_ns, cause.launches) == ("precision_change", -11_000, 1)


def test_a_slight_cause_does_not_stand_for_more_than_it():
    """Casts of a second are not the consequence of a product that takes a nanosecond."""
    half = op("aten::mm", kernel("ampere_fp16_s16816gemm_fp16_tn", 20))
    full = op("aten::mm", kernel("ampere_sgemm_tn", 21))
    cast = op("aten::to", op("aten::_to_copy", kernel("cast", 900)))
    causes = change([[RELU, full, NORM]] * 3, [[RELU, cast, half, NORM]] * 3)
    assert [cause.cause for cause in causes] == ["casts", "precision_change"]


def test_a_graph_stands_for_all_that_it_replaces():
    graph = [[runtime("cudaGraphLaunch", kernel("gemm", 20), kernel("clamp", 3))]] * 3
    cause = only([[MM, RELU, WAIT]] * 3, graph)
    assert (cause.cause, cause.waits, cause.device_ns) == ("graph_capture", -1, 0)


def test_a_layer_stands_for_its_waits_and_for_the_longer_list_of_the_optimizer():
    """One more layer that reads a value in its forward pass, and has parameters of its own."""

    def step(kernels: int) -> Call:
        lists = op("aten::_foreach_add_", *[kernel("multi_tensor_apply_kernel", 6)] * kernels)
        return program_range("Optimizer.step#AdamW.step", lists)

    base = [[NORM, *READING * 3, step(5)]] * 3
    new = [[NORM, *READING * 4, step(6)]] * 3
    cause = only(base, new)
    assert (cause.cause, cause.waits) == ("added_layer", 1)
    assert cause.sentence.startswith("One more layer (3 → 4): ")


def test_an_optimizer_that_does_something_else_is_no_consequence_of_a_layer():
    other = program_range(
        "Optimizer.step#AdamW.step", op("aten::_fused_adamw_", kernel("fused", 6))
    )
    causes = change([[NORM, *READING * 3, STEP]] * 3, [[NORM, *READING * 4, other]] * 3)
    assert [cause.cause for cause in causes] == ["added_layer", "optimizer"]


@pytest.mark.parametrize("shapes", ["recorded", "not recorded"])
def test_batches_of_uneven_length_come_before_the_call_that_draws_it(shapes: str):
    """The length is drawn on the host: nobody waits for a device."""

    def cycle(size: int, *drawn: Call) -> list[Call]:
        padded = op("aten::constant_pad_nd", kernel("pad", 40 * len(drawn)))
        calls = [*drawn, *of_size(size), *[padded] * len(drawn)]
        if shapes == "recorded":
            return calls
        return [replace(call, shapes=None, types=None) for call in calls]

    drawn = (
        op("aten::randint", op("aten::random_")),
        op("aten::item", op("aten::_local_scalar_dense")),
    )
    base, new = [cycle(64)] * 4, [cycle(size, *drawn) for size in (40, 64, 90, 72)]
    causes = change(base, new)
    assert [cause.cause for cause in causes] == ["workload_change", "added_layer", "host_code"]
    assert causes[0].sentence.startswith("Sizes of equal calls vary from step to step")
    back = change(new, base)[0]
    assert back.cause == "workload_change"
    assert "no longer vary" in back.sentence


def convolution_steps(name: str, us: int, *more: Call) -> list[list[Call]]:
    inner = op("aten::cudnn_convolution", *more, kernel(name, us))
    return steady(
        op("aten::conv2d", op("aten::convolution", inner)), op("aten::bmm", kernel("gemm", 900))
    )


def test_a_kernel_that_autotuning_chose_anew_is_the_same_program():
    """With `cudnn.benchmark`: another kernel, and a memset before it, that take as long."""
    base = convolution_steps("sm80_xmma_fprop_implicit_gemm_f16f16", 100)
    memset = Call("Memset (Device)", kind="memset", us=1)
    new = convolution_steps("sm90_xmma_dgrad_tilesize_nhwc", 98, memset)
    change_ = program_change(read(as_cycles(base)), read(as_cycles(new)))
    assert change_.same
    assert [(choice.cause, choice.inside) for choice in change_.choices] == [
        ("kernel_choice", "aten::cudnn_convolution")
    ]
    assert program_lines(change_)[0] == (
        "The recorded calls are the same. cuDNN chose another kernel for one convolution, with no "
        "effect on time (-1.00 us of device work per step)."
    )


def test_a_choice_that_takes_longer_is_an_edit():
    base = convolution_steps("sm80_xmma_fprop_implicit_gemm_f16f16", 100)
    cause = only(base, convolution_steps("sm90_xmma_dgrad_tilesize_nhwc", 300))
    assert (cause.cause, cause.device_ns) == ("kernel_choice", 200_000)


def test_a_longer_prompt_is_no_choice_of_kernels():
    cause = only(*resized_attention())
    assert cause.cause == "workload_change"


@pytest.mark.parametrize("shapes", ["recorded", "not recorded"])
def test_other_sizes_own_the_device_time_of_their_calls_and_no_time_of_the_host(shapes: str):
    """One of two equal products gets another kernel; the other, and the sums, only take longer."""

    def cycle(rows: int, us: int, second: str, pace: int) -> list[Call]:
        sizes = f"[[{rows}, 8]]" if shapes == "recorded" else None
        products = [
            op("aten::mm", kernel(name, us), shapes=sizes, us=pace) for name in ("gemm", second)
        ]
        sums = [
            op(f"aten::sum{at}", kernel(f"sum{at}", us, grid=rows), shapes=sizes, us=pace)
            for at in range(3)
        ]
        step = program_range(
            "Optimizer.step#Adam.step", op("aten::_foreach_add_", kernel("multi", 6))
        )
        return [*products, *sums, step]

    cause = only([cycle(8, 20, "gemm", 90)] * 3, [cycle(12, 30, "gemm_other", 50)] * 3)
    assert cause.cause == "workload_change"
    assert (cause.device_ns, cause.host_ns) == (50_000, 0)


def test_a_layer_more_keeps_its_backward_pass_where_sizes_differ_as_well():
    """Other sizes make no calls."""

    def cycle(layers: int, size: int) -> list[Call]:
        shapes = f"[[{size}, 8]]"
        names = ("norm", "mm", "relu", "add", "mul")
        layer = [
            op(f"aten::{name}", kernel(name, size, grid=size), shapes=shapes) for name in names
        ]
        back = [backward(op(f"aten::{name}_back", kernel(f"{name}_back", 9))) for name in names]
        losses = [op(f"aten::loss{at}", shapes=shapes) for at in range(3)]
        return [op("aten::begin"), *layer * layers, *losses, *back * layers]

    causes = change([cycle(3, 8)] * 3, [cycle(4, 16)] * 3)
    assert {cause.cause: cause.device_ns for cause in causes} == {
        "added_layer": (5 * 16 + 5 * 9) * 1000,
        "workload_change": 3 * 5 * 8 * 1000,
    }


def test_beams_come_before_the_operators_that_choose_among_them():
    """Four beams: every operator has four rows, and some calls reorder what was kept."""
    reorder = op("aten::index_select", kernel("gather", 400))
    grown = [replace(op_, calls=(kernel("clamp", 12, grid=4),), shapes="[[4, 8]]") for op_ in USUAL]
    plain = [replace(op_, calls=(kernel("clamp", 3, grid=1),), shapes="[[1, 8]]") for op_ in USUAL]
    topk = op("aten::topk", kernel("topk", 50))
    argmax = op("aten::argmax", kernel("argmax", 5))
    causes = change([[*plain, argmax]] * 3, [[*grown, topk, *[reorder] * 4]] * 3)
    assert causes[0].cause == "workload_change"
    assert "4 times the work" in causes[0].sentence


def test_gradients_of_more_parameters_are_no_layer():
    """The backward pass alone does more: layers that it begins are those of the forward pass."""
    weight = backward(op("aten::mm", kernel("wgrad", 30)), op("aten::t"))
    block = [weight, backward(RELU), backward(NORM), backward(DROPOUT), backward(SOFTMAX)]
    cause = only([[*USUAL, *block * 3]] * 3, [[*USUAL, *block * 4]] * 3)
    assert cause.cause == "gradient_handling"
    assert "layer" not in cause.sentence


def test_larger_weights_stand_for_the_longer_list_of_the_optimizer():
    def cycle(rows: int, kernels: int) -> list[Call]:
        shapes = f"[[{rows}, 8]]"
        lists = op("aten::_fused_adamw_", *[kernel("multi_tensor_apply_kernel", 60)] * kernels)
        step = program_range("Optimizer.step#AdamW.step", lists)
        return [*(replace(call, shapes=shapes) for call in USUAL), step]

    cause = only([cycle(8, 4)] * 3, [cycle(16, 6)] * 3)
    assert (cause.cause, cause.device_ns) == ("workload_change", 120_000)
    assert cause.sentence.startswith("The same calls with different shapes")


def test_what_takes_most_comes_first_and_choices_of_libraries_last():
    chosen = [op("aten::mul", kernel(name, us)) for name, us in (("one", 20), ("other", 900))]
    reduced, loaded = (
        op("nccl:all_reduce", kernel("ncclDevKernel", 50)),
        op("enumerate(DataLoader)#"),
    )
    causes = change(steady(chosen[0]), [[loaded, *USUAL, chosen[1], reduced]] * 3)
    assert [cause.cause for cause in causes] == [
        "collective_change",
        "data_loading",
        "kernel_choice",
    ]


# -- words -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "new", "sentence", "place"),
    [
        (steady(), [[MM, RELU, DROPOUT, NORM]] * 3, "aten::dropout added",
         "in the step, between aten::relu and aten::native_layer_norm"),
        ([[MM, DROPOUT]] * 3, [[MM]] * 3, "aten::dropout removed", "in the step, after aten::mm"),
        (*below("aten::mul", kernel("one"), kernel("other", 30)), "other instead of one",
         "in aten::mul"),
        (steady(backward(MM)), steady(backward(MM, DROPOUT)), "aten::dropout added",
         "in the backward pass, in AddmmBackward0"),
        ([[program_range(f"layer {n}", MM, RELU) for n in range(4)]] * 3,
         [[program_range(f"layer {n}", MM, NORM, RELU) for n in range(4)]] * 3,
         "aten::native_layer_norm added at 4 of 4 places", "in layer #"),
        ([[NORM, *[MM, RELU, DROPOUT, SOFTMAX, FLASH] * 3]] * 3,
         [[NORM, *[MM, RELU, DROPOUT, SOFTMAX, FLASH] * 4]] * 3,
         ONE_MORE, "in the step, after aten::scaled_dot_product_attention"),
        (*below("aten::to", copy("Memcpy HtoD (Pinned -> Device)"),
                copy("Memcpy HtoD (Pageable -> Device)")),
         "Memcpy HtoD (Pageable -> Device) instead of Memcpy HtoD (Pinned -> Device)",
         "in aten::to"),
        (*below("aten::mul", kernel("scale<int>"), kernel("scale<float>", 30)),
         "Different variants of scale", "in aten::mul"),
        (every(99), every(4, *[DROPOUT] * 3), "One step in 4 runs aten::dropout as well",
         "in steps of their own type"),
        (every(6, *[DROPOUT] * 3), every(3, *[DROPOUT] * 3),
         "One step in 3 instead of one in 6 runs aten::dropout", "in steps of their own type"),
    ],
)  # fmt: skip
def test_what_is_said(
    base: Sequence[Sequence[Call]], new: Sequence[Sequence[Call]], sentence: str, place: str
):
    cause = only(base, new)
    assert (cause.sentence, cause.place) == (sentence, place)


def test_evidence_counts_calls_of_both_sides():
    cause = only(steady(READ), steady(*[READ] * 3))
    counted = {
        proof.function: (proof.base, proof.new) for proof in cause.evidence if proof.function
    }
    assert counted["cudaStreamSynchronize"] == (1, 3)
    assert cause.evidence[0].function == "cudaStreamSynchronize"
    assert (cause.call, cause.base_calls, cause.new_calls, cause.waits) == ("aten::item", 1, 3, 2)


def test_device_time_is_the_same_within_what_equal_runs_differ_by():
    def took(us: int) -> Program:
        return program([[op("aten::mm", kernel("gemm", us))]] * 5)

    verdicts = [
        program_change(took(10_000), took(us)).device_verdict for us in (10_050, 10_100, 9_900)
    ]
    assert verdicts == ["same", "longer", "shorter"]
