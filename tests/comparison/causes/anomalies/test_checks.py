"""Counters against each other and against the trace."""

from __future__ import annotations

from typing import Any

import pytest

from shared_resources import Side, anomalies, both

IDLE = {
    "gpu_usage": (12.0, "%"),
    "gpu_power_mw": (140e3, "mW"),
    "gpu_sm_frequency": (1980.0, "MHz"),
}


def side(**parts: Any) -> Side:
    levels = parts.pop("levels", {})
    return Side(IDLE | levels, **parts)


BASE = side()
BUSY = {"gpu_usage": (100.0, "%")}
QUIET = {"host_cpu_usage": (6.0, "%")}
LOUD = {"host_cpu_usage": (35.0, "%")}
SLOW = {"gpu_sm_frequency": (990.0, "MHz")}


def causes(new: Side, base: Side = BASE, **more: Any) -> list[str]:
    return [anomaly.id for anomaly in anomalies(base, new, **more)]


class TestDeviceUse:
    def test_others_that_copy_do_not_compute(self):
        anomaly_list, symptoms = both(BASE, side(levels=BUSY))
        assert anomaly_list == ()
        assert symptoms[0].metric == "gpu_usage"
        assert "neither power nor the time of its kernels rose" in symptoms[0].sentence

    def test_power_shows_that_others_compute(self):
        assert causes(side(levels=BUSY | {"gpu_power_mw": (400e3, "mW")})) == ["gpu_contention"]

    def test_slower_kernels_show_that_others_compute(self):
        assert causes(side(levels=BUSY, kernels=13.0)) == ["gpu_contention"]

    def test_beside_copies_slower_kernels_show_nothing(self):
        link = {"gpu_link_receive": (1e7, "B/s")}
        full = {"gpu_link_receive": (4e11, "B/s")} | BUSY
        assert causes(side(levels=full, kernels=13.0), side(levels=link)) == ["nvlink_contention"]

    def test_multiprocessors_show_it_where_there_is_no_power(self):
        quiet = {"gpu_usage": (12.0, "%"), "gpu_sm_util": (5.0, "%")}
        loud = {"gpu_usage": (100.0, "%"), "gpu_sm_util": (90.0, "%")}
        assert causes(Side(loud), Side(quiet)) == ["gpu_contention"]
        assert causes(Side(quiet | {"gpu_sm_util": (90.0, "%")}), Side(quiet)) == []

    def test_the_own_counter_stands_in_where_the_trace_has_no_device(self):
        nothing: dict[str, Any] = {
            "kernels": 0.0,
            "copies": 0.0,
            "launches": 0.0,
            "copy_calls": 0.0,
        }
        process_use = {"process_gpu_usage": (10.0, "%")}
        base = side(
            levels={f"GPU 0/{name}": level for name, level in process_use.items()}, **nothing
        )
        power = {"gpu_power_mw": (400e3, "mW")}
        busy = BUSY | power | {"GPU 0/process_gpu_usage": (98.0, "%")}
        assert causes(side(levels=busy, **nothing), base) == []
        busy |= {"GPU 0/process_gpu_usage": (12.0, "%")}
        assert causes(side(levels=busy, **nothing), base) == ["gpu_contention"]

    def test_others_by_themselves_are_believed_where_they_show(self):
        before, after = ({"gpu_others_usage": (level, "%")} for level in (0.1, 60.0))
        anomaly_list, symptoms = both(Side(before), Side(after))
        assert anomaly_list == ()
        assert symptoms[0].metric == "gpu_others_usage"
        assert causes(Side(after, kernels=13.0), Side(before)) == ["gpu_contention"]

    def test_multiprocessors_alone_need_slower_kernels(self):
        before, after = ({"gpu_sm_util": (level, "%")} for level in (5.0, 90.0))
        assert causes(Side(after), Side(before)) == []
        assert causes(Side(after, kernels=13.0), Side(before)) == ["gpu_contention"]

    def test_a_device_that_was_busy_before_is_shared_where_all_kernels_last_longer(self):
        full = {"gpu_usage": (95.0, "%")}
        base = side(levels=full, kernels=95.0)
        new = side(levels=BUSY, kernels=190.0, cycle_ms=195.0)
        anomaly_list = anomalies(base, new)
        assert [anomaly.id for anomaly in anomaly_list] == ["gpu_contention"]
        assert anomaly_list[0].share == pytest.approx(0.5, abs=0.05)
        assert "by others" in anomaly_list[0].sentence

    def test_unless_the_clock_explains_it(self):
        base = side(levels={"gpu_usage": (95.0, "%")}, kernels=95.0)
        new = side(levels=BUSY | SLOW, kernels=190.0, cycle_ms=195.0)
        assert causes(new, base) == ["gpu_clock"]

    def test_others_that_are_there_on_both_sides_are_no_change(self):
        loud = BUSY | {"gpu_mem_util": (80.0, "%"), "gpu_pcie_receive_kbps": (30e6, "kB/s")}
        lazy = side(levels=loud, cycle_ms=200.0)
        assert causes(lazy, side(levels=loud)) == []


class TestDeviceClock:
    def test_kernels_that_stay_the_same_speak_against_it(self):
        anomaly_list, symptoms = both(BASE, side(levels=SLOW))
        assert anomaly_list == ()
        assert "no anomaly: own kernels take as long as before" in symptoms[0].sentence
        assert symptoms[0].why == "own kernels take as long as before"

    def test_other_kernels_say_nothing(self):
        assert causes(side(levels=SLOW, launches=150.0)) == ["gpu_clock"]

    def test_a_device_with_less_to_do_saves_power(self):
        lazy = SLOW | {"gpu_usage": (2.0, "%")}
        assert causes(side(levels=lazy, launches=15.0, kernels=1.5)) == []

    @pytest.mark.parametrize(
        ("counter", "cause"),
        [
            ({"clocks_throttle_reasons": 0x4}, "gpu_power_cap"),
            ({"clocks_throttle_reasons": 0x8 | 0x80}, "gpu_power_cap"),
            ({"clocks_event_reasons": 0x20}, "gpu_thermal"),
            ({"clocks_throttle_reasons.active": 0x8 | 0x40}, "gpu_thermal"),
            ({"clocks_event_reasons.hw_thermal_slowdown": 1}, "gpu_thermal"),
            ({"clocks_throttle_reasons": 0x1}, "gpu_clock"),
            ({"clocks_throttle_reasons": 0x2}, "gpu_clock"),
            ({"gpu_temp": 90}, "gpu_thermal"),
            ({"gpu_temp": 70}, "gpu_clock"),
            ({"gpu_power_mw": 690e3}, "gpu_power_cap"),
            ({"gpu_power_mw": 300e3}, "gpu_clock"),
        ],
    )
    def test_the_reason_of_a_lower_clock(self, counter: dict[str, float], cause: str):
        units = {"gpu_temp": "C", "gpu_power_mw": "mW"}
        usual = {"gpu_temp": 40.0, "gpu_power_mw": 140e3}
        before, after = (
            {name: ([level] * 12, units.get(name)) for name, level in levels.items()}
            for levels in ({name: usual.get(name, 0.0) for name in counter}, counter)
        )
        new = side(levels=SLOW | after, kernels=18.0)
        assert causes(new, side(levels=before)) == [cause]

    def test_a_limit_of_its_own_counts_before_the_published_one(self):
        limit = {"gpu_power_limit_mw": (350e3, "mW")}
        at_it = limit | SLOW | {"gpu_power_mw": (348e3, "mW")}
        assert causes(side(levels=at_it, kernels=18.0), side(levels=limit)) == ["gpu_power_cap"]


class TestPowerLimit:
    def test_a_lower_limit_that_is_never_reached_is_no_harm(self):
        before, after = ({"gpu_power_limit_mw": (watts, "mW")} for watts in (700e3, 400e3))
        assert causes(side(levels=after), side(levels=before)) == []

    def test_one_that_is_reached_is(self):
        before = {"gpu_power_limit_mw": (700e3, "mW"), "gpu_power_mw": (600e3, "mW")}
        after = {"gpu_power_limit_mw": (400e3, "mW"), "gpu_power_mw": (398e3, "mW")}
        assert causes(side(levels=after), side(levels=before)) == ["gpu_power_cap"]


class TestProcessor:
    def test_load_beside_cores_to_spare_is_no_harm(self):
        anomaly_list, symptoms = both(Side(QUIET), Side(LOUD))
        assert anomaly_list == ()
        assert "cores to spare" in symptoms[0].sentence

    def test_it_is_where_the_host_slows_down_as_well(self):
        new = Side(LOUD, host=95.0, cycle_ms=115.0)
        assert causes(new, Side(QUIET)) == ["cpu_contention"]

    def test_or_where_threads_wait_for_cores(self):
        waits = {"process_runq_wait_pct": (0.0, "%")}, {"process_runq_wait_pct": (30.0, "%")}
        anomaly_list = anomalies(Side(QUIET | waits[0]), Side(LOUD | waits[1]))
        assert [anomaly.id for anomaly in anomaly_list] == ["cpu_contention"]
        assert len(anomaly_list[0].evidence) == 2

    def test_or_where_half_of_all_cores_are_taken(self):
        assert causes(Side({"host_cpu_usage": (80.0, "%")}), Side(QUIET)) == ["cpu_contention"]

    def test_cores_of_the_process_itself_are_scaled_where_their_number_is_unknown(self):
        process_load = {"process_cpu_usage": (90.0, "% of a core")}
        more = {"process_cpu_usage": (900.0, "% of a core"), "host_cpu_usage": (60.0, "%")}
        base, new = Side(QUIET | process_load, cores=None), Side(QUIET | more, cores=None)
        assert causes(new, base) == []

    def test_threads_of_the_process_that_wait_for_one_another_are_no_others(self):
        alone = {"process_cpu_usage": (100.0, "% of a core"), "process_runq_wait_pct": (0.0, "%")}
        many = {"process_cpu_usage": (1250.0, "% of a core"), "process_runq_wait_pct": (50.0, "%")}
        base = Side({"host_cpu_usage": (28.0, "%")} | alone, cores=16)
        crowded = Side({"host_cpu_usage": (98.0, "%")} | many, cores=16)
        assert causes(crowded, base) == []
        shared = many | {"process_cpu_usage": (300.0, "% of a core")}
        others = Side({"host_cpu_usage": (98.0, "%")} | shared, cores=16)
        assert causes(others, base) == ["cpu_contention"]

    def test_a_clock_under_which_nothing_is_slower_saves_power(self):
        fast, slow = ({"cpu_frequency": (mhz, "MHz")} for mhz in (3500.0, 1200.0))
        assert causes(Side(slow), Side(fast)) == []
        assert causes(Side(slow, host=200.0, cycle_ms=220.0), Side(fast)) == ["cpu_clock"]

    def test_unequal_work_cannot_speak_against_a_clock(self):
        fast, slow = ({"cpu_frequency": (mhz, "MHz")} for mhz in (3500.0, 1200.0))
        new = Side(slow, host=5.0, cycle_ms=6.0)
        assert causes(new, Side(fast), comparable=False) == ["cpu_clock"]


class TestDisk:
    RATES = {"disk_read_rate": (1e6, "B/s")}, {"disk_read_rate": (3e9, "B/s")}

    def test_bytes_nobody_waits_for_are_no_harm(self):
        assert causes(Side(self.RATES[1]), Side(self.RATES[0])) == []

    def test_the_process_that_waits_shows_it(self):
        base = Side(self.RATES[0], files=5.0, file_calls=100.0)
        new = Side(self.RATES[1], files=15.0, file_calls=100.0)
        assert causes(new, base) == ["disk_io"]

    def test_a_host_that_waits_shows_it(self):
        waits = {"host_iowait_pct": (0.0, "%")}, {"host_iowait_pct": (40.0, "%")}
        anomaly_list = anomalies(Side(self.RATES[0] | waits[0]), Side(self.RATES[1] | waits[1]))
        assert [anomaly.id for anomaly in anomaly_list] == ["disk_io"]


class TestMemory:
    def test_a_process_that_is_swapped_out(self):
        before = {"process_mem_rss": (2e9, "B"), "process_mem_swap": ([0.0] * 12, "B")}
        after = {"process_mem_rss": (1e9, "B"), "process_mem_swap": (1e9, "B")}
        anomaly_list = anomalies(Side(before), Side(after))
        assert [anomaly.id for anomaly in anomaly_list] == ["host_memory"]
        assert anomaly_list[0].share == pytest.approx(0.5, abs=0.01)

    def test_the_bandwidth_of_a_device_has_a_limit_of_its_own(self):
        limit = {"gpu_memory_bandwidth_limit": (2e12, "B/s")}
        before = limit | {"gpu_memory_bandwidth_used": (1e11, "B/s")}
        after = limit | {"gpu_memory_bandwidth_used": (1.1e12, "B/s")}
        anomaly_list = anomalies(Side(before), Side(after))
        assert [anomaly.id for anomaly in anomaly_list] == ["hbm_contention"]
        assert anomaly_list[0].share == pytest.approx(0.5, abs=0.02)


class TestNetwork:
    def test_a_slow_network_that_is_full(self):
        before, after = ({"net_rx_rate": (rate, "B/s")} for rate in (1e6, 1.18e9))
        anomaly_list = anomalies(Side(before), Side(after))
        assert [anomaly.id for anomaly in anomaly_list] == ["network"]
        assert anomaly_list[0].share > 0.9

    def test_one_that_comes_and_goes_is_not_full(self):
        bursts = [0.2e9, 1.2e9, 1.7e9] * 4
        before, after = ({"net_rx_rate": (rate, "B/s")} for rate in (1e6, bursts))
        assert causes(Side(after), Side(before)) == []

    def test_traffic_below_what_any_network_carries(self):
        before, after = ({"net_rx_rate": (rate, "B/s")} for rate in (1e6, 0.8e9))
        assert causes(Side(after), Side(before)) == []
