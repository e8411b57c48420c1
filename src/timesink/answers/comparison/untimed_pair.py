"""The document of two runs without a timeline: what both kinds of them have in common."""

from __future__ import annotations

from collections.abc import Sequence

from timesink.answers.comparison.gate_result import GateAnswer
from timesink.output.blocks import Document, Section, Tone


def pair_document(
    paths: tuple[str, str],
    headline: str,
    sections: Sequence[Section],
    gate: GateAnswer | None,
    tone: Tone,
) -> Document:
    """Sections about both, below what a gate says where one was asked for."""
    gated: tuple[Section, ...] = ()
    if gate is not None and gate.options:
        from timesink.answers.comparison.gate import gate_section  # noqa: PLC0415 - not always asked

        gated = (gate_section(gate),)
    subject = " vs ".join(paths)
    return Document(
        "comparison", subject, subject, headline, sections=(*gated, *sections), tone=tone
    )
