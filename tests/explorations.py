"""Many processes told apart, by hand."""

from __future__ import annotations

import numpy as np

from many_roles import many_roles
from timesink.comparison.exploration.groups import compare_peers
from timesink.comparison.results import Cluster, Exploration


def sample_exploration(**parts: object) -> Exploration:
    """Two healthy processes and one on a slow clock."""
    roles, _ = many_roles(3, groups=2)
    healthy, slow, other = roles
    usual = {
        "roles": (healthy, slow, other),
        "distances": np.array([[0, 9.26, 0.5], [9.26, 0, 9], [0.5, 9, 0]]),
        "threshold": 2.0,
        "threshold_reason": "halves of one run are up to 1.8 apart",
        "clusters": (Cluster(0, (0, 2)), Cluster(1, (1,))),
        "pairs": (compare_peers(healthy, slow),),
    }
    return Exploration(**{**usual, **parts})
