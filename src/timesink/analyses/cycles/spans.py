"""The repeating unit of a run as plain data: where each of its cycles begins and ends."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import TypeAlias, TypeVar

import msgspec
import numpy as np
import polars as pl

from timesink.analyses.thresholds import SpansLimits
from timesink.model.intervals import Ints
from timesink.model.schema import CYCLE_TYPES

METHODS = ("step", "marker", "python", "layer", "kernels")
"""How cycles were found: profiler steps, an annotation, a Python call, a layer's call, or the
period of the kernel sequence.  They are asked in this order, but layers, which are parts of a unit,
only on request."""

SCHEMA = {
    "cycle": pl.Int64(),
    "type": pl.Enum(CYCLE_TYPES),
    "pid": pl.String(),
    "name": pl.String(),
    "start_ns": pl.Int64(),
    "end_ns": pl.Int64(),
}
"""One row per cycle: its number in its process, that of its step or else from 1, what marks
it, and the time it takes: that of its mark on the host (on the device, where cycles come from the
kernel sequence).  Steps of the profiler last until their device work is done."""
HOST_SPANS = dict.fromkeys(("host_start_ns", "host_end_ns"), pl.Int64())
"""Columns beside these where cycles end with their device work: the time that the mark of each
spans on the host, which says whose calls, and whose launches, are its own."""


class Candidate(msgspec.Struct, frozen=True):
    """A unit that was considered: how often it came, how long, and why it was or was not taken."""

    method: str
    anchor: str
    count: int
    period_ns: int
    reason: str
    marker: str = ""
    """For a unit inside of the chosen one: the name, or pattern, by which to ask for it."""


class Cycles(msgspec.Struct, frozen=True):
    """The repeating unit of a run, with every cycle, as one method finds it."""

    table: pl.DataFrame
    method: str
    anchor: str
    """Name of what marks a cycle; for `kernels` the kernel that starts one."""
    confidence: float
    """0 to 1: how well the recording repeats under this reading; of a method alone, before its
    cycles are looked at, how well it knows what it found."""
    reason: str
    """Why this unit was chosen, in a sentence."""
    notes: tuple[str, ...] = ()
    """What a reader must know: work outside of all cycles, cycles cut by the recording, ..."""
    on_device: bool = False
    """Whether the times are those of the device's work, not of the calls that launched it."""
    alternatives: tuple[Candidate, ...] = ()
    """What else was considered, best first, and what repeats inside of the chosen unit."""
    coverage: float = 1.0
    """Share of the recorded work that began in a cycle."""
    likeness: float = 1.0
    """0 to 1: how equal the amounts of work in the cycles are."""

    @property
    def count(self) -> int:
        return self.table.height

    @property
    def mean_ns(self) -> float:
        """The step time: how long a cycle takes on average."""
        return float((self.table["end_ns"] - self.table["start_ns"]).to_numpy().mean())

    @property
    def median_ns(self) -> float:
        """How long the middle one of all cycles takes: what repeats is of very unequal lengths."""
        return float(np.median((self.table["end_ns"] - self.table["start_ns"]).to_numpy()))

    @property
    def processes(self) -> int:
        """How many processes have cycles: those of different processes go on at the same time."""
        return self.table["pid"].n_unique()


Texts: TypeAlias = str | Sequence[str] | pl.Series
Times: TypeAlias = Ints | pl.Series


def spans_of(
    pids: Texts, names: Texts, start: Times, end: Times, types: Texts = "generic"
) -> pl.DataFrame:
    """Cycles in the order of their starts, counted from 1 in each process; rows of `SCHEMA`.

    One text stands for all of them.
    """
    frame = pl.DataFrame(
        {"type": types, "pid": pids, "name": names, "start_ns": start, "end_ns": end},
        schema={name: dtype for name, dtype in SCHEMA.items() if name != "cycle"},
    )
    frame = frame.sort("pid", "start_ns", "end_ns")
    if frame["pid"].n_unique() == 1:
        return frame.insert_column(0, pl.Series("cycle", np.arange(1, frame.height + 1)))
    count = pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("pid")
    return frame.select(count.alias("cycle"), pl.all())


def has_host_spans(cycles: Cycles) -> bool:
    """Whether cycles end with their device work, and not as their marks do."""
    return set(HOST_SPANS) <= set(cycles.table.columns)


def host_spans(cycles: Cycles) -> pl.DataFrame:
    """Rows of `SCHEMA` with the time that the mark of each cycle spans on the host."""
    table = cycles.table
    if not has_host_spans(cycles):
        return table[[*SCHEMA]]
    marked = {"start_ns": "host_start_ns", "end_ns": "host_end_ns"}
    return pl.DataFrame({name: table[marked.get(name, name)] for name in SCHEMA})


def period_ns(spans: pl.DataFrame) -> int:
    """Typical time from the start of a cycle to the start of the next; its length if alone."""
    ordered = spans.sort("pid", "start_ns")
    apart = ordered.select(pl.col("start_ns").diff().over("pid")).to_series().drop_nulls()
    lengths = apart if len(apart) else ordered["end_ns"] - ordered["start_ns"]
    return round(float(np.median(lengths.to_numpy()))) if len(lengths) else 0


class Timed(msgspec.Struct, frozen=True, eq=False):
    """Something that was called several times under one name."""

    name: str
    count: int
    total_ns: int


Item = TypeVar("Item", bound=Timed)


def best_first(items: Sequence[Item]) -> Iterator[Item]:
    """All of them in a total order.

    The largest total leads with all that come near it, and of these the longest calls win, because
    they hold the others; then the next among what is left.
    """
    preferred = sorted(
        items, key=lambda item: (item.total_ns / item.count, item.total_ns, item.name)
    )
    by_total = sorted(range(len(preferred)), key=lambda place: -preferred[place].total_ns)
    gone = [False] * len(preferred)
    near: list[int] = []
    leader = entered = 0
    for _ in preferred:
        while gone[by_total[leader]]:
            leader += 1
        least = SpansLimits.nearly * preferred[by_total[leader]].total_ns
        while entered < len(by_total) and preferred[by_total[entered]].total_ns >= least:
            heapq.heappush(near, -by_total[entered])
            entered += 1
        best = -heapq.heappop(near)
        gone[best] = True
        yield preferred[best]
