"""Binary reports (`.ncu-rep`): read through `ncu --import`, where Nsight Compute is installed."""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from timesink.errors import UnreadableError
from timesink.formats.packing import SourceFile
from timesink.model.health import HealthEntry
from timesink.recorder.ncu.command import REPORT_SUFFIX, find_ncu, import_commands, shown
from timesink.recorder.ncu.table import MARK, PLAIN_NUMBERS, TABLE_HEAD

_MAGIC = b"NVR\0"
_LONGEST_HEADER = 1 << 16
_BLOCK = 1024 * 1024
_ERROR = re.compile(rb"==ERROR== ?([^\n]*)")
_HEAD_BYTES = 64 * 1024


def looks_like_report(head: bytes, name: str) -> bool:
    """Whether a file is a binary report: by its first bytes, or its name where it is binary."""
    if head.startswith(_MAGIC) and len(head) >= 8:
        (header,) = struct.unpack_from("<I", head, len(_MAGIC))
        if header < _LONGEST_HEADER:
            return True
    return name.lower().endswith(REPORT_SUFFIX) and b"\0" in head[:1024]


def exported_blocks(source: SourceFile) -> Iterator[bytes]:
    """The raw page of a report as CSV, block by block."""
    program = find_ncu()
    if program is None:
        path = source.path
        is_named = path.name.lower().endswith(REPORT_SUFFIX)
        stem = path.name[: -len(REPORT_SUFFIX)] if is_named else path.name
        command = shown(import_commands("ncu", path.name)[0])
        raise UnreadableError(
            f"{path}: a binary Nsight Compute report, and ncu is not installed here",
            f"where it is, run  {command} > {shown([f'{stem}.csv'])}  and give the .csv; "
            "or set TIMESINK_NCU to the program",
        )
    with source.plain_file(f"report{REPORT_SUFFIX}") as report:
        yield from _printed(import_commands(program, report), source.path)


def _printed(commands: Sequence[list[str]], path: Path) -> Iterator[bytes]:
    """What the first of the commands prints that knows its options."""
    environment = {**os.environ, **PLAIN_NUMBERS}
    for command in commands:
        with subprocess.Popen(  # noqa: S603
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
        ) as process:
            assert process.stdout is not None  # noqa: S101
            head = process.stdout.read(_BLOCK)
            # One that refuses its options prints no table, and the next may know better.
            is_passed_on = TABLE_HEAD in head or len(head) == _BLOCK
            if is_passed_on:
                yield head
            while block := process.stdout.read(_BLOCK):
                yield block
        if not process.returncode and not is_passed_on:
            yield head
        if not process.returncode:
            return
        if is_passed_on:
            break
    raise _failed(path, head[:_HEAD_BYTES], process.returncode)


def _failed(path: Path, output: bytes, code: int) -> UnreadableError:
    said = _ERROR.search(output)
    reason = said[1].decode("utf-8", "replace").strip() if said else f"exit code {code}"
    return UnreadableError(
        f"{path}: ncu cannot read this report ({reason})",
        "use an ncu at least as new as the one that wrote it (TIMESINK_NCU names the program)",
    )


# The lines around the tables: what the profiler and the profiled program said.

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
