"""A pair as a whole, and counters that two recordings write in different units."""

from __future__ import annotations

import polars as pl
import pytest

from behaviour_rows import behaviour, role_of
from timesink.comparison.results import FAMILIES, ROWS, TIMES
from timesink.comparison.steps.sides import with_common_units
from timesink.comparison.steps.verdict import compare_roles


def run(*, calls: int = 2, dur_ns: int = 100, cycles: int = 6, **more: object) -> pl.DataFrame:
    """A kernel with a counter and a wait without one in every cycle."""
    kernel = {"function": "gemm", "calls": calls, "dur_ns": dur_ns, **more}
    wait = {"function": "wait", "metric": None, "mu": None, "device": "Host", "calls": calls}
    return behaviour(
        *(
            {**row, "cycle": n, "cycle_dur_ns": 1_000 + n, "cycle_ts_ns": 2_000 * n}
            for n in range(1, cycles + 1)
            for row in (kernel, wait)
        )
    )


def test_a_pair_holds_every_table():
    pair = compare_roles(role_of(run()), role_of(run(dur_ns=300, beta_pct=30.0), "new"), "strict")
    assert pair.rows.schema == pl.Schema(ROWS)
    assert pair.times.schema == pl.Schema(TIMES)
    assert pair.families.schema == pl.Schema(FAMILIES)
    assert pair.workload.comparable
    assert pair.equal_work is None
    assert pair.rows["beta_delta_pct"].to_list() == [20]
    assert pair.times["delta_ns"].to_list() == [200, 0]
    assert pair.cycle_times.change_pct == 0


def test_cycles_of_other_size_are_put_together():
    batches = run(calls=8, dur_ns=800, cycles=6)
    layers = run(calls=2, dur_ns=100, cycles=40)
    pair = compare_roles(role_of(batches), role_of(layers, "new"), "cross")
    assert not pair.workload.comparable
    assert pair.workload.work_ratio == pytest.approx(4)
    assert pair.equal_work is not None
    assert pair.equal_work.workload.comparable
    gemm = pair.equal_work.times.filter(pl.col("function") == "gemm").row(0, named=True)
    assert (gemm["base_ns"], gemm["new_ns"]) == (800, 400)
    assert pair.equal_work.equal_work is None


def test_devices_of_other_names_meet():
    base, new = run(device="GPU 7"), run(device="GPU 0", dur_ns=300)
    pair = compare_roles(role_of(base, method="step"), role_of(new, "new", method="step"), "strict")
    assert pair.rows.select("device", "runs_on").rows() == [("GPU 7", "both")]
    assert any("GPU 0 of new is compared with GPU 7" in reason for reason in pair.workload.reasons)


def test_rows_of_published_tables_keep_their_devices():
    """A device of another name is another one there, while times and families are compared."""
    pair = compare_roles(role_of(run(device="GPU 7")), role_of(run(device="GPU 0"), "new"), "cross")
    assert sorted(pair.rows.select("device", "runs_on").rows()) == [
        ("GPU 0", "new"),
        ("GPU 7", "base"),
    ]
    gemm = pair.times.filter(pl.col("function") == "gemm")
    assert gemm.select("device", "runs_on").rows() == [("GPU 7", "both")]


# -- units -----------------------------------------------------------------------------------------


def clock(mu: float, unit: str, metric: str = "gpu_frequency") -> pl.DataFrame:
    return run(metric=metric, mu=mu, unit=unit)


def test_a_factor_of_the_unit_is_taken_out():
    pair = compare_roles(
        role_of(clock(118_700, "0.01 MHz")), role_of(clock(210, "MHz"), "new"), "strict"
    )
    row = pair.rows.row(0, named=True)
    assert (row["mu_base"], row["mu_new"], row["unit"]) == (118_700, 21_000, "0.01 MHz")
    assert pair.workload.reasons == ()


def test_units_that_do_not_meet_are_told_and_not_claimed():
    pair = compare_roles(
        role_of(clock(87.5, "%", "cpu_frequency")),
        role_of(clock(800, "MHz", "cpu_frequency")),
        "strict",
    )
    assert pair.rows["unit"].to_list() == [None]
    assert any("cpu_frequency is in % on one side" in reason for reason in pair.workload.reasons)


def test_whether_a_share_is_a_fraction_is_told_by_the_larger_side():
    base, new = role_of(clock(0.9, "100 %")), role_of(clock(1.1, "%"))
    both = with_common_units(base, new)
    for side, mu in zip(both[:2], (0.9, 1.1), strict=True):
        kernels = side.behaviour.drop_nulls("metric")
        assert (kernels["mu"][0], kernels["unit"][0]) == (mu, "%")


def test_common_units_leave_roles_alone():
    base = role_of(clock(210, "MHz"))
    assert with_common_units(base, base) == (base, base, ())


@pytest.mark.parametrize(
    ("ours", "theirs"), [((650_000.0, "mW"), (650.0, "W")), ((2.0, "GiB"), (2048.0, "MiB"))]
)
def test_units_of_one_quantity_are_compared(ours: tuple[float, str], theirs: tuple[float, str]):
    pair = compare_roles(role_of(clock(*ours)), role_of(clock(*theirs)), "strict")
    row = pair.rows.row(0, named=True)
    assert (row["mu_base"], row["mu_new"], row["unit"]) == (ours[0], ours[0], ours[1])
    assert pair.workload.reasons == ()
