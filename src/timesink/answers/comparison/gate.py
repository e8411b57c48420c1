"""Whether a comparison passes: in a document, on one screen of a log, and in a comment.

The comment is one on a pull request, with or without a gate.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

from rich.cells import cell_len, chop_cells

from timesink.analyses.comparison.role_groups import Exploration
from timesink.answers import causes
from timesink.answers.causes import paragraphs
from timesink.answers.comparison.changes import Told, pairs_block, times_block
from timesink.answers.comparison.efficiency import efficiency_section
from timesink.answers.comparison.gate_result import (
    CYCLE_TIME,
    EXACT,
    FAILED,
    PASSED,
    PRECISE,
    UNJUDGED,
    Gate,
)
from timesink.answers.comparison.program import (
    edits_blocks,
    only_edited,
    opening_lines,
    without_edits,
)
from timesink.answers.comparison.rank_sets import APART, apart_lines, groups_block, threshold
from timesink.answers.comparison.report import Comparison
from timesink.answers.comparison.sentences import notes, slower_lines, subject
from timesink.answers.comparison.sides import ALONE, LEFT_OUT
from timesink.answers.views import listed_table
from timesink.errors import TimesinkError
from timesink.model import units
from timesink.model.diagnosis import Diagnosis
from timesink.model.units import signed_ns
from timesink.output.blocks import Block, Causes, Document, Facts, Section, Text, Tone
from timesink.output.junit import junit_xml
from timesink.output.markdown import to_comment
from timesink.output.names import as_code, printable, short_names
from timesink.output.terminal import wrapped

OUTCOMES = {PASSED: "Passed", FAILED: "Failed", UNJUDGED: "Not decided"}
TONES: dict[str, Tone] = {PASSED: "good", FAILED: "bad", UNJUDGED: "warning"}
"""Outcomes in words, and what they mean for the reader."""
_WIDTH, _HEIGHT = 80, 24
_IN_A_LOG = {PASSED: "passed", FAILED: "FAILED", UNJUDGED: "NOT DECIDED"}
_MOST_PARTS = 3
_MOST_DOUBTS = 2
_MOST_ROWS = 5
_MOST_LINES = 58
"""With the line by which docs/ci/gate.sh marks it, below 60."""
_MOST_REASONS, _MOST_REASONS_IN_LOG = 6, 4
_MOST_CAUSES = 3
_MOST_GROUPS, _MOST_APART = 12, 8
_MOST_PAIRS = 8
_MOST_FUNCTIONS = 5
_MOST_OPERATORS = 3
_MOST_NOTES = 3
_LONGEST_COMMAND = 400
_LONGEST_HEADLINE = 600
_NOT_COMPARED = (LEFT_OUT, ALONE)
"""What notes hold that say so."""
_KEPT = ("checks", "subject", "command")
"""Sections for which there is always room."""


def outcome(gate: Gate) -> str:
    """What became of it, and what was asked."""
    return f"{OUTCOMES[gate.outcome]} ({gate.asked})" if gate.asked else OUTCOMES[gate.outcome]


def gate_section(gate: Gate) -> Section:
    """Every check, those that do not pass first, and what these runs cannot show."""
    checks = sorted(gate.checks, key=lambda one: one.urgency)
    words = [
        OUTCOMES[one.outcome].lower() + " (not asked for)" * (not one.counts) for one in checks
    ]
    blocks: list[Block] = [
        Text(f"{outcome(gate)}.", TONES[gate.outcome]),
        listed_table(
            "checks",
            "checks",
            "Checks",
            checks,
            {"outcome": words, "why": [one.sentence for one in checks]},
        ),
        *paragraphs([gate.unseen, *(f"{doubt}." for doubt in gate.doubts)]),
    ]
    if gate.command:
        blocks.append(Facts((("Command", shlex.join(gate.command)),)))
    return Section("gate", "Whether it passes", tuple(blocks))


def error_document(gate: Gate, error: TimesinkError) -> Document:
    """What a gate says of runs that could not be compared."""
    hints = [Section("hint", "What to do", tuple(paragraphs([error.hint])))] if error.hint else []
    return Document(
        "comparison",
        gate.subject,
        gate.subject,
        short_names(f"{outcome(gate)}: {error.message}"),
        sections=(*hints, gate_section(gate)),
        tone=TONES[gate.outcome],
    )


def screen(gate: Gate) -> str:
    """At most 24 rows of 80 columns, without colours: what failed, by how much, and why.

    The command that says it again is one line, however many rows it takes: it can be copied.
    """
    asked = f" ({gate.asked})" if gate.asked else ""
    head = _lines([f"timesink: {_IN_A_LOG[gate.outcome]}{asked}: {gate.subject}"], 0, 3)
    doubts = [f"{doubt}." for doubt in gate.doubts[:_MOST_DOUBTS]]
    said, first = gate.reasons, _lines([" ".join(gate.leading)], 2, 5) if gate.leading else []
    if gate.outcome == PASSED:
        said = [one.sentence for one in gate.of_kind(CYCLE_TIME)]
        said += [gate.kept] if gate.kept else []
    # Of many reasons, how many more there are.
    more = len(said) - _MOST_REASONS_IN_LOG
    rest = [f"And {units.count(more)} more."] if more > 0 else []
    reasons = [*said[:_MOST_REASONS_IN_LOG], *rest]
    if gate.outcome == PASSED:
        unseen = [gate.unseen] if gate.unseen else []
        return "\n".join(
            fitted([([*head, *first, *_lines([*reasons, *unseen, *doubts], 2, 14)], 0)], _HEIGHT)
        )
    # A line for a shell; none where a terminal does not show all of it, or it leaves no room.
    command = f"  {shlex.join(gate.command)}" if gate.command else ""
    if not command.isprintable() or cell_len(command) > _MOST_ROWS * _WIDTH:
        command = ""
    parts: list[_Lines] = [([*head, *first, *_lines(reasons, 2, 10), *_lines(doubts, 2, 3)], 0)]
    parts += _why_lines(gate.why) if gate.outcome == FAILED else ()
    parts.append((("Reproduce", command) if command else (), 1))
    more_rows = max(0, cell_len(command) - 1) // _WIDTH
    return "\n".join(fitted(parts, _HEIGHT - more_rows))


def _why_lines(why: Diagnosis | None) -> Iterator[_Lines]:
    """The first cause, where the change sits and what to check next.

    A budget may be exceeded where cycles are not certainly longer: then the cause alone says why.
    """
    if why is None or why.verdict == "incomparable":
        return
    # What made cycles shorter is no reason to fail.
    slower = [one for one in why.causes if one.explained_ns > 0]
    is_longer = why.verdict == "regression"
    if slower:
        others = len(slower) - 1
        more = f" ({units.counted(others, 'more causes')})" if others else ""
        said = _lines([causes.cause_line(slower[0])], 2, 5)
        rest = _lines([causes.unexplained(why)], 2, 2) if is_longer else ()
        yield (f"First cause{more}", *said, *rest), 2
    elif is_longer:
        yield _lines([f"{causes.no_cause(why)} {causes.unexplained(why)}".strip()], 0, 4), 2
    if is_longer:
        rows = causes.attribution_block(why, attributed=True).rows[:_MOST_PARTS]
        parts = [f"{row.name}: {signed_ns(row.change)}" for row in rows]
        told = ("Where the change is, per cycle", *_lines(parts, 2, _MOST_PARTS))
        yield told if parts else (), 4
    checks = causes.checks(replace(why, causes=tuple(slower)))[:2] if slower or is_longer else []
    yield ("What to check next", *_lines(checks, 2, 5)) if checks else (), 3


def _lines(sentences: Iterable[str], indent: int, most: int) -> list[str]:
    """Sentences, each on lines of its own; none wider than the screen."""
    lines = [
        part
        for sentence in sentences
        for text in wrapped(short_names(sentence), _WIDTH, indent=indent)
        # Characters may be two columns wide.
        for part in chop_cells(text.plain, _WIDTH) or [""]
    ]
    return _clipped(lines, most)


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


def comment_md(
    comparison: Comparison, gate: Gate | None = None, command: Sequence[str] = ()
) -> str:
    """The answer, what fails, why, and the largest changes; tables are folded.

    Sections are in the order of their importance.
    """
    why = comparison.diagnosis if gate is None else gate.why
    explored = comparison.exploration
    if explored is not None or why is None:
        title, headline = "many processes", comparison.headline
        sections = [] if explored is None else list(_explored(explored))
    else:
        word = causes.verdict(why)
        title = "the program changed" if only_edited(why) else word.lower()
        title = _judged(gate) if gate is not None and gate.asked else title
        found = [] if gate is None else gate.of_kind(CYCLE_TIME)
        reason = found[0].sentence if found else why.reason
        # What is certain, what is precise, then cycle time; of several cases that told first.
        certain = (
            [*slower_lines(why), *opening_lines(why)]
            if gate is None
            else [*_failed_first(gate), *gate.leading]
        )
        headline = " ".join(certain or [f"{word}."])
        told = f"{headline} {reason}"
        # A long one loses its end: why cycles pass or not then stands in a paragraph of its own.
        if len(told) <= _LONGEST_HEADLINE or not certain or gate is None or not gate.asked:
            headline = told
        sections = [*_checks(gate, headline), _subject(comparison), *_why(why)]
    sections += _rest(comparison, gate, command)
    shown = _document(title, short_names(headline), sections)
    return to_comment(shown, _MOST_LINES, _KEPT)


def gate_md(gate: Gate) -> str:
    """The comment of runs that could not be compared."""
    reasons = tuple(paragraphs(gate.reasons[:_MOST_REASONS]))
    sections = (
        Section("checks", "", reasons),
        Section("subject", "", (Text(as_code(gate.subject)),)),
    )
    return to_comment(_document(_judged(gate), "", sections), _MOST_LINES, _KEPT)


def _document(title: str, headline: str, sections: Sequence[Section]) -> Document:
    return Document("comparison", f"timesink: {title}", "", headline, sections=tuple(sections))


def _judged(gate: Gate) -> str:
    asked = f" ({as_code(gate.asked)})" if gate.asked else ""
    return f"{OUTCOMES[gate.outcome].lower()}{asked}"


def _failed_first(gate: Gate) -> list[str]:
    """What is certain, or precise, and fails."""
    checks = [one for kind in (EXACT, PRECISE) for one in gate.of_kind(kind)]
    return [one.sentence for one in checks if one.outcome == FAILED]


def _checks(gate: Gate | None, told: str) -> Iterator[Section]:
    """What does not pass and was not told, budgets that are kept, and what cannot be seen."""
    if gate is None or not gate.asked:
        return
    cycles = [] if gate.outcome != PASSED else [one.sentence for one in gate.of_kind(CYCLE_TIME)]
    lines = [line for line in [*gate.reasons, *cycles[:1]] if line not in told]
    more = len(lines) - _MOST_REASONS
    lines = lines[:_MOST_REASONS] + ([f"and {units.count(more)} more"] if more > 0 else [])
    lines += [gate.kept, gate.unseen if gate.outcome == PASSED else ""]
    yield Section("checks", "", tuple(paragraphs(lines)))


def _subject(comparison: Comparison) -> Section:
    """What was compared: names of files and processes, in which a backtick begins no code."""
    pairs = [(one, Told(one.pair)) for one in comparison.pairs]
    if len(pairs) == 1:
        said = subject(pairs[0][1], pairs[0][0].title)
        return Section("subject", "", (Text(short_names(said).replace("`", "'")),))
    table = pairs_block(pairs, comparison.pair_names, _MOST_PAIRS)
    return Section("pairs", table.title, (table,))


def _why(why: Diagnosis) -> Iterator[Section]:
    """Causes and anomalies, what to check next, then where the change is.

    The headline names the first edit, and causes the next ones; more are in a table.
    """
    every = causes.causes_block(without_edits(why, 1) if opening_lines(why) else why, brief=True)
    for role, title in (("cause", causes.why_title(why)), ("anomaly", causes.AROUND)):
        own = [card for card in every.items if card.role == role]
        more = len(own) - _MOST_CAUSES
        empty = every.empty if role == "cause" else ""
        blocks: list[Block] = [Causes(tuple(own[:_MOST_CAUSES]), empty)] if own or empty else []
        said = [f"and {units.counted(more, 'more')} such"] if more > 0 else []
        said.append(causes.unexplained(why) if role == "cause" else causes.symptoms(why))
        blocks += paragraphs(said)
        if blocks:
            yield Section(role, title, tuple(blocks))
    for edits in edits_blocks(why.program):
        if edits.rows > _MOST_CAUSES:
            yield Section("edits", edits.title, (edits,))
    yield from causes.next_sections(why)
    parts = causes.attribution_block(why)
    if parts.rows and causes.has_changed(why):
        yield Section("parts", parts.title, (parts,))


def _explored(found: Exploration) -> Iterator[Section]:
    """The groups, and what sets them apart."""
    table = groups_block(found, _MOST_GROUPS)
    yield Section("groups", "Groups of roles that behave alike", (Text(threshold(found)), table))
    apart = [f"group {number}: {line}" for number, line in apart_lines(found)[:_MOST_APART]]
    if apart:
        yield Section("apart", APART.format("group 1"), tuple(paragraphs(apart)))


def _rest(comparison: Comparison, gate: Gate | None, command: Sequence[str]) -> Iterator[Section]:
    """The largest changes of functions, notes, and how to have all of it."""
    own: list[str] = []
    if len(comparison.pairs) == 1:
        told = Told(comparison.pairs[0].pair)
        yield from efficiency_section(comparison.pairs[0].efficiency, _MOST_OPERATORS)
        table = times_block(told, _MOST_FUNCTIONS)
        if told.comparable and (told.times["base_ns"] != told.times["new_ns"]).any():
            yield Section("times", table.title, (table,))
        own = notes(told)
    of_test = () if comparison.diagnosis is None else comparison.diagnosis.notes
    every = dict.fromkeys([*(gate.doubts if gate else ()), *of_test, *comparison.notes, *own])
    # What was not compared first; of many notes, how many more there are.
    lines = sorted(every, key=lambda note: not any(said in note for said in _NOT_COMPARED))
    more = len(lines) - _MOST_NOTES
    lines = lines[:_MOST_NOTES] + ([f"and {units.counted(more, 'more notes')}"] if more > 0 else [])
    yield from causes.note_sections(lines)
    line = shlex.join(command)
    if line and line == printable(line) and len(line) <= _LONGEST_COMMAND:
        yield Section("command", "", (Text(f"Everything: {as_code(line)}"),))


def gate_xml(gate: Gate, when: datetime, host: str) -> str:
    """What it says as test results, with a case per check."""
    known = {"outcome": gate.outcome, "asked": gate.asked, "command": shlex.join(gate.command)}
    known["unseen"] = gate.unseen
    why, notes = screen(gate), gate.notes
    return junit_xml(gate.subject, gate.checks, why, when, host, notes=notes, **known)
