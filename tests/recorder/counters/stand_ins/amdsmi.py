# ruff: noqa: ARG001, N818 - names and arguments are those of the library
"""A stand-in for AMD's amdsmi: its functions, errors and what they return."""

from __future__ import annotations

from enum import Enum
from typing import Any

HANDLES: list[str] = []
ERRORS: set[str] = set()
PROCESSES: list[Any] = []
TOTALS = {"xgmi_read_data_acc": [10, 20], "xgmi_write_data_acc": [5, "N/A"]}


class AmdSmiException(Exception):
    pass


class AmdSmiClkType(Enum):
    GFX = 1
    MEM = 2


class AmdSmiTemperatureType(Enum):
    EDGE = 0
    HOTSPOT = 1


class AmdSmiTemperatureMetric(Enum):
    CURRENT = 0


def amdsmi_init() -> None:
    if "amdsmi_init" in ERRORS:
        raise AmdSmiException("Driver not loaded")


def amdsmi_get_processor_handles() -> list[str]:
    return HANDLES


def amdsmi_get_gpu_device_uuid(handle: str) -> str:
    return handle


def amdsmi_get_clock_info(handle: str, kind: AmdSmiClkType) -> dict[str, Any]:
    return {"clk": {AmdSmiClkType.GFX: 2100, AmdSmiClkType.MEM: 1300}[kind], "max_clk": 2200}


def amdsmi_get_power_info(handle: str) -> dict[str, Any]:
    return {"current_socket_power": "N/A", "average_socket_power": 310}


def amdsmi_get_power_cap_info(handle: str) -> dict[str, Any]:
    return {"power_cap": 750_000_000}


def amdsmi_get_temp_metric(handle: str, kind: Any, metric: Any) -> int:
    if "amdsmi_get_temp_metric" in ERRORS:
        raise AmdSmiException("not supported")
    return 52


def amdsmi_get_gpu_activity(handle: str) -> dict[str, Any]:
    return {"gfx_activity": 66, "umc_activity": 21, "mm_activity": "N/A"}


def amdsmi_get_gpu_vram_usage(handle: str) -> dict[str, int]:
    return {"vram_total": 196_592, "vram_used": 2048}


def amdsmi_get_gpu_metrics_info(handle: str) -> dict[str, Any]:
    TOTALS["xgmi_read_data_acc"][0] += 100
    TOTALS["xgmi_write_data_acc"][0] += 100
    return dict(TOTALS)


def amdsmi_get_gpu_process_list(handle: str) -> list[Any]:
    return PROCESSES


def amdsmi_get_gpu_asic_info(handle: str) -> dict[str, str]:
    return {"market_name": "AMD Instinct MI300X"}


def amdsmi_get_gpu_driver_info(handle: str) -> dict[str, str]:
    return {"driver_version": "6.10"}
