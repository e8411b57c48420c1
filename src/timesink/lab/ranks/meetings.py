"""Where ranks meet: a collective ends for all when the last one has come and all is moved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from timesink.lab.ranks.layout import Ints, RankLayout
from timesink.lab.ranks.program import HostCall

Floats = NDArray[np.float64]

_GB_PER_S = {"inside": 340.0, "between": 46.0}
_SETUP_US = {"inside": 9.0, "between": 24.0}


def transfer_us(layout: RankLayout, call: HostCall, size: int) -> float:
    """How long moving takes once all are there, on links in good order."""
    between = layout.crosses_nodes[call.role]
    place = "between" if between else "inside"
    element = 4 if call.talk == "all_reduce_small" else 2
    moved = element * call.elements * call.grows
    factor = {"all_reduce": 2 * (size - 1) / size, "send": 1.0, "recv": 1.0}
    rounds = factor.get(call.talk.removesuffix("_small"), (size - 1) / size)
    return _SETUP_US[place] + rounds * moved / (_GB_PER_S[place] * 1e3)


@dataclass(eq=False)
class Meeting:
    """One collective call of ranks in several stages."""

    stages: frozenset[int]
    settle: Callable[[dict[int, Floats]], dict[int, Floats]]
    ready: dict[int, Floats] = field(default_factory=dict)
    ends: dict[int, Floats] = field(default_factory=dict)

    def come(self, stage: int, ready: Floats) -> None:
        self.ready[stage] = ready
        if self.ready.keys() == self.stages:
            self.ends = self.settle(self.ready)


def group_ends(
    ready: Floats, groups: Ints, moving_us: Floats, link: Floats, noise: Floats
) -> Floats:
    """When a collective ends on each rank.

    `groups` has a row of positions per group; `link` says how much slower than usual a rank's link
    is; of `noise` the first number of a group is that of the network, and each one that of a rank.
    """
    members = ready[groups]
    usual = moving_us[groups].max(axis=1)
    network = 1.0 + 0.02 * np.abs(noise[groups[:, 0]])
    moving = usual * network * link[groups].max(axis=1)
    ends = members.max(axis=1)[:, None] + moving[:, None] + 0.6 * np.abs(noise[groups])
    spread = np.empty_like(ready)
    spread[groups] = ends
    return spread
