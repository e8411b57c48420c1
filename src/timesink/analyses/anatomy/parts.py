"""The time of cycles split into parts that add up to their length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from timesink.analyses.anatomy.anatomy import PART_TIMES, PARTS
from timesink.analyses.anatomy.device_parts import DeviceTime
from timesink.analyses.anatomy.host_parts import WAITING
from timesink.analyses.behaviour.windows import Windows
from timesink.model import intervals
from timesink.model.arrays import Floats, Ints
from timesink.model.intervals import IntervalSet

_COMPUTING = PARTS.index("device_compute")
SHARED = ("launch_gap", "host_cpu", "idle")
"""What a thread that waits for a processor would have done instead."""
_BLOCKED = ("synchronisation", "data_loading", "io", WAITING)
"""What a thread waits for that needs no processor meanwhile."""


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Time of each part in each of the windows, in their order; all parts add up to the lengths."""

    windows: Windows
    parts: Mapping[str, Ints]
    """Without `device_compute`."""
    computing: Ints
    """Time by window and family."""
    families: Sequence[str]
    asleep: Ints
    """Part of `idle` in which the thread of the cycles waits by itself, as in a sleep."""
    runnable: Ints
    """Time in which that thread waits for nothing but, perhaps, a processor."""


def split(windows: Windows, device: DeviceTime, host: Mapping[str, IntervalSet]) -> Split:
    """Give each moment of the windows to the first part that covers it.

    Device work comes first, then `host` in its order; nothing is left for `idle`.
    """
    bounds = np.stack([windows.start, windows.end]).T
    talking = [device.communication, host.get("exposed_communication", device.copies[:0])]
    layers = {
        "computing": device.computing,
        "exposed_communication": np.concatenate(talking),
        "copies": device.copies,
    }
    layers |= {part: ranges for part, ranges in host.items() if part not in layers}
    parts, left = intervals.waterfall(layers, bounds)
    del parts["computing"]
    asleep = parts.pop(WAITING, np.zeros(len(bounds), dtype=np.int64))
    parts["idle"] = left + asleep
    blocked = np.concatenate(
        [device.copies[:0], *(host[part] for part in _BLOCKED if part in host)]
    )
    shape = (len(windows.row), len(device.families))
    sums = np.zeros(shape, dtype=np.int64)
    if len(device.computing) and len(windows.row):
        pieces = windows.cut(device.computing[:, 0], device.computing[:, 1])
        place = pieces.window * shape[1] + device.family[pieces.call]
        # Of cycles that overlap, a piece may lie in one of them only.
        np.add.at(sums.reshape(-1), place, np.maximum(pieces.end - pieces.start, 0))
    return Split(
        windows,
        parts,
        sums,
        device.families,
        asleep=asleep,
        runnable=windows.end - windows.start - intervals.coverage_within(blocked, bounds),
    )


def with_run_queue(found: Split, share: Floats) -> Split:
    """The same with waits for a processor, which took that share of the cycles.

    They fall into the time in which the thread could run, evenly: not into calls in which it waits
    for the device, data or a sleep to end.  What falls into device work costs nothing and stays
    there; the rest is taken off `SHARED`.  Where the scheduler's own events tell, nothing needs to
    be shared out.
    """
    queued = found.parts.get("run_queue", np.zeros(len(share), dtype=np.int64))
    if queued.any() or not share.any():
        return found
    length = found.windows.end - found.windows.start
    share = np.minimum(1.0, share * length / np.maximum(found.runnable, 1))
    kept = {}
    for part in SHARED:
        if part in found.parts:
            fixed = found.asleep if part == "idle" else 0
            kept[part] = fixed + np.rint((found.parts[part] - fixed) * (1 - share)).astype(np.int64)
    lost = sum((found.parts[part] - kept[part] for part in kept), np.zeros_like(queued))
    parts = {**found.parts, **kept, "run_queue": lost}
    return replace(found, parts=parts)


def part_rows(found: Split, cycle: Ints) -> pl.DataFrame:
    """Rows of `PART_TIMES`; `cycle` are the numbers of the windows' cycles."""
    window, family = np.nonzero(found.computing)
    times = np.stack(list(found.parts.values()))
    part, other = np.nonzero(times)
    places = np.array([PARTS.index(name) for name in found.parts])
    no_family = len(found.families)
    return pl.DataFrame(
        {
            "cycle": cycle[np.concatenate([window, other])],
            "part": pl.Series(PARTS, dtype=PART_TIMES["part"]).gather(
                np.concatenate([np.full(len(window), _COMPUTING), places[part]])
            ),
            "family": pl.Series([*found.families, None], dtype=pl.String).gather(
                np.concatenate([family, np.full(len(other), no_family)])
            ),
            "dur_ns": np.concatenate([found.computing[window, family], times[part, other]]),
        },
        schema_overrides=PART_TIMES,
    ).cast(pl.Schema(PART_TIMES))
