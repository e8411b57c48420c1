"""How far out what is rare is: the tail of a distribution, from its mean excess."""

from __future__ import annotations

import numpy as np

from timesink.model.intervals import Floats


def exponential_tail(
    ordered: Floats, beyond: int, times_rarer: float, least_excess: float = 0.0
) -> float:
    """What is exceeded so many times more rarely than the largest `beyond` values are reached.

    Of sorted values.  A tail that falls off exponentially is told by how far its values are beyond
    its beginning on average (peaks over a threshold).

    >>> round(exponential_tail(np.array([0.0, 1.0, 2.0, 3.0, 4.0, 6.0]), 3, 10.0), 2)
    7.37
    """
    start = float(ordered[-beyond - 1])
    excess = max(float(np.mean(ordered[-beyond:] - start)), least_excess)
    return start + excess * max(0.0, float(np.log(times_rarer)))
