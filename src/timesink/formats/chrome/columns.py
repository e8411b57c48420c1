"""Columns of one piece of a trace, as NumPy arrays and codes, and the vocabularies they share.

This is what a worker hands back: small, flat, picklable, free of Python objects per event.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from timesink.patterns import regex

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
        return {
            field_info.name: getattr(self, field_info.name).words() for field_info in fields(self)
        }


class PieceColumn(msgspec.Struct, frozen=True):
    """Values of one column; with `vocabulary` set they are codes into that vocabulary."""

    values: npt.NDArray[Any]
    vocabulary: str = ""


Group = dict[str, PieceColumn]
"""Columns of equal length, by name."""


class Tally(msgspec.Struct):
    """Counts health codes while decoding, with the first example of each."""

    counts: dict[str, int] = msgspec.field(default_factory=dict)
    examples: dict[str, str] = msgspec.field(default_factory=dict)
    names: dict[str, set[str]] = msgspec.field(default_factory=dict)
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
        names = self.names.setdefault(code, set())
        if name not in names:
            names.add(name)
            self.counts[code] = len(names)
            self.examples[code] = ", ".join(sorted(names))[:200]

    def update(self, other: Tally) -> None:
        for code, names in other.names.items():
            for name in names:
                self.add_name(code, name)
        for code, count in other.counts.items():
            if code not in other.names:
                self.add(code, count, other.examples.get(code, ""))


class Piece(msgspec.Struct, frozen=True):
    """One decoded piece: its place in the stream, its columns, what was odd about it."""

    number: int
    events: int
    groups: dict[str, Group]
    tally: Tally
    phases: dict[str, int] = msgspec.field(default_factory=dict)
    """How many events of each phase the piece holds."""
    rest: bytes = b""
    """Text after the end of the event list, when this piece holds that end."""
    closed: bool = False
    """Whether the end of the event list was seen in this piece."""


# Microseconds as text or float to integer nanoseconds, without losing a digit.
#
# Today's Unix time in microseconds with three decimals needs 61 bits; a float64 holds 53.  Below
# 2**43 us a float64 still tells neighbouring nanoseconds apart, so the fast path stays exact
# there.

Int64Array = npt.NDArray[np.int64]
Float64Array = npt.NDArray[np.float64]

NULL_INT = -(2**63)
"""Stands for a missing integer until the tables are assembled."""

EXACT_FLOAT_LIMIT_US = float(2**43)
NO_TIME = float("nan")
"""The one NaN that stands for a missing time: it is found by identity."""
_WHOLE_FLOAT_LIMIT_US = 2.0**53
"""Below this a float64 holds whole microseconds exactly (and their ns fit 64 bits)."""
_MAX_DIGITS = 15
"""Before the point; so many surely fit 64 bits as nanoseconds."""
_AS_PROFILERS_WRITE = regex(rb"(?:-?\d{1,15}\.\d{3},)*")
_TOO_LARGE = 19
"""A power of ten beyond 64 bits."""


def float_us_to_ns(values_us: Float64Array) -> Int64Array:
    """Exact below 2**43 us; NaN and infinities become NULL_INT."""
    finite = np.isfinite(values_us) & (np.abs(values_us) < 9.2e15)
    safe = np.where(finite, values_us, 0.0)
    floor_us = np.floor(safe)
    # The fraction is exact in float64, so only it is rounded.
    result = floor_us.astype(np.int64) * 1000 + np.rint((safe - floor_us) * 1000).astype(np.int64)
    return np.where(finite, result, NULL_INT)


def text_us_to_ns(texts: Sequence[bytes]) -> Int64Array:
    """Exact decimal conversion of many numbers at once; what is no number becomes NULL_INT."""
    present = list(filter(None, texts))
    joined = b",".join([*present, b""])
    if _AS_PROFILERS_WRITE.fullmatch(joined):
        # With three decimals each, all are nanoseconds once the points are gone.
        times_ns = np.fromstring(joined.replace(b".", b""), np.int64, sep=",")
    else:
        times_ns = np.array([_one_us_to_ns(text.strip(b'"')) for text in present], np.int64)
    values = np.full(len(texts), NULL_INT, np.int64)
    values[np.fromiter(map(bool, texts), bool, len(texts))] = times_ns
    return values


def _one_us_to_ns(text: bytes) -> int:
    integer, _, decimals = text.partition(b".")
    if len(integer) <= _MAX_DIGITS and len(decimals) <= 3 and (integer + decimals).isdigit():
        return int(integer + decimals.ljust(3, b"0"))
    try:
        number = Decimal(text.decode("ascii").strip()) * 1000
        if not number or number.adjusted() >= _TOO_LARGE:
            # An integer of a short text with a large exponent would take minutes to write out.
            return 0 if number == 0 else NULL_INT
        value = int(number.to_integral_value(ROUND_HALF_EVEN))
    except (ArithmeticError, ValueError):
        return NULL_INT
    return value if abs(value) < 2**63 else NULL_INT


def exact_times(times: Iterable[Sequence[Any]]) -> list[Int64Array] | None:
    """Start and duration in ns, or None when digits that were written are gone."""
    exact = [_exact_ns(column) for column in times]
    present = [column for column in exact if column is not None]
    return present if len(present) == len(exact) else None


def _exact_ns(times: Sequence[Any]) -> Int64Array | None:
    if isinstance(times[0], msgspec.Raw):
        return text_us_to_ns([bytes(raw) for raw in times])
    try:
        as_floats = np.array(times, np.float64)
    except OverflowError:
        return None
    largest = np.nanmax(np.abs(as_floats), initial=0.0)
    if largest < EXACT_FLOAT_LIMIT_US:
        return float_us_to_ns(as_floats)
    integers = list(map(type, times)).count(int)
    if integers + times.count(NO_TIME) < len(times) or largest >= _WHOLE_FLOAT_LIMIT_US:
        return None
    missing = np.isnan(as_floats)
    return np.where(missing, NULL_INT, np.where(missing, 0, as_floats).astype(np.int64) * 1000)


def flow_ids(ids: Sequence[Any]) -> PieceColumn:
    """Ids as numbers: text is read as one, or hashed alike in every process."""
    try:
        return PieceColumn(np.array(ids, np.int64))
    except (TypeError, ValueError, OverflowError):
        return PieceColumn(np.array([_flow_number(flow_id) for flow_id in ids], np.int64))


def _flow_number(flow_id: Any) -> int:
    if flow_id is None:
        return NULL_INT
    try:
        number = int(flow_id, 0) if isinstance(flow_id, str) else flow_id
    except ValueError:
        number = 2**40 + zlib.crc32(str(flow_id).encode())
    return number if abs(number) < 2**63 else number % 2**62
