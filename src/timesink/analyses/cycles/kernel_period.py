"""Cycles from the kernel sequence alone, for recordings that say nothing of the host.

Where the sequence may be cut comes from two sides: places that look alike (a kernel, or a few in a
row, that come once per cycle) and lags after which the power spectrum says it repeats.  Every way
to cut is checked against the whole sequence; a run of layers is not taken for the step around it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.cycles.kernel_sequence import KernelSequence, kernel_sequences
from timesink.analyses.cycles.mixed import is_mixture, kinds_of_parts
from timesink.analyses.cycles.pattern import Pattern, in_order, pattern, symbol_weights
from timesink.analyses.cycles.reading import MIN_REPEATS, Reading, spans_of
from timesink.analyses.cycles.spectrum import best_lags, likeness_by_lag
from timesink.model.trace import Trace

FEWEST = 12
"""Fewer kernels than this show no pattern."""
LONGEST = 60_000
"""Places of a sequence that are looked at to find the pattern; it is then followed to the end."""
HOLDS, COVERS = 0.75, 0.5
"""A pattern that holds less well, or for less of the sequence, is not one."""
EXACT = 0.95
"""A pattern that holds this well needs no other explanation."""
IN_ORDER = 0.87
"""Share of the kernels of a cycle that come in the same order in the next; chance gives 0.8."""
_ROWS = (1, 2, 4, 8)
"""Kernels in a row that may mark a cycle together."""
_UNEVEN = 0.6
"""Marks whose distances spread more than this, relative to their mean, are not tried."""
_NEARLY = 0.9
_LIKE_ITSELF = 0.5
_EXTRA_SYMBOLS, _EXTRA_TIME = 2, 0.005
_PAUSE = 5.0
_WHOLE = 0.8
_WASTE = 0.2
"""Cycles that leave out more than this share of one at the beginning are begun elsewhere."""


@dataclass(frozen=True, eq=False)
class _Cut:
    """One way to cut a sequence, and where it comes from."""

    found: Pattern
    row: int
    """Kernels in a row that mark a cut; 0 where cuts are a fixed lag apart."""


def kernel_period(trace: Trace, pid: str | None = None) -> Reading | None:
    """Cycles by the period of the kernel sequence of each process; None where it has none."""
    parts: list[Reading] = []
    for sequence in kernel_sequences(trace, pid):
        found = _periodic(sequence)
        if found is not None:
            parts.append(found)
    if not parts:
        return None
    best = max(parts, key=lambda part: (part.trust, part.count))
    notes = dict.fromkeys(note for part in parts for note in part.notes)
    return replace(best, spans=pl.concat([part.spans for part in parts]), notes=tuple(notes))


def _periodic(sequence: KernelSequence) -> Reading | None:
    if len(sequence) < FEWEST or (sequence.symbol == sequence.symbol[0]).all():
        return None
    symbol = sequence.symbol[:LONGEST]
    length = (sequence.end - sequence.start)[:LONGEST]
    weight = symbol_weights(symbol, length)
    likeness = likeness_by_lag(symbol)
    cuts = [*_by_marks(symbol, weight), *_by_lags(symbol, weight, likeness)]
    holding = _in_order([cut for cut in cuts if _repeats(cut.found)], symbol)
    if not any(cut.found.sameness * cut.found.order >= EXACT for cut in holding):
        mixed = _mixed(sequence, cuts, likeness)
        if mixed is not None or not holding:
            return mixed
    time = np.bincount(symbol, weights=length, minlength=len(weight)) / max(length.sum(), 1)
    chosen = _widest_needed(holding, time)
    chosen = _best_phase(sequence, [c for c in holding if _same_period(c, chosen)])
    return _reading(sequence, chosen, likeness)


def _mixed(
    sequence: KernelSequence, cuts: list[_Cut], likeness: NDArray[np.float64]
) -> Reading | None:
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
    chosen = _best_phase(sequence, [cut for cut, _ in fitting if cut.found.parts <= parts + 1])
    kinds = kinds_of_parts(symbol, chosen.found.cuts)
    counts = np.bincount(kinds)
    shared = float(counts[counts > 1].sum() / len(kinds))
    reading = _reading(sequence, chosen, likeness)
    reason = f"the kernels make up parts of {(counts > 1).sum()} kinds, again and again"
    sizes = ", ".join(str(count) for count in np.sort(counts[counts > 1])[::-1])
    note = f"cycles are of different kinds ({sizes} of each), such as prefill and decode"
    return replace(reading, trust=0.8 * shared, reason=reason, notes=(*reading.notes, note))


def _repeats(found: Pattern) -> bool:
    return found.sameness * found.order >= HOLDS and found.coverage >= COVERS


def _in_order(cuts: list[_Cut], symbol: NDArray[np.int64]) -> list[_Cut]:
    """Those whose parts follow the same order, place by place; looked at once per period."""
    order: dict[int, float] = {}
    for cut in sorted(cuts, key=lambda cut: -cut.found.score):
        if cut.found.parts not in order:
            order[cut.found.parts] = in_order(symbol, cut.found.cuts)
    return [cut for cut in cuts if order[cut.found.parts] >= IN_ORDER]


# -- ways to cut -----------------------------------------------------------------------------------


def _by_marks(symbol: NDArray[np.int64], weight: NDArray[np.float64]) -> list[_Cut]:
    """Cut where a kernel, or a few in a row, come: one try per number of times and distance."""
    tried: set[tuple[int, int, int]] = set()
    cuts: list[_Cut] = []
    for row in _ROWS:
        code = _in_a_row(symbol, row)
        counts = np.bincount(code)
        order = np.argsort(code, kind="stable")
        ends = np.cumsum(counts)
        for mark in np.flatnonzero((counts >= MIN_REPEATS) & (counts <= len(symbol) // 2)):
            places = order[ends[mark] - counts[mark] : ends[mark]]
            apart = np.diff(places)
            key = (len(places), int(places[0]), int(places[-1]))
            if key in tried or apart.std() > _UNEVEN * apart.mean():
                continue
            tried.add(key)
            cuts.append(_Cut(pattern(symbol, weight, places), row))
    return cuts


def _in_a_row(symbol: NDArray[np.int64], row: int) -> NDArray[np.int64]:
    """A number for each place that stands for the symbols from there on."""
    code = symbol
    for step in range(row.bit_length() - 1):
        ahead = 1 << step
        if len(code) <= ahead:
            return code[:0]
        pair = code[:-ahead] * (int(code.max()) + 1) + code[ahead:]
        code = np.unique(pair, return_inverse=True)[1]
    return code


def _by_lags(
    symbol: NDArray[np.int64], weight: NDArray[np.float64], likeness: NDArray[np.float64]
) -> list[_Cut]:
    """Cut every so many places, as the spectrum says; from the first place that keeps to it."""
    cuts: list[_Cut] = []
    for lag in best_lags(likeness, _LIKE_ITSELF):
        agrees = symbol[:-lag] == symbol[lag:]
        settled = np.flatnonzero(~agrees)
        calm = settled[settled < len(symbol) // 4]
        first = int(calm[-1]) + 1 if len(calm) else 0
        places = np.arange(first, len(symbol) + 1, lag)
        if len(places) > MIN_REPEATS:
            cuts.append(_Cut(pattern(symbol, weight, places), 0))
    return cuts


# -- the right one ---------------------------------------------------------------------------------


def _widest_needed(cuts: list[_Cut], time: NDArray[np.float64]) -> _Cut:
    """The shortest period, unless a longer one accounts for more kinds of kernels.

    Layers repeat inside of a step, but embedding, sampling and copies come once per step only.
    """
    best = max(cut.found.score for cut in cuts)
    good = [cut for cut in cuts if cut.found.score >= _NEARLY * best]
    good.sort(key=lambda cut: (-cut.found.parts, -cut.found.score))
    chosen = good[0]
    for cut in good[1:]:
        extra = cut.found.regular & ~chosen.found.regular
        lost = chosen.found.regular & ~cut.found.regular
        gained = int(extra.sum()) - int(lost.sum())
        more = gained >= _EXTRA_SYMBOLS or time[extra].sum() - time[lost].sum() >= _EXTRA_TIME
        if more and gained >= 0:
            chosen = cut
    return chosen


def _same_period(one: _Cut, other: _Cut) -> bool:
    return abs(one.found.parts - other.found.parts) <= 1 and _nearly_as_good(one, other)


def _nearly_as_good(one: _Cut, other: _Cut) -> bool:
    return one.found.score >= _NEARLY * other.found.score


def _best_phase(sequence: KernelSequence, cuts: list[_Cut]) -> _Cut:
    """A cycle begins where the device has waited longest, and the recording with a cycle."""

    def waited(cut: _Cut) -> tuple[bool, float, int]:
        first = int(cut.found.cuts[0])
        places = cut.found.cuts[(cut.found.cuts > 0) & (cut.found.cuts < len(sequence))]
        idle = sequence.start[places] - sequence.end[places - 1]
        wastes = first > _WASTE * len(sequence) / cut.found.parts
        return (not wastes, float(np.median(idle)) if len(idle) else 0.0, -first)

    return max(cuts, key=waited)


# -- its cycles ------------------------------------------------------------------------------------


def _reading(sequence: KernelSequence, cut: _Cut, likeness: NDArray[np.float64]) -> Reading:
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
        notes.append(f"{places[0]} kernels before the first cycle belong to none")
    lag = round(float(np.median(kernels[:-1])))
    agrees = lag < len(likeness) and float(likeness[lag]) >= _LIKE_ITSELF
    anchor = sequence.names[int(sequence.symbol[places[0]])]
    count = len(start)
    reason = (
        f"the kernel sequence repeats every {lag} kernels"
        f"{', and its spectrum says the same' if agrees else ''}"
    )
    spans = spans_of([sequence.pid] * count, [anchor] * count, start, end, ["generic"] * count)
    trust = 0.9 * cut.found.sameness * cut.found.order * (1.0 if agrees else 0.9)
    return Reading("kernels", anchor, spans, trust, reason, tuple(notes), on_device=True)


def _all_places(sequence: KernelSequence, cut: _Cut) -> NDArray[np.int64]:
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
