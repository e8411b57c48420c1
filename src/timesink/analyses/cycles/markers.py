"""Cycles as annotations mark them: one that spans the unit, or one that comes once in each."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from timesink.analyses.columns import device_columns, host_columns
from timesink.analyses.cycles.kernel_sequence import launching_process
from timesink.analyses.cycles.prefill import LONGER, SELDOM
from timesink.analyses.cycles.python_anchor import anchored
from timesink.analyses.cycles.python_calls import python_calls
from timesink.analyses.cycles.reading import MIN_REPEATS, Reading, family_name, spans_of
from timesink.analyses.cycles.types import type_of_name
from timesink.analyses.cycles.work import work_extent, work_in
from timesink.model.trace import Trace

COVERING = 0.7
"""An annotation that holds this share of the recorded work spans the unit."""
SPARSE = 0.1
"""One asked for by name that lasts for less only marks a place in the unit."""
NEARLY = 0.9
"""Totals this close together are taken as equal; the longer call is then the outer one."""
_IRREGULAR = 0.5
"""Marks whose distances spread more than this, relative to their mean, do not beat time."""
_WHOLE = 0.5
"""A part whose length is off the usual by less than this share of it is taken as a whole cycle."""
_UNIT = re.compile(r"step|iter|execute|batch|decode|prefill|forward", re.IGNORECASE)
"""Names people give to one pass of their work."""

_NOT_A_UNIT = re.compile(
    r"^(nccl|rccl|gloo|mpi|ucc|hccl|cncl|xccl|oneccl)[:A-Z]"
    r"|^(cublas|cudnn|cusparse|cusolver|cufft|thrust|cub::|hipblas|rocblas|miopen)"
    r"|^## Call CompiledFxGraph|^Pregraph bytecode|^Torch-Compiled Region|^CompiledFunction"
    r"|^ProfilerStep"
)
"""What libraries and compilers annotate by themselves: single calls, not the user's units."""
_CLOSES = re.compile(r"Optimizer\.step|optimizer[._]step|lr_scheduler", re.IGNORECASE)
"""Marks that come last in their unit; all others come first."""


@dataclass(frozen=True, slots=True)
class _Family:
    """Annotations that differ at most in their numbers."""

    name: str
    events: pl.DataFrame
    count: int
    total_ns: int
    coverage: float
    irregularity: float
    """Spread of the distances between starts, relative to their mean."""

    @property
    def mean_ns(self) -> float:
        return self.total_ns / self.count


def is_own(name: str) -> bool:
    """Whether the program made this annotation, not a library or the compiler.

    >>> [is_own(name) for name in ("decode_step", "nccl:all_reduce", "cublasSgemmEx")]
    [True, False, False]
    """
    return _NOT_A_UNIT.search(name) is None


@dataclass(frozen=True, slots=True)
class _Unit:
    """Annotations that together hold the work of a run."""

    main: _Family
    prefills: list[_Family]
    held: float
    """Share of the work they hold."""


# -- found without being asked for -----------------------------------------------------------------


def repeated_annotation(trace: Trace) -> Reading | None:
    """The annotation that holds most of the work and repeats; else one that beats time in it."""
    families, on_device = _host_families(trace), False
    if not families:
        families, on_device = _families(_device_annotations(trace)), True
    repeating = [family for family in families if family.count >= MIN_REPEATS]
    covering = []
    for family in repeating:
        prefills = _prefills(family, families)
        held = _held(trace, _all_events(family, prefills), on_device=on_device)
        if held >= COVERING:
            covering.append(_Unit(family, prefills, held))
    if covering:
        return replace(_covering(_longest(covering)), on_device=on_device)
    even = [family for family in repeating if family.irregularity <= _IRREGULAR]
    return _beating(trace, even, on_device=on_device) if even else None


def lone_annotation(trace: Trace) -> Reading | None:
    """The one pass of a recording that holds no more, where an annotation says so."""
    found = [
        family
        for family in _host_families(trace)
        if family.count < MIN_REPEATS
        and _UNIT.search(family.name)
        and _held(trace, family.events, on_device=False) >= COVERING
    ]
    if not found:
        return None
    chosen = _longest([_Unit(family, [], 1.0) for family in found]).main
    reason = f"the annotation {chosen.name!r} holds the whole recording"
    types = [type_of_name(name) for name in chosen.events["name"].to_list()]
    return Reading("marker", chosen.name, _spans(chosen.events, types), 0.9, reason)


def _held(trace: Trace, events: pl.DataFrame, *, on_device: bool) -> float:
    """Share of the recorded work in the annotations; of the time where nothing else is recorded."""
    work = work_in(trace, events, on_device=on_device)
    return work.coverage if work.total else _family("", events).coverage


def _longest(units: list[_Unit]) -> _Unit:
    """The largest total; of nearly equal ones the longest calls, which hold the others."""
    most = max(unit.main.total_ns for unit in units)
    leaders = [unit for unit in units if unit.main.total_ns >= NEARLY * most]
    return max(leaders, key=lambda unit: (unit.main.mean_ns, unit.main.total_ns, unit.main.name))


def _covering(unit: _Unit) -> Reading:
    main = unit.main
    events = _all_events(main, unit.prefills)
    reason = (
        f"the annotation {main.name!r} repeats {main.count} times and holds "
        f"{100 * unit.held:.0f} % of the work"
    )
    types = [
        "prefill" if family_name(name) != main.name else type_of_name(name)
        for name in events["name"].to_list()
    ]
    notes = tuple(f"{family.count} of {family.name!r} taken as prefill" for family in unit.prefills)
    return Reading("marker", main.name, _spans(events, types), 0.95, reason, notes)


def _all_events(main: _Family, others: list[_Family]) -> pl.DataFrame:
    return pl.concat([main.events, *(family.events for family in others)])


def _prefills(main: _Family, families: list[_Family]) -> list[_Family]:
    """Annotations beside the main one that say so, or that are seldom and much longer."""
    return [
        family
        for family in families
        if family is not main
        and (type_of_name(family.name) == "prefill" or _seldom_and_long(family, main))
        and not _meet(family.events, main.events)
    ]


def _seldom_and_long(family: _Family, main: _Family) -> bool:
    seldom = MIN_REPEATS <= family.count <= SELDOM * main.count
    return seldom and family.mean_ns > LONGER * main.mean_ns


def _meet(some: pl.DataFrame, others: pl.DataFrame) -> bool:
    """Whether any of some overlaps any of the others in its process."""
    both = pl.concat([some, others]).sort("pid", "start_ns")
    early = pl.col("start_ns") < pl.col("end_ns").cum_max().shift().over("pid")
    return bool(both.select(early.any()).item())


def _beating(trace: Trace, even: list[_Family], *, on_device: bool) -> Reading:
    """Cycles from mark to mark of an annotation that comes once per cycle."""
    chosen = max(even, key=lambda f: (bool(_CLOSES.search(f.name)), f.total_ns, f.name))
    spans = _mark_to_mark(trace, chosen, on_device=on_device)
    reason = f"the annotation {chosen.name!r} comes {chosen.count} times, evenly"
    notes = (_mark_note(chosen.name),)
    return Reading("marker", chosen.name, spans, 0.8, reason, notes, on_device)


def _mark_note(name: str) -> str:
    where = "end to end" if _CLOSES.search(name) else "start to start"
    return f"{name!r} does not span its cycle: cycles run from {where}"


# -- asked for by name -----------------------------------------------------------------------------


def marked(trace: Trace, marker: str) -> Reading | None:
    """Cycles as the named mark gives them; None where the recording has no such event.

    A name fits as it is, without its numbers, or with `*` and `?`.  Annotations are asked first,
    then Python calls and every other host event, then annotations and kernels of the device.
    """
    fitting = _fitting(_host_annotations(trace), marker)
    if fitting.is_empty():
        names = python_calls(trace).names
        called = anchored(trace, frozenset(_names_that_fit(list(names), marker)))
        if called is not None:
            return called
        fitting = _fitting(_host_events(trace), marker)
    if not fitting.is_empty():
        return _as_asked(trace, _family(marker, _outermost(fitting)), on_device=False)
    fitting = _fitting(_device_events(trace), marker)
    if fitting.is_empty():
        return None
    return _as_asked(trace, _family(marker, _outermost(fitting)), on_device=True)


def _fitting(events: pl.DataFrame, marker: str) -> pl.DataFrame:
    chosen = _names_that_fit(events["name"].unique().to_list(), marker)
    return events.filter(pl.col("name").is_in(chosen))


def _names_that_fit(names: list[str], marker: str) -> list[str]:
    """The closest that fit: as written, without numbers, as a pattern, as the end of a name."""
    bare = family_name(marker).rstrip("#_ .:")
    for fits in (
        lambda name: name == marker,
        lambda name: family_name(name).rstrip("#_ .:") == bare,
        lambda name: fnmatch.fnmatchcase(name, marker),
        lambda name: name.endswith((f": {marker}", f".{marker}")),
    ):
        chosen = [name for name in names if fits(name)]
        if chosen:
            return chosen
    return []


def _as_asked(trace: Trace, family: _Family, *, on_device: bool) -> Reading:
    reason = f"asked for by name; {family.name!r} was recorded {family.count} times"
    if family.coverage >= SPARSE or family.count == 1:
        types = [type_of_name(name) for name in family.events["name"].to_list()]
        spans = _spans(family.events, types)
        return Reading("marker", family.name, spans, 1.0, reason, (), on_device)
    spans = _mark_to_mark(trace, family, on_device=on_device)
    return Reading("marker", family.name, spans, 1.0, reason, (_mark_note(family.name),), on_device)


# -- events ----------------------------------------------------------------------------------------


def _host_annotations(trace: Trace) -> pl.DataFrame:
    return _events(host_columns(trace), pl.col("kind") == "annotation")


def _host_events(trace: Trace) -> pl.DataFrame:
    return _events(host_columns(trace), ~pl.col("kind").is_in(["trace", "instant", "annotation"]))


def _device_annotations(trace: Trace) -> pl.DataFrame:
    return _events(_on_device(trace), pl.col("kind") == "annotation")


def _device_events(trace: Trace) -> pl.DataFrame:
    marks = _device_annotations(trace)
    return marks if marks.height else _events(_on_device(trace), pl.col("kind") != "sync")


def _on_device(trace: Trace) -> pl.DataFrame:
    return device_columns(trace).with_columns(
        launching_process(trace).alias("pid"), pl.col("stream").alias("tid")
    )


def _events(table: pl.DataFrame, chosen: pl.Expr) -> pl.DataFrame:
    return (
        table.lazy()
        .filter(chosen, pl.col("dur_ns") > 0)
        .select(
            *(pl.col(name).cast(pl.String).fill_null("") for name in ("pid", "tid", "name")),
            pl.col("ts_ns").alias("start_ns"),
            (pl.col("ts_ns") + pl.col("dur_ns")).alias("end_ns"),
        )
        .sort("pid", "start_ns", "end_ns", descending=[False, False, True])
        .collect()
    )


def _host_families(trace: Trace) -> list[_Family]:
    return _families(_host_annotations(trace))


def _families(events: pl.DataFrame) -> list[_Family]:
    """Annotations that could be units: made by the program, one at a time in each process."""
    names = events["name"].unique().to_list()
    usable = {name: family_name(name) for name in names if is_own(name)}
    grouped = (
        events.filter(pl.col("name").is_in(list(usable)))
        .with_columns(pl.col("name").replace(usable).alias("family"))
        .partition_by("family", as_dict=True, include_key=False)
    )
    alone = ((str(name), found) for (name,), found in grouped.items() if not _overlaps(found))
    return [_family(name, found) for name, found in sorted(alone)]


def _overlaps(events: pl.DataFrame) -> bool:
    early = pl.col("start_ns") < pl.col("end_ns").cum_max().shift().over("pid")
    return bool(events.select(early.any()).item())


def _outermost(events: pl.DataFrame) -> pl.DataFrame:
    """Without events that lie inside an earlier one of the same process."""
    reached = pl.col("end_ns").cum_max().shift().over("pid")
    return events.filter((pl.col("start_ns") >= reached).fill_null(value=True))


def _family(name: str, events: pl.DataFrame) -> _Family:
    lengths = events["end_ns"] - events["start_ns"]
    extents = events.group_by("pid").agg(
        (pl.col("end_ns").max() - pl.col("start_ns").min()).alias("extent_ns")
    )
    total, extent = int(lengths.sum()), int(extents["extent_ns"].sum())
    apart = events.select(pl.col("start_ns").diff().over("pid")).to_series().drop_nulls()
    spread = float(apart.std() or 0.0) / float(apart.mean() or 1.0) if len(apart) else 1.0  # type: ignore[arg-type]
    return _Family(name, events, events.height, total, total / max(extent, 1), spread)


# -- cycles ----------------------------------------------------------------------------------------


def _spans(events: pl.DataFrame, types: list[str]) -> pl.DataFrame:
    return spans_of(
        events["pid"].to_list(),
        events["name"].to_list(),
        events["start_ns"].to_numpy(),
        events["end_ns"].to_numpy(),
        types,
    )


def _mark_to_mark(trace: Trace, family: _Family, *, on_device: bool) -> pl.DataFrame:
    """From each mark to the next of its process.

    What lies before the first mark that closes a cycle, or behind the last that begins one, is a
    cycle too if it is about as long as the others.
    """
    closes = bool(_CLOSES.search(family.name))
    side = "end_ns" if closes else "start_ns"
    extent = work_extent(trace, on_device=on_device)
    parts = []
    for (pid,), marks in family.events.partition_by("pid", as_dict=True).items():
        cuts = marks[side].to_list()
        first, last = extent.get(str(pid), (cuts[0], cuts[-1]))
        typical = float(np.median(np.diff(cuts))) if len(cuts) > 1 else 0.0
        rest = cuts[0] - first if closes else last - cuts[-1]
        if abs(rest - typical) <= _WHOLE * typical:
            cuts = [first, *cuts] if closes else [*cuts, last]
        bounds = np.array(cuts, dtype=np.int64)
        count = len(bounds) - 1
        names = [marks["name"][0]] * count
        parts.append(
            spans_of([str(pid)] * count, names, bounds[:-1], bounds[1:], ["generic"] * count)
        )
    return pl.concat(parts)
