"""The kinds of slowness that can be put into ranks, and the cause to be found for each.  Data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of slowness."""

    name: str
    cause: str
    summary: str
    share_of_steps: float = 1.0
    """How many of the steps it lasts unless told otherwise."""


SLOWNESS = (
    Kind("slow_clock", "gpu_clock", "every kernel of a rank takes longer"),
    Kind("thermal", "gpu_clock", "the same, in half of the steps", 0.5),
    Kind("slow_node", "gpu_clock", "the same, on all ranks of a node"),
    Kind("slow_host", "host_code", "the host pauses before every call"),
    Kind("python_stall", "host_code", "the host pauses once, before the optimizer"),
    Kind(
        "gc_pause", "host_code", "the host pauses somewhere in the forward pass of some steps", 0.4
    ),
    Kind("sync", "synchronisation", "the host waits for the device after every layer"),
    Kind("data_loading", "data_loading", "the next batch comes late"),
    Kind("uneven_work", "uneven_work", "a rank has more tokens than its peers"),
    Kind("first_stage", "uneven_work", "the first pipeline stage has more layers"),
    Kind("last_stage", "uneven_work", "the last pipeline stage has more layers"),
    Kind("slow_link", "slow_link", "transfers to and from a rank take longer"),
    Kind("slow_bus", "slow_link", "the same, and copies between its host and device as well"),
)
KIND_OF_NAME: Mapping[str, Kind] = {one.name: one for one in SLOWNESS}
CAUSE_OF_KIND: Mapping[str, str] = {one.name: one.cause for one in SLOWNESS}
KINDS = tuple(CAUSE_OF_KIND)
