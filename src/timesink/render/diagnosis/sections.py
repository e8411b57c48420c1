"""Why something differs, as Markdown: without headings and tables of its own.

The report on a pair has the sections and tables of the published one, and this stands before them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Group

from timesink.model.diagnosis import Diagnosis
from timesink.model.findings import Finding
from timesink.render.diagnosis import words
from timesink.render.diagnosis.blocks import bar_rows
from timesink.render.escaping import in_line
from timesink.render.shown import FILE_WIDTH, bullets
from timesink.render.terminal import to_plain


def verdict_block(one: Diagnosis) -> str:
    """The verdict and its reason.

    >>> from timesink.model.diagnosis import CycleTime, Diagnosis
    >>> cycles = CycleTime(1e6, 1e6, 0.0, (-1.0, 1.0), 1.0)
    >>> verdict_block(Diagnosis("no_change", "All as before.", cycles, (), (), (), 0.0, ()))
    '**Verdict: no change.** All as before.'
    """
    return f"**Verdict: {words.verdict(one).lower()}.** {in_line(one.reason)}".rstrip()


def why_blocks(one: Diagnosis) -> Iterator[str]:
    """Parts of the change, causes, anomalies and what to check next."""
    yield from _parts(one)
    yield from _why(one)
    yield from _around(one)
    checks = words.checks(one)
    if checks:
        yield f"**{words.NEXT}**"
        yield bullets(map(in_line, checks))


def _around(one: Diagnosis) -> Iterator[str]:
    """Anomalies, and symptoms below them."""
    symptoms = words.below_anomalies(one)
    if not (one.anomalies or symptoms):
        return
    yield f"**{words.AROUND}**"
    yield _numbered(map(_anomaly, one.anomalies))
    yield in_line(symptoms)


def _parts(one: Diagnosis) -> Iterator[str]:
    rows = words.part_changes(one) if words.has_changed(one) else []
    if rows:
        yield f"Where the change is ({words.total(one)}):"
        yield f"```\n{to_plain(Group(*bar_rows(rows, FILE_WIDTH)), FILE_WIDTH)}\n```"


def _why(one: Diagnosis) -> Iterator[str]:
    rest = " ".join(filter(None, (words.no_cause(one), words.unexplained(one))))
    if one.causes or rest:
        yield f"**{words.why_title(one)}**"
        yield _numbered(map(_cause, one.causes))
        yield in_line(rest)


def _numbered(lines: Iterable[str]) -> str:
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))


def _cause(one: Finding) -> str:
    return _with_evidence(words.cause_line(one), one)


def _anomaly(one: Finding) -> str:
    return _with_evidence(words.anomaly_line(one), one)


def _with_evidence(line: str, one: Finding) -> str:
    return "\n   - ".join(map(in_line, [line, *words.evidence_lines(one)]))
