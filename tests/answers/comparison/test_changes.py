"""Functions that changed, and families of them."""

from __future__ import annotations

from typing import Any

import polars as pl

from compared import frame, pair_of
from timesink.answers.comparison.changes import Change, PairView, counters_meanwhile
from timesink.comparison.results import FAMILIES, ROWS, TIMES


def kernel(name: str, base: float, new: float) -> dict[str, Any]:
    runs_on = "both" if base and new else "base" if base else "new"
    lengths = {"base_ns": base, "new_ns": new, "delta_ns": new - base}
    return {"function": name, "device": "GPU 0", "runs_on": runs_on, **lengths}


def family(
    name: str, base: list[str], new: list[str], lengths: tuple[float, float]
) -> dict[str, Any]:
    names = {"names_base": base, "names_new": new, "base_ns": lengths[0], "new_ns": lengths[1]}
    return {"family": name, "name": None, "device": "GPU 0", **names}


def change_deltas(times: pl.DataFrame, *families: dict[str, Any]) -> list[tuple[str, float]]:
    pair = pair_of(times=times, families=frame(FAMILIES, *families))
    return [(change.name, change.delta_ns) for change in PairView(pair).changes]


def test_functions_come_by_change_of_time():
    times = frame(TIMES, kernel("a", 500, 600), kernel("b", 900, 500))
    assert change_deltas(times) == [("b", -400), ("a", 100)]


def test_a_family_takes_the_place_of_all_its_members():
    times = frame(TIMES, kernel("old", 100, 0), kernel("new", 0, 700), kernel("kept", 200, 300))
    row = family("gemm", ["kept", "old"], ["new", "kept"], (300, 1000))
    assert change_deltas(times, row) == [("gemm", 700)]


def test_what_one_side_alone_has_stands_for_itself():
    times = frame(TIMES, kernel("sort", 0, 700))
    assert change_deltas(times, family("sort", [], ["sort"], (0, 700))) == [("sort", 700)]


def test_a_family_whose_names_meet_stays_apart():
    times = frame(TIMES, kernel("a", 500, 600))
    assert change_deltas(times, family("gemm", ["b"], ["c"], (5, 6))) == [("a", 100)]


def test_counters_of_a_family_count_by_share():
    metric = {"metric": "gpu_usage", "device": "GPU 0", "unit": "%"}
    base = [
        {"function": name, "mu_base": mu, "beta_base_pct": share, "cycles_base": 5}
        for name, mu, share in (("a", 10.0, 1.0), ("b", 20.0, 3.0))
    ]
    new = {"function": "c", "mu_new": 40.0, "beta_new_pct": 2.0, "cycles_new": 5}
    rows = frame(ROWS, *({**metric, **row} for row in (*base, new)))
    change = Change("gemm", "both", ("a", "b"), ("c",), "GPU 0", 1, 2, 1, 1, 0, "family")
    (row,) = counters_meanwhile(rows, change, ["gpu_usage", "gpu_temp"])
    assert (row["mu_base"], row["mu_new"], row["unit"]) == (17.5, 40.0, "%")
