"""Where the time lies between memory use and use of the multiprocessors."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timesink.analyses.kernels.groups import density
from timesink.analyses.kernels.usage import THIRDS, Thresholds, bin_shares

PERCENT = st.none() | st.floats(0, 130) | st.sampled_from([0.0, 33.0, 100 / 3, 200 / 3, 100.0])
CALLS = st.lists(
    st.tuples(st.none() | st.integers(0, 10**7), PERCENT, PERCENT, PERCENT), min_size=1, max_size=30
)
SCHEMA = {
    "dur_ns": pl.Int64,
    "tensor_pct": pl.Float64,
    "dram_pct": pl.Float64,
    "sm_pct": pl.Float64,
}
Rows = list[tuple[int | None, float | None, float | None, float | None]]


def calls(rows: Rows) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


@given(CALLS)
def test_shares_and_what_is_missing_add_up(rows: Rows):
    spread = density(calls(rows))
    timed = any(row[0] for row in rows)
    assert spread.shares.sum() + spread.missing == pytest.approx(1 if timed else 0)
    assert (spread.shares >= 0).all()


@given(CALLS, st.data())
def test_neither_order_nor_cutting_a_call_in_two_matters(rows: Rows, data: st.DataObject):
    spread = density(calls(rows))
    shuffled = data.draw(st.permutations(rows))
    place = data.draw(st.integers(0, len(rows) - 1))
    length, *use = shuffled[place]
    part = data.draw(st.integers(0, length or 0))
    halves = [(part, *use), (None if length is None else length - part, *use)]
    again = density(calls(shuffled[:place] + halves + shuffled[place + 1 :]))
    assert np.allclose(again.shares, spread.shares)
    assert again.missing == pytest.approx(spread.missing)
    assert again.beyond == pytest.approx(spread.beyond)


@given(CALLS, st.sampled_from([THIRDS, Thresholds.above(0.1), Thresholds.above(0.75)]))
def test_cells_add_up_to_the_bins(rows: Rows, thresholds: Thresholds):
    table = calls(rows)
    spread = density(table, thresholds)
    limits = np.searchsorted(spread.edges_pct, [100 * thresholds.low, 100 * thresholds.high])
    thirds = [slice(0, limits[0]), slice(limits[0], limits[1]), slice(limits[1], None)]
    sums = [[spread.shares[row, column].sum() for column in thirds] for row in thirds]
    assert np.allclose(sums, bin_shares(table, thresholds))


def test_launches_count_as_often_as_they_stand_for():
    table = calls([(10, 0.0, 1.0, 1.0), (10, 0.0, 99.0, 1.0)]).with_columns(
        weight=pl.Series([3.0, 1.0])
    )
    assert density(table, cells=3).shares[0].tolist() == [0.75, 0.0, 0.25]


def test_use_above_the_peak_is_in_the_last_cell_and_told():
    spread = density(calls([(10, 0.0, 105.0, 130.0), (30, 0.0, 100.0, 100.0)]))
    assert spread.shares[-1, -1] == 1
    assert spread.beyond == 0.25


def test_the_tensor_pipe_stands_in_for_missing_multiprocessors():
    spread = density(calls([(10, 99.0, 1.0, None)]), cells=3)
    assert spread.axis == "tensor"
    assert spread.shares[2, 0] == 1


@pytest.mark.parametrize("low", [0.01, 1 / 3, 0.5, 0.99, 1.0])
def test_cells_do_not_cross_a_threshold(low: float):
    edges = density(calls([(1, 1.0, 1.0, 1.0)]), Thresholds.above(low)).edges_pct
    assert 100 * low in edges
    assert (np.diff(edges) > 0).all()
    assert (edges[0], edges[-1]) == (0, 100)
