"""The chance of an error that is accepted, for one test and for many at once."""

from __future__ import annotations

import numpy as np

from timesink.model.intervals import Floats


def false_discovery(p: Floats) -> Floats:
    """p-values after Benjamini and Hochberg: at most that share of those below is noise.

    What could not be tested (NaN) stays so, and does not count as a test.
    """
    adjusted = np.full(len(p), np.nan)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    scaled = p[order] * len(order) / np.arange(1, len(order) + 1)
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return adjusted
