"""Counters of the host, and what it is: what the Linux kernel tells in /proc and /sys."""

from __future__ import annotations

import math
import os
import platform
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from timesink.patterns import regex
from timesink.recorder.counter_probes import (
    HOST,
    SLOW_LANE,
    CounterSource,
    GrowthRate,
    KeptFile,
    Probe,
    ProbeContext,
    Sample,
    UnavailableError,
    growth_reader,
    labelled_reader,
    read_text,
    try_text,
)


def _figures(patterns: Mapping[str, str], text: str) -> Mapping[str, float]:
    """What a text tells of counters: for each, the first group of its pattern."""
    matches = {name: re.search(pattern, text, re.MULTILINE) for name, pattern in patterns.items()}
    return {name: int(match[1]) for name, match in matches.items() if match}


def _of_file(
    path: str,
    patterns: Mapping[str, str],
    *,
    grows: bool = True,
    scale: float = 1.0,
    most: float = math.inf,
    **how: Any,
) -> CounterSource:
    """Figures of one file, or how fast they grow times `scale`; `how` goes to the probe."""

    def probes(context: ProbeContext) -> Iterator[Probe]:
        file = KeptFile(context.root / path)
        # One that cannot be read is known at once.
        file.read()

        def figures() -> Mapping[str, float]:
            values = _figures(patterns, file.read())
            if not values:
                raise KeyError(", ".join(patterns))
            return values

        read = labelled_reader(tuple(patterns), lambda: [*figures().values()], [HOST])
        if grows:
            read = growth_reader(figures, scale=scale, most=most)
        yield Probe(tuple(patterns), read, **how)

    return CounterSource(tuple(patterns), probes)


# -- processors ----------------------------------------------------------------------------------

_IDLE, _IOWAIT, _STEAL = 3, 4, 7
_FIELDS = 8
"""Columns after these repeat time of guests that the first ones hold already."""
_USE = ("host_cpu_usage", "host_cpu_steal", "host_cpu_iowait")


def ticks_of(line: str) -> list[int]:
    """Ticks a core spent in each way, of a line of /proc/stat."""
    ticks = [int(cell) for cell in line.split()[1 : 1 + _FIELDS]]
    return ticks + [0] * (_FIELDS - len(ticks))


def _use_of_cores(context: ProbeContext) -> Iterator[Probe]:
    file = KeptFile(context.root / "proc/stat")
    file.read()
    before: list[int] = []

    def read(_now_s: float) -> Iterable[Sample]:
        ticks = ticks_of(file.read().split("\n", 1)[0])
        passed = [max(now - then, 0) for now, then in zip(ticks, before or ticks, strict=True)]
        total = sum(passed)
        if total > 0 or not before:
            before[:] = ticks
        if total <= 0:
            # The kernel counts in hundredths of a second: nothing was counted yet.
            return ()
        part = [100.0 * count / total for count in passed]
        values = (max(100.0 - part[_IDLE] - part[_IOWAIT], 0.0), part[_STEAL], part[_IOWAIT])
        return [Sample(name, HOST, value) for name, value in zip(_USE, values, strict=True)]

    yield Probe(_USE, read)


def _clock(context: ProbeContext) -> Iterator[Probe]:
    """The mean clock of cores that work."""
    clocks = _clocks(context.root)
    if clocks is None or try_text(context.root / "proc/stat") is None:
        raise UnavailableError(
            "the system does not tell the clock of its cores, as in most virtual machines"
        )
    stat = KeptFile(context.root / "proc/stat")
    before: dict[int, int] = {}

    def read(_now_s: float) -> Iterable[Sample]:
        busy = {}
        for line in stat.read().splitlines():
            if match := re.match(r"cpu(\d+)", line):
                ticks = ticks_of(line)
                busy[int(match[1])] = sum(ticks) - ticks[_IDLE] - ticks[_IOWAIT]
        weights = {core: max(ticks - before.get(core, ticks), 0) for core, ticks in busy.items()}
        is_first = not before
        before.clear()
        before.update(busy)
        mhz_by_core = {} if is_first else clocks()
        total = sum(weights.get(core, 0) for core in mhz_by_core)
        if total <= 0:
            return ()
        mean = sum(mhz * weights.get(core, 0) for core, mhz in mhz_by_core.items()) / total
        return (Sample("cpu_frequency", HOST, mean),)

    # Some kernels measure the clock of every core for milliseconds when asked.
    yield Probe(("cpu_frequency",), read, lane=SLOW_LANE, least_ms=250.0)


def _clocks(root: Path) -> Callable[[], Mapping[int, float]] | None:
    """What reads the clock of every core, in MHz."""
    files = {}
    for clock_file in (root / "sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_cur_freq"):
        with suppress(OSError):
            files[int(clock_file.parent.parent.name.removeprefix("cpu"))] = KeptFile(clock_file)
    if files:
        return lambda: {core: float(file.read()) / 1000 for core, file in files.items()}
    path = root / "proc/cpuinfo"
    # Only where the processor counts its cycles; else the figure is the nominal one.
    if not re.search(r"^flags\s*:.*\baperfmperf\b", try_text(path) or "", re.MULTILINE):
        return None

    def clocks() -> Mapping[int, float]:
        text = read_text(path)
        cores = re.findall(r"^processor\s*:\s*(\d+)", text, re.MULTILINE)
        frequencies = re.findall(r"^cpu MHz\s*:\s*([0-9.]+)", text, re.MULTILINE)
        return {int(core): float(mhz) for core, mhz in zip(cores, frequencies, strict=False)}

    return clocks


# -- the quota of a container --------------------------------------------------------------------


def _throttling_probes(context: ProbeContext) -> Iterator[Probe]:
    """Of the tightest of all groups that the program is in."""
    if not (context.root / "proc/self").exists():
        raise UnavailableError("the system has no control groups")
    pid = next(iter(context.processes.roots()), "self")
    groups = [group for group in dict.fromkeys(cpu_groups(context.root, pid)) if quota_cores(group)]
    if not groups:
        raise UnavailableError("no quota is set on the processor time of the program")
    last_counts: dict[Path, tuple[int, int]] = {}

    def share(group: Path) -> float | None:
        lines = read_text(group / "cpu.stat").splitlines()
        values = dict(line.split(None, 1) for line in lines if " " in line)
        periods, throttled = int(values["nr_periods"]), int(values["nr_throttled"])
        before = last_counts.setdefault(group, (periods, throttled))
        if periods == before[0]:
            # No period has ended since: what was said last still holds.
            return None
        last_counts[group] = periods, throttled
        return min(100.0 * (throttled - before[1]) / (periods - before[0]), 100.0)

    def read(_now_s: float) -> Iterable[Sample]:
        shares = [pct for group in groups if (pct := share(group)) is not None]
        return [Sample("container_cpu_throttled_pct", HOST, max(shares))] if shares else ()

    yield Probe(("container_cpu_throttled_pct",), read, least_ms=50.0)


def cpu_groups(root: Path, pid: int | str) -> Iterator[Path]:
    """Folders of the groups that limit the processor time of a process, the innermost first."""
    mount = root / "sys/fs/cgroup"
    for line in (try_text(root / "proc" / str(pid) / "cgroup") or "").splitlines():
        number, controllers, path = (*line.split(":", 2), "", "")[:3]
        if number == "0" and not controllers:
            mounts = mount, mount / "unified"
        elif "cpu" in controllers.split(","):
            mounts = mount / controllers, mount / "cpu"
        else:
            continue
        for top in mounts:
            # A group and those above it.  In a container the path may be that of the host, of which
            # only the end of it is mounted.
            group = top / path.lstrip("/")
            inner = [group, *group.parents][: len(group.parts) - len(top.parts)]
            yield from (folder for folder in (*inner, top) if (folder / "cpu.stat").is_file())


def quota_cores(group: Path) -> float | None:
    """Cores' worth of time a group may have; None without a limit."""
    text = try_text(group / "cpu.max")
    if text is not None:
        quota, _, period = text.partition(" ")
        return None if quota == "max" or not period.strip() else int(quota) / int(period)
    quota_us, period_us = (try_text(group / f"cpu.cfs_{kind}_us") for kind in ("quota", "period"))
    if quota_us is None or period_us is None or int(quota_us) <= 0 or int(period_us) <= 0:
        return None
    return int(quota_us) / int(period_us)


# -- processes of the program --------------------------------------------------------------------

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def _check_processes(context: ProbeContext) -> None:
    if not (context.root / "proc/self").exists():
        raise UnavailableError("the system has no /proc")


def _search_of_children(context: ProbeContext) -> Iterator[Probe]:
    """Others look at the children too: they are looked for whatever was asked for."""

    def look(now_s: float) -> Iterable[Sample]:
        context.processes.look(now_s)
        return ()

    _check_processes(context)
    yield Probe((), look, lane=SLOW_LANE, least_ms=200.0)


def _cpu_time(context: ProbeContext) -> Iterator[Probe]:
    """Processor time of each process that the recorder knows, with all it started."""
    _check_processes(context)
    rate = GrowthRate()

    def share(pid: int, now_s: float) -> float | None:
        try:
            total_s = context.cpu_time_s(pid)
        except OSError:
            # It has ended; what it did until then was counted before.
            rate.forget(str(pid))
            return None
        return rate.of(str(pid), now_s, total_s)

    def read(now_s: float) -> Iterator[Sample]:
        families = context.processes.families()
        # Families hold each other: every process is asked once.
        members = dict.fromkeys(pid for family in families.values() for pid in family)
        rates = {pid: cores for pid in members if (cores := share(pid, now_s)) is not None}
        for root, family in families.items():
            family_rates = [rates[pid] for pid in family if pid in rates]
            if family_rates:
                yield Sample("process_cpu_usage", f"pid {root}", 100.0 * sum(family_rates))

    yield Probe(("process_cpu_usage",), read)


def _of_process(name: str, file: str, pattern: str, scale: int = 1) -> CounterSource:
    """A figure of each process that the recorder knows; per second where the name says so."""

    def probes(context: ProbeContext) -> Iterator[Probe]:
        _check_processes(context)
        rate = GrowthRate() if name.endswith("_per_s") else None

        def read(now_s: float) -> Iterator[Sample]:
            for pid in context.processes.roots():
                with suppress(FileNotFoundError, ProcessLookupError):
                    text = read_text(context.root / f"proc/{pid}/{file}")
                    figure = _figures({name: pattern}, text).get(name)
                    if rate is not None and figure is not None:
                        figure = rate.of(str(pid), now_s, figure)
                    if figure is not None:
                        yield Sample(name, f"pid {pid}", figure * scale)

        yield Probe((name,), read, lane=SLOW_LANE, least_ms=500.0)

    return CounterSource((name,), probes)


_THREADS_EVERY_S = 0.25
_MAX_STORED = 512
"""Files kept open; threads beyond are read the slow way."""


def _run_queue(context: ProbeContext) -> Iterator[Probe]:
    """Waits for a core of each process that the recorder knows, without those it started.

    Of a process, the thread counts that waited longest since the last reading.  The threads that
    decide how long a cycle takes alternate (forward pass and autograd), so none of them can be
    chosen once and for all.  A sum would count helpers whose waits nobody waits for, and be no
    share of the time.
    """
    if not (context.root / "proc/self/schedstat").exists():
        raise UnavailableError("the system does not tell how long threads wait (no schedstat)")
    processes: dict[int, _ThreadWaits] = {}

    def read(now_s: float) -> Iterator[Sample]:
        roots = context.processes.roots()
        for pid in processes.keys() - set(roots):
            del processes[pid]
        for pid in roots:
            threads = processes.setdefault(pid, _ThreadWaits(context.root / f"proc/{pid}/task"))
            waited = threads.waited(now_s)
            if waited is not None:
                yield Sample("process_runq_wait_pct", f"pid {pid}", waited)

    yield Probe(("process_runq_wait_pct",), read)


class _ThreadWaits:
    """The threads of one process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, KeptFile | None] = {}
        self._before: dict[str, int] = {}
        self._untold_ns: dict[str, float] = {}
        self._read_at_s = 0.0
        self._list_from_s = 0.0

    def waited(self, now_s: float) -> float | None:
        """Share of the time since the last reading; None for the first."""
        if now_s >= self._list_from_s:
            names: list[str] = []
            with suppress(OSError):
                names = os.listdir(self._folder)  # noqa: PTH208 - half the time of iterdir()
            self._files = {name: self._files.get(name) for name in names}
            self._list_from_s = now_s + _THREADS_EVERY_S
        waits = dict(self._waits())
        passed_ns = (now_s - self._read_at_s) * 1e9
        # The kernel counts a wait when it ends: what does not fit since the last reading is told in
        # the next ones, so that no thread waits more than all the time, and no wait is lost.
        due_ns = {
            tid: wait - self._before[tid] + self._untold_ns.get(tid, 0.0)
            for tid, wait in waits.items()
            if tid in self._before
        }
        self._untold_ns = {tid: due - passed_ns for tid, due in due_ns.items() if due > passed_ns}
        self._before, self._read_at_s = waits, now_s
        if not due_ns or passed_ns <= 0:
            return None
        return 100.0 * min(max(0.0, *due_ns.values()) / passed_ns, 1.0)

    def _waits(self) -> Iterator[tuple[str, int]]:
        open_count = sum(file is not None for file in self._files.values())
        for tid, file in list(self._files.items()):
            path = self._folder / tid / "schedstat"
            try:
                if file is None and open_count < _MAX_STORED:
                    file = self._files[tid] = KeptFile(path)  # noqa: PLW2901
                    open_count += 1
                text = read_text(path) if file is None else file.read()
                yield tid, int(text.split()[1])
            except (OSError, IndexError):
                # The thread has ended since.
                del self._files[tid]


# -- memory, pressure, disks, network ------------------------------------------------------------

_PAGES = {
    "host_swap_in_per_s": r"^pswpin (\d+)",
    "host_swap_out_per_s": r"^pswpout (\d+)",
    "host_major_faults_per_s": r"^pgmajfault (\d+)",
}
_SUMS: Mapping[str, Any] = {"lane": SLOW_LANE, "least_ms": 100.0}
"""The kernel adds these up over all cores when asked."""
_PCT_PER_US_PER_S = 1e-4
_DISK = ("disk_read_bytes_per_s", "disk_write_bytes_per_s", "disk_util_pct")
_SECTOR_BYTES = 512
_IN_MEMORY = ("loop", "ram", "zram")
_PCT_PER_MS_PER_S = 0.1
_CARDS = ("net_rx_rate", "net_tx_rate")
_SOFTWARE = ("lo", "docker", "veth", "br-", "virbr", "ifb", "dummy", "tun", "tap", "cni", "flannel")
_INFINIBAND = {"ib_rx_bytes_per_s": "port_rcv_data", "ib_tx_bytes_per_s": "port_xmit_data"}
_WORD_BYTES = 4
"""InfiniBand counts words and not bytes."""


def disk_totals(text: str) -> Mapping[str, tuple[int, int, int]]:
    """Bytes read, bytes written, milliseconds busy of each disk since the system was started."""
    totals = {}
    for line in text.splitlines():
        cells = line.split()
        if len(cells) > 12:
            read, written = int(cells[5]) * _SECTOR_BYTES, int(cells[9]) * _SECTOR_BYTES
            totals[cells[2]] = read, written, int(cells[12])
    return totals


def _disks(context: ProbeContext) -> Iterator[Probe]:
    """Rates over all disks: no parts of them, none in memory and none made of others."""
    block = context.root / "sys/block"
    block_devices = {
        entry.name
        for entry in (block.iterdir() if block.is_dir() else ())
        if not entry.name.startswith(_IN_MEMORY) and not any((entry / "slaves").glob("*"))
    }
    file = KeptFile(context.root / "proc/diskstats")
    disks = block_devices & disk_totals(file.read()).keys()
    if not disks:
        raise UnavailableError("the system has no disk of its own")
    rate = GrowthRate()

    def read(now_s: float) -> Iterable[Sample]:
        per_s = []
        for disk, sums in disk_totals(file.read()).items():
            if disk in disks:
                rates = [rate.of(f"{disk} {at}", now_s, total) for at, total in enumerate(sums)]
                if None not in rates:
                    per_s.append([figure or 0.0 for figure in rates])
        if not per_s:
            return ()
        reads, writes, busy = zip(*per_s, strict=True)
        values = sum(reads), sum(writes), min(max(busy) * _PCT_PER_MS_PER_S, 100.0)
        return [Sample(name, HOST, value) for name, value in zip(_DISK, values, strict=True)]

    yield Probe(_DISK, read)


def card_totals(text: str) -> Mapping[str, tuple[int, int]]:
    """Bytes each network card received and sent since the system was started."""
    totals = {}
    for line in text.splitlines()[2:]:
        name, _, rest = line.rpartition(":")
        cells = rest.split()
        if len(cells) > 8:
            totals[name.strip()] = int(cells[0]), int(cells[8])
    return totals


def _cards(context: ProbeContext) -> Iterator[Probe]:
    """Rates over all cards, and not what is put on top of them."""
    file = KeptFile(context.root / "proc/net/dev")
    names, classes = card_totals(file.read()), context.root / "sys/class/net"
    # A container sees no card but its end of one.
    cards = {name for name in names if (classes / name / "device").exists()}
    cards = cards or {name for name in names if not name.startswith(_SOFTWARE)}
    if not cards:
        raise UnavailableError("the system has no network card")

    def totals() -> Mapping[str, float]:
        by_card = card_totals(file.read())
        sums = [sum(by_card[card][way] for card in cards & by_card.keys()) for way in (0, 1)]
        return dict(zip(_CARDS, sums, strict=True))

    yield Probe(_CARDS, growth_reader(totals))


def _infiniband(context: ProbeContext) -> Iterator[Probe]:
    ports = list((context.root / "sys/class/infiniband").glob("*/ports/*/counters"))
    if not ports:
        raise UnavailableError("no InfiniBand or RDMA card")

    def totals() -> Mapping[str, float]:
        return {
            name: sum(int(read_text(port / file)) for port in ports) * _WORD_BYTES
            for name, file in _INFINIBAND.items()
        }

    # The card is asked each time.
    yield Probe(tuple(_INFINIBAND), growth_reader(totals), lane=SLOW_LANE, least_ms=200.0)


HOST_SOURCES = (
    CounterSource(_USE, _use_of_cores),
    CounterSource(("cpu_frequency",), _clock),
    CounterSource(("container_cpu_throttled_pct",), _throttling_probes),
    CounterSource((), _search_of_children),
    CounterSource(("process_cpu_usage",), _cpu_time),
    _of_process("process_mem_rss", "statm", r"^\d+ (\d+)", _PAGE_BYTES),
    _of_process("process_mem_swap", "status", r"^VmSwap:\s*(\d+) kB", 1024),
    # The name of the program stands in parentheses, and may hold any of them.
    _of_process("process_major_faults_per_s", "stat", r"^[\s\S]*\)(?: \S+){9} (\d+)"),
    CounterSource(("process_runq_wait_pct",), _run_queue),
    _of_file(
        "proc/meminfo", {"host_mem_available": r"^MemAvailable:\s*(\d+) kB"}, grows=False, **_SUMS
    ),
    _of_file("proc/vmstat", _PAGES, **_SUMS),
    *(
        _of_file(
            f"proc/pressure/{kind}",
            {f"psi_{kind}_some_pct": r"^some .*total=(\d+)"},
            scale=_PCT_PER_US_PER_S,
            most=100.0,
        )
        for kind in ("cpu", "io", "memory")
    ),
    CounterSource(_DISK, _disks),
    CounterSource(_CARDS, _cards),
    CounterSource(tuple(_INFINIBAND), _infiniband),
)
"""Opened at once."""


# The host, as it stands in the description of a run: cores, quotas, processor, memory.

_MODEL = regex(r"^(?:model name|Model|cpu model|Processor)\s*:\s*(.+)$", re.MULTILINE)
_TOTAL = regex(r"^MemTotal:\s*(\d+) kB", re.MULTILINE)


def describe_host(root: Path = Path("/"), pid: int | str = "self") -> dict[str, Any]:
    """Cores, processor, memory and system; None for what is not known.

    `cores` is what the program may use, by affinity and quota; `machine_cores` what the host has,
    which is what `host_cpu_usage` is a share of.
    """
    model = _MODEL.search(try_text(root / "proc/cpuinfo") or "")
    memory = _TOTAL.search(try_text(root / "proc/meminfo") or "")
    return {
        "cores": _cores(root, pid),
        "machine_cores": os.cpu_count(),
        "cpu": model[1].strip() if model else platform.processor() or None,
        "memory_bytes": int(memory[1]) * 1024 if memory else None,
        "system": f"{platform.system()} {platform.release()}".strip() or None,
    }


def _cores(root: Path, pid: int | str) -> float | None:
    allowed = os.cpu_count()
    if hasattr(os, "sched_getaffinity"):
        allowed = len(os.sched_getaffinity(0 if pid == "self" else int(pid)))
    quotas = [cores for group in cpu_groups(root, pid) if (cores := quota_cores(group))]
    if allowed is None or not quotas:
        return allowed
    # A quota may be one and a half cores.
    quota = round(min(quotas), 2)
    return allowed if quota >= allowed else int(quota) if quota == int(quota) else quota
