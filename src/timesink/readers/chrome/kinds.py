"""Kinds of events as Enum columns, from what their categories are called."""

from __future__ import annotations

from functools import cache

import polars as pl

from timesink.readers.chrome.assemble import Array, Joined


def enum_series(values: Array, members: tuple[str, ...], name: str = "kind") -> pl.Series:
    """Numbers of members as an Enum; -1 is null."""
    return _members(members)[values].alias(name)


@cache
def _members(names: tuple[str, ...]) -> pl.Series:
    return pl.Series([*names, None], dtype=pl.Enum(names))


def kind_numbers(
    joined: Joined, kinds: dict[str, str], members: tuple[str, ...], otherwise: str
) -> Array:
    other = members.index(otherwise)
    return joined.map_words(
        "category", lambda text: members.index(kinds.get(text.lower(), otherwise)), other
    )
