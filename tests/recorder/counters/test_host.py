"""Counters of the host, from files as the Linux kernel writes them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from timesink.recorder.counter_probes import Probe, ProbeContext, wanted_counters
from timesink.recorder.host_counters import HOST_SOURCES
from timesink.recorder.processes import OwnProcesses


def setting_of(
    root: Path, selection: str, pids: Iterable[int] = (7,), **more: object
) -> ProbeContext:
    processes = OwnProcesses(lambda: list(pids), root)
    return ProbeContext(wanted_counters(selection), processes, root=root, **more)  # type: ignore[arg-type]


def open_probes(setting: ProbeContext) -> list[Probe]:
    return [probe for source in HOST_SOURCES for probe in source.probes(setting)]


def values(probes: list[Probe], now_s: float) -> dict[tuple[str, str], float]:
    samples = [sample for probe in probes for sample in probe.read(now_s)]
    return {(sample.counter, sample.device): sample.value for sample in samples}


def change(root: Path, path: str, text: str) -> None:
    assert (root / path).exists()
    (root / path).write_text(text)


def write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def test_shares_of_the_processors_between_two_readings(root):
    probes = open_probes(setting_of(root, "host_cpu_*"))
    assert values(probes, 1.0) == {}
    change(root, "proc/stat", "cpu  130 0 70 830 50 0 0 20 0 0\n")
    assert values(probes, 2.0) == {
        ("host_cpu_usage", "Host"): 60.0,
        ("host_cpu_steal", "Host"): 10.0,
        ("host_cpu_iowait", "Host"): 10.0,
    }
    # Too early: the kernel has not counted on.
    assert values(probes, 2.005) == {}


def test_the_clock_is_that_of_the_cores_that_work(root):
    for core, khz in ((0, 3_000_000), (1, 800_000)):
        write(root, f"sys/devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq", f"{khz}\n")
    probes = open_probes(setting_of(root, "cpu_frequency"))
    assert values(probes, 1.0) == {}
    stat = "cpu  0 0 0 0\ncpu0 60 0 25 400 20 0 0 5 0 0\ncpu1 50 0 25 500 20 0 0 5 0 0\n"
    change(root, "proc/stat", stat)
    assert values(probes, 2.0) == {("cpu_frequency", "Host"): 3000.0}


@pytest.mark.parametrize(
    ("flags", "is_measured"), [("fpu aperfmperf", True), ("fpu hypervisor", False)]
)
def test_a_nominal_clock_is_no_measurement(root, flags, is_measured):
    write(root, "proc/cpuinfo", f"processor : 0\ncpu MHz : 2100.0\nflags : {flags}\n")
    setting = setting_of(root, "cpu_frequency")
    assert bool(open_probes(setting)[1:]) == is_measured
    assert bool(setting.missing.named()) != is_measured


def test_rates_of_memory_pressure_disks_and_network(root):
    probes = open_probes(setting_of(root, "memory,psi,disk,net_*"))
    values(probes, 10.0)
    change(root, "proc/vmstat", "pswpin 30\npswpout 20\npgmajfault 130\n")
    change(root, "proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=501000\n")
    line = " 259 {} 1 0 {} 4 2 0 {} 8 0 {} 12\n"
    disks = "".join(line.format(name, 82, 164, 1100) for name in ("0 nvme0n1", "0 dm-0"))
    change(root, "proc/diskstats", disks)
    change(root, "proc/net/dev", "\n\n lo: 99 0 0 0 0 0 0 0 9\n eth0: 900 0 0 0 0 0 0 0 1700\n")
    rates = {counter: value for (counter, _), value in values(probes, 12.0).items()}
    assert rates == {
        "host_mem_available": 700,
        "host_swap_in_per_s": 10.0,
        "host_swap_out_per_s": 0.0,
        "host_major_faults_per_s": 50.0,
        "psi_cpu_some_pct": 0.0,
        "psi_io_some_pct": 25.0,
        "psi_memory_some_pct": 0.0,
        "disk_read_bytes_per_s": 512.0,
        "disk_write_bytes_per_s": 1024.0,
        "disk_util_pct": 50.0,
        "net_rx_rate": 200.0,
        "net_tx_rate": 500.0,
    }


def test_infiniband_counts_words(root):
    counters = "sys/class/infiniband/mlx5_0/ports/1/counters"
    for name in ("port_rcv_data", "port_xmit_data"):
        write(root, f"{counters}/{name}", "100\n")
    probes = open_probes(setting_of(root, "ib_*"))
    values(probes, 1.0)
    write(root, f"{counters}/port_rcv_data", "350\n")
    assert values(probes, 2.0) == {
        ("ib_rx_bytes_per_s", "Host"): 1000.0,
        ("ib_tx_bytes_per_s", "Host"): 0.0,
    }


def test_processor_time_holds_that_of_processes_it_started(root):
    for pid, parent in ((20, 7), (21, 20), (30, 7)):
        write(root, f"proc/{pid}/stat", f"{pid} (worker) S {parent} 7 7 0 -1 0 0 0 0 0\n")
    cpu_s = {7: 1.0, 20: 1.0, 21: 1.0, 30: 1.0}
    setting = setting_of(root, "process_cpu_usage", pids=(7, 30), cpu_time_s=cpu_s.__getitem__)
    probes = open_probes(setting)
    values(probes, 1.0)
    values(probes, 2.0)
    cpu_s |= {7: 1.5, 20: 2.0, 21: 1.25, 30: 1.1}
    readings = values(probes, 3.0)
    assert readings["process_cpu_usage", "pid 7"] == pytest.approx(185.0)
    assert readings["process_cpu_usage", "pid 30"] == pytest.approx(10.0)


def test_the_thread_counts_that_waited_longest_and_threads_may_come_and_go(root):
    probes = open_probes(setting_of(root, "process_runq_wait_pct"))
    values(probes, 1.0)
    change(root, "proc/7/task/7/schedstat", "1000 250002000 3\n")
    change(root, "proc/7/task/8/schedstat", "1000 500002000 3\n")
    assert values(probes, 2.0) == {("process_runq_wait_pct", "pid 7"): pytest.approx(50.0)}
    (root / "proc/7/task/8/schedstat").unlink()
    (root / "proc/7/task/8").rmdir()
    write(root, "proc/7/task/9/schedstat", "1 99000000000 1\n")
    change(root, "proc/7/task/7/schedstat", "1000 350002000 3\n")
    assert values(probes, 3.0) == {("process_runq_wait_pct", "pid 7"): pytest.approx(10.0)}


def test_a_wait_that_was_longer_than_an_interval_is_told_in_several(root):
    probes = open_probes(setting_of(root, "process_runq_wait_pct"))
    values(probes, 1.0)
    change(root, "proc/7/task/7/schedstat", "1000 2250002000 3\n")
    waits_pct = [
        values(probes, now_s)["process_runq_wait_pct", "pid 7"] for now_s in (2.0, 3.0, 4.0, 5.0)
    ]
    assert waits_pct == pytest.approx([100.0, 100.0, 25.0, 0.0])


def test_memory_and_faults_of_the_process(root):
    probes = open_probes(setting_of(root, "process_mem*,process_major*"))
    first = values(probes, 1.0)
    assert first["process_mem_rss", "pid 7"] % 300 == 0
    assert first["process_mem_swap", "pid 7"] == 12 * 1024
    change(root, "proc/7/stat", "7 (python (x) y) S 1 7 7 0 -1 0 0 0 60 0 1 1\n")
    assert values(probes, 2.0)["process_major_faults_per_s", "pid 7"] == 20.0


def test_a_process_that_ended_has_no_more_counters(root):
    probes = open_probes(setting_of(root, "process", pids=(4_000_000,)))
    assert values(probes, 1.0) == {}
    assert values(probes, 2.0) == {}


STATS = {
    "v2": ("0::/pod/c1\n", "sys/fs/cgroup/pod/c1", {"cpu.max": "150000 100000\n"}),
    "v2 namespace": ("0::/\n", "sys/fs/cgroup", {"cpu.max": "150000 100000\n"}),
    "v1": (
        "3:cpu,cpuacct:/docker/c1\n",
        "sys/fs/cgroup/cpu,cpuacct",
        {"cpu.cfs_quota_us": "150000\n", "cpu.cfs_period_us": "100000\n"},
    ),
}


@pytest.mark.parametrize("kind", STATS)
def test_periods_in_which_a_quota_stopped_the_program(root, kind):
    groups, folder, limits = STATS[kind]
    write(root, "proc/7/cgroup", groups)
    for name, text in limits.items():
        write(root, f"{folder}/{name}", text)
    write(root, f"{folder}/cpu.stat", "usage_usec 1\nnr_periods 10\nnr_throttled 2\n")
    probes = open_probes(setting_of(root, "container_cpu_throttled_pct"))
    assert values(probes, 1.0) == {}
    write(root, f"{folder}/cpu.stat", "usage_usec 1\nnr_periods 14\nnr_throttled 5\n")
    assert values(probes, 2.0) == {("container_cpu_throttled_pct", "Host"): 75.0}
    # No period has ended since.
    assert values(probes, 2.01) == {}


def test_without_a_quota_that_is_said(root):
    setting = setting_of(root, "container_cpu_throttled_pct")
    open_probes(setting)
    assert [missing.why for missing in setting.missing.named()] == [
        "no quota is set on the processor time of the program"
    ]


def test_a_system_without_proc_names_every_counter_once(tmp_path):
    setting = setting_of(tmp_path, "cpu,process,memory,psi,disk,network")
    assert open_probes(setting) == []
    named = [missing.counter for missing in setting.missing.named()]
    assert sorted(named) == sorted(setting.wanted)
    assert all(missing.why for missing in setting.missing.named())


def test_what_nobody_asked_for_is_not_read(root):
    names = {name for probe in open_probes(setting_of(root, "disk")) for name in probe.counters}
    assert names == {"disk_read_bytes_per_s", "disk_write_bytes_per_s", "disk_util_pct"}
