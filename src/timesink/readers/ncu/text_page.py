"""The pages as text: one block per launch, tables between dashed rules, advice in prose.

[2513] python3.12@127.0.0.1
  gemm(float *) (80, 1, 1)x(256, 1, 1), Context 1, Stream 7, Device 0, CC 9.0
    Section: GPU Speed Of Light Throughput
    ----------------------- ----------- ------------
    Metric Name             Metric Unit Metric Value
    ----------------------- ----------- ------------
    Duration                         us        25.15
    ----------------------- ----------- ------------
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import polars as pl

from timesink.model.health import HealthEntry
from timesink.readers.ncu.launches import PLACE, GatheredLaunches, LaunchPart
from timesink.readers.ncu.lines import stretches
from timesink.readers.ncu.log import ProfilerLog

_PROCESS = re.compile(r"^\[(?P<pid>\d+)\] (?P<process>.*)@(?P<host>\S+)\s*$")
_LAUNCH = re.compile(
    r"^\s*(?P<name>\S.*?)"
    r"(?: (?P<grid>\(\d+, \d+, \d+\))x(?P<block>\(\d+, \d+, \d+\)))?"
    r"(?:, \d{4}-\w{3}-\d{1,2} [\d:]+)?"  # older versions print the time here, and no shape
    r", Context (?P<context>\w+), Stream (?P<stream>\w+)"
    r"(?:, Device (?P<device>\d+))?(?:, CC (?P<compute_capability>[\d.]+))?\s*$"
)
_SECTION = re.compile(r"^\s*Section: (.*?)\s*$")
_RULE = re.compile(r"^\s*-+ -+ -+\s*$")
_HEADER = re.compile(r"^\s*Metric Name +Metric Unit +Metric Value\s*$")
_WARNING = re.compile(r"^\s+Warning: ")
_ROWS = {
    "piece": pl.UInt32(),
    "section": pl.Categorical(),
    "metric": pl.Categorical(),
    "unit": pl.Categorical(),
    "text": pl.String(),
}
# One pattern per mark: each is found many times faster than by an alternation.
_TABLE_MARKS = (
    re.compile(rb"(?m)^\s*\[\d+\] .*@\S+\s*$"),
    re.compile(rb"(?m)^\s*Metric Name +Metric Unit +Metric Value"),
    re.compile(rb"(?m), Context \w+, Stream \w+(?:, Device \d+)?(?:, CC [\d.]+)?\s*$"),
)


def looks_like_text_page(head: bytes) -> bool:
    """Whether a file holds the text page, judged by its first lines."""
    return any(mark.search(head) for mark in _TABLE_MARKS)


@dataclass(slots=True)
class TextPage:
    """The launches of one file, while it is read."""

    launches: GatheredLaunches
    log: ProfilerLog = field(default_factory=ProfilerLog)
    _process: dict[str, str | None] = field(default_factory=dict)
    _places: list[dict[str, str | None]] = field(default_factory=list)
    _rows: list[tuple[int, str, str, str, str]] = field(default_factory=list)
    _section: str = ""
    _edges: tuple[int, int] | None = None
    """Where the columns of name and unit end, inside a table."""
    _rows_of_table: int = 0

    def read(self, blocks: Iterable[bytes]) -> Iterator[None]:
        """Take in everything; yields after each stretch, so that a caller may stop."""
        for text in stretches(blocks):
            lines = text.decode("utf-8", "replace").removesuffix("\n").split("\n")
            others = [line for line in lines if not self._take(line)]
            self.log.add("\n".join(others).encode())
            self._hand_over(len(self._places) - 1)
            yield
        self._hand_over(len(self._places))

    @property
    def layout(self) -> str:
        return "text"

    def health(self) -> list[HealthEntry]:
        return []

    def _take(self, line: str) -> bool:
        """Whether the line is part of the page."""
        if not line.strip():
            # The raw page does not close its tables with a rule.
            self._edges = None
        elif _RULE.match(line):
            self._take_rule(line)
        elif self._edges is not None:
            return self._take_row(line, *self._edges)
        elif ", Context " in line and (launch := _LAUNCH.match(line)):
            self._places.append({**self._process, **launch.groupdict()})
        elif line.startswith("[") and (process := _PROCESS.match(line)):
            self._process = process.groupdict()
        elif section := _SECTION.match(line):
            self._section = section[1]
        else:
            # What is left of a block is advice, unless the profiler warns of something.
            return bool(self._places) and line[0].isspace() and not _WARNING.match(line)
        return True

    def _take_rule(self, line: str) -> None:
        """A rule opens a table, parts its header from its rows, and closes it."""
        if self._edges is not None and self._rows_of_table:
            self._edges = None
            return
        first, second, _ = (dashes.end() for dashes in re.finditer("-+", line))
        self._edges, self._rows_of_table = (first, second), 0

    def _take_row(self, line: str, first: int, second: int) -> bool:
        if _HEADER.match(line):
            return True
        if not self._places or line[first : first + 1].strip() or line[second : second + 1].strip():
            self._edges = None
            return self._take(line)
        name, unit, text = line[:first].strip(), line[first:second].strip(), line[second:].strip()
        self._rows.append((len(self._places) - 1, self._section, name, unit, text))
        self._rows_of_table += 1
        return True

    def _hand_over(self, complete: int) -> None:
        """Give away the first launches; the last one of a stretch may have rows to come."""
        if complete <= 0:
            return
        places, self._places = self._places[:complete], self._places[complete:]
        rows = [row for row in self._rows if row[0] < complete]
        self._rows = [(row[0] - complete, *row[1:]) for row in self._rows[len(rows) :]]
        launches = pl.DataFrame(
            {name: [place.get(name) for place in places] for name in PLACE},
            schema=dict.fromkeys(PLACE, pl.String()),
        )
        self.launches.add(
            LaunchPart(launches.cast(pl.Schema(PLACE)), pl.DataFrame(rows, _ROWS, orient="row")),
            run=0,
        )
