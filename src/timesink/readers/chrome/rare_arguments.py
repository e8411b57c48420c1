"""Arguments few events carry: those that describe collectives, and all others as they are."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np
from msgspec import UNSET

from timesink.readers.chrome.argument_sets import COLLECTIVE_KEYS
from timesink.readers.chrome.arguments import Rare, as_list
from timesink.readers.chrome.columns import NULL_CODE, Codes, Group, PieceColumn, Vocabulary
from timesink.readers.chrome.timestamps import Int64Array

_Collective: Any = msgspec.defstruct(
    "Collective",
    [(to, Any, msgspec.field(name=key, default=UNSET)) for key, to in COLLECTIVE_KEYS.items()],
    gc=False,
)
_COLLECTIVES = msgspec.json.Decoder(list[_Collective])
_TOLD_APART = {int, str, type(None), type(UNSET)}
"""Types of which no two values are equal; a float may be equal to an integer."""


class _CodeOfValue(dict[Any, int]):
    """The code of a value as JSON; the same few values come again and again."""

    def __init__(self, texts: Vocabulary) -> None:
        super().__init__({UNSET: NULL_CODE})
        self._texts = texts

    def __missing__(self, value: Any) -> int:
        self[value] = code = self._texts[msgspec.json.encode(value)]
        return code

    def encode(self, values: Sequence[Any]) -> Codes:
        if _TOLD_APART.issuperset(map(type, values)):
            return np.fromiter(map(self.__getitem__, values), np.int32, len(values))
        given = (b"" if value is UNSET else msgspec.json.encode(value) for value in values)
        return self._texts.encode(given)


def collective_rows(index: Int64Array, rare: Rare, texts: Vocabulary) -> Group:
    """One row per event that describes a collective, and a column for each argument."""
    described = _COLLECTIVES.decode(as_list(raw for _, raw in rare))
    code_of = _CodeOfValue(texts)
    codes = {
        column: code_of.encode(list(map(attrgetter(column), described)))
        for column in COLLECTIVE_KEYS.values()
    }
    rows = np.array([row for row, _ in rare], np.intp)
    told = np.any([column != NULL_CODE for column in codes.values()], axis=0)
    return {
        "index": PieceColumn(index[rows[told]]),
        **{column: PieceColumn(values[told], "texts") for column, values in codes.items()},
    }


def other_rows(
    index: Int64Array, rare: Rare, keys: Collection[str], names: Vocabulary, texts: Vocabulary
) -> Group:
    """One row per other argument with one of the keys: its event, name and value as JSON."""
    given = msgspec.json.decode(as_list(raw for _, raw in rare))
    rows = [
        (row, key, msgspec.json.encode(value))
        for (row, _), arguments in zip(rare, given, strict=True)
        for key, value in arguments.items()
        if key in keys and key not in COLLECTIVE_KEYS
    ]
    return {
        "index": PieceColumn(index[np.array([row for row, _, _ in rows], np.intp)]),
        "key": PieceColumn(names.encode([key for _, key, _ in rows]), "names"),
        "value": PieceColumn(texts.encode([value for _, _, value in rows]), "texts"),
    }
