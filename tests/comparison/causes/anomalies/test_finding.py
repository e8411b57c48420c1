"""What is different in the environment."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compared import pair_of
from shared_resources import Side, anomalies, both
from timesink.analyses.behaviour.anatomy import PART_TIMES, PLACE_TIMES, Anatomy
from timesink.analyses.behaviour.counters import LEVELS
from timesink.comparison.causes.machine import find_anomalies
from timesink.comparison.results import Process
from timesink.model.findings import CAUSES, Finding
from timesink.model.schema import BEHAVIOUR

HEALTHY = {
    "gpu_frequency": (1980.0, "MHz"),
    "gpu_sm_frequency": (1980.0, "MHz"),
    "gpu_mem_frequency": (3201.0, "MHz"),
    "gpu_usage": (12.0, "%"),
    "gpu_mem_util": (3.0, "%"),
    "gpu_power_mw": (140_000.0, "mW"),
    "gpu_temp": (40.0, "C"),
    "gpu_pcie_receive_kbps": (9_000.0, "kB/s"),
    "gpu_pcie_transmit_kbps": (2_000.0, "kB/s"),
    "gpu_link_receive": (1e7, "B/s"),
    "gpu_mem_used": (3.6e9, "B"),
    "host_cpu_usage": (6.0, "%"),
    "process_cpu_usage": (97.0, "% of a core"),
    "process_runq_wait_pct": (0.0, "%"),
    "cpu_frequency": (3500.0, "MHz"),
    "host_mem_available": (1e9, "KiB"),
    "host_mem_usage": (3.0, "%"),
    "process_mem_rss": (2e9, "B"),
    "process_mem_swap": (0.0, "B"),
    "net_rx_rate": (1e6, "B/s"),
    "disk_usage": (60.0, "%"),
    "disk_read_rate": (1e6, "B/s"),
    "psi_io_some_avg10": (0.0, "%"),
}
BASE = Side(HEALTHY)


def faulty(kernels: float = 10.0, host: float = 80.0, **levels: Any) -> Side:
    """The healthy run with other counters; levels in the unit of the healthy ones."""
    return Side(
        HEALTHY | {name: (level, HEALTHY[name][1]) for name, level in levels.items()},
        kernels=kernels,
        host=host,
        cycle_ms=10 + kernels + host,
    )


FAULTS = {
    "gpu_clock": faulty(40, gpu_frequency=345, gpu_sm_frequency=345, gpu_power_mw=84_000),
    "gpu_contention": faulty(13, gpu_usage=100, gpu_power_mw=500_000),
    "hbm_contention": faulty(11, gpu_usage=100, gpu_mem_util=100, gpu_power_mw=460_000),
    "pcie_contention": faulty(
        gpu_usage=100, gpu_pcie_receive_kbps=30e6, gpu_pcie_transmit_kbps=32e6
    ),
    "nvlink_contention": faulty(gpu_link_receive=2.6e11),
    "cpu_contention": faulty(host=200, host_cpu_usage=100, process_runq_wait_pct=70),
    "cpu_clock": faulty(host=250, cpu_frequency=900),
    "host_memory": faulty(host_mem_available=6e7, host_mem_usage=94),
    "network": faulty(net_rx_rate=6e9),
    "disk_io": faulty(psi_io_some_avg10=60, disk_read_rate=2e9),
    "gpu_thermal": faulty(15, gpu_frequency=1300, gpu_sm_frequency=1300, gpu_temp=88),
    "gpu_power_cap": faulty(12, gpu_frequency=1500, gpu_sm_frequency=1500, gpu_power_mw=695_000),
}


@cache
def found_of(cause: str) -> tuple[Finding, ...]:
    return anomalies(BASE, FAULTS[cause])


class TestFaults:
    @pytest.mark.parametrize("cause", FAULTS)
    def test_each_fault_comes_first(self, cause: str):
        assert found_of(cause)[0].id == cause

    @pytest.mark.parametrize("cause", [*FAULTS][::2])
    def test_each_fault_that_ends_is_no_anomaly(self, cause: str):
        assert anomalies(FAULTS[cause], BASE) == ()

    @pytest.mark.parametrize("cause", FAULTS)
    def test_it_says_so_with_numbers_and_what_to_check(self, cause: str):
        anomaly = found_of(cause)[0]
        assert "→" in anomaly.sentence
        assert anomaly.sentence.endswith(".")
        assert anomaly.advice.startswith(("Check ", "Find "))
        assert anomaly.evidence[0].metric == anomaly.metric
        assert anomaly.evidence[0].new == anomaly.new
        assert 0.1 <= anomaly.share <= 1
        assert anomaly.q_value < 0.05
        assert anomaly.id in CAUSES

    def test_counters_that_tell_the_same_are_one_anomaly(self):
        anomaly_list = found_of("gpu_clock")
        assert [anomaly.id for anomaly in anomaly_list] == ["gpu_clock"]
        clocks = [
            evidence.metric for evidence in anomaly_list[0].evidence if evidence.kind == "counter"
        ]
        assert clocks == ["gpu_frequency", "gpu_sm_frequency"]

    def test_the_load_comes_before_the_clock_it_lowered(self):
        new = faulty(15, gpu_usage=40, gpu_power_mw=695_000, gpu_sm_frequency=1200)
        cause_names = [anomaly.id for anomaly in anomalies(BASE, new)]
        assert cause_names == ["gpu_contention", "gpu_power_cap"]

    def test_memory_of_a_device_comes_before_its_use(self):
        cause_names = [anomaly.id for anomaly in found_of("hbm_contention")]
        assert cause_names == ["hbm_contention", "gpu_contention"]

    def test_severity_is_a_share_of_what_the_link_carries(self):
        anomaly_list = found_of("pcie_contention")
        assert [anomaly.id for anomaly in anomaly_list] == ["pcie_contention"]
        assert anomaly_list[0].share == pytest.approx(32 / 63, rel=0.02)
        assert "of 63.0 GB/s it can carry" in anomaly_list[0].sentence

    def test_evidence_names_the_worst_cycle(self):
        levels = {"gpu_sm_frequency": ([345.0] * 11 + [300.0], "MHz")}
        anomaly_list = anomalies(BASE, Side(HEALTHY | levels, kernels=40.0))
        assert anomaly_list[0].evidence[0].cycle == 12
        assert anomaly_list[0].evidence[0].side == "new"


class TestQuiet:
    def test_a_run_against_itself(self):
        assert both(BASE, BASE) == ((), ())

    @given(st.integers(0, 10_000), st.integers(2, 30))
    @settings(max_examples=6)
    def test_noise_of_any_length(self, seed: int, cycles: int):
        assert anomalies(BASE, BASE, seed=seed, cycles=cycles) == ()

    @pytest.mark.parametrize(
        "levels",
        [
            {"gpu_pcie_receive_kbps": 90_000, "gpu_mem_used": 60e9, "gpu_temp": 70},
            {"disk_usage": 99, "host_cpu_usage": 13, "net_rx_rate": 8e8},
            {"host_mem_usage": 40, "host_mem_available": 8e8},
            {"gpu_power_mw": 300_000, "disk_read_rate": 3e8},
        ],
    )
    def test_changes_that_leave_enough_for_all(self, levels: dict[str, float]):
        assert anomalies(BASE, faulty(**levels)) == ()

    def test_a_slower_host_without_a_counter(self):
        assert anomalies(BASE, faulty(host=110)) == ()

    def test_own_load_is_not_that_of_others(self):
        busy = Side(
            HEALTHY | {"gpu_usage": (60.0, "%"), "gpu_mem_util": (15.0, "%")},
            kernels=60.0, launches=600.0, cycle_ms=100.0,
        )  # fmt: skip
        assert anomalies(BASE, busy) == ()

    def test_own_copies_fill_the_link_without_others(self):
        new = Side(
            HEALTHY | {"gpu_pcie_receive_kbps": (2e7, "kB/s")}, copies=40.0, copy_calls=5000.0
        )
        assert anomalies(BASE, new) == ()

    def test_own_processor_time_is_not_that_of_others(self):
        new = faulty(host_cpu_usage=56, process_cpu_usage=900)
        assert anomalies(BASE, new) == ()

    def test_other_devices_do_not_matter(self):
        idle = {"GPU 3/gpu_usage": (0.0, "%"), "GPU 3/gpu_sm_frequency": (1980.0, "MHz")}
        busy = {"GPU 3/gpu_usage": (100.0, "%"), "GPU 3/gpu_sm_frequency": (345.0, "MHz")}
        anomaly_list, symptoms = both(Side(HEALTHY | idle), Side(HEALTHY | busy))
        assert anomaly_list == ()
        assert {symptom.device for symptom in symptoms} == {"GPU 3"}

    def test_no_counters_at_all(self):
        assert both(Side({}), Side({})) == ((), ())

    def test_nothing_recorded_at_all(self):
        nothing = Process("x", "x.csv", "7", BEHAVIOUR.empty())
        empty = Anatomy(
            *(pl.DataFrame(schema=schema) for schema in (PART_TIMES, PLACE_TIMES, LEVELS))
        )
        assert find_anomalies(pair_of(base=nothing, new=nothing), empty, empty) == ((), ())

    def test_levels_that_are_not_numbers(self):
        holes = [1980.0, float("nan"), float("inf")] * 4
        new = Side(HEALTHY | {"gpu_sm_frequency": (holes, "MHz")})
        assert anomalies(BASE, new) == ()

    def test_one_cycle_against_one(self):
        assert anomalies(BASE, FAULTS["gpu_clock"], cycles=1) == ()


class TestUnits:
    @given(st.sampled_from([("MHz", 1.0), ("0.01 MHz", 100.0), ("GHz", 1e-3), ("kHz", 1e3)]))
    def test_severity_does_not_depend_on_the_unit(self, unit: tuple[str, float]):
        name, factor = unit
        base, new = (
            Side({"gpu_sm_frequency": ([level * factor] * 12, name)}, kernels=kernels)
            for level, kernels in ((1980.0, 10.0), (990.0, 20.0))
        )
        anomaly_list = anomalies(base, new)
        assert anomaly_list[0].share == pytest.approx(0.5)
        assert (anomaly_list[0].base, anomaly_list[0].unit) == (pytest.approx(1980.0), "MHz")

    def test_units_of_both_sides_may_differ(self):
        base = Side({"gpu_sm_frequency": (1980.0, "MHz")})
        new = Side({"gpu_sm_frequency": (0.99, "GHz")}, kernels=20.0)
        assert anomalies(base, new)[0].share == pytest.approx(0.5, abs=0.02)

    def test_units_that_do_not_meet_are_not_compared(self):
        base = Side({"cpu_frequency": (87.0, "%")})
        new = Side({"cpu_frequency": (20.0, "MHz")}, host=300.0)
        assert anomalies(base, new) == ()


class TestFewCycles:
    def test_one_cycle_against_many_is_judged_by_the_spread_of_these(self):
        base, new = BASE, FAULTS["gpu_clock"]
        many = Side({"gpu_sm_frequency": (1980.0, "MHz")})
        levels = {"gpu_sm_frequency": ([345.0] + [float("nan")] * 11, "MHz")}
        assert anomalies(many, Side(levels, kernels=40.0))[0].id == "gpu_clock"
        assert anomalies(base, new, cycles=2)[0].id == "gpu_clock"

    def test_a_level_that_wanders_by_itself_is_no_change(self):
        wanders = np.repeat([1980.0, 1500.0, 1980.0, 1400.0], 3).tolist()
        other = np.repeat([1500.0, 1980.0, 1300.0, 1400.0], 3).tolist()
        base = Side({"gpu_sm_frequency": (wanders, "MHz")})
        assert anomalies(base, Side({"gpu_sm_frequency": (other, "MHz")}, kernels=12.0)) == ()
