"""Sums of whole numbers by group."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesink.model.arrays import Ints

_EXACT_FLOATS = 1 << 53


def sums_by(group: Ints, values: NDArray[Any], groups: int) -> Ints:
    """Exact sums of whole numbers per group."""
    if len(values) * int(np.abs(values).max(initial=0)) < _EXACT_FLOATS:
        # Floats add up to the same whole numbers, several times faster.
        return np.bincount(group, values, minlength=groups).astype(np.int64)
    sums = np.zeros(groups, dtype=np.int64)
    np.add.at(sums, group, values)
    return sums
