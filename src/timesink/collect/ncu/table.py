"""The table Nsight Compute prints: what it holds, and the file it becomes."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from timesink.collect.ncu.command import DEVICE_NAME
from timesink.errors import OutputError

MARK = "# timesink-ncu "
"""Starts the first line of a file written here; what was asked for follows as JSON."""

TABLE_HEAD = b'"ID"'
"""How the table starts that Nsight Compute prints as CSV."""
_ABSENT = frozenset({"", "n/a", "nan"})
_KEY = ("Process ID", "Device", "ID")
_PREFIXES = ("regex:", "group:", "breakdown:")


@dataclass(frozen=True, slots=True)
class PrintedTable:
    """What a printed table holds; ``offset`` is where its header starts in the file."""

    path: Path
    offset: int
    kernels: int
    device: str
    without_values: tuple[str, ...]


def look_at(path: Path, metrics: Sequence[str]) -> PrintedTable | None:
    """Describe the table in a file; None when there is none."""
    with path.open("rb") as file:
        offset = 0
        for line in file:
            if line.startswith(TABLE_HEAD):
                break
            offset += len(line)
        else:
            return None
        file.seek(offset)
        rows = csv.reader(io.TextIOWrapper(file, "utf-8", errors="replace", newline=""))
        header = next(rows)
        see = _see_long if "Metric Name" in header else _see_wide
        kernels, device, measured = see(header, rows)
    # Asked for by name, and no kernel has them; a name without suffix stands for several.
    absent = (
        name
        for name in metrics
        if not name.startswith(_PREFIXES)
        and name not in measured
        and not any(found.startswith(f"{name}.") for found in measured)
    )
    return PrintedTable(path, offset, kernels, device, tuple(absent))


_Seen = tuple[int, str, set[str]]
"""How many kernels, on which device, and the metrics that have values."""


def _see_wide(header: list[str], rows: Iterable[list[str]]) -> _Seen:
    """A row per kernel, a column per metric; the row of units has no number."""
    kernels, device = 0, ""
    empty = dict(enumerate(header))
    name = header.index(DEVICE_NAME) if DEVICE_NAME in header else None
    for row in rows:
        if len(row) != len(header) or not row[0]:
            continue
        kernels += 1
        if name is not None and not device and row[name] not in _ABSENT:
            device = row[name]
        for column in [column for column in empty if row[column] not in _ABSENT]:
            del empty[column]
    return kernels, device, set(header) - set(empty.values())


def _see_long(header: list[str], rows: Iterable[list[str]]) -> _Seen:
    """A row per kernel and metric."""
    key = [header.index(column) for column in _KEY]
    metric, value = header.index("Metric Name"), header.index("Metric Value")
    kernels: set[tuple[str, ...]] = set()
    measured: set[str] = set()
    for row in rows:
        if len(row) != len(header):
            continue
        kernels.add(tuple(row[column] for column in key))
        if row[value] not in _ABSENT:
            measured.add(row[metric])
    return len(kernels), "", measured


def write_table(
    table: PrintedTable, output: Path, collected: dict[str, Any], notes: Sequence[str]
) -> None:
    """The table as a file that says how it came about; .gz at the end of its name packs it.

    The file appears whole or not at all.
    """
    unfinished = table.path.with_name("unfinished")
    open_packed = gzip.open if output.suffix == ".gz" else open
    try:
        with table.path.open("rb") as source, open_packed(unfinished, "wb") as target:
            source.seek(table.offset)
            first = [MARK + json.dumps(collected), *notes]
            target.write("".join(f"{line}\n" for line in first).encode("utf-8", "replace"))
            shutil.copyfileobj(source, target)
        os.replace(unfinished, output)  # noqa: PTH105 - says what happens to a file that is there
    except OSError as error:
        raise OutputError.unwritable(output, error.strerror or str(error)) from None
