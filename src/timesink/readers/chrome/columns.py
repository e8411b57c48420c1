"""Columns of one piece of a trace, as NumPy arrays and codes, and the vocabularies they share.

This is what a worker hands back: small, flat, picklable, free of Python objects per event.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int32]
NULL_CODE = -1


class Vocabulary(dict[Any, int]):
    """Texts (or other hashables) numbered in order of appearance; None and b"" are missing."""

    def __init__(self) -> None:
        super().__init__()
        self[None] = self[b""] = NULL_CODE

    def __missing__(self, key: Any) -> int:
        code = len(self) - 2  # None and b"" are members too
        self[key] = code
        return code

    def encode(self, values: Iterable[Any]) -> Codes:
        count = len(values) if isinstance(values, (tuple, list)) else -1
        return np.fromiter(map(self.__getitem__, values), np.int32, count)

    def words(self) -> list[Any]:
        """Every word, in order of its code."""
        return list(self)[2:]


@dataclass(slots=True)
class Vocabularies:
    """One vocabulary per sort of text, shared by all pieces a worker decodes."""

    phases: Vocabulary = field(default_factory=Vocabulary)
    categories: Vocabulary = field(default_factory=Vocabulary)
    names: Vocabulary = field(default_factory=Vocabulary)
    lanes: Vocabulary = field(default_factory=Vocabulary)
    """pid, tid, stream and flow ids: numbers or text."""
    texts: Vocabulary = field(default_factory=Vocabulary)
    """Raw JSON of shapes, stacks, splits, geometry."""

    def tables(self) -> dict[str, list[Any]]:
        """The words of each, in the order of their codes."""
        return {one.name: getattr(self, one.name).words() for one in fields(self)}


@dataclass(frozen=True, slots=True)
class PieceColumn:
    """Values of one column; with `vocabulary` set they are codes into that vocabulary."""

    values: npt.NDArray[Any]
    vocabulary: str = ""


Group = dict[str, PieceColumn]
"""Columns of equal length, by name."""


@dataclass(slots=True)
class Tally:
    """Counts health codes while decoding, with the first example of each."""

    counts: dict[str, int] = field(default_factory=dict)
    examples: dict[str, str] = field(default_factory=dict)
    names: dict[str, set[str]] = field(default_factory=dict)
    """For codes that count distinct names instead of events."""

    def add(self, code: str, count: int = 1, example: object = "") -> None:
        if count <= 0:
            return
        self.counts[code] = self.counts.get(code, 0) + int(count)
        if example != "":
            text = example.decode("utf-8", "replace") if isinstance(example, bytes) else example
            self.examples.setdefault(code, str(text)[:200])

    def add_name(self, code: str, name: str) -> None:
        """Count a name once, however often it is met."""
        known = self.names.setdefault(code, set())
        if name not in known:
            known.add(name)
            self.counts[code] = len(known)
            self.examples[code] = ", ".join(sorted(known))[:200]

    def update(self, other: Tally) -> None:
        for code, names in other.names.items():
            for name in names:
                self.add_name(code, name)
        for code, count in other.counts.items():
            if code not in other.names:
                self.add(code, count, other.examples.get(code, ""))


@dataclass(frozen=True, slots=True)
class Piece:
    """One decoded piece: its place in the stream, its columns, what was odd about it."""

    number: int
    events: int
    groups: dict[str, Group]
    tally: Tally
    phases: dict[str, int] = field(default_factory=dict)
    """How many events of each phase the piece holds."""
    rest: bytes = b""
    """Text after the end of the event list, when this piece holds that end."""
    closed: bool = False
    """Whether the end of the event list was seen in this piece."""
