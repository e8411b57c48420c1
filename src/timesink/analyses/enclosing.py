"""The nearest caller of some sort: the module around an operator, the tree around a call."""

from __future__ import annotations

import numpy as np

from timesink.analyses.nesting import Nodes
from timesink.model.arrays import Flags


def enclosing(nodes: Nodes, parent: Nodes, wanted: Flags) -> Nodes:
    """For each node itself or its nearest caller that is wanted; -1 where there is none."""
    found = np.array(nodes, dtype=np.int64)
    climbing = np.flatnonzero(found >= 0)
    while len(climbing):
        climbing = climbing[~wanted[found[climbing]]]
        found[climbing] = parent[found[climbing]]
        climbing = climbing[found[climbing] >= 0]
    return found
