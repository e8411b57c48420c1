"""What a memory snapshot says: the sections of its tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from timesink.output.blocks import Section

if TYPE_CHECKING:
    from timesink.answers.analysis.tables import Analysed, SectionResult

_Maker: TypeAlias = "Callable[[Analysed], SectionResult]"

_TITLES: Mapping[str, tuple[str, str]] = {
    "memory-categories": (
        "What memory is for at the peak",
        (
            "By what allocated it, and what it outlives: activations are taken by the forward "
            "pass and found by the backward pass, gradients are found by the optimizer."
        ),
    ),
    "memory-modules": ("Live memory at the peak by module", ""),
    "memory-stacks": ("Live memory at the peak by call stack", ""),
    "memory-steps": ("Peak memory of each step", ""),
    "memory-growth": ("Largest growth between two steps", ""),
    "memory-unfreed": ("Allocations never given back", ""),
    "memory-reserved": (
        "Memory that the allocator holds",
        "When the snapshot was taken: free memory serves later allocations, if it is in one piece.",
    ),
    "memory-failures": ("Allocations that failed", ""),
}
BRIEF = (
    *("memory-failures", "memory-categories", "memory-modules", "memory-stacks"),
    *("memory-steps", "memory-growth", "memory-reserved"),
)
"""Sections of the short answer."""


def _section(view: str, title: str, lead: str) -> _Maker:
    """A table of a snapshot; nothing at all where there is none, or where the table is empty."""

    def make(run: Analysed) -> SectionResult:
        if not run.analysis.trace.has_snapshot:
            return None
        table = run.table(view)
        return Section(view, title, (table,), lead) if table.rows else None

    return make


SECTIONS: Mapping[str, _Maker] = {
    view: _section(view, title, lead) for view, (title, lead) in _TITLES.items()
}
"""What makes each section about a snapshot, in the order of the report."""
