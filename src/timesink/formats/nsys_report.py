"""Reports of Nsight Systems (`.nsys-rep`), which `nsys export` writes out as SQLite."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

from timesink.errors import UnreadableError
from timesink.formats import nsys
from timesink.formats.read_options import ReadOptions
from timesink.formats.source_file import SourceFile, open_source
from timesink.model.trace import Trace

NAME = nsys.NAME
ENDINGS = (".nsys-rep", ".qdrep")
PROGRAM = "TIMESINK_NSYS"
"""Environment variable that names the program."""
_MAX_SECONDS = 1800
_MAX_REASON = 160


def sniff(head: bytes, name: str) -> bool:
    r"""A binary file with the ending of a report; its own format is not published.

    >>> sniff(b"\x00\x01", "report1.nsys-rep"), sniff(b"{}", "report1.nsys-rep")
    (True, False)
    """
    is_binary = b"\0" in head[:4096] and not head.startswith(b"SQLite format 3\0")
    return name.lower().endswith(ENDINGS) and is_binary


def read(source: SourceFile, options: ReadOptions) -> Trace:
    """Read what `nsys export` makes of a report."""
    program = find_nsys()
    if program is None:
        raise UnreadableError(
            f"{source.path}: a report of Nsight Systems, and nsys is not installed here",
            f"where it is, run  nsys export --type sqlite {source.path.name}  and give the "
            f".sqlite; or set {PROGRAM} to the program",
        )
    with (
        tempfile.TemporaryDirectory(prefix="timesink-") as folder,
        source.plain_file("report.nsys-rep") as report,
    ):
        exported = Path(folder) / "export.sqlite"
        _export(program, report, exported, source.path)
        trace = nsys.read(open_source(exported), options)
    metadata = replace(trace.metadata, source=str(source.path))
    return replace(trace, metadata=metadata)


def find_nsys() -> str | None:
    """The program, where it is installed."""
    chosen = os.environ.get(PROGRAM)
    return shutil.which(chosen) if chosen else shutil.which("nsys")


def _export(program: str, report: Path, exported: Path, path: Path) -> None:
    command = [program, "export", "--type", "sqlite", "--force-overwrite", "true"]
    command += ["--output", str(exported), str(report)]
    try:
        done = subprocess.run(  # noqa: S603
            command,
            capture_output=True,
            check=False,
            timeout=_MAX_SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        reason = f"no end after {_MAX_SECONDS // 60} minutes"
    except OSError as error:
        reason = error.strerror or str(error)
    else:
        if done.returncode == 0 and exported.is_file():
            return
        lines = (done.stderr or done.stdout).decode("utf-8", "replace").split("\n")
        printed = next((line.strip() for line in lines if line.strip()), "")
        reason = printed[:_MAX_REASON] or f"exit code {done.returncode}"
    raise UnreadableError(
        f"{path}: nsys cannot export this report ({reason})",
        f"use an nsys at least as new as the one that wrote it ({PROGRAM} names the program)",
    )
