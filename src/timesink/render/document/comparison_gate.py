"""What a gate says of a comparison: what passed, what failed, what cannot be judged."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from timesink import __version__
from timesink.answers.gate_result import FAILED, PASSED, UNJUDGED, Gate
from timesink.errors import TimesinkError
from timesink.model.findings import Finding
from timesink.render.comparison.words import short_names
from timesink.render.document.blocks import Block, Document, Facts, Section, Table, Text, Tone
from timesink.render.document.diagnosis_blocks import paragraphs
from timesink.render.document.packing import column, table

OUTCOMES = {PASSED: "Passed", FAILED: "Failed", UNJUDGED: "Cannot be judged"}
_TONES: dict[str, Tone] = {PASSED: "good", FAILED: "bad", UNJUDGED: "warning"}


def outcome(gate: Gate) -> str:
    """What became of it, and what was asked.

    >>> outcome(Gate("a vs b", "--fail-on 5%", ()))
    'Passed (--fail-on 5%)'
    """
    return f"{OUTCOMES[gate.outcome]} ({gate.asked})" if gate.asked else OUTCOMES[gate.outcome]


def outcome_tone(found: str) -> Tone:
    """What an outcome means for the reader."""
    return _TONES[found]


def gate_section(gate: Gate) -> Section:
    """Every check, those that do not pass first, and what these runs cannot show."""
    return Section("gate", "Whether it passes", tuple(_blocks(gate)))


def _blocks(gate: Gate) -> Iterator[Block]:
    yield Text(f"{outcome(gate)}.", outcome_tone(gate.outcome))
    yield _checks(sorted(gate.checks, key=lambda one: one.urgency))
    yield from paragraphs([gate.unseen, *(f"{doubt}." for doubt in gate.doubts)])
    if gate.command:
        yield Facts((("Command", shlex.join(gate.command)),))


def _checks(checks: list[Finding]) -> Table:
    return table(
        "checks",
        "Checks",
        [
            column("outcome", "outcome", "text", [_outcome(one) for one in checks]),
            column("kind", "kind", "text", [one.kind for one in checks]),
            column("name", "check", "text", [one.name for one in checks]),
            column("time_ns", "measured", "time_ns", [one.time_ns for one in checks]),
            column("why", "why", "text", [one.sentence for one in checks]),
        ],
    )


def _outcome(one: Finding) -> str:
    word = OUTCOMES[one.outcome].lower()
    return word if one.counts else f"{word} (not asked for)"


def error_document(gate: Gate, error: TimesinkError) -> Document:
    """What a gate says of runs that could not be compared.

    >>> from timesink.answers.gate_judgement import gate_of_error
    >>> error = TimesinkError("no such baseline")
    >>> error_document(gate_of_error(error, "@main vs run"), error).headline
    'Cannot be judged: no such baseline'
    """
    hint = Section("hint", "What to do", tuple(paragraphs([error.hint]))) if error.hint else None
    return Document(
        "comparison",
        gate.subject,
        gate.subject,
        short_names(f"{outcome(gate)}: {error.message}"),
        __version__,
        (*([hint] if hint else []), gate_section(gate)),
        outcome_tone(gate.outcome),
    )
