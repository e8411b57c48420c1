"""The repeating unit of a run as plain data: where each of its cycles begins and ends."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import msgspec
import numpy as np
import polars as pl

from timesink.analyses.columns import (
    Codes,
    device_columns,
    encode,
    host_columns,
    memoize_per_trace,
    start_and_end,
)
from timesink.analyses.links import link_launches
from timesink.model.intervals import Ints
from timesink.model.schema import BUSY_KINDS, CYCLE_TYPES
from timesink.model.trace import Trace

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


@dataclass(frozen=True, slots=True)
class Candidate:
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


MIN_REPEATS = 3
"""What happens less often than this was not seen to repeat."""


_NUMBER = re.compile(r"\d+")
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
    count = pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("pid")
    return frame.sort("pid", "start_ns", "end_ns").select(count.alias("cycle"), pl.all())


def has_host_spans(cycles: Cycles) -> bool:
    """Whether cycles end with their device work, and not as their marks do."""
    return set(HOST_SPANS) <= set(cycles.table.columns)


def host_spans(cycles: Cycles) -> pl.DataFrame:
    """Rows of `SCHEMA` with the time that the mark of each cycle spans on the host."""
    table = cycles.table
    if has_host_spans(cycles):
        table = table.with_columns(start_ns="host_start_ns", end_ns="host_end_ns")
    return table.select(*SCHEMA)


def period_ns(spans: pl.DataFrame) -> int:
    """Typical time from the start of a cycle to the start of the next; its length if alone."""
    ordered = spans.sort("pid", "start_ns")
    apart = ordered.select(pl.col("start_ns").diff().over("pid")).to_series().drop_nulls()
    lengths = apart if len(apart) else ordered["end_ns"] - ordered["start_ns"]
    return round(float(np.median(lengths.to_numpy()))) if len(lengths) else 0


def family_name(name: str) -> str:
    """The name with every number replaced, so that numbered marks are one."""
    return _NUMBER.sub("#", name)


NEARLY = 0.9
"""Totals this close together are taken as equal; the longer call is then the outer one."""


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
        least = NEARLY * preferred[by_total[leader]].total_ns
        while entered < len(by_total) and preferred[by_total[entered]].total_ns >= least:
            heapq.heappush(near, -by_total[entered])
            entered += 1
        best = -heapq.heappop(near)
        gone[best] = True
        yield preferred[best]


# What a name says about a cycle: one pass of the work or not, prefill or decode.

_PREFILL = re.compile(r"forward_extend|[pP]re_?[fF]ill(?![a-z])|PREFILL|\[EXTEND")
_DECODE = re.compile(r"[dD]ecode(?![a-z])|DECODE")
_EXTENDS = "forward_extend"
_DECODES = re.compile(r"[dD]ecode(?![a-z])")
"""As a Python call says it; flags and constants in capitals say nothing about a call."""
_UNIT = re.compile(r"step|iter|execute|batch|decode|prefill|forward", re.IGNORECASE)
_PASS = re.compile(
    r"(^nn\.Module|[.: _](execute_model|run_batch\w*|_run_batch_inner|forward\w*|_?model_forward"
    r"|step|train_step|training_step|backward|prefill|decode)$)"
)
_BATCH = re.compile(r"(?:context|new)_(\d+)(?!\d).*?_(?:generation|cached)_(\d+)")
_SERVER = re.compile(r"\[(?:DECODE|EXTEND|PREFILL)\b")
"""What servers write around the passes they run."""


def type_of_name(name: str) -> str:
    """What a name says about the sort of cycle it marks; `generic` where it says nothing.

    Servers name their passes by what is in them: `execute_context_2(..)_generation_0(..)` is a
    prefill, `step[DECODE bs=32]` a decode.  A pass with both sorts of requests is neither.
    """
    batch = _BATCH.search(name)
    if batch:
        prompts, answers = int(batch[1]) > 0, int(batch[2]) > 0
        if prompts and answers:
            return "generic"
        return "prefill" if prompts else "decode"
    if _PREFILL.search(name):
        return "prefill"
    return "decode" if _DECODE.search(name) else "generic"


def is_batch_name(name: str) -> bool:
    """Whether a server marks a pass by this name and says what is in it."""
    return _BATCH.search(name) is not None or _SERVER.search(name) is not None


def extends(name: str) -> bool:
    """Whether a Python call of this name is made for a prefill only."""
    return _EXTENDS in name


def decodes(name: str) -> bool:
    """Whether a Python call of this name is made for a decode only, unless it decodes text."""
    return _DECODES.search(name) is not None


def is_pass_call(name: str) -> bool:
    """Whether a Python call of this name is one pass of the work.

    What repeats inside of one is a part of it, a layer.
    """
    return _PASS.search(name) is not None


def is_unit_name(name: str) -> bool:
    """Whether people give this name to one pass of their work."""
    return _UNIT.search(name) is not None


# Calls that wait for somebody else; how often they come says nothing about the work.

_WAITS = re.compile(
    r"(^|[.: ])(Event\.wait|Condition\.wait|Barrier\.wait|Scheduler\.recv_requests)$"
    r"|threading\.py\(\d+\): (wait|join|_wait_for_tstate_lock)$"
    r"|(queue|queues|connection|selectors|asyncio/\w+|socket)\.py\(\d+\): \w+$"
    r"|time\.sleep|built-in (method|function) (poll|select|sleep|acquire|recv|wait)\b"
)


def is_wait(name: str) -> bool:
    """Whether a Python call of this name only waits."""
    return _WAITS.search(name) is not None


@memoize_per_trace
def launching_process(trace: Trace) -> pl.Series:
    """For each row of `trace.device` the process that launched it, or its own where unknown."""
    device = device_columns(trace)
    device_pid = device["pid"].cast(pl.String).fill_null("")
    row = link_launches(trace).call_row
    if not (row >= 0).any():
        return device_pid
    callers = host_columns(trace)["pid"].cast(pl.String).fill_null("")[np.maximum(row, 0)]
    # Work whose launch was not recorded belongs to whoever launched the rest of its lane.
    candidates = pl.DataFrame({"own": device_pid, "caller": callers, "row": row}).with_columns(
        pl.when(pl.col("row") >= 0).then("caller").alias("caller")
    )
    usual = pl.col("caller").drop_nulls().mode().sort().first().over("own")
    return candidates.select(pl.coalesce("caller", usual, "own")).to_series()


_MAIN_STREAM = 0.5
"""A stream with this share of a device's work shows the order of it; else all streams together."""


class KernelSequence(msgspec.Struct, frozen=True, eq=False):
    """Device work of one process in the order of its starts; arrays have one entry per event."""

    pid: str
    symbol: Codes
    """Place in `names`."""
    start: Ints
    end: Ints
    names: list[str]

    def __len__(self) -> int:
        return len(self.symbol)


def kernel_sequences(trace: Trace, *, every_stream: bool = False) -> Iterator[KernelSequence]:
    """One sequence per process: of the device, and the stream, on which it did most.

    With `every_stream` of all streams of that device.  The process is that of the launching calls;
    that of the device's lane where none are known.
    """
    every = device_columns(trace).with_columns(
        launching_process(trace).alias("launched_by"),
        pl.col("stream").cast(pl.String).fill_null(""),
        pl.col("device").fill_null(-1),
    )
    every = every.filter(pl.col("kind").is_in(BUSY_KINDS)).sort("ts_ns", maintain_order=True)
    by_process = every.partition_by("launched_by", as_dict=True) if every.height else {}
    for (process,), events in sorted(by_process.items()):
        busiest = events.group_by("device").len().sort("len", "device")["device"][-1]
        mine = events.filter(pl.col("device") == busiest)
        streams = mine.group_by("stream").len().sort("len", "stream")
        if not every_stream and streams["len"][-1] >= _MAIN_STREAM * mine.height:
            mine = mine.filter(pl.col("stream") == streams["stream"][-1])
        symbol, names = encode(mine["name"])
        called = [name or "" for name in names]
        yield KernelSequence(str(process), symbol, *start_and_end(mine), called)
