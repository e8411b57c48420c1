"""How a folder written by timesink is told from others, without loading what reads it."""

from __future__ import annotations

from pathlib import Path

DESCRIPTION = "trace.json"


def is_folder(folder: Path) -> bool:
    """Whether this is a trace written as a folder of Parquet files."""
    try:
        with (folder / DESCRIPTION).open("rb") as file:
            return b'"timesink_schema"' in file.read(64)
    except OSError:
        return False
