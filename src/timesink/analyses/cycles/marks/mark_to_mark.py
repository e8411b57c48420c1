"""Cycles of annotations: as long as they are, or from one to the next."""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from timesink.analyses.cycles.events_in_cycles import work_extent
from timesink.analyses.cycles.marks.families import Family
from timesink.analyses.cycles.reading import spans_of
from timesink.model.trace import Trace

_WHOLE = 0.5
"""A part whose length is off the usual by less than this share of it is taken as a whole cycle."""
_CLOSES = re.compile(r"Optimizer\.step|optimizer[._]step|lr_scheduler", re.IGNORECASE)
"""Marks that come last in their unit; all others come first."""


def closes(name: str) -> bool:
    """Whether a mark of this name comes last in its cycle."""
    return _CLOSES.search(name) is not None


def spanned(events: pl.DataFrame, types: list[str]) -> pl.DataFrame:
    """Cycles as long as the events that mark them."""
    return spans_of(
        events["pid"].to_list(),
        events["name"].to_list(),
        events["start_ns"].to_numpy(),
        events["end_ns"].to_numpy(),
        types,
    )


def mark_to_mark(trace: Trace, family: Family, *, on_device: bool) -> pl.DataFrame:
    """From each mark to the next of its process.

    What lies before the first mark that closes a cycle, or behind the last that begins one, is a
    cycle too if it is about as long as the others.
    """
    last_in_cycle = closes(family.name)
    side = "end_ns" if last_in_cycle else "start_ns"
    extent = work_extent(trace, on_device=on_device)
    parts = []
    for (pid,), marks in family.events.partition_by("pid", as_dict=True).items():
        cuts = marks[side].to_list()
        first, last = extent.get(str(pid), (cuts[0], cuts[-1]))
        typical = float(np.median(np.diff(cuts))) if len(cuts) > 1 else 0.0
        rest = cuts[0] - first if last_in_cycle else last - cuts[-1]
        if abs(rest - typical) <= _WHOLE * typical:
            cuts = [first, *cuts] if last_in_cycle else [*cuts, last]
        bounds = np.array(cuts, dtype=np.int64)
        count = len(bounds) - 1
        names = [marks["name"][0]] * count
        parts.append(
            spans_of([str(pid)] * count, names, bounds[:-1], bounds[1:], ["generic"] * count)
        )
    return pl.concat(parts)


def mark_note(name: str) -> str:
    """What to say of cycles from mark to mark."""
    where = "end to end" if closes(name) else "start to start"
    return f"{name!r} does not span its cycle: cycles run from {where}"
