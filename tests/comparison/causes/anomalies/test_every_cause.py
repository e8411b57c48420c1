"""Every cause an anomaly can have: found, spoken against, and too small to matter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from resource_changes import BASE, SIDES_BY_CAUSE, SLOW_HOST, SLOW_KERNELS, side
from shared_resources import Side, anomalies, both
from timesink.rules.counter_names import load_resources

SPOKEN_AGAINST = {
    "gpu_clock": side(gpu_sm_frequency=1200),
    "gpu_power_cap": side(gpu_sm_frequency=1200, gpu_power_mw=690e3),
    "gpu_thermal": side(gpu_sm_frequency=1200, gpu_temp=90),
    "gpu_contention": side(gpu_usage=95),
    # A process with more work of its own uses more of everything.
    "hbm_contention": side(
        {"kernels": 90.0, "launches": 900.0}, gpu_usage=95, gpu_mem_util=27, gpu_power_mw=400e3
    ),
    "pcie_contention": side({"copies": 50.0, "copy_calls": 10_000.0}, gpu_pcie_receive_kbps=40e6),
    "nvlink_contention": side({"reduce": 50.0, "reduce_calls": 2e5}, gpu_link_receive=2e11),
    "network": side(net_rx_rate=1.6e9),
    "cpu_contention": side(host_cpu_usage=80),
    "cpu_clock": side(cpu_frequency=1500),
    "disk_io": side(disk_read_rate=3e9),
}
TINY = {
    "gpu_clock": side(SLOW_KERNELS, gpu_sm_frequency=1900),
    "gpu_power_cap": side(SLOW_KERNELS, gpu_power_mw=690e3),
    "gpu_thermal": side(SLOW_KERNELS, gpu_temp=90),
    "gpu_contention": side(gpu_usage=18, gpu_power_mw=200e3),
    "hbm_contention": side(gpu_mem_util=8),
    "pcie_contention": side(gpu_pcie_receive_kbps=2e6),
    "nvlink_contention": side(gpu_link_receive=5e9),
    "network": side(net_rx_rate=5e8),
    "cpu_contention": side(SLOW_HOST, process_runq_wait_pct=4),
    "cpu_clock": side(SLOW_HOST, cpu_frequency=3400),
    "host_memory": side(SLOW_HOST, host_mem_available=7e8),
    "disk_io": side(SLOW_HOST, host_iowait_pct=3),
}


def causes(new: Side, base: Side = BASE, **more: Any) -> list[str]:
    return [anomaly.id for anomaly in anomalies(base, new, **more)]


def test_every_cause_of_the_table_is_here():
    table_causes = {line.cause for line in load_resources() if line.cause} | {"gpu_thermal"}
    assert set(SIDES_BY_CAUSE) == table_causes


@pytest.mark.parametrize("cause", SIDES_BY_CAUSE)
def test_it_is_found_and_nothing_false_stands_beside(cause: str):
    beside = {"hbm_contention": ["gpu_contention"]}.get(cause, [])
    assert causes(SIDES_BY_CAUSE[cause]) == [cause, *beside]


@pytest.mark.parametrize("cause", [*SIDES_BY_CAUSE][::3])
def test_it_is_found_with_few_cycles(cause: str):
    assert causes(SIDES_BY_CAUSE[cause], cycles=4)[:1] == [cause]


@pytest.mark.parametrize("cause", SPOKEN_AGAINST)
def test_it_is_not_believed_where_the_process_speaks_against_it(cause: str):
    assert causes(SPOKEN_AGAINST[cause]) == []


@pytest.mark.parametrize("cause", TINY)
def test_it_is_not_told_where_it_takes_too_little(cause: str):
    assert causes(TINY[cause]) == []


MAKERS = {
    "mlu": {
        "mlu_frequency": (1300.0, 650.0, "MHz", "gpu_clock"),
        "mlu_utilization": (12.0, 95.0, "%", "gpu_contention"),
        "mlu_memory_utilization": (3.0, 90.0, "%", "hbm_contention"),
        "mlu_pcie_read": (1e6, 12e9, "B/s", "pcie_contention"),
        "mlu_mlulink_bandwidth": (1e6, 1e11, "B/s", "nvlink_contention"),
    },
    "npu": {
        "Aicore Freq(MHZ)": (1800.0, 900.0, "MHz", "gpu_clock"),
        "Aicore Usage Rate(%)": (12.0, 95.0, "%", "gpu_contention"),
        "HBM Bandwidth Usage Rate(%)": (3.0, 90.0, "%", "hbm_contention"),
        "npu_hccs_bandwidth_tx": (1e6, 1e11, "B/s", "nvlink_contention"),
    },
    "amd": {
        "sclk clock speed:": (2100.0, 900.0, "MHz", "gpu_clock"),
        "GPU use (%)": (12.0, 95.0, "%", "gpu_contention"),
        "umc_activity": (3.0, 90.0, "%", "hbm_contention"),
        "pcie_bandwidth": (1e6, 12e9, "B/s", "pcie_contention"),
        "xgmi_read": (1e6, 1e11, "B/s", "nvlink_contention"),
    },
}


@pytest.mark.parametrize(
    ("maker", "counter"), [(maker, counter) for maker, them in MAKERS.items() for counter in them]
)
def test_counters_of_all_makers(maker: str, counter: str):
    before, after, unit, cause = MAKERS[maker][counter]
    name = f"{maker.upper()} 0"
    base, new = (
        Side({f"{name}/{counter}": (level, unit)}, device=name, hardware=None, kernels=kernels)
        for level, kernels in ((before, 10.0), (after, 14.0))
    )
    anomaly_list = anomalies(base, new)
    assert [(anomaly.id, anomaly.device) for anomaly in anomaly_list] == [(cause, name)]


class TestReasonsWithoutAClock:
    NONE = Side({"clocks_throttle_reasons": ([0.0] * 12, None)})

    def side_with_masks(self, *masks: float, **times: float) -> Side:
        levels = {"clocks_throttle_reasons": (list(masks) * (12 // len(masks)), None)}
        return Side(levels, **times)

    @pytest.mark.parametrize(("mask", "cause"), [(4, "gpu_power_cap"), (0x48, "gpu_thermal")])
    def test_slower_kernels_show_that_it_slows_down(self, mask: int, cause: str):
        anomaly_list = anomalies(self.NONE, self.side_with_masks(mask, kernels=15.0))
        assert [anomaly.id for anomaly in anomaly_list] == [cause]
        assert anomaly_list[0].share == pytest.approx(1 / 3, abs=0.01)
        assert any(evidence.kind == "kernel" for evidence in anomaly_list[0].evidence)

    def test_flags_of_their_own_tell_the_same(self):
        base, new = (
            Side({"clocks_event_reasons.sw_power_cap": ([flag] * 12, None)}, kernels=kernels)
            for flag, kernels in ((0.0, 10.0), (1.0, 15.0))
        )
        assert causes(new, base) == ["gpu_power_cap"]

    def test_kernels_that_stay_as_they_are_speak_against_it(self):
        anomaly_list, symptoms = both(self.NONE, self.side_with_masks(4))
        assert anomaly_list == ()
        assert "own kernels take as long as before" in symptoms[0].sentence

    def test_now_and_then_is_too_little(self):
        assert causes(self.side_with_masks(4, 0, 0, kernels=15.0), self.NONE) == []

    def test_a_clock_that_stays_tells_more(self):
        clock = {"gpu_sm_frequency": (1980.0, "MHz")}
        base, new = (
            replace(original, levels={**original.levels, **clock})
            for original in (self.NONE, self.side_with_masks(4, kernels=15.0))
        )
        assert causes(new, base) == []


LOUD = {"host_cpu_usage": (85.0, "%")}
QUIET = {"host_cpu_usage": (6.0, "%")}


class TestBusyCores:
    @pytest.mark.parametrize("measure", ["process_runq_wait_pct", "psi_cpu_some_pct"])
    def test_take_nothing_from_a_process_that_does_not_wait(self, measure: str):
        base, new = (
            Side(levels | {measure: ([0.1] * 12, "%")}, host=host, cycle_ms=20 + host)
            for levels, host in ((QUIET, 80.0), (LOUD, 100.0))
        )
        anomaly_list, symptoms = both(base, new)
        assert anomaly_list == ()
        assert "no thread waits longer for a core" in symptoms[0].sentence

    def test_hurt_where_nobody_measured_waits(self):
        assert causes(Side(LOUD), Side(QUIET)) == ["cpu_contention"]

    def test_hurt_where_waits_are_short_but_there(self):
        base, new = (
            Side(levels | {"process_runq_wait_pct": ([wait] * 12, "%")})
            for levels, wait in ((QUIET, 0.1), (LOUD, 8.0))
        )
        assert causes(new, base) == ["cpu_contention"]


class TestUnsteadyClocks:
    STEADY = Side({"cpu_frequency": ([3500.0] * 12, "MHz")})

    def slow(self, *mhz: float) -> Side:
        levels = {"cpu_frequency": (list(mhz) * (12 // len(mhz)), "MHz")}
        return Side(levels, host=120.0, cycle_ms=140.0)

    def test_a_clock_that_comes_and_goes(self):
        assert causes(self.slow(3500, 900, 900, 3500), self.STEADY) == ["cpu_clock"]

    def test_a_single_dip_is_none(self):
        dip = [3500.0] * 11 + [900.0]
        assert causes(self.slow(*dip), self.STEADY) == []

    def test_one_that_came_and_went_before_is_no_change(self):
        base = Side({"cpu_frequency": ([3500.0, 900.0] * 6, "MHz")})
        assert causes(self.slow(900, 3500), base) == []


def test_a_hardly_used_device_scatters_by_many_times_what_it_reads():
    base = Side({"gpu_usage": ([0.5, 2.0, 89.0, 0.1, 1.0, 2.5], "%")})
    new = Side({"gpu_usage": ([100.0] * 6, "%"), "gpu_mem_used": (5e9, "B")}, kernels=20.0)
    assert causes(new, base, cycles=6) == ["gpu_contention"]
