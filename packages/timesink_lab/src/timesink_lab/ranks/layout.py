"""Which rank is in which process group, where it runs, and which of them are slow."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from timesink.errors import UsageError
from timesink.model.intervals import Floats, Ints
from timesink_lab.ranks.plan import Plan, PlannedStraggler

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
        members: dict[str, list[Ints]] = {"world": [np.arange(plan.ranks)]}
        split = {
            "data": places.transpose(0, 2, 1).reshape(-1, plan.data),
            "model": places.transpose(1, 0, 2).reshape(-1, plan.pipeline * plan.tensor),
            "tensor": places.reshape(-1, plan.tensor),
            "pipeline": places.transpose(1, 2, 0).reshape(-1, plan.pipeline),
            "expert": by_expert.transpose(0, 1, 3, 2).reshape(-1, plan.expert),
        }
        # A group of one rank has nothing to say, and a role that all play is the whole world.
        members.update({role: list(ranks) for role, ranks in split.items() if ranks.shape[1] > 1})
        if not plan.tensor > 1 < plan.pipeline:
            members.pop("model", None)
        return members

    @cached_property
    def groups(self) -> list[Group]:
        """All groups, named in the order in which every rank makes them."""
        role_groups = [(role, ranks) for role, groups in self.members.items() for ranks in groups]
        return [
            Group(str(number), role, tuple(int(rank) for rank in ranks))
            for number, (role, ranks) in enumerate(role_groups)
        ]

    @cached_property
    def _of_rank(self) -> list[dict[str, Group]]:
        groups_by_rank: list[dict[str, Group]] = [{} for _ in range(self.plan.ranks)]
        for group in self.groups:
            for rank in group.ranks:
                groups_by_rank[rank][group.role] = group
        return groups_by_rank

    def groups_of(self, rank: int) -> list[Group]:
        """The groups a rank is in, in the order they were made."""
        return list(self._of_rank[rank].values())

    def same_group_ranks(self, rank: int) -> set[int]:
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


# What stragglers do to a run, as numbers per step and rank.

WHOLE_LAYERS = {"first_stage": 0, "last_stage": -1}
"""Kinds that give a stage more layers, and which stage that is."""
LINKS = ("slow_link", "slow_bus")


@dataclass(frozen=True, eq=False)
class Slowness:
    """Arrays are steps x ranks, `link` and `bus` ranks alone; healthy are ones and zeros."""

    clock: Floats
    """Factor on what kernels take."""
    tokens: Floats
    """Factor on the tokens a rank works on."""
    host_gap_us: Floats
    """Further time before every call on the host."""
    stall_us: Floats
    """Further time before the optimizer, in which nothing is recorded."""
    pause_us: Floats
    """The same at a place of the forward pass that is another one in every step."""
    loading_us: Floats
    sync_us: Floats
    """Where above 0, the rank synchronises after every layer and then does this much more."""
    link: Floats
    """Factor on what transfers of a rank take."""
    bus: Floats
    """Factor on what copies between host and device take."""
    extra_layers: tuple[int, ...]
    """Further layers of each pipeline stage."""

    @classmethod
    def none(cls, plan: Plan) -> Slowness:
        shape = (plan.steps, plan.ranks)
        ones, zeros = np.ones(shape), np.zeros(shape)
        rank_ones = np.ones(plan.ranks)
        stages = (0,) * plan.pipeline
        return cls(ones, ones, zeros, zeros, zeros, zeros, zeros, rank_ones, rank_ones, stages)

    def of(self, ranks: Ints) -> Slowness:
        """Those of some ranks."""
        chosen = {
            field_info.name: getattr(self, field_info.name)[..., ranks]
            for field_info in fields(self)
            if field_info.name != "extra_layers"
        }
        return replace(self, **chosen)


@dataclass(frozen=True, slots=True)
class Healthy:
    """What is known of the run without stragglers; amounts of slowness are derived from it."""

    step_us: float
    kernels_us: float
    """What kernels of a step take on a rank, collectives left out."""
    tokens_us: float
    """Those of them that grow with the tokens."""
    talking_us: float
    """Transfers of a step that later work waits for."""
    host_us: float
    """What the host is busy in a step."""
    calls: int
    syncs: int
    """Places of a step where a straggler may synchronise."""
    lead_us: float
    """How far the host is ahead of the device before the optimizer."""


def affected_steps(plan: Plan, straggler: PlannedStraggler, place: int) -> Ints:
    """Which steps the `place`-th straggler affects: drawn, or all of them."""
    if straggler.kind in (*LINKS, *WHOLE_LAYERS):
        return np.arange(plan.steps)
    count = max(1, round(straggler.share_of_steps * plan.steps))
    rng = np.random.default_rng([plan.seed, 3, place])
    return np.sort(rng.choice(plan.steps, size=min(count, plan.steps), replace=False))


def culprits(layout: PlannedLayout, straggler: PlannedStraggler) -> Ints:
    """The ranks that are slow."""
    if straggler.kind == "slow_node":
        return np.flatnonzero(layout.node == layout.node[straggler.rank])
    if straggler.kind in WHOLE_LAYERS:
        return layout.stage_ranks[WHOLE_LAYERS[straggler.kind]]
    return np.array([straggler.rank])


def put_in(
    slow: Slowness,
    plan: Plan,
    layout: PlannedLayout,
    straggler: PlannedStraggler,
    *,
    place: int,
    healthy: Healthy,
) -> Slowness:
    """The slowness with one straggler more, the `place`-th of its plan."""
    ranks = culprits(layout, straggler)
    if straggler.kind in WHOLE_LAYERS:
        if plan.pipeline == 1:
            raise UsageError(
                f"A run without pipeline stages has no {straggler.kind.replace('_', ' ')}.",
                "give the plan a pipeline of 2 or more",
            )
        extra = list(slow.extra_layers)
        extra[WHOLE_LAYERS[straggler.kind]] += max(1, round(straggler.intensity * plan.layers))
        return replace(slow, extra_layers=tuple(extra))
    lost_us = straggler.intensity * healthy.step_us
    if straggler.kind in LINKS:
        slower_links = np.ones(plan.ranks)
        slower_links[ranks] = 1.0 + lost_us / healthy.talking_us
        bus = slow.bus * slower_links if straggler.kind == "slow_bus" else slow.bus
        return replace(slow, link=slow.link * slower_links, bus=bus)
    where = np.ix_(affected_steps(plan, straggler, place), ranks)
    idle_us = healthy.step_us - healthy.host_us
    slower = 1.0 + lost_us / healthy.kernels_us
    # Which field changes, and by which factor or by how much.
    name, factor, added = {
        "slow_clock": ("clock", slower, 0.0),
        "thermal": ("clock", slower, 0.0),
        "slow_node": ("clock", slower, 0.0),
        "uneven_work": ("tokens", 1.0 + lost_us / healthy.tokens_us, 0.0),
        "data_loading": ("loading_us", 1.0, lost_us),
        "python_stall": ("stall_us", 1.0, max(lost_us + healthy.lead_us, 0.0)),
        "gc_pause": ("pause_us", 1.0, lost_us),
        "sync": ("sync_us", 1.0, max(lost_us / healthy.syncs - 60.0, 5.0)),
        "slow_host": ("host_gap_us", 1.0, max(lost_us + idle_us, 0.0) / healthy.calls),
    }[straggler.kind]
    changed = getattr(slow, name).copy()
    changed[where] = changed[where] * factor + added
    return replace(slow, **{name: changed})
