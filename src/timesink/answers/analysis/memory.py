"""What a memory snapshot says: the headline, and the sections of its tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from timesink.analyses.memory_curve import memory_peaks
from timesink.analyses.snapshot.blocks import CATEGORIES
from timesink.analyses.snapshot.tables import live_by_category, live_by_stack, peak_of_all
from timesink.model import units
from timesink.model.findings import RunFinding
from timesink.model.trace import Trace
from timesink.output.blocks import Section

if TYPE_CHECKING:
    from timesink.answers.analysis.tables import Analysed, SectionResult

_WORDS = {name: name.replace("_", " ") for name in CATEGORIES} | {
    "before_history": "from before the history"
}
_MAX_PARTS, _MIN_SHARE = 3, 0.01
_LARGE = 0.05


def memory_headline(trace: Trace, findings: Sequence[RunFinding]) -> str:
    """The peak, what it is made of, the call that holds most, and what to do about it."""
    peak = peak_of_all(trace)
    if peak is None:
        reserved = int(trace.lazy("memory_segments").collect()["bytes"].sum() or 0)
        return f"No blocks in this memory snapshot; {units.brief_bytes(reserved)} are reserved."
    device, size = peak
    rows = live_by_category(trace).filter(device=device)
    parts = [
        f"{_WORDS[row['category']]} {units.brief_bytes(row['bytes'])} "
        f"({units.brief_share(row['bytes'], size)})"
        for row in rows.head(_MAX_PARTS).to_dicts()
        if row["bytes"] >= _MIN_SHARE * size
    ]
    line = f"Peak memory on {device}: {units.brief_bytes(size)}"
    line += f", of it {', '.join(parts)}." if parts else "."
    calls = live_by_stack(trace).filter(device=device).drop_nulls("place").head(1).to_dicts()
    for row in calls:
        if row["bytes"] >= _LARGE * size:
            line += f" Most is held by {row['place']}: {units.brief_bytes(row['bytes'])}."
    unused = memory_peaks(trace).filter(device=device)["fragmentation_bytes"].to_list()
    if unused and unused[0] and unused[0] >= _LARGE * size:
        line += f" The allocator holds {units.brief_bytes(unused[0])} more."
    first = findings[0] if findings else None
    return f"{line} {first.sentence}" if first else line


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
