"""Rows of a tree put under one another, as deep as readers of JSON can follow."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypeVar

Item = TypeVar("Item")
Row: TypeAlias = dict[str, Any]

MOST_LEVELS = 400
"""Each level is two brackets, and readers, Python's own among them, give up at a thousand."""


def nested(items: Iterable[tuple[Item, int | None]], show: Callable[[Item], Row]) -> list[Row]:
    """Items with the places of their parents, which come before them, as rows with `children`.

    Below the deepest level nothing is shown; rows there tell in `truncated` how many are left out.

    >>> nested([("net", None), ("conv", 0), ("relu", 0)], lambda name: {"name": name})
    ... # doctest: +NORMALIZE_WHITESPACE
    [{'name': 'net', 'children': [{'name': 'conv', 'children': []},
                                  {'name': 'relu', 'children': []}]}]
    """
    tops: list[Row] = []
    rows: list[Row] = []
    below: list[int] = []  # the level of each row's children
    for item, parent in items:
        level = 0 if parent is None else below[parent]
        if parent is not None and level == MOST_LEVELS:
            bottom = rows[parent]
            bottom["truncated"] = bottom.get("truncated", 0) + 1
            rows.append(bottom)
            below.append(level)
            continue
        row = show(item)
        row["children"] = []
        (tops if parent is None else rows[parent]["children"]).append(row)
        rows.append(row)
        below.append(level + 1)
    return tops
