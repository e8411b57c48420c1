"""The kernels of one device, in the order they ran."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.analyses.columns import Codes, device_columns, encode, start_and_end
from timesink.analyses.cycles.cycles import MIN_REPEATS, launching_process
from timesink.analyses.kernels.join_alignment import common_lengths
from timesink.model.arrays import Flags, Floats, Ints
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Trace

_MAIN_STREAM = 0.5
"""A stream with this share of a device's work shows the order of it; else all streams together."""


@dataclass(frozen=True, eq=False)
class KernelSequence:
    """Device work of one process in the order of its starts; arrays have one entry per event."""

    pid: str
    symbol: Codes
    """Place in `names`."""
    start: Ints
    end: Ints
    names: list[str]

    def __len__(self) -> int:
        return len(self.symbol)


def kernel_sequences(trace: Trace) -> Iterator[KernelSequence]:
    """One sequence per process: of the device, and the stream, on which it did most.

    The process is that of the launching calls; that of the device's lane where none are known.
    """
    every = device_columns(trace).with_columns(
        launching_process(trace).alias("launched_by"),
        pl.col("stream").cast(pl.String).fill_null(""),
        pl.col("device").fill_null(-1),
    )
    every = every.filter(pl.col("kind").is_in(BUSY_KINDS)).sort("ts_ns", maintain_order=True)
    found = every.partition_by("launched_by", as_dict=True) if every.height else {}
    for (process,), events in sorted(found.items()):
        busiest = events.group_by("device").len().sort("len", "device")["device"][-1]
        mine = events.filter(pl.col("device") == busiest)
        streams = mine.group_by("stream").len().sort("len", "stream")
        if streams["len"][-1] >= _MAIN_STREAM * mine.height:
            mine = mine.filter(pl.col("stream") == streams["stream"][-1])
        symbol, names = encode(mine["name"])
        texts = [name or "" for name in names]
        yield KernelSequence(str(process), symbol, *start_and_end(mine), texts)


_CODES = 16
"""Random signs per symbol; the more, the less two unlike symbols look alike by chance."""
_SEED = 20240229


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
_WEIGHT_OF_TIME = 0.5
"""Half of a symbol's weight is its share of the time, half is that it is one symbol of many."""


@dataclass(frozen=True, eq=False)
class Cut:
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
    alike = _alike(inside, part, len(weight), len(cuts) - 1)
    present = np.bincount(inside, minlength=len(weight)) > 0
    known = weight * present
    sameness = float((alike * known).sum() / max(known.sum(), 1e-12))
    order = _order(inside, part, len(weight))
    coverage = len(inside) / max(len(symbol), 1)
    return Cut(cuts, sameness, order, alike >= 0.8, coverage, row)


def symbol_weights(symbol: Ints, length: Ints) -> Floats:
    """Weights that add up to 1; rare symbols count, and so do those that take time."""
    size = int(symbol.max()) + 1
    counts = np.bincount(symbol, minlength=size)
    time = np.bincount(symbol, weights=length, minlength=size)
    each = (counts > 0) / max(int((counts > 0).sum()), 1)
    share = time / max(float(time.sum()), 1.0)
    return _WEIGHT_OF_TIME * share + (1 - _WEIGHT_OF_TIME) * each


def _alike(symbol: Ints, part: Ints, size: int, parts: int) -> Floats:
    """For each symbol: how equally often it comes in neighbouring parts, on average."""
    key, count = np.unique(part * size + symbol, return_counts=True)
    follows = np.minimum(np.searchsorted(key, key + size), len(key) - 1)
    both = key[follows] == key + size
    fewer, more = np.minimum(count, count[follows]), np.maximum(count, count[follows])
    alike = np.bincount((key % size)[both], weights=(fewer / more)[both], minlength=size)
    return alike / max(parts - 1, 1)


def _order(symbol: Ints, part: Ints, size: int) -> float:
    """Pairs of successive symbols that neighbouring parts have in common."""
    together = part[:-1] == part[1:]
    pairs, inside = (symbol[:-1] * size + symbol[1:])[together], part[:-1][together]
    if not len(pairs):
        return 0.0
    _, pair = np.unique(pairs, return_inverse=True)
    width = int(pair.max()) + 1
    key, count = np.unique(inside * width + pair, return_counts=True)
    follows = np.minimum(np.searchsorted(key, key + width), len(key) - 1)
    shared = np.where(key[follows] == key + width, np.minimum(count, count[follows]), 0).sum()
    sizes = np.bincount(inside)
    possible = np.maximum(sizes[:-1], sizes[1:]).sum()
    return float(shared / possible) if possible else 0.0


def in_order(symbol: Ints, cuts: Ints) -> float:
    """The longest run of symbols, with gaps, that neighbouring parts share; a share of the longer.

    Chance gives 0.8 for two symbols and less for more; a loop gives nearly 1.  A few pairs of
    neighbours are compared, all over the sequence.
    """
    pairs = np.unique(np.linspace(0, len(cuts) - 3, _COMPARED).round().astype(int))
    shares = []
    for pair in pairs.tolist():
        one = symbol[cuts[pair] : cuts[pair + 1]][:_LONGEST_PART]
        other = symbol[cuts[pair + 1] : cuts[pair + 2]][:_LONGEST_PART]
        shares.append(common_lengths(one, other)[-1] / max(len(one), len(other), 1))
    return float(np.mean(shares)) if shares else 0.0


# Ways to cut a kernel sequence: where kernels come evenly, and every so many places.

LIKE_ITSELF = 0.5
"""A lag after which this share of the symbols is met again may be the period."""
_MOST_LAGS = 8
_LONGEST_ROW = 8
"""Kernels in a row that may mark a cycle together: one, two, four or so many."""
_UNEVEN = 0.6
"""Marks whose distances spread more than this, relative to their mean, are not tried."""


def possible_cuts(symbol: Ints, weight: Floats, likeness: Floats) -> list[Cut]:
    """Every way to cut that is worth a look; `weight` by symbol, `likeness` by lag."""
    # Cut every so many places, as the spectrum says: where the sequence is most like itself, peaks
    # only, the shortest of equals first.
    inner = likeness[1:-1]
    peak = (inner >= likeness[:-2]) & (inner >= likeness[2:]) & (inner >= LIKE_ITSELF)
    lags = np.flatnonzero(peak) + 1 if len(likeness) >= 4 else np.zeros(0, dtype=np.intp)
    order = np.lexsort((lags, -np.round(likeness[lags], 2)))
    cuts: list[Cut] = []
    for lag in lags[order][:_MOST_LAGS].tolist():
        # From the first place that keeps to it.
        settled = np.flatnonzero(symbol[:-lag] != symbol[lag:])
        calm = settled[settled < len(symbol) // 4]
        first = int(calm[-1]) + 1 if len(calm) else 0
        places = np.arange(first, len(symbol) + 1, lag)
        if len(places) > MIN_REPEATS:
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
        for mark in np.flatnonzero((counts >= MIN_REPEATS) & (counts <= len(symbol) // 2)):
            places = order[ends[mark] - counts[mark] : ends[mark]]
            apart = np.diff(places)
            key = (len(places), int(places[0]), int(places[-1]))
            if key in tried or apart.std() > _UNEVEN * apart.mean():
                continue
            tried.add(key)
            cuts.append(cut_at(symbol, weight, places, row))
        if row == _LONGEST_ROW or len(code) <= row:
            return cuts
        pair = code[:-row] * (int(code.max()) + 1) + code[row:]
        code, row = np.unique(pair, return_inverse=True)[1], 2 * row
