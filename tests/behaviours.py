"""Small recordings with counters, and cycles given by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl
from msgspec import structs

from timelines import trace_of
from timesink.analyses.behaviour.classes import Classes
from timesink.analyses.behaviour.table import Behaviour, behaviour_table
from timesink.analyses.cycles.spans import SCHEMA, Cycles
from timesink.model.schema import COUNTERS
from timesink.model.trace import Trace

Row = dict[str, Any]


def call(name: str, ts: int, dur: int, kind: str = "operator", **fields: Any) -> Row:
    """A host event of process 1."""
    return {"kind": kind, "name": name, "pid": "1", "tid": "1", "ts_ns": ts, "dur_ns": dur} | fields


def activity(name: str, ts: int, dur: int, kind: str = "kernel", **fields: Any) -> Row:
    """Work on device 0."""
    place = {"pid": "0", "device": 0, "stream": "7"}
    return {"kind": kind, "name": name, "ts_ns": ts, "dur_ns": dur} | place | fields


def samples(counter: str, values: Mapping[int, float], device: str | None = "GPU 0") -> list[Row]:
    """Samples of a counter: values by time."""
    return [
        {"ts_ns": ts, "counter": counter, "device": device, "value": value, "source": "trace"}
        for ts, value in values.items()
    ]


def trace_of_rows(
    host: Sequence[Row] = (), device: Sequence[Row] = (), counters: Sequence[Row] = ()
) -> Trace:
    """A trace with these rows."""
    trace = trace_of(host, device)
    frame = pl.DataFrame(list(counters), schema=COUNTERS.schema, strict=False)
    return replace(trace, frames={**trace.frames, "counters": frame.lazy()})


def cycles_at(*spans: tuple[int, int], pid: str = "1", on_device: bool = False) -> Cycles:
    """Cycles of one process; `on_device` for those of its kernel sequence."""
    rows = [(number, "generic", pid, "step", *span) for number, span in enumerate(spans, 1)]
    table = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    method = "kernels" if on_device else "marker"
    return Cycles(table, method, "step", 1.0, "", on_device=on_device)


def both(*several: Cycles) -> Cycles:
    """Cycles of several processes."""
    return structs.replace(several[0], table=pl.concat(part.table for part in several))


def behaviour(trace: Trace, cycles: Cycles, classes: Classes | None = None) -> Behaviour:
    return behaviour_table(trace, cycles, classes)


def rows_of(process_behaviour: Behaviour, **wanted: Any) -> list[Row]:
    """Rows with these values, as dictionaries of plain values."""
    table = process_behaviour.table.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    return table.filter(**wanted).to_dicts()
