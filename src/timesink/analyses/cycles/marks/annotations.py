"""Cycles as annotations mark them: one that spans the unit, or one that comes once in each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from timesink.analyses.cycles.events_in_cycles import work_by_process
from timesink.analyses.cycles.marks.events import device_annotations, host_annotations
from timesink.analyses.cycles.marks.families import Family, families_of, held
from timesink.analyses.cycles.marks.mark_to_mark import closes, mark_note, mark_to_mark, spanned
from timesink.analyses.cycles.python.prefill import LONGER, SELDOM
from timesink.analyses.cycles.ranking import best_first
from timesink.analyses.cycles.reading import MIN_REPEATS, Reading, family_name
from timesink.analyses.cycles.types import is_unit_name, type_of_name
from timesink.analyses.once import once_per_trace
from timesink.model.trace import Trace

COVERING = 0.7
"""An annotation that holds this share of the recorded work spans the unit."""
_IRREGULAR = 0.5
"""Marks whose distances spread more than this, relative to their mean, do not beat time."""


@dataclass(frozen=True, slots=True)
class _Unit:
    """Annotations that together hold the work of a run."""

    main: Family
    prefills: Sequence[Family]
    held: float
    """Share of the work they hold."""


def repeated_annotation(trace: Trace) -> Reading | None:
    """The annotation that holds most of the work and repeats; else one that beats time in it."""
    families, on_device = _host_families(trace), False
    if not families:
        events = device_annotations(trace)
        families, on_device = families_of(trace, events, on_device=True), True
    units = _covering_units(trace, families, on_device=on_device)
    covering = {unit.main: unit for unit in units}
    if covering:
        best = next(best_first(list(covering)))
        return replace(_covering(covering[best]), on_device=on_device)
    even = [
        family
        for family in families
        if family.count >= MIN_REPEATS and family.irregularity <= _IRREGULAR
    ]
    return _beating(trace, even, on_device=on_device) if even else None


def lone_annotation(trace: Trace) -> Reading | None:
    """The one pass of a recording that holds no more, where an annotation says so."""
    found = [
        family
        for family in _host_families(trace)
        if family.count < MIN_REPEATS
        and is_unit_name(family.name)
        and held(trace, [family], on_device=False) >= COVERING
    ]
    if not found:
        return None
    chosen = next(best_first(found))
    reason = f"the annotation {chosen.name!r} holds the whole recording"
    types = [type_of_name(name) for name in chosen.events["name"].to_list()]
    return Reading("marker", chosen.name, spanned(chosen.events, types), 0.9, reason)


@once_per_trace
def _host_families(trace: Trace) -> list[Family]:
    return families_of(trace, host_annotations(trace), on_device=False)


# -- annotations that hold the work ----------------------------------------------------------------


def _covering_units(
    trace: Trace, families: Sequence[Family], *, on_device: bool
) -> Iterator[_Unit]:
    """Annotations that repeat and hold most of the work, with the prefills beside them."""
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
            yield _Unit(main, prefills, share)


def _meet(one: Family, other: Family) -> bool:
    """Whether any event of one overlaps any of the other in its process."""
    at, until = (
        np.concatenate([one.events[side].to_numpy(), other.events[side].to_numpy()])
        for side in ("at", "until")
    )
    order = np.argsort(at, kind="stable")
    reach = np.maximum.accumulate(until[order])
    return bool((at[order][1:] < reach[:-1]).any())


def _covering(unit: _Unit) -> Reading:
    main = unit.main
    events = pl.concat([main.events, *(family.events for family in unit.prefills)])
    reason = (
        f"the annotation {main.name!r} repeats {main.count} times and holds "
        f"{100 * unit.held:.0f} % of the work"
    )
    types = [
        "prefill" if family_name(name) != main.name else type_of_name(name)
        for name in events["name"].to_list()
    ]
    notes = tuple(f"{family.count} of {family.name!r} taken as prefill" for family in unit.prefills)
    return Reading("marker", main.name, spanned(events, types), 0.95, reason, notes)


# -- annotations that come once per cycle ----------------------------------------------------------


def _beating(trace: Trace, even: list[Family], *, on_device: bool) -> Reading:
    """Cycles from mark to mark of an annotation that comes once per cycle."""
    chosen = max(even, key=lambda family: (closes(family.name), family.total_ns, family.name))
    spans = mark_to_mark(trace, chosen, on_device=on_device)
    reason = f"the annotation {chosen.name!r} comes {chosen.count} times, evenly"
    notes = (mark_note(chosen.name),)
    return Reading("marker", chosen.name, spans, 0.8, reason, notes, on_device)
