"""Utilisation along a run."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timesink.analyses.kernels.groups import strip
from timesink.analyses.kernels.usage import CLASSES

ROW = st.tuples(
    st.none() | st.integers(0, 10**6), st.none() | st.floats(0, 120), st.sampled_from(CLASSES)
)
ROWS = st.lists(ROW, min_size=1, max_size=30)
Rows = list[tuple[int | None, float | None, str]]
SM = ("sm_pct",)


def calls(rows: Rows) -> pl.DataFrame:
    schema = {"dur_ns": pl.Int64, "sm_pct": pl.Float64, "class": pl.Enum(CLASSES)}
    return pl.DataFrame(rows, schema=schema, orient="row")


def weighted_mean(rows: Rows) -> float | None:
    measured = [(length, use) for length, use, _ in rows if length and use is not None]
    time = sum(length for length, _ in measured)
    return sum(length * use for length, use in measured) / time if time else None


@given(ROWS, st.integers(1, 50))
def test_classes_fill_every_stretch(rows: Rows, stretches: int):
    along = strip(calls(rows), stretches, SM)
    assert along.stretches == (stretches if any(row[0] for row in rows) else 0)
    assert np.allclose(along.class_shares.sum(axis=1), 1)


@given(ROWS, st.integers(1, 50))
def test_stretches_lie_between_the_values_of_their_launches(rows: Rows, stretches: int):
    means = strip(calls(rows), stretches, SM).means_pct["sm_pct"]
    uses = [use for _, use, _ in rows if use is not None]
    measured = means[~np.isnan(means)]
    assert all(min(uses) - 1e-3 <= mean <= max(uses) + 1e-3 for mean in measured)


@given(ROWS)
def test_one_stretch_is_the_mean_of_the_run(rows: Rows):
    means = strip(calls(rows), 1, SM).means_pct["sm_pct"]
    expected = weighted_mean(rows)
    if expected is None:
        assert np.isnan(means).all()
    else:
        assert means.tolist() == pytest.approx([expected], abs=1e-6)


@given(ROWS, st.integers(1, 20), st.data())
def test_cutting_a_launch_in_two_does_not_matter(rows: Rows, stretches: int, data: st.DataObject):
    place = data.draw(st.integers(0, len(rows) - 1))
    length, *rest = rows[place]
    part = data.draw(st.integers(0, length or 0))
    halves = [(part, *rest), (None if length is None else length - part, *rest)]
    plain_strip, again = (
        strip(calls(kernel_rows), stretches, SM)
        for kernel_rows in (rows, rows[:place] + halves + rows[place + 1 :])
    )
    assert np.allclose(again.class_shares, plain_strip.class_shares)
    assert np.allclose(again.means_pct["sm_pct"], plain_strip.means_pct["sm_pct"], equal_nan=True)


def test_backwards_is_the_mirror_image():
    rows: Rows = [(10, 5.0, "both_low"), (20, None, "unknown"), (5, 90.0, "low_dram")]
    there, back = (strip(calls(kernel_rows), 7, SM) for kernel_rows in (rows, rows[::-1]))
    assert np.allclose(back.class_shares, there.class_shares[::-1])
    assert np.allclose(back.means_pct["sm_pct"], there.means_pct["sm_pct"][::-1], equal_nan=True)


def test_stretches_without_a_metric_have_no_mean():
    along = strip(calls([(10, None, "unknown"), (10, 50.0, "neither_low")]), 4, SM)
    assert np.isnan(along.means_pct["sm_pct"]).tolist() == [True, True, False, False]
    assert along.means_pct["sm_pct"][2:].tolist() == [50, 50]


def test_a_mean_covers_only_the_launches_that_have_the_metric():
    along = strip(calls([(30, None, "unknown"), (10, 50.0, "neither_low")]), 1, SM)
    assert along.means_pct["sm_pct"].tolist() == [50]


def test_weights_stretch_launches():
    table = calls([(10, 0.0, "both_low"), (10, 100.0, "low_dram")])
    along = strip(table.with_columns(weight=pl.Series([3.0, 1.0])), 4, SM)
    assert along.total_ns == 40
    assert along.means_pct["sm_pct"].tolist() == [0, 0, 0, 100]


def test_no_time_no_stretches():
    along = strip(calls([(None, 5.0, "both_low"), (0, 5.0, "both_low")]), 9, SM)
    assert (along.total_ns, along.stretches, len(along.means_pct["sm_pct"])) == (0, 0, 0)
