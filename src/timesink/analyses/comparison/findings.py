"""The functions a published comparison points at."""

from __future__ import annotations

import polars as pl

from timesink.analyses.comparison.pair import KeyFinding

THRESHOLD = 10.0
"""Rows with a higher score are worth a word."""
_MOST = 3
"""Findings, and metrics of each."""
_LEAST_CHANGE = 1e-6
"""Metrics that changed by less did not change."""


def key_findings(rows: pl.DataFrame) -> tuple[KeyFinding, ...]:
    """The first functions of the rows whose score is above the threshold, with their metrics."""
    high = rows.select("function", "device", "mu_delta", "score").with_row_index("row")
    high = high.filter(pl.col("score") > THRESHOLD)
    heads = high.unique(["function", "device"], keep="first", maintain_order=True).head(_MOST)
    return tuple(_finding(high, head) for head in heads.iter_rows(named=True))


def _finding(high: pl.DataFrame, head: dict[str, object]) -> KeyFinding:
    function, device, row = str(head["function"]), str(head["device"]), head["row"]
    changed = high.filter(
        pl.col("function") == function,
        pl.col("device") == device,
        pl.col("mu_delta").abs() > _LEAST_CHANGE,
    )
    return KeyFinding(function, device, int(str(row)), tuple(changed["row"].head(_MOST).to_list()))
