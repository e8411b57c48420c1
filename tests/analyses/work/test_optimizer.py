"""Operators over lists of parameters."""

from __future__ import annotations

import math

import pytest

from timesink.analyses.work.arguments import CallArguments, KernelLaunch, RunFacts, Tensor
from timesink.analyses.work.formulas import Work, work_of

PARAMETERS = tuple(Tensor(shape, "float") for shape in ((1000, 1000), (1000,), (512, 512)))
ELEMENTS = sum(parameter.elements for parameter in PARAMETERS)
CHUNKS = sum(math.ceil(parameter.elements / 65536) for parameter in PARAMETERS)
FACTS = RunFacts(parameters=PARAMETERS, usual_type="float")
LISTS = "void multi_tensor_apply_kernel<TensorListMetadata<{0}>, {1}Functor<{2}, {0}, 1, 0> >"


def _kernel_launch(
    lists: int, blocks: int, kind: str = "float", functor: str = "Op"
) -> KernelLaunch:
    return KernelLaunch(LISTS.format(lists, functor, kind), (blocks, 1, 1))


def _work(name: str, lists: int, *launches: KernelLaunch, facts: RunFacts = FACTS) -> Work:
    call = CallArguments(name, ((),) * lists + (None,), launches=launches, facts=facts)
    call_work = work_of(call)
    assert call_work is not None
    return call_work


@pytest.mark.parametrize(
    ("name", "lists", "read", "written", "operations"),
    [
        ("aten::_foreach_mul_", 1, 1, 1, 1),
        ("aten::_foreach_sqrt", 1, 1, 1, 1),
        ("aten::_foreach_add_", 2, 2, 1, 1),
        ("aten::_foreach_addcdiv_", 3, 3, 1, 3),
        ("aten::_foreach_lerp_", 2, 2, 1, 3),
        ("aten::_foreach_zero_", 1, 0, 1, 0),
        ("aten::_foreach_copy_", 2, 1, 1, 0),
        ("aten::_foreach_norm", 1, 1, 0, 1),
        ("aten::_amp_foreach_non_finite_check_and_unscale_", 1, 1, 1, 2),
        ("aten::_fused_adamw_", 4, 4, 3, 14),
        ("aten::_fused_sgd_", 3, 3, 2, 6),
    ],
)
def test_long_lists_are_the_parameters(
    name: str, lists: int, read: int, written: int, operations: int
) -> None:
    work = _work(name, lists, _kernel_launch(lists, CHUNKS))
    assert work.read_bytes == read * ELEMENTS * 4
    assert work.written_bytes == written * ELEMENTS * 4
    assert work.vector_flop == operations * ELEMENTS
    assert work.assumed == "list: the parameters"


def test_kernels_tell_the_type() -> None:
    work = _work("aten::_foreach_mul_", 1, _kernel_launch(1, CHUNKS, "c10::BFloat16"))
    assert (work.read_bytes, work.precision) == (2 * ELEMENTS, "bf16")


def test_copies_between_types() -> None:
    kernel = LISTS.format(2, "Copy", "c10::BFloat16, float")
    work = _work("aten::_foreach_copy_", 2, KernelLaunch(kernel, (CHUNKS,)))
    assert (work.read_bytes, work.written_bytes) == (4 * ELEMENTS, 2 * ELEMENTS)


def test_amsgrad_has_one_state_more() -> None:
    work = _work("aten::_fused_adam_", 5, _kernel_launch(5, CHUNKS))
    assert (work.read_bytes, work.written_bytes) == (5 * 4 * ELEMENTS, 4 * 4 * ELEMENTS)


def test_part_of_the_parameters_is_scaled_to_the_blocks() -> None:
    work = _work("aten::_foreach_mul_", 1, _kernel_launch(1, CHUNKS // 2))
    assert 0 < work.vector_flop <= CHUNKS // 2 * 65536
    assert work.vector_flop == pytest.approx(ELEMENTS * (CHUNKS // 2) / CHUNKS)


def test_counters_of_steps_are_one_number_each() -> None:
    work = _work("aten::_foreach_add_", 1, _kernel_launch(1, len(PARAMETERS)))
    assert work.vector_flop == len(PARAMETERS)


def test_without_parameters_blocks_are_full() -> None:
    work = _work("aten::_foreach_mul_", 1, _kernel_launch(1, 10), facts=RunFacts())
    assert work.vector_flop == 10 * 65536
    assert "full" in work.assumed


def test_recorded_lists_count_as_they_are() -> None:
    members = (Tensor((4, 4), ""), Tensor((8,), ""))
    call = CallArguments("aten::_foreach_mul_", (members, None), facts=RunFacts(usual_type="float"))
    work = work_of(call)
    assert work is not None
    assert (work.vector_flop, work.read_bytes) == (24, 96)


def test_nothing_is_said_without_kernels() -> None:
    assert work_of(CallArguments("aten::_foreach_add_", ((), None), facts=FACTS)) is None
