"""What counters say about shared resources."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timesink.comparison.causes.resources import SCALES, TAKEN_OFF
from timesink.model.findings import CAUSES
from timesink.rules.counter_names import fits, load_resources, resource_of
from timesink.rules.register import catalogue

CAUSE_OF = {
    "gpu_frequency": "gpu_clock",
    "gpu_sm_frequency": "gpu_clock",
    "gpu_mem_frequency": "gpu_clock",
    "clocks.sm [MHz]": "gpu_clock",
    "clocks.current.graphics": "gpu_clock",
    "DCGM_FI_DEV_SM_CLOCK": "gpu_clock",
    "DCGM_FI_DEV_MEM_CLOCK": "gpu_clock",
    "sclk clock speed:": "gpu_clock",
    "gfx_0_clk": "gpu_clock",
    "npu_aicore_frequency": "gpu_clock",
    "mlu_frequency": "gpu_clock",
    "Aicore Freq(MHZ)": "gpu_clock",
    "uclk": "gpu_clock",
    "npu_hbm_freq": "gpu_clock",
    "gpu_power_limit_mw": "gpu_power_cap",
    "DCGM_FI_DEV_POWER_MGMT_LIMIT": "gpu_power_cap",
    "Max Graphics Package Power (W)": "gpu_power_cap",
    "clocks_event_reasons.sw_power_cap": "gpu_power_cap",
    "clocks_throttle_reasons.hw_thermal_slowdown": "gpu_thermal",
    "enforced.power.limit": "gpu_power_cap",
    "gpu_usage": "gpu_contention",
    "gpu_others_usage": "gpu_contention",
    "gpu_sm_util": "gpu_contention",
    "utilization.gpu [%]": "gpu_contention",
    "DCGM_FI_DEV_GPU_UTIL": "gpu_contention",
    "DCGM_FI_PROF_SM_ACTIVE": "gpu_contention",
    "GPU use (%)": "gpu_contention",
    "gfx_activity": "gpu_contention",
    "Aicore Usage Rate(%)": "gpu_contention",
    "npu_chip_info_utilization": "gpu_contention",
    "mlu_core_utilization": "gpu_contention",
    "xpu_utilization": "gpu_contention",
    "gpu_mem_util": "hbm_contention",
    "utilization.memory [%]": "hbm_contention",
    "DCGM_FI_DEV_MEM_COPY_UTIL": "hbm_contention",
    "DCGM_FI_PROF_DRAM_ACTIVE": "hbm_contention",
    "gpu_memory_bandwidth_used": "hbm_contention",
    "umc_activity": "hbm_contention",
    "GPU Memory Read/Write Activity (%)": "hbm_contention",
    "HBM Bandwidth Usage Rate(%)": "hbm_contention",
    "mlu_memory_utilization": "hbm_contention",
    "gpu_pcie_receive": "pcie_contention",
    "gpu_pcie_transmit_kbps": "pcie_contention",
    "DCGM_FI_PROF_PCIE_TX_BYTES": "pcie_contention",
    "pcie.link.width.current": "pcie_contention",
    "pcie_bandwidth_mbs": "pcie_contention",
    "mlu_pcie_read": "pcie_contention",
    "gpu_link_receive": "nvlink_contention",
    "DCGM_FI_PROF_NVLINK_RX_BYTES": "nvlink_contention",
    "gpu_xgmi_read": "nvlink_contention",
    "npu_hccs_bandwidth_tx": "nvlink_contention",
    "mlu_mlulink_bandwidth": "nvlink_contention",
    "net_rx_rate": "network",
    "net_bytes_sent_per_second": "network",
    "net_rx_dropped": "network",
    "network_receive_bytes_per_s": "network",
    "ib_port_xmit_bytes_per_s": "network",
    "host_cpu_usage": "cpu_contention",
    "cpu_percent": "cpu_contention",
    "process_runq_wait_pct": "cpu_contention",
    "container_cpu_throttled_pct": "cpu_contention",
    "psi_cpu_some_avg10": "cpu_contention",
    "cpu_steal_pct": "cpu_contention",
    "host_cpu_steal": "cpu_contention",
    "system_cpu_percent": "cpu_contention",
    "cpu_frequency": "cpu_clock",
    "cpu0_freq_mhz": "cpu_clock",
    "scaling_cur_freq": "cpu_clock",
    "host_mem_available": "host_memory",
    "host_mem_usage": "host_memory",
    "process_mem_swap_944615": "host_memory",
    "swap_in": "host_memory",
    "host_swap_out_per_s": "host_memory",
    "swap_usage": "host_memory",
    "psi_memory_full_avg60": "host_memory",
    "process_major_faults": "host_memory",
    "pswpout": "host_memory",
    "host_mem_bandwidth_util": "host_memory",
    "host_iowait_pct": "disk_io",
    "psi_io_some_avg10": "disk_io",
    "disk_util_pct": "disk_io",
    "disk_read_bytes_per_second": "disk_io",
    "disk_write_rate": "disk_io",
}
ROLE_OF = {
    "gpu_temp": "context",
    "DCGM_FI_DEV_MEMORY_TEMP": "context",
    "Temperature (Sensor edge) (C)": "context",
    "gpu_power_mw": "context",
    "power.draw [W]": "context",
    "cpu_temp": "context",
    "clocks_throttle_reasons.active": "context",
    "gpu_memory_bandwidth_limit": "context",
    "process_gpu_usage_944615": "symptom",
    "process_gpu_usage": "symptom",
    "process_cpu_usage": "symptom",
    "container_cpu_usage": "symptom",
    "container_gpu_usage": "symptom",
    "gpu_sm_occupancy": "symptom",
    "loadavg_1m": "symptom",
    "somebody's own counter": "symptom",
    "network_latency_ms": "symptom",
    "network_connections": "symptom",
    "net_rx_bytes": "symptom",
    "runq_len": "symptom",
    "runq_latency_us": "symptom",
    "system_cpu_count": "symptom",
    "steal_time_s": "symptom",
    "iowait_ms": "symptom",
    "disk_reads_completed": "symptom",
    "disk_read_time_ms": "symptom",
    "pcie_correctable_errors": "symptom",
    "nvlink_count": "symptom",
    "host_swap_inactive": "ignored",
    "swap_in_use": "ignored",
    "gpu_mem_used": "ignored",
    "gpu_mem_of_others_bytes": "ignored",
    "DCGM_FI_DEV_FB_USED": "ignored",
    "process_gpu_mem_usage": "ignored",
    "process_mem_rss": "ignored",
    "container_mem_used": "ignored",
    "host_mem_free": "ignored",
    "host_mem_cache": "ignored",
    "disk_usage": "ignored",
    "disk_free": "ignored",
    "HBM Usage Rate(%)": "ignored",
    "npu_chip_info_hbm_utilization": "ignored",
    "GPU Memory Allocated (VRAM%)": "ignored",
    "DCGM_FI_DEV_POWER_VIOLATION": "ignored",
    "gpu_ecc_errors": "ignored",
    "gpu_fan_speed": "ignored",
    "pcie.link.gen.current": "ignored",
    "clocks.max.sm": "ignored",
}


def test_shared_resources_by_whatever_name():
    resources = {counter: resource_of(counter) for counter in CAUSE_OF}
    assert {counter: resource.cause for counter, resource in resources.items()} == CAUSE_OF
    assert {resource.role for resource in resources.values()} == {"exogenous"}


def test_all_other_counters_accuse_nobody():
    assert {counter: resource_of(counter).role for counter in ROLE_OF} == ROLE_OF


@pytest.mark.parametrize(
    ("counter", "fitting", "other"),
    [
        ("host_cpu_usage", "%", "% of a core"),
        ("gpu_pcie_receive", "B/s", "B"),
        ("net_rx_rate", "B/s", "%"),
        ("gpu_sm_frequency", "MHz", "ns"),
        ("major_faults", "", "B/s"),
    ],
)
def test_a_unit_the_scale_does_not_know_makes_a_symptom(counter: str, fitting: str, other: str):
    assert resource_of(counter, fitting).role == "exogenous"
    assert resource_of(counter, other).role == "symptom"


def test_more_traffic_hurts_and_fewer_lanes_do():
    assert resource_of("pcie_bandwidth_mbs").harm == "up"
    assert resource_of("pcie_link_width").harm == "down"


def test_lines_of_the_table_hang_together():
    for line in load_resources():
        assert line.role in {"exogenous", "context", "symptom", "ignored"}
        assert line.deduction in {"", *TAKEN_OFF}
        if line.role == "exogenous":
            assert line.cause in CAUSES
            assert line.harm in {"up", "down"}
            assert line.scale in SCALES
            assert line.resource
            assert 0 < line.floor < 1
            assert catalogue()["causes"][line.cause]["advice"]


def test_a_fixed_scale_has_its_capacity():
    assert all(line.capacity for line in load_resources() if line.scale == "fixed")


@given(st.text("ab_"), st.text("ab_*"))
def test_a_pattern_fits_as_shell_patterns_do(name: str, pattern: str) -> None:
    assert fits(name, pattern) == fnmatchcase(name, pattern)


def test_patterns_of_the_table_have_no_other_wildcards() -> None:
    assert not [line.pattern for line in load_resources() if set(line.pattern) & set("?[]{}")]
