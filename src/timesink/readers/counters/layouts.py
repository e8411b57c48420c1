"""The layouts counters come in as CSV, brought to the columns of one: data and a few rules.

* `timestamp_us,counter,device,value`: what timesink's own samplers write;
* `counter_name,timestamp,value,hostname`: exported beside a behaviour table; devices were left out;
* `name,value,timestamp,category`, with `hostname` or `loc1,loc1_type`: beside `micro_event.csv`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import polars as pl

from timesink.model.schema import HOST_DEVICE
from timesink.readers.counters.names import OF_THE_HOST, with_processes_apart

COLUMNS = ("timestamp_us", "counter", "device", "value")

_LOCATION = re.compile(r"^loc\d+$")
_LAST_NUMBER = r"(\d+)\D*$"


CounterLayout = Mapping[str, str]
"""What the columns a layout must have are called here."""
_LOCATED: CounterLayout = {"timestamp": "timestamp_us", "name": "counter", "value": "value"}
"""Columns say where a sample was taken: `category`, and `loc1`, `loc1_type`, ..."""
LAYOUTS: tuple[CounterLayout, ...] = (
    {name: name for name in COLUMNS},
    {"timestamp": "timestamp_us", "counter_name": "counter", "value": "value"},
    _LOCATED,
)


def layout_of(header: Sequence[str]) -> CounterLayout | None:
    """The layout of a header line, None where it is of no counters."""
    fitting = (layout for layout in LAYOUTS if layout.keys() <= set(header))
    return next((one for one in fitting if one is not _LOCATED or "category" in header), None)


def in_own_columns(rows: pl.DataFrame, layout: CounterLayout) -> pl.DataFrame:
    """Texts of any layout under the names of the first."""
    if "device" in rows.columns:
        device = pl.col("device")
    else:
        device = _place(rows.columns) if layout is _LOCATED else _host_name(rows.columns)
    named = rows.select(
        *(pl.col(theirs).alias(own) for theirs, own in layout.items() if own != "device"),
        device=device,
    )
    return with_processes_apart(named).select(COLUMNS)


def _host_name(columns: Sequence[str]) -> pl.Expr:
    return pl.col("hostname") if "hostname" in columns else pl.lit(None, dtype=pl.String)


def _place(columns: Sequence[str]) -> pl.Expr:
    """Accelerator, process or host, from the categories of the places."""
    places = [name for name in columns if _LOCATION.match(name) and f"{name}_type" in columns]
    labels = (("CAT_XPU", "GPU {}"), ("CAT_PROCESS", "pid {}"))
    located = [
        pl.when(pl.col(f"{place}_type").str.to_uppercase() == category).then(
            pl.format(label, pl.col(place).str.extract(_LAST_NUMBER))
        )
        for category, label in labels
        for place in places
    ]
    of_host = [f"CAT_{word}" for word in OF_THE_HOST]
    is_of_host = pl.col("category").str.to_uppercase().is_in(of_host)
    return pl.coalesce(*located, pl.when(is_of_host).then(pl.lit(HOST_DEVICE)))
