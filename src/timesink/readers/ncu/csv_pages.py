"""CSV output as printed: tables among other lines.

The profiled program prints what it likes, the profiler reports its progress, and files are put
together from several runs.  A stretch in which every line is a row is parsed as it is; only in
others are lines looked at one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from timesink.model.health import HealthEntry
from timesink.readers.ncu.launches import GatheredLaunches
from timesink.readers.ncu.lines import ahead, all_quoted_rows, stretches
from timesink.readers.ncu.log import ProfilerLog, shortened
from timesink.readers.ncu.table import BadRowsError, CsvTable

_SEPARATORS = b",;\t"


@dataclass(slots=True)
class CsvPages:
    """The tables of one file, while it is read."""

    launches: GatheredLaunches
    log: ProfilerLog = field(default_factory=ProfilerLog)
    table: CsvTable | None = None
    runs: int = 0
    layouts: list[str] = field(default_factory=list)
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

    @property
    def layout(self) -> str:
        """What the file is, by its first table."""
        return self.layouts[0] if self.layouts else ""

    def health(self) -> list[HealthEntry]:
        return [
            HealthEntry("bad_table_row", self.bad_rows, self.bad_example),
            HealthEntry("cut_line", int(bool(self.cut_line)), self.cut_line),
            HealthEntry("appended_tables", max(self.runs - 1, 0)),
            HealthEntry("invalid_utf8", self.invalid_bytes),
        ]

    def _begin_table(self, header: bytes) -> None:
        self.table = CsvTable.from_header(header.rstrip(b"\n"))
        self.runs += 1
        self._units_follow = not self.table.is_details
        self.layouts.append("details-csv" if self.table.is_details else "raw-csv")

    def _take_rows(self, text: bytes) -> bool:
        """Take lines that seem to be rows as they are; whether all of them were."""
        if self.table is None or self._units_follow or not self.table.is_quoted:
            return False
        try:
            self._parse(self.table, text)
        except BadRowsError:
            return False
        return True

    def _take_lines(self, text: bytes) -> None:
        for is_header, lines in split_at_headers(text):
            if is_header:
                self._begin_table(lines)
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
        rows, others = [], []
        for line in lines.split(b"\n"):
            if table.is_row(line):
                rows.append(line)
            elif (start := table.row_inside(line)) >= 0:
                others.append(line[:start])
                rows.append(line[start:])
            else:
                others.append(line)
        self.log.add(b"\n".join(others))
        # Without a line end, the last line may have been cut where the file was.
        if rows and not lines.endswith(b"\n") and not table.is_whole(rows[-1]):
            self.cut_line = shortened(rows.pop(), 120)
        if not rows:
            return
        try:
            self._parse(table, b"\n".join(rows))
        except BadRowsError:
            self._take_whole_rows(table, rows)

    def _take_whole_rows(self, table: CsvTable, rows: list[bytes]) -> None:
        whole = [row for row in rows if table.is_whole(row)]
        self._note_bad([row for row in rows if not table.is_whole(row)])
        text = b"\n".join(whole).decode("utf-8", "replace")
        self.invalid_bytes += text.count("\ufffd")
        try:
            if whole:
                self._parse(table, text.encode())
        except BadRowsError:
            self._note_bad(whole)

    def _note_bad(self, rows: list[bytes]) -> None:
        self.bad_rows += len(rows)
        if rows and not self.bad_example:
            self.bad_example = shortened(rows[0], 120)

    def _parse(self, table: CsvTable, rows: bytes) -> None:
        self.launches.add(table.part_of(rows), self.runs)


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
    quoted = _places(text, b'"ID"')
    plain = [0] if text.startswith(b"ID") else []
    plain += [place + 1 for place in _places(text, b"\nID")]
    return sorted(
        [start for start in quoted if _is_header(text, start, b'"ID"')]
        + [start for start in plain if _is_header(text, start, b"ID")]
    )


def _places(text: bytes, mark: bytes) -> list[int]:
    found = []
    place = text.find(mark)
    while place >= 0:
        found.append(place)
        place = text.find(mark, place + 1)
    return found


def _is_header(text: bytes, start: int, mark: bytes) -> bool:
    separator = text[start + len(mark) : start + len(mark) + 1]
    line = text[start : text.find(b"\n", start) + 1 or len(text)]
    return (
        separator != b""
        and separator in _SEPARATORS
        and b"Process ID" in line
        and b"Kernel Name" in line
    )
