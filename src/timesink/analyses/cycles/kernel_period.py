"""Cycles from the kernel sequence alone, for recordings that say nothing of the host."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from itertools import permutations

import msgspec
import numpy as np
import polars as pl
from msgspec import structs

from timesink.analyses.cycles.kernel_sequence import KernelSequence, kernel_sequences
from timesink.analyses.cycles.spans import Candidate, Cycles, period_ns, spans_of
from timesink.analyses.names import short_kernel_name
from timesink.analyses.thresholds import KernelPeriodLimits, SpansLimits
from timesink.model import units
from timesink.model.alignment import common_lengths
from timesink.model.arrays import densify
from timesink.model.intervals import Flags, Floats, Ints
from timesink.model.trace import Trace

_CODES = 16
"""Random signs per symbol; the more, the less two unlike symbols look alike by chance."""


def likeness_by_lag(symbol: Ints) -> Floats:
    """For each lag: which share of symbols is met again, every symbol weighing the same.

    Seldom symbols weigh as much as frequent ones: so many layers inside a step, alike among
    themselves, are less like themselves one layer on than the step is one step on.
    """
    places = len(symbol)
    counts = np.bincount(symbol)
    size = 1 << (2 * places - 1).bit_length()
    signs = np.random.default_rng(_SEED).choice([-1.0, 1.0], size=(_CODES, len(counts)))
    scaled = signs / np.sqrt(np.maximum(counts, 1))
    power = np.zeros(size // 2 + 1)
    for code in scaled:
        spectrum = np.fft.rfft(code[symbol], n=size)
        power += np.abs(spectrum) ** 2
    shared = np.fft.irfft(power, n=size)[: places // 2 + 1] / _CODES
    overlap = 1 - np.arange(len(shared)) / places
    return np.asarray(shared / (overlap * max((counts > 0).sum(), 1)))


_COMPARED, _LONGEST_PART = 8, 4_000


class Cut(msgspec.Struct, frozen=True, eq=False):
    """One way to cut a sequence, and how it repeats between the cuts."""

    cuts: Ints
    sameness: float
    """0 to 1: how equally often symbols come in neighbouring parts, by their weight."""
    order: float
    """0 to 1: how many pairs of successive symbols neighbouring parts share."""
    regular: Flags
    """For each symbol: whether it comes, about as often, in nearly every part."""
    coverage: float
    """Share of the sequence between the first and the last cut."""
    row: int
    """Kernels in a row that mark a cut; 0 where cuts are a fixed lag apart."""

    @property
    def parts(self) -> int:
        return len(self.cuts) - 1

    @property
    def score(self) -> float:
        return self.sameness * self.order * self.coverage


def cut_at(symbol: Ints, weight: Floats, cuts: Ints, row: int) -> Cut:
    """Compare each part of a sequence with the next; `weight` is one number per symbol."""
    inside = symbol[cuts[0] : cuts[-1]]
    part = np.repeat(np.arange(len(cuts) - 1), np.diff(cuts))
    # How equally often each symbol comes in neighbouring parts, on average.
    code, count, following = _in_next_part(part, inside, len(weight))
    ratio = np.minimum(count, following) / np.maximum(count, following)
    similarity = np.bincount(code, weights=ratio, minlength=len(weight)) / max(len(cuts) - 2, 1)
    present = np.bincount(inside, minlength=len(weight)) > 0
    present_weight = weight * present
    sameness = float((similarity * present_weight).sum() / max(present_weight.sum(), 1e-12))
    order = _order(inside, part, len(weight))
    coverage = len(inside) / max(len(symbol), 1)
    return Cut(cuts, sameness, order, similarity >= 0.8, coverage, row)


def symbol_weights(symbol: Ints, length: Ints) -> Floats:
    """Weights that add up to 1; rare symbols count, and so do those that take time."""
    size = int(symbol.max()) + 1
    counts = np.bincount(symbol, minlength=size)
    time = np.bincount(symbol, weights=length, minlength=size)
    equal_share = (counts > 0) / max(int((counts > 0).sum()), 1)
    share = time / max(float(time.sum()), 1.0)
    return (
        KernelPeriodLimits.weight_of_time * share
        + (1 - KernelPeriodLimits.weight_of_time) * equal_share
    )


def _in_next_part(part: Ints, code: Ints, size: int) -> tuple[Ints, Ints, Ints]:
    """Every code of every part, how often it comes there, and how often in the next part."""
    key, count = np.unique(part * size + code, return_counts=True)
    follows = np.minimum(np.searchsorted(key, key + size), len(key) - 1)
    return key % size, count, np.where(key[follows] == key + size, count[follows], 0)


def _order(symbol: Ints, part: Ints, size: int) -> float:
    """Pairs of successive symbols that neighbouring parts have in common."""
    together = part[:-1] == part[1:]
    pairs, inside = (symbol[:-1] * size + symbol[1:])[together], part[:-1][together]
    if not len(pairs):
        return 0.0
    _, pair = np.unique(pairs, return_inverse=True)
    _, count, following = _in_next_part(inside, pair, int(pair.max()) + 1)
    sizes = np.bincount(inside)
    possible = np.maximum(sizes[:-1], sizes[1:]).sum()
    return float(np.minimum(count, following).sum() / possible) if possible else 0.0


def in_order(symbol: Ints, cuts: Ints) -> float:
    """The longest run of symbols, with gaps, that neighbouring parts share; a share of the longer.

    Chance gives 0.8 for two symbols and less for more; a loop gives nearly 1.  A few pairs of
    neighbours are compared, all over the sequence.
    """
    pairs = np.unique(np.linspace(0, len(cuts) - 3, _COMPARED).round().astype(int))
    shares = []
    for pair in pairs.tolist():
        left = symbol[cuts[pair] : cuts[pair + 1]][:_LONGEST_PART]
        other = symbol[cuts[pair + 1] : cuts[pair + 2]][:_LONGEST_PART]
        shares.append(common_lengths(left, other)[-1] / max(len(left), len(other), 1))
    return float(np.mean(shares)) if shares else 0.0


# Ways to cut a kernel sequence: where kernels come evenly, and every so many places.


def possible_cuts(symbol: Ints, weight: Floats, likeness: Floats) -> list[Cut]:
    """Every way to cut that is worth a look; `weight` by symbol, `likeness` by lag."""
    # Cut every so many places, as the spectrum says: where the sequence is most like itself, peaks
    # only, the shortest of equals first.
    inner = likeness[1:-1]
    peak = (
        (inner >= likeness[:-2])
        & (inner >= likeness[2:])
        & (inner >= KernelPeriodLimits.like_itself)
    )
    lags = np.flatnonzero(peak) + 1 if len(likeness) >= 4 else np.zeros(0, dtype=np.intp)
    order = np.lexsort((lags, -np.round(likeness[lags], 2)))
    cuts: list[Cut] = []
    for lag in lags[order][: KernelPeriodLimits.max_lags].tolist():
        # From the first place that keeps to it.
        settled = np.flatnonzero(symbol[:-lag] != symbol[lag:])
        calm = settled[settled < len(symbol) // 4]
        first = int(calm[-1]) + 1 if len(calm) else 0
        places = np.arange(first, len(symbol) + 1, lag)
        if len(places) > SpansLimits.min_repeats:
            cuts.append(cut_at(symbol, weight, places, 0))
    return [*_by_marks(symbol, weight), *cuts]


def _by_marks(symbol: Ints, weight: Floats) -> list[Cut]:
    """Cut where a kernel, or a few in a row, come: one try per number of times and distance."""
    tried: set[tuple[int, int, int]] = set()
    cuts: list[Cut] = []
    # A number for each place that stands for the symbols from there on: one, then twice as many.
    code, row = symbol, 1
    while True:
        counts = np.bincount(code)
        order = np.argsort(code, kind="stable")
        ends = np.cumsum(counts)
        for mark in np.flatnonzero(
            (counts >= SpansLimits.min_repeats) & (counts <= len(symbol) // 2)
        ):
            places = order[ends[mark] - counts[mark] : ends[mark]]
            apart = np.diff(places)
            key = (len(places), int(places[0]), int(places[-1]))
            if key in tried or apart.std() > KernelPeriodLimits.uneven * apart.mean():
                continue
            tried.add(key)
            cuts.append(cut_at(symbol, weight, places, row))
        if row == KernelPeriodLimits.longest_row or len(code) <= row:
            return cuts
        pair = code[:-row] * (int(code.max()) + 1) + code[row:]
        code, row = np.unique(pair, return_inverse=True)[1], 2 * row


HOLDS, COVERS = 0.75, 0.5
"""A pattern that holds less well, or for less of the sequence, is not one."""
_EXTRA_SYMBOLS, _EXTRA_TIME = 2, 0.005
"""Kinds of kernels, or share of the time, that a longer period must account for to be taken."""


def that_hold(cuts: list[Cut], symbol: Ints) -> list[Cut]:
    """Ways to cut under which the sequence repeats, kernel by kernel and in order."""
    repeating = [
        cut for cut in cuts if cut.sameness * cut.order >= HOLDS and cut.coverage >= COVERS
    ]
    # Whether parts follow the same order, place by place, is looked at once per period.
    order: dict[int, float] = {}
    for cut in sorted(repeating, key=lambda cut: -cut.score):
        if cut.parts not in order:
            order[cut.parts] = in_order(symbol, cut.cuts)
    return [cut for cut in repeating if order[cut.parts] >= KernelPeriodLimits.in_order]


def _widest_needed(cuts: list[Cut], time: Floats) -> Cut:
    """The shortest period, unless a longer one accounts for more kinds of kernels.

    Layers repeat inside of a step, but embedding, sampling and copies come once per step only.
    """
    best = max(cut.score for cut in cuts)
    good = [cut for cut in cuts if cut.score >= KernelPeriodLimits.nearly * best]
    good.sort(key=lambda cut: (-cut.parts, -cut.score))
    chosen = good[0]
    for cut in good[1:]:
        extra = cut.regular & ~chosen.regular
        lost = chosen.regular & ~cut.regular
        gained = int(extra.sum()) - int(lost.sum())
        more = gained >= _EXTRA_SYMBOLS or time[extra].sum() - time[lost].sum() >= _EXTRA_TIME
        if more and gained >= 0:
            chosen = cut
    return chosen


def best_phase(sequence: KernelSequence, cuts: list[Cut]) -> Cut:
    """A cycle begins where the device has waited longest, and the recording with a cycle."""

    def waited(cut: Cut) -> tuple[bool, float, int]:
        first = int(cut.cuts[0])
        places = cut.cuts[(cut.cuts > 0) & (cut.cuts < len(sequence))]
        idle = sequence.start[places] - sequence.end[places - 1]
        wastes = first > KernelPeriodLimits.waste * len(sequence) / cut.parts
        return (not wastes, float(np.median(idle)) if len(idle) else 0.0, -first)

    return max(cuts, key=waited)


# Cycles of a few kinds in no fixed order, as a server's prefills and decodes are.
#
# Such a sequence has no period.  But cut at the right kernel, nearly every part is the same as some
# other part, kernel for kernel, and there are only a few different ones.

MIN_PARTS, MAX_KINDS = 6, 4
_SEED = 20240229


def kinds_of_parts(symbol: Ints, cuts: Ints) -> Ints:
    """A number for each part between cuts; parts with the same symbols, as often, share it."""
    size = int(symbol.max()) + 1
    marks = np.random.default_rng(_SEED).integers(1, 2**62, size=size, dtype=np.int64)
    with np.errstate(over="ignore"):
        sums = np.add.reduceat(marks[symbol], cuts[:-1]) if len(cuts) > 1 else marks[:0]
        if len(cuts) > 1 and cuts[-1] < len(symbol):
            sums[-1] = marks[symbol[cuts[-2] : cuts[-1]]].sum()
    return densify(np.unique(sums, return_inverse=True)[1])


# Cycles of one kernel sequence, if it has a period.
#
# Where the sequence may be cut comes from two sides: places that look alike (a kernel, or a few in
# a row, that come once per cycle) and lags after which the power spectrum says it repeats.  Every
# way to cut is checked against the whole sequence; a run of layers is not the step around it.

LONGEST = 60_000
"""Places of a sequence that are looked at to find the pattern; it is then followed to the end."""


def periodic(sequence: KernelSequence) -> Cycles | None:
    """The sequence as cycles; None where it has no period."""
    if len(sequence) < KernelPeriodLimits.min or (sequence.symbol == sequence.symbol[0]).all():
        return None
    symbol = sequence.symbol[:LONGEST]
    length = (sequence.end - sequence.start)[:LONGEST]
    weight = symbol_weights(symbol, length)
    likeness = likeness_by_lag(symbol)
    cuts = possible_cuts(symbol, weight, likeness)
    holding = that_hold(cuts, symbol)
    if not any(cut.sameness * cut.order >= KernelPeriodLimits.exact for cut in holding):
        mixed = _mixture_cycles(sequence, cuts, likeness)
        if mixed is not None or not holding:
            return mixed
    # The right period, begun at the right place.
    time = np.bincount(symbol, weights=length, minlength=len(weight)) / max(length.sum(), 1)
    chosen = _widest_needed(holding, time)
    same_period = [
        cut
        for cut in holding
        if abs(cut.parts - chosen.parts) <= 1
        and cut.score >= KernelPeriodLimits.nearly * chosen.score
    ]
    return _cycles_of_cut(sequence, best_phase(sequence, same_period), likeness)


def _mixture_cycles(sequence: KernelSequence, cuts: list[Cut], likeness: Floats) -> Cycles | None:
    """Cycles of a few kinds in any order: the longest parts that are like one another."""
    symbol = sequence.symbol[:LONGEST]
    fitting = [
        cut for cut in cuts if cut.row and cut.coverage >= COVERS and _is_mixture(symbol, cut.cuts)
    ]
    if not fitting:
        return None
    parts = min(cut.parts for cut in fitting)
    chosen = best_phase(sequence, [cut for cut in fitting if cut.parts <= parts + 1])
    counts = np.bincount(kinds_of_parts(symbol, chosen.cuts))
    shared = np.sort(counts[counts > 1])[::-1]
    sizes = ", ".join(map(str, shared))
    reading = _cycles_of_cut(sequence, chosen, likeness)
    return structs.replace(
        reading,
        confidence=0.8 * float(shared.sum() / counts.sum()),
        reason=f"the kernel sequence repeats in {len(shared)} different forms",
        notes=(
            *reading.notes,
            f"there are several step types ({sizes} steps), such as prefill and decode",
        ),
    )


def _is_mixture(symbol: Ints, cuts: Ints) -> bool:
    """Whether a few kinds make up nearly all parts, each of them seen more than once.

    A kind with all the symbols of another and more is that other with something behind it, such
    as a layer and what comes after the last one: such parts are no whole cycles.
    """
    kinds = kinds_of_parts(symbol, cuts)
    counts = np.bincount(kinds)
    shared = np.flatnonzero(counts > 1)
    if (
        len(kinds) < MIN_PARTS
        or not 1 < len(shared) <= MAX_KINDS
        or int(counts[shared].sum()) < KernelPeriodLimits.nearly_all * len(kinds)
    ):
        return False
    parts = [int(np.argmax(kinds == kind)) for kind in shared.tolist()]
    symbol_sets = [frozenset(symbol[cuts[part] : cuts[part + 1]].tolist()) for part in parts]
    return not any(subset <= other for subset, other in permutations(symbol_sets, 2))


def _cycles_of_cut(sequence: KernelSequence, cut: Cut, likeness: Floats) -> Cycles:
    places = cut.cuts[cut.cuts < len(sequence)]
    if len(sequence) > LONGEST:
        # Cuts of the whole sequence, not only of the part that was looked at.
        first, second = cut.cuts[:2]
        places = np.arange(first, len(sequence), second - first)
        if cut.row:
            places = np.arange(len(sequence) - cut.row + 1)
            for step in range(cut.row):
                places = places[sequence.symbol[places + step] == sequence.symbol[first + step]]
    start = sequence.start[places]
    last_of_part = np.append(places[1:], len(sequence)) - 1
    reach = np.maximum.accumulate(sequence.end)[last_of_part]
    end = np.append(start[1:], reach[-1])
    typical = float(np.median(np.diff(start)))
    end = np.where(end - start > KernelPeriodLimits.pause * typical, reach, end)
    notes = []
    kernels = np.diff(np.append(places, len(sequence)))
    if kernels[-1] < KernelPeriodLimits.min_kernel_share * np.median(kernels[:-1]):
        start, end = start[:-1], end[:-1]
        notes.append("the incomplete last step is left out")
    if places[0]:
        before = units.count_noun(int(places[0]), "kernels")
        notes.append(f"{before} before the first step belong to no step")
    lag = round(float(np.median(kernels[:-1])))
    agrees = lag < len(likeness) and float(likeness[lag]) >= KernelPeriodLimits.like_itself
    anchor = sequence.names[int(sequence.symbol[places[0]])]
    same = ", confirmed by its spectrum" if agrees else ""
    reason = f"the kernel sequence repeats every {lag} kernels{same}"
    spans = spans_of(sequence.pid, anchor, start, end)
    trust = 0.9 * cut.sameness * cut.order * (1.0 if agrees else 0.9)
    return Cycles(spans, "kernels", anchor, trust, reason, tuple(notes), on_device=True)


def inner_period(sequence: KernelSequence, cycles: Cycles) -> Candidate | None:
    """What repeats inside of one cycle, in the middle of the run, and marks a part of it.

    Passes of a request look like this, and layers of a pass: kernels do not tell which.
    """
    # The kernels of one cycle.
    start, end = cycles.table.select("start_ns", "end_ns").row(cycles.count // 2)
    inside = slice(*np.searchsorted(sequence.start, [start, end]).tolist())
    symbol, begins = sequence.symbol[inside], sequence.start[inside]
    inner = periodic(
        structs.replace(sequence, symbol=symbol, start=begins, end=sequence.end[inside])
    )
    if inner is None or inner.count < SpansLimits.min_repeats:
        return None
    # The first kernel that comes just once in each part, so that its name alone marks them.
    bounds = [inner.table["start_ns"][0], inner.table["end_ns"][-1]]
    parts = symbol[slice(*np.searchsorted(begins, bounds).tolist())]
    once = parts[np.bincount(parts)[parts] == inner.count]
    if not len(once):
        return None
    mark = int(once[0])
    repeats = int((symbol == mark).sum())
    name = sequence.names[mark]
    return Candidate(
        "kernels",
        name,
        int((sequence.symbol == mark).sum()),
        period_ns(inner.table),
        f"the kernels repeat {repeats} times within a step: passes of a request, or layers",
        _pattern(name, sequence.names),
    )


def _pattern(name: str, names: Sequence[str]) -> str:
    """What to ask for to get this kernel: a shorter pattern that fits no other, else its name."""
    other_names = [other for other in names if other != name]
    shared = 0
    while any(other.startswith(name[: shared + 1]) for other in other_names) and shared < len(name):
        shared += 1
    for pattern in (f"*{short_kernel_name(name)}*", f"{name[: 1 + shared]}*"):
        fits_others = any(fnmatch.fnmatchcase(other, pattern) for other in other_names)
        shorter = len(pattern) < len(name)
        if shorter and not fits_others and fnmatch.fnmatchcase(name, pattern):
            return pattern
    return name


def _of_all_streams(cycles: Cycles, main: KernelSequence, every: KernelSequence) -> Cycles:
    """The period in which all streams repeat, where that holds several of the main stream's.

    Layers may repeat on the main stream while a batch is copied on another, once per step.
    """
    wider = periodic(every) if len(every) > len(main) else None
    if wider is None or wider.count < SpansLimits.min_repeats:
        return cycles
    many = round(cycles.count / wider.count)
    is_multiple = many > 1 and abs(cycles.count - many * wider.count) <= many
    return wider if is_multiple else cycles


def kernel_period(trace: Trace) -> Cycles | None:
    """Cycles by the period of the kernel sequence of each process; None where it has none."""
    parts: list[Cycles] = []
    inner: list[Candidate] = []
    by_process = {sequence.pid: sequence for sequence in kernel_sequences(trace, every_stream=True)}
    for sequence in kernel_sequences(trace):
        cycles = periodic(sequence)
        if cycles is None:
            continue
        cycles = _of_all_streams(cycles, sequence, by_process[sequence.pid])
        parts.append(cycles)
        inside = inner_period(sequence, cycles)
        inner += [] if inside is None else [inside]
    if not parts:
        return None
    best = max(parts, key=lambda part: (part.confidence, part.count))
    notes = dict.fromkeys(note for part in parts for note in part.notes)
    table = pl.concat([part.table for part in parts])
    # What the processes have inside of their cycles, counted together.
    by_anchor: dict[str, Candidate] = {}
    for inner_cycles in inner:
        previous = by_anchor.setdefault(inner_cycles.anchor, structs.replace(inner_cycles, count=0))
        by_anchor[inner_cycles.anchor] = structs.replace(
            previous, count=previous.count + inner_cycles.count
        )
    return structs.replace(
        best, table=table, notes=tuple(notes), alternatives=tuple(by_anchor.values())
    )
