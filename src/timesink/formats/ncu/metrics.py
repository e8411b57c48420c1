"""Which metrics have a column of their own, under which names, and which describe the machine."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_PCT = r"\.avg\.pct_of_peak_sustained_"
_TENSOR_PIPE = r"sm__pipe_(?:tensor|tc)_cycles_active(?:_v\d)?"
_TENSOR_PARTS = r"sm__pipe_tensor_(?:op|subpipe|type)_\w+_cycles_active(?:_v\d)?"
_TENSOR_INSTRUCTIONS = r"sm__inst_executed_pipe_(?:tensor|tc)(?:_\w+)?"
_MACHINE = re.compile(r"(?:device__attribute|numa|nvlink|c2clink|profiler)_+")
DEVICE_ATTRIBUTE = "device__attribute_"


@dataclass(frozen=True, slots=True)
class ColumnRule:
    """A column of `kernel_calls`, and the names of the metrics that fill it, the best first.

    Metrics that fit the same pattern are parts of one whole (the pipes of the tensor cores): the
    busiest of them counts.
    """

    column: str
    units: tuple[str, ...]
    patterns: tuple[re.Pattern[str], ...]

    def choices(self, metrics: Iterable[str]) -> list[list[str]]:
        """The metrics that fill the column, by preference; those of one preference together."""
        names = sorted(metrics)
        fitting = ([name for name in names if p.fullmatch(_bare(name))] for p in self.patterns)
        return [group for group in fitting if group]


def _bare(name: str) -> str:
    """The metric alone, where it is printed behind its label (`--print-metric-name label-name`)."""
    last = name.rpartition(" ")[2].strip("()[]")
    return last if "__" in last else name


def _rule(column: str, units: tuple[str, ...], *patterns: str) -> ColumnRule:
    return ColumnRule(column, units, tuple(re.compile(pattern) for pattern in patterns))


_PERCENT = ("%", "")
COLUMN_RULES = (
    _rule(
        "dur_ns",
        ("ns",),
        r"gpu__time_duration\.sum",
        r"gpu__time_duration\.(?:avg|max)",
        "Duration",
    ),
    _rule(
        "tensor_pct",
        _PERCENT,
        f"{_TENSOR_PIPE}{_PCT}elapsed",
        f"{_TENSOR_PIPE}{_PCT}active",
        f"{_TENSOR_PARTS}{_PCT}elapsed",
        f"{_TENSOR_PARTS}{_PCT}active",
        f"{_TENSOR_INSTRUCTIONS}{_PCT}elapsed",
        f"{_TENSOR_INSTRUCTIONS}{_PCT}active",
    ),
    _rule(
        "dram_pct",
        _PERCENT,
        f"gpu__dram_throughput{_PCT}elapsed",
        f"dram__throughput{_PCT}elapsed",
        "DRAM Throughput",
        "SOL DRAM",
    ),
    _rule(
        "sm_pct",
        _PERCENT,
        f"sm__throughput{_PCT}elapsed",
        r"Compute \(SM\) Throughput",
        r"SM Throughput|SOL SM|(?:Compute \(SM\)|SM) \[%\]",
    ),
    _rule(
        "occupancy_pct",
        _PERCENT,
        f"sm__warps_active{_PCT}active",
        "Achieved Occupancy",
        f"sm__warps_active{_PCT}elapsed",
    ),
)
"""Names differ by version and page: the details page prints labels, other pages the metrics."""

SHAPE_METRICS = {
    f"{shape}_{axis}": f"launch__{shape}_dim_{axis}"
    for shape in ("grid", "block")
    for axis in "xyz"
}
"""Where the shape of a launch is, in layouts that do not print it beside the name."""


def is_of_machine(metric: str) -> bool:
    """Whether a metric describes the machine or the profiler and is the same for every launch."""
    return _MACHINE.match(metric) is not None
