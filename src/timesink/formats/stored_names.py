"""Names of the files and folders that results are stored in."""

from __future__ import annotations

from pathlib import Path

# Writing beside the place that was asked for, so that nothing half written is ever found there.

BASELINE_ENDING = ".baseline"
"""Of files of baselines; no other result is called so."""
SERIES = ".history"
"""Of folders with the rows of a series of commits."""
STORE = Path(".timesink") / "baselines"
"""Where both are kept, unless a store is named: below the working directory."""


# How a folder written by timesink is told from others, without loading what reads it.

DESCRIPTION = "trace.json"
SCHEMA_VERSION = 7
"""Raised whenever a table changes; part of every cache key and of every exported folder."""


def is_folder(folder: Path) -> bool:
    """Whether this is a trace written as a folder of Parquet files."""
    try:
        with (folder / DESCRIPTION).open("rb") as file:
            return b'"timesink_schema"' in file.read(64)
    except OSError:
        return False
