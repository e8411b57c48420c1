"""What an analysis has to say, as titles and cells; where they appear is up to others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from timesink.analyses.breakdown import PARTS, average_step, step_breakdown
from timesink.analyses.device.utilisation import device_utilisation
from timesink.analyses.names import device_word
from timesink.analyses.steps import find_steps
from timesink.model import units
from timesink.model.health import HealthEntry
from timesink.model.trace import Trace
from timesink.render.ranks.words import straggler_headline
from timesink.reports.analysis import Analysis

PART_NAMES = {
    "kernel": "kernels",
    "memcpy": "copies",
    "memset": "memsets",
    "communication": "communication",
    "runtime": "runtime calls",
    "data_loader": "data loading",
    "cpu_exec": "host code",
    "other": "other",
}
_LONGEST_CASE = 160


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the average step."""

    name: str
    length: str
    share: str
    fraction: float


def subject(analysis: Analysis) -> str:
    """What was analysed: file or folder, worker, span, device."""
    metadata = analysis.trace.metadata
    name = Path(analysis.path or metadata.source).resolve().name
    pieces = [name]
    if analysis.ranks is not None and analysis.is_set:
        pieces.append(units.counted(len(analysis.ranks.ranks), "ranks"))
        pieces.append(f"{metadata.worker} in detail" if metadata.worker else "one in detail")
    elif metadata.worker and metadata.worker not in name:
        pieces.append(metadata.worker)
    if metadata.span is not None:
        pieces.append(f"span {metadata.span}")
    pieces += sorted({device.name for device in metadata.devices if device.name})[:2]
    return ", ".join(pieces)


def answer(analysis: Analysis) -> str:
    """The answer in a sentence: of a set of ranks, who holds the others up comes before all."""
    told = "" if analysis.ranks is None else straggler_headline(analysis.ranks)
    return told or analysis.headline


def detail_title(analysis: Analysis) -> str:
    """Which of several ranks is looked into."""
    return f"In detail: {analysis.trace.metadata.worker or 'the first rank'}"


def parts(trace: Trace) -> list[Part]:
    """The average step, part by part; those that take no time are left out."""
    average = average_step(trace)
    total = average.get("total_ns", 0.0)
    return [
        Part(
            PART_NAMES[part],
            units.duration_ns(average[f"{part}_ns"]),
            units.share(average[f"{part}_ns"], total),
            average[f"{part}_ns"] / total,
        )
        for part in PARTS
        if total and average[f"{part}_ns"]
    ]


def breakdown_title(trace: Trace) -> str:
    """Heading of the parts: of a step, or of all that was recorded."""
    steps = find_steps(trace)
    marked = steps.is_empty() or bool(steps["marked"][0])
    return "Where a step goes" if marked else "Where the time goes"


def steps_sentence(trace: Trace) -> str:
    """How many steps there are and how much they vary."""
    found = find_steps(trace)
    whole = step_breakdown(trace).filter("complete")["total_ns"]
    if whole.is_empty():
        return "no steps"
    if not found["marked"][0]:
        return f"no steps are marked; the recorded {units.duration_ns(int(whole[0]))} count as one"
    cut = found.height - whole.len()
    text = units.counted(whole.len(), "steps")
    if whole.len() > 1:
        shortest, longest = int(whole.to_numpy().min()), int(whole.to_numpy().max())
        text += f", {units.duration_ns(shortest)} to {units.duration_ns(longest)}"
    return text + (f", {units.counted(cut, 'more steps')} cut by the end" if cut else "")


def device_lines(trace: Trace) -> list[str]:
    """How busy each device was, one line each."""
    word = device_word(trace)
    return [_device_line(word, row) for row in device_utilisation(trace).to_dicts()]


def _device_line(word: str, row: dict[str, Any]) -> str:
    said = [f"kernels {_percent(row['utilisation'])}"]
    if row["any_activity"] is not None:
        said.append(f"any work {_percent(row['any_activity'])}")
    if row["sm_efficiency"] is not None:
        said.append(f"SM efficiency {_percent(row['sm_efficiency'])}")
    if row["occupancy_pct"] is not None:
        said.append(f"occupancy {row['occupancy_pct']:.1f} %")
    if row["tensor_core_ratio"] is not None:
        said.append(f"tensor cores {_percent(row['tensor_core_ratio'])}")
    number = row["device"]
    name = f"{word} {number}" if number is not None and number >= 0 else f"{word} without number"
    return f"{name}: {', '.join(said)}"


def _percent(ratio: float | None) -> str:
    return "-" if ratio is None else units.share(ratio, 1)


def health_sentences(entries: Sequence[HealthEntry]) -> list[str]:
    """Trace health in a line each."""
    return [
        f"{entry.rule.severity.value}: {units.count(entry.count)} x {_case(entry)}; "
        f"{entry.rule.consequence}"
        for entry in entries
    ]


def _case(entry: HealthEntry) -> str:
    """The case itself where the entry tells it, without the end of long lists."""
    told = "; ".join(entry.example.splitlines())
    if len(told) > _LONGEST_CASE:
        told = f"{told[:_LONGEST_CASE].rpartition(' ')[0]} ..."
    return f"{entry.rule.title}: {told}" if entry.is_told else entry.rule.title
