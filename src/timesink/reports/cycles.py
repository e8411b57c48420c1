"""`timesink cycles`: the repeating unit of each recording at a path."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from timesink.analyses.cycles.cycles import Cycles
from timesink.analyses.cycles.finding import find_cycles
from timesink.analyses.cycles.summary import cycle_summary
from timesink.errors import TimesinkError
from timesink.model.trace import Trace
from timesink.readers.discover import distinct_labels
from timesink.readers.options import Progress
from timesink.readers.places import place_of, shown
from timesink.store.many import Opened, open_each
from timesink.store.opening import find_chosen, open_trace
from timesink.writers.marks import is_folder

SCHEMA = "timesink/cycles/1"


@dataclass(frozen=True, slots=True)
class CycleRun:
    """The cycles of one recording."""

    source: str
    label: str
    """What tells it apart from the other recordings of a folder."""
    cycles: Cycles
    summary: pl.DataFrame
    """One row per process and type: see `analyses.cycles.summary`."""

    def to_dict(self) -> dict[str, Any]:
        cycles = self.cycles
        return {
            "source": self.source,
            "method": cycles.method,
            "anchor": cycles.anchor,
            "confidence": round(cycles.confidence, 4),
            "coverage": round(cycles.coverage, 4),
            "likeness": round(cycles.likeness, 4),
            "on_device": cycles.on_device,
            "reason": cycles.reason,
            "notes": list(cycles.notes),
            "count": cycles.table.height,
            "processes": self.summary.to_dicts(),
            "others": [
                {
                    "method": other.method,
                    "anchor": other.anchor,
                    "count": other.count,
                    "period_ns": other.period_ns,
                    "reason": other.reason,
                    "marker": other.marker or None,
                }
                for other in cycles.others
            ],
            "cycles": cycles.table.to_dicts(),
        }


@dataclass(frozen=True, slots=True)
class CycleReport:
    """The cycles of everything at a path."""

    path: str
    runs: tuple[CycleRun, ...]
    refused: tuple[TimesinkError, ...] = ()
    """Why recordings beside these have no cycles, or could not be read."""

    @property
    def table(self) -> pl.DataFrame:
        """Every cycle: recording, number, type, process, name, start, end, length."""
        return pl.concat(
            run.cycles.table.select(
                pl.lit(run.source).alias("source"),
                pl.all(),
                (pl.col("end_ns") - pl.col("start_ns")).alias("length_ns"),
            )
            for run in self.runs
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "path": self.path,
            "runs": [run.to_dict() for run in self.runs],
            "refused": [{"message": why.message, "hint": why.hint} for why in self.refused],
        }

    def to_json(self) -> bytes:
        return msgspec.json.encode(self.to_dict())


def cycles(
    path: str | Path,
    *,
    marker: str | None = None,
    by: str | None = None,
    pid: str | None = None,
    worker: str | None = None,
    span: int | None = None,
    rank: int | None = None,
    cache: bool = True,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> CycleReport:
    """Find the repeating unit of a recording, or of each recording of a folder.

    >>> import timesink
    >>> found = timesink.cycles(timesink.sample())
    >>> found.runs[0].cycles.anchor, found.table.height
    ('ProfilerStep', 2)
    """
    place = place_of(path)
    if isinstance(place, Path) and is_folder(place):
        found = find_cycles(open_trace(place), marker=marker, by=by, pid=pid)
        return CycleReport(str(path), (_run(str(path), place.name, found),))
    chosen = find_chosen(place, worker=worker, span=span, rank=rank)
    labels = distinct_labels(chosen) if len(chosen) > 1 else [chosen[0].path.name]
    opened = open_each(chosen, cache=cache, jobs=jobs, progress=progress)
    find = partial(find_cycles, marker=marker, by=by, pid=pid)
    return _report(shown(place), zip(labels, opened, strict=True), find)


def _report(
    path: str, opened: Iterable[tuple[str, Opened]], find: Callable[[Trace], Cycles]
) -> CycleReport:
    """What repeats in each recording; raises the first refusal when nothing does in any."""
    runs: list[CycleRun] = []
    refused: list[TimesinkError] = []
    for label, one in opened:
        if one.trace is None:
            refused += [one.error] if one.error else []
            continue
        try:
            found = find(one.trace)
        except TimesinkError as why:
            refused.append(why)
        else:
            runs.append(_run(one.recording.source, label, found))
    if not runs:
        raise refused[0]
    return CycleReport(path, tuple(runs), tuple(refused))


def _run(source: str, label: str, found: Cycles) -> CycleRun:
    return CycleRun(source, label, found, cycle_summary(found))
