"""How much measurements resemble the ones before, and how far their mean can be trusted.

Neighbouring cycles resemble each other, and levels wander: thirty of them are not thirty
independent measurements.  Two estimates, of which the larger counts, as each is too small where
the other is not:

* how alike neighbours are, and what scatter the mean has if each measurement resembles the one
  before so (a first-order autoregression);
* the slow part of the scatter, its projections on the first few cosines (Mueller; Lazarus, Lewis
  and Stock): a level that wanders shows there, however long it lasts.

Few measurements cannot tell how alike neighbours are: twelve seem less alike than they are, and
four tell nothing.  So likeness is estimated from both sides together, corrected for the bias of
short sequences, and begins with what is common.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from timesink.analyses.thresholds import AutocorrelationLimits
from timesink.model.intervals import Floats


def cosines(measurements: int) -> int:
    """How many cosines the slow part of the scatter is judged by."""
    usual = round(0.4 * float(np.cbrt(measurements)) ** 2)
    return max(1, min(measurements - 1, max(AutocorrelationLimits.min_cosines, usual)))


def pooled_autocorrelation(sides: Sequence[Floats]) -> Floats:
    """How much a measurement resembles the one before, 0 to 1, per column of all sides together."""
    numbers = [len(side) for side in sides]
    # The bias of the lag-one correlation (Marriott and Pope), to the first order.
    correlations = [
        number * correlation + (1 + 4 * correlation)
        for number, correlation in zip(numbers, map(_lag_one, sides), strict=True)
    ]
    total = sum(correlations) + AutocorrelationLimits.common_weight * AutocorrelationLimits.common
    return np.asarray(
        np.clip(
            total / (sum(numbers) + AutocorrelationLimits.common_weight),
            0.0,
            AutocorrelationLimits.max_autocorrelation,
        )
    )


def lag1_autocorrelation(sides: Sequence[Floats]) -> float:
    """Correlation of neighbours in sequences together, without the bias of short ones; may be < 0.

    >>> round(lag1_autocorrelation([np.repeat([1.0, 2.0, 1.5, 0.5], 5)]), 2)
    0.97
    """
    numbers = [len(side) for side in sides]
    sums = [
        number * rho + (1 + 4 * rho)
        for number, rho in zip(numbers, (float(_lag_one(side)) for side in sides), strict=True)
    ]
    return sum(sums) / sum(numbers) if numbers else 0.0


def steps_per_independent_step(steps: int, autocorrelation: Floats) -> Floats:
    """How many of so many steps tell as much about their mean as one that is independent.

    `autocorrelation` is how much a step resembles the one before (`pooled_autocorrelation`).

    >>> steps_per_independent_step(8, np.array([0.0, 0.5])).round(2)
    array([1.  , 2.5])
    """
    lost = autocorrelation * (1 - autocorrelation**steps) / (steps * (1 - autocorrelation) ** 2)
    return np.asarray(1 + 2 * (autocorrelation / (1 - autocorrelation) - lost))


def variance_of_mean(values: Floats, autocorrelation: Floats) -> tuple[Floats, Floats]:
    """Variance of the mean of every column, of two rows or more, and its degrees of freedom.

    `autocorrelation` is how much a measurement resembles the one before (`pooled_autocorrelation`).
    """
    number = len(values)
    centred = values - values.mean(axis=0)
    stand_for_one = steps_per_independent_step(number, autocorrelation)
    left = np.maximum(number - stand_for_one, AutocorrelationLimits.min_left * number)
    of_neighbours = (centred**2).sum(axis=0) / number * stand_for_one / left
    slow = _slow_part(centred) / number
    freedom = np.maximum(1.0, number / stand_for_one - 1)
    known_by = np.where(slow > of_neighbours, np.minimum(freedom, cosines(number)), freedom)
    return np.maximum(of_neighbours, slow), known_by


def _slow_part(centred: Floats) -> Floats:
    """Mean square of the projections on the first cosines.

    They are half the Fourier transform of the sequence and its mirror image: a matrix of waves for
    a hundred thousand measurements would not fit into memory.
    """
    number = len(centred)
    first = np.arange(1, cosines(number) + 1)
    both = np.fft.rfft(np.concatenate([centred, centred[::-1]]), axis=0)[first]
    turned = both * np.exp(-0.5j * np.pi * first / number)[:, None]
    return np.asarray(((turned.real / 2) ** 2).mean(axis=0) * 2 / number)


def _lag_one(values: Floats) -> Floats:
    """Correlation of neighbours; 0 where nothing scatters."""
    centred = values - values.mean(axis=0)
    squares = (centred**2).sum(axis=0)
    together = (centred[1:] * centred[:-1]).sum(axis=0)
    return np.asarray(np.where(squares > 0, together / np.where(squares > 0, squares, 1.0), 0.0))
