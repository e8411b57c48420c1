"""Small examples of what analyses.comparison computes."""

from __future__ import annotations

import numpy as np
import polars as pl

from timesink.comparison.results import TIMES, CycleTimes, Process, cycle_lengths
from timesink.comparison.steps.recorded_events import equally_often, find_unrecorded
from timesink.comparison.steps.sides import (
    comparison_rows,
    key_findings,
    match_functions,
    side_by_side,
    unlike_metrics,
    with_common_units,
    with_matching_devices,
    with_places,
)
from timesink.comparison.steps.verdict import (
    cycle_change,
    cycle_spans,
    cycle_times,
    family_rows,
    time_rows,
    unrecorded_in,
)
from timesink.model.diagnosis import SteadyTimes
from timesink.model.schema import BEHAVIOUR, NO_DEVICE


def test_with_common_units() -> None:
    empty = Process("base", "a.csv", "1", BEHAVIOUR.empty())
    assert with_common_units(empty, empty)[2] == ()


def test_unlike_metrics() -> None:
    assert repr(unlike_metrics(BEHAVIOUR.empty(), BEHAVIOUR.empty())) == "frozenset()"


def test_cycle_times() -> None:
    base = pl.DataFrame({"cycle": [1, 1, 2], "cycle_dur_ns": [100, 100, 120]})
    times = cycle_times(base, base)
    assert (times.base_ns, times.base_mean_ns, times.change_pct) == ((100, 120), 110.0, 0.0)


def test_with_matching_devices() -> None:
    def role(label: str, device: str) -> Process:
        row = dict.fromkeys(BEHAVIOUR.empty().columns) | {"device": device}
        return Process(label, "", "1", pl.DataFrame([row], schema=BEHAVIOUR.empty().schema))

    assert (
        with_matching_devices(role("base", "GPU 0"), role("new", "GPU 7"))[1]
        == "GPU 7 of new is compared with GPU 0 of base: no device has the same name on both sides."
    )


def test_equally_often() -> None:
    assert equally_often(
        np.array([100.0, 100.0, 1.0]), np.array([101.0, 120.0, np.nan])
    ).tolist() == [True, False, False]


def test_family_rows() -> None:
    assert family_rows(BEHAVIOUR.empty(), BEHAVIOUR.empty()).height == 0


def test_key_findings() -> None:
    rows = pl.DataFrame(
        {
            "function": ["gemm", "gemm", "add"],
            "device": "GPU 0",
            "score": [30.0, 20.0, 1.0],
            "mu_delta": [0.0, -5.0, 3.0],
        }
    )
    assert key_findings(rows)[0].metrics == (1,)


def test_meeting() -> None:
    def run(name: str) -> pl.DataFrame:
        return pl.DataFrame({"function": [name], "device": ["GPU 0"], "function_class": [None]})

    met = match_functions(
        run("ampere_sgemm_32x32_nn"), run("nvjet_sm90_tst_256x8_64x6_2x1_v_bz_TNT")
    )
    assert (met["level"].to_list(), met["family"].to_list()) == (
        ["family", "family"],
        ["gemm", "gemm"],
    )


def test_cycle_spans() -> None:
    assert cycle_spans(
        pl.DataFrame({"cycle": [1, 1], "cycle_ts_ns": 5, "cycle_dur_ns": 3})
    ).rows() == [(1, 5, 8)]


def test_steadytimes_change_pct() -> None:
    assert SteadyTimes(200.0, 210.0).change_pct == 5.0


def test_steadytimes_interval_pct() -> None:
    assert SteadyTimes(200.0, 210.0, (5.0, 15.0)).interval_pct == (2.5, 7.5)


def test_with_places() -> None:
    row = {"function": "mm", "function_class": "cpu_operator", "device": NO_DEVICE}
    role = Process("base", "", "1", pl.DataFrame([row], schema_overrides=BEHAVIOUR.schema))
    assert with_places(role, role)[0].behaviour["device"].to_list() == ["Host"]


def test_unrecorded() -> None:
    columns = {"function": "mm", "function_class": ["cpu_operator", "gpu_compute"]}
    both = pl.DataFrame({**columns, "device": ["Host", "GPU 0"]})
    assert find_unrecorded(both, both[1:]).new == ("host events",)


def test_cycle_lengths() -> None:
    table = pl.DataFrame({"cycle": [2, 1, 2, 3], "cycle_dur_ns": [7, 5, 7, 0]})
    assert cycle_lengths(table).to_list() == [5, 7]


def test_comparison_rows() -> None:
    assert comparison_rows(BEHAVIOUR.empty(), BEHAVIOUR.empty()).height == 0


def test_side_by_side() -> None:
    side = pl.DataFrame({"name": ["b", "a"]})
    assert side_by_side(side, side[:1], ["name"]).key.tolist() == [1, 0, 1]


def test_time_rows() -> None:
    assert time_rows(BEHAVIOUR.empty(), BEHAVIOUR.empty()).height == 0


def test_cycle_change() -> None:
    assert (
        cycle_change(CycleTimes((10,) * 9, (30,) * 9, 10.0, 30.0, 200.0, (19.0, 21.0), 0.001))
        == "longer"
    )
    assert (
        cycle_change(CycleTimes((10,) * 9, (11,) * 9, 10.0, 11.0, 10.0, (-1.0, 3.0), 0.4))
        == "cannot tell"
    )


def test_unrecorded_in() -> None:
    assert unrecorded_in(pl.DataFrame(schema=TIMES)).new == ()
