"""Who waits for whom in matched collectives, and who is to blame."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timesink.analyses.ranks.clocks import align_clocks
from timesink.analyses.ranks.collectives import queued_behind, with_blame, with_excess, with_waits

Row = tuple[int, int, str, int, int, int]


def call_table(*rows: Row) -> pl.DataFrame:
    """Rows of rank, match, kind, start, end and the rank's own time before."""
    schema = ["rank", "match", "collective", "start_ns", "end_ns", "own_ns"]
    table = pl.DataFrame(rows, schema=schema, orient="row")
    return table.with_columns(
        name=pl.col("collective"),
        dur_ns=pl.col("end_ns") - pl.col("start_ns"),
        alike=1,
        toward=pl.lit(None, pl.Int64),
        group=pl.lit("0"),
        group_ranks=pl.lit(None, pl.String),
        group_size=3,
        size_bytes=8,
        step=pl.lit("0"),
    )


def blame_table(calls: pl.DataFrame) -> pl.DataFrame:
    ranks = dict.fromkeys(calls["rank"].unique().to_list())
    return with_blame(with_excess(with_waits(calls, align_clocks(calls, ranks))))


def test_the_shortest_call_is_all_transfer():
    calls = blame_table(
        call_table(
            (0, 0, "all_reduce", 10, 100, 10),
            (1, 0, "all_reduce", 20, 100, 20),
            (2, 0, "all_reduce", 70, 100, 70),
        )
    )
    assert calls["wait_ns"].to_list() == [60, 50, 0]
    assert calls["transfer_ns"].to_list() == [30, 30, 30]
    assert calls["held_up_ns"].to_list() == [0, 0, 50]


def test_who_comes_late_because_it_waited_is_not_to_blame():
    """Rank 1 waits for rank 0 in one group and is therefore late in another."""
    calls = call_table(
        (0, 0, "all_reduce", 900, 1000, 900),
        (1, 0, "all_reduce", 100, 1000, 100),
        (1, 1, "all_reduce", 1100, 1200, 100),
        (2, 1, "all_reduce", 200, 1200, 200),
        (3, 1, "all_reduce", 210, 1200, 210),
    )
    calls = calls.with_columns(size_bytes=pl.col("match"))
    blame_ns = dict(blame_table(calls).group_by("rank").agg(pl.col("held_up_ns").sum()).iter_rows())
    assert blame_ns[0] == 800
    assert blame_ns[1] == 0


def test_of_a_broadcast_clocks_tell_who_was_late():
    calls = call_table(
        (0, 0, "broadcast", 500, 520, 500),
        (1, 0, "broadcast", 100, 540, 100),
        (2, 0, "broadcast", 110, 560, 110),
    )
    assert blame_table(calls)["wait_ns"].to_list() == [0, 400, 390]


@pytest.mark.parametrize(("name", "row"), [("gloo:all_reduce", 0), ("nccl:all_reduce", None)])
def test_threads_of_the_host_take_the_next_call_when_any_is_over(name: str, row: int | None):
    """The first of two calls is over while the second goes on; the third starts soon after."""
    calls = call_table(
        (0, 0, "all_reduce", 0, 500_000, 0),
        (0, 1, "all_reduce", 10_000, 900_000, 0),
        (0, 2, "all_reduce", 550_000, 990_000, 0),
    )
    assert queued_behind(calls.with_columns(name=pl.lit(name))).to_list() == [None, None, row]


ARRIVALS = st.lists(st.integers(0, 10**6), min_size=3, max_size=6)


@given(work_ns=st.lists(ARRIVALS, min_size=1, max_size=4), skew=ARRIVALS)
def test_clocks_change_neither_waits_nor_blame(work_ns: list[list[int]], skew: list[int]):
    ranks = min(len(skew), *(len(match_ns) for match_ns in work_ns))

    def run(ahead: list[int]) -> pl.DataFrame:
        rows: list[Row] = []
        now = 0
        for match, took in enumerate(work_ns):
            last = now + max(took[:ranks])
            for rank in range(ranks):
                start, by = now + took[rank], ahead[rank]
                rows.append((rank, match, "all_reduce", start + by, last + 50 + by, took[rank]))
            now = last + 100_000
        return blame_table(call_table(*rows)).select("wait_ns", "transfer_ns", "held_up_ns")

    plain = run([0] * ranks)
    assert plain.equals(run(skew))
    assert (plain["wait_ns"] >= 0).all()
    assert plain["transfer_ns"].unique().to_list() == [50]
