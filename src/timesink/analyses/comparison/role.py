"""One process of one run, as a side of a comparison."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True, slots=True, eq=False)
class Role:
    """What one process of one run did, cycle by cycle."""

    label: str
    """What the side is called in tables: `normal`, `base`, `abnormal_pid_842126`, ..."""
    source: str
    """File the behaviour was read or computed from."""
    pid: str
    behaviour: pl.DataFrame
    """Rows of `model.schema.BEHAVIOUR`, of this process alone; every cycle has a row."""
    host: str | None = None
    rank: int | None = None
    method: str | None = None
    """How its cycles were found (`cycles.METHODS`); None for a behaviour table."""
    confidence: float | None = None
    notes: tuple[str, ...] = ()
