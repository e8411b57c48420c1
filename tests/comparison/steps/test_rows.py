"""The published comparison, beside a plain one that goes row by row, and the published tables."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from behaviour_rows import behaviour
from timesink.comparison.results import ROWS
from timesink.comparison.steps.sides import comparison_rows

KEY = ["function", "metric", "device"]
FEW_NUMBERS = st.integers(0, 3).map(float) | st.integers(0, 10**7).map(lambda n: n / 1e4)


@st.composite
def sides(draw) -> pl.DataFrame:
    """Some of three functions, two metrics and two devices in some of ten cycles."""
    keys = draw(
        st.lists(
            st.tuples(
                st.sampled_from("abc"), st.sampled_from(["u", "v", None]), st.sampled_from("xy")
            ),
            unique=True,
            max_size=4,
        )
    )
    rows = [
        dict(zip(KEY, key, strict=True), cycle=cycle, beta_pct=beta, mu=mu)
        for key in keys
        for cycle in draw(st.lists(st.integers(1, 10), unique=True, min_size=1))
        for beta, mu in [draw(st.tuples(FEW_NUMBERS, FEW_NUMBERS | st.none()))]
    ]
    return behaviour(*rows)


def expected_row(base: pl.DataFrame, new: pl.DataFrame, key: tuple[str, ...]) -> dict[str, float]:
    """The rules one by one, for one key."""
    stats = pytest.importorskip("scipy.stats")
    both = [_of_key(side, key) for side in (base, new)]
    row: dict[str, float] = {}
    z = {}
    for name, column in (("beta", "beta_pct"), ("mu", "mu"), ("log", "mu")):
        first, two = (np.array(side[column].fill_null(0.0).to_list()) for side in both)
        if name == "log":
            first, two = np.log1p(first), np.log1p(two)
        means = [side.mean() if len(side) else 0.0 for side in (first, two)]
        stds = [
            side.std(ddof=1) if len(side) > 1 and np.ptp(side) else 0.0 for side in (first, two)
        ]
        z[name] = (means[1] - means[0]) / stds[0] if stds[0] > 1e-9 else 0.0
        tested = min(len(first), len(two)) > 1
        if tested and max(stds) == 0:
            welch = np.nan if first[0] == two[0] else 0.0
        elif tested:
            welch = stats.ttest_ind_from_stats(
                means[0], stds[0], len(first), means[1], stds[1], len(two), equal_var=False
            ).pvalue
        else:
            welch = 1.0
        row |= {
            f"{name}_base": means[0],
            f"{name}_new": means[1],
            f"{name}_welch_p": welch,
            f"{name}_rank_p": stats.mannwhitneyu(first, two).pvalue if tested else 1.0,
        }
    delta = row["beta_new"] - row["beta_base"]
    row["score"] = abs(delta) * (abs(z["beta"]) + abs(z["log"]))
    return row | {"beta_z": z["beta"], "mu_z": z["mu"], "log_mu_z": z["log"]}


def _of_key(side: pl.DataFrame, key: tuple[str, ...]) -> pl.DataFrame:
    return side.filter(pl.col(name) == value for name, value in zip(KEY, key, strict=True))


@given(sides(), sides())
def test_every_row_is_as_the_rules_say_highest_score_first(base, new):
    rows = comparison_rows(base, new)
    assert rows.schema == pl.Schema(ROWS)
    present = {key for side in (base, new) for key in side.select(KEY).rows() if key[1]}
    assert sorted(rows.select(KEY).rows()) == sorted(present)
    for row in rows.rename(lambda name: name.removesuffix("_pct")).iter_rows(named=True):
        for name, value in expected_row(base, new, tuple(row[name] for name in KEY)).items():
            if name in row:
                assert row[name] == pytest.approx(value, rel=1e-7, abs=1e-9, nan_ok=True), name
    order = [(-score, *key) for score, *key in rows.select("score", *KEY).rows()]
    assert order == sorted(order)


@given(sides(), sides())
def test_swapped_sides_mirror_the_changes(base, new):
    there = comparison_rows(base, new).sort(KEY)
    back = comparison_rows(new, base).sort(KEY)
    deltas = ["beta_delta_pct", "mu_delta"]
    assert_frame_equal(there.select(deltas), back.select(-pl.col(deltas)))
    same = ["beta_rank_p", "mu_rank_p", "beta_welch_p", "mu_welch_p"]
    assert_frame_equal(there.select(same), back.select(same))
    assert there["cycles_base"].to_list() == back["cycles_new"].to_list()


def test_rows_of_one_score_stand_by_name():
    names = [("b", "x", "GPU 1"), ("a", "y", "GPU 0"), ("a", "x", "GPU 1"), ("a", "x", "GPU 0")]
    side = behaviour(*({**dict(zip(KEY, name, strict=True)), "cycle": 1} for name in names))
    assert comparison_rows(side, side).select(KEY).rows() == sorted(names)


def test_a_run_beside_itself_has_not_changed():
    side = behaviour(*({"cycle": cycle, "beta_pct": 10.0 + cycle} for cycle in range(1, 6)))
    row = comparison_rows(side, side).row(0, named=True)
    assert (row["score"], row["beta_delta_pct"], row["mu_delta"]) == (0, 0, 0)
    assert (row["beta_welch_p"], row["beta_rank_p"]) == (1, 1)
    assert np.isnan(row["mu_welch_p"])  # constant on both sides


def test_what_ran_on_one_side_only_has_zeros_on_the_other_and_says_so():
    base = behaviour(*({"cycle": cycle, "mu": 50.0 + cycle} for cycle in (1, 2, 3)))
    row = comparison_rows(base, behaviour()).row(0, named=True)
    assert (row["runs_on"], row["cycles_base"], row["cycles_new"]) == ("base", 3, 0)
    assert (row["beta_new_pct"], row["mu_new"], row["mu_base"]) == (0, 0, 52)
    assert (row["beta_welch_p"], row["mu_rank_p"], row["unit"]) == (1, 1, "%")
    assert row["mu_z"] == pytest.approx(-52)


def test_one_cycle_has_no_spread_and_no_test():
    base, new = behaviour({"beta_pct": 1.0}), behaviour({"beta_pct": 9.0})
    row = comparison_rows(base, new).row(0, named=True)
    assert (row["beta_delta_pct"], row["beta_z"], row["score"]) == (8, 0, 0)
    assert (row["beta_welch_p"], row["beta_rank_p"]) == (1, 1)


def test_functions_without_a_metric_have_no_row():
    side = behaviour({"metric": None, "mu": None, "function": "cudaStreamSynchronize"})
    assert comparison_rows(side, side).is_empty()


def test_loads_without_a_logarithm_are_left_out_of_it():
    side = behaviour(*({"cycle": cycle, "mu": -5.0 - cycle} for cycle in (1, 2, 3)))
    row = comparison_rows(side, side).row(0, named=True)
    assert (row["log_mu_z"], row["mu_base"]) == (0, -7)


# -- published tables ------------------------------------------------------------------------------
