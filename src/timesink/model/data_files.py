"""Tables that come with the package, in files beside the code that asks them."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def csv_rows(path: Path) -> list[dict[str, str]]:
    """Rows of a table, without its remarks; cells that a row ends before are empty."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = (line for line in file if not line.startswith("#"))
        return list(csv.DictReader(lines, restval=""))


def toml_tables(path: Path) -> dict[str, Any]:
    """All that a file of tables holds."""
    return tomllib.loads(path.read_text(encoding="utf-8"))
