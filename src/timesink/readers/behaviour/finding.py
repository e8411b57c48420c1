"""Behaviour tables below a folder."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from timesink.errors import UnreadableError
from timesink.readers import behaviour
from timesink.readers.source import open_source

_NAMED = re.compile(
    r"(?:_perf_data\.csv(?:\.gz)?|behaviour.*\.(?:csv|csv\.gz|parquet))$", re.IGNORECASE
)


def find_behaviour_tables(folder: Path) -> list[Path]:
    """Every behaviour table in a folder and below it, in the order of their paths.

    A table is named `..._perf_data.csv[.gz]`, or has `behaviour` in its name, and is one by
    content.
    """
    found = (
        Path(place) / name
        for place, _, names in os.walk(folder, followlinks=True)
        for name in names
        if _NAMED.search(name)
    )
    return sorted(path for path in found if is_behaviour_table(path))


def is_behaviour_table(path: Path) -> bool:
    """Whether a file is a behaviour table, by content."""
    with suppress(UnreadableError, OSError):
        source = open_source(path)
        return behaviour.sniff(source.head(), source.name)
    return False
