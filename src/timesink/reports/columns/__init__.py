"""What the columns of each table mean, and which of them people see.

Columns are named as the analysis names them; `timesink.reports.rows` says how they reach users.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """One column of a table."""

    meaning: str
    title: str = ""
    """Its heading for people; one without is in CSV and JSON, and further to the right on pages.
    Columns with the same heading share a cell: `64 x 1 x 1`."""
    main: bool = True
    """False for one that has a heading and leaves names too little room."""


Columns: TypeAlias = Mapping[str, ColumnSpec]
"""The columns of a table by name, in the order in which people see them."""
