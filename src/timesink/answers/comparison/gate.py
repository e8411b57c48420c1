"""Whether a comparison passes: as a section of a document, and on one screen of a log."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from rich.cells import cell_len, chop_cells

from timesink import __version__
from timesink.answers import cause_words as words
from timesink.answers.causes import attribution_block, paragraphs
from timesink.answers.comparison.gate_result import FAILED, PASSED, UNJUDGED, Gate
from timesink.errors import TimesinkError
from timesink.model import units
from timesink.model.findings import Finding
from timesink.model.units import signed_ns
from timesink.output.blocks import Block, Document, Facts, Section, Table, Text, Tone
from timesink.output.names import short_names
from timesink.output.numbers import column, table
from timesink.output.terminal import wrapped

OUTCOMES = {PASSED: "Passed", FAILED: "Failed", UNJUDGED: "Cannot be judged"}
_TONES: dict[str, Tone] = {PASSED: "good", FAILED: "bad", UNJUDGED: "warning"}
_WIDTH, _HEIGHT = 80, 24
_IN_A_LOG = {PASSED: "passed", FAILED: "FAILED", UNJUDGED: "CANNOT BE JUDGED"}
_MOST_REASONS = 4
_MOST_PARTS = 3
_MOST_DOUBTS = 2
_MOST_ROWS = 5


def outcome(gate: Gate) -> str:
    """What became of it, and what was asked."""
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
    """What a gate says of runs that could not be compared."""
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


# -- one screen ------------------------------------------------------------------------------------


def screen(gate: Gate) -> str:
    """At most 24 rows of 80 columns, without colours: what failed, by how much, and why.

    The command that says it again is one line, however many rows it takes: it can be copied.
    """
    if gate.outcome == PASSED:
        return "\n".join(fitted(_passed(gate), _HEIGHT))
    command = _command(gate.command)
    more_rows = max(0, cell_len(command) - 1) // _WIDTH
    return "\n".join(fitted(_not_passed(gate, command), _HEIGHT - more_rows))


def _passed(gate: Gate) -> Iterator[_Lines]:
    more = [gate.unseen] if gate.unseen else []
    yield (*_head(gate), *_lines([*_reasons(gate), *more, *_doubts(gate)], 2, 14)), 0


def _not_passed(gate: Gate, command: str) -> Iterator[_Lines]:
    yield (*_head(gate), *_lines(_reasons(gate), 2, 10), *_lines(_doubts(gate), 2, 3)), 0
    if gate.outcome == FAILED:
        yield from _why(gate)
    yield ("Reproduce", command) if command else (), 1


def _command(words: Sequence[str]) -> str:
    """A line for a shell; none where a terminal does not show all of it, or it leaves no room."""
    line = f"  {shlex.join(words)}" if words else ""
    return line if line.isprintable() and cell_len(line) <= _MOST_ROWS * _WIDTH else ""


def _head(gate: Gate) -> list[str]:
    asked = f" ({gate.asked})" if gate.asked else ""
    return _lines([f"timesink: {_IN_A_LOG[gate.outcome]}{asked}: {gate.subject}"], 0, 3)


def _reasons(gate: Gate) -> list[str]:
    """Why, budgets that are kept in one sentence; of many, how many more there are."""
    said = gate.reasons
    if gate.outcome == PASSED:
        said = [one.sentence for one in gate.of_kind("cycle time")]
        said += [gate.kept] if gate.kept else []
    more = len(said) - _MOST_REASONS
    rest = [f"And {units.count(more)} more."] if more > 0 else []
    return [*said[:_MOST_REASONS], *rest]


def _doubts(gate: Gate) -> list[str]:
    return [f"{doubt}." for doubt in gate.doubts[:_MOST_DOUBTS]]


def _why(gate: Gate) -> Iterator[_Lines]:
    """The first cause, where the change sits and what to check next.

    A budget may be exceeded where cycles are not certainly longer: then the cause alone says why.
    """
    why = gate.why
    if why is None or why.verdict == "incomparable":
        return
    # What made cycles shorter is no reason to fail.
    causes = [one for one in why.causes if one.explained_ns > 0]
    is_longer = why.verdict == "regression"
    if causes:
        others = len(causes) - 1
        more = f" ({units.counted(others, 'more causes')})" if others else ""
        said = _lines([words.cause_line(causes[0])], 2, 5)
        rest = _lines([words.unexplained(why)], 2, 2) if is_longer else ()
        yield (f"First cause{more}", *said, *rest), 2
    elif is_longer:
        yield _lines([f"{words.no_cause(why)} {words.unexplained(why)}".strip()], 0, 4), 2
    if is_longer:
        rows = attribution_block(why, attributed=True).rows[:_MOST_PARTS]
        parts = [f"{row.name}: {signed_ns(row.change)}" for row in rows]
        yield ("Where the change is, per cycle", *_lines(parts, 2, _MOST_PARTS)), 4
    checks = words.checks(replace(why, causes=tuple(causes)))[:2] if causes or is_longer else []
    yield ("What to check next", *_lines(checks, 2, 5)) if checks else (), 3


def _lines(sentences: Iterable[str], indent: int, most: int) -> list[str]:
    """Sentences, each on lines of its own; none wider than the screen."""
    lines = [
        part
        for sentence in sentences
        for text in wrapped(short_names(sentence), _WIDTH, indent=indent)
        for part in _narrow(text.plain)
    ]
    return _clipped(lines, most)


def _narrow(line: str) -> list[str]:
    """Characters may be two columns wide."""
    return [line] if cell_len(line) <= _WIDTH else chop_cells(line, _WIDTH)


# -- what fits -------------------------------------------------------------------------------------

_Lines: TypeAlias = "tuple[Sequence[str], int]"
"""Lines that stay together, and their rank: those with the highest number go first where there is
no room, those with 0 stay."""


def fitted(parts: Iterable[_Lines], most_lines: int) -> list[str]:
    """The lines of all parts for which there is room, with an empty one between two parts."""
    kept = [part for part in parts if part[0]]
    while sum(len(lines) + 1 for lines, _ in kept) - 1 > most_lines:
        least = max(range(len(kept)), key=lambda place: (kept[place][1], place))
        if not kept[least][1]:
            break
        del kept[least]
    return _clipped([line for lines, _ in kept for line in ("", *lines)][1:], most_lines)


def _clipped(lines: Sequence[str], most: int) -> list[str]:
    """The first lines, the last of which says that there are more."""
    if len(lines) <= most:
        return list(lines)
    cut = lines[most - 1]
    return [*lines[: most - 1], f"{cut[: len(cut) - len(cut.lstrip())]}..."]
