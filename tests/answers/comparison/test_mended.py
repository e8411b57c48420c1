"""Tables as others write them: rows twice, lengths of cycles missing."""

from __future__ import annotations

from pathlib import Path

import polars as pl

import timesink
from many_roles import one_role
from timesink.formats.behaviour import write_behaviour


def written(table: pl.DataFrame, path: Path) -> Path:
    write_behaviour(table, path)
    return path


def test_rows_that_are_there_twice_count_once(tmp_path: Path):
    one = one_role(7).behaviour
    once = written(one, tmp_path / "a_perf_data.csv")
    twice = written(pl.concat([one, one]), tmp_path / "b_perf_data.csv")
    plain, found = timesink.compare(once, once).pair, timesink.compare(twice, once).pair
    assert found.rows.equals(plain.rows)
    assert found.base.notes == (f"{one.height} rows repeated others and were left out",)


def test_lengths_that_are_missing_come_from_shares(tmp_path: Path):
    one = one_role(7).behaviour
    known = written(one, tmp_path / "a_perf_data.csv")
    bare = one.with_columns(cycle_dur_ns=pl.lit(0, pl.Int64))
    found = timesink.compare(known, written(bare, tmp_path / "b_perf_data.csv")).pair
    assert abs(found.cycle_times.change_pct or 99) < 0.01
    assert any("lengths of cycles are not recorded" in note for note in found.new.notes)
