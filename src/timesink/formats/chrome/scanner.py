"""Pieces by the native scanner, where the package was built with it; else there is none.

The scanner takes clean pieces, which nearly all are.  What it refuses, the Python path decodes into
the same vocabularies, so that both give the same tables.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from timesink.formats.chrome.columns import Codes, Vocabularies
from timesink.runtime.native import native_module

_scanner = native_module()
VOCABULARIES = tuple(field_info.name for field_info in fields(Vocabularies))
INT, FLOAT, LANE, TEXT, MARKER, PACKED, IGNORED = range(7)
_PARTS_OF_RUN_PIECE = 3
_TYPES = {INT: np.int64, FLOAT: np.float64, LANE: np.int32, TEXT: np.int32}
_ENVELOPE = ("phase", "category", "name", "pid", "tid", "ts_ns", "dur_ns", "flow_id")
"""Columns that events of every group may have, in the order of the scanner's bits."""
GroupPlan = tuple[str, bool, list[tuple[str, int, int, int]], list[int], int, bool, bool]
"""Name, whether it has arguments, keys (text, type, column, rank), types of columns; what it keeps
of the envelope, whether its events need no time, whether its values are taken from the text."""


def bits_of(columns: Iterable[str]) -> int:
    """Columns of the envelope, as the scanner is told which to keep."""
    return sum(1 << _ENVELOPE.index(column) for column in columns)


class ScannedVocabulary:
    """A vocabulary that the scanner holds, with the face of `columns.Vocabulary`."""

    def __init__(self, scanner: Any, name: str) -> None:
        self._scanner = scanner
        self._place = VOCABULARIES.index(name)
        self._words: list[Any] = []

    def encode(self, values: Iterable[Any]) -> Codes:
        values = values if isinstance(values, list | tuple) else list(values)
        kinds = set(map(type, values))
        if not (kinds <= _PLAIN and len(kinds & _NUMBERS) <= 1):
            return self._intern(values)
        # Few of many are unlike: each is handed over once.
        words = dict.fromkeys(values)
        codes = dict(zip(words, self._intern(words).tolist(), strict=True))
        return np.fromiter(map(codes.__getitem__, values), np.int32, len(values))

    def _intern(self, values: Iterable[Any]) -> Codes:
        items = [_item(value) for value in values]
        return np.frombuffer(_scanner.intern(self._scanner, self._place, items), np.int32)

    def __getitem__(self, value: Any) -> int:
        return int(self.encode([value])[0])

    def get(self, value: Any, default: int) -> int:
        words = self.words()
        return words.index(value) if value in words else default

    def words(self) -> list[Any]:
        """Every word, in order of its code."""
        self._words += _scanner.words(self._scanner, self._place, len(self._words))
        return list(self._words)


_NUMBERS = {int, bool, float}
"""Values of two of these can be equal, and are other words."""
_PLAIN = {str, bytes, type(None), *_NUMBERS}


def _integers(size: int) -> str:
    """The type of integers of so many bytes."""
    return f"i{size}"


def _rare(group: tuple[bytes, ...] | None) -> ScannedGroup | None:
    if group is None:
        return None
    rows, starts, ends, marked, unknown = (np.frombuffer(part, np.int32) for part in group)
    return ScannedGroup(rows, starts, ends, [], marked, unknown, is_odd=False)


def _item(value: Any) -> tuple[bytes, bool] | None:
    if value is None or value == b"":
        return None
    if isinstance(value, bytes):
        return bytes(value), False
    return str(value).encode("utf-8", "surrogatepass"), isinstance(value, int)


@dataclass(frozen=True, slots=True)
class ScannedGroup:
    """Events of one group in a piece: their rows, where their arguments stand, and columns."""

    rows: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int32]
    columns: list[npt.NDArray[Any] | None]
    """None where no event gives a value."""
    marked: npt.NDArray[np.int32]
    """Places in `rows` of events with rare arguments, and of those with unknown ones."""
    unknown: npt.NDArray[np.int32]
    is_odd: bool
    """Whether a value has an unexpected type, so that there are no columns."""


@dataclass(frozen=True, slots=True)
class ScannedPiece:
    """What the scanner saw of a piece: a value per event, and groups by their number."""

    count: int
    phase: Codes
    category: Codes
    name: Codes
    pid: Codes
    tid: Codes
    ts_ns: npt.NDArray[np.int64]
    dur_ns: npt.NDArray[np.int64]
    ids: npt.NDArray[np.int64]
    places: npt.NDArray[np.int8]
    groups: list[ScannedGroup | None]


@dataclass(frozen=True, slots=True)
class RunPiece:
    """A piece that went to the run: what of it has to be looked at in its text."""

    count: int
    phases: npt.NDArray[np.int32]
    """Events of each phase, by its code; the first are those without one."""
    groups: list[ScannedGroup | None]
    """Those with rare or unknown arguments, without columns."""


RunColumns = dict[str, npt.NDArray[Any]]
"""Columns of a group by name; those of arguments are numbered."""


class PieceScanner:
    """Scans pieces one after another; texts are numbered in vocabularies they share."""

    def __init__(
        self,
        groups: list[GroupPlan],
        categories: list[tuple[str, int]],
        phases: list[tuple[str, int]],
        special: tuple[int, int, int, int, int, int],
        memory_name: str,
    ) -> None:
        seed = int.from_bytes(os.urandom(8), "little")
        self._types = [group[3] for group in groups]
        self._scanner = _scanner.make(seed, groups, categories, phases, special, memory_name, "X")
        self.vocabularies: Any = Vocabularies(
            **{name: ScannedVocabulary(self._scanner, name) for name in VOCABULARIES}  # type: ignore[arg-type]
        )

    def scan(self, text: bytes, *, to_run: bool) -> ScannedPiece | RunPiece | None:
        """Columns of a piece of valid JSON; None where it is damaged or unusual.

        With `to_run` those of a piece in which nothing is odd stay with those of the pieces before.
        """
        scanned = _scanner.scan(self._scanner, text, to_run)
        if scanned is None:
            return None
        if len(scanned) == _PARTS_OF_RUN_PIECE:
            count, phases, groups = scanned
            return RunPiece(count, np.frombuffer(phases, np.int32), list(map(_rare, groups)))
        count, *columns, places, groups = scanned
        phase, category, name, pid, tid = (np.frombuffer(c, np.int32) for c in columns[:5])
        ts_ns, dur_ns, ids = (np.frombuffer(column, np.int64) for column in columns[5:])
        return ScannedPiece(
            count=count,
            phase=phase,
            category=category,
            name=name,
            pid=pid,
            tid=tid,
            ts_ns=ts_ns,
            dur_ns=dur_ns.copy(),  # what is negative is mended in place
            ids=ids,
            places=np.frombuffer(places, np.int8),
            groups=list(self._groups(groups)),
        )

    def end_run(self) -> list[tuple[RunColumns, list[npt.NDArray[Any] | None]] | None]:
        """Each group's columns over the pieces of the run: of the envelope, and of arguments.

        Rows are numbered over the whole run.
        """
        return [
            None if group is None else self._run_group(*group, types=types)
            for group, types in zip(_scanner.end_run(self._scanner), self._types, strict=False)
        ]

    def _run_group(
        self, count: int, index: bytes, *parts: Any, types: list[int]
    ) -> tuple[RunColumns, list[npt.NDArray[Any] | None]]:
        *envelope, arguments = parts
        columns = {"index": np.frombuffer(index, np.int32)}
        for name, values in zip(_ENVELOPE, envelope, strict=True):
            if values is not None:
                columns[name] = np.frombuffer(values, _integers(len(values) // count))
        return columns, [
            None
            if values is None
            else np.frombuffer(
                values, np.float64 if kind == FLOAT else _integers(len(values) // count)
            )
            for values, kind in zip(arguments, types, strict=True)
        ]

    def _groups(self, groups: list[Any]) -> Iterator[ScannedGroup | None]:
        for group, types in zip(groups, self._types, strict=True):
            if group is None:
                yield None
                continue
            *parts, columns, marked, unknown, is_odd = group
            rows, starts, ends = (np.frombuffer(values, np.int32) for values in parts)
            yield ScannedGroup(
                rows,
                starts,
                ends,
                [
                    None if values is None else np.frombuffer(values, _TYPES[kind])
                    for values, kind in zip(columns, types, strict=True)
                ],
                np.frombuffer(marked, np.int32),
                np.frombuffer(unknown, np.int32),
                bool(is_odd),
            )
