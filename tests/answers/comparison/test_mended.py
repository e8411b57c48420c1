"""Tables as others write them: rows twice, lengths of cycles missing."""

from __future__ import annotations

from pathlib import Path

import polars as pl

import timesink
from many_roles import one_role
from timesink.formats.behaviour import write_behaviour


def write_behaviour_file(table: pl.DataFrame, path: Path) -> Path:
    write_behaviour(table, path)
    return path


def test_lengths_that_are_missing_come_from_shares(tmp_path: Path):
    behaviour = one_role(7).behaviour
    complete = write_behaviour_file(behaviour, tmp_path / "a_perf_data.csv")
    bare = behaviour.with_columns(cycle_dur_ns=pl.lit(0, pl.Int64))
    compared = timesink.compare(
        complete, write_behaviour_file(bare, tmp_path / "b_perf_data.csv")
    ).pair
    assert abs(compared.cycle_times.change_pct or 99) < 0.01
    assert any("step times are not recorded" in note for note in compared.new.notes)
