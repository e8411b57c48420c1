"""Every counter there is, for the command line and for the page that lists them all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from timesink.errors import UsageError

HOST = "Host"
"""Label of what belongs to the machine and to no device of it."""

GROUPS = {
    "gpu": "devices and their links, own and others' use of them",
    "cpu": "processors: use, clock, what a quota or another machine takes",
    "process": "the program itself: processor time, waits for a core, memory",
    "memory": "memory and swap of the host",
    "psi": "pressure: time in which something waited for a core, memory or a disk",
    "disk": "disks",
    "network": "network cards and InfiniBand",
}
"""What can be asked for at once, and what it is about."""


@dataclass(frozen=True, slots=True)
class Counter:
    """One column of figures that a sampler writes."""

    name: str
    group: str
    """A key of `GROUPS`."""
    unit: str
    source: str
    """Where the figure comes from."""
    tells: str
    missing: str
    """When it cannot be had."""


def _gpu(
    name: str,
    unit: str,
    source: str,
    tells: str,
    missing: str = "no device, or no management library",
) -> Counter:
    return Counter(name, "gpu", unit, source, tells, missing)


_AMD_NOT = "AMD devices"
_OLD = "devices and drivers that do not support it"
_SHARED = (
    "AMD devices; MIG and vGPU; a container whose processes have other numbers than NVML tells"
)
GPU_COUNTERS = (
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

_LINUX = "not on Linux"
_NO_DISK = "not on Linux; no disk of its own, as in many containers and on network file systems"
_NO_NETWORK = "not on Linux; a container without a network"
_NO_INFINIBAND = "no InfiniBand or RDMA card"
_STALLS = {"cpu": "a core", "io": "a disk", "memory": "memory"}
HOST_COUNTERS = (
    Counter(
        "host_cpu_usage", "cpu", "%", "/proc/stat",
        "share of all cores of the host in use, by anybody", _LINUX,
    ),
    Counter(
        "host_cpu_steal", "cpu", "%", "/proc/stat",
        "share of all cores that other virtual machines took from this one", _LINUX,
    ),
    Counter(
        "host_cpu_iowait", "cpu", "%", "/proc/stat",
        "share of all cores that are idle while something waits for a disk", _LINUX,
    ),
    Counter(
        "cpu_frequency", "cpu", "MHz", "cpufreq in /sys, else /proc/cpuinfo",
        "clock of the cores, each weighted by how busy it was since the last reading: cores that "
        "sleep do not pull it down",
        "not on Linux; in most virtual machines, which do not see the clock",
    ),
    Counter(
        "container_cpu_throttled_pct", "cpu", "%", "cpu.stat of the control group (version 1 or 2)",
        "share of periods (of 100 ms, mostly) in which the quota of the container stopped it",
        "not on Linux; no quota is set",
    ),
    Counter(
        "process_cpu_usage", "process", "% of a core", "the processor clock of each process",
        "processor time of a process and of those it started; 100 is one core in full use", _LINUX,
    ),
    Counter(
        "process_mem_rss", "process", "B", "/proc/PID/statm",
        "memory of the process that is in use", _LINUX,
    ),
    Counter(
        "process_mem_swap", "process", "B", "/proc/PID/status",
        "memory of the process that lies in swap", f"{_LINUX}; a kernel without swap",
    ),
    Counter(
        "process_major_faults_per_s", "process", "per s", "/proc/PID/stat",
        "accesses to memory of the process that had to wait for a disk", _LINUX,
    ),
    Counter(
        "process_runq_wait_pct", "process", "%", "/proc/PID/task/TID/schedstat",
        "share of time in which the thread of the process that waited longest could have run and "
        "had no core; which thread that is may change from sample to sample",
        "not on Linux; kernels without CONFIG_SCHED_INFO, some sandboxes",
    ),
    Counter(
        "host_mem_available", "memory", "KiB", "/proc/meminfo",
        "memory that programs can still have without swapping", _LINUX,
    ),
    Counter(
        "host_swap_in_per_s", "memory", "per s", "/proc/vmstat", "pages read back from swap", _LINUX
    ),
    Counter(
        "host_swap_out_per_s", "memory", "per s", "/proc/vmstat", "pages put into swap", _LINUX
    ),
    Counter(
        "host_major_faults_per_s", "memory", "per s", "/proc/vmstat",
        "accesses to memory of any process that had to wait for a disk", _LINUX,
    ),
    *(
        Counter(
            f"psi_{kind}_some_pct", "psi", "%", f"/proc/pressure/{kind}",
            f"share of time in which at least one task of the host waited for {what}",
            "not on Linux, before Linux 4.20, or where the kernel was started without psi=1",
        )
        for kind, what in _STALLS.items()
    ),
    Counter(
        "disk_read_bytes_per_s", "disk", "B/s", "/proc/diskstats",
        "what all disks of the host read", _NO_DISK,
    ),
    Counter(
        "disk_write_bytes_per_s", "disk", "B/s", "/proc/diskstats",
        "what all disks of the host write", _NO_DISK,
    ),
    Counter(
        "disk_util_pct", "disk", "%", "/proc/diskstats",
        "share of time in which the busiest disk had a request under way", _NO_DISK,
    ),
    Counter(
        "net_rx_rate", "network", "B/s", "/proc/net/dev", "what network cards receive", _NO_NETWORK
    ),
    Counter(
        "net_tx_rate", "network", "B/s", "/proc/net/dev", "what network cards send", _NO_NETWORK
    ),
    Counter(
        "ib_rx_bytes_per_s", "network", "B/s", "/sys/class/infiniband",
        "what InfiniBand and RDMA ports receive; /proc/net/dev does not see it", _NO_INFINIBAND,
    ),
    Counter(
        "ib_tx_bytes_per_s", "network", "B/s", "/sys/class/infiniband",
        "what InfiniBand and RDMA ports send; /proc/net/dev does not see it", _NO_INFINIBAND,
    ),
)  # fmt: skip

COUNTERS = (*GPU_COUNTERS, *HOST_COUNTERS)
"""In the order of the page that lists them."""


def wanted(text: str) -> frozenset[str]:
    """The counters that a list of groups, names and globs asks for."""
    words = [word for part in text.split(",") if (word := part.strip())]
    if words == ["none"]:
        return frozenset()
    hint = f"give all, none, or a list of {', '.join(GROUPS)} and names such as gpu_power*"
    if not words:
        raise UsageError("no counters are named", hint)
    found: set[str] = set()
    for word in words:
        named = {
            each.name
            for each in COUNTERS
            if word in ("all", each.group) or fnmatchcase(each.name, word.lower())
        }
        if not named:
            raise UsageError(f"no counter is called {word!r}", hint)
        found |= named
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class Missing:
    """A counter that was asked for and is not in the file, or not all of it."""

    counter: str
    why: str


def missing_in_words(missing: Iterable[Missing], most: int = 3) -> tuple[str, ...]:
    """A line for each reason, with the first counters it is the reason for."""
    counters: dict[str, list[str]] = {}
    for one in missing:
        counters.setdefault(one.why, []).append(one.counter)
    lines = []
    for why, names in counters.items():
        more = f" and {len(names) - most} more" if len(names) > most else ""
        lines.append(f"{', '.join(names[:most])}{more}: {why or 'no reason given'}")
    return tuple(lines)
