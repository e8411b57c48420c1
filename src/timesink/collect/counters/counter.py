"""What a counter is, for the command line and for the page that lists them all."""

from __future__ import annotations

from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Wanted:
    """Counters that were asked for; without any there is nothing to sample."""

    counters: frozenset[str]

    def __bool__(self) -> bool:
        return bool(self.counters)

    def has(self, counter: str) -> bool:
        """Whether a counter was asked for."""
        return counter in self.counters
