"""Which rank is in which process group, and where it runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from timesink.lab.ranks.plan import Plan
from timesink.model.arrays import Ints

DESCRIPTIONS = {
    "world": "default_pg",
    "data": "DATA_PARALLEL_GROUP",
    "model": "MODEL_PARALLEL_GROUP",
    "tensor": "TENSOR_MODEL_PARALLEL_GROUP",
    "pipeline": "PIPELINE_MODEL_PARALLEL_GROUP",
    "expert": "EXPERT_MODEL_PARALLEL_GROUP",
}
_LISTED = 30
"""PyTorch writes at most this many ranks of a group into a call."""


@dataclass(frozen=True, slots=True)
class Group:
    """One process group."""

    name: str
    role: str
    ranks: tuple[int, ...]

    @property
    def ranks_text(self) -> str:
        """Its ranks as PyTorch writes them into a call: long lists are cut."""
        if len(self.ranks) <= _LISTED:
            return str(list(self.ranks))
        first = ", ".join(str(rank) for rank in self.ranks[: _LISTED - 1])
        return f"[{first}, ..., {self.ranks[-1]}]"


class PlannedLayout:
    """Ranks in the order (stage, copy of the model, tensor): the last changes fastest."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        places = np.arange(plan.ranks).reshape(plan.pipeline, plan.data, plan.tensor)
        self.places: Ints = places
        self.stage_ranks: list[Ints] = [stage.ravel() for stage in places]
        self.node: Ints = np.arange(plan.ranks) // plan.ranks_per_node
        self.local_rank: Ints = np.arange(plan.ranks) % plan.ranks_per_node

    @cached_property
    def members(self) -> dict[str, list[Ints]]:
        """For every role the groups that play it, as arrays of ranks."""
        plan, places = self.plan, self.places
        by_expert = places.reshape(plan.pipeline, -1, plan.expert, plan.tensor)
        found: dict[str, list[Ints]] = {"world": [np.arange(plan.ranks)]}
        split = {
            "data": places.transpose(0, 2, 1).reshape(-1, plan.data),
            "model": places.transpose(1, 0, 2).reshape(-1, plan.pipeline * plan.tensor),
            "tensor": places.reshape(-1, plan.tensor),
            "pipeline": places.transpose(1, 2, 0).reshape(-1, plan.pipeline),
            "expert": by_expert.transpose(0, 1, 3, 2).reshape(-1, plan.expert),
        }
        # A group of one rank has nothing to say, and a role that all play is the whole world.
        found.update({role: list(ranks) for role, ranks in split.items() if ranks.shape[1] > 1})
        if not plan.tensor > 1 < plan.pipeline:
            found.pop("model", None)
        return found

    @cached_property
    def groups(self) -> list[Group]:
        """All groups, named in the order in which every rank makes them."""
        made = [(role, ranks) for role, groups in self.members.items() for ranks in groups]
        return [
            Group(str(number), role, tuple(int(rank) for rank in ranks))
            for number, (role, ranks) in enumerate(made)
        ]

    @cached_property
    def _of_rank(self) -> list[dict[str, Group]]:
        found: list[dict[str, Group]] = [{} for _ in range(self.plan.ranks)]
        for group in self.groups:
            for rank in group.ranks:
                found[rank][group.role] = group
        return found

    def group_of(self, role: str, rank: int) -> Group:
        return self._of_rank[rank][role]

    def groups_of(self, rank: int) -> list[Group]:
        """The groups a rank is in, in the order they were made."""
        return list(self._of_rank[rank].values())

    def alike(self, rank: int) -> set[int]:
        """The ranks that are in every group a rank talks in: a slow link may be any of theirs."""
        talking = [
            set(group.ranks)
            for group in self.groups_of(rank)
            if group.role in {"data", "tensor", "expert"}
        ]
        stages = range(self.plan.pipeline)
        talking += [
            {rank, self.neighbour(rank, forward)}
            for forward in (-1, 1)
            if self.stage_of(rank) + forward in stages
        ]
        return set(range(self.plan.ranks)).intersection(*talking)

    def stage_of(self, rank: int) -> int:
        return rank // (self.plan.data * self.plan.tensor)

    def neighbour(self, rank: int, forward: int) -> int:
        """The rank at the same place of the next (1) or the previous (-1) stage."""
        return rank + forward * self.plan.data * self.plan.tensor

    @cached_property
    def crosses_nodes(self) -> dict[str, bool]:
        return {
            role: any(len(np.unique(self.node[ranks])) > 1 for ranks in groups)
            for role, groups in self.members.items()
        }
