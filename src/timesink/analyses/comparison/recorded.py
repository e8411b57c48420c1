"""Which sorts of events one recording has and another lacks: that is no change of the program."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import polars as pl

from timesink.analyses.behaviour.classes import SIDE_WAIT, UNTRACED
from timesink.analyses.comparison.placing import is_unplaced
from timesink.model.schema import HOST_DEVICE

_GRAPH = re.compile(r"GraphLaunch")
"""Replaying a graph runs kernels without operators; there are none to record."""
PYTHON, OPERATORS = "Python functions", "operators"
_DEVICE_WORK, HOST_EVENTS = "device work", "host events"


@dataclass(frozen=True, slots=True)
class _Sort:
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


@dataclass(frozen=True, slots=True)
class Unrecorded:
    """What each of two sides did not record, though the other did."""

    base: tuple[str, ...] = ()
    """Sorts of events, as one says them."""
    new: tuple[str, ...] = ()
    untraced: bool = False
    """Whether only one side knows what its threads did outside of recorded calls."""

    def of_these(self) -> pl.Expr:
        """Whether a function is of a sort that one side lacks."""
        named = {name for each in self._sorts() for name in each.classes}
        on_host, whole = _is_host(), {*self.base, *self.new}
        found = _is_of({*named, UNTRACED} if self.untraced else named)
        found |= on_host if HOST_EVENTS in whole else pl.lit(value=False)
        found |= ~on_host if _DEVICE_WORK in whole else pl.lit(value=False)
        return found.fill_null(value=False)

    def call_these(self) -> pl.Expr:
        """Whether a function may call such ones: its own time is more where they are missing."""
        return _is_of({name for each in self._sorts() for name in each.callers})

    def _sorts(self) -> Iterator[_Sort]:
        return (each for each in _SORTS if each.name in {*self.base, *self.new})


def _is_host() -> pl.Expr:
    return pl.col("device").cast(pl.String) == HOST_DEVICE


def _is_of(classes: Collection[str]) -> pl.Expr:
    known = pl.col("function_class").cast(pl.String).is_in(sorted(classes))
    return (_is_host() & known).fill_null(value=False)


def unrecorded(base: pl.DataFrame, new: pl.DataFrame) -> Unrecorded:
    """What one side lacks altogether.

    Both need function, function_class and device of everything that ran.
    """
    sides = [_Side.of(table) for table in (base, new)]
    if not all(side.any for side in sides):
        return Unrecorded()
    return Unrecorded(
        base=tuple(_lacking(sides[0], sides[1])),
        new=tuple(_lacking(sides[1], sides[0])),
        untraced=len({UNTRACED in side.classes for side in sides}) > 1,
    )


@dataclass(frozen=True, slots=True)
class _Side:
    """What a side has at all."""

    host: bool
    device: bool
    classes: frozenset[str]
    """Of its host functions."""
    graphs: bool
    unplaced: bool
    """Whether it is not known of some functions where they ran."""

    @property
    def any(self) -> bool:
        return self.host or self.device

    @classmethod
    def of(cls, table: pl.DataFrame) -> _Side:
        columns = pl.col("function", "function_class", "device").cast(pl.String)
        on_host = pl.col("device") == HOST_DEVICE
        host = table.lazy().select(columns).filter(on_host).unique().collect()
        return cls(
            host=host.height > 0,
            device=host.height < table.height and not table.filter(~on_host).is_empty(),
            classes=frozenset(host["function_class"].drop_nulls()),
            unplaced=not table.filter(is_unplaced()).is_empty(),
            graphs=any(_GRAPH.search(name or "") for name in host["function"]),
        )


def _lacking(side: _Side, other: _Side) -> Iterator[str]:
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
