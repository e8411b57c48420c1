"""What a run did cycle by cycle, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True, slots=True, eq=False)
class Behaviour:
    """What every function cost in every cycle, and how loaded its resources were meanwhile."""

    table: pl.DataFrame
    """Rows of `model.schema.BEHAVIOUR`, by cycle, process and share, largest share first."""
    notes: tuple[str, ...] = ()
    """What a reader must know: work outside of all cycles, counters that fit nothing, ..."""
