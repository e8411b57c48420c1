"""Cycles as annotations mark them: one that spans the unit, or one that comes once in each."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from timesink.analyses.cycles.cycles import (
    MIN_REPEATS,
    Reading,
    best_first,
    family_name,
    is_unit_name,
    spans_of,
    type_of_name,
)
from timesink.analyses.cycles.marks import (
    Family,
    closes,
    device_events,
    families,
    families_of,
    from_mark_to_mark,
    held,
    host_annotations,
    host_events,
    outermost,
    spanned,
    work_by_process,
)
from timesink.analyses.cycles.python_calls import python_calls
from timesink.analyses.cycles.python_loops import LONGER, SELDOM, anchored
from timesink.analyses.steps import find_steps, step_names
from timesink.model import units
from timesink.model.trace import Trace

COVERING = 0.7
"""An annotation that holds this share of the recorded work spans the unit."""
_IRREGULAR = 0.5
"""Marks whose distances spread more than this, relative to their mean, do not beat time."""


def repeated_annotation(trace: Trace) -> Reading | None:
    """The annotation that holds most of the work and repeats; else one that beats time in it."""
    known, on_device = families_of(trace, on_device=False), False
    if not known:
        known, on_device = families_of(trace, on_device=True), True
    units = _covering_units(trace, known, on_device=on_device)
    covering = {main: (prefills, share) for main, prefills, share in units}
    if covering:
        main = next(best_first(list(covering)))
        prefills, share = covering[main]
        events = pl.concat([main.events, *(family.events for family in prefills)])
        types = [
            "prefill" if family_name(name) != main.name else type_of_name(name)
            for name in events["name"].to_list()
        ]
        reason = (
            f"the annotation {main.name!r} repeats {main.count} times and holds "
            f"{100 * share:.0f} % of the work"
        )
        notes = tuple(f"{family.count} of {family.name!r} taken as prefill" for family in prefills)
        spans = spanned(events, types)
        return Reading("marker", main.name, spans, 0.95, reason, notes, on_device)
    even = [
        family
        for family in known
        if family.count >= MIN_REPEATS and family.irregularity <= _IRREGULAR
    ]
    if not even:
        return None
    # Cycles from mark to mark of an annotation that comes once per cycle.
    main = max(even, key=lambda family: (closes(family.name), family.total_ns, family.name))
    reason = f"the annotation {main.name!r} comes {main.count} times, evenly"
    return from_mark_to_mark(trace, main, 0.8, reason, on_device=on_device)


def lone_annotation(trace: Trace) -> Reading | None:
    """The one pass of a recording that holds no more, where an annotation says so."""
    found = [
        family
        for family in families_of(trace, on_device=False)
        if family.count < MIN_REPEATS
        and is_unit_name(family.name)
        and held(trace, [family], on_device=False) >= COVERING
    ]
    if not found:
        return None
    chosen = next(best_first(found))
    reason = f"the annotation {chosen.name!r} holds the whole recording"
    return Reading("marker", chosen.name, spanned(chosen.events), 0.9, reason)


def _covering_units(
    trace: Trace, families: Sequence[Family], *, on_device: bool
) -> Iterator[tuple[Family, list[Family], float]]:
    """Annotations that repeat and hold most of the work, with the prefills beside them.

    Also the share of the work that they hold together.
    """
    count = np.array([family.count for family in families])
    mean = np.array([family.mean_ns for family in families])
    work = np.array([family.work for family in families])
    prefill_by_name = np.array([type_of_name(family.name) == "prefill" for family in families])
    of_process = work_by_process(trace, on_device=on_device)
    for place, main in enumerate(families):
        if main.count < MIN_REPEATS:
            continue
        seldom = (count >= MIN_REPEATS) & (count <= SELDOM * main.count)
        beside = prefill_by_name | (seldom & (mean > LONGER * main.mean_ns))
        beside[place] = False
        total = sum(of_process.get(pid, 0) for pid in main.events["pid"].unique())
        if main.work + work[beside].sum() < COVERING * total:
            continue
        others = (families[n] for n in np.flatnonzero(beside).tolist())
        prefills = [other for other in others if not _meet(other, main)]
        share = held(trace, [main, *prefills], on_device=on_device)
        if share >= COVERING:
            yield main, prefills, share


def _meet(one: Family, other: Family) -> bool:
    """Whether any event of one overlaps any of the other in its process."""
    at, until = (
        np.concatenate([one.events[side].to_numpy(), other.events[side].to_numpy()])
        for side in ("at", "until")
    )
    order = np.argsort(at, kind="stable")
    reach = np.maximum.accumulate(until[order])
    return bool((at[order][1:] < reach[:-1]).any())


SPARSE = 0.1
"""A mark that lasts for less of the time only marks a place in its cycle."""


def named_mark(trace: Trace, marker: str) -> Reading | None:
    """Cycles as the named mark gives them; None where the recording has no such event.

    A name fits as it is, without its numbers, or with `*` and `?`.  Annotations are asked first,
    then Python calls and every other host event, then annotations and kernels of the device.
    """
    for events_of in (host_annotations, host_events, device_events):
        if events_of is host_events:
            names = _names_that_fit(list(python_calls(trace).names), marker)
            called = anchored(trace, frozenset(names))
            if called is not None:
                return called
        events = events_of(trace)
        chosen = _names_that_fit(events["name"].unique().to_list(), marker)
        if chosen:
            fitting = outermost(events.filter(pl.col("name").is_in(chosen)))
            on_device = events_of is device_events
            # As one family, whatever they are called; none of them lies in another.
            rows = fitting.with_columns(pl.lit(marker).alias("family"), pl.lit(0).alias("work"))
            (family,) = families(rows)
            often = units.counted(family.count, "times")
            reason = f"asked for by name; {family.name!r} was recorded {often}"
            if family.coverage >= SPARSE or family.count == 1:
                spans = spanned(family.events)
                return Reading("marker", family.name, spans, 1.0, reason, (), on_device)
            return from_mark_to_mark(trace, family, 1.0, reason, on_device=on_device)
    return None


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


_ANCHOR = "ProfilerStep"


def profiler_steps(trace: Trace) -> Reading | None:
    """The steps of each process, as its host marked them; None where none are marked.

    A last step whose device work was not recorded is left out.
    """
    marks = (
        trace.lazy("steps")
        .select(
            pl.col("pid").cast(pl.String).fill_null(""),
            pl.col("tid").cast(pl.String).fill_null(""),
            step_names().alias("step"),
            pl.col("ts_ns").alias("start_ns"),
            (pl.col("ts_ns") + pl.col("dur_ns")).alias("end_ns"),
        )
        .collect()
    )
    if marks.is_empty():
        return None
    # One thread of a process marks; others that repeat a step add nothing.
    threads = marks.group_by("pid", "tid").agg(pl.len()).sort("pid", "len", "tid")
    busiest = threads.group_by("pid", maintain_order=True).last()
    marks = marks.join(busiest, on=["pid", "tid"], how="semi").sort("pid", "start_ns")
    cut = find_steps(trace).filter(~pl.col("complete"))["name"].to_list()
    whole = marks.filter(~pl.col("step").is_in(cut))
    notes: tuple[str, ...] = ()
    if cut and whole.height >= MIN_REPEATS:
        lost = marks.height - whole.height
        marks = whole
        notes = (f"{lost} step{'s' * (lost > 1)} at the end cut by the recording, left out",)
    spans = spans_of(marks["pid"], _ANCHOR, marks["start_ns"], marks["end_ns"])
    return Reading("step", _ANCHOR, spans, 1.0, "the profiler marked its steps", notes)
