"""Annotations that differ at most in their numbers, with what tells whether they are a unit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from timesink.analyses.cycles.events_in_cycles import work_by_process, work_in
from timesink.analyses.cycles.marks.events import reach_before
from timesink.analyses.cycles.reading import family_name
from timesink.collect.record.marks import CUT_MARK
from timesink.model.trace import Trace
from timesink.model.vendors import COLLECTIVE_CALLS, every

_NOT_A_UNIT = re.compile(
    rf"^({COLLECTIVE_CALLS})[:A-Z]|^({'|'.join(every('libraries'))})"
    r"|^## Call CompiledFxGraph|^Pregraph bytecode|^Torch-Compiled Region|^CompiledFunction"
    r"|^ProfilerStep|^" + re.escape(CUT_MARK) + "$"
)
"""What libraries, compilers and recorders annotate: single calls, not the user's units."""


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """Events of one name, numbers aside."""

    name: str
    events: pl.DataFrame
    """As `marks.events` has them, with `at` and `until`: times on an axis on which the processes
    follow one another."""
    count: int
    total_ns: int
    coverage: float
    """Share of the time from the first to the last of them, process by process."""
    irregularity: float
    """Spread of the distances between starts, relative to their mean."""
    work: int = 0
    """Recorded events that began in them."""

    @property
    def mean_ns(self) -> float:
        return self.total_ns / self.count


def is_own(name: str) -> bool:
    """Whether the program made this annotation, not a library or the compiler."""
    return _NOT_A_UNIT.search(name) is None


def families_of(trace: Trace, events: pl.DataFrame, *, on_device: bool) -> list[Family]:
    """Annotations that could be units: made by the program, one at a time in each process."""
    names = events["name"].unique().to_list()
    usable = {name: family_name(name) for name in names if is_own(name)}
    own = events.filter(pl.col("name").is_in(list(usable)))
    work = work_in(trace, own, on_device=on_device).events
    rows = own.with_columns(
        pl.col("name").replace(usable).alias("family"), pl.Series("work", work, pl.Int64)
    )
    return _families(rows)


def one_family(name: str, events: pl.DataFrame) -> Family:
    """The events as one family, whatever they are called; none of them may lie in another."""
    rows = events.with_columns(pl.lit(name).alias("family"), pl.lit(0).alias("work"))
    return _families(rows)[0]


def held(trace: Trace, families: Sequence[Family], *, on_device: bool) -> float:
    """Share of the recorded work in the families; of the time where nothing else is recorded."""
    processes = {pid for family in families for pid in family.events["pid"].unique()}
    of_process = work_by_process(trace, on_device=on_device)
    total = sum(of_process.get(pid, 0) for pid in processes)
    if total:
        return min(1.0, sum(family.work for family in families) / total)
    together = pl.concat([family.events for family in families]).sort("pid", "start_ns")
    length = int((together["end_ns"] - together["start_ns"]).sum())
    ends = together.group_by("pid").agg(pl.col("end_ns").max() - pl.col("start_ns").min())
    return length / max(int(ends["end_ns"].sum()), 1)


def _families(rows: pl.DataFrame) -> list[Family]:
    """Families in the order of their names, without those that overlap themselves."""
    lane = ("family", "pid")
    width = pl.col("end_ns").max() - pl.col("start_ns").min()
    shift = pl.col("pid").rank("dense").cast(pl.Int64) * width
    rows = rows.sort("family", maintain_order=True).with_columns(
        (pl.col("start_ns") + shift).alias("at"),
        (pl.col("end_ns") + shift).alias("until"),
        (pl.col("end_ns") - pl.col("start_ns")).alias("length"),
        pl.col("start_ns").diff().over(*lane).alias("apart"),
        (pl.col("start_ns") < reach_before(*lane)).fill_null(value=False).alias("early"),
    )
    extents = (
        rows.group_by(*lane)
        .agg((pl.col("end_ns").max() - pl.col("start_ns").min()).alias("extent"))
        .group_by("family")
        .agg(pl.col("extent").sum())
    )
    told = (
        rows.group_by("family", maintain_order=True)
        .agg(
            pl.len().alias("count"),
            pl.col("length").sum().alias("total"),
            pl.col("work").sum(),
            (pl.col("apart").std().fill_null(0.0) / pl.col("apart").mean()).alias("spread"),
            pl.col("early").any(),
        )
        .with_columns((pl.col("count").cum_sum() - pl.col("count")).alias("first"))
        .join(extents, on="family", maintain_order="left")
    )
    events = rows.select("pid", "tid", "name", "start_ns", "end_ns", "at", "until")
    return [
        Family(
            name=row["family"],
            events=events.slice(row["first"], row["count"]),
            count=row["count"],
            total_ns=row["total"],
            coverage=row["total"] / max(row["extent"], 1),
            irregularity=1.0 if row["spread"] is None else row["spread"],
            work=row["work"],
        )
        for row in told.iter_rows(named=True)
        if not row["early"]
    ]
