"""Arguments of events, kind by kind, from raw JSON to columns.

Each kind of event has a msgspec struct, built from the tables in `argument_sets`, so that a million
argument objects are decoded without a Python dict.  When a value has an unexpected type, the same
tables drive a slower, forgiving path over dicts, for that group of events only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec import Raw

from timesink.readers.chrome.argument_sets import ArgumentSet, ValueType
from timesink.readers.chrome.columns import Column, Group, Tally, Vocabularies
from timesink.readers.chrome.timestamps import NULL_INT

NO_ARGUMENTS = Raw(b"{}")
NO_RAW = Raw()
PACKED_ARGUMENTS = "args"
"""A JSON text under this key holds further arguments."""
_NAN = float("nan")

# Numbers may be null (profilers write it for "no parent"); anything stranger takes the slow path.
_FIELD_TYPES: dict[ValueType, Any] = {
    "int": int | None,
    "float": float | None,
    "lane": int | str | None,
    "text": Raw,
}
_ABSENT: dict[ValueType, Any] = {"int": NULL_INT, "float": _NAN, "lane": None, "text": NO_RAW}


def _struct_for(arguments: ArgumentSet, name: str) -> type[msgspec.Struct]:
    fields = [
        (
            f"{argument.column}_{place}",
            _FIELD_TYPES[argument.type],
            msgspec.field(name=key, default=_ABSENT[argument.type]),
        )
        for argument in arguments.kept
        for place, key in enumerate(argument.keys)
    ]
    markers = [
        (f"marker_{place}", Raw, msgspec.field(name=key, default=NO_RAW))
        for place, key in enumerate(_marker_keys(arguments))
    ]
    return msgspec.defstruct(name, fields + markers, gc=False)


def _marker_keys(arguments: ArgumentSet) -> tuple[str, ...]:
    """Keys that tell that an event needs a second look."""
    return (PACKED_ARGUMENTS, *(family[0] for family in arguments.rare))


Rare = list[tuple[int, dict[str, Any]]]
"""(row, arguments) of the events that carry rare arguments."""


class ArgumentDecoder:
    """Decodes the raw arguments of many events of one kind into columns."""

    def __init__(self, arguments: ArgumentSet, name: str) -> None:
        self._arguments = arguments
        self._known = arguments.known
        self._rare_keys = arguments.rare_keys
        struct: Any = _struct_for(arguments, name)
        self._decoder = msgspec.json.Decoder(list[struct])

    def decode(
        self, raws: Sequence[Raw], vocabularies: Vocabularies, tally: Tally
    ) -> tuple[Group, Rare]:
        """Columns of the kept arguments, and the rare arguments by row."""
        joined = b"".join((b"[", b",".join(raws), b"]"))
        try:
            structs = self._decoder.decode(joined)
            fields = zip(*map(msgspec.structs.astuple, structs), strict=True)
            group = self._columns_of(fields, vocabularies)
            packed, *markers = fields
        except (msgspec.ValidationError, OverflowError):
            return self._decode_forgiving(load_each(raws, tally), vocabularies, tally)
        if packed.count(NO_RAW) < len(packed):
            return self._decode_forgiving(load_each(raws, tally), vocabularies, tally)
        self._note_unknown(raws, tally)
        marked = {
            row
            for marker in markers
            if marker.count(NO_RAW) < len(marker)
            for row, value in enumerate(marker)
            if value is not NO_RAW
        }
        rows = sorted(marked)
        return group, self._rare_of(rows, load_each([raws[row] for row in rows], tally))

    def _columns_of(self, fields: Iterator[Sequence[Any]], vocabularies: Vocabularies) -> Group:
        group: Group = {}
        for argument in self._arguments.kept:
            given = [next(fields) for _ in argument.keys]
            values = _first_given(given, _ABSENT[argument.type])
            if values is not None:
                group[argument.column] = _to_column(values, argument.type, vocabularies)
        return group

    def _decode_forgiving(
        self, dicts: Sequence[dict[str, Any]], vocabularies: Vocabularies, tally: Tally
    ) -> tuple[Group, Rare]:
        group: Group = {}
        for argument in self._arguments.kept:
            convert, absent = _FORGIVING[argument.type], _ABSENT[argument.type]
            values: list[Any] = []
            for arguments in dicts:
                value = next((arguments[k] for k in argument.keys if k in arguments), None)
                kept = None if value is None else convert(value)
                if kept is None and value is not None:
                    tally.add("bad_value", 1, f"{argument.keys[0]}: {value!r}")
                values.append(absent if kept is None else kept)
            if values.count(absent) < len(values):
                group[argument.column] = _to_column(values, argument.type, vocabularies)
        return group, self._rare_of(range(len(dicts)), dicts)

    def _rare_of(self, rows: Iterable[int], dicts: Sequence[dict[str, Any]]) -> Rare:
        found = (
            (row, {key: value for key, value in arguments.items() if key in self._rare_keys})
            for row, arguments in zip(rows, dicts, strict=True)
        )
        return [(row, arguments) for row, arguments in found if arguments]

    def _note_unknown(self, raws: Sequence[Raw], tally: Tally) -> None:
        # A sample is enough to tell that an argument exists; the exact count needs every dict.
        for raw in raws[:: max(1, len(raws) // 50)]:
            unknown = msgspec.json.decode(raw, type=dict[str, Raw]).keys() - self._known
            for key in sorted(unknown):
                tally.add_name("unmodelled_args", key)


def _first_given(given: list[Sequence[Any]], absent: Any) -> Sequence[Any] | None:
    """Where an argument has several names, the first that is given; None when none ever is."""
    # `count` compares by identity first, so a column of nothing but the default costs little.
    present = [values for values in given if values.count(absent) < len(values)]
    if len(present) <= 1:
        return present[0] if present else None
    first, *others = present
    for other in others:
        first = [b if a is absent else a for a, b in zip(first, other, strict=True)]
    return first


def _to_column(values: Sequence[Any], kind: ValueType, vocabularies: Vocabularies) -> Column:
    if kind == "int":
        if values.count(None):
            values = [NULL_INT if value is None else value for value in values]
        return Column(np.array(values, np.int64))
    if kind == "float":
        return Column(np.array(values, np.float64))
    if kind == "lane":
        return Column(vocabularies.lanes.encode(values), "lanes")
    return Column(vocabularies.texts.encode(map(bytes, values)), "texts")


def load_each(raws: Sequence[Raw], tally: Tally) -> list[dict[str, Any]]:
    """Arguments as dicts, those packed as JSON text unpacked."""
    loaded: list[dict[str, Any]] = []
    for raw in raws:
        value = msgspec.json.decode(raw)
        if not isinstance(value, dict):
            tally.add("bad_value", 1, f"args: {value!r}")
            value = {}
        loaded.append(_unpacked(value))
    return loaded


def _unpacked(arguments: dict[str, Any]) -> dict[str, Any]:
    packed = arguments.get(PACKED_ARGUMENTS)
    if not isinstance(packed, str):
        return arguments
    try:
        inner = msgspec.json.decode(packed)
    except msgspec.DecodeError:
        return arguments
    rest = {key: value for key, value in arguments.items() if key != PACKED_ARGUMENTS}
    return {**inner, **rest} if isinstance(inner, dict) else arguments


def _forgiving_int(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    try:
        number = int(value, 0) if isinstance(value, str) else int(value)
    except (ValueError, TypeError, OverflowError):
        return None
    return number if NULL_INT < number < 2**63 else None


def _forgiving_float(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except (ValueError, TypeError):
        return None


def _forgiving_lane(value: Any) -> int | str | None:
    return value if isinstance(value, (int, str)) and not isinstance(value, bool) else None


_FORGIVING: dict[ValueType, Callable[[Any], Any]] = {
    "int": _forgiving_int,
    "float": _forgiving_float,
    "lane": _forgiving_lane,
    "text": msgspec.json.encode,
}
