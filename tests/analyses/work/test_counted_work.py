"""What benchmarks hold against counters is the whole work of calls."""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl
import pytest

import timesink
from timesink.analyses.work.efficiency import operator_efficiency

sys.path.append(str(Path(__file__).parents[3] / "benchmarks"))

from efficiency import join_calls


def test_work_of_calls_is_whole_although_what_sets_memory_has_no_counters():
    timeline = Path(timesink.sample())
    counters = timeline.with_name("unet_train.ncu.csv.gz")
    calls = join_calls(counters, timeline).filter(pl.col("matrix_flop") > 0)
    operator_rows = operator_efficiency(timesink.open(timeline)).select(
        "operator", "shape", "gflop", "mib"
    )
    both = calls.join(
        operator_rows.unique(["operator", "shape"], keep="none"), on=["operator", "shape"]
    )
    assert both.height > 20
    flop = both["matrix_flop"] / 1e9
    assert flop.to_list() == pytest.approx(both["gflop"].to_list(), rel=1e-2)
    assert (both["bytes"] / 2**20).to_list() == pytest.approx(both["mib"].to_list())
