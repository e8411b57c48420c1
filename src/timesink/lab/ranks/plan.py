"""What a generated run is to be like, and the answers that are known about it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesink.errors import UsageError

# The kinds of slowness that can be put into ranks, and the cause to be found for each.  Data.


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of slowness."""

    name: str
    cause: str
    summary: str
    share_of_steps: float = 1.0
    """How many of the steps it lasts unless told otherwise."""


SLOWNESS = (
    Kind("slow_clock", "gpu_clock", "every kernel of a rank takes longer"),
    Kind("thermal", "gpu_clock", "the same, in half of the steps", 0.5),
    Kind("slow_node", "gpu_clock", "the same, on all ranks of a node"),
    Kind("slow_host", "host_code", "the host pauses before every call"),
    Kind("python_stall", "host_code", "the host pauses once, before the optimizer"),
    Kind(
        "gc_pause", "host_code", "the host pauses somewhere in the forward pass of some steps", 0.4
    ),
    Kind("sync", "synchronisation", "the host waits for the device after every layer"),
    Kind("data_loading", "data_loading", "the next batch comes late"),
    Kind("uneven_work", "uneven_work", "a rank has more tokens than its peers"),
    Kind("first_stage", "uneven_work", "the first pipeline stage has more layers"),
    Kind("last_stage", "uneven_work", "the last pipeline stage has more layers"),
    Kind("slow_link", "slow_link", "transfers to and from a rank take longer"),
    Kind("slow_bus", "slow_link", "the same, and copies between its host and device as well"),
)
KIND_OF_NAME: Mapping[str, Kind] = {one.name: one for one in SLOWNESS}
CAUSE_OF_KIND: Mapping[str, str] = {one.name: one.cause for one in SLOWNESS}
KINDS = tuple(CAUSE_OF_KIND)


@dataclass(frozen=True, slots=True)
class PlannedStraggler:
    """Slowness put into a run.

    `rank` is the culprit; of `slow_node` all ranks on its node are, of `first_stage` and
    `last_stage` all ranks of that pipeline stage are, whatever `rank` says.
    """

    kind: str
    rank: int = 0
    intensity: float = 0.25
    """What an affected step loses, as a share of its healthy length (about)."""
    share: float | None = None
    """Share of the steps that are affected; all of them unless the kind comes and goes."""

    @property
    def cause(self) -> str:
        return CAUSE_OF_KIND[self.kind]

    @property
    def share_of_steps(self) -> float:
        return KIND_OF_NAME[self.kind].share_of_steps if self.share is None else self.share


Straggler = PlannedStraggler
"""What those who plan a run call it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A training run of a transformer on many devices."""

    ranks: int = 64
    seed: int = 0
    tensor: int = 1
    pipeline: int = 1
    expert: int = 1
    """Ranks that share the experts of a layer; they are ranks of one data-parallel group."""
    ranks_per_node: int = 8
    steps: int = 5
    layers: int = 2
    """Layers of each pipeline stage."""
    microbatches: int = 0
    """Parts of a batch; as many as there are stages, unless told."""
    stragglers: tuple[PlannedStraggler, ...] = ()
    sharded: bool = False
    """Whether optimizer states are sharded: gradients are then scattered and weights gathered."""
    sequence_numbers: bool = True
    """Whether calls carry the place in their group, as newer releases of PyTorch write it."""
    skew_us: float = 5_000.0
    """How far the clocks of two nodes are apart at most."""
    drift_ppm: float = 10.0
    jitter: float = 0.01
    """Spread of the time one and the same kernel takes."""

    def __post_init__(self) -> None:
        sizes = (self.ranks, self.tensor, self.pipeline, self.expert, self.ranks_per_node)
        if min(*sizes, self.steps, self.layers) < 1 or self.microbatches < 0:
            raise UsageError("A run needs ranks, steps and layers.", "give numbers of at least 1")
        if self.ranks % (self.tensor * self.pipeline) or self.data % self.expert:
            raise UsageError(
                f"{self.ranks} ranks cannot be divided into groups of {self.tensor} (tensor), "
                f"{self.pipeline} (pipeline) and {self.expert} (expert).",
                "give sizes whose product divides the number of ranks",
            )
        if not (0 <= self.skew_us < math.inf and self.seed >= 0):
            raise UsageError("Clocks are apart by a time, and a seed is a whole number.",
                             "give 0 or more")  # fmt: skip
        for straggler in self.stragglers:
            self._check(straggler)

    def _check(self, straggler: PlannedStraggler) -> None:
        if straggler.kind not in KINDS:
            raise UsageError(
                f"There is no slowness of the kind {straggler.kind!r}.",
                f"choose one of {', '.join(KINDS)}",
            )
        if not 0 <= straggler.rank < self.ranks:
            raise UsageError(
                f"There is no rank {straggler.rank}.", f"give a rank from 0 to {self.ranks - 1}"
            )
        if not 0 < straggler.intensity < math.inf or not 0 < straggler.share_of_steps <= 1:
            raise UsageError(
                "A straggler needs an intensity above 0 and a share of the steps.",
                "give a share above 0 and up to 1",
            )

    @property
    def data(self) -> int:
        """Copies of the model."""
        return self.ranks // (self.tensor * self.pipeline)

    @property
    def nodes(self) -> int:
        return -(-self.ranks // self.ranks_per_node)

    @property
    def parts(self) -> int:
        """Parts of a batch that go through the stages one after the other."""
        return self.microbatches or self.pipeline


@dataclass(frozen=True, slots=True)
class Answer:
    """What is to be found about one straggler."""

    kind: str
    cause: str
    ranks: tuple[int, ...]
    """The culprits; naming one of them is right."""
    steps: tuple[int, ...]
    """Numbers of the affected steps, as the marks of the profiler count them."""
    cost_us: float
    """How much longer the run takes than the same run without this straggler."""
    separable: bool = True
    """Whether anything recorded tells the culprits from their peers.

    A slow link slows all of its group alike: only where a rank is in several groups do these
    cross at it.
    """


@dataclass(frozen=True, slots=True)
class Truth:
    """Everything that is known about a generated run and stands in none of its files."""

    answers: tuple[Answer, ...]
    run_us: float
    """From the start of the first step to the end of the last one, on any rank."""
    healthy_run_us: float
    """The same with all stragglers left out."""
    clock_offset_ns: tuple[int, ...]
    """By rank: what its clock shows more than the true time when recording starts."""
    clock_drift_ppm: tuple[float, ...]
    events: int = 0
    """Events of all files together."""
    files: tuple[str, ...] = field(default=(), repr=False)


# Which rank is in which process group, and where it runs.

Ints = NDArray[np.int64]

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


# What is true about a generated run, in a file beside its traces.

TRUTH_FILE = "truth.json"
SCHEMA = "timesink/lab-ranks/1"


def truth_told(plan: Plan, truth: Truth) -> dict[str, Any]:
    """The plan and what came of it, as JSON has it."""
    said = asdict(truth)
    said["files"] = [Path(file).name for file in truth.files]
    return {"schema": SCHEMA, "plan": asdict(plan), **said}


def write_truth(folder: Path, plan: Plan, truth: Truth) -> Path:
    """Write it beside the traces; nothing in it looks like a trace."""
    path = folder / TRUTH_FILE
    path.write_text(json.dumps(truth_told(plan, truth), indent=1) + "\n")
    return path
