"""`timesink behaviour`: what functions cost cycle by cycle, and how loaded the hardware was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from timesink.analyses.behaviour.classes import Classes, load_classes
from timesink.analyses.behaviour.counts import distinct_texts
from timesink.analyses.behaviour.recorders_ranges import without_recorders_ranges
from timesink.analyses.behaviour.summary import counter_summary, function_summary, metric_summary
from timesink.analyses.behaviour.table import behaviour_table
from timesink.analyses.cycles.cycles import Cycles
from timesink.analyses.cycles.finding import find_cycles
from timesink.errors import UnreadableError, UsageError
from timesink.model.trace import Trace
from timesink.readers.options import Progress
from timesink.reports.faults import with_faults
from timesink.store.opening import open_trace

SCHEMA = "timesink/behaviour/1"


@dataclass(frozen=True, slots=True, eq=False)
class BehaviourReport:
    """The behaviour of a run, and how its cycles were found."""

    source: str
    table: pl.DataFrame
    """Rows of `model.schema.BEHAVIOUR`."""
    notes: tuple[str, ...] = ()
    cycles: Cycles | None = None
    """None where the source is a behaviour table, which does not say."""
    classes: Classes = field(default_factory=load_classes)
    """Which counters matter to which functions."""

    def to_dict(self) -> dict[str, Any]:
        """The summary for programs; the rows themselves are for CSV and Parquet."""
        return {
            "schema": SCHEMA,
            "source": self.source,
            "rows": self.table.height,
            "cycles": _cycles_dict(self.table, self.cycles),
            "functions": _functions(self.table, self.classes),
            "counters": counter_summary(self.table).to_dicts(),
            "notes": list(self.notes),
        }


def behaviour(
    source: str | Path | Trace,
    *,
    marker: str | None = None,
    by: str | None = None,
    metric_map: str | Path | None = None,
    worker: str | None = None,
    span: int | None = None,
    rank: int | None = None,
    cache: bool = True,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> BehaviourReport:
    """What each function of a run cost in each cycle, and what the counters read meanwhile.

    The source is a trace, a path to one, or a behaviour table.  `marker` and `by` say what a cycle
    is, as in `timesink.cycles`; `metric_map` is a CSV that says which counters matter to which
    functions.

    >>> import timesink
    >>> report = timesink.behaviour(timesink.sample())
    >>> report.table["cycle"].n_unique()
    2
    """
    classes = load_classes(metric_map)
    trace = (
        source
        if isinstance(source, Trace)
        else open_trace(
            source, worker=worker, span=span, rank=rank, cache=cache, jobs=jobs, progress=progress
        )
    )
    path = trace.metadata.source if isinstance(source, Trace) else str(source)
    if trace.behaviour.height:
        _check_unasked(path, {"--marker": marker, "--by": by, "--map": metric_map})
        return BehaviourReport(path, trace.behaviour, with_faults(trace))
    if not trace.has_timeline:
        raise UnreadableError.no_timeline(path)
    cycles = find_cycles(trace, marker=marker, by=by)
    found = behaviour_table(without_recorders_ranges(trace, cycles), cycles, classes)
    notes = with_faults(trace, [*cycles.notes, *found.notes])
    return BehaviourReport(path, found.table, notes, cycles, classes)


def _check_unasked(path: str, options: Mapping[str, object]) -> None:
    """A behaviour table is what it is."""
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise UsageError(
            f"{path}: a behaviour table, to which {given[0]} cannot apply",
            f"leave out {given[0]}, or give the trace it was made from",
        )


def _cycles_dict(table: pl.DataFrame, cycles: Cycles | None) -> dict[str, Any]:
    each = table.unique(["host", "pid", "cycle"])
    return {
        "count": each.height,
        "processes": list(distinct_texts(each["pid"])),
        "median_ns": each["cycle_dur_ns"].median(),
        "anchors": list(distinct_texts(table["anchor"])),
        "method": None if cycles is None else cycles.method,
        "confidence": None if cycles is None else cycles.confidence,
        "reason": None if cycles is None else cycles.reason,
    }


def _functions(table: pl.DataFrame, classes: Classes) -> list[dict[str, Any]]:
    """Every function with its counters, the most telling first."""
    key = ("host", "pid", "function", "function_class", "device")
    read: dict[tuple[Any, ...], dict[str, dict[str, Any]]] = {}
    for row in metric_summary(table).iter_rows(named=True):
        level = {name: row[name] for name in ("metric", "mu", "unit")}
        read.setdefault(tuple(row[name] for name in key), {})[row["metric"]] = level
    found = []
    for row in function_summary(table).iter_rows(named=True):
        levels = read.get(tuple(row[name] for name in key), {})
        order = classes.most_telling(row["function_class"] or "", levels)
        found.append({**row, "metrics": [levels[metric] for metric in order]})
    return found
