"""Types of the elements of tensors: their size, how they are computed with, what they are called.

Operators are recorded with the names of C++, collectives with those of PyTorch or NCCL, and plain
values name a type by its number.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import msgspec

from timesink.model.data_files import csv_rows


class ElementType(msgspec.Struct, frozen=True):
    """One type as operators record it."""

    name: str
    bytes: float
    precision: str
    """How it is computed with: `bf16`, `fp32`, `int8`, ...; integers and flags are `int`."""


def _plain(name: str) -> str:
    return name.lower().replace("c10::", "").replace(" ", "_")


_ROWS = csv_rows(Path(__file__).with_name("element_types.csv"))
ELEMENT_TYPES: Mapping[str, ElementType] = {
    row["type"]: ElementType(row["type"], float(row["bytes"]), row["precision"]) for row in _ROWS
}
"""By the name that operators are recorded with."""
_BY_NUMBER = {row["number"]: row["type"] for row in _ROWS if row["number"]}
_BY_SPELLING = {
    name: ELEMENT_TYPES[row["type"]]
    for row in _ROWS
    for name in (_plain(row["type"]), *row["spellings"].split())
}


def type_by_number(number: str) -> str | None:
    """The type that a number of PyTorch stands for.

    >>> type_by_number("15")
    'c10::BFloat16'
    """
    return _BY_NUMBER.get(number)


@lru_cache(maxsize=1024)
def type_by_spelling(name: str) -> ElementType | None:
    """A type in the spelling of operators or of collectives.

    >>> type_by_spelling("BFloat16").bytes, type_by_spelling("uint8").precision
    (2.0, 'int8')
    """
    return _BY_SPELLING.get(_plain(name))
