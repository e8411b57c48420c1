"""Which sorts of events one recording has and another lacks: that is no change of the program."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import msgspec
import numpy as np
import polars as pl

from timesink.analyses.behaviour.classes import FUNCTION_CLASSES, SIDE_WAIT, UNTRACED
from timesink.analyses.behaviour.summary import once_per_cycle
from timesink.analyses.columns import among, encode, memoize_per_table, numbers
from timesink.analyses.names import short_kernel_name
from timesink.comparison.results import Process
from timesink.comparison.steps.sides import (
    MEETING_LEVELS,
    functions_meet,
    is_related,
    match_functions,
)
from timesink.comparison.thresholds import RecordedEventsLimits
from timesink.model.arrays import combine_codes, group_medians, sums_by
from timesink.model.intervals import Flags, Floats
from timesink.model.schema import HOST_DEVICE, NO_DEVICE
from timesink.patterns import regex

_GRAPH = regex(r"GraphLaunch")
"""Replaying a graph runs kernels without operators; there are none to record."""
PYTHON, OPERATORS = "Python functions", "operators"
_DEVICE_WORK, HOST_EVENTS = "device work", "host events"


class _Sort(msgspec.Struct, frozen=True):
    """Host events that a profiler records or not, all of them."""

    name: str
    told_by: str
    """Class whose absence tells that they were not recorded."""
    classes: tuple[str, ...]
    callers: tuple[str, ...]
    """Classes of functions that call them."""


_OUTER = (UNTRACED, "cpu_annotation", "cpu_python")
_RUNTIME = ("cpu_launch", "cpu_copy", "cpu_sync")
_SORTS = (
    _Sort("annotations", "cpu_annotation", ("cpu_annotation",), (UNTRACED, "cpu_python")),
    _Sort(PYTHON, "cpu_python", ("cpu_python", SIDE_WAIT), (UNTRACED, "cpu_annotation")),
    _Sort(OPERATORS, "cpu_operator", ("cpu_operator",), _OUTER),
    _Sort("runtime calls", "cpu_launch", _RUNTIME, (*_OUTER, "cpu_operator")),
    _Sort("scheduler events", "oncpu", ("oncpu", "runq"), ()),
)


class Unrecorded(msgspec.Struct, frozen=True):
    """What each of two sides did not record, though the other did."""

    base: tuple[str, ...] = ()
    """Sorts of events, as one says them."""
    new: tuple[str, ...] = ()
    untraced: bool = False
    """Whether only one side knows what its threads did outside of recorded calls."""

    @property
    def any(self) -> bool:
        """Whether one side lacks anything that the other has."""
        return bool(self.base or self.new or self.untraced)

    def of_these(self) -> pl.Expr:
        """Whether a function is of a sort that one side lacks."""
        named = {name for sort in self._sorts() for name in sort.classes}
        on_host, missing = _is_host(), {*self.base, *self.new}
        is_missing = _is_of({*named, UNTRACED} if self.untraced else named)
        is_missing |= on_host if HOST_EVENTS in missing else pl.lit(value=False)
        is_missing |= ~on_host if _DEVICE_WORK in missing else pl.lit(value=False)
        return is_missing.fill_null(value=False)

    def call_these(self) -> pl.Expr:
        """Whether a function may call such ones: its own time is more where they are missing."""
        return _is_of({name for sort in self._sorts() for name in sort.callers})

    def _sorts(self) -> Iterator[_Sort]:
        return (sort for sort in _SORTS if sort.name in {*self.base, *self.new})


def _is_host() -> pl.Expr:
    return pl.col("device").cast(pl.String) == HOST_DEVICE


def _is_of(classes: Collection[str]) -> pl.Expr:
    in_classes = pl.col("function_class").cast(pl.String).is_in(sorted(classes))
    return (_is_host() & in_classes).fill_null(value=False)


def find_unrecorded(base: pl.DataFrame, new: pl.DataFrame) -> Unrecorded:
    """What one side lacks altogether.

    Both need function, function_class and device of everything that ran.
    """
    sides = [_Side.of(table) for table in (base, new)]
    if not all(side.host or side.device for side in sides):
        return Unrecorded()
    return Unrecorded(
        base=tuple(_missing_sorts(sides[0], sides[1])),
        new=tuple(_missing_sorts(sides[1], sides[0])),
        untraced=len({UNTRACED in side.classes for side in sides}) > 1,
    )


class _Side(msgspec.Struct, frozen=True):
    """What a side has at all."""

    host: bool
    device: bool
    classes: frozenset[str]
    """Of its host functions."""
    graphs: bool
    unplaced: bool
    """Whether it is not known of some functions where they ran."""

    @classmethod
    def of(cls, table: pl.DataFrame) -> _Side:
        function, kind, device = (
            encode(table[name]) for name in ("function", "function_class", "device")
        )
        first = np.unique(combine_codes(kind[0], device[0]), return_index=True)[1]
        kinds = [(kind[1][kind[0][row]], device[1][device[0][row]]) for row in first.tolist()]
        on_host = np.array([name == HOST_DEVICE for name in device[1]] or [False])[device[0]]
        names = np.flatnonzero(np.bincount(function[0][on_host])).tolist()
        return cls(
            host=any(name == HOST_DEVICE for _, name in kinds),
            device=any(name not in (None, HOST_DEVICE) for _, name in kinds),
            classes=frozenset(
                text for text, name in kinds if name == HOST_DEVICE and text is not None
            ),
            unplaced=any(
                name == NO_DEVICE and text not in FUNCTION_CLASSES for text, name in kinds
            ),
            graphs=any(_GRAPH.search(function[1][code] or "") for code in names),
        )


def _missing_sorts(side: _Side, other: _Side) -> Iterator[str]:
    if side.unplaced:
        return
    if not side.device and other.device:
        yield _DEVICE_WORK
    if not side.host:
        if other.host:
            yield HOST_EVENTS
        return
    if not side.classes:
        return  # of a table that does not tell them
    for sort in _SORTS:
        missing = sort.told_by not in side.classes and sort.told_by in other.classes
        replayed = sort.name == OPERATORS and side.graphs
        if missing and not replayed and not side.classes.intersection(sort.classes):
            yield sort.name


# How much two runs do per cycle, function by function, counted in calls.

_OPERATORS = ("cpu_operator", "cpu_launch", "cpu_copy", "cpu_annotation", "cpu_python")
_COUNTED_CALLS = {
    "device": pl.col("device") != HOST_DEVICE,
    "operators": pl.col("function_class").is_in(_OPERATORS),
    "other": pl.lit(value=True),
}
KEY = ["level", "device", "key"]


class CallsPerCycle(msgspec.Struct, frozen=True, eq=False):
    """The work per cycle of both sides, in calls that do not depend on the speed of the machine."""

    sort: str
    """What was counted: `device` work, `operators` of the host, or `other` host functions."""
    table: pl.DataFrame
    """Per name that both sides have, at whatever level: calls_base, calls_new, share_base and
    share_new (of the time), ratio (calls_base / calls_new), doubt (by which factor the ratio may be
    off because the function is in few cycles only; a logarithm), level."""
    alone_base: float
    """Share of the time of BASE in functions of which NEW has not even the family."""
    alone_new: float


def work_per_cycle(base: pl.DataFrame, new: pl.DataFrame) -> CallsPerCycle | None:
    """The work both behaviour tables have in common, per cycle; None if there is nothing to count.

    Device work if both have some, else host operators, else whatever the host did; how often the
    system interrupts a process or a call is repeated says little about its work.
    """
    for sort, counted in _COUNTED_CALLS.items():
        sides = [calls_by_cycle(table, counted) for table in (base, new)]
        if all(side.height for side in sides):
            rates = (
                calls_per_cycle(side, table["cycle"].unique())
                for side, table in zip(sides, (base, new), strict=True)
            )
            return _common(sort, *rates)
    return None


def calls_by_cycle(table: pl.DataFrame, counted: pl.Expr | None = None) -> pl.DataFrame:
    """Calls and time of each function in each cycle: one row, however many metrics it has.

    All accelerators of a process count as one.
    """
    rows = once_per_cycle(table if counted is None else table.filter(counted))
    called = np.flatnonzero(numbers(rows["calls"]) > 0)
    cycle, (function, _), (device, devices) = (
        rows["cycle"].to_numpy(),
        *(encode(rows[name]) for name in ("function", "device")),
    )
    on_host = np.array([name == HOST_DEVICE for name in devices] or [False])[device]
    number = np.unique(cycle[called], return_inverse=True)[1]
    key = combine_codes(number, function[called], on_host[called].astype(np.int64))
    first, group = np.unique(key, return_index=True, return_inverse=True)[1:]
    row = called[first]
    return pl.DataFrame(
        [
            rows["cycle"][row],
            rows["function"][row],
            pl.Series("device", np.where(on_host[row], HOST_DEVICE, "device").tolist(), pl.String),
            *(
                pl.Series(name, sums_by(group, numbers(rows[name])[called], len(first)))
                for name in ("calls", "dur_ns")
            ),
            rows["function_class"][row],
        ]
    )


def recorded_cycles(calls: pl.DataFrame, cycles: pl.Series) -> int:
    """How many cycles can have had the work: those from the first to the last that have some.

    Cycles without any in between are left out as not recorded, unless they are the most: then work
    is simply not in every cycle.
    """
    having, numbered = np.unique(calls["cycle"].to_numpy()), cycles.to_numpy()
    span = int(((numbered >= having[0]) & (numbered <= having[-1])).sum()) if len(having) else 0
    return len(having) if 2 * len(having) >= span else span


def calls_per_cycle(calls: pl.DataFrame, cycles: pl.Series) -> pl.DataFrame:
    """Calls and time per cycle of each function; the median, where most cycles have it.

    A cycle that was recorded in part therefore changes nothing.
    """
    many = recorded_cycles(calls, cycles)
    key = combine_codes(encode(calls["function"])[0], encode(calls["device"])[0])
    first, group, count = np.unique(
        key, return_index=True, return_inverse=True, return_counts=True
    )[1:]
    amount = calls["calls"].to_numpy()
    often = count >= RecordedEventsLimits.often * many
    mean = sums_by(group, amount, len(first)) / max(many, 1)
    return pl.DataFrame(
        [
            *(calls[name][first] for name in ("function", "device", "function_class")),
            pl.Series("calls", np.where(often, group_medians(group, amount), mean)),
            pl.Series("ns", sums_by(group, calls["dur_ns"].to_numpy(), len(first)) / max(many, 1)),
            # Between so many occurrences lies one period less, or one more where the run ends.
            pl.Series("doubt", np.where(often, 0.0, np.log1p(1 / count))),
        ]
    )


def _common(sort: str, base: pl.DataFrame, new: pl.DataFrame) -> CallsPerCycle:
    if functions_meet(base, new):
        return _of_equal_names(sort, base, new)
    met = match_functions(base, new)
    lost = (pl.col("level") == "family") & ~is_related()
    level = pl.when(lost).then(pl.lit("alone", met["level"].dtype)).otherwise(pl.col("level"))
    # What each function is counted under.
    key = (
        pl.when(pl.col("level") == "exact").then(pl.col("function"))
        .when(pl.col("level") == "normalised").then(pl.col("normalised"))
        .otherwise(pl.col("family"))
    )  # fmt: skip
    keys = met.select("function", "device", level.alias("level"), key.alias("key"))
    total = pl.col("ns").sum()
    share = pl.when(total > 0).then(pl.col("ns") / total).otherwise(1 / pl.len())
    sides = [
        side.join(keys, ["function", "device"])
        .with_columns(share.alias("share"))
        .group_by(KEY)
        .agg(pl.col("calls", "share").sum(), pl.col("doubt").min())
        for side in (base, new)
    ]
    unmatched = [float(side.filter(pl.col("level") == "alone")["share"].sum()) for side in sides]
    met_sides = [side.filter(pl.col("level") != "alone") for side in sides]
    both = met_sides[0].join(met_sides[1], KEY, suffix="_new")
    table = both.rename({"calls": "calls_base", "share": "share_base"}).with_columns(
        (pl.col("calls_base") / pl.col("calls_new")).alias("ratio"),
        pl.max_horizontal("doubt", "doubt_new").alias("doubt"),
    )
    return CallsPerCycle(sort, table.sort(KEY), alone_base=unmatched[0], alone_new=unmatched[1])


def _of_equal_names(sort: str, base: pl.DataFrame, new: pl.DataFrame) -> CallsPerCycle:
    """The same where both sides have the same functions, each once."""
    sides = [side.sort("device", "function") for side in (base, new)]
    shares = []
    for side in sides:
        total = float(side["ns"].sum())
        equal = np.full(side.height, 1 / max(side.height, 1))
        shares.append(side["ns"].to_numpy() / total if total > 0 else equal)
    before, after = (side["calls"].to_numpy() for side in sides)
    doubt = [side["doubt"].to_numpy() for side in sides]
    columns: dict[str, Any] = {
        "level": pl.Series(["exact"] * len(before), dtype=pl.Enum(MEETING_LEVELS)),
        "device": sides[0]["device"],
        "key": sides[0]["function"],
        "calls_base": before,
        "share_base": shares[0],
        "doubt": np.maximum(*doubt),
        "calls_new": after,
        "share_new": shares[1],
        "doubt_new": doubt[1],
        "ratio": before / after,
    }
    return CallsPerCycle(sort, pl.DataFrame(columns), alone_base=0.0, alone_new=0.0)


# What to keep in mind about two recordings, though both may hold the same work.

_ATTENTION = "attention"
_SIDES = (("in_base", "in_new"), ("in_new", "in_base"))


@memoize_per_table
def ran(table: pl.DataFrame) -> pl.DataFrame:
    """What ran at all; a cycle in which nothing was recorded has a row as well."""
    takes = (numbers(table["calls"]) > 0) | (numbers(table["dur_ns"]) > 0)
    return table if takes.all() else table.filter(pl.Series(takes))


def other_mix(base: Process, new: Process) -> str | None:
    """A sentence where one side runs attention in a way of its own beside the one both have.

    Prompts and tokens are attended to by different kernels, so their steps are in another
    proportion even where calls agree in number.  A kernel that took over from another is missed on
    both sides.
    """
    if _device_functions(base.behaviour) == _device_functions(new.behaviour):
        return None
    on_device = pl.col("device") != HOST_DEVICE
    met = match_functions(*(calls_by_cycle(role.behaviour, on_device) for role in (base, new)))
    attention = met.filter(pl.col("family") == _ATTENTION)
    shared = attention.filter(pl.col("in_base") & pl.col("in_new"))
    unmatched = [
        attention.filter(pl.col(side), ~pl.col(other))["function"].sort() for side, other in _SIDES
    ]
    if shared.is_empty() or all(map(len, unmatched)) or not any(map(len, unmatched)):
        return None
    more, less, names = (
        (base, new, unmatched[0]) if len(unmatched[0]) else (new, base, unmatched[1])
    )
    return (
        f"Beside attention kernels that both run, {more.label} has "
        f"`{short_kernel_name(names[0])}`: it mixes prompts and tokens "
        f"in another proportion than {less.label}."
    )


def _device_functions(behaviour: pl.DataFrame) -> set[str | None]:
    """What is called on devices at all."""
    codes, devices = encode(behaviour["device"])
    of_device = [name not in (None, HOST_DEVICE) for name in devices] or [False]
    called = np.array(of_device)[codes] & (numbers(behaviour["calls"]) > 0)
    function, names = encode(behaviour["function"])
    return {names[code] for code in np.flatnonzero(np.bincount(function[called])).tolist()}


def recorded_in_part(role: Process) -> Iterator[str]:
    """Cycles without device work, where others have some: it was not recorded."""
    cycles = role.behaviour["cycle"].n_unique()
    on_host = among(role.behaviour["device"], {HOST_DEVICE, None})
    having = len(np.unique(role.behaviour["cycle"].to_numpy()[~on_host]))
    if having and cycles - having >= RecordedEventsLimits.unrecorded * cycles:
        yield (
            f"{cycles - having} of {cycles} steps of {role.label} have no device work; "
            "it was probably not recorded there."
        )


def cautions(base: Process, new: Process, missing: Unrecorded) -> Iterator[str]:
    """What the recordings themselves differ in."""
    on_device = []
    for role in (base, new):
        table = ran(role.behaviour)
        by_host = among(table["device"], {HOST_DEVICE})
        named = among(table["function"], {role.anchor or ""})
        by_kernel = bool(named.any() and not (named & by_host).any())
        # Without host events nothing but the device can have marked cycles.
        is_device_only = role.method is not None and not by_host.any()
        is_marked_by_device = role.method == "kernels" or by_kernel or is_device_only
        on_device.append(None if table.is_empty() else is_marked_by_device)
    if set(on_device) == {True, False}:
        host, device = (new, base) if on_device[0] else (base, new)
        yield (
            f"Steps of {host.label} are timed on the host, those of {device.label} on the device: "
            "step times are not comparable."
        )
    for role, other, sorts in ((base, new, missing.base), (new, base, missing.new)):
        if sorts:
            yield (
                f"{role.label} recorded no {' and no '.join(sorts)}; such functions of "
                f"{other.label} and their counters are not compared."
            )
        if PYTHON in sorts:
            yield f"{other.label} recorded Python calls, which slow the host."
        classes = other.behaviour["function_class"].unique().cast(pl.String)
        if OPERATORS in sorts or (HOST_EVENTS in sorts and "cpu_operator" in classes):
            yield (
                f"{other.label} recorded operators, which costs host time: part of the difference "
                "may be profiler overhead."
            )


def equally_often(
    base: Floats, new: Floats, part: float = RecordedEventsLimits.equally_often
) -> Flags:
    """Which calls per cycle are as many on both sides; never where one is not known."""
    apart = np.abs(new - base)
    return np.asarray(
        (apart <= part * np.maximum(base, new)) | (apart <= RecordedEventsLimits.same_count)
    )


_CALLS = "^(gpu|cpu)_"
"""Classes of what a program calls itself: turns on a core and system calls depend on the load."""


def only_the_host_is_slower(times: pl.DataFrame) -> tuple[float, float] | None:
    """Device time per cycle of two sides that call the same as often and compute as long.

    `times` are those of a pair.  None where that is not so, where there is no device work, or where
    calls of the host did not become longer: what did is something else than the pace of the host.
    """
    kind, host = pl.col("function_class").cast(pl.String), pl.col("device") == HOST_DEVICE
    rows = times.filter(kind.str.contains(_CALLS).fill_null(value=False), kind != UNTRACED)
    often = rows.select(pl.col("calls_base", "calls_new").cast(pl.Float64)).to_numpy()
    (base, new), (host_base, host_new) = (
        rows.filter(which).select("base_ns", "new_ns").sum().row(0) for which in (~host, host)
    )
    same = bool(equally_often(often[:, 0], often[:, 1]).all())
    if (
        not same
        or base <= 0
        or abs(new - base) > RecordedEventsLimits.same_time * base
        or host_new <= host_base
    ):
        return None
    return base, new
