"""Whether a function is called equally often on both sides."""

from __future__ import annotations

import numpy as np

from timesink.model.arrays import Flags, Floats

EQUALLY_OFTEN = 0.02
"""Calls per cycle that differ by less than this part are as many ..."""
SAME_COUNT = 0.1
"""... and so are those that differ by less than one call in ten cycles."""


def equally_often(base: Floats, new: Floats, part: float = EQUALLY_OFTEN) -> Flags:
    """Which calls per cycle are as many on both sides; never where one is not known."""
    apart = np.abs(new - base)
    return np.asarray((apart <= part * np.maximum(base, new)) | (apart <= SAME_COUNT))
