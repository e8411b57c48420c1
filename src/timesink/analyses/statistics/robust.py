"""Location and scale that few odd measurements do not move, and filters for such ones."""

from __future__ import annotations

from math import inf, sqrt

import numpy as np

from timesink.analyses.thresholds import RobustLimits
from timesink.model.intervals import Floats


def median_deviation(values: Floats, middle: float) -> float:
    """The median absolute deviation from a middle (MAD), as it is.

    >>> median_deviation(np.array([9.0, 10.0, 10.0, 11.0, 40.0]), 10.0)
    1.0
    """
    return float(np.median(np.abs(values - middle)))


def scaled_mad(values: Floats, middle: float = 0.0) -> float:
    """How far values usually are from a middle, as the standard deviation of normal noise.

    >>> round(scaled_mad(np.array([9.0, 10.0, 10.0, 11.0, 40.0]), 10.0), 4)
    1.4826
    """
    return RobustLimits.mad_to_sigma * median_deviation(values, middle)


def scaled_mads(values: Floats, middles: Floats, axis: int) -> Floats:
    """`scaled_mad` along an axis; `middles` are as `values` less those of that axis, or as long."""
    return np.asarray(RobustLimits.mad_to_sigma * np.median(np.abs(values - middles), axis=axis))


def median_and_error(values: Floats) -> tuple[float, float]:
    """Median, and its standard error were the noise normal.

    >>> median, error = median_and_error(np.array([9.0, 10.0, 10.0, 11.0]))
    >>> median, round(error, 3)
    (10.0, 0.465)
    """
    middle = float(np.median(values))
    return middle, RobustLimits.median_error * scaled_mad(values, middle) / max(
        1, len(values)
    ) ** 0.5


def neighbour_noise(values: Floats) -> float:
    """Standard deviation of the noise from one value to the next: changes of level hardly count.

    >>> round(neighbour_noise(np.array([1.0, 2.0, 1.0, 2.0, 101.0, 102.0, 101.0])), 3)
    1.048
    """
    return scaled_mad(np.diff(values)) / sqrt(2)


def trimmed_means(rows: Floats, share: float) -> Floats:
    """Mean of every row without this part of it at either end."""
    cut = int(share * rows.shape[1])
    middle = np.sort(rows, axis=1)[:, cut : rows.shape[1] - cut]
    return np.asarray(middle.mean(axis=1))


def trimmed_estimate(values: Floats, share: float) -> tuple[float, float, float]:
    """Trimmed mean, its standard error, and the degrees of freedom (Tukey and McLaughlin).

    >>> mean, error, freedom = trimmed_estimate(np.array([1.0, 9, 10, 10, 12, 99]), 0.2)
    >>> mean, round(error, 2), freedom
    (10.25, 0.84, 3.0)
    """
    number = len(values)
    cut = int(share * number)
    ordered = np.sort(values)
    core = ordered[cut : number - cut]
    if number < 2:
        return float(core.mean()), inf, 1.0
    spread = float(np.clip(values, core[0], core[-1]).std(ddof=1))
    error = spread / ((1 - 2 * cut / number) * sqrt(number))
    return float(core.mean()), error, float(number - 2 * cut - 1)


def shortest_half(values: Floats, as_short: float = 0.0) -> tuple[float, float]:
    """Median of the half of the values that lies closest together, and how far it reaches.

    Of halves that are about as short, within a factor of 2 or `as_short`, it is the lowest one.

    >>> shortest_half(np.array([1.0, 2.0, 1.5, 40.0, 50.0]))
    (1.5, 1.0)
    """
    ordered = np.sort(values)
    half = -(-len(ordered) // 2)
    widths = ordered[half - 1 :] - ordered[: len(ordered) - half + 1]
    first = int(np.argmax(widths <= max(2 * float(widths.min()), as_short)))
    return float(np.median(ordered[first : first + half])), float(widths[first])


# Filters: values that few around them are like.


def without_outliers(*sides: Floats) -> tuple[Floats, ...]:
    """Columns with isolated outliers moved to the edge of what is usual around them.

    A level that lasts is none.  Nor is what happens in more than a tenth of the rows of a side:
    then that column is left as it is on every side.
    """
    clipped = [_clip_outliers(side) for side in sides]
    often = [
        (new != old).sum(axis=0) > max(1, int(RobustLimits.rare * len(old)))
        for old, new in zip(sides, clipped, strict=True)
    ]
    is_frequent = np.any(often, axis=0)
    return tuple(np.where(is_frequent, old, new) for old, new in zip(sides, clipped, strict=True))


def _clip_outliers(values: Floats) -> Floats:
    if len(values) < RobustLimits.window:
        return values
    # Places of each measurement and those around it; at the ends, of the first and the last.
    number = len(values)
    first = np.clip(np.arange(number) - RobustLimits.window // 2, 0, number - RobustLimits.window)
    around = np.median(values[first[:, None] + np.arange(RobustLimits.window)], axis=1)
    spread = scaled_mads(values, around, axis=0)
    reach = np.maximum(RobustLimits.spreads * spread, RobustLimits.min_step * np.abs(around))
    return np.clip(values, around - reach, around + reach)


_FAR_OFF, _FAR_OFF_PART = 12.0, 0.1
"""So many times as far from those around it as rows usually are, and by this part of them."""


def hampel_filter(values: Floats) -> Floats:
    """Values of which single ones far from all around them are as these: one row is no level."""
    if len(values) < RobustLimits.min_filtered:
        return values
    padded = np.concatenate([np.full(2, np.nan), values, np.full(2, np.nan)])
    middle = np.nanmedian(np.lib.stride_tricks.sliding_window_view(padded, 5), axis=1)
    apart = np.abs(values - middle)
    far = (apart > _FAR_OFF * np.median(apart)) & (apart > _FAR_OFF_PART * np.abs(middle))
    return np.asarray(np.where(far, middle, values))
