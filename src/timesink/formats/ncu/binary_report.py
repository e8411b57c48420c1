"""Binary reports: `ncu --import` writes them out as pages."""

from __future__ import annotations

import os
import struct
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from timesink.errors import UnreadableError
from timesink.formats.source_file import SourceFile
from timesink.patterns import regex
from timesink.recorder.ncu.executable import find_ncu
from timesink.recorder.ncu.plan import REPORT_SUFFIX, command_line, import_commands
from timesink.recorder.ncu.table import PLAIN_NUMBERS, TABLE_HEAD

_MAGIC = b"NVR\0"
_LONGEST_HEADER = 1 << 16
_BLOCK = 1024 * 1024
_ERROR = regex(rb"==ERROR== ?([^\n]*)")
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
        command = command_line(import_commands("ncu", path.name)[0])
        raise UnreadableError(
            f"{path}: a binary Nsight Compute report, and ncu is not installed here",
            f"where it is, run  {command} > {command_line([f'{stem}.csv'])}  and give the .csv; "
            "or set TIMESINK_NCU to the program",
        )
    with source.plain_file(f"report{REPORT_SUFFIX}") as report:
        yield from _output_blocks(import_commands(program, report), source.path)


def _output_blocks(commands: Sequence[list[str]], path: Path) -> Iterator[bytes]:
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
    match = _ERROR.search(head[:_HEAD_BYTES])
    code = f"exit code {process.returncode}"
    reason = match[1].decode("utf-8", "replace").strip() if match else code
    raise UnreadableError(
        f"{path}: ncu cannot read this report ({reason})",
        "use an ncu at least as new as the one that wrote it (TIMESINK_NCU names the program)",
    )
