"""Who is on the critical path across ranks."""

from __future__ import annotations

import polars as pl

from timesink.analyses.ranks.replay import decisive_ranks

CLOCKS = pl.DataFrame(
    {"rank": [0, 1], "offset_ns": [0.0, 0.0], "drift_ppm": [0.0, 0.0], "middle_ns": [0, 0]}
)


def calls(*rows: tuple[int, int, int, int]) -> pl.DataFrame:
    """Rank, collective, when it came, when that was over; in us."""
    frame = pl.DataFrame(rows, schema=["rank", "match", "start_ns", "end_ns"], orient="row")
    return frame.with_columns(pl.col("start_ns", "end_ns") * 1000, name=pl.lit("all_reduce"))


def test_the_last_to_come_decides():
    both = calls((0, 0, 10, 20), (1, 0, 12, 20), (0, 1, 30, 60), (1, 1, 50, 60))
    assert decisive_ranks(both, CLOCKS).select(
        "rank", "path_ns", "own_ns", "communication_ns", "collectives"
    ).rows() == [(1, 48_000, 30_000, 18_000, 2)]


def test_each_for_the_collective_it_came_last_to():
    both = calls((0, 0, 15, 20), (1, 0, 12, 20), (0, 1, 30, 60), (1, 1, 50, 60))
    assert decisive_ranks(both, CLOCKS).select("rank", "path_ns").rows() == [
        (1, 40_000),
        (0, 5_000),
    ]


def test_nobody_communicates():
    assert decisive_ranks(calls().clear(), CLOCKS).is_empty()
