"""Having Nsight Compute print its report as a table."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from timesink.collect.ncu.table import PrintedTable, look_at
from timesink.collect.processes import end_family, family
from timesink.collect.signals import interruption
from timesink.errors import CollectError

_POLL_S = 0.1
_EXCERPT = 1000
_ERROR = "==ERROR=="

PLAIN_NUMBERS = {"LC_ALL": "C"}
"""For an environment in which numbers are printed alike, whatever language the machine speaks."""


def printed_table(
    commands: Sequence[list[str]], path: Path, metrics: Sequence[str], interruptions: list[int]
) -> PrintedTable:
    """The table that the first of the commands prints to its end."""
    complaint = ""
    for command in commands:
        known = len(interruptions)
        code, complaint = _print(command, path, interruptions)
        # A terminal interrupts the profiler as well, and what it printed is not all.
        stopped = interruption(interruptions[known:])
        if stopped is not None:
            raise stopped
        table = look_at(path, metrics) if not code else None
        if table is not None:
            return table
    raise CollectError(f"Nsight Compute cannot print its own report: {complaint}", "")


def _print(command: Sequence[str], path: Path, interruptions: list[int]) -> tuple[int, str]:
    """Have a report printed into a file: the exit code, and what the profiler complained about."""
    with path.open("wb") as file:
        try:
            process = subprocess.Popen(  # noqa: S603 - the program the user chose
                command,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.PIPE,
                env={**os.environ, **PLAIN_NUMBERS},
            )
        except OSError as error:
            raise CollectError.cannot_start(command[0], error.strerror or str(error)) from None
    with process:
        said, known = None, len(interruptions)
        while said is None:
            with suppress(subprocess.TimeoutExpired):
                said = process.communicate(timeout=_POLL_S)[1]
            if said is None and len(interruptions) > known:
                end_family(family(process.pid), 0)
    code = process.returncode
    lines = (said + _excerpt(path)).decode("utf-8", "replace").splitlines()
    errors = [line.removeprefix(_ERROR).strip() for line in lines if line.startswith(_ERROR)]
    return code, errors[-1] if errors else f"exit code {code}" if code else "no table"


def _excerpt(path: Path) -> bytes:
    """The start and the end of a file, which may be very large."""
    with path.open("rb") as file:
        start = file.read(_EXCERPT)
        file.seek(max(file.seek(0, os.SEEK_END) - _EXCERPT, len(start)))
        return start + b"\n" + file.read()
