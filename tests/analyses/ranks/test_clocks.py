"""Clocks of ranks are found from collectives that end for everybody at once."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timesink.analyses.ranks.clocks import align_clocks, correct_times

MILLISECOND = 1_000_000
START = 1_790_000_000_000_000_000


def ends(
    groups: list[list[int]],
    offset: np.ndarray,
    drift: np.ndarray,
    *,
    times: int = 20,
    jitter_ns: float = 2_000.0,
    seed: int = 0,
    kind: str = "all_reduce",
) -> pl.DataFrame:
    """Every group meets so many times within two seconds."""
    rng = np.random.default_rng(seed)
    rows = []
    for turn in range(times):
        for group in groups:
            true = 2e9 * (turn + rng.random()) / times
            for rank in group:
                at = true + rng.exponential(jitter_ns)
                seen = at + offset[rank] + 1e-6 * drift[rank] * at
                rows.append((rank, turn * len(groups) + groups.index(group), START + int(seen)))
    return pl.DataFrame(
        rows, schema={"rank": pl.Int64, "match": pl.Int64, "end_ns": pl.Int64}, orient="row"
    ).with_columns(collective=pl.lit(kind))


def errors(clocks: pl.DataFrame, offset: np.ndarray, drift: np.ndarray) -> np.ndarray:
    """Of offsets in the middle of the run, but for what all have in common."""
    true = offset + 1e-6 * drift * 1e9
    wrong = clocks["offset_ns"].to_numpy() - true
    return wrong - np.median(wrong)


@given(
    seed=st.integers(0, 10_000),
    skew_ms=st.floats(0, 5),
    drift_ppm=st.floats(0, 50),
    shape=st.sampled_from(["everybody", "grid", "chain"]),
)
def test_offsets_are_found_within_their_uncertainty(
    seed: int, skew_ms: float, drift_ppm: float, shape: str
):
    rng = np.random.default_rng(seed)
    offset = skew_ms * MILLISECOND * rng.uniform(-1, 1, 12)
    drift = drift_ppm * rng.uniform(-1, 1, 12)
    groups = {
        "everybody": [list(range(12))],
        "grid": [[row * 4 + k for k in range(4)] for row in range(3)]
        + [[k, k + 4, k + 8] for k in range(4)],
        "chain": [[k, k + 1] for k in range(11)],
    }[shape]
    clocks = align_clocks(ends(groups, offset, drift, seed=seed), dict.fromkeys(range(12)))
    wrong = np.abs(errors(clocks, offset, drift))
    assert wrong.max() < 10_000
    assert (wrong < 6 * clocks["uncertainty_ns"].to_numpy() + 500).all()
    assert clocks["tied_to"].n_unique() == 1


def test_drift_is_found():
    drift = np.array([0.0, 40.0, -25.0, 0.0, 0.0])
    clocks = align_clocks(ends([[0, 1, 2, 3, 4]], np.zeros(5), drift), dict.fromkeys(range(5)))
    assert clocks["drift_ppm"].to_numpy() == pytest.approx(drift, abs=3)


def test_ranks_of_one_host_share_its_clock():
    offset = np.repeat([0.0, 3 * MILLISECOND], 4)
    hosts = {rank: f"node{rank // 4}" for rank in range(8)}
    clocks = align_clocks(ends([list(range(8))], offset, np.zeros(8)), hosts)
    assert clocks["clock"].to_list() == [0] * 4 + [1] * 4
    apart = clocks["offset_ns"][7] - clocks["offset_ns"][0]
    assert apart == pytest.approx(3 * MILLISECOND, abs=2_000)


def test_some_late_ends_fool_nobody():
    calls = ends([list(range(6))], np.zeros(6), np.zeros(6), times=40)
    late = pl.when((pl.col("rank") == 2) & (pl.col("match") % 4 == 0)).then(8 * MILLISECOND)
    calls = calls.with_columns(pl.col("end_ns") + late.otherwise(0))
    clocks = align_clocks(calls, dict.fromkeys(range(6)))
    assert clocks["offset_ns"].abs().max() < 5_000  # type: ignore[operator]


def test_calls_that_need_not_end_together_tell_nothing():
    offset = np.array([0.0, 5 * MILLISECOND])
    calls = ends([[0, 1]], offset, np.zeros(2), kind="broadcast")
    clocks = align_clocks(calls, {0: None, 1: None})
    assert clocks["offset_ns"].to_list() == [0.0, 0.0]
    assert clocks["ends"].to_list() == [0, 0]
    assert clocks["uncertainty_ns"].is_nan().all()


def test_ranks_that_nothing_ties_are_told_apart():
    clocks = align_clocks(ends([[0, 1], [2, 3]], np.zeros(4), np.zeros(4)), dict.fromkeys(range(4)))
    assert clocks["tied_to"].to_list() == [0, 0, 2, 2]


def test_times_agree_from_the_first_moment_to_the_last():
    """Clocks that drift are as far apart in the middle as their offsets say, and only there."""
    offset, drift = np.array([0.0, 2e6, -1e6]), np.array([0.0, 50.0, -50.0])
    seen = ends([[0, 1, 2]], offset, drift, jitter_ns=0.0)
    clocks = align_clocks(seen, dict.fromkeys(range(3)))
    corrected_ends = seen.with_columns(at=correct_times(pl.col("end_ns"), clocks))
    apart = corrected_ends.group_by("match").agg(pl.col("at").max() - pl.col("at").min())
    assert apart["at"].max() < 1_000
