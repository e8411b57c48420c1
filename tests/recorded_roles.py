"""Roles of real recordings as comparisons find them: what was found of one is kept beside it.

Tests of what is made of cycles, behaviour and anatomies need not find these anew.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from timesink.comparison.inputs import SideReadOptions, find_side
from timesink.comparison.reading import RunReader, processes_of, read_sides
from timesink.comparison.results import Process


def roles_of(path: Path) -> list[Process]:
    """Every role of a run."""
    read = read_sides(RunReader(SideReadOptions()), [find_side(path).sources])
    return processes_of(read[0][0])


recorded_roles = lru_cache(maxsize=16)(roles_of)
"""The same of runs that nobody changes."""
