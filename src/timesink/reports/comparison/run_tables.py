"""A run as tables and plain data, and back: what is kept of a recording once its trace is gone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields, replace
from functools import partial
from typing import Any

import polars as pl

from timesink.analyses.anatomy.anatomy import Anatomy, with_calls
from timesink.model.run_fields import recorded_run
from timesink.model.trace import Trace
from timesink.reports.comparison.runs import CycleUnit, SideRun
from timesink.reports.comparison.sides import SideSource
from timesink.store.tables import Tables

_BEHAVIOUR = "behaviour"
_BESIDE = "beside"


def tables_of(run: SideRun, *, calls: bool = True) -> Tables:
    """All that a run says but its source and its trace; `calls` takes a while."""
    tables, plain = {_BEHAVIOUR: run.behaviour}, {}
    if run.beside is not None:
        tables[_BESIDE] = run.beside
    for pid, anatomy in run.anatomies.items():
        values = {one.name: getattr(anatomy, one.name) for one in fields(anatomy)}
        del values["find_calls"]
        if calls:
            values["calls"] = anatomy.calls
        own = [name for name, value in values.items() if isinstance(value, pl.DataFrame)]
        tables |= {_name(pid, name): values.pop(name) for name in own}
        plain[pid] = {"tables": own, "values": values}
    about = {
        "method": run.unit.method,
        "anchor": run.unit.anchor,
        "between_marks": run.unit.between_marks,
        "rank": run.rank,
        "confidence": run.confidence,
        "notes": run.notes,
        "recorded": None if run.recorded is None else asdict(run.recorded),
        "anatomies": plain,
    }
    return Tables(about, tables)


def run_of_tables(kept: Tables, source: SideSource, trace: Trace | None = None) -> SideRun:
    """The run that was kept, of this source."""
    about = kept.about
    recorded = about.get("recorded")
    anatomies = dict(_anatomies(about["anatomies"], kept.tables))
    return SideRun(
        source,
        kept.tables[_BEHAVIOUR],
        CycleUnit(about["method"], about["anchor"], about["between_marks"]),
        trace=trace,
        rank=about["rank"],
        confidence=about["confidence"],
        notes=tuple(about["notes"]),
        anatomies=anatomies if trace is None else with_calls(trace, anatomies),
        beside=kept.tables.get(_BESIDE),
        recorded=None if recorded is None else recorded_run(recorded)[0],
    )


def _anatomies(
    plain: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]
) -> Iterator[tuple[str, Anatomy]]:
    for pid, about in plain.items():
        values: dict[str, Any] = dict(about["values"])
        values["notes"] = tuple(values["notes"])
        values |= {name: tables[_name(pid, name)] for name in about["tables"]}
        calls = values.pop("calls", None)
        found = Anatomy(**values)
        yield pid, found if calls is None else replace(found, find_calls=partial(_same, calls))


def _same(calls: pl.DataFrame) -> pl.DataFrame:
    return calls


def _name(pid: str, table: str) -> str:
    return f"{table} of {pid}"
