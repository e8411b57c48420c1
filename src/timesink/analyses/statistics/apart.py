"""Whether two sets of measurements lie so far apart that no wandering of their levels explains it.

What a few measurements that resemble their neighbours tell about the error of their mean is so
little that any change may seem to be noise, an eightfold one with half the cycles at one level and
half at another.  The measurements themselves bound how far levels wander: where even the nearest
two of both sides are farther apart than both sides span together, that is a change.

Of 4000 pairs of made-up runs without one this many percent are apart, by measurements of each run
and the correlation of neighbours; most of them have p < 0.05 anyway:

    correlation     8     12     30
        0.6       0.0    0.0    0.0
        0.9       0.8    0.1    0.0
        0.97     11.7    4.2    0.1
"""

from __future__ import annotations

import numpy as np

from timesink.analyses.statistics.moments import QUIETLY
from timesink.model.arrays import Floats

ENOUGH = 8
"""Measurements a side needs: fewer do not show how far they wander."""


@QUIETLY
def apart(base: Floats, new: Floats, least: Floats) -> tuple[np.ndarray, Floats, Floats]:
    """Per column: whether sides are apart, and the change between the nearest and farthest two.

    Noise grows with what is measured, so positive columns are judged by ratios.  The nearest two
    must differ by `least` as well.
    """
    lows, highs = ([end(side, axis=0) for side in (base, new)] for end in (np.min, np.max))
    rises = np.asarray(lows[1] > highs[0])
    near = np.where(rises, lows[1] - highs[0], highs[1] - lows[0])
    far = np.where(rises, highs[1] - lows[0], lows[1] - highs[0])
    is_ratio = np.minimum(*lows) > 0
    ends = [np.where(is_ratio, np.log(each), each) for each in (*lows, *highs)]
    gap = np.maximum(ends[1] - ends[2], ends[0] - ends[3])
    spans = (ends[2] - ends[0]) + (ends[3] - ends[1])
    enough = min(len(base), len(new)) >= ENOUGH
    return enough & (gap > spans) & (np.abs(near) > least), near, far
