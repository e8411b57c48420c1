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
from typing import Any, BinaryIO

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
class Table:
    """What a printed table holds; ``offset`` is where its header starts in the file."""

    path: Path
    offset: int
    kernels: int
    device: str
    without_values: tuple[str, ...]


def look_at(path: Path, metrics: Sequence[str]) -> Table | None:
    """Describe the table in a file; None when there is none."""
    with path.open("rb") as file:
        offset = _offset_of_table(file)
        if offset is None:
            return None
        file.seek(offset)
        rows = csv.reader(io.TextIOWrapper(file, "utf-8", errors="replace", newline=""))
        header = next(rows)
        seen = _see_long(header, rows) if "Metric Name" in header else _see_wide(header, rows)
    return Table(path, offset, seen.kernels, seen.device, _absent(metrics, seen.measured))


def _offset_of_table(file: BinaryIO) -> int | None:
    offset = 0
    for line in file:
        if line.startswith(TABLE_HEAD):
            return offset
        offset += len(line)
    return None


@dataclass(slots=True)
class _Seen:
    kernels: int = 0
    device: str = ""
    measured: frozenset[str] = frozenset()


def _see_wide(header: list[str], rows: Iterable[list[str]]) -> _Seen:
    """A row per kernel, a column per metric; the row of units has no number."""
    seen = _Seen()
    empty = dict(enumerate(header))
    name = header.index(DEVICE_NAME) if DEVICE_NAME in header else None
    for row in rows:
        if len(row) != len(header) or not row[0]:
            continue
        seen.kernels += 1
        if name is not None and not seen.device and row[name] not in _ABSENT:
            seen.device = row[name]
        for column in [column for column in empty if row[column] not in _ABSENT]:
            del empty[column]
    seen.measured = frozenset(header) - frozenset(empty.values())
    return seen


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
    return _Seen(len(kernels), "", frozenset(measured))


def _absent(metrics: Sequence[str], measured: frozenset[str]) -> tuple[str, ...]:
    """Metrics asked for by name that no kernel has; a name without suffix stands for several."""
    return tuple(
        name
        for name in metrics
        if not name.startswith(_PREFIXES)
        and name not in measured
        and not any(found.startswith(f"{name}.") for found in measured)
    )


def write_table(
    table: Table, output: Path, collected: dict[str, Any], notes: Sequence[str]
) -> None:
    """The table as a file that says how it came about; .gz at the end of its name packs it.

    The file appears whole or not at all.
    """
    unfinished = table.path.with_name("unfinished")
    try:
        with table.path.open("rb") as source, _opened(unfinished, output) as target:
            source.seek(table.offset)
            first = [MARK + json.dumps(collected), *notes]
            target.write("".join(f"{line}\n" for line in first).encode("utf-8", "replace"))
            shutil.copyfileobj(source, target)
        os.replace(unfinished, output)  # noqa: PTH105 - says what happens to a file that is there
    except OSError as error:
        raise OutputError.unwritable(output, error.strerror or str(error)) from None


def _opened(path: Path, output: Path) -> BinaryIO | gzip.GzipFile:
    return gzip.open(path, "wb") if output.suffix == ".gz" else path.open("wb")
