"""How much work device calls are given."""

from __future__ import annotations

from typing import Any

import polars as pl

from behaviours import activity, call, cycles_at, trace_of_rows
from timesink.analyses.behaviour.anatomy import LAUNCHES
from timesink.analyses.behaviour.recorded_anatomy import anatomies

HOST = [call("step", 0, 100, "annotation"), call("step", 100, 100, "annotation")]


def launches(*device: dict[str, Any]) -> pl.DataFrame:
    (anatomy,) = anatomies(
        trace_of_rows(HOST, list(device)), cycles_at((0, 100), (100, 200))
    ).values()
    assert anatomy.launches.schema == LAUNCHES
    return anatomy.launches


def test_blocks_and_bytes_of_all_launches_in_the_cycle() -> None:
    grid = {"grid_x": 4, "grid_y": 2, "grid_z": 3}
    launch_rows = launches(
        activity("gemm", 0, 5) | grid,
        activity("gemm", 10, 5) | grid | {"grid_x": 1},
        activity("Memcpy HtoD", 20, 5, "memcpy") | {"bytes": 512},
        activity("gemm", 120, 5) | grid,
    )
    assert launch_rows.rows() == [
        (1, "Memcpy HtoD", 1, 0.0, 512.0),
        (1, "gemm", 2, 30.0, 0.0),
        (2, "gemm", 1, 24.0, 0.0),
    ]


def test_what_is_not_recorded_is_nothing_and_one_axis_will_do() -> None:
    launch_rows = launches(activity("gemm", 0, 5), activity("norm", 10, 5) | {"grid_x": 7})
    assert launch_rows.select("function", "blocks", "bytes").rows() == [
        ("gemm", 0.0, 0.0),
        ("norm", 7.0, 0.0),
    ]


def test_work_counts_for_the_cycle_in_which_it_starts() -> None:
    launch_rows = launches(activity("gemm", 95, 20), activity("gemm", 300, 5))
    assert launch_rows.select("cycle", "calls").rows() == [(1, 1)]


def test_no_device_no_launches() -> None:
    assert launches().is_empty()
