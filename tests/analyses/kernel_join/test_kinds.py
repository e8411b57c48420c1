"""Numbers for launches that mean the same on two recordings."""

from __future__ import annotations

from typing import Any

import polars as pl

from timesink.analyses.kernels.join import numbered_launches
from timesink.analyses.kernels.table import SHAPE


def calls(*launches: tuple[str, int | None], **columns: Any) -> pl.DataFrame:
    """Launches of a name with a grid."""
    shape = dict.fromkeys(SHAPE, pl.Int64)
    rows = [{"name": name, **dict.fromkeys(SHAPE, 1), "grid_x": grid} for name, grid in launches]
    return pl.DataFrame(rows, schema={"name": pl.Categorical, **shape}).with_columns(**columns)


def same(left: pl.DataFrame, right: pl.DataFrame) -> list[bool]:
    ours, theirs = numbered_launches(left, right)
    return [bool(a == b) for a, b in zip(ours.kind, theirs.kind, strict=True)]


def test_a_kind_is_name_arguments_grid_and_block():
    left = calls(("void at::f<Add>(T1)", 1), ("void f<Add>(T1)", 1), ("g", 1), ("h", 1))
    right = calls(("f<Add>(int)", 1), ("f<Add>(int)", 2), ("g", 1), ("h", 1))
    right = right.with_columns(block_y=pl.Series([1, 1, 1, 2]))
    assert same(left, right) == [True, False, True, False]


def test_arguments_count_where_both_sides_have_them():
    left = calls(("f<Add>(T1)", 1), ("f<Mul>(T1)", 1), ("k<Gemm<64>>(T1)", 1))
    right = calls(("f<Mul>(int)", 1), ("f<Mul>(int)", 1), ("_Z1kI4GemmILi64EEEvT_", 1))
    assert same(left, right) == [False, True, True]


def test_a_grid_that_only_one_side_tells_does_not_count():
    assert same(calls(("f", 1), ("f", 2)), calls(("f", None), ("f", None))) == [True, True]
    assert same(calls(("f", 1)).drop(SHAPE), calls(("f", 7))) == [True]


def test_a_launch_without_grid_among_others_is_of_its_own_kind():
    left = calls(("f", 1), ("f", None))
    assert same(left, calls(("f", 1), ("f", 1))) == [True, False]


def test_names_that_a_table_cut():
    full_name = "ampere_fp16_s16816gemm_fp16_64x128_ldg8_relu_f2f_stages_64x5_tn"
    cut = "ampere_fp16_s16816gemm_fp16_64x128_ldg8_relu_f2..."
    left = calls((cut, None), ("elementwise_kernel", None))
    right = calls((full_name, 4), ("void at::native::elementwise_kernel<4>(int)", 4))
    assert same(left, right) == [True, True]


def test_families_that_say_nothing():
    ours, theirs = numbered_launches(
        calls(("f", 1), ("g", 1), family=pl.Series(["gemm", "other"])),
        calls(("h", 1), ("k", 1), family=pl.Series(["gemm", None], dtype=pl.String)),
    )
    assert ours.family[0] == theirs.family[0] >= 0
    assert (ours.family[1], theirs.family[1]) == (-1, -1)


def test_nothing_at_all():
    ours, theirs = numbered_launches(calls(), calls(("f", 1)))
    assert (len(ours), len(theirs)) == (0, 1)
