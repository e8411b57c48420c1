"""What changed between runs, as a document: the verdict and its causes first, tables after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from timesink import __version__
from timesink.answers.gate_result import Gate
from timesink.model import units
from timesink.model.diagnosis import Diagnosis
from timesink.render.comparison import words
from timesink.render.comparison.text import is_one_case, lead
from timesink.render.comparison.words import short_names
from timesink.render.diagnosis.words import verdict
from timesink.render.document.blocks import Document, Section, Tone
from timesink.render.document.comparison_explored import explored_sections
from timesink.render.document.comparison_gate import outcome, outcome_tone
from timesink.render.document.comparison_pairs import sections_of_one, sections_of_several
from timesink.render.document.diagnosis_blocks import tone
from timesink.reports.comparison.report import Comparison
from timesink.reports.comparison.told import Told


def comparison_document(comparison: Comparison, gate: Gate | None = None) -> Document:
    """The whole answer; with what a gate says of it, where one was asked for.

    >>> import timesink
    >>> same = timesink.compare(timesink.sample(), timesink.sample())
    >>> [section.id for section in comparison_document(same).sections]
    ['verdict', 'cycles', 'times', 'sides', 'notes']
    """
    found = comparison.diagnosis
    headline = comparison.headline
    lead_in = _lead(comparison, gate, found)
    return Document(
        "comparison",
        _title(comparison),
        _subject(comparison),
        short_names(f"{lead_in}. {headline}" if lead_in else headline),
        __version__,
        tuple(_sections(comparison, gate)),
        _tone(gate, found),
    )


def _title(comparison: Comparison) -> str:
    names = dict.fromkeys(one.title for one in comparison.pairs)
    return units.listed(list(names), 3, "; ") or units.listed(_names(comparison.sources), 3, "; ")


def _subject(comparison: Comparison) -> str:
    if len(comparison.pairs) == 1:
        one = comparison.pairs[0]
        return short_names(words.subject(Told(one.pair), one.title))
    what = units.counted(len(comparison.all_pairs), "pairs")
    return f"{units.listed(_names(comparison.sources), 4, ' and ')}: {what}"


def _names(sources: Sequence[str]) -> Sequence[str]:
    """What was compared without the folders around it, where that tells all apart.

    >>> _names(["runs/a", "runs/b"]), _names(["a/run", "b/run"])
    (['a', 'b'], ['a/run', 'b/run'])
    """
    names = [Path(source).name or source for source in sources]
    return names if len(set(names)) == len(set(sources)) else sources


def _lead(comparison: Comparison, gate: Gate | None, found: Diagnosis | None) -> str:
    """What the headline begins with: what became of the gate, or else the verdict."""
    if gate is not None and gate.asked:
        return outcome(gate)
    if found is None or not is_one_case(comparison):
        return ""
    return verdict(found) if len(comparison.pairs) == 1 else lead(comparison, found)


def _tone(gate: Gate | None, found: Diagnosis | None) -> Tone:
    if gate is not None and gate.asked:
        return outcome_tone(gate.outcome)
    return "plain" if found is None else tone(found)


def _sections(comparison: Comparison, gate: Gate | None) -> Iterator[Section]:
    if comparison.exploration is not None:
        yield from explored_sections(comparison, comparison.exploration)
    elif len(comparison.pairs) == 1:
        yield from sections_of_one(comparison, comparison.pairs[0], gate)
    else:
        yield from sections_of_several(comparison, gate)
