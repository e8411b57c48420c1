"""A comparison as a comment on a pull request: under 60 lines, whatever was compared."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from rich.console import Group

from timesink.answers.gate_result import FAILED, PASSED, UNJUDGED, Gate
from timesink.model import units
from timesink.model.diagnosis import Diagnosis
from timesink.render.comparison.comment.explored import explored_blocks
from timesink.render.comparison.comment.marking import folded, named, said, table_lines
from timesink.render.comparison.tables import pairs_table, times_table
from timesink.render.comparison.words import notes, subject
from timesink.render.diagnosis import words
from timesink.render.diagnosis.blocks import bar_rows
from timesink.render.escaping import as_code
from timesink.render.fitting import Block, fitted
from timesink.render.shown import FILE_WIDTH, bullets
from timesink.render.terminal import to_plain
from timesink.reports.comparison.report import Comparison
from timesink.reports.comparison.sides import ALONE, LEFT_OUT
from timesink.reports.comparison.told import Told

MOST_LINES = 58
"""With the line by which docs/ci/gate.sh marks it, below 60."""
_OUTCOMES = {PASSED: "passed", FAILED: "failed", UNJUDGED: "cannot be judged"}
_MOST_REASONS = 6
_MOST_CAUSES = 3
_MOST_CHECKS = 3
_MOST_ROWS = 8
_MOST_FUNCTIONS = 5
_MOST_NOTES = 3
_LONGEST_COMMAND = 400
_NOT_COMPARED = (LEFT_OUT, ALONE)
"""What notes hold that say so."""


def comment_md(
    comparison: Comparison, gate: Gate | None = None, command: Sequence[str] = ()
) -> str:
    """The answer, what fails, why, and the largest changes; tables are folded.

    >>> import timesink
    >>> same = timesink.compare(timesink.sample(), timesink.sample())
    >>> print(comment_md(same).splitlines()[0])
    ## timesink: no change
    """
    blocks = [*_answer(comparison, gate), *_rest(comparison, gate, command)]
    return "\n".join(fitted(blocks, MOST_LINES))


def gate_md(gate: Gate) -> str:
    """The comment of runs that could not be compared.

    >>> from timesink.errors import TimesinkError
    >>> from timesink.answers.gate_judgement import gate_of_error
    >>> print(gate_md(gate_of_error(TimesinkError("no such baseline"), "@main vs run")))
    ## timesink: cannot be judged
    <BLANKLINE>
    - no such baseline
    <BLANKLINE>
    `@main vs run`
    """
    asked = f" ({as_code(gate.asked)})" if gate.asked else ""
    blocks = [
        Block((f"## timesink: {_OUTCOMES[gate.outcome]}{asked}",)),
        Block(tuple(bullets(map(said, gate.reasons[:_MOST_REASONS])).splitlines())),
        Block((as_code(gate.subject),)),
    ]
    return "\n".join(fitted(blocks, MOST_LINES))


def _answer(comparison: Comparison, gate: Gate | None) -> Iterator[Block]:
    if comparison.exploration is not None:
        yield Block(("## timesink: many processes",))
        yield from explored_blocks(comparison, comparison.exploration)
        return
    why = comparison.diagnosis if gate is None else gate.why
    if why is None:
        return
    yield Block((_heading(gate, why),))
    reason = _reason(gate, why)
    yield Block((f"**{words.verdict(why)}.** {said(reason)}",))
    yield Block(tuple(_checked(gate, reason)) if gate is not None else ())
    yield from _subjects(comparison)
    yield from _why(why)


def _heading(gate: Gate | None, why: Diagnosis) -> str:
    if gate is None or not gate.asked:
        return f"## timesink: {words.verdict(why).lower()}"
    return f"## timesink: {_OUTCOMES[gate.outcome]} ({as_code(gate.asked)})"


# -- the gate --------------------------------------------------------------------------------------


def _reason(gate: Gate | None, why: Diagnosis) -> str:
    """Why this verdict, and what is allowed."""
    found = [] if gate is None else gate.of_kind("cycle time")
    return found[0].sentence if found else why.reason


def _checked(gate: Gate, told: str) -> Iterator[str]:
    """What does not pass and was not told, budgets that are kept, and what cannot be seen."""
    if not gate.asked:
        return
    lines = [line for line in gate.reasons if line != told]
    more = len(lines) - _MOST_REASONS
    lines = lines[:_MOST_REASONS]
    if more > 0:
        lines.append(f"and {units.count(more)} more")
    if gate.kept:
        lines.append(gate.kept)
    if gate.unseen and gate.outcome == PASSED:
        lines.append(gate.unseen)
    yield from (f"- {said(line)}" for line in lines)


# -- what was compared -----------------------------------------------------------------------------


def _subjects(comparison: Comparison) -> Iterator[Block]:
    pairs = [(one, Told(one.pair)) for one in comparison.pairs]
    if len(pairs) == 1:
        one, told = pairs[0]
        yield Block((named(subject(told, one.title)),))
        return
    table = pairs_table(pairs)
    more = len(table.rows) - _MOST_ROWS
    rest = ("", f"and {units.counted(more, 'more pairs')}") if more > 0 else ()
    yield Block(folded(table.title, (*table_lines(table, _MOST_ROWS), *rest)), rank=2)


# -- why -------------------------------------------------------------------------------------------


def _why(why: Diagnosis) -> Iterator[Block]:
    yield from _causes(why)
    yield from _anomalies(why)
    checks = words.checks(why)[:_MOST_CHECKS]
    if checks:
        yield _titled(words.NEXT, [f"- {said(check)}" for check in checks], rank=3)
    rows = words.part_changes(why) if words.has_changed(why) else []
    if rows:
        bars = to_plain(Group(*bar_rows(rows, FILE_WIDTH)), FILE_WIDTH).splitlines()
        title = f"Where the change is ({words.total(why)})"
        yield Block(folded(title, ("```", *bars, "```")), rank=4)


def _causes(why: Diagnosis) -> Iterator[Block]:
    rest = " ".join(filter(None, (words.no_cause(why), words.unexplained(why))))
    if not (why.causes or rest):
        return
    lines = [words.cause_line(cause) for cause in why.causes]
    entries = _numbered(lines, "causes")
    evidence = words.evidence_lines(why.causes[0]) if why.causes else []
    entries[1:1] = [f"   - {said(line)}" for line in evidence]
    yield _titled(words.why_title(why), entries or [said(rest)], rank=1)
    if entries:
        yield Block((said(rest),) if rest else (), rank=3)


def _anomalies(why: Diagnosis) -> Iterator[Block]:
    lines = _numbered([words.anomaly_line(one) for one in why.anomalies], "anomalies")
    symptoms = words.below_anomalies(why)
    if lines:
        yield _titled(words.AROUND, lines, rank=2)
        yield Block((said(symptoms),) if symptoms else (), rank=5)
    elif symptoms:
        yield _titled(words.AROUND, [said(symptoms)], rank=5)


def _numbered(lines: Sequence[str], things: str) -> list[str]:
    shown = [f"{number}. {said(line)}" for number, line in enumerate(lines[:_MOST_CAUSES], 1)]
    more = len(lines) - _MOST_CAUSES
    return [*shown, f"   and {units.counted(more, f'more {things}')}"] if more > 0 else shown


def _titled(title: str, lines: Sequence[str], rank: int) -> Block:
    return Block((f"**{title}**", "", *lines), rank)


def _noted(found: Sequence[str]) -> Iterator[str]:
    """What was not compared first; of many notes, how many more there are."""
    lines = sorted(found, key=lambda note: not any(said in note for said in _NOT_COMPARED))
    yield from (f"- {said(line)}" for line in lines[:_MOST_NOTES])
    more = len(lines) - _MOST_NOTES
    if more > 0:
        yield f"- and {units.counted(more, 'more notes')}"


# -- the rest --------------------------------------------------------------------------------------


def _rest(comparison: Comparison, gate: Gate | None, command: Sequence[str]) -> Iterator[Block]:
    """The largest changes of functions, notes, and how to have all of it."""
    own: list[str] = []
    if len(comparison.pairs) == 1:
        told = Told(comparison.pairs[0].pair)
        table = times_table(told, _MOST_FUNCTIONS)
        differs = (told.times["base_ns"] != told.times["new_ns"]).any()
        if differs and told.comparable:
            yield Block(folded(table.title, table_lines(table, _MOST_FUNCTIONS)), rank=6)
        own = notes(told)
    of_test = () if comparison.diagnosis is None else comparison.diagnosis.notes
    noted = [*(gate.doubts if gate else ()), *of_test, *comparison.notes, *own]
    yield Block(tuple(_noted(list(dict.fromkeys(noted)))), rank=7)
    line = shlex.join(command)
    if line and line.isprintable() and len(line) <= _LONGEST_COMMAND:
        yield Block((f"Everything: {as_code(line)}",), rank=1)
