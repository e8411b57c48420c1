"""What a comparison of many roles comes to, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from timesink.analyses.comparison.pair import Pair
from timesink.analyses.comparison.role import Role
from timesink.model.arrays import Floats


@dataclass(frozen=True, slots=True)
class Difference:
    """Something in which the representative of a cluster differs from that of the largest one."""

    what: str
    """`gpu_sm_frequency`, `time of gemm`, `calls of cpu_sync`, `length of the cycle`."""
    device: str
    """`Host`, `GPU 7`; empty for the cycle as a whole."""
    base: float
    """Mean over the cycles of the largest cluster's representative."""
    own: float
    """Mean over the cycles of this cluster's representative."""
    unit: str
    """`ns` for times, empty for calls."""
    distance: float
    """What is sure of the ratio, in doublings."""


@dataclass(frozen=True, slots=True, eq=False)
class Cluster:
    """Roles that behave alike."""

    representative: int
    """Its most typical role, as a place in `Exploration.roles`."""
    members: tuple[int, ...]
    apart: str = ""
    """What sets it apart from the largest cluster, in a sentence; empty for the largest itself."""
    differences: tuple[Difference, ...] = ()
    """Everything that differs from the largest cluster by the threshold or more, largest first."""


@dataclass(frozen=True, slots=True, eq=False)
class Exploration:
    """Which of many roles behave alike, and how the groups differ."""

    roles: tuple[Role, ...]
    """Sorted by label, whatever the order they were given in."""
    distances: Floats
    """Symmetric, one row and column per role, in doublings (`clustering.distances`)."""
    threshold: float
    """Distance from which roles are told apart."""
    threshold_reason: str
    clusters: tuple[Cluster, ...]
    """Largest first, then by the label of the representative."""
    pairs: tuple[Pair, ...]
    """Comparisons (`peers`) of the representatives, largest distance first."""
    pairs_left_out: int = 0
    """Pairs of clusters that were not compared in full because there are too many."""
