"""Why something differs, for the terminal: parts of the change, causes, what to check next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import RenderableType
from rich.text import Text

from timesink.model.diagnosis import Diagnosis
from timesink.model.findings import Finding
from timesink.render.comparison.blocks import wrapped
from timesink.render.diagnosis import words
from timesink.render.diagnosis.words import PartRow
from timesink.render.terminal import printable, text

_MORE, _LESS = "█", "░"
_COLOURS = {"regression": "red", "improvement": "green", "no_change": "green"}
_LONGEST_BAR = 40
_SHORTEST_BAR = 8
_INDENT = 5
_NAME = 28
"""Characters of the name of a part."""


def colour(one: Diagnosis) -> str:
    """The colour of a verdict.

    >>> from timesink.model.diagnosis import CycleTime, Diagnosis
    >>> same = Diagnosis("no_change", "", CycleTime(1, 1, 0.0, None, None), (), (), (), 0.0, ())
    >>> colour(same)
    'green'
    """
    return _COLOURS.get(one.verdict, "yellow")


def why_lines(one: Diagnosis, width: int) -> Iterable[RenderableType]:
    """Where the change sits, what explains it, and what to look at next."""
    if words.has_changed(one):
        yield from bar_lines(one, width)
    yield from _cause_lines(one, width)
    yield from _anomaly_lines(one, width)
    yield from _check_lines(words.checks(one), width)


# -- the bar ---------------------------------------------------------------------------------------


def bar_lines(one: Diagnosis, width: int) -> Iterable[RenderableType]:
    """A row and a bar for each part of the change; nothing where no part is known."""
    rows = words.part_changes(one)
    if rows:
        yield ""
        yield text(f"Where the change is ({words.total(one)})", "bold")
        yield from bar_rows(rows, width)


def bar_rows(rows: Sequence[PartRow], width: int) -> Iterable[Text]:
    """Parts of a change with their bars; the interval goes first where there is no room."""
    sizes = [max(cell_len(cell) for cell in column) for column in _columns(rows)]
    largest = max(abs(row.delta_ns) for row in rows)
    for row, cells in zip(rows, zip(*_columns(rows), strict=True), strict=True):
        yield _bar_line(row, cells, sizes, largest, width)


def _columns(rows: Sequence[PartRow]) -> list[list[str]]:
    """Names, changes and intervals."""
    names = [printable(row.name) for row in rows]
    names = [f"{name[: _NAME - 1]}…" if len(name) > _NAME else name for name in names]
    return [names, [row.said for row in rows], [row.interval for row in rows]]


def _bar_line(
    row: PartRow, cells: Sequence[str], sizes: Sequence[int], largest: float, width: int
) -> Text:
    name, said, interval = (
        cells[0].ljust(sizes[0]),
        cells[1].rjust(sizes[1]),
        cells[2].ljust(sizes[2]),
    )
    room = width - 2 - sum(sizes) - 6
    line = Text(f"  {name}  {said}  ")
    if room >= _SHORTEST_BAR:
        line.append(f"{interval}  ", "dim")
    else:
        room += sizes[2] + 2
    line.append(*_bar(row.delta_ns, largest, min(max(room, 1), _LONGEST_BAR)))
    if row.note and len(line.plain) + 2 + len(row.note) <= width:
        line.append(f"  {row.note}", "dim")
    line.rstrip()
    return line


def _bar(delta_ns: float, largest: float, room: int) -> tuple[str, str]:
    """As long as the change is large: full for more, light for less."""
    length = max(round(room * abs(delta_ns) / largest), 1)
    return (_MORE * length, "red") if delta_ns > 0 else (_LESS * length, "green")


# -- why -------------------------------------------------------------------------------------------


def _cause_lines(one: Diagnosis, width: int) -> Iterable[RenderableType]:
    rest, nothing = words.unexplained(one), words.no_cause(one)
    if not (one.causes or rest or nothing):
        return
    yield ""
    yield text(words.why_title(one), "bold")
    for number, cause in enumerate(one.causes, 1):
        yield from _entry(number, words.cause_line(cause), cause, width)
    for line in filter(None, (nothing, rest)):
        yield from wrapped(line, width, indent=2)


def _anomaly_lines(one: Diagnosis, width: int) -> Iterable[RenderableType]:
    """Anomalies, and symptoms below them."""
    symptoms = words.below_anomalies(one)
    if not (one.anomalies or symptoms):
        return
    yield ""
    yield text(words.AROUND, "bold")
    for number, anomaly in enumerate(one.anomalies, 1):
        yield from _entry(number, words.anomaly_line(anomaly), anomaly, width)
    yield from wrapped(symptoms, width, "dim", indent=2)


def _entry(number: int, line: str, one: Finding, width: int) -> Iterable[RenderableType]:
    """A sentence under its number, and the first things to look at."""
    mark = f"{number}. ".rjust(_INDENT)
    for place, part in enumerate(wrapped(line, width, indent=_INDENT)):
        yield part if place else Text(f"{mark}{part.plain[_INDENT:]}", part.style)
    for evidence in words.evidence_lines(one):
        yield from wrapped(evidence, width, "dim", indent=_INDENT)


def _check_lines(checks: Sequence[str], width: int) -> Iterable[RenderableType]:
    if not checks:
        return
    yield ""
    yield text(words.NEXT, "bold")
    for check in checks:
        yield from wrapped(check, width, indent=2)
