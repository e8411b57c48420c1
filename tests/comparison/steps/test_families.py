"""Functions meet by name, by normalised name, or by family, and none is lost on the way."""

from __future__ import annotations

import polars as pl
import pytest

from programs import ADD, ATTENTION, GEMM, NORM, batch, role
from timesink.comparison.results import FAMILIES
from timesink.comparison.steps.sides import match_functions
from timesink.comparison.steps.verdict import family_rows

NVJET = "nvjet_sm90_tst_256x8_64x6_2x1_v_bz_TNT"
BF16_ADD = ADD.replace("float", "c10::BFloat16")


def rows(base, new):
    return family_rows(*(role(cycles).behaviour for cycles in (base, new)))


def test_equal_names_need_no_family():
    family_table = rows([batch(3)] * 4, [batch(3)] * 5)
    assert family_table.is_empty()
    assert family_table.schema == pl.Schema(FAMILIES)


def test_other_devices_meet_at_both_levels():
    family_table = rows([{GEMM: 6, ADD: 5, NORM: 1}] * 4, [{NVJET: 3, BF16_ADD: 5, NORM: 1}] * 4)
    assert family_table.schema == pl.Schema(FAMILIES)
    gemm, add = family_table.to_dicts()
    assert (gemm["family"], gemm["name"]) == ("gemm", None)
    assert (gemm["names_base"], gemm["names_new"]) == ([GEMM], [NVJET])
    assert (gemm["base_ns"], gemm["new_ns"], gemm["delta_ns"]) == (6000.0, 3000.0, -3000.0)
    assert (gemm["calls_base"], gemm["calls_new"]) == (6.0, 3.0)
    assert (add["family"], add["name"]) == ("elementwise", "elementwise_kernel<CUDAFunctor_add>")
    assert (add["calls_base"], add["calls_new"]) == (5.0, 5.0)


def test_a_variant_that_took_over_is_seen_with_those_that_were_there():
    """All 8 calls go to one variant: there is neither a new function nor fewer calls."""
    (row,) = rows([{ADD: 5, BF16_ADD: 3}] * 4, [{ADD: 8}] * 4).to_dicts()
    assert (row["calls_base"], row["calls_new"]) == (8.0, 8.0)
    assert (row["names_base"], row["names_new"]) == ([ADD, BF16_ADD], [ADD])


def test_a_new_kernel_is_seen_with_the_rest_of_its_family():
    (row,) = rows([{GEMM: 5}] * 4, [{GEMM: 5, NVJET: 2}] * 4).to_dicts()
    assert (row["family"], row["name"]) == ("gemm", None)
    assert (row["calls_base"], row["calls_new"]) == (5.0, 7.0)


def test_what_has_no_counterpart_is_not_lost():
    (row,) = rows([{GEMM: 5, ATTENTION: 2}] * 4, [{GEMM: 5}] * 4).to_dicts()
    assert (row["family"], row["names_base"], row["names_new"]) == ("attention", [ATTENTION], [])
    assert (row["base_ns"], row["new_ns"]) == (2000.0, 0.0)


def test_cycles_without_the_function_count_as_zero():
    (row,) = rows([{GEMM: 4}, {}, {}, {GEMM: 4}], [{NVJET: 1}] * 4).to_dicts()
    assert (row["base_ns"], row["new_ns"]) == (2000.0, 1000.0)


def test_python_functions_meet_without_their_lines():
    more = {"device": "Host", "function_class": "cpu_python"}
    sides = [role([{f"train.py({line}): step": 1}] * 3, **more).behaviour for line in (120, 124)]
    (row,) = family_rows(*sides).to_dicts()
    assert (row["name"], row["family"], row["device"]) == ("train.py: step", "cpu_python", "Host")


def test_largest_change_comes_first():
    family_table = rows([{GEMM: 2, ATTENTION: 9}] * 3, [{NVJET: 3, "fmha_v2": 1}] * 3)
    assert family_table["family"].to_list() == ["attention", "gemm"]
    assert family_table["delta_ns"].to_list() == [-8000.0, 1000.0]


def test_devices_are_kept_apart():
    base, new = (role([{GEMM: 1}] * 2, device=name).behaviour for name in ("GPU 0", "GPU 1"))
    assert set(
        match_functions(base, new).filter(pl.col("device").cast(pl.String) != "Host")["level"]
    ) == {"alone"}


@pytest.mark.parametrize("swap", [False, True])
def test_levels_do_not_depend_on_the_direction(swap):
    sides = [
        role([kernels]).behaviour
        for kernels in ({GEMM: 1, ADD: 1, NORM: 1}, {NVJET: 1, BF16_ADD: 1, NORM: 1})
    ]
    met = match_functions(*(sides[::-1] if swap else sides))
    levels = dict(met.select(pl.col("function").cast(pl.String), "level").iter_rows())
    assert levels == {
        GEMM: "family", NVJET: "family", ADD: "normalised", BF16_ADD: "normalised",
        NORM: "exact", "oncpu": "exact",
    }  # fmt: skip
