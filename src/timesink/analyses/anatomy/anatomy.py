"""The anatomy of the cycles of one process, as plain data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

PARTS = (
    "device_compute",
    "copies",
    "exposed_communication",
    "synchronisation",
    "data_loading",
    "io",
    "run_queue",
    "launch_gap",
    "host_cpu",
    "idle",
)
"""What a moment of a cycle is spent on; it counts for one part only.

Device work comes first, computing before communication; then what the host waits for; then what it
does: `launch_gap` while it launches work or otherwise calls the runtime, `host_cpu` in other
recorded calls, and `idle` where neither the device nor a recorded call is active."""

PART_TIMES = {
    "cycle": pl.Int64(),
    "part": pl.Enum(PARTS),
    "family": pl.String(),
    "dur_ns": pl.Float64(),
}
"""One row per cycle and part with some time; `family` of kernels for `device_compute`, else null.
The rows of a cycle add up to its length."""

PLACE_TIMES = {
    "cycle": pl.Int64(),
    "inside": pl.String(),
    "after": pl.String(),
    "before": pl.String(),
    "occurrence": pl.Int64(),
    "ts_ns": pl.Int64(),
    "dur_ns": pl.Int64(),
}
"""Stretches of the thread that marks cycles in which no further call begins: in which call (null
for none but the mark), after and before which calls inside of that (null at its start and its end),
and the how many-th of that sort in the cycle.  Only places that take a part of the cycle worth
mentioning in some cycle are kept."""

LEAST_PLACE = 0.002
"""Places matter that take this part of a typical cycle in one cycle at least."""

LEVELS = {
    "cycle": pl.Int64(),
    "metric": pl.String(),
    "device": pl.String(),
    "unit": pl.String(),
    "value": pl.Float64(),
}
"""Every counter of every device (or `Host`) once per cycle: mean while it lasted, in `unit`."""


CYCLE_SPANS = {"cycle": pl.Int64(), "ts_ns": pl.Int64(), "dur_ns": pl.Int64()}
"""When each cycle starts and how long it is; only cycles of known length."""


LAUNCHES = {
    "cycle": pl.Int64(),
    "function": pl.String(),
    "calls": pl.Int64(),
    "blocks": pl.Float64(),
    "bytes": pl.Float64(),
}
"""Work that device calls were given: launches that start in the cycle, blocks of all of these and
bytes that they copy; 0 where that is not recorded."""


CALL_KINDS = ("operator", "module")

CALL_TIMES = {
    "kind": pl.Enum(CALL_KINDS),
    "name": pl.String(),
    "cycle": pl.Int64(),
    "calls": pl.Int64(),
    "device_ns": pl.Int64(),
    "host_ns": pl.Int64(),
}
"""One row per operator or module and cycle in which it was called.  A module goes by its path,
`UNet_0.DoubleConv_1.Conv2d_0`.  Times hold what was called inside: `device_ns` sums the device work
launched by the call, parallel streams each, `host_ns` its length on the host.  A call inside of one
of its own name counts once; the backward pass counts for the module whose forward pass it is of."""


@dataclass(frozen=True, slots=True, eq=False)
class Anatomy:
    """What the cycles of one process are made of."""

    parts: pl.DataFrame
    places: pl.DataFrame
    levels: pl.DataFrame
    hardware: Mapping[str, str] = field(default_factory=dict)
    """Name of the hardware of each device label that is known: `GPU 0` -> `NVIDIA H200`."""
    cores: int | None = None
    """Processor cores of the host, where known."""
    from_timeline: bool = True
    """False where only a behaviour table was there: parts are then put one after the other."""
    cycles: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=CYCLE_SPANS))
    """Rows of `CYCLE_SPANS`: every cycle of known length."""
    plain_levels: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=LEVELS))
    """Rows of `LEVELS` of cycles right before the profiler: the last one is -1."""
    launches: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=LAUNCHES))
    """Rows of `LAUNCHES`, where a timeline tells."""
    on_device: bool = False
    """Whether cycles are times of the device."""
    find_calls: Callable[[], pl.DataFrame] = lambda: pl.DataFrame(schema=CALL_TIMES)
    """Looks for `calls`: it takes a while, and few questions need them."""
    notes: tuple[str, ...] = ()
    """Counters that were left out, and why."""

    @property
    def calls(self) -> pl.DataFrame:
        """Rows of `CALL_TIMES`, where a timeline tells."""
        return self.find_calls()

    def span(self, cycle: int) -> tuple[int | None, int | None]:
        """When a cycle began and ended; None where that is not known."""
        rows = self.cycles.filter(pl.col("cycle") == cycle)
        if rows.is_empty():
            return None, None
        start = int(rows["ts_ns"][0])
        return start, start + int(rows["dur_ns"][0])

    def with_devices(self, labels: Mapping[str, str]) -> Anatomy:
        """The same with other labels for some of the devices."""
        named = {labels.get(label, label): name for label, name in self.hardware.items()}
        own, plain = (
            table.with_columns(pl.col("device").replace(dict(labels)))
            for table in (self.levels, self.plain_levels)
        )
        return replace(self, levels=own, plain_levels=plain, hardware=named)


def only_cycles(anatomy: Anatomy, cycles: Iterable[int]) -> Anatomy:
    """The anatomy of some of the cycles."""
    numbers = cycles.to_numpy() if isinstance(cycles, pl.Series) else [*cycles]
    chosen = np.unique(np.asarray(numbers, dtype=np.int64))

    def kept(table: pl.DataFrame) -> pl.DataFrame:
        rows = np.isin(table["cycle"].to_numpy(), chosen)
        return table if rows.all() else table.filter(rows)

    tables = ("parts", "places", "levels", "cycles", "launches")
    chosen_rows: dict[str, Any] = {name: kept(getattr(anatomy, name)) for name in tables}
    return replace(anatomy, find_calls=lambda: kept(anatomy.calls), **chosen_rows)
