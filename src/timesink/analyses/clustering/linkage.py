"""Groups in which every two members are near each other (complete linkage)."""

from __future__ import annotations

import numpy as np

from timesink.model.arrays import Floats, Ints


def linked(apart: Floats, threshold: float) -> Ints:
    """The group of each member: the nearest groups join while all of their members stay near.

    Complete linkage: no two members of a group are `threshold` or more apart.  Groups carry the
    number of their first member.  Chains of nearest neighbours, so the cost is that of the matrix.
    """
    far = apart.copy()
    np.fill_diagonal(far, np.inf)
    group = np.arange(len(far))
    left = np.ones(len(far), dtype=np.bool_)
    chain: list[int] = []
    while left.any():
        if not chain:
            chain.append(int(np.argmax(left)))
        tip = chain[-1]
        nearest = _nearest(far[tip], chain[-2] if len(chain) > 1 else None)
        if far[tip, nearest] >= threshold:
            # Nobody is near the end of the chain any more: it is whole, and nothing changes for it.
            left[tip] = False
            far[tip, :] = far[:, tip] = np.inf
            chain.pop()
        elif len(chain) > 1 and nearest == chain[-2]:
            kept, gone = min(tip, nearest), max(tip, nearest)
            far[kept] = far[:, kept] = np.maximum(far[kept], far[gone])
            far[kept, kept] = np.inf
            far[gone, :] = far[:, gone] = np.inf
            left[gone] = False
            group[group == gone] = kept
            del chain[-2:]
        else:
            chain.append(nearest)
    return group


def _nearest(row: Floats, before: int | None) -> int:
    """The nearest one; of equals the one the chain came from, so that it comes to an end."""
    nearest = int(row.argmin())
    return before if before is not None and row[before] <= row[nearest] else nearest
