"""Learning what cycles take, in a process of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from timesink.analyses.expected.live import learn_live
from timesink.formats.cycle_rows import read_cycle_rows


def learn_rows(
    rows: Sequence[str],
    *,
    last: int,
    to: str,
    alarms_per_hour: float,
    at_least: float,
    source: str = "timesink watch",
) -> dict[str, Any]:
    """Learn from the last rows of some tables; the model goes to a file."""
    tables = [read_cycle_rows(path) for path in rows if Path(path).exists()]
    table = pl.concat(tables, how="diagonal").tail(last)
    model = learn_live(table, alarms_per_hour=alarms_per_hour, at_least=at_least, source=source)
    Path(to).write_bytes(model.to_json())
    return {"cycles": model.cycles}
