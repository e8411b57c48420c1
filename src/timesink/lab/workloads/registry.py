"""Which workloads there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from timesink.lab.choosing import chosen


@dataclass(frozen=True)
class Workload:
    """A program that can be recorded, and how."""

    name: str
    """Its module beside this one."""
    summary: str
    marker: str = ""
    """The function that is one cycle; empty: a step of the optimizer is."""
    has_loader: bool = False
    """Whether other processes load its batches."""

    @property
    def module(self) -> str:
        """What `python -m` runs.

        >>> Workload("decode", "").module
        'timesink.lab.workloads.decode'
        """
        return f"{__package__}.{self.name}"


WORKLOADS = (
    Workload("vit_train", "vision transformer in training, AdamW, bfloat16", has_loader=True),
    Workload("decode", "transformer that generates tokens with a cache", "generate_token"),
    Workload("recommender", "embedding tables and a perceptron in training", has_loader=True),
)

USUAL = ("vit_train", "decode")
"""What is recorded where none is named."""


def workloads_named(names: Sequence[str] | None) -> tuple[Workload, ...]:
    """The workloads of these names, else the usual ones.

    >>> [one.name for one in workloads_named(None)]
    ['vit_train', 'decode']
    """
    return chosen("workload", USUAL if names is None else names, WORKLOADS)
