"""What each cycle of many processes took and how loaded its resources were, as one matrix.

A **feature** is something that a process has one value of per cycle: the length of the cycle, the
time and the calls of a kind of work, the level of a counter.  Functions are brought together by
kind (the family of a kernel, else the class), because exact names differ between versions and
devices; accelerators are numbered in the order of their names, because a process that uses GPU 6
and its peer on GPU 7 do the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.behaviour.rows import once_per_cycle
from timesink.analyses.comparison.role import Role
from timesink.analyses.kernel_calls.families import load_families
from timesink.model.arrays import Flags, Floats, Ints
from timesink.model.counter_units import quantity
from timesink.model.ordering import natural
from timesink.model.schema import HOST_DEVICE

CYCLE, TIME, CALLS, METRIC = "cycle", "time", "calls", "metric"
COLLECTIVE = "collective"
OBSERVED = ("oncpu", "runq", "disk_read_and_write", "cpu_os_syscall_mem")
"""Classes that the operating system saw: their calls are no work of the program, and a process
without any was not watched."""
_KERNELS = ("gpu_compute", "gpu_comm")


@dataclass(frozen=True, slots=True, order=True)
class Feature:
    """Something each process has one value of per cycle."""

    kind: str
    name: str
    place: int
    """0 for the host, else which of the accelerators of the process, from 1."""
    unit: str = ""
    phase: str = ""
    """`prefill` in the prefill cycles of a process, empty in all others."""


@dataclass(frozen=True, slots=True, eq=False)
class Measures:
    """Every feature of every cycle; rows lie role by role, in the order of the cycles."""

    features: tuple[Feature, ...]
    values: Floats
    """As recorded: nanoseconds, calls, `unit`; NaN where it is not known."""
    owners: Ints
    """The role of each row."""
    devices: tuple[tuple[str, ...], ...]
    """What each role calls its places: `Host`, `GPU 6`, ..."""

    def columns(self, kind: str) -> Flags:
        return np.array([feature.kind == kind for feature in self.features])


def role_starts(owners: Ints) -> NDArray[np.intp]:
    """Where each role begins; every role has a cycle."""
    return np.flatnonzero(np.diff(owners, prepend=-1))


def measure(roles: Sequence[Role]) -> Measures:
    """The features of all roles beside each other."""
    rows = pl.concat(
        [
            role.behaviour.select(pl.lit(place, pl.Int64).alias("role"), *_KEYS, *_VALUES)
            for place, role in enumerate(roles)
        ]
    )
    cycles = rows.group_by("role", "cycle").agg(
        pl.col("cycle_dur_ns").max(), prefill=(pl.col("cycle_type") == "prefill").any()
    )
    cycles = cycles.sort("role", "cycle").with_row_index("row")
    rows, devices = _with_places(rows, len(roles))
    rows = rows.join(cycles.select("role", "cycle", "row"), on=["role", "cycle"])
    columns = _columns(cycles, _work(rows), _metrics(rows))
    features = tuple(sorted(columns))
    values = np.column_stack([columns[feature] for feature in features])
    owners = cycles["role"].to_numpy()
    _forget_unwatched(features, values, owners)
    if cycles["prefill"].any():
        # Prefill cycles are another unit of work: they get features of their own.
        own = tuple(
            Feature(feature.kind, feature.name, feature.place, feature.unit, "prefill")
            for feature in features
        )
        hidden = cycles["prefill"].to_numpy()[:, None]
        both = np.hstack([np.where(hidden, np.nan, values), np.where(hidden, values, np.nan)])
        features, values = (*features, *own), both
    return Measures(features, values, owners, devices)


# -- rows ----------------------------------------------------------------------------------------

_KEYS = ("cycle", "cycle_type", "function", "metric", "device", "function_class", "unit")
_VALUES = ("mu", "dur_ns", "calls", "cycle_dur_ns")


def _with_places(
    rows: pl.DataFrame, roles: int
) -> tuple[pl.DataFrame, tuple[tuple[str, ...], ...]]:
    """Each row with its place in its process, and what the places are called."""
    rows = rows.with_columns(pl.col("device").cast(pl.Categorical).fill_null(HOST_DEVICE))
    names: list[list[str]] = [[] for _ in range(roles)]
    for role, device in rows.select("role", "device").unique().iter_rows():
        names[role].append(device)
    devices = tuple(
        (HOST_DEVICE, *sorted((name for name in own if name != HOST_DEVICE), key=natural))
        for own in names
    )
    table = pl.DataFrame(
        [(role, name, place) for role, own in enumerate(devices) for place, name in enumerate(own)],
        schema={"role": pl.Int64, "device": pl.Categorical, "place": pl.Int64},
        orient="row",
    )
    return rows.join(table, on=["role", "device"]), devices


def _work(rows: pl.DataFrame) -> pl.DataFrame:
    """Time and calls per cycle and kind of work; a function has one row per metric."""
    functions = once_per_cycle(rows, ["role"])
    kinds = functions.select("function", "function_class").unique()
    names = [_kind_of(*pair) for pair in kinds.cast(pl.String).iter_rows()]
    kinds = kinds.with_columns(pl.Series("name", names, dtype=pl.Categorical))
    functions = functions.join(kinds, on=["function", "function_class"], nulls_equal=True)
    return functions.group_by("row", "place", "name").agg(pl.col("dur_ns", "calls").sum())


def _kind_of(function: str | None, function_class: str | None) -> str:
    """Family of a kernel, else the class."""
    if function_class == "gpu_comm":
        return COLLECTIVE
    if function_class in _KERNELS:
        return load_families().of(function or "")
    return function_class or "other"


def _metrics(rows: pl.DataFrame) -> pl.DataFrame:
    """Each counter once per cycle and place: the median over the functions that saw it."""
    rows = rows.filter(pl.col("metric").is_not_null(), pl.col("mu").is_finite())
    rows = rows.with_columns(pl.col("unit").cast(pl.Categorical))
    table = pl.DataFrame(
        [(unit, *quantity(1.0, unit)) for unit in rows["unit"].cast(pl.String).unique().to_list()],
        schema={"unit": pl.Categorical, "scale": pl.Float64, "base": pl.Categorical},
        orient="row",
    )
    rows = rows.join(table, on="unit", nulls_equal=True)
    return rows.group_by("row", "place", "metric", "base").agg(
        level=(pl.col("mu") * pl.col("scale")).median()
    )


# -- columns -------------------------------------------------------------------------------------


def _columns(
    cycles: pl.DataFrame, work: pl.DataFrame, metrics: pl.DataFrame
) -> dict[Feature, Floats]:
    """Work that did not run took no time; a counter that was not seen is unknown."""
    length = cycles["cycle_dur_ns"].fill_null(0).to_numpy().astype(np.float64)
    columns = {Feature(CYCLE, CYCLE, 0, "ns"): np.where(length > 0, length, np.nan)}
    for (name, place), rows in work.group_by("name", "place"):
        time = Feature(TIME, str(name), int(str(place)), "ns")
        columns[time] = _column(len(length), rows, "dur_ns", 0.0)
        if name not in OBSERVED:
            calls = Feature(CALLS, time.name, time.place)
            columns[calls] = _column(len(length), rows, "calls", 0.0)
    for (name, place, unit), rows in metrics.group_by("metric", "place", "base"):
        level = Feature(METRIC, str(name), int(str(place)), str(unit))
        columns[level] = _column(len(length), rows, "level", np.nan)
    return columns


def _column(length: int, rows: pl.DataFrame, name: str, absent: float) -> Floats:
    column = np.full(length, absent)
    column[rows["row"].to_numpy()] = rows[name].fill_null(0).to_numpy()
    return column


def _forget_unwatched(features: Sequence[Feature], values: Floats, owners: Ints) -> None:
    """Times of a role that has nothing of the sort are unknown, not zero: the recording lacks it.

    That holds for what the operating system saw, class by class, and for the host as a whole.
    """
    host = [
        column
        for column, feature in enumerate(features)
        if feature.kind in {TIME, CALLS} and feature.place == 0
    ]
    seen = [[column] for column in host if features[column].name in OBSERVED]
    for columns in (host, *seen):
        if columns:
            most = np.maximum.reduceat(values[:, columns].max(axis=1), role_starts(owners))
            values[np.ix_((most == 0)[owners], columns)] = np.nan
