"""Every counter there is, and the sources they come from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from timesink.collect.counters import gpu
from timesink.collect.counters.counter import Counter
from timesink.collect.counters.host import (
    clock,
    disks,
    memory,
    network,
    pressure,
    processes,
    processors,
    quota,
    run_queue,
)
from timesink.collect.counters.probing import Probe, Setting


@dataclass(frozen=True, slots=True)
class Source:
    """Where counters come from."""

    counters: tuple[Counter, ...]
    probes: Callable[[Setting], Iterator[Probe]]
    """What can be read; what cannot is named in the setting."""


HOST_SOURCES = (
    Source(processors.COUNTERS, processors.probes),
    Source(clock.COUNTERS, clock.probes),
    Source(quota.COUNTERS, quota.probes),
    Source(processes.COUNTERS, processes.probes),
    Source(run_queue.COUNTERS, run_queue.probes),
    Source(memory.COUNTERS, memory.probes),
    Source(pressure.COUNTERS, pressure.probes),
    Source(disks.COUNTERS, disks.probes),
    Source(network.COUNTERS, network.probes),
)
"""Opened at once."""

DEVICE_SOURCES = (Source(gpu.COUNTERS, gpu.probes),)
"""Opened in a thread: a management library may take seconds to start."""

COUNTERS = tuple(
    counter for source in (*DEVICE_SOURCES, *HOST_SOURCES) for counter in source.counters
)
"""In the order of the page that lists them."""
