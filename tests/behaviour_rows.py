"""Small behaviour tables, row by row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from timesink.comparison.results import Process
from timesink.model.schema import BEHAVIOUR

_USUAL = {
    "cycle": 1,
    "cycle_type": "generic",
    "pid": "7",
    "host": None,
    "function": "gemm",
    "metric": "gpu_usage",
    "device": "GPU 0",
    "function_class": "gpu_compute",
    "beta_pct": 10.0,
    "mu": 50.0,
    "sigma": 0.0,
    "unit": "%",
    "dur_ns": 100,
    "calls": 1,
    "interpolated": "none",
    "anchor": "step",
    "cycle_ts_ns": 0,
    "cycle_dur_ns": 1_000,
    "short_name": None,
}


def behaviour(*rows: dict[str, Any]) -> pl.DataFrame:
    """A behaviour table; what a row does not say is as usual."""
    return table_of({**_USUAL, **row} for row in rows)


def table_of(rows: Iterable[Mapping[str, object]]) -> pl.DataFrame:
    """A behaviour table; what a row does not say is null."""
    texts = {name: pl.String if t == pl.Categorical else t for name, t in BEHAVIOUR.schema.items()}
    return pl.DataFrame(list(rows), schema=texts).cast(dict(BEHAVIOUR.schema))


def role_of(table: pl.DataFrame, label: str = "base", **more: Any) -> Process:
    return Process(label, f"{label}.csv", "7", table, **more)
