"""What one process of one run tells without any noise, or nearly: its signals."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec
import numpy as np
import polars as pl

from timesink.analyses.behaviour.summary import once_per_cycle, plain_texts
from timesink.analyses.statistics.change_points import warm_up
from timesink.comparison.program.alignment import count_calls, kinds_of, ranges
from timesink.comparison.program.calls import (
    ANNOTATION,
    COPY,
    KERNEL,
    MODULE,
    OPERATOR,
    RUNTIME,
    Program,
)
from timesink.comparison.repeated_runs import TimedRun
from timesink.comparison.results import Process, cycle_lengths
from timesink.model import vendors
from timesink.model.diagnosis import RECORDED
from timesink.model.intervals import Ints
from timesink.model.schema import HOST_DEVICE

_RUNTIME = ("cpu_launch", "cpu_copy", "cpu_sync")


class SignalName(msgspec.Struct, frozen=True):
    """One signal, as people read it."""

    title: str
    unit: str
    """`time_ns`, `count`, `bytes` or `text`, as kinds of columns are called."""
    exact: bool
    """Whether equal programs have equal ones, and no test is needed."""


SIGNALS: Mapping[str, SignalName] = {
    "program": SignalName("program", "text", exact=True),
    "launches": SignalName("launches per step", "count", exact=True),
    "syncs": SignalName("waits for the device per step", "count", exact=True),
    "copied_bytes": SignalName("bytes copied per step", "bytes", exact=True),
    "peak_memory_bytes": SignalName("peak memory", "bytes", exact=True),
    "device_ns": SignalName("device time per step", "time_ns", exact=False),
    "cycle_ns": SignalName("step time", "time_ns", exact=False),
}
"""Fields of `Signals`: what is certain first, then what is precise, then cycle time."""


class Signals(msgspec.Struct, frozen=True):
    """Signals of one run: the middle of its cycles after warm-up; None where it does not tell."""

    program: str | None = None
    """Equal programs have equal texts: what a usual cycle calls, and how often."""
    launches: float | None = None
    """Kernels, copies and memsets that the host launched; a replayed graph is one."""
    syncs: float | None = None
    """Calls that wait for the device, blocking copies among them."""
    copied_bytes: float | None = None
    """Of copies and memsets."""
    peak_memory_bytes: int | None = None
    """Most that was allocated at a time on one device, else on the host, in the recording."""
    device_ns: float | None = None
    """All work of the device, parallel streams each."""
    cycle_ns: float | None = None
    """A typical cycle: the mean without the outermost ones."""
    by: str = RECORDED
    """Which cycles `cycle_ns` is of: plain ones where there are any."""
    ranges: Mapping[str, tuple[float, float]] = msgspec.field(default_factory=dict)
    """Fewest and most per cycle of each amount, without a few odd cycles."""


def signals_of(role: Process) -> Signals:
    """The signals of one process of one run.

    >>> import timesink
    >>> base = timesink.compare(timesink.sample(), timesink.sample()).pairs[0].pair.base
    >>> found = signals_of(base)
    >>> found.launches, found.ranges["syncs"]
    (489.0, (1.0, 1.0))
    """
    lengths = cycle_lengths(role.behaviour).cast(pl.Float64).to_numpy()
    every = np.sort(role.behaviour["cycle"].unique().to_numpy())
    skip = warm_up(lengths) if len(lengths) == len(every) else 0
    cycles, lengths = every[skip:], lengths[skip:]
    amounts = _amounts(role, cycles)
    spans = {name: _range(values) for name, values in amounts.items()}
    middle = {name: float(np.median(values)) for name, values in amounts.items()}
    timed = role.plain[0] if role.plain else TimedRun("", lengths, by=RECORDED)
    return Signals(
        program=None if role.program is None else digest(role.program, cycles),
        **middle,
        peak_memory_bytes=role.peak_memory_bytes,
        cycle_ns=timed.typical_ns if len(timed.cycles_ns) else None,
        by=timed.by,
        ranges=spans,
    )


def digest(program: Program, cycles: Ints) -> str:
    """A short text that equal programs have in common: how often a usual cycle calls what.

    Calls that vary from cycle to cycle are left out: how often they come is no property of it.
    """
    sites = program.sites.sort("site")
    common = sorted(set(cycles.tolist()) & set(program.cycles))
    side = count_calls(program, sites["site"], common or program.cycles)
    structural = np.isin(sites["sort"].to_numpy(), (OPERATOR, ANNOTATION, MODULE))
    if not program.host:
        structural[:] = True
    usual = side.only(kinds_of(side, structural)[0])
    least, most = ranges(usual.calls)
    steady = np.flatnonzero((least == most) & (most > 0))
    content = np.stack([sites["site"].to_numpy()[steady], least[steady].astype(np.uint64)])
    return hashlib.sha256(np.ascontiguousarray(content).tobytes()).hexdigest()[:16]


def _amounts(role: Process, cycles: Ints) -> dict[str, Ints]:
    """Counts and device time, cycle by cycle, of what was recorded at all."""
    amounts: dict[str, Ints] = {}
    once = once_per_cycle(plain_texts(role.behaviour)).select(
        "cycle", "function", "function_class", "device", "calls", "dur_ns"
    )
    on_host = pl.col("device").cast(pl.String) == HOST_DEVICE
    runtime = once.filter(on_host, pl.col("function_class").cast(pl.String).is_in(_RUNTIME))
    if runtime.height:
        names = runtime["function"].unique().to_list()
        waits = [name for name in names if vendors.waits_for_device(name)]
        amounts["syncs"] = _sums(runtime.filter(pl.col("function").is_in(waits)), "calls", cycles)
    if role.program is None:
        work = once.filter(~on_host)
        return amounts | ({"device_ns": _sums(work, "dur_ns", cycles)} if work.height else {})
    sites = role.program.sites.select("site", "sort")
    rows = role.program.counts.join(sites, on="site")
    work = rows.filter(pl.col("sort").is_in([KERNEL, COPY]))
    if work.height:
        amounts["device_ns"] = _sums(work, "device_ns", cycles)
        # Calls of the runtime in a program replay graphs: what these replay has no launch itself.
        launches = rows.filter(pl.col("sort").is_in([KERNEL, COPY, RUNTIME]))
        launches = launches.with_columns(calls=pl.col("calls") - pl.col("replayed"))
        amounts["launches"] = _sums(launches, "calls", cycles)
        amounts["copied_bytes"] = _sums(work.filter(pl.col("sort") == COPY), "bytes", cycles)
    return amounts


def _sums(rows: pl.DataFrame, amount: str, cycles: Ints) -> Ints:
    """The sum of each cycle, with zero for those that have none."""
    every = pl.DataFrame({"cycle": cycles}, schema={"cycle": rows.schema["cycle"]})
    sums = rows.group_by("cycle").agg(pl.col(amount).sum())
    return (
        every.join(sums, on="cycle", how="left", maintain_order="left")[amount]
        .fill_null(0)
        .to_numpy()
    )


def _range(values: Ints) -> tuple[float, float]:
    least, most = ranges(values[:, None])
    return float(least[0]), float(most[0])
