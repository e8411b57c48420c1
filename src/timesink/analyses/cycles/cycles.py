"""The cycles of a run as plain data."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from timesink.model.schema import CYCLE_TYPES

METHODS = ("step", "marker", "python", "layer", "kernels")
"""How cycles were found: profiler steps, an annotation, a Python call, a layer's call, or the
period of the kernel sequence.  They are asked in this order, but layers, which are parts of a unit,
only on request."""

SCHEMA = {
    "cycle": pl.Int64(),
    "type": pl.Enum(CYCLE_TYPES),
    "pid": pl.String(),
    "name": pl.String(),
    "start_ns": pl.Int64(),
    "end_ns": pl.Int64(),
}
"""One row per cycle: its number in its process from 1, what marks it, and the time it spans on the
host (on the device, where cycles come from the kernel sequence)."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A unit that was considered: how often it came, how long, and why it was or was not taken."""

    method: str
    anchor: str
    count: int
    period_ns: int
    reason: str
    marker: str = ""
    """For a unit inside of the chosen one: the name, or pattern, by which to ask for it."""


@dataclass(frozen=True, slots=True)
class Cycles:
    """The repeating unit of a run, with every cycle."""

    table: pl.DataFrame
    method: str
    anchor: str
    """Name of what marks a cycle; for `kernels` the kernel that starts one."""
    confidence: float
    """0 to 1: how well the recording repeats under this reading."""
    reason: str
    """Why this unit was chosen, in a sentence."""
    others: tuple[Candidate, ...] = ()
    """What else was considered, best first, and what repeats inside of the chosen unit."""
    notes: tuple[str, ...] = ()
    """What a reader must know: work outside of all cycles, cycles cut by the recording, ..."""
    on_device: bool = False
    """Whether the times are those of the device's work, not of the calls that launched it."""
    coverage: float = 1.0
    """Share of the recorded work that began in a cycle."""
    likeness: float = 1.0
    """0 to 1: how equal the amounts of work in the cycles are."""
