"""Fewer of many cases that walk the same way; all of them to search for faults."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

Case = TypeVar("Case")

IS_SEARCH = os.environ.get("HYPOTHESIS_PROFILE") == "search"


def every_nth(cases: Iterable[Case], step: int) -> list[Case]:
    """Every `step`-th case, the first one always; with HYPOTHESIS_PROFILE=search all of them."""
    return list(cases)[:: 1 if IS_SEARCH else step]
