from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from many_roles import one_role
from roles_changed import change_role
from timesink.comparison.exploration.features import (
    CALLS,
    CYCLE,
    METRIC,
    TIME,
    Feature,
    doublings,
    measure,
)


def _values(measures, kind, name, role=0, phase="") -> NDArray[np.float64]:
    at = [(feature.kind, feature.name, feature.phase) for feature in measures.features].index(
        (kind, name, phase)
    )
    return measures.values[measures.owners == role, at]


def test_kernels_count_by_family_and_other_functions_by_class():
    measures = measure([one_role(0)])
    times = {feature.name for feature in measures.features if feature.kind == TIME}
    assert times == {"oncpu", "runq", "cpu_sync", "gemm", "attention", "normalisation"} | {
        "gpu_memcpy_h2d"
    }


def test_a_function_counts_once_however_many_metrics_it_has():
    measures = measure([one_role(0)])
    assert (_values(measures, CALLS, "gemm") == 128).all()
    assert (_values(measures, TIME, "gemm") < 40e6).all()


def test_calls_seen_by_the_operating_system_are_no_work():
    names = {feature.name for feature in measure([one_role(0)]).features if feature.kind == CALLS}
    assert not names & {"oncpu", "runq"}


def test_peers_on_other_devices_share_features():
    measures = measure([one_role(6), one_role(7)])
    assert measures.devices == (("Host", "GPU 6"), ("Host", "GPU 7"))
    assert not np.isnan(_values(measures, METRIC, "gpu_sm_frequency", role=1)).any()


def test_devices_are_numbered_in_the_order_of_their_numbers():
    role = one_role(0)
    second = change_role(role, device=pl.col("device").cast(pl.String).replace("GPU 0", "GPU 10"))
    both = change_role(role, behaviour=pl.concat([role.behaviour, second.behaviour]))
    nine = change_role(both, device=pl.col("device").cast(pl.String).replace("GPU 0", "GPU 9"))
    assert measure([nine]).devices == (("Host", "GPU 9", "GPU 10"),)


def test_work_that_did_not_run_took_no_time():
    role = one_role(0)
    late = change_role(role, behaviour=role.behaviour.filter(_not_gemm() | (pl.col("cycle") > 2)))
    assert (_values(measure([late]), TIME, "gemm")[:3] == 0).tolist() == [True, True, False]


def _not_gemm() -> pl.Expr:
    return ~pl.col("function").cast(pl.String).str.contains("gemm")


def test_what_was_not_watched_is_unknown():
    role = one_role(0)
    blind = change_role(role, behaviour=role.behaviour.filter(pl.col("function_class") != "runq"))
    measures = measure([blind, one_role(1)])
    assert np.isnan(_values(measures, TIME, "runq")).all()
    assert not np.isnan(_values(measures, TIME, "runq", role=1)).any()


def test_a_recording_without_the_host_says_nothing_of_it():
    role = one_role(0)
    device = change_role(role, behaviour=role.behaviour.filter(pl.col("device") != "Host"))
    measures = measure([device, one_role(1)])
    assert np.isnan(_values(measures, CALLS, "cpu_sync")).all()


def test_units_with_a_factor_meet_units_without():
    role = one_role(0)
    hundredths = change_role(
        role,
        mu=pl.when(pl.col("unit") == "MHz").then(pl.col("mu") * 100).otherwise("mu"),
        unit=pl.col("unit").cast(pl.String).replace("MHz", "0.01 MHz"),
    )
    measures = measure([role, hundredths])
    levels = [_values(measures, METRIC, "gpu_sm_frequency", role=number) for number in (0, 1)]
    assert np.allclose(*levels)


def test_prefill_cycles_have_features_of_their_own():
    role = change_role(one_role(0), cycle_type=pl.lit("prefill"))
    measures = measure([role, one_role(1)])
    assert np.isnan(_values(measures, CYCLE, "cycle")).all()
    assert not np.isnan(_values(measures, CYCLE, "cycle", phase="prefill")).any()


def test_waiting_for_peers_says_nothing_about_a_role():
    waiting = change_role(
        one_role(0),
        function_class=pl.col("function_class").cast(pl.String).replace("gpu_compute", "gpu_comm"),
        dur_ns=pl.when(pl.col("function_class") == "gpu_compute")
        .then(pl.col("cycle_dur_ns") // 3)
        .otherwise("dur_ns"),
    )
    measures = measure([waiting, one_role(1)])
    logs = doublings(measures)
    places = {(feature.kind, feature.name): at for at, feature in enumerate(measures.features)}
    is_first_role = measures.owners == 0
    assert np.isnan(logs[:, places[TIME, "collective"]]).all()
    assert np.isnan(logs[is_first_role, places[METRIC, "gpu_usage"]]).all()
    assert not np.isnan(logs[~is_first_role, places[METRIC, "gpu_usage"]]).any()
    assert not np.isnan(logs[is_first_role, places[METRIC, "gpu_sm_frequency"]]).any()


def test_features_are_in_one_order_whatever_the_roles():
    assert measure([one_role(1), one_role(0)]).features == measure([one_role(0)]).features
    assert Feature(CALLS, "gemm", 1) in measure([one_role(0)]).features


@pytest.mark.parametrize("nothing", [None, float("nan"), float("inf")])
def test_a_counter_without_a_value_is_unknown(nothing: float | None):
    role = one_role(3)
    first = pl.when(pl.col("cycle") == 1).then(pl.lit(nothing, pl.Float64)).otherwise("mu")
    measures = measure([replace(role, behaviour=role.behaviour.with_columns(mu=first))])
    levels = measures.values[:, [feature.kind == METRIC for feature in measures.features]]
    assert np.isnan(levels[0]).all()
    assert np.isfinite(levels[1:]).all()
