"""What two memory snapshots differ by, as a document, as JSON and as a gate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl
from msgspec import UNSET, UnsetType

from timesink.answers.comparison.comparison_json import GateJson
from timesink.answers.comparison.gate_result import GateAnswer
from timesink.answers.comparison.untimed_pair import pair_document
from timesink.answers.tables import to_rows
from timesink.answers.views import listed_table
from timesink.comparison.gate.verdict import EXACT, FAILED, PASSED, Limit
from timesink.comparison.snapshots import GROUPS, PeakChange, SnapshotPair
from timesink.model import units
from timesink.model.findings import GateCheck
from timesink.output.blocks import Document, Section, Table, Tone
from timesink.recorder.processes import safe_text

if TYPE_CHECKING:
    from timesink.comparison.gate.budget_file import Budget

SCHEMA = "timesink/memory-comparison/1"
PEAK = "peak_memory"
_TITLES = {
    "category": ("By what it is for", "used for"),
    "module": ("By module", "module"),
    "place": ("By place in the program", "place"),
}
_TOP = 10
_MIN_SHARE_OF_GROWTH = 0.05


def peak_sentence(change: PeakChange) -> str:
    """How the peak of a device changed."""
    base, new = map(units.brief_bytes, (change.base_bytes, change.new_bytes))
    if not change.is_change:
        return f"Peak memory on {change.device} is unchanged: {new}."
    word = "more" if change.change_bytes > 0 else "less"
    by = units.change(change.base_bytes, change.new_bytes)
    return (
        f"Peak memory on {change.device}: {units.brief_bytes(abs(change.change_bytes))} {word}, "
        f"{base} to {new} ({by})."
    )


def growth_sentence(pair: SnapshotPair, change: PeakChange) -> str:
    """Where most of a growth, or of what was saved, is; empty where the peak is unchanged."""
    if not change.is_change:
        return ""
    sign = 1 if change.change_bytes > 0 else -1
    parts = []
    for by in ("category", "module", "place"):
        rows = pair.changes(by).filter(device=change.device).drop_nulls(by)
        ordered = rows.sort(sign * pl.col("change_bytes"), descending=True, maintain_order=True)
        for row in ordered.head(1).to_dicts():
            if sign * row["change_bytes"] >= _MIN_SHARE_OF_GROWTH * abs(change.change_bytes):
                name = row[by].replace("_", " ") if by == "category" else row[by]
                size = units.brief_bytes(abs(row["change_bytes"]))
                parts.append(f"{name} ({'+' if sign > 0 else '-'}{size})")
    verb = "grew" if sign > 0 else "shrank"
    return f"Most {verb}: {', '.join(parts)}." if parts else ""


def headline(pair: SnapshotPair) -> str:
    """The largest change of a peak, and where it is."""
    peaks = pair.peaks
    if not peaks:
        return "Neither snapshot holds a block of memory."
    worst = max(peaks, key=lambda change: abs(change.change_bytes))
    return " ".join(filter(None, (peak_sentence(worst), growth_sentence(pair, worst))))


def snapshots_document(
    pair: SnapshotPair, gate: GateAnswer | None, top: int | None = None
) -> Document:
    """The answer: peaks, then what is live at them by category, module and place."""
    sections = [Section("peaks", "Peak memory", (_peak_table(pair),), _leads(pair))]
    for by, (title, _) in _TITLES.items():
        table = change_table(pair, by, top or _TOP)
        if table.rows:
            sections.append(Section(f"memory-by-{by}", title, (table,)))
    return pair_document(pair.paths, headline(pair), sections, gate, _tone(pair))


def _tone(pair: SnapshotPair) -> Tone:
    changed = [change for change in pair.peaks if change.is_change]
    if any(change.change_bytes > 0 for change in changed):
        return "warning"
    return "good" if changed else "plain"


def _leads(pair: SnapshotPair) -> str:
    """What the allocators held, and which allocations failed."""
    base, new = map(units.brief_bytes, pair.reserved)
    text = f"Reserved at the end: {base} in base, {new} in new."
    if any(pair.failures):
        text += f" Failed allocations: {pair.failures[0]} in base, {pair.failures[1]} in new."
    return text


def _peak_table(pair: SnapshotPair) -> Table:
    peaks = pair.peaks
    return listed_table(
        "memory-peak-changes",
        "peaks",
        "Peak memory",
        peaks,
        {"change": [_ratio(change.base_bytes, change.new_bytes) for change in peaks]},
    )


def change_table(pair: SnapshotPair, by: str, top: int | None) -> Table:
    """What is live at the peaks by one of `GROUPS`; rows that differ come first."""
    frame = pair.changes(by)
    order = frame.sort(
        pl.col("change_bytes").abs(), pl.col("new_bytes"), descending=True, maintain_order=True
    )
    shown = order if top is None else order.head(top)
    names = shown[by]
    if by == "category":
        names = names.str.replace_all("_", " ")
    title, heading = _TITLES[by]
    return listed_table(
        "memory-changes",
        f"memory-by-{by}",
        title,
        shown,
        {"name": names.fill_null("outside of modules" if by == "module" else "not recorded")},
        titles={"name": heading},
        total_rows=frame.height,
    )


def _ratio(base: int, new: int) -> float | None:
    return 100 * (new / base - 1) if base else None


class PeakChangeJson(msgspec.Struct, frozen=True):
    """The peaks of one device."""

    device: str
    base_bytes: int
    new_bytes: int
    change_bytes: int
    change_pct: float | None
    """None where base has no peak."""
    is_change: bool
    """Whether it is more than allocators differ by from run to run."""


class SideBytesJson(msgspec.Struct, frozen=True):
    """A number of bytes, or of failures, of both snapshots."""

    base: int
    new: int


class SnapshotChangesJson(msgspec.Struct, frozen=True):
    """What is live at the peaks more or less, by what it is for, by module and by place."""

    category: list[dict[str, Any]]
    module: list[dict[str, Any]]
    place: list[dict[str, Any]]


class SnapshotComparisonJson(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of `timesink compare` about two memory snapshots."""

    schema: str
    headline: str
    base: str
    new: str
    peaks: list[PeakChangeJson]
    reserved_bytes: SideBytesJson
    """What the allocators held at the end."""
    failures: SideBytesJson
    """Allocations that failed."""
    changes: SnapshotChangesJson
    gate: GateJson | UnsetType = UNSET
    """Only of a gate, or with `--fail-on` or `--budget`."""

    @classmethod
    def of(cls, pair: SnapshotPair, gate: GateAnswer | None) -> SnapshotComparisonJson:
        return cls(
            schema=SCHEMA,
            headline=headline(pair),
            base=safe_text(pair.paths[0]),
            new=safe_text(pair.paths[1]),
            peaks=[
                PeakChangeJson(
                    change.device,
                    change.base_bytes,
                    change.new_bytes,
                    change.change_bytes,
                    _ratio(change.base_bytes, change.new_bytes),
                    change.is_change,
                )
                for change in pair.peaks
            ],
            reserved_bytes=SideBytesJson(*pair.reserved),
            failures=SideBytesJson(*pair.failures),
            changes=SnapshotChangesJson(*(to_rows(pair.changes(by)) for by in GROUPS)),
            gate=UNSET if gate is None else GateJson.of(gate),
        )


# -- whether it passes -----------------------------------------------------------------------------


def snapshots_gate(
    pair: SnapshotPair,
    limit: Limit | None,
    budgets: Sequence[Budget],
    *,
    options: str,
    command: Sequence[str],
) -> GateAnswer:
    """Whether the peaks stay within a limit in percent, and within a budget `peak_memory`."""
    allowed = next((budget.max_increase for budget in budgets if budget.name == PEAK), None)
    checks = []
    for change in pair.peaks:
        text = " ".join(filter(None, (peak_sentence(change), growth_sentence(pair, change))))
        fails = False
        if allowed is not None:
            fails = allowed.is_below(change.change_bytes, change.base_bytes)
            text += f" Budget: {allowed.text}."
        elif limit is not None:
            ratio = _ratio(change.base_bytes, change.new_bytes)
            grew = change.is_change and change.change_bytes > 0
            fails = grew and limit.is_exceeded(100.0 if ratio is None else ratio)
        name = PEAK if len(pair.peaks) == 1 else f"{PEAK} {change.device}"
        checks.append(
            GateCheck(EXACT, text, name, FAILED if fails else PASSED, beyond=change.change_bytes)
        )
    more = pair.failures[1] - pair.failures[0]
    if more > 0:
        text = f"{units.count_noun(more, 'allocations')} more failed in new."
        checks.append(GateCheck(EXACT, text, "failed allocations", FAILED))
    if not checks:
        checks.append(GateCheck(EXACT, "No blocks of memory to compare.", PEAK, "unjudged"))
    return GateAnswer(" vs ".join(pair.paths), options, tuple(checks), command=tuple(command))
