"""Tables that come with the package: CSV and TOML beside the code that reads them."""

from __future__ import annotations

import csv
import sys
from itertools import chain, repeat
from pathlib import Path
from typing import Any


def csv_rows(path: Path, like: str = "") -> list[dict[str, str]]:
    """Rows of a table, without its remarks; cells that a row ends before are empty.

    Or, where it ends after the cell `like`, those of the last row above with the same there.
    """
    with path.open(encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(line for line in file if not line.startswith("#"))
    last: dict[str, list[str]] = {}
    end = names.index(like) + 1 if like else 0
    for row in rows if like else ():
        if len(row) <= end:
            row.extend(last[row[-1]][end:])
        last[row[end - 1]] = row
    return [dict(zip(names, chain(row, repeat("")), strict=False)) for row in rows]


def toml_tables(path: Path) -> dict[str, Any]:
    """All that a file of tables holds."""
    if sys.version_info >= (3, 11):
        import tomllib  # noqa: PLC0415 - few tables are so
    else:
        import tomli as tomllib  # noqa: PLC0415 - before Python 3.11

    return tomllib.loads(path.read_text(encoding="utf-8"))
