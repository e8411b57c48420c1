"""Why a gate does not pass, on one screen: a CI log is read from its end, and in a hurry."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from rich.cells import cell_len, chop_cells

from timesink.answers.gate_result import FAILED, PASSED, UNJUDGED, Gate
from timesink.model import units
from timesink.render.comparison.blocks import wrapped
from timesink.render.diagnosis import words
from timesink.render.fitting import Block, clipped, fitted

WIDTH, HEIGHT = 80, 24
OUTCOMES = {PASSED: "passed", FAILED: "FAILED", UNJUDGED: "CANNOT BE JUDGED"}
"""What became of it, as a log says it."""
_MOST_REASONS = 4
_MOST_PARTS = 3
_MOST_DOUBTS = 2
_MOST_ROWS = 5


def screen(gate: Gate) -> str:
    """At most 24 rows of 80 columns, without colours: what failed, by how much, and why.

    The command that says it again is one line, however many rows it takes: it can be copied.

    >>> from timesink.answers.gate_result import gate_check
    >>> check = gate_check("cycle time", "cycle time", "passed", "Cycle time is the same: 27.2 ms.")
    >>> print(screen(Gate("a vs b", "--fail-on 5%", (check,))))
    timesink: passed (--fail-on 5%): a vs b
      Cycle time is the same: 27.2 ms.
    """
    if gate.outcome == PASSED:
        return "\n".join(fitted(_passed(gate), HEIGHT))
    command = _command(gate.command)
    more_rows = max(0, cell_len(command) - 1) // WIDTH
    return "\n".join(fitted(_not_passed(gate, command), HEIGHT - more_rows))


def _passed(gate: Gate) -> Iterator[Block]:
    more = [gate.unseen] if gate.unseen else []
    yield Block((*_head(gate), *_lines([*_reasons(gate), *more, *_doubts(gate)], 2, 14)))


def _not_passed(gate: Gate, command: str) -> Iterator[Block]:
    yield Block((*_head(gate), *_lines(_reasons(gate), 2, 10), *_lines(_doubts(gate), 2, 3)))
    if gate.outcome == FAILED:
        yield from _why(gate)
    yield Block(("Reproduce", command) if command else (), rank=1)


def _command(words: Sequence[str]) -> str:
    """A line for a shell; none where a terminal does not show all of it, or it leaves no room."""
    line = f"  {shlex.join(words)}" if words else ""
    return line if line.isprintable() and cell_len(line) <= _MOST_ROWS * WIDTH else ""


def _head(gate: Gate) -> list[str]:
    asked = f" ({gate.asked})" if gate.asked else ""
    return _lines([f"timesink: {OUTCOMES[gate.outcome]}{asked}: {gate.subject}"], 0, 3)


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


def _why(gate: Gate) -> Iterator[Block]:
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
        yield Block((f"First cause{more}", *said, *rest), rank=2)
    elif is_longer:
        yield Block(
            tuple(_lines([f"{words.no_cause(why)} {words.unexplained(why)}".strip()], 0, 4)), rank=2
        )
    if is_longer:
        parts = [f"{row.name}: {row.said}" for row in words.part_changes(why)[:_MOST_PARTS]]
        yield Block(("Where the change is, per cycle", *_lines(parts, 2, _MOST_PARTS)), rank=4)
    checks = words.checks(replace(why, causes=tuple(causes)))[:2] if causes or is_longer else []
    yield Block(("What to check next", *_lines(checks, 2, 5)) if checks else (), rank=3)


def _lines(sentences: Iterable[str], indent: int, most: int) -> list[str]:
    """Sentences, each on lines of its own; none wider than the screen."""
    lines = [
        part
        for sentence in sentences
        for text in wrapped(sentence, WIDTH, indent=indent)
        for part in _narrow(text.plain)
    ]
    return clipped(lines, most)


def _narrow(line: str) -> list[str]:
    """Characters may be two columns wide."""
    return [line] if cell_len(line) <= WIDTH else chop_cells(line, WIDTH)
