"""Pairs of runs of which one lacks a resource: for each cause at least one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shared_resources import Side

CALM: dict[str, Any] = {
    "gpu_sm_frequency": (1980.0, "MHz"),
    "gpu_usage": (12.0, "%"),
    "gpu_mem_util": (3.0, "%"),
    "gpu_power_mw": (140e3, "mW"),
    "gpu_temp": (45.0, "C"),
    "gpu_pcie_receive_kbps": (9e3, "kB/s"),
    "gpu_link_receive": (1e7, "B/s"),
    "net_rx_rate": (1e6, "B/s"),
    "host_cpu_usage": (6.0, "%"),
    "process_runq_wait_pct": (0.2, "%"),
    "cpu_frequency": (3500.0, "MHz"),
    "host_mem_available": (1e9, "KiB"),
    "disk_read_rate": (1e6, "B/s"),
    "host_iowait_pct": (0.1, "%"),
}
BASE = Side(CALM, reduce=5.0, reduce_calls=10.0)


def side(times: dict[str, float] | None = None, /, **levels: float) -> Side:
    changed = {name: (level, CALM[name][1]) for name, level in levels.items()}
    return replace(BASE, levels=CALM | changed, **(times or {}))


SLOW_KERNELS = {"kernels": 16.0, "cycle_ms": 106.0}
SLOW_HOST = {"host": 160.0, "cycle_ms": 180.0}
SIDES_BY_CAUSE = {
    "gpu_clock": side(SLOW_KERNELS, gpu_sm_frequency=1200),
    "gpu_power_cap": side(SLOW_KERNELS, gpu_sm_frequency=1200, gpu_power_mw=690e3),
    "gpu_thermal": side(SLOW_KERNELS, gpu_sm_frequency=1200, gpu_temp=90),
    "gpu_contention": side(SLOW_KERNELS, gpu_usage=95, gpu_power_mw=500e3),
    "hbm_contention": side(SLOW_KERNELS, gpu_usage=95, gpu_mem_util=90, gpu_power_mw=400e3),
    "pcie_contention": side(gpu_pcie_receive_kbps=40e6),
    "nvlink_contention": side(gpu_link_receive=2e11),
    "network": side(net_rx_rate=6e9),
    "cpu_contention": side(SLOW_HOST, host_cpu_usage=98, process_runq_wait_pct=60),
    "cpu_clock": side(SLOW_HOST, cpu_frequency=1500),
    "host_memory": side(host_mem_available=1e7),
    "disk_io": side(host_iowait_pct=40, disk_read_rate=2e9),
}
