"""Pressure stall information: time in which something had to wait for a resource."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from timesink.collect.counters.counter import HOST, Counter
from timesink.collect.counters.files import KeptFile
from timesink.collect.counters.missing import reason
from timesink.collect.counters.probing import Probe, Rate, Sample, Setting

_MISSING = "not on Linux, before Linux 4.20, or where the kernel was started without psi=1"
_WAITS = {"cpu": "a core", "io": "a disk", "memory": "memory"}
COUNTERS = tuple(
    Counter(
        f"psi_{kind}_some_pct", "psi", "%", f"/proc/pressure/{kind}",
        f"share of time in which at least one task of the host waited for {what}", _MISSING,
    )
    for kind, what in _WAITS.items()
)  # fmt: skip
_TOTAL = re.compile(r"^some .*total=(\d+)", re.MULTILINE)
_PCT_PER_US_PER_S = 1e-4


def probes(setting: Setting) -> Iterator[Probe]:
    """Share of time between two readings."""
    for kind in _WAITS:
        name = f"psi_{kind}_some_pct"
        if not setting.wants(name):
            continue
        try:
            file = KeptFile(setting.root / "proc/pressure" / kind)
            file.read()
        except OSError as error:
            setting.miss((name,), reason(error))
            continue
        yield Probe((name,), _Waits(name, file).read)


class _Waits:
    def __init__(self, name: str, file: KeptFile) -> None:
        self._name = name
        self._file = file
        self._rate = Rate()

    def read(self, now_s: float) -> Iterable[Sample]:
        found = _TOTAL.search(self._file.read())
        if found is None:
            raise KeyError(f"the total of {self._name}")
        rate = self._rate.of("total", now_s, int(found[1]))
        if rate is None:
            return ()
        # The clock and the file are not read at once.
        return (Sample(self._name, HOST, min(rate * _PCT_PER_US_PER_S, 100.0)),)
