"""The nearest caller of some sort: the module around an operator, the tree around a call."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from timesink.analyses.nesting import Nodes


def enclosing(nodes: Nodes, parent: Nodes, wanted: NDArray[np.bool_]) -> Nodes:
    """For each node itself or its nearest caller that is wanted; -1 where there is none."""
    found = np.array(nodes, dtype=np.int64)
    climbing = np.flatnonzero(found >= 0)
    while len(climbing):
        climbing = climbing[~wanted[found[climbing]]]
        found[climbing] = parent[found[climbing]]
        climbing = climbing[found[climbing] >= 0]
    return found
