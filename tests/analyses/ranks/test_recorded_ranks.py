"""Recorded runs of eight ranks: one with a rank that sleeps in every step, one without."""

from __future__ import annotations

from pathlib import Path

import timesink
from timesink.analyses.ranks.analysis import RanksAnalysis, analyse_ranks
from timesink.analyses.ranks.summary import summarise_rank


def analysed(folder: Path) -> RanksAnalysis:
    found = {}
    for path in sorted(folder.glob("*.gz")):
        summary = summarise_rank(timesink.open(path))
        assert summary.about.rank is not None
        found[summary.about.rank] = summary
    return analyse_ranks(found)


def test_the_sleeping_rank_is_found_although_it_waits_least(shared: Path):
    found = analysed(shared / "data/h200/traces/ddp8_stall_rank3")
    (only,) = found.stragglers
    assert (only.rank, only.cause) == (3, "host_code")
    assert found.ranks["wait_suffered_ns"].arg_min() == 3
    assert 0.1 < only.share < 0.3
    assert found.missing == ()


def test_nobody_is_blamed_for_noise(shared: Path):
    assert analysed(shared / "data/h200/traces/ddp8_normal").stragglers == ()
