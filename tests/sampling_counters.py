"""Sampling for a while, and what is in the file afterwards."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from timesink.recorder.counter_probes import ProbeContext, wanted_counters
from timesink.recorder.counter_sampler import SampledCounters, Sampler
from timesink.recorder.processes import OwnProcesses

_PATIENCE_S = 30.0
Rows = list[tuple[int, str, str, float]]


def rows_of(file: Path) -> Rows:
    header, *lines = file.read_text().splitlines()
    assert header == "timestamp_us,counter,device,value"
    cells = (line.split(",") for line in lines)
    return [(int(ts), counter, device, float(value)) for ts, counter, device, value in cells]


def counters_of(rows: Rows) -> set[str]:
    return {counter for _, counter, _, _ in rows}


def wait_for(condition: Callable[[], bool]) -> None:
    until_s = time.monotonic() + _PATIENCE_S
    while not condition():
        assert time.monotonic() < until_s, "waited in vain"
        time.sleep(0.01)


def sampled_until(
    folder: Path, counters: str, condition: Callable[[Rows], bool], interval_ms: float = 10
) -> tuple[SampledCounters, Rows]:
    """Sample this process until the rows are as they should be."""
    file = folder / "counters.csv"
    pids = os.getpid(), os.getppid()
    sampler = Sampler(
        file, wanted=wanted_counters(counters), interval_ms=interval_ms, pids=lambda: pids
    )
    sampler.start()
    wait_for(lambda: condition(rows_of(file)))
    return sampler.stop(), rows_of(file)


def setting_of(
    counters: str = "gpu", root: Path = Path("/"), pids: tuple[int, ...] = (7,), **environment: str
) -> ProbeContext:
    """What a source of counters is told, of a program whose processes are known."""
    return ProbeContext(
        wanted_counters(counters),
        OwnProcesses(lambda: pids, root),
        root=root,
        environment=environment,
    )
