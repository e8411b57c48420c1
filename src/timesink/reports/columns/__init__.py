"""What the columns of each table mean, and which of them people see.

Columns are named as the analysis names them; `timesink.reports.rows` says how they reach users.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table."""

    meaning: str
    title: str = ""
    """Its heading in text and Markdown; a column without one is in CSV and JSON only.  Columns with
    the same heading share a cell: `64 x 1 x 1`."""


Columns: TypeAlias = Mapping[str, Column]
"""The columns of a table by name, in the order in which people see them."""
