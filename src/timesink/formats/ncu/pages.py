"""CSV output as printed: tables among other lines.

The profiled program prints what it likes, the profiler reports its progress, and files are put
together from several runs.  A stretch in which every line is a row is parsed as it is; only in
others are lines looked at one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import polars as pl

from timesink.formats.ncu.launches import PLACE, GatheredLaunches
from timesink.formats.ncu.numbers import ahead, all_quoted_rows, stretches
from timesink.formats.ncu.table import BadRowsError, CsvTable
from timesink.formats.small_files import DamagedError, decode_small_json
from timesink.model.health import HealthEntry
from timesink.patterns import regex
from timesink.recorder.ncu.table import MARK

COLLECTED = MARK.encode()
"""How the line starts in which `timesink ncu` says what it recorded, and how."""
_COLLECTED_LINE = regex(rb"^" + re.escape(COLLECTED) + rb"([^\n]*)$", re.MULTILINE)
_MESSAGE = regex(rb"==(PROF|WARNING|ERROR)== ?([^\n]*)|^ +(Warning): ([^\n]*)", re.MULTILINE)
_SPECIAL = {
    "uncontrolled_clocks": regex(r"unmodified GPU clocks|without fixed GPU frequencies"),
    "uncontrolled_caches": regex(r"(?i)uncontrolled GPU caches|without .*cache control"),
}
"""Warnings that mean something for the numbers."""
_NOTHING = regex(r"No (?:kernels|ranges|results) were profiled", re.IGNORECASE)
_REPORT = "Report: "
_MAX_NOTES = 100
_LONGEST_EXAMPLE = 160


class ProfilerLog(msgspec.Struct):
    """What was said around the tables of one file."""

    warnings: dict[str, int] = msgspec.field(default_factory=dict)
    errors: dict[str, int] = msgspec.field(default_factory=dict)
    program_lines: int = 0
    program_example: str = ""
    collected: dict[str, Any] = msgspec.field(default_factory=dict)
    """What `timesink ncu` wrote about its recording."""
    report: str = ""
    """Where the profiler says that it wrote its report."""

    def add(self, text: bytes) -> None:
        """Take in lines that belong to no table."""
        if not text.strip():
            return
        if COLLECTED in text:
            text = _COLLECTED_LINE.sub(self._note_collected, text)
        for match in _MESSAGE.finditer(text):
            self._note(match)
        lines = [line for line in _MESSAGE.sub(b"", text).split(b"\n") if line.strip()]
        self.program_lines += len(lines)
        if lines and not self.program_example:
            self.program_example = shorten(lines[0].strip(), _LONGEST_EXAMPLE)

    def _note(self, match: re.Match[bytes]) -> None:
        kind = (match[1] or match[3]).upper()
        message = (match[2] or match[4] or b"").decode("utf-8", "replace").strip()
        if kind == b"PROF" and message.startswith(_REPORT):
            self.report = message.removeprefix(_REPORT).strip()
        if kind == b"PROF" or not message:
            return
        notes = self.errors if kind == b"ERROR" else self.warnings
        notes[message] = notes.get(message, 0) + 1

    def _note_collected(self, line: re.Match[bytes]) -> bytes:
        """Keep what the first recording of the file says; what is no such line stays."""
        try:
            facts = decode_small_json(line[1], "a line of the file")
        except DamagedError:
            return line[0]
        self.collected = self.collected or facts
        return b""

    @property
    def notes(self) -> list[str]:
        """Distinct warnings and errors, errors first."""
        return [*self.errors, *self.warnings][:_MAX_NOTES]

    @property
    def says_nothing_profiled(self) -> bool:
        return any(_NOTHING.search(note) for note in self.warnings)

    def health(self) -> list[HealthEntry]:
        """The notes as health: those with a meaning of their own apart."""
        entries = [
            HealthEntry("profiler_error", count, message) for message, count in self.errors.items()
        ]
        entries.append(HealthEntry("log_lines", self.program_lines, self.program_example))
        # Versions word the same in several ways; it is still one fact about the run.
        special: dict[str, HealthEntry] = {}
        for message, count in self.warnings.items():
            code = next((code for code, words in _SPECIAL.items() if words.search(message)), "")
            if code:
                special.setdefault(code, HealthEntry(code, 1, message))
            else:
                entries.append(HealthEntry("profiler_warning", count, message))
        return [*entries, *special.values()]


def shorten(line: bytes, longest: int) -> str:
    text = line.decode("utf-8", "replace")
    return text if len(text) <= longest else text[: longest - 3] + "..."


_HEADER_STARTS = tuple(
    regex(mark + rb"(?=[,;\t])(?=[^\n]*Process ID)(?=[^\n]*Kernel Name)")
    # With its quotes, or at the beginning of a line; what is literal comes first, which is fast.
    for mark in (rb'"ID"', rb"ID(?<![^\n]ID)")
)


class CsvPages(msgspec.Struct):
    """The tables of one file, while it is read."""

    launches: GatheredLaunches
    log: ProfilerLog = msgspec.field(default_factory=ProfilerLog)
    table: CsvTable | None = None
    runs: int = 0
    layout: str = ""
    """What the file is, by its first table."""
    bad_rows: int = 0
    bad_example: str = ""
    cut_line: str = ""
    invalid_bytes: int = 0
    _units_follow: bool = False

    def read(self, blocks: Iterable[bytes]) -> Iterator[None]:
        """Take in everything; yields after each stretch, so that a caller may stop."""
        looked_at = ((text, all_quoted_rows(text)) for text in stretches(blocks))
        for text, are_rows in ahead(looked_at):
            if not (are_rows and self._take_rows(text)):
                self._take_lines(text)
            yield

    def health(self) -> list[HealthEntry]:
        return [
            HealthEntry("bad_table_row", self.bad_rows, self.bad_example),
            HealthEntry("cut_line", int(bool(self.cut_line)), self.cut_line),
            HealthEntry("appended_tables", max(self.runs - 1, 0)),
            HealthEntry("invalid_utf8", self.invalid_bytes),
        ]

    def _take_rows(self, text: bytes) -> bool:
        """Take lines that seem to be rows as they are; whether all of them were."""
        if self.table is None or self._units_follow or not self.table.is_quoted:
            return False
        try:
            self.launches.add(self.table.part_of(text), self.runs)
        except BadRowsError:
            return False
        return True

    def _take_lines(self, text: bytes) -> None:
        for is_header, lines in split_at_headers(text):
            if is_header:
                self.table = CsvTable.from_header(lines.rstrip(b"\n"))
                self.runs += 1
                self._units_follow = not self.table.is_details
                self.layout = self.layout or ("raw-csv" if self._units_follow else "details-csv")
            elif self.table is None:
                self.log.add(lines)
            else:
                rows = self._take_units(self.table, lines) if self._units_follow else lines
                if not (all_quoted_rows(rows) and self._take_rows(rows)):
                    self._take_one_by_one(self.table, rows)

    def _take_units(self, table: CsvTable, lines: bytes) -> bytes:
        """Read the row of units, the first of the table; what is left of the lines."""
        while lines:
            first, _, rest = lines.partition(b"\n")
            is_units = first.startswith((b'""', table.separator.encode()))
            if is_units:
                self.table = table.with_units(first)
            if is_units or table.is_row(first):
                self._units_follow = False
                return rest if is_units else lines
            self.log.add(first)
            lines = rest
        return b""

    def _take_one_by_one(self, table: CsvTable, lines: bytes) -> None:
        rows, other_lines = [], []
        for line in lines.split(b"\n"):
            if table.is_row(line):
                rows.append(line)
            elif (start := table.row_inside(line)) >= 0:
                other_lines.append(line[:start])
                rows.append(line[start:])
            else:
                other_lines.append(line)
        self.log.add(b"\n".join(other_lines))
        # Without a line end, the last line may have been cut where the file was.
        if rows and not lines.endswith(b"\n") and not table.is_whole(rows[-1]):
            self.cut_line = shorten(rows.pop(), 120)
        if not rows:
            return
        try:
            self.launches.add(table.part_of(b"\n".join(rows)), self.runs)
        except BadRowsError:
            self._take_whole_rows(table, rows)

    def _take_whole_rows(self, table: CsvTable, rows: list[bytes]) -> None:
        complete_rows = [row for row in rows if table.is_whole(row)]
        self._note_bad([row for row in rows if not table.is_whole(row)])
        text = b"\n".join(complete_rows).decode("utf-8", "replace")
        self.invalid_bytes += text.count("\ufffd")
        try:
            if complete_rows:
                self.launches.add(table.part_of(text.encode()), self.runs)
        except BadRowsError:
            self._note_bad(complete_rows)

    def _note_bad(self, rows: list[bytes]) -> None:
        self.bad_rows += len(rows)
        if rows and not self.bad_example:
            self.bad_example = shorten(rows[0], 120)


def split_at_headers(text: bytes) -> Iterator[tuple[bool, bytes]]:
    r"""Headers, and the lines before and after them."""
    done = 0
    for start in _header_starts(text):
        if start > done:
            yield False, text[done:start]
        end = text.find(b"\n", start) + 1 or len(text)
        yield True, text[start:end]
        done = end
    if done < len(text):
        yield False, text[done:]


def has_header(text: bytes) -> bool:
    """Whether a table begins in these lines."""
    return bool(_header_starts(text))


def _header_starts(text: bytes) -> list[int]:
    """Where header lines begin; a program may have left its last line open before a quoted one."""
    return sorted(match.start() for mark in _HEADER_STARTS for match in mark.finditer(text))


# The pages as text: one block per launch, tables between dashed rules, advice in prose.
#
# [2513] python3.12@127.0.0.1
# gemm(float *) (80, 1, 1)x(256, 1, 1), Context 1, Stream 7, Device 0, CC 9.0
# Section: GPU Speed Of Light Throughput
# ----------------------- ----------- ------------
# Metric Name             Metric Unit Metric Value
# ----------------------- ----------- ------------
# Duration                         us        25.15
# ----------------------- ----------- ------------

_PROCESS = regex(r"^\[(?P<pid>\d+)\] (?P<process>.*)@(?P<host>\S+)\s*$")
_LAUNCH = regex(
    r"^\s*(?P<name>\S.*?)"
    r"(?: (?P<grid>\(\d+, \d+, \d+\))x(?P<block>\(\d+, \d+, \d+\)))?"
    r"(?:, \d{4}-\w{3}-\d{1,2} [\d:]+)?"  # older versions print the time here, and no shape
    r", Context (?P<context>\w+), Stream (?P<stream>\w+)"
    r"(?:, Device (?P<device>\d+))?(?:, CC (?P<compute_capability>[\d.]+))?\s*$"
)
_SECTION = regex(r"^\s*Section: (.*?)\s*$")
_RULE = regex(r"^\s*-+ -+ -+\s*$")
_HEADER = regex(r"^\s*Metric Name +Metric Unit +Metric Value\s*$")
_WARNING = regex(r"^\s+Warning: ")
_ROWS = {
    "piece": pl.UInt32(),
    "section": pl.Categorical(),
    "metric": pl.Categorical(),
    "unit": pl.Categorical(),
    "text": pl.String(),
}
# One pattern per mark: each is found many times faster than by an alternation.
_TABLE_MARKS = (
    regex(rb"(?m)^\s*\[\d+\] .*@\S+\s*$"),
    regex(rb"(?m)^\s*Metric Name +Metric Unit +Metric Value"),
    regex(rb"(?m), Context \w+, Stream \w+(?:, Device \d+)?(?:, CC [\d.]+)?\s*$"),
)


def looks_like_text_page(head: bytes) -> bool:
    """Whether a file holds the text page, judged by its first lines."""
    return any(mark.search(head) for mark in _TABLE_MARKS)


class TextPage(msgspec.Struct):
    """The launches of one file, while it is read."""

    launches: GatheredLaunches
    log: ProfilerLog = msgspec.field(default_factory=ProfilerLog)
    layout: str = "text"
    _process: dict[str, str | None] = msgspec.field(default_factory=dict)
    _places: list[dict[str, str | None]] = msgspec.field(default_factory=list)
    _rows: list[tuple[int, str, str, str, str]] = msgspec.field(default_factory=list)
    _section: str = ""
    _edges: tuple[int, int] | None = None
    """Where the columns of name and unit end, inside a table."""
    _rows_of_table: int = 0

    def read(self, blocks: Iterable[bytes]) -> Iterator[None]:
        """Take in everything; yields after each stretch, so that a caller may stop."""
        for text in stretches(blocks):
            lines = text.decode("utf-8", "replace").removesuffix("\n").split("\n")
            other_lines = [line for line in lines if not self._take(line)]
            self.log.add("\n".join(other_lines).encode())
            self._hand_over(len(self._places) - 1)
            yield
        self._hand_over(len(self._places))

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
        values = pl.DataFrame(rows, _ROWS, orient="row")
        self.launches.add((launches.cast(pl.Schema(PLACE)), values), run=0)
