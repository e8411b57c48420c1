"""Columns of many pieces, decoded by several processes, joined in the order of the stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from timesink.formats.chrome.columns import NULL_CODE, NULL_INT, Group, Piece
from timesink.formats.chrome.decode import Share

Array = npt.NDArray[Any]
BoolArray = npt.NDArray[np.bool_]


class TraceWords:
    """Every text of the trace, numbered once for all shares."""

    def __init__(self, shares: Sequence[Share]) -> None:
        numbers_of: dict[str, dict[Any, int]] = {}
        self.remaps: list[dict[str, npt.NDArray[np.int32]]] = [{} for _ in shares]
        for share, remap in zip(shares, self.remaps, strict=True):
            for name, words in share.words.items():
                numbers = numbers_of.setdefault(name, {})
                codes = [numbers.setdefault(word, len(numbers)) for word in words]
                # The last entry answers the code of a missing word, which is -1.
                remap[name] = np.array([*codes, NULL_CODE], np.int32)
        self.texts: Mapping[str, list[str]] = {
            name: [_text_of_raw(word) if isinstance(word, bytes) else str(word) for word in numbers]
            for name, numbers in numbers_of.items()
        }
        self.categories = {
            name: pl.Series([*texts, None], dtype=pl.String).cast(pl.Categorical)
            for name, texts in self.texts.items()
        }


def _text_of_raw(raw: bytes) -> str:
    """A JSON string without its quotes; any other JSON in one layout, however it was written."""
    if raw.startswith(b'"'):
        return str(msgspec.json.decode(raw))
    return msgspec.json.format(raw, indent=0).decode()


class Joined(msgspec.Struct, frozen=True):
    """One group of events over the whole trace."""

    arrays: Mapping[str, Array]
    vocabularies: Mapping[str, str]
    words: TraceWords

    def __len__(self) -> int:
        return len(self.arrays["index"])

    def __contains__(self, key: str) -> bool:
        return key in self.arrays

    def take(self, rows: BoolArray) -> Joined:
        arrays = {key: values[rows] for key, values in self.arrays.items()}
        return Joined(arrays, self.vocabularies, self.words)

    def with_lengths(self, dur_ns: Array | int) -> Joined:
        lengths = np.broadcast_to(np.asarray(dur_ns, np.int64), len(self))
        return Joined(
            {**self.arrays, "dur_ns": lengths}, {**self.vocabularies, "dur_ns": ""}, self.words
        )

    def map_words(self, key: str, function: Callable[[str], Any], missing: Any) -> Array:
        """A function of the text of a column, called once per distinct text."""
        if key not in self.arrays:
            return np.full(len(self), missing)
        texts = self.words.texts[self.vocabularies[key]]
        table = np.full(len(texts) + 1, missing)
        for code in self._occurring(key):
            table[code] = function(texts[code])
        return table[self.arrays[key]]

    def distinct(self, key: str) -> list[str]:
        """The texts that occur in a column."""
        if key not in self.arrays:
            return []
        texts = self.words.texts[self.vocabularies[key]]
        return [texts[code] for code in self._occurring(key)]

    def _occurring(self, key: str) -> list[int]:
        """The codes in a column, in order, without that of a missing text."""
        # A table instead of a sort; the code of a missing text is -1, the last entry.
        seen = np.zeros(len(self.words.texts[self.vocabularies[key]]) + 1, np.bool_)
        seen[self.arrays[key]] = True
        codes: list[int] = np.flatnonzero(seen[:-1]).tolist()
        return codes

    def series(self, key: str) -> pl.Series:
        values = self.arrays[key]
        vocabulary = self.vocabularies[key]
        if vocabulary:
            # The code of a missing word is -1, which is the last of them.
            return self.words.categories[vocabulary][values].alias(key)
        if values.dtype == np.float64:
            return pl.Series(key, values, nan_to_null=True)
        return nullable(values).alias(key)

    def frame(self, keys: Iterable[str]) -> pl.DataFrame:
        """Those of the columns that exist."""
        return pl.DataFrame([self.series(key) for key in keys if key in self.arrays])

    def kinds(self, kind_of_category: Mapping[str, str], members: tuple[str, ...]) -> Array:
        """Number of the member each row is of, by its category; what is not known is `other`."""
        other = members.index("other")
        return self.map_words(
            "category",
            lambda text: members.index(kind_of_category.get(text.lower(), "other")),
            other,
        )


def enum_series(values: Array, members: tuple[str, ...], name: str = "kind") -> pl.Series:
    """Numbers of members as an Enum; -1 is null."""
    return _members(members)[values].alias(name)


@cache
def _members(members: tuple[str, ...]) -> pl.Series:
    return pl.Series([*members, None], dtype=pl.Enum(members))


def nullable(values: Array) -> pl.Series:
    series = pl.Series("values", values)
    missing = values == NULL_INT
    return series.set(pl.Series(missing), None) if missing.any() else series


class Assembly:
    """Joins the groups of all pieces, in the order of the stream."""

    def __init__(self, shares: Sequence[Share]) -> None:
        self.words = TraceWords(shares)
        placed = sorted(
            ((piece, number) for number, share in enumerate(shares) for piece in share.pieces),
            key=lambda pair: pair[0].number,
        )
        offsets = np.cumsum([0, *(piece.events for piece, _ in placed)])
        self._placed = [
            (piece, share, int(offset))
            for (piece, share), offset in zip(placed, offsets, strict=False)
        ]
        self.pieces: list[Piece] = [piece for piece, _ in placed]
        self.events = int(offsets[-1])
        names = {name for piece in self.pieces for name in piece.groups}
        self._joined = {name: self._join(name) for name in names}

    def join(self, name: str) -> Joined:
        """One group over all pieces; an absent one is empty."""
        empty = Joined({"index": np.empty(0, np.int64)}, {"index": ""}, self.words)
        return self._joined.get(name, empty)

    def _join(self, name: str) -> Joined:
        # A column some pieces lack is filled with nothing.
        parts = [
            (piece.groups[name], share, offset)
            for piece, share, offset in self._placed
            if name in piece.groups
        ]
        vocabularies: dict[str, str] = {}
        types: dict[str, np.dtype[Any]] = {}
        for group, _, _ in parts:
            for key, column in group.items():
                vocabularies[key] = column.vocabulary
                types[key] = column.values.dtype
        arrays = {
            key: np.concatenate([self._part(key, types[key], *part) for part in parts])
            for key in vocabularies
        }
        return Joined(arrays, vocabularies, self.words)

    def _part(self, key: str, dtype: np.dtype[Any], group: Group, share: int, offset: int) -> Array:
        column = group.get(key)
        if column is None:
            missing = {"f": np.nan, "i": NULL_INT if dtype.itemsize == 8 else NULL_CODE}
            return np.full(len(group["index"].values), missing[dtype.kind], dtype)
        if column.vocabulary:
            # Codes of one share become the common ones.
            codes: Array = self.words.remaps[share][column.vocabulary][column.values]
            return codes
        return column.values + offset if key == "index" else column.values
