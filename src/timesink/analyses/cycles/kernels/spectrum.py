"""After how many places a sequence of symbols looks like itself again, from its power spectrum."""

from __future__ import annotations

import numpy as np

from timesink.model.arrays import Floats, Ints

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


def best_lags(likeness: Floats, at_least: float, limit: int = 8) -> list[int]:
    """Lags at which the sequence is most like itself, peaks only, the shortest of equals first."""
    if len(likeness) < 4:
        return []
    inner = likeness[1:-1]
    peak = (inner >= likeness[:-2]) & (inner >= likeness[2:]) & (inner >= at_least)
    lags = np.flatnonzero(peak) + 1
    order = np.lexsort((lags, -np.round(likeness[lags], 2)))
    return [int(lag) for lag in lags[order][:limit]]
