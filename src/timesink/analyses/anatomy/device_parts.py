"""What devices are at: computing, by family of kernels, communicating or copying."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from timesink.analyses.behaviour.calls import process_of_device
from timesink.analyses.behaviour.classes import FUNCTION_CLASSES
from timesink.analyses.behaviour.functions import device_classes
from timesink.analyses.columns import device_columns, device_names, event_ranges
from timesink.analyses.kernel_calls.families import load_families
from timesink.analyses.links import link_launches
from timesink.analyses.once import once_per_trace
from timesink.model import intervals
from timesink.model.arrays import Ints
from timesink.model.intervals import IntervalSet
from timesink.model.trace import Trace

_COMPUTING, _TALKING = (FUNCTION_CLASSES.index(name) for name in ("gpu_compute", "gpu_comm"))
_COPYING = tuple(
    place for place, name in enumerate(FUNCTION_CLASSES) if name.startswith("gpu_memcpy")
)


@dataclass(frozen=True, slots=True, eq=False)
class DeviceTime:
    """When the devices of a process were at what."""

    computing: IntervalSet
    """Disjoint, in time order: the kernel that started first has the moments of several."""
    family: Ints
    """Of each of these: place in `families`."""
    families: Sequence[str]
    communication: IntervalSet
    copies: IntervalSet
    devices: tuple[int, ...]
    """Numbers of the devices the process worked on."""
    rows: NDArray[np.intp]
    """Rows of its work in the table of device events."""


def device_times(trace: Trace, processes: Sequence[str]) -> dict[str, DeviceTime]:
    """The device work of each process."""
    classes = device_classes(trace)
    counted = np.flatnonzero(classes >= 0)
    launch = link_launches(trace).call_row[counted]
    process = process_of_device(trace, processes, counted, launch)
    return {
        pid: _device_time(trace, counted[process == number]) for number, pid in enumerate(processes)
    }


def _device_time(trace: Trace, rows: NDArray[np.intp]) -> DeviceTime:
    device, classes = device_columns(trace), device_classes(trace)[rows]
    spans = event_ranges(device, rows)
    code, families = _families(trace)
    computing = np.flatnonzero(classes == _COMPUTING)
    kept, apart = intervals.first_come(spans[computing])
    numbers = device["device"].gather(rows).drop_nulls().unique()
    return DeviceTime(
        computing=apart,
        family=code[rows[computing[kept]]],
        families=families,
        communication=intervals.merge(spans[classes == _TALKING]),
        copies=intervals.merge(spans[np.isin(classes, _COPYING)]),
        devices=tuple(sorted(int(one) for one in numbers)),
        rows=rows,
    )


@once_per_trace
def _families(trace: Trace) -> tuple[Ints, list[str]]:
    """The family of every device event, as a place in a list."""
    named, rules = device_names(trace), load_families()
    found: dict[str, int] = {}
    places = [found.setdefault(rules.of(text), len(found)) for text in named.texts]
    return np.array(places or [0], dtype=np.int64)[named.codes], list(found)
