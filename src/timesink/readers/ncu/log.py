"""The lines around the tables: what the profiler and the profiled program said."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from timesink.collect.ncu.table import MARK
from timesink.model.health import HealthEntry

COLLECTED = MARK.encode()
"""How the line starts in which `timesink ncu` says what it recorded, and how."""
_COLLECTED_LINE = re.compile(rb"^" + re.escape(COLLECTED) + rb"([^\n]*)$", re.MULTILINE)
_SAID = re.compile(rb"==(PROF|WARNING|ERROR)== ?([^\n]*)|^ +(Warning): ([^\n]*)", re.MULTILINE)
_SPECIAL = {
    "uncontrolled_clocks": re.compile(r"unmodified GPU clocks|without fixed GPU frequencies"),
    "uncontrolled_caches": re.compile(r"(?i)uncontrolled GPU caches|without .*cache control"),
}
"""Warnings that mean something for the numbers."""
_NOTHING = re.compile(r"No (?:kernels|ranges|results) were profiled", re.IGNORECASE)
_REPORT = "Report: "
_MOST_NOTES = 100
_LONGEST_EXAMPLE = 160


@dataclass(slots=True)
class ProfilerLog:
    """What was said around the tables of one file."""

    warnings: dict[str, int] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    program_lines: int = 0
    program_example: str = ""
    collected: dict[str, Any] = field(default_factory=dict)
    """What `timesink ncu` wrote about its recording."""
    report: str = ""
    """Where the profiler says that it wrote its report."""

    def add(self, text: bytes) -> None:
        """Take in lines that belong to no table."""
        if not text.strip():
            return
        if COLLECTED in text:
            text = _COLLECTED_LINE.sub(self._note_collected, text)
        for found in _SAID.finditer(text):
            self._note(found)
        lines = [line for line in _SAID.sub(b"", text).split(b"\n") if line.strip()]
        self.program_lines += len(lines)
        if lines and not self.program_example:
            self.program_example = shortened(lines[0].strip(), _LONGEST_EXAMPLE)

    def _note(self, found: re.Match[bytes]) -> None:
        kind = (found[1] or found[3]).upper()
        said = (found[2] or found[4] or b"").decode("utf-8", "replace").strip()
        if kind == b"PROF" and said.startswith(_REPORT):
            self.report = said.removeprefix(_REPORT).strip()
        if kind == b"PROF" or not said:
            return
        notes = self.errors if kind == b"ERROR" else self.warnings
        notes[said] = notes.get(said, 0) + 1

    def _note_collected(self, line: re.Match[bytes]) -> bytes:
        """Keep what the first recording of the file says; what is no such line stays."""
        try:
            facts = json.loads(line[1])
        except ValueError:
            return line[0]
        if not isinstance(facts, dict):
            return line[0]
        self.collected = self.collected or facts
        return b""

    @property
    def notes(self) -> list[str]:
        """Distinct warnings and errors, errors first."""
        return [*self.errors, *self.warnings][:_MOST_NOTES]

    @property
    def says_nothing_profiled(self) -> bool:
        return any(_NOTHING.search(note) for note in self.warnings)

    def health(self) -> list[HealthEntry]:
        """The notes as health: those with a meaning of their own apart."""
        entries = [
            HealthEntry("profiler_error", count, said) for said, count in self.errors.items()
        ]
        entries.append(HealthEntry("log_lines", self.program_lines, self.program_example))
        # Versions word the same in several ways; it is still one fact about the run.
        special: dict[str, HealthEntry] = {}
        for said, count in self.warnings.items():
            code = next((code for code, words in _SPECIAL.items() if words.search(said)), "")
            if code:
                special.setdefault(code, HealthEntry(code, 1, said))
            else:
                entries.append(HealthEntry("profiler_warning", count, said))
        return [*entries, *special.values()]


def shortened(line: bytes, longest: int) -> str:
    text = line.decode("utf-8", "replace")
    return text if len(text) <= longest else text[: longest - 3] + "..."
