"""Cycles from the kernel sequence alone, for recordings that say nothing of the host."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from timesink.analyses.cycles.cycles import Candidate
from timesink.analyses.cycles.kernels.inner import inner_period
from timesink.analyses.cycles.kernels.periodic import periodic
from timesink.analyses.cycles.kernels.sequence import kernel_sequences
from timesink.analyses.cycles.reading import Reading
from timesink.model.trace import Trace


def kernel_period(trace: Trace) -> Reading | None:
    """Cycles by the period of the kernel sequence of each process; None where it has none."""
    parts: list[Reading] = []
    inner: list[Candidate] = []
    for sequence in kernel_sequences(trace):
        found = periodic(sequence)
        if found is None:
            continue
        parts.append(found)
        inside = inner_period(sequence, found)
        inner += [] if inside is None else [inside]
    if not parts:
        return None
    best = max(parts, key=lambda part: (part.trust, part.count))
    notes = dict.fromkeys(note for part in parts for note in part.notes)
    spans = pl.concat([part.spans for part in parts])
    # What the processes have inside of their cycles, counted together.
    by_anchor: dict[str, Candidate] = {}
    for one in inner:
        known = by_anchor.get(one.anchor)
        count = one.count + (known.count if known else 0)
        by_anchor[one.anchor] = replace(known or one, count=count)
    return replace(best, spans=spans, notes=tuple(notes), inside=tuple(by_anchor.values()))
