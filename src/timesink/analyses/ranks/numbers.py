"""Numbers of ranks, as people write them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


def ranges_of(ranks: Iterable[int], most: int | None = None) -> str:
    """Ranks in order, those in a row as from and to; at most so many ranges.

    >>> ranges_of([0, 1, 2, 3, 9, 11, 12])
    '0-3, 9, 11-12'
    >>> ranges_of([0, 2, 4, 6], most=2)
    '0, 2, ... (4 ranks)'
    """
    numbers = np.unique(np.array(list(ranks), dtype=np.int64))
    if not len(numbers):
        return ""
    rows = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)
    texts = [f"{row[0]}-{row[-1]}" if len(row) > 1 else str(row[0]) for row in rows]
    if most is not None and len(texts) > most:
        return f"{', '.join(texts[:most])}, ... ({len(numbers)} ranks)"
    return ", ".join(texts)
