"""Tables as rows of plain values."""

from __future__ import annotations

import polars as pl
import pytest

from timesink.answers.tables import in_microseconds, to_rows


@pytest.mark.parametrize("name", ["total_ns", "host_self_ns", "gap_ns", "mean_ns"])
def test_lengths_of_time_become_microseconds(name: str):
    (row,) = to_rows(pl.DataFrame({name: [1_234]}))
    assert row == {f"{name.removesuffix('_ns')}_us": 1.234}


@pytest.mark.parametrize("name", ["ts_ns", "start_ns", "host_start_ns", "end_ns", "alloc_ts_ns"])
def test_points_in_time_stay_whole_nanoseconds(name: str):
    moment = 1_790_857_026_000_000_001
    assert to_rows(pl.DataFrame({name: [moment]})) == [{name: moment}]


def test_other_columns_stay():
    frame = pl.DataFrame({"bytes": [5], "share_pct": [1.5], "ratio": [None], "ok": [True]})
    assert to_rows(frame) == frame.to_dicts()


def test_text_is_plain():
    frame = pl.DataFrame({"name": ["a"], "kind": ["kernel"]})
    coded = frame.cast({"name": pl.Categorical, "kind": pl.Enum(["kernel"])})
    assert in_microseconds(coded).dtypes == [pl.String, pl.String]


def test_unknown_lengths_stay_unknown():
    assert to_rows(pl.DataFrame({"mean_ns": [None]}, schema={"mean_ns": pl.Float64})) == [
        {"mean_us": None}
    ]


def test_the_first_rows_only():
    assert to_rows(pl.DataFrame({"calls": [3, 2, 1]}), top=2) == [{"calls": 3}, {"calls": 2}]


@pytest.mark.parametrize("ns", [66_263_127, 1, 999, 10**15 + 1, 0])
def test_whole_nanoseconds_have_three_decimals_and_no_noise(ns: int):
    (row,) = to_rows(pl.DataFrame({"total_ns": [ns]}))
    assert row["total_us"] == ns / 1000
    assert len(str(row["total_us"]).partition(".")[2]) <= 3


def test_means_and_percentages_are_rounded():
    frame = pl.DataFrame({"mean_ns": [10 / 3], "idle_pct": [200 / 3], "use_ratio": [2 / 3]})
    assert to_rows(frame) == [{"mean_us": 0.003333, "idle_pct": 66.666667, "use_ratio": 2 / 3}]


def test_a_device_without_a_number_is_null():
    assert to_rows(pl.DataFrame({"device": [-1, 0]})) == [{"device": None}, {"device": 0}]
    assert to_rows(pl.DataFrame({"device": ["CPU"]})) == [{"device": "CPU"}]
