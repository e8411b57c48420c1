"""Counters of a device, whoever made it."""

from __future__ import annotations

from timesink.collect.counters.counter import Counter

_AMD_NOT = "AMD devices"
_OLD = "devices and drivers that do not support it"
_SHARED = (
    "AMD devices; MIG and vGPU; a container whose processes have other numbers than NVML tells"
)


def _gpu(
    name: str,
    unit: str,
    source: str,
    tells: str,
    missing: str = "no device, or no management library",
) -> Counter:
    return Counter(name, "gpu", unit, source, tells, missing)


COUNTERS = (
    _gpu(
        "gpu_sm_frequency", "MHz", "NVML clock SM",
        "clock of the multiprocessors; it follows load within milliseconds", _AMD_NOT,
    ),
    _gpu("gpu_frequency", "MHz", "NVML clock graphics; amdsmi clock GFX", "clock of the device"),
    _gpu("gpu_mem_frequency", "MHz", "NVML clock memory; amdsmi clock MEM", "clock of its memory"),
    _gpu(
        "gpu_power_mw", "mW", "NVML power usage; amdsmi socket power",
        "power drawn; a mean over about a second on most NVIDIA devices", _OLD,
    ),
    _gpu(
        "gpu_power_instant_mw", "mW", "NVML samples, else field 186",
        "power drawn at the moment, where the library tells it apart", f"{_AMD_NOT}; {_OLD}",
    ),
    _gpu(
        "gpu_power_limit_mw", "mW", "NVML enforced power limit; amdsmi power cap",
        "limit in force; read once a second", _OLD,
    ),
    _gpu("gpu_temp", "C", "NVML; amdsmi hotspot", "temperature"),
    _gpu(
        "gpu_usage", "%", "NVML samples, else utilisation; amdsmi GFX activity",
        "share of time with a kernel of anybody on the device; the driver means it over a sixth of "
        "a second to a second",
        f"MIG; {_OLD}",
    ),
    _gpu(
        "gpu_mem_util", "%", "NVML samples, else utilisation; amdsmi UMC activity",
        "share of time in which its memory was read or written", f"MIG; {_OLD}",
    ),
    _gpu("gpu_mem_used", "B", "NVML memory info; amdsmi VRAM usage", "memory in use, by anybody"),
    _gpu(
        "gpu_throttle_reasons", "", "NVML clocks event reasons",
        "why the clock is not higher: a bit mask of NVML", f"{_AMD_NOT}; {_OLD}",
    ),
    _gpu(
        "gpu_pcie_transmit_kbps", "kB/s", "NVML PCIe throughput",
        "what the device sends over PCIe; NVML measures for 20 ms, so it has a thread and a rhythm "
        "of its own, ten times a second at most",
        f"{_AMD_NOT}; {_OLD}",
    ),
    _gpu(
        "gpu_pcie_receive_kbps", "kB/s", "NVML PCIe throughput",
        "what the device receives over PCIe", f"{_AMD_NOT}; {_OLD}",
    ),
    _gpu(
        "gpu_link_transmit_kbps", "kB/s",
        "NVML NVLink throughput counters; amdsmi XGMI totals",
        "what the device sends over all its links to other devices", f"no links; {_OLD}",
    ),
    _gpu(
        "gpu_link_receive_kbps", "kB/s",
        "NVML NVLink throughput counters; amdsmi XGMI totals",
        "what the device receives over all its links to other devices", f"no links; {_OLD}",
    ),
    _gpu(
        "process_gpu_usage", "%", "NVML process utilisation",
        "share of time with a kernel of the program on the device", _SHARED,
    ),
    _gpu(
        "gpu_others_usage", "%", "NVML process utilisation",
        "share of time with a kernel of other programs on the device: they share it", _SHARED,
    ),
    _gpu(
        "process_gpu_mem_bytes", "B", "NVML running processes; amdsmi process list",
        "memory of the device that the program uses", f"{_SHARED.partition('; ')[2]}; {_OLD}",
    ),
    _gpu(
        "gpu_mem_of_others_bytes", "B", "NVML running processes; amdsmi process list",
        "memory of the device that other programs use", f"{_SHARED.partition('; ')[2]}; {_OLD}",
    ),
)  # fmt: skip
NAMES = tuple(each.name for each in COUNTERS)
