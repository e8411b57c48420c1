"""Binary reports (`.ncu-rep`): read through `ncu --import`, where Nsight Compute is installed."""

from __future__ import annotations

import os
import re
import struct
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from timesink.collect.ncu.command import REPORT_SUFFIX, import_commands, shown
from timesink.collect.ncu.printing import PLAIN_NUMBERS
from timesink.collect.ncu.program import find_ncu
from timesink.collect.ncu.table import TABLE_HEAD
from timesink.errors import UnreadableError
from timesink.readers.source import SourceFile

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
        raise _not_installed(source.path)
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


def _not_installed(path: Path) -> UnreadableError:
    is_named = path.name.lower().endswith(REPORT_SUFFIX)
    stem = path.name[: -len(REPORT_SUFFIX)] if is_named else path.name
    command = shown(import_commands("ncu", path.name)[0])
    return UnreadableError(
        f"{path}: a binary Nsight Compute report, and ncu is not installed here",
        f"where it is, run  {command} > {shown([f'{stem}.csv'])}  and give the .csv; "
        "or set TIMESINK_NCU to the program",
    )


def _failed(path: Path, output: bytes, code: int) -> UnreadableError:
    said = _ERROR.search(output)
    reason = said[1].decode("utf-8", "replace").strip() if said else f"exit code {code}"
    return UnreadableError(
        f"{path}: ncu cannot read this report ({reason})",
        "use an ncu at least as new as the one that wrote it (TIMESINK_NCU names the program)",
    )
