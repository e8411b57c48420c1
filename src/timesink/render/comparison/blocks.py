"""Lines about one pair, for the terminal."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

from rich.console import RenderableType
from rich.text import Text

from timesink.model.diagnosis import Diagnosis
from timesink.render.comparison import words
from timesink.render.diagnosis.words import told_counters, verdict
from timesink.render.terminal import printable, text
from timesink.reports.comparison.answer import answer
from timesink.reports.comparison.told import Told

_TOGETHER = re.compile(
    r"(?<=\d) (?=%|[mun]?s\b|[kMGT]?B\b|[KMG]iB|MHz|m?W\b|C\b|\d{3}\b)|(?<=→) | (?=→)"
    r"|(?<=[GNXHM][PL]U) (?=\d)|(?<=%) (?=of a core)|(?<=% of) (?=a core)|(?<=% of a) (?=core)"
    r"|(?<=p) (?=[=<])|(?<=p [=<]) "
)
"""Blanks inside an amount or the name of a device, at which no line ends."""
_GLUE = "\N{NO-BREAK SPACE}"


def answer_lines(told: Told, width: int, why: Diagnosis | None = None) -> Iterable[RenderableType]:
    """The answer, the verdict before it; in colour, whether cycles became longer."""
    first, *others = answer(told, why)
    lead = "" if why is None else f"{verdict(why)}. "
    yield from wrapped(f"{lead}{first}", width, f"bold {_colour(told)}".rstrip())
    for line in others:
        yield from wrapped(line, width, "bold")


def _colour(told: Told) -> str:
    if not told.whole.workload.comparable:
        return "yellow"
    if told.verdict.nothing:
        return "green"
    return {"longer": "red", "shorter": "green"}.get(told.verdict.cycles, "")


def finding_lines(told: Told, width: int, why: Diagnosis | None = None) -> Iterable[RenderableType]:
    """The functions that changed most, and counters that nothing before named."""
    found = words.findings(told, told_counters(why))
    if found:
        yield ""
        yield text("What changed", "bold")
    for one in found:
        yield from wrapped(one.line, width, indent=2)
        yield from wrapped(one.meanwhile, width, "dim", indent=4)
    yield from wrapped(words.findings_left(told), width, "dim", indent=2)


def wrapped(line: str, width: int, style: str = "", indent: int = 0) -> Iterable[Text]:
    """A line that goes on under where it began, with no amount torn from its unit.

    >>> [line.plain for line in wrapped("they take 1.28 → 1.22 s", 16, indent=2)]
    ['  they take', '  1.28 → 1.22 s']
    """
    glued = _TOGETHER.sub(_GLUE, printable(words.short_names(line)))
    parts = _wrap(glued, width, indent, break_long_words=False)
    if max(map(len, parts), default=0) > width:
        parts = _wrap(glued, width, indent, break_long_words=True)
    for part in parts:
        yield text(part.replace(_GLUE, " "), style)


def _wrap(line: str, width: int, indent: int, *, break_long_words: bool) -> list[str]:
    before = " " * indent
    return textwrap.wrap(
        line,
        width,
        initial_indent=before,
        subsequent_indent=before,
        break_on_hyphens=False,
        break_long_words=break_long_words,
    )
