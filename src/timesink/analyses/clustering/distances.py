"""How far apart the behaviour of two roles is, in doublings.

The distance of two roles is that of the feature in which they differ most, and the distance in a
feature is what is sure of the ratio of the two levels: the difference of the levels less
`CERTAINTY` times its error and less what parts of one role differ by in that feature (`threshold`),
never below zero.  So **1.0 means: in something they differ by at least
a factor of two**, beyond what their cycles scatter, and 0 that nothing can be told apart.  The
largest and not the mean, because a fault shows in few features: a clock at a fifth of its frequency
is one among fifty.  Symmetric by its making; a feature that one role does not know is left out.
"""

from __future__ import annotations

import numpy as np

from timesink.analyses.clustering.levels import Levels
from timesink.model.arrays import Flags, Floats

CERTAINTY = 3.0
"""Errors that are taken off a difference."""
NOTHING_SHARED = 16.0
"""Distance of roles that have no feature in common: a factor of 65 536."""


def sure_differences(left: Levels, right: Levels, allowed: Floats | float = 0.0) -> Floats:
    """What is sure of the difference in each feature, zero where nothing is; NaN where unknown."""
    noise = CERTAINTY * np.sqrt(left.error**2 + right.error**2) + allowed
    return np.maximum(np.abs(left.mean - right.mean) - noise, 0.0)


def distances(levels: Levels, allowed: Floats | float = 0.0) -> tuple[Floats, Floats]:
    """Distances of all pairs of roles, and, to break ties, the plain differences of their levels.

    The second is the root mean square over the features both know, errors not considered.
    """
    count = len(levels.mean)
    sure, plain = np.zeros((count, count)), np.zeros((count, count))
    variances = levels.error**2
    for row in range(count - 1):
        apart = np.abs(levels.mean[row] - levels.mean[row + 1 :])
        noise = CERTAINTY * np.sqrt(variances[row] + variances[row + 1 :]) + allowed
        sure[row, row + 1 :] = np.fmax.reduce(apart - noise, axis=1)
        shared: Flags = ~np.isnan(apart)
        squares = np.where(shared, apart, 0.0) ** 2
        root: Floats = np.sqrt(squares.sum(axis=1) / np.maximum(shared.sum(axis=1), 1))
        plain[row, row + 1 :] = root
    sure = np.where(np.isnan(sure), NOTHING_SHARED, np.maximum(sure, 0.0))
    return sure + sure.T, plain + plain.T
