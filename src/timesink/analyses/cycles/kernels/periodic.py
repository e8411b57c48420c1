"""Cycles of one kernel sequence, if it has a period.

Where the sequence may be cut comes from two sides: places that look alike (a kernel, or a few in a
row, that come once per cycle) and lags after which the power spectrum says it repeats.  Every way
to cut is checked against the whole sequence; a run of layers is not taken for the step around it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from timesink.analyses.cycles.kernels.choosing import COVERS, best_phase, right_cut, that_hold
from timesink.analyses.cycles.kernels.cuts import LIKE_ITSELF, Cut, possible_cuts
from timesink.analyses.cycles.kernels.mixed import is_mixture, kinds_of_parts
from timesink.analyses.cycles.kernels.pattern import symbol_weights
from timesink.analyses.cycles.kernels.sequence import KernelSequence
from timesink.analyses.cycles.kernels.spectrum import likeness_by_lag
from timesink.analyses.cycles.reading import Reading, spans_of
from timesink.model import units
from timesink.model.arrays import Floats, Ints

FEWEST = 12
"""Fewer kernels than this show no pattern."""
LONGEST = 60_000
"""Places of a sequence that are looked at to find the pattern; it is then followed to the end."""
EXACT = 0.95
"""A pattern that holds this well needs no other explanation."""
_PAUSE = 5.0
"""A cycle does not last over a pause of so many typical cycles."""
_WHOLE = 0.8
"""A last cycle with fewer kernels than this share of the usual was cut by the recording."""


def periodic(sequence: KernelSequence) -> Reading | None:
    """The sequence as cycles; None where it has no period."""
    if len(sequence) < FEWEST or (sequence.symbol == sequence.symbol[0]).all():
        return None
    symbol = sequence.symbol[:LONGEST]
    length = (sequence.end - sequence.start)[:LONGEST]
    weight = symbol_weights(symbol, length)
    likeness = likeness_by_lag(symbol)
    cuts = possible_cuts(symbol, weight, likeness)
    holding = that_hold(cuts, symbol)
    if not any(cut.found.sameness * cut.found.order >= EXACT for cut in holding):
        mixed = _mixed(sequence, cuts, likeness)
        if mixed is not None or not holding:
            return mixed
    time = np.bincount(symbol, weights=length, minlength=len(weight)) / max(length.sum(), 1)
    return _reading(sequence, right_cut(sequence, holding, time), likeness)


def _mixed(sequence: KernelSequence, cuts: list[Cut], likeness: Floats) -> Reading | None:
    """Cycles of a few kinds in any order: the longest parts that are like one another."""
    symbol = sequence.symbol[:LONGEST]
    fitting = [
        (cut, kinds)
        for cut in cuts
        if cut.row and cut.found.coverage >= COVERS
        for kinds in [kinds_of_parts(symbol, cut.found.cuts)]
        if is_mixture(symbol, cut.found.cuts, kinds)
    ]
    if not fitting:
        return None
    parts = min(cut.found.parts for cut, _ in fitting)
    chosen = best_phase(sequence, [cut for cut, _ in fitting if cut.found.parts <= parts + 1])
    kinds = kinds_of_parts(symbol, chosen.found.cuts)
    counts = np.bincount(kinds)
    shared = float(counts[counts > 1].sum() / len(kinds))
    reading = _reading(sequence, chosen, likeness)
    reason = f"the kernels make up parts of {(counts > 1).sum()} kinds, again and again"
    sizes = ", ".join(str(count) for count in np.sort(counts[counts > 1])[::-1])
    note = f"cycles are of different kinds ({sizes} of each), such as prefill and decode"
    return replace(reading, trust=0.8 * shared, reason=reason, notes=(*reading.notes, note))


def _reading(sequence: KernelSequence, cut: Cut, likeness: Floats) -> Reading:
    places = _all_places(sequence, cut)
    start = sequence.start[places]
    last_of_part = np.append(places[1:], len(sequence)) - 1
    reach = np.maximum.accumulate(sequence.end)[last_of_part]
    end = np.append(start[1:], reach[-1])
    typical = float(np.median(np.diff(start)))
    end = np.where(end - start > _PAUSE * typical, reach, end)
    notes = []
    kernels = np.diff(np.append(places, len(sequence)))
    if kernels[-1] < _WHOLE * np.median(kernels[:-1]):
        start, end = start[:-1], end[:-1]
        notes.append("the last cycle is cut by the recording and left out")
    if places[0]:
        before = units.counted(int(places[0]), "kernels")
        notes.append(f"{before} before the first cycle, part of none")
    lag = round(float(np.median(kernels[:-1])))
    agrees = lag < len(likeness) and float(likeness[lag]) >= LIKE_ITSELF
    anchor = sequence.names[int(sequence.symbol[places[0]])]
    count = len(start)
    reason = (
        f"the kernel sequence repeats every {lag} kernels"
        f"{', and its spectrum says the same' if agrees else ''}"
    )
    spans = spans_of([sequence.pid] * count, [anchor] * count, start, end, ["generic"] * count)
    trust = 0.9 * cut.found.sameness * cut.found.order * (1.0 if agrees else 0.9)
    return Reading("kernels", anchor, spans, trust, reason, tuple(notes), on_device=True)


def _all_places(sequence: KernelSequence, cut: Cut) -> Ints:
    """Cuts of the whole sequence, not only of the part that was looked at."""
    cuts = cut.found.cuts
    if len(sequence) <= LONGEST:
        return cuts[cuts < len(sequence)]
    if not cut.row:
        return np.arange(cuts[0], len(sequence), cuts[1] - cuts[0])
    mark = sequence.symbol[cuts[0] : cuts[0] + cut.row]
    places = np.flatnonzero(sequence.symbol == mark[0])
    places = places[places <= len(sequence) - cut.row]
    fits = np.ones(len(places), dtype=np.bool_)
    for step in range(1, cut.row):
        fits &= sequence.symbol[places + step] == mark[step]
    return places[fits]
