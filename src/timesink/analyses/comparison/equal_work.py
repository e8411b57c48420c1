"""Cycles of one side put together until a cycle of either side holds the same work."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.behaviour.summary import once_per_cycle, plain_texts
from timesink.analyses.comparison.pair import Role, Workload
from timesink.analyses.comparison.recorded import (
    OFTEN,
    calls_by_cycle,
    recorded_cycles,
    work_per_cycle,
)
from timesink.analyses.comparison.workload import work_ratio
from timesink.model.arrays import Flags, Ints
from timesink.model.schema import BEHAVIOUR, HOST_DEVICE

_AGREEING = 0.75
"""Share of the functions that must agree, or the sides differ in more than how they are cut."""
_WHOLE = 0.1
"""How far a ratio may be from a whole number, and a group from the number of cycles it needs."""
_ONCE = 1.5
"""Cycles of a group that hold what is in one of them, at most; counted over the whole run."""
_FUNCTION = ("function", "function_class", "device")
_LONG_GAP = 5
"""A pause of this many cycles separates what came before it from what comes behind."""


def with_equal_work(base: Role, new: Role, workload: Workload) -> tuple[Role, Role] | None:
    """Both roles, with cycles of the finer one put together; None where that is not possible.

    Groups start where functions run that the other side has once per cycle, so that they are the
    same unit; without such functions any whole number of consecutive cycles is as good.  Durations
    and calls are summed, counters averaged by time, and only whole groups are kept.
    """
    ratio = workload.work_ratio
    if workload.comparable or ratio is None or not _all_agree(base, new):
        return None
    times = round(max(ratio, 1 / ratio), 6)
    many = round(times)
    if many < 2 or abs(times - many) > _WHOLE * many + 1e-6:
        return None
    fine, coarse = (new, base) if ratio > 1 else (base, new)
    grouped = _grouped(fine, coarse, many)
    if grouped is None:
        return None
    return (base, grouped) if ratio > 1 else (grouped, new)


def _all_agree(base: Role, new: Role) -> bool:
    """Not so where, say, one model has twice the layers: its loss still runs once per cycle."""
    work = work_per_cycle(plain_texts(base.behaviour), plain_texts(new.behaviour))
    found = None if work is None else work_ratio(work)
    return found is not None and found.support >= _AGREEING


def _grouped(fine: Role, coarse: Role, many: int) -> Role | None:
    table = plain_texts(fine.behaviour)
    # Every cycle in order, with its start and length.
    first = table.group_by("cycle").agg(pl.col("cycle_ts_ns", "cycle_dur_ns").first())
    cycles = first.sort("cycle")
    starts = _marked(table, plain_texts(coarse.behaviour), cycles, many)
    if starts is None:
        groups, how = _counted(table, cycles, many), "from the first recorded one on"
    else:
        groups = _between(starts, cycles, many)
        how = f"from where {coarse.label} starts a cycle"
    if groups is None:
        return None
    kept = int((groups >= 0).sum())
    number = int(groups.max()) + 1
    note = (
        f"{number} groups of {kept / number:.3g} cycles each stand for the cycles of {fine.label}, "
        f"{how}; {len(groups) - kept} of {len(groups)} cycles are in no whole group."
    )
    numbers = pl.DataFrame({"cycle": cycles["cycle"], "group": groups}).filter(pl.col("group") >= 0)
    together = _put_together(table, numbers).cast(fine.behaviour.schema)
    return replace(fine, behaviour=together, notes=(*fine.notes, note))


def _marked(
    fine: pl.DataFrame, coarse: pl.DataFrame, cycles: pl.DataFrame, many: int
) -> NDArray[np.intp] | None:
    """Places of the cycles that hold what the other side has once per cycle; None without any."""
    rare = _presence(fine).filter(pl.col("often") * many <= _ONCE)
    usual = _presence(coarse).filter((pl.col("often") >= OFTEN) & (pl.col("calls") <= 2))
    marks = rare.join(usual, ["function", "device"], "semi").select("function", "device")
    if marks.is_empty():
        return None
    held = calls_by_cycle(fine).join(marks, ["function", "device"], "semi")
    counts = held.group_by("cycle").len()
    most = counts.filter(pl.col("len") * 2 >= pl.col("len").max())["cycle"]
    starts = np.flatnonzero(cycles["cycle"].is_in(most.implode()).to_numpy())
    return starts if len(starts) > 1 else None


def _presence(table: pl.DataFrame) -> pl.DataFrame:
    """In which share of the cycles that can have it each function runs, and how often there."""
    cycles = table["cycle"].unique()
    parts = []
    for counted in (pl.col("device") == HOST_DEVICE, pl.col("device") != HOST_DEVICE):
        calls = calls_by_cycle(table, counted)
        if calls.height:
            share = pl.len() / recorded_cycles(calls, cycles)
            often = calls.group_by("function", "device").agg(
                share.alias("often"), pl.col("calls").median()
            )
            parts.append(often)
    return pl.concat(parts)


def _between(starts: NDArray[np.intp], cycles: pl.DataFrame, many: int) -> Ints | None:
    """The group of each cycle from one mark to the next, if that is about as many as it needs."""
    groups = np.full(cycles.height, -1)
    paused = np.cumsum(_after_pause(cycles))
    number = 0
    for start, end in pairwise(starts.tolist()):
        whole = abs(end - start - many) <= max(1, _WHOLE * many)
        if whole and paused[start] == paused[end - 1]:
            groups[start:end] = number
            number += 1
    return groups if number else None


def _counted(table: pl.DataFrame, cycles: pl.DataFrame, many: int) -> Ints | None:
    """Groups of so many consecutive cycles, from the first with device work on."""
    device = table.filter(pl.col("device") != HOST_DEVICE)["cycle"].unique()
    recorded = np.flatnonzero(cycles["cycle"].is_in(device.implode()).to_numpy())
    first = int(recorded[0]) if len(recorded) else 0
    groups = np.full(cycles.height, -1)
    pauses = np.flatnonzero(_after_pause(cycles))
    ends = np.append(pauses[pauses > first], cycles.height)
    number, place = 0, first
    for end in ends.tolist():
        whole = (end - place) // many
        groups[place : place + whole * many] = number + np.arange(whole * many) // many
        number, place = number + whole, end
    return groups if number else None


def _after_pause(cycles: pl.DataFrame) -> Flags:
    """Which cycles start long after the one before them ended."""
    ended = pl.col("cycle_ts_ns").shift(1) + pl.col("cycle_dur_ns").shift(1)
    late = pl.col("cycle_ts_ns") - ended > _LONG_GAP * pl.col("cycle_dur_ns").median()
    return np.asarray(cycles.select(late.fill_null(value=False))[:, 0].to_numpy())


def _put_together(table: pl.DataFrame, numbers: pl.DataFrame) -> pl.DataFrame:
    """A behaviour table with a cycle per group."""
    rows = table.join(numbers, "cycle")
    cycles = rows.unique("cycle", maintain_order=True).sort("cycle")
    end = pl.col("cycle_ts_ns") + pl.col("cycle_dur_ns")
    span = end.max() - pl.col("cycle_ts_ns").min()
    mark = pl.format("{} x {}", pl.len(), pl.col("anchor").first())
    groups = cycles.group_by("group").agg(
        pl.coalesce(span, pl.col("cycle_dur_ns").sum()).alias("cycle_dur_ns"),
        pl.col("cycle_ts_ns").min(),
        mark.alias("anchor"),
        pl.col("cycle_type", "pid", "host").first(),
    )
    # Time and calls of each function in each group; several metrics do not count it twice.
    once = once_per_cycle(rows)
    times = once.group_by("group", *_FUNCTION, maintain_order=True).agg(
        pl.col("dur_ns", "calls").sum(), pl.col("short_name").first()
    )
    counters = _counters(rows)
    whole = times.join(groups, "group").join(
        counters, ["group", *_FUNCTION], "left", nulls_equal=True
    )
    beta = 100 * pl.col("dur_ns") / pl.col("cycle_dur_ns")
    return whole.with_columns(
        (pl.col("group") + 1).alias("cycle"),
        pl.when(pl.col("cycle_dur_ns") > 0).then(beta).otherwise(0.0).alias("beta_pct"),
        pl.col("interpolated").fill_null("none"),
    ).select(column.name for column in BEHAVIOUR.columns).sort(
        "cycle", "beta_pct", "function", "device", "metric",
        descending=[False, True, False, False, False],
    )  # fmt: skip


def _counters(rows: pl.DataFrame) -> pl.DataFrame:
    """Counters while a function ran: mean weighted by its time, spread pooled in the same way."""
    known = rows.filter(pl.col("metric").is_not_null()).sort("cycle")
    read = pl.col("mu").is_finite().fill_null(value=False)
    mu, sigma, time = (pl.col(name).filter(read) for name in ("mu", "sigma", "dur_ns"))
    # From the first value on, so that a counter that never changes stays exactly what it was.
    first = mu.first()
    weight = pl.when(time.sum() > 0).then(time).otherwise(1)
    mean = first + ((mu - first) * weight).sum() / weight.sum()
    spread = pl.when(read.any()).then(((sigma**2 * weight).sum() / weight.sum()).sqrt())
    marks = pl.col("interpolated").n_unique() == 1
    state = pl.when(marks).then(pl.col("interpolated").first()).otherwise(pl.lit("some"))
    return known.group_by("group", *_FUNCTION, "metric", maintain_order=True).agg(
        mean.alias("mu"),
        spread.alias("sigma"),
        pl.col("unit").first(),
        state.cast(rows["interpolated"].dtype).alias("interpolated"),
    )
