"""The events a rank's trace holds, without their times: the same for all ranks of a stage."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from timesink.lab.ranks.layout import Ints
from timesink.lab.ranks.meetings import Floats
from timesink.lab.ranks.simulate import StageTimes

MARK = "\x01"
"""Stands around what differs between ranks."""


def differs(what: str) -> str:
    """A place in a text for something of a rank: `pid`, `tensor name`, ..."""
    return f"{MARK}{what}{MARK}"


@dataclass(frozen=True, slots=True)
class HostEvent:
    """From a place in one call to a place in the same or a later call."""

    category: str
    name: str
    thread: str
    arguments: str
    first: int
    first_at: float
    last: int
    last_at: float
    around_us: float = 0.0
    """How much earlier it starts; it ends half as much later."""
    flow: int | None = None


@dataclass(frozen=True, slots=True)
class DeviceEvent:
    """From the start of one piece of device work to the end of the same or a later one."""

    category: str
    name: str
    stream: int
    arguments: str
    first: int
    last: int
    flow: int | None = None


@dataclass(eq=False)
class Events:
    """All events of a rank's trace that last, in the order of the file."""

    host: list[HostEvent] = field(default_factory=list)
    runtime: list[HostEvent] = field(default_factory=list)
    device: list[DeviceEvent] = field(default_factory=list)

    @property
    def on_host(self) -> list[HostEvent]:
        return [*self.host, *self.runtime]

    def __len__(self) -> int:
        return len(self.host) + len(self.runtime) + len(self.device)

    def times_ns(self, stage: StageTimes, place: int) -> tuple[Ints, Ints]:
        """True start and end of every event on the rank at a place of its stage."""
        begins, ends = stage.call_start[:, place], stage.call_end[:, place]
        first, first_at, last, last_at, around = self._bounds
        start = begins[first] + first_at * (ends - begins)[first] - around
        end = begins[last] + last_at * (ends - begins)[last] + around / 2
        from_kernel, to_kernel = self._kernels
        start = np.concatenate([start, stage.kernel_start[from_kernel, place]])
        end = np.concatenate([end, stage.kernel_end[to_kernel, place]])
        return np.rint(start * 1e3).astype(np.int64), np.rint(end * 1e3).astype(np.int64)

    @cached_property
    def _bounds(self) -> tuple[Ints, Floats, Ints, Floats, Floats]:
        events = self.on_host
        return (
            np.array([one.first for one in events]),
            np.array([one.first_at for one in events]),
            np.array([one.last for one in events]),
            np.array([one.last_at for one in events]),
            np.array([one.around_us for one in events]),
        )

    @cached_property
    def _kernels(self) -> tuple[Ints, Ints]:
        return (
            np.array([one.first for one in self.device]),
            np.array([one.last for one in self.device]),
        )
