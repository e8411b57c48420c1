"""Which workloads there are."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LabWorkload:
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
        """What `python -m` runs."""
        return f"{__package__}.{self.name}"


WORKLOADS = (
    LabWorkload("vit_train", "vision transformer in training, AdamW, bfloat16", has_loader=True),
    LabWorkload("denoise", "diffusion transformer that draws pictures, bfloat16", "denoise_step"),
)
