"""What recordings leave out, and arguments that no operator has."""

from __future__ import annotations

import itertools

import pytest

from timesink.analyses.work.arguments import CallArguments, KernelLaunch, RunFacts, Tensor
from timesink.analyses.work.formulas import _built_in, work_of

GRID = "void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<...> >"
ROWS = "void at::native::vectorized_gather_kernel<16, long>(char*, char*)"
CAT = "void at::native::CatArrayBatchedCopy<at::native::OpaqueType<{}u>, unsigned int, 3, 64, 64>"


def test_dimensions_of_a_reduction() -> None:
    tensor = Tensor((4, 6), "float")
    old = work_of(CallArguments("aten::sum", (tensor, None, None, None)))
    assert old is not None
    assert (old.read_bytes, old.written_bytes) == (96, 4)
    assert "dimensions" in old.assumed
    full_work = work_of(CallArguments("aten::sum", (tensor,)))
    assert full_work is not None
    assert full_work.assumed == ""


@pytest.mark.parametrize(
    ("kernel", "blocks", "rows"), [(GRID, 6, 1), (GRID, 12, 2), (ROWS, 32, 32)]
)
def test_indices_by_the_threads_for_them(kernel: str, blocks: int, rows: int) -> None:
    table = Tensor((888, 2880), "c10::BFloat16")
    launches = (KernelLaunch(kernel, (blocks, 1, 1)),)
    work = work_of(CallArguments("aten::index", (table, None), launches=launches))
    assert work is not None
    assert work.written_bytes == rows * 2880 * 2
    assert work.assumed


def test_recorded_indices() -> None:
    table, index = Tensor((100, 10, 4), "float"), Tensor((7,), "")
    for indices, picked in (((index,), 7 * 40), ((Tensor((), ""), index), 100 * 7 * 4)):
        work = work_of(CallArguments("aten::index", (table, indices)))
        assert work is not None
        assert work.written_bytes == picked * 4


def test_types_of_lists() -> None:
    members = (Tensor((2, 6), ""), Tensor((3, 6), ""))
    facts = RunFacts(usual_type="float")
    usual = work_of(CallArguments("aten::cat", (members, None), facts=facts))
    assert usual is not None
    assert (usual.read_bytes, usual.flop) == (120, 0)
    assert "usual" in usual.assumed
    launches = (KernelLaunch(CAT.format(2)),)
    named = work_of(CallArguments("aten::cat", (members, None), launches=launches, facts=facts))
    assert named is not None
    assert (named.read_bytes, named.written_bytes, named.assumed) == (60, 60, "")


def test_strange_arguments_never_raise() -> None:
    """Whatever a call was given, each operator has work or none."""
    odd = [None, (), (Tensor((), ""),), Tensor((), "float"), Tensor((0, 3), "float")]
    odd += [Tensor((2, 3), ""), Tensor((5,), "long int"), Tensor((2, 3, 4, 5), "c10::Half")]
    # Each comes before and behind three others.
    pairs = [(), *((argument, odd[at - by]) for at, argument in enumerate(odd) for by in (1, 3, 6))]
    launches = (KernelLaunch("multi_tensor_apply_kernel<>", (3,)), KernelLaunch(GRID, (0,)))
    texts = ("", "[]", "[9]", "True", "-1", "inf", "nonsense")
    for name, values in itertools.product(_built_in().rows, ((), texts)):
        for inputs in pairs:
            work = work_of(CallArguments(name, inputs * 2, values, launches=launches))
            assert work is None or work.bytes >= 0


@pytest.mark.parametrize("text", ["-inf", "inf", "1e400", "[-inf, 1e400]", "9" * 400])
def test_numbers_beyond_all_are_none(text: str) -> None:
    assert CallArguments("aten::sum", (None,), (text,)).integers(0) == ()


@pytest.mark.parametrize("size", [10**200, 10**400, -(10**400)])
def test_absurd_shapes_have_no_work(size: int) -> None:
    many = Tensor((size, size), "float")
    for name in ("aten::mm", "aten::add", "aten::sum", "aten::embedding", "aten::cat"):
        assert work_of(CallArguments(name, (many, many))) is None


@pytest.mark.parametrize("figure", ["nan", "inf", "1e400", "-1"])
def test_figures_that_are_none_are_refused(figure: str) -> None:
    x = Tensor((8,), "float")
    call = CallArguments("triton_poi_fused_add_0", (x, x, x), extra={"kernel_num_gb": figure})
    assert work_of(call) is None


def test_no_element_of_a_table_is_read_or_written_twice() -> None:
    table, many = Tensor((2, 768), "float"), Tensor((2048,), "long int")
    wide = Tensor((2048, 768), "long int", (1, 0))
    small, large, index = 2 * 768 * 4, 2048 * 768 * 4, 2048 * 8
    dim, lists = ("", "0", ""), (many,)
    starts = Tensor((16,), "long int")
    source = Tensor((2048, 768), "float")
    for name, inputs, read, written in (
        ("embedding", (table, many), small + index, large),
        ("index_select", (table, None, many), small + index, large),
        ("gather", (table, None, wide), small + index, large),
        ("index", (table, lists), small + index, large),
        ("_embedding_bag", (table, many, starts), small + index + 128, 16 * 768 * 4),
        ("scatter_", (table, None, wide, source), large + index, small),
        ("scatter_add_", (table, None, wide, source), large + index + small, small),
        ("index_add_", (table, None, many, source), large + index + small, small),
        ("index_fill_", (table, None, many, None), index, small),
        ("index_put_", (table, lists, source), large + index, small),
    ):
        work = work_of(CallArguments(f"aten::{name}", inputs, dim))
        assert work is not None, name
        assert (work.read_bytes, work.written_bytes) == (read, written), name


def test_gradients_of_a_table_are_as_large_as_it() -> None:
    grad, index = Tensor((8192, 768), "c10::Half"), Tensor((8192,), "long int")
    call = CallArguments("aten::embedding_dense_backward", (grad, index, None), ("", "", "30522"))
    work = work_of(call)
    assert work is not None
    assert (work.written_bytes, work.assumed) == (30522 * 768 * 2, "")
