"""Rows that say the same twice, and cycle lengths that are not recorded."""

from __future__ import annotations

import polars as pl
import pytest

from programs import batch, role
from timesink.analyses.behaviour.summary import once_per_cycle
from timesink.formats.behaviour import mend_table, with_cycle_lengths

TABLE = role([batch(2)] * 20).behaviour


def test_a_name_of_two_classes_is_two_functions():
    waits = TABLE.filter(pl.col("device") == "Host").with_columns(
        pl.lit("cpu_sync").cast(TABLE.schema["function_class"]).alias("function_class")
    )
    assert once_per_cycle(pl.concat([TABLE, waits, waits])).height == TABLE.height + 20


def test_a_table_written_twice_is_one():
    table, notes = mend_table(pl.concat([TABLE, TABLE]))
    assert notes == (f"{TABLE.height} rows repeated others and were left out",)
    assert table.equals(TABLE)


def test_rows_that_contradict_others_stay_and_are_said():
    other = TABLE.with_columns(dur_ns=pl.col("dur_ns") * 7, beta_pct=pl.lit(1.0))
    both = pl.concat([TABLE, other])
    table, notes = mend_table(both)
    assert table.equals(both)
    assert [f"{TABLE.height} rows contradict others" in note for note in notes] == [True]


def test_cycles_of_the_same_number_on_another_machine_are_no_repeats():
    there = TABLE.with_columns(host=pl.lit("node2").cast(TABLE.schema["host"]))
    both = pl.concat([TABLE, there])
    table, notes = mend_table(both)
    assert table.equals(both)
    assert notes == ()


@pytest.mark.parametrize("nothing", [None, 0])
def test_lengths_come_from_times_and_shares(nothing: int | None):
    unknown = TABLE.with_columns(cycle_dur_ns=pl.lit(nothing, pl.Int64))
    assert with_cycle_lengths(unknown)["cycle_dur_ns"].equals(TABLE["cycle_dur_ns"])


def test_lengths_without_shares_stay_unknown():
    unknown = TABLE.with_columns(cycle_dur_ns=pl.lit(0, pl.Int64), beta_pct=pl.lit(0.0))
    assert with_cycle_lengths(unknown)["cycle_dur_ns"].max() == 0


def test_what_was_mended_is_said():
    assert mend_table(TABLE)[1] == ()
    unknown = TABLE.with_columns(cycle_dur_ns=pl.lit(0, pl.Int64))
    notes = mend_table(pl.concat([unknown, unknown[:1]]))[1]
    assert notes[0] == "1 row repeated others and was left out"
    assert "step times are not recorded" in notes[1]
