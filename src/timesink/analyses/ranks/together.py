"""What several stragglers cost as one: they are late side by side, not one after the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from timesink.analyses.ranks.panel import Panel
from timesink.model.arrays import Floats
from timesink.model.findings import Finding


def cost_together(late: Sequence[Finding], panel: Panel) -> float:
    """How much longer the run takes because of all of them, in nanoseconds.

    Each costs what it would alone, so only what they cost in different steps adds up: of those who
    are late in the same step the latest counts.
    """
    return float(np.max([_by_step(each, panel) for each in late], axis=0).sum())


def share_together(late: Sequence[Finding], panel: Panel) -> float:
    """The same as a part of the run."""
    return min(cost_together(late, panel) / max(panel.run_ns, 1.0), 1.0)


def _by_step(late: Finding, panel: Panel) -> Floats:
    """The cost of a rank over the steps, by what it takes more than its peers in each."""
    more = np.maximum(panel.excess[panel.ranks == late.rank].sum(axis=0), 0.0)
    if not more.any():
        # Its link is slow, or its peers are as slow: nothing tells one step from another.
        more = np.ones(len(panel.steps))
    return np.asarray(late.cost_ns * more / more.sum())
