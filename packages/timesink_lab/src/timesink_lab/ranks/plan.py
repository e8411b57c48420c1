"""What a generated run is like, and which stragglers are put in."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from timesink.errors import UsageError
from timesink.model.data_files import csv_rows

# The kinds of slowness that can be put into ranks, and the cause to be found for each.


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of slowness."""

    name: str
    cause: str
    summary: str
    share_of_steps: float = 1.0
    """How many of the steps it lasts unless told otherwise."""


SLOWNESS = tuple(
    Kind(row["name"], row["cause"], row["summary"], float(row["share_of_steps"]))
    for row in csv_rows(Path(__file__).with_name("slowness.csv"))
)
KIND_OF_NAME: Mapping[str, Kind] = {kind.name: kind for kind in SLOWNESS}
CAUSE_OF_KIND: Mapping[str, str] = {kind.name: kind.cause for kind in SLOWNESS}
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
        """Parts of a batch that go through the stages in order."""
        return self.microbatches or self.pipeline
