"""The figures one looks for first."""

from __future__ import annotations

from typing import Any

from timesink.analyses.breakdown import average_step
from timesink.analyses.columns import device_columns
from timesink.analyses.device.utilisation import device_utilisation
from timesink.analyses.memory.curve import memory_peaks
from timesink.analyses.memory.devices import CPU
from timesink.analyses.names import device_word
from timesink.analyses.steps import find_steps
from timesink.model.trace import Trace
from timesink.output.blocks import Section, Tile, Tiles
from timesink.render.document.analysed import Analysed

_RATIOS = {
    "any_activity": ("{word} busy", "time with any work on the device, from first to last step"),
    "sm_efficiency": ("SM efficiency", "multiprocessors in use, from first to last step"),
    "occupancy_pct": ("Occupancy", "the profiler's estimate, weighted by kernel time"),
    "tensor_core_ratio": ("Tensor cores", "part of kernel time that operators spend on them"),
}


def figures_section(run: Analysed) -> Section:
    """Length of a step, how busy the device was, memory; what is not known stays unknown.

    >>> import timesink
    >>> tiles = figures_section(Analysed(timesink.analyze(timesink.sample()))).blocks[0].tiles
    >>> [tile.label for tile in tiles][:2]
    ['Step', 'GPU busy']
    """
    trace = run.trace
    tiles = (*_of_steps(trace), *_of_devices(trace), *_of_memory(trace), *_counts(trace))
    notes = ". ".join(f"{note[0].upper()}{note[1:]}" for note in run.analysis.notes if note)
    return Section("figures", "Key figures", (Tiles(tiles),), f"{notes}." if notes else "")


def _of_steps(trace: Trace) -> list[Tile]:
    length = average_step(trace).get("total_ns")
    steps = find_steps(trace)
    if steps.height and not steps["marked"][0]:
        return [Tile("Recorded", length, "time_ns", "no steps are marked: all of it counts as one")]
    return [Tile("Step", length, "time_ns", "mean of the complete steps")]


def _of_devices(trace: Trace) -> list[Tile]:
    """Ratios over the devices that are known; null, not 0, where none is."""
    rows = device_utilisation(trace)
    word = device_word(trace) if rows.height else "Device"
    several = f"; mean of {rows.height} devices" if rows.height > 1 else ""
    tiles = []
    for name, (label, said) in _RATIOS.items():
        mean: Any = rows[name].mean()
        share = mean / 100 if name.endswith("_pct") and mean is not None else mean
        unknown = "" if mean is not None else "; this recording does not tell"
        tiles.append(
            Tile(
                label.format(word=word),
                share,
                "share",
                f"{said}{several}{unknown}",
                share,
            )
        )
    return tiles


def _of_memory(trace: Trace) -> list[Tile]:
    """The device that comes closest to its limit."""
    peaks = [row for row in memory_peaks(trace).to_dicts() if row["device"] != CPU]
    if not peaks:
        return [Tile("Memory peak", None, "bytes", "no memory of a device was recorded")]
    peak = max(peaks, key=lambda row: row["peak_allocated_bytes"])
    size, capacity = peak["peak_allocated_bytes"], peak["capacity_bytes"]
    share = size / capacity if capacity else None
    return [
        Tile("Memory peak", size, "bytes", f"most that was allocated on {peak['device']}", share)
    ]


def _counts(trace: Trace) -> list[Tile]:
    steps = find_steps(trace)
    marked = steps.height if steps.height and steps["marked"][0] else None
    kernels = int((device_columns(trace)["kind"] == "kernel").sum())
    return [
        Tile("Steps", marked, "count", "steps in the recording, cut ones included"),
        Tile("Kernels", kernels, "count", "kernel launches in the recording"),
    ]
