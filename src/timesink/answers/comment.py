"""A comparison as a comment on a pull request, with or without a gate."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from timesink import __version__
from timesink.answers import cause_words as words
from timesink.answers.causes import attribution_block, causes_block, next_sections, paragraphs
from timesink.answers.comparison_words import notes, subject
from timesink.answers.exploration import APART, apart_lines, groups_block, threshold
from timesink.answers.gate import OUTCOMES
from timesink.answers.gate_result import PASSED, Gate
from timesink.answers.pair_tables import pairs_block, times_block
from timesink.model import units
from timesink.model.diagnosis import Diagnosis
from timesink.output.blocks import Block, Causes, Document, Section, Text
from timesink.output.markdown import to_comment
from timesink.output.names import as_code, printable, short_names
from timesink.reports.comparison.report import Comparison
from timesink.reports.comparison.sides import ALONE, LEFT_OUT
from timesink.reports.comparison.told import Told

_MOST_LINES = 58
"""With the line by which docs/ci/gate.sh marks it, below 60."""
_MOST_REASONS = 6
_MOST_CAUSES = 3
_MOST_GROUPS, _MOST_APART = 12, 8
_MOST_PAIRS = 8
_MOST_FUNCTIONS = 5
_MOST_NOTES = 3
_LONGEST_COMMAND = 400
_NOT_COMPARED = (LEFT_OUT, ALONE)
"""What notes hold that say so."""
_KEPT = ("checks", "subject", "command")
"""Sections for which there is always room."""


def comment_md(
    comparison: Comparison, gate: Gate | None = None, command: Sequence[str] = ()
) -> str:
    """The answer, what fails, why, and the largest changes; tables are folded.

    >>> import timesink
    >>> same = timesink.compare(timesink.sample(), timesink.sample())
    >>> print(comment_md(same).splitlines()[0])
    ## timesink: no change
    """
    return to_comment(comment_document(comparison, gate, command), _MOST_LINES, _KEPT)


def gate_md(gate: Gate) -> str:
    """The comment of runs that could not be compared.

    >>> from timesink.errors import TimesinkError
    >>> from timesink.answers.gate_judgement import gate_of_error
    >>> print(gate_md(gate_of_error(TimesinkError("no such baseline"), "@main vs run")))
    ## timesink: cannot be judged
    <BLANKLINE>
    no such baseline
    <BLANKLINE>
    `@main vs run`
    """
    reasons = tuple(paragraphs(gate.reasons[:_MOST_REASONS]))
    sections = (
        Section("checks", "", reasons),
        Section("subject", "", (Text(as_code(gate.subject)),)),
    )
    return to_comment(_document(_judged(gate), "", sections), _MOST_LINES, _KEPT)


def comment_document(comparison: Comparison, gate: Gate | None, command: Sequence[str]) -> Document:
    """The short answer with its sections in the order of their importance."""
    why = comparison.diagnosis if gate is None else gate.why
    explored = comparison.exploration
    if explored is not None or why is None:
        title, headline = "many processes", comparison.headline
        groups = () if explored is None else _explored(comparison)
        sections = [*groups, *_rest(comparison, gate, command)]
    else:
        word = words.verdict(why)
        title = _judged(gate) if gate is not None and gate.asked else word.lower()
        found = [] if gate is None else gate.of_kind("cycle time")
        reason = found[0].sentence if found else why.reason
        headline = f"{word}. {reason}"
        sections = [
            *_checks(gate, reason),
            *_subjects(comparison),
            *_why(why),
            *_rest(comparison, gate, command),
        ]
    return _document(title, short_names(headline), sections)


def _document(title: str, headline: str, sections: Sequence[Section]) -> Document:
    return Document("comparison", f"timesink: {title}", "", headline, __version__, tuple(sections))


def _judged(gate: Gate) -> str:
    asked = f" ({as_code(gate.asked)})" if gate.asked else ""
    return f"{OUTCOMES[gate.outcome].lower()}{asked}"


def _checks(gate: Gate | None, told: str) -> Iterator[Section]:
    """What does not pass and was not told, budgets that are kept, and what cannot be seen."""
    if gate is None or not gate.asked:
        return
    lines = [line for line in gate.reasons if line != told]
    more = len(lines) - _MOST_REASONS
    lines = lines[:_MOST_REASONS] + ([f"and {units.count(more)} more"] if more > 0 else [])
    lines += [gate.kept, gate.unseen if gate.outcome == PASSED else ""]
    yield Section("checks", "", tuple(paragraphs(lines)))


def _subjects(comparison: Comparison) -> Iterator[Section]:
    """What was compared: names of files and processes, in which a backtick begins no code."""
    pairs = [(one, Told(one.pair)) for one in comparison.pairs]
    if len(pairs) == 1:
        one, told = pairs[0]
        yield Section(
            "subject", "", (Text(short_names(subject(told, one.title)).replace("`", "'")),)
        )
        return
    table = pairs_block(pairs, comparison.pair_names, _MOST_PAIRS)
    yield Section("pairs", table.title, (table,))


def _why(why: Diagnosis) -> Iterator[Section]:
    """Causes and anomalies, what to check next, then where the change is."""
    every = causes_block(why, brief=True)
    for role, title in (("cause", words.why_title(why)), ("anomaly", words.AROUND)):
        own = [card for card in every.items if card.role == role]
        more = len(own) - _MOST_CAUSES
        empty = every.empty if role == "cause" else ""
        blocks: list[Block] = [Causes(tuple(own[:_MOST_CAUSES]), empty)] if own or empty else []
        said = [f"and {units.counted(more, 'more')} such"] if more > 0 else []
        said.append(words.unexplained(why) if role == "cause" else words.symptoms(why))
        blocks += paragraphs(said)
        if blocks:
            yield Section(role, title, tuple(blocks))
    yield from next_sections(why)
    parts = attribution_block(why)
    if parts.rows and words.has_changed(why):
        yield Section("parts", parts.title, (parts,))


def _explored(comparison: Comparison) -> Iterator[Section]:
    """The groups, and what sets them apart."""
    found = comparison.exploration
    if found is None:
        return
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
    if lines:
        yield Section("notes", "Notes", tuple(paragraphs(lines)))
    line = shlex.join(command)
    if line and line == printable(line) and len(line) <= _LONGEST_COMMAND:
        yield Section("command", "", (Text(f"Everything: {as_code(line)}"),))
