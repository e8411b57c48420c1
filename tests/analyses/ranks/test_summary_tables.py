"""A summary comes back from Parquet as it was."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from msgspec.structs import replace
from polars.testing import assert_frame_equal

import timesink
from builders import annotation, step
from cases import K, O, read
from timesink.analyses.ranks.summary import (
    RankSummary,
    Thinning,
    from_parquet,
    from_parquets,
    summarise_rank,
    to_parquet,
)
from timesink.model.health import HealthEntry
from timesink_lab.ranks.generated import ranks_and_truth
from timesink_lab.ranks.plan import Plan


def assert_same(actual: RankSummary, expected: RankSummary) -> None:
    assert actual.about == expected.about
    assert actual.thinning == expected.thinning
    assert actual.worker.rank == expected.worker.rank
    for table in ("steps", "collectives", "functions", "groups"):
        assert_frame_equal(getattr(actual, table), getattr(expected, table))
    for table in ("steps", "records", "ranges"):
        assert_frame_equal(getattr(actual.worker, table), getattr(expected.worker, table))


SMALL = {
    "nothing": [],
    "no step": [O("aten::mm", 0, 5)],
    "no collective": [step(1, 0, 10), K("gemm", 1, 5)],
    # Work of a library that does the transfer on the host has no range of its own.
    "a record without a range": [
        step(1, 0, 100),
        annotation("gloo:all_reduce", 5, 20, **{"Input Dims": [[8]], "Input type": ["float"]}),
        K("ncclDevKernel_AllReduce", 40, 20),
    ],
}


@pytest.mark.parametrize("events", SMALL.values(), ids=SMALL)
def test_what_may_be_empty(events: list):
    summary = summarise_rank(read(*events))
    full = summarise_rank(read(*SMALL["a record without a range"]))
    both = from_parquets([to_parquet(rank_summary) for rank_summary in (summary, full, summary)])
    for actual, expected in zip(both, (summary, full, summary), strict=True):
        assert_same(actual, expected)


def test_what_is_said_about_the_rank():
    summary = summarise_rank(timesink.open(timesink.sample()))
    about = replace(summary.about, health=(HealthEntry("nan_value", 2, "dur"),), host="höst")
    changed_summary = replace(summary, about=about, thinning=Thinning(4, 100, 7))
    assert_same(from_parquet(to_parquet(changed_summary)), changed_summary)


def test_files_of_several_ranks_are_one_dataset(tmp_path: Path):
    for rank, trace in ranks_and_truth(Plan(ranks=2, steps=1))[0].items():
        (tmp_path / f"{rank}.parquet").write_bytes(to_parquet(summarise_rank(trace)))
    read_by_anyone = pl.read_parquet(tmp_path / "*.parquet")
    assert read_by_anyone.height == 2
    assert read_by_anyone["functions"].list.len().min() > 0


@pytest.mark.parametrize("broken", [b"", b"PAR1", b"PAR1" * 9])
def test_broken_bytes_are_no_summary(broken: bytes):
    with pytest.raises(ValueError, match="not the summary of a rank"):
        from_parquet(broken)


def test_a_cut_file_and_another_table_are_no_summary(tmp_path: Path):
    content = to_parquet(summarise_rank(timesink.open(timesink.sample())))
    other = tmp_path / "other.parquet"
    pl.DataFrame({"format": ["something else"]}).write_parquet(other)
    for broken in (content[:-100], content[:1000] + content[1100:], other.read_bytes()):
        with pytest.raises(ValueError):  # noqa: PT011 - whatever is wrong with it
            from_parquet(broken)
