"""Rules about changes, as tables of cases: what a change is, and what has to be said of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from call_trees import Call as TreeCall
from call_trees import op, program
from program_changes import DROPOUT, REGION, steady
from resource_changes import BASE, SIDES_BY_CAUSE, side
from shared_resources import anomalies, run_anatomy
from shared_resources import pair as run_pair
from slowed import MS, USUAL, Call, Program, anomaly, causes, pair
from timesink.comparison.causes.case import Ledger
from timesink.comparison.causes.corrected_steps import judged_without_overhead
from timesink.comparison.causes.diagnosis import diagnose, program_change, same_launches
from timesink.comparison.causes.joint_diagnosis import diagnose_together
from timesink.comparison.causes.resources import readings
from timesink.comparison.causes.shared_device import turns_of_others
from timesink.model.diagnosis import Component
from without_overhead import corrected_pair, recorded_judgement
from without_overhead import program as change_of_device

# -- step times without profiler overhead: base and new (low, middle, high), then as recorded ------

Estimate = tuple[float, float, float]
WIDE: Estimate = (50, 60, 70)
NARROW: Estimate = (58, 60, 62)


@pytest.mark.parametrize(
    ("sides", "recorded", "new_ms", "device_ms", "verdict"),
    [
        # The interval leaves room for a good part of the recorded change, or for little of it.
        ((WIDE, WIDE), "improvement", 80, 0, "improvement"),
        ((NARROW, NARROW), "improvement", 80, 0, "no_change"),
        ((WIDE, WIDE), "regression", 120, 0, "regression"),
        ((NARROW, NARROW), "regression", 120, 0, "no_change"),
        # A small change as recorded: as much is not ruled out.
        ((NARROW, NARROW), "regression", 107, 0, "regression"),
        ((NARROW, NARROW), "improvement", 93, 0, "improvement"),
        # Device time says for certain that the program changed.
        ((NARROW, (70, 75, 80)), "no_change", 102, 15, "regression"),
        (((70, 75, 80), NARROW), "no_change", 98, -15, "improvement"),
        ((NARROW, (70, 75, 80)), "improvement", 80, 15, "regression"),
        (((70, 75, 80), NARROW), "regression", 120, -15, "improvement"),
        ((WIDE, WIDE), "no_change", 102, 15, "no_change"),
        # Two clocks that disagree decide nothing, where one of them rules out the other.
        (((55, 60, 65), (57, 62, 67)), "improvement", 60, 2, "no_change"),
        (((55, 60, 65), (57, 62, 67)), "improvement", 90, 2, "improvement"),
        ((NARROW, NARROW), "incomparable", 120, 0, "incomparable"),
    ],
)
def test_verdicts_without_overhead(
    sides: tuple[Estimate, Estimate],
    recorded: str,
    new_ms: float,
    device_ms: float,
    verdict: str,
):
    beyond = (new_ms - 105.0, new_ms - 95.0)
    judged = judged_without_overhead(
        recorded_judgement(recorded, new_ms, beyond),
        corrected_pair(*sides),
        change_of_device(device_ms),
    )
    assert judged.verdict == verdict
    assert judged.is_without_overhead == (verdict != recorded)


# -- what counters tell ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cause", "unit"),
    [
        ("gpu_clock", "MHz"),
        ("gpu_contention", "%"),
        ("nvlink_contention", "B/s"),
        ("cpu_clock", "MHz"),
        ("gpu_thermal", "MHz"),
    ],
)
def test_levels_have_their_unit(cause: str, unit: str):
    (found, *_) = anomalies(BASE, SIDES_BY_CAUSE[cause])
    assert found.unit == unit
    assert all(proof.unit for proof in found.evidence if proof.kind == "counter")


def test_of_several_counters_of_a_resource_the_highest_counts():
    """Two clocks of one device, of which only one is that of the multiprocessors."""
    more = {"gpu_utilization": (95.0, "%")}
    new = replace(
        side({"kernels": 16.0, "cycle_ms": 106.0}, gpu_usage=95, gpu_power_mw=500e3),
        levels={**side(gpu_usage=95, gpu_power_mw=500e3).levels, **more},
    )
    base = replace(BASE, levels={**BASE.levels, "gpu_utilization": (1.0, "%")})
    assert "gpu_contention" in {found.id for found in anomalies(base, new)}


def test_a_clock_lowered_by_a_fifth_is_shown_by_kernels_a_tenth_longer():
    new = side({"kernels": 11.0, "cycle_ms": 101.0}, gpu_sm_frequency=1584)
    (found,) = anomalies(BASE, new)
    assert (found.id, len(found.evidence)) == ("gpu_clock", 2)
    assert found.proofs[-1].endswith("take 1.10 times as long")


@pytest.mark.parametrize(("kernels_ms", "ids"), [(10.4, []), (10.5, ["gpu_contention"])])
def test_kernels_a_twentieth_longer_show_that_others_use_the_device(
    kernels_ms: float, ids: list[str]
):
    new = side({"kernels": kernels_ms, "cycle_ms": 90 + kernels_ms}, gpu_usage=95)
    assert [found.id for found in anomalies(BASE, new)] == ids


def test_the_higher_of_two_counters_of_power_speaks():
    base = replace(BASE, levels={**BASE.levels, "gpu_power_draw": (140e3, "mW")})
    busy = side(gpu_usage=95, gpu_power_mw=500e3)
    new = replace(busy, levels={**busy.levels, "gpu_power_draw": (141e3, "mW")})
    assert [found.id for found in anomalies(base, new)] == ["gpu_contention"]


def test_slower_cores_that_are_busier_by_as_much_are_no_consequence_of_others():
    """A third less of the clock keeps the same work on its cores for longer."""
    base = replace(BASE, levels={**BASE.levels, "host_cpu_usage": (40.0, "%")})
    new = side(
        {"cycle_ms": 120.0, "host": 100.0},
        cpu_frequency=2400, host_cpu_usage=70, process_runq_wait_pct=20,
    )  # fmt: skip
    assert [found.id for found in anomalies(base, new)] == ["cpu_clock", "cpu_contention"]


@pytest.mark.parametrize("device", ["GPU 0", "GPU 3"])
def test_the_only_device_of_a_side_is_that_of_the_other(device: str):
    new = replace(SIDES_BY_CAUSE["gpu_clock"], device=device)
    assert [found.id for found in anomalies(BASE, new)] == ["gpu_clock"]


def test_only_devices_meet_where_the_process_runs_on_none():
    idle = {"kernels": 0.0, "launches": 0.0, "copies": 0.0, "copy_calls": 0.0}
    base = replace(BASE, **idle, reduce=0.0, reduce_calls=0.0)
    new = replace(base, levels=SIDES_BY_CAUSE["gpu_contention"].levels, device="GPU 3")
    same = replace(new, device="GPU 0")
    assert [found.id for found in anomalies(base, new)] == [
        found.id for found in anomalies(base, same)
    ]


def test_devices_of_two_machines_meet_where_nothing_ran_on_them():
    new = replace(SIDES_BY_CAUSE["gpu_contention"], device="GPU 3")
    anatomies = [run_anatomy(run, 12, np.random.default_rng(1)) for run in (BASE, new)]
    both = run_pair(BASE, new)
    on_host = replace(both, times=both.times.filter(pl.col("device").cast(pl.String) == "Host"))
    assert {reading.device for reading in readings(on_host, *anatomies)} == {"GPU 0", "Host"}


# -- kernels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("cycles", "ids"), [(3, []), (4, ["kernel_change"])])
def test_one_kernel_that_is_longer_in_every_step_needs_four_of_them(cycles: int, ids: list[str]):
    longer = {"nvjet_sm90_tst_64x8": Call("gpu_compute", 72, 18.0)}
    diagnosis = diagnose(pair(USUAL, USUAL.but(**longer), cycles=cycles))
    assert [cause.id for cause in diagnosis.causes] == ids


def test_kernels_beside_others_count_for_the_time_that_shows():
    longer = {"nvjet_sm90_tst_64x8": Call("gpu_compute", 72, 18.0)}
    both = pair(USUAL, USUAL.but(**longer))
    assert same_launches(both, {}) == {"gemm": 0, "elementwise": 0, "reduction": 0}
    shown = same_launches(both, {"gemm": 14.0 * MS})
    assert shown["gemm"] == pytest.approx(4.0 * MS, rel=0.05)


# -- programs --------------------------------------------------------------------------------------

OTHER_REGION = op("Torch-Compiled Region: 1/0", DROPOUT)


def main_cause(base: list[list[TreeCall]], new: list[list[TreeCall]]) -> str:
    change = program_change(*(program(tuple(map(tuple, side))) for side in (base, new)))
    return change.edits[0].cause


@pytest.mark.parametrize(
    ("base", "new", "cause"),
    [
        ([REGION], [REGION, OTHER_REGION], "compile_fallback"),
        ([], [REGION, OTHER_REGION], "compile_fallback"),
        ([REGION, OTHER_REGION], [], "compile_fallback"),
        ([REGION, OTHER_REGION], [OTHER_REGION], "compile_fallback"),
    ],
)
def test_compiled_code_on_one_side_alone(base: list[TreeCall], new: list[TreeCall], cause: str):
    assert main_cause(steady(*base), steady(*new)) == cause


# -- causes and what they cost ---------------------------------------------------------------------

WAITING = USUAL.but(
    cudaStreamSynchronize=Call("cpu_sync", 101, 1.2),
    cudaMemcpyAsync=Call("cpu_copy", 102, 1.3),
    aten__item=Call("cpu_operator", 100, 0.8),
)
UNMARKED = USUAL.but(step=None, ProfilerStep=Call("cpu_annotation", 1, 5.0))
LATER = USUAL.but(step=None, ProfilerStep=Call("cpu_annotation", 1, 45.0))
MORE_WAITS = USUAL.but(cudaStreamSynchronize=Call("cpu_sync", 101, 9.2))
COSTS: Mapping[str, tuple[Program, Program, str, float]] = {
    "waits": (USUAL, WAITING, "synchronisation", 2.8),
    "longer waits": (USUAL, MORE_WAITS, "synchronisation", 9.0),
    "waits beside other waits": (
        USUAL.but(cudaStreamSynchronize=Call("cpu_sync", 50, 4.0)),
        USUAL.but(cudaStreamSynchronize=Call("cpu_sync", 101, 9.2)),
        "synchronisation",
        5.2,
    ),
    "a longer operator": (
        USUAL,
        USUAL.but(aten__add=Call("cpu_operator", 70, 14.0)),
        "host_code",
        10.0,
    ),
    "between calls": (UNMARKED, LATER, "host_code", 40.0),
    "calls that are new": (
        USUAL,
        USUAL.but(aten__sort=Call("cpu_operator", 30, 5.0)),
        "host_code",
        5.0,
    ),
    "one call that is new": (
        USUAL,
        USUAL.but(aten__sort=Call("cpu_operator", 1, 5.0)),
        "host_code",
        5.0,
    ),
}


@pytest.mark.parametrize("name", COSTS)
def test_what_a_cause_costs_and_what_its_end_saves(name: str):
    base, new, cause, ms = COSTS[name]
    for sides, sign in (((base, new), 1), ((new, base), -1)):
        (found,) = causes(*sides)
        assert found.id == cause
        assert found.cost_ns == pytest.approx(sign * ms * MS, rel=0.1)
        assert sum(ns for _, ns in found.claims) == pytest.approx(found.cost_ns)


def test_a_crowded_processor_takes_all_that_rose_though_parts_alone_are_uncertain():
    new = USUAL.slowed(1.5).but(runq=Call("runq", 1, 40.0))
    (found,) = causes(
        USUAL.but(runq=Call("runq", 1, 0.1)),
        new,
        anomaly("cpu_contention", "Host", metric="host_cpu_usage"),
    )
    assert {part for part, _ in found.claims} >= {"run_queue", "host_cpu", "launch_gap"}


# -- several processes -----------------------------------------------------------------------------


def test_parts_of_several_processes_are_in_the_order_of_their_change():
    news = [USUAL.but(aten__add=Call("cpu_operator", 70, 14.0)).slowed(1.3, "gpu"), USUAL]
    diagnosis = diagnose_together([pair(USUAL, new, rank) for rank, new in enumerate(news)])
    changes = [abs(part.delta_ns) for part in diagnosis.attribution]
    assert changes == sorted(changes, reverse=True)
    assert changes[0] > 0


def test_the_interval_of_a_verdict_is_that_of_the_processes_it_rests_on():
    pause = replace(USUAL, gap_ms=30.0)
    news = [pause, *[USUAL] * 3]
    together = diagnose_together([pair(USUAL, new, rank) for rank, new in enumerate(news)])
    alone = diagnose(pair(USUAL, pause))
    assert together.verdict == alone.verdict == "regression"
    low, high = together.cycle_time.interval_pct or (0, 0)
    assert 0 < low < (together.cycle_time.change_pct or 0) < high


def test_processes_that_all_got_slower_are_told_together():
    pause = replace(USUAL, gap_ms=30.0)
    diagnosis = diagnose_together([pair(USUAL, pause, rank) for rank in range(2)])
    assert diagnosis.reason.startswith("Both processes have longer steps: 8")


# -- devices that take turns -----------------------------------------------------------------------

UNLIKE = {"gemm": (20, 6.0), "norm": (300, 3.0), "tiny": (2000, 2.0), "long": (2, 8.0)}
"""Launches of a step and their time in ms."""


def kernels(**more_ms: float) -> Program:
    return USUAL.but(
        **{
            name: Call("gpu_compute", calls, ms + more_ms.get(name, 0.0))
            for name, (calls, ms) in UNLIKE.items()
        }
    )


@pytest.mark.parametrize(
    ("more_ms", "turn_ms"),
    [
        ({}, 0.0),
        (dict.fromkeys(UNLIKE, 10.0), 10.0),
        ({"gemm": 10.0, "norm": 20.0, "tiny": 10.0, "long": 10.0}, 10.0),
        ({"gemm": 10.0, "norm": 10.0, "tiny": 30.0, "long": 10.0}, 10.0),
        # Each takes longer by its own measure: that is more work.
        ({name: ms for name, (_, ms) in UNLIKE.items()}, 0.0),
        # Held up are kernels of one sort alone.
        ({"gemm": 10.0}, 0.0),
    ],
)
def test_turns_of_another_process(more_ms: dict[str, float], turn_ms: float):
    both_runs = pair(kernels(), kernels(**more_ms))
    assert turns_of_others(both_runs, "GPU 0") == pytest.approx(turn_ms * MS, rel=0.1)


# -- operators that come with kernels --------------------------------------------------------------


@pytest.mark.parametrize(("launches", "operator_calls"), [(40, 40), (3, 3), (40, 0)])
def test_operators_that_come_with_new_kernels_are_a_part_of_that(
    launches: int, operator_calls: int
):
    new = {"sm90_gemm_new": Call("gpu_compute", launches, 5.0)}
    if operator_calls:
        new["aten::bmm"] = Call("cpu_operator", operator_calls, 4.0)
    (found,) = causes(USUAL, USUAL.but(**new))
    assert found.id == "kernel_change"
    assert found.cost_ns == pytest.approx((9.0 if operator_calls else 5.0) * MS, rel=0.1)


def test_nothing_is_left_of_a_change_of_nothing():
    nothing = Component("idle", None, 0.0, 0.0, None, None, None)
    assert Ledger([nothing]).left == {"idle": 0.0}
