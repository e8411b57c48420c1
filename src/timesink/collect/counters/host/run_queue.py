"""How long threads of the program wait for a core: /proc/PID/task/TID/schedstat.

Of a process, the thread counts that waited longest since the last reading.  The threads that decide
how long a cycle takes alternate (forward pass and autograd), so none of them can be chosen once and
for all.  A sum would count helpers whose waits nobody waits for, and be no share of the time.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from timesink.collect.counters.counter import Counter
from timesink.collect.counters.files import KeptFile, read_text
from timesink.collect.counters.host.processes import label
from timesink.collect.counters.probing import Probe, Sample, Setting

_NAME = "process_runq_wait_pct"
COUNTERS = (
    Counter(
        _NAME, "process", "%", "/proc/PID/task/TID/schedstat",
        "share of time in which the thread of the process that waited longest could have run and "
        "had no core; which thread that is may change from sample to sample",
        "not on Linux; kernels without CONFIG_SCHED_INFO, some sandboxes",
    ),
)  # fmt: skip
_THREADS_EVERY_S = 0.25
_MOST_KEPT = 512
"""Files kept open; threads beyond are read the slow way."""
_NS_PER_S = 1e9
_PCT = 100.0


def probes(setting: Setting) -> Iterator[Probe]:
    """Waits of each process that the recorder knows, without those it started."""
    if not setting.wants(_NAME):
        return
    if not (setting.root / "proc/self/schedstat").exists():
        setting.miss((_NAME,), "the system does not tell how long threads wait (no schedstat)")
        return
    yield Probe((_NAME,), _Waits(setting).read)


class _Waits:
    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._processes: dict[int, _Threads] = {}

    def read(self, now_s: float) -> Iterable[Sample]:
        roots = self._setting.own.roots()
        self._processes = {
            pid: self._processes.get(pid) or _Threads(self._setting.root / f"proc/{pid}/task")
            for pid in roots
        }
        for pid, threads in self._processes.items():
            waited = threads.waited(now_s)
            if waited is not None:
                yield Sample(_NAME, label(pid), waited)


class _Threads:
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
            self._list(now_s)
        waits = dict(self._waits())
        passed_ns = (now_s - self._read_at_s) * _NS_PER_S
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
        return _PCT * min(max(0.0, *due_ns.values()) / passed_ns, 1.0)

    def _list(self, now_s: float) -> None:
        try:
            names = os.listdir(self._folder)  # noqa: PTH208 - half the time of iterdir()
        except OSError:
            names = []
        self._files = {name: self._files.get(name) for name in names}
        self._list_from_s = now_s + _THREADS_EVERY_S

    def _waits(self) -> Iterator[tuple[str, int]]:
        kept = sum(file is not None for file in self._files.values())
        for tid, file in list(self._files.items()):
            path = self._folder / tid / "schedstat"
            try:
                if file is None and kept < _MOST_KEPT:
                    file = self._files[tid] = KeptFile(path)  # noqa: PLW2901
                    kept += 1
                text = read_text(path) if file is None else file.read()
                yield tid, int(text.split()[1])
            except (OSError, IndexError):
                # The thread has ended since.
                del self._files[tid]
