"""Memory over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from timesink.analyses.memory.curve import memory_curve, memory_peaks, thin_curve
from timesink.analyses.memory.devices import CPU
from timesink.model import units
from timesink.output.blocks import Block, Curve, Curves, Mark, Section
from timesink.render.document.analysed import Analysed, Empty, Made
from timesink.reports.absent import NO_MEMORY
from timesink.reports.sections import CURVE_POINTS

_LEAST_SHARE = 0.001
"""Of the largest peak: less than this is no picture."""


def memory_curve_section(run: Analysed) -> Made:
    """What was allocated and reserved, a picture per device, peaks marked; devices before the host.

    >>> import timesink
    >>> section = memory_curve_section(Analysed(timesink.analyze(timesink.sample())))
    >>> [curves.title for curves in section.blocks if curves.id != "memory-peaks"]
    ['GPU0']
    """
    title = "Memory over time"
    if run.trace.lazy("memory").head(1).collect().is_empty():
        return Empty("memory-curve", title, NO_MEMORY)
    curve = thin_curve(memory_curve(run.trace), CURVE_POINTS)
    peaks = {row["device"]: row for row in memory_peaks(run.trace).to_dicts()}
    drawn = _worth_a_picture({name: row["peak_allocated_bytes"] for name, row in peaks.items()})
    pictures = [
        _curves(name, curve.filter(curve["device"] == name), peaks[name], run.start_ns)
        for name in drawn
    ]
    blocks: tuple[Block, ...] = (*pictures, run.table("memory-peaks"))
    return Section("memory-curve", title, blocks, _lead(curve.filter(curve["device"].is_in(drawn))))


def _worth_a_picture(peaks: Mapping[str, int]) -> list[str]:
    """Devices before the host, without those that hold next to nothing."""
    most = max(peaks.values(), default=0)
    large = [name for name, peak in peaks.items() if peak >= _LEAST_SHARE * most]
    return sorted(large, key=lambda name: name == CPU)


def _curves(name: str, line: pl.DataFrame, peak: dict[str, Any], start_ns: int) -> Curves:
    series = [Curve("allocated", tuple(line["allocated_bytes"].to_list()), "step")]
    if line["reserved_bytes"].null_count() < line.height:
        series.append(Curve("reserved", tuple(line["reserved_bytes"].to_list()), "step"))
    highest = units.size_bytes(peak["peak_allocated_bytes"])
    marks = (Mark(peak["peak_allocated_ts_ns"] - start_ns, f"peak {highest}"),)
    moments = tuple((line["ts_ns"] - start_ns).to_list())
    return Curves(f"memory-curve-{name}", name, "bytes", moments, tuple(series), marks)


def _lead(curve: pl.DataFrame) -> str:
    before = int(curve.unique("device")["points_before"].sum())
    if before <= curve.height:
        return ""
    kept = units.count(curve.height)
    return f"{kept} of {units.count(before)} points are drawn; the peaks are exact."
