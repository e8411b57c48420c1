"""What each cycle of many processes took and how loaded its resources were, as one matrix.

A **feature** is something that a process has one value of per cycle: the length of the cycle, the
time and the calls of a kind of work, the level of a counter.  Functions are brought together by
kind (the family of a kernel, else the class), because exact names differ between versions and
devices; accelerators are numbered in the order of their names, because a process that uses GPU 6
and its peer on GPU 7 do the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.behaviour.summary import once_per_cycle
from timesink.analyses.kernels.families import load_families
from timesink.comparison.results import Process
from timesink.comparison.thresholds import FeaturesLimits
from timesink.model.arrays import exclusive_cumsum, run_starts
from timesink.model.intervals import Flags, Floats, Ints
from timesink.model.schema import HOST_DEVICE
from timesink.model.units import natural, quantity
from timesink.patterns import regex

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


class Measures(msgspec.Struct, frozen=True, eq=False):
    """Every feature of every cycle; rows lie role by role, in the order of the cycles."""

    features: tuple[Feature, ...]
    values: Floats
    """As recorded: nanoseconds, calls, `unit`; NaN where it is not known."""
    owners: Ints
    """The role of each row."""
    devices: tuple[tuple[str, ...], ...]
    """What each role calls its places: `Host`, `GPU 6`, ..."""


def role_starts(owners: Ints) -> NDArray[np.intp]:
    """Where each role begins; every role has a cycle."""
    return run_starts(owners)


def measure(roles: Sequence[Process]) -> Measures:
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
    # Times of a role that has nothing of the sort are unknown, not zero: the recording lacks it.
    # That holds for what the operating system saw, class by class, and for the host as a whole.
    host = [
        column
        for column, feature in enumerate(features)
        if feature.kind in {TIME, CALLS} and feature.place == 0
    ]
    for unwatched in (
        host,
        *([host_column] for host_column in host if features[host_column].name in OBSERVED),
    ):
        if unwatched:
            most = np.maximum.reduceat(values[:, unwatched].max(axis=1), role_starts(owners))
            values[np.ix_((most == 0)[owners], unwatched)] = np.nan
    if cycles["prefill"].any():
        # Prefill cycles are another unit of work: they get features of their own.
        prefill_features = tuple(replace(feature, phase="prefill") for feature in features)
        hidden = cycles["prefill"].to_numpy()[:, None]
        both = np.hstack([np.where(hidden, np.nan, values), np.where(hidden, values, np.nan)])
        features, values = (*features, *prefill_features), both
    return Measures(features, values, owners, devices)


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
        (HOST_DEVICE, *sorted((name for name in role_names if name != HOST_DEVICE), key=natural))
        for role_names in names
    )
    table = pl.DataFrame(
        [
            (role, name, place)
            for role, role_devices in enumerate(devices)
            for place, name in enumerate(role_devices)
        ],
        schema={"role": pl.Int64, "device": pl.Categorical, "place": pl.Int64},
        orient="row",
    )
    return rows.join(table, on=["role", "device"]), devices


def _work(rows: pl.DataFrame) -> pl.DataFrame:
    """Time and calls per cycle and kind of work; a function has one row per metric."""
    functions = once_per_cycle(rows, ("role",))
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


# The level of each feature of each role, in doublings, and how well it is known.
#
# A level is the mean over the cycles of log2(value + floor), so that a difference of 1 is a factor
# of two whatever the unit.  The floor is what a difference must be seen against: a hundredth of the
# cycle for times, ten calls, half a percent for shares.  The highest and the lowest of eight cycles
# count as the next ones do (a winsorised mean): a recording often begins inside of a cycle.
#
# The error of a level is the larger of two: from the scatter of the cycles, and from the first half
# against the second, which sees what scatter does not: drift, and samples that neighbouring cycles
# share.  With few cycles scatter itself is badly known, so it is drawn up to what the other roles
# show, and widened as Student's distribution is.

METRIC_FLOORS = {
    "%": 0.5,
    "% of a core": 5.0,
    "MHz": 10.0,
    "C": 20.0,
    "W": 10.0,
    "B/s": 5e7,
    "B": 1e8,
}
"""In base units (`model.units`)."""

_LOAD = regex("usage|util|occupancy|power")
"""Counters that a kernel which only waits drives up."""
_SNAPSHOTS = regex("sm_util|occupancy")


class Levels(msgspec.Struct, frozen=True, eq=False):
    """One row per role, one column per feature; NaN where a role does not know a feature."""

    mean: Floats
    error: Floats


def doublings(measures: Measures) -> Floats:
    """Every value as log2 above its floor; NaN where it says nothing about the role itself.

    Time in collectives is mostly waiting for a peer, and a device that waits looks busy: which rank
    of a group waits says little about that rank.
    """
    values = np.maximum(measures.values, 0.0)
    result = np.full_like(values, np.nan)
    for column, feature in enumerate(measures.features):
        if feature.kind == TIME and feature.name == COLLECTIVE:
            continue
        floor = _floor(measures, feature, values[:, column])
        with np.errstate(divide="ignore"):
            result[:, column] = np.log2(values[:, column] + floor)
    result[np.isinf(result)] = np.nan
    looking_busy = [
        column
        for column, feature in enumerate(measures.features)
        if feature.kind == METRIC and feature.place > 0 and _LOAD.search(feature.name)
    ]
    for column in looking_busy:
        result[_is_waiting(measures, measures.features[column]), column] = np.nan
    return result


def _floor(measures: Measures, feature: Feature, values: Floats) -> Floats | float:
    if feature.kind == CYCLE:
        return 0.0
    if feature.kind == CALLS:
        return FeaturesLimits.calls_floor
    if feature.kind == TIME:
        return FeaturesLimits.time_floor * np.nan_to_num(_lengths(measures, feature.phase), nan=0.0)
    is_positive = values > 0
    if feature.unit in METRIC_FLOORS or not is_positive.any():
        return METRIC_FLOORS.get(feature.unit, 0.0)
    # Of the median over the roles of their mean, of those that are not zero throughout.
    sums = np.bincount(measures.owners[is_positive], values[is_positive])
    many = np.bincount(measures.owners[is_positive])
    return float(np.median(sums[many > 0] / many[many > 0])) * FeaturesLimits.other_floor


def _lengths(measures: Measures, phase: str) -> Floats:
    column = measures.features.index(Feature(CYCLE, CYCLE, 0, "ns", phase))
    return np.asarray(measures.values[:, column])


def _is_waiting(measures: Measures, feature: Feature) -> Flags:
    """Rows of roles that spend much of their cycles in collectives on that device."""
    wait = Feature(TIME, COLLECTIVE, feature.place, "ns", feature.phase)
    if wait not in measures.features:
        return np.zeros(len(measures.owners), dtype=np.bool_)
    lengths = np.nan_to_num(_lengths(measures, feature.phase))
    spent = np.nan_to_num(measures.values[:, measures.features.index(wait)])
    share = np.bincount(measures.owners, spent) / np.maximum(
        np.bincount(measures.owners, lengths), 1.0
    )
    return np.asarray((share > FeaturesLimits.waiting_share)[measures.owners])


def least_scatter(features: Sequence[Feature]) -> Floats:
    """Scatter from cycle to cycle that each feature has at least, whatever the cycles show."""
    snapshots = [
        bool(_SNAPSHOTS.search(feature.name)) and feature.kind == METRIC for feature in features
    ]
    return np.where(snapshots, FeaturesLimits.snapshot_scatter, FeaturesLimits.min_scatter)


def null_levels(
    logs: Floats, owners: Ints, least: Floats | float = FeaturesLimits.min_scatter
) -> list[tuple[Levels, Levels]]:
    """Levels of both parts of every role: even and odd cycles, first and second half."""
    many = np.bincount(owners)
    # Place of each cycle in its role.
    turns = np.arange(len(owners)) - exclusive_cumsum(many)[owners]
    odd, late = turns % 2 == 1, turns >= ((many + 1) // 2)[owners]
    return [
        (role_levels(logs, owners, least, ~second), role_levels(logs, owners, least, second))
        for second in (odd, late)
    ]


def role_levels(
    logs: Floats,
    owners: Ints,
    least: Floats | float = FeaturesLimits.min_scatter,
    chosen: Flags | None = None,
) -> Levels:
    """Levels of all roles from all of their cycles, or from those chosen."""
    rows = np.ones(len(owners), dtype=np.bool_) if chosen is None else chosen
    starts = role_starts(owners)
    logs = np.where(rows[:, None], logs, np.nan)
    count = np.add.reduceat(~np.isnan(logs), starts, axis=0, dtype=np.int64)
    # The ends are drawn in, so many at each.
    trimmed = np.where(
        count >= FeaturesLimits.min_to_trim, np.maximum(count // FeaturesLimits.trimmed, 1), 0
    )
    lowest, highest = np.empty(count.shape), np.empty(count.shape)
    columns = np.arange(logs.shape[1])
    for role, role_logs in enumerate(np.split(logs, starts[1:])):
        # Unknown ones are sorted to the end.
        ordered = np.sort(role_logs, axis=0)
        lowest[role] = ordered[trimmed[role], columns]
        highest[role] = ordered[np.maximum(count[role] - 1 - trimmed[role], 0), columns]
    logs = np.clip(logs, lowest[owners], highest[owners])
    mean = means_of(logs, starts)
    # Variance of the cycles of each role, drawn up to the median of all roles, never down.
    squares = means_of((logs - mean[owners]) ** 2, starts) * count
    freedom = np.maximum(count - 1, 1)
    variance = np.where(count >= FeaturesLimits.min_steps_for_scatter, squares / freedom, np.nan)
    has_variance = ~np.isnan(variance).all(axis=0)
    usual = np.zeros(variance.shape[1])
    usual[has_variance] = np.nanmedian(variance[:, has_variance], axis=0)
    drawn = (FeaturesLimits.usual_weight * usual + np.nan_to_num(squares)) / (
        FeaturesLimits.usual_weight + freedom
    )
    scatter: Floats = np.fmax(drawn, variance)
    # What was drawn in makes the rest look closer together than the cycles are.
    retained = np.maximum(count - 2 * trimmed, 1)
    error = np.sqrt(np.maximum(scatter, np.square(least)) * count) / retained
    error *= _student_widening(retained - 1 + FeaturesLimits.usual_weight)
    taken = np.bincount(owners[rows], minlength=len(starts))
    turns = np.cumsum(rows) - 1 - exclusive_cumsum(taken)[owners]
    early = (turns < (taken / 2)[owners])[:, None]
    first, second = (means_of(np.where(half, logs, np.nan), starts) for half in (early, ~early))
    error = np.fmax(error, np.abs(first - second) / 2)
    return Levels(mean, np.where(np.isnan(mean), np.nan, error))


def means_of(values: Floats, starts: NDArray[np.intp]) -> Floats:
    """Mean of what is known, part by part; NaN where nothing is."""
    is_present = ~np.isnan(values)
    count = np.add.reduceat(is_present, starts, axis=0, dtype=np.int64)
    sums = np.add.reduceat(np.where(is_present, values, 0.0), starts, axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Floats = sums / count
    return means


def _student_widening(freedom: Ints) -> Floats:
    """How much wider Student's distribution is than the normal one at three errors."""
    return np.asarray(1 + 2.5 / freedom + 5.75 / freedom**2)
