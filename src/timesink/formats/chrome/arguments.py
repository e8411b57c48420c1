"""Arguments of events, kind by kind, from raw JSON to columns.

Each kind of event has a msgspec struct, built from the tables below, so that a million argument
objects are decoded without a Python dict.  When a value has an unexpected type, the same
tables drive a slower, forgiving path over dicts, for that group of events only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import msgspec
import numpy as np
from msgspec import UNSET, Raw

from timesink.formats.chrome.columns import (
    NULL_CODE,
    NULL_INT,
    Codes,
    Group,
    Int64Array,
    PieceColumn,
    Tally,
    Vocabularies,
    Vocabulary,
)
from timesink.formats.read_options import IsChosen
from timesink.model import vendors
from timesink.model.data_files import csv_rows

# Which arguments of which kind of event are kept, under which column, as what: rows of
# `argument_sets.csv`, but for those few events carry.

ValueType = Literal["int", "float", "lane", "text"]


class Argument(msgspec.Struct, frozen=True):
    """A column, the argument names it may come from (first wins), and how to keep it."""

    column: str
    keys: tuple[str, ...]
    type: ValueType


class ArgumentSet(msgspec.Struct, frozen=True):
    """The arguments of one kind of event."""

    arguments: tuple[Argument, ...]
    rare: tuple[tuple[str, ...], ...] = ()
    """Families of keys few events carry; they become rows of `event_args` or `collectives`.
    The first key of a family is on every event that has any of them, and is no column."""
    ignored: tuple[str, ...] = ()
    """Keys that repeat other fields or mean nothing outside the profiler."""
    in_brief: tuple[str, ...] = ()
    """Columns that a brief reading keeps."""

    @property
    def all_keys(self) -> frozenset[str]:
        argument_keys = (key for argument in self.arguments for key in argument.keys)
        return frozenset((*argument_keys, *self.rare_keys, *self.ignored))

    @property
    def rare_keys(self) -> frozenset[str]:
        return frozenset(key for family in self.rare for key in family)


FLOW_PHASE_NAMES = {"s": "start", "t": "step", "f": "end"}
_ROWS = csv_rows(Path(__file__).with_name("argument_sets.csv"))
COLLECTIVE_KEYS = {row["keys"]: row["column"] for row in _ROWS if row["event"] == "collective"}
_COLLECTIVE = (
    *(*COLLECTIVE_KEYS, "Global rank start", "Global rank stride", "Process Group ID"),
    *("Is asynchronized op", "Input Tensors start", "Output Tensors start"),
)
_TRITON_KEYS = (
    *("kernel_backend", "kernel_file", "kernel_hash", "kernel_kwargs", "kernel_name"),
    *("kernel_num_gb", "kernel_flop", "num_warps", "num_stages"),
)
_INPUT_COLUMNS = ("input_dims", "input_types")


def _set_of(event: str, *rare: tuple[str, ...]) -> ArgumentSet:
    """The arguments of one kind of event: its rows of the table."""
    arguments: list[Argument] = []
    ignored: tuple[str, ...] = ()
    in_brief: list[str] = []
    for row in _ROWS:
        if row["event"] != event:
            continue
        keys = tuple(
            key
            for alternative in row["keys"].split("|")
            for key in (
                vendors.every(alternative.strip("{}"))
                if alternative.startswith("{")
                else (alternative,)
            )
        )
        if row["type"] == "ignored":
            ignored = keys
        else:
            arguments.append(Argument(row["column"], keys, cast("ValueType", row["type"])))
            in_brief += [row["column"]] * (row["brief"] == "yes")
    return ArgumentSet(tuple(arguments), rare, ignored, tuple(in_brief))


OPERATOR = _set_of("operator", _COLLECTIVE, (*_TRITON_KEYS, "stream", "grid"))
INPUTS = ArgumentSet(
    tuple(argument for argument in OPERATOR.arguments if argument.column in _INPUT_COLUMNS)
)
"""What a brief reading keeps of chosen operators only."""
PYTHON = _set_of("python")
RUNTIME = _set_of("runtime")
DEVICE = _set_of("device", _COLLECTIVE, *vendors.every("rare_arguments"))
MEMORY = _set_of("memory")
LANE_METADATA = _set_of("lane")


# The arguments of many events of one kind, from raw JSON to columns.

PACKED_ARGUMENTS = "args"
"""A JSON text under this key holds further arguments."""


def load_each(raws: Sequence[Raw], tally: Tally) -> list[dict[str, Any]]:
    """Arguments as dicts, those packed as JSON text unpacked."""
    loaded: list[dict[str, Any]] = []
    for raw in raws:
        value = msgspec.json.decode(raw)
        if not isinstance(value, dict):
            tally.add("bad_value", 1, f"args: {value!r}")
            value = {}
        packed = value.get(PACKED_ARGUMENTS)
        if isinstance(packed, str):
            with suppress(msgspec.DecodeError):
                inner = msgspec.json.decode(packed)
                if isinstance(inner, dict):
                    del value[PACKED_ARGUMENTS]
                    value = {**inner, **value}
        loaded.append(value)
    return loaded


def _as_int(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    try:
        number = int(value, 0) if isinstance(value, str) else int(value)
    except (ValueError, TypeError, OverflowError):
        return None
    return number if NULL_INT < number < 2**63 else None


def _as_float(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except (ValueError, TypeError):
        return None


CONVERSIONS: dict[ValueType, Callable[[Any], Any]] = {
    "int": _as_int,
    "float": _as_float,
    "lane": lambda value: value if type(value) in (int, str) else None,
    "text": msgspec.json.encode,
}
"""A value as what its column holds; None where it is no such thing."""


NO_ARGUMENTS = Raw(b"{}")
NO_RAW = Raw()
_NAN = float("nan")

Lane = int | str | None


class TextEnvelope(msgspec.Struct, gc=False):
    """An event with its times as they were written, number or string: exact, and slowest."""

    ph: str | None = None
    cat: str | None = None
    name: str | None = None
    pid: Lane = None
    tid: Lane = None
    ts: Raw = NO_RAW
    dur: Raw = NO_RAW
    id: Lane = None
    args: Raw = NO_ARGUMENTS


# Numbers may be null (profilers write it for "no parent"); anything stranger takes the slow path.
_FIELD_TYPES: dict[ValueType, Any] = {
    "int": int | None,
    "float": float | None,
    "lane": Lane,
    "text": Raw,
}
_CHECKED_ONLY: Any = Annotated[int, msgspec.Meta(ge=NULL_INT, le=2**63 - 1)] | None
"""A whole number of which no column is made: whether it would fit one."""
_ABSENT: dict[ValueType, Any] = {"int": NULL_INT, "float": _NAN, "lane": None, "text": NO_RAW}
_OBJECTS = msgspec.json.Decoder(list[dict[str, Raw]])


Rare = list[tuple[int, Raw]]
"""(row, arguments) of the events that carry rare arguments."""


class ArgumentDecoder:
    """Decodes the raw arguments of many events of one kind into columns.

    A brief one makes columns of fewer arguments, and refuses the same values all the same.
    """

    def __init__(self, arguments: ArgumentSet, name: str, *, brief: bool = False) -> None:
        self._arguments = arguments
        self._known = arguments.all_keys
        self._rare_keys = arguments.rare_keys
        self._kept: list[tuple[Argument, list[Callable[[Any], Any]]]] = []
        self.checked_arguments: list[Argument] = []
        """Those whose values have to be right although no column is made of them."""
        fields: list[tuple[str, Any, Any]] = []
        for argument in arguments.arguments:
            named = {f"{argument.column}_{n}": key for n, key in enumerate(argument.keys)}
            kind, absent = _FIELD_TYPES[argument.type], _ABSENT[argument.type]
            if not brief or argument.column in arguments.in_brief:
                self._kept.append((argument, [attrgetter(field) for field in named]))
            elif argument.type == "text":
                continue  # any JSON is one
            elif argument.type == "int":
                self.checked_arguments.append(argument)
                kind = _CHECKED_ONLY
            fields += [(f, kind, msgspec.field(name=k, default=absent)) for f, k in named.items()]
        # Keys that tell that an event needs a second look.
        marked = (PACKED_ARGUMENTS, *(family[0] for family in arguments.rare))
        markers = [f"marker_{place}" for place in range(len(marked))]
        for marker, key in zip(markers, marked, strict=True):
            fields.append((marker, Raw, msgspec.field(name=key, default=NO_RAW)))
        self._packed, *self._markers = map(attrgetter, markers)
        struct: Any = msgspec.defstruct(name, fields, gc=False)
        self._decoder = msgspec.json.Decoder(list[struct])

    def decode(
        self, raws: Sequence[Raw], vocabularies: Vocabularies, tally: Tally
    ) -> tuple[Group, Rare] | None:
        """Columns of the kept arguments, and the rare ones by row; None where a value is odd."""
        try:
            structs = self._decoder.decode(as_list(raws))
            group = self._columns_of(structs, vocabularies)
        except (msgspec.ValidationError, OverflowError):
            return None
        if _rows_with(self._packed, structs):
            return None
        self._note_unknown(raws, tally)
        marked = {row for marker in self._markers for row in _rows_with(marker, structs)}
        return group, [(row, raws[row]) for row in sorted(marked)]

    def columns(self, raws: Sequence[Raw], vocabularies: Vocabularies) -> Group:
        """Columns of the kept arguments alone, for events known to have no odd ones."""
        return self._columns_of(self._decoder.decode(as_list(raws)), vocabularies)

    def _columns_of(self, structs: Sequence[Any], vocabularies: Vocabularies) -> Group:
        group: Group = {}
        for argument, fields in self._kept:
            candidates = [list(map(field, structs)) for field in fields]
            values = _first_given(candidates, _ABSENT[argument.type])
            if values is not None:
                group[argument.column] = _to_column(values, argument.type, vocabularies)
        return group

    def decode_forgiving(
        self, raws: Sequence[Raw], vocabularies: Vocabularies, tally: Tally
    ) -> tuple[Group, Rare]:
        """The same for values of any type: what fits no column is counted, and all of them kept."""
        dicts = load_each(raws, tally)
        group: Group = {}
        for argument in self._arguments.arguments:
            convert, absent = CONVERSIONS[argument.type], _ABSENT[argument.type]
            values: list[Any] = []
            for arguments in dicts:
                value = next((arguments[k] for k in argument.keys if k in arguments), None)
                converted_value = None if value is None else convert(value)
                if converted_value is None and value is not None:
                    tally.add("bad_value", 1, f"{argument.keys[0]}: {value!r}")
                values.append(absent if converted_value is None else converted_value)
            if values.count(absent) < len(values):
                group[argument.column] = _to_column(values, argument.type, vocabularies)
        rare = (
            {k: event_arguments[k] for k in event_arguments if k in self._rare_keys}
            for event_arguments in dicts
        )
        return group, [
            (row, Raw(msgspec.json.encode(rare_arguments)))
            for row, rare_arguments in enumerate(rare)
            if rare_arguments
        ]

    @property
    def kept_arguments(self) -> list[Argument]:
        """The arguments that columns are made of, in order."""
        return [argument for argument, _ in self._kept]

    def _note_unknown(self, raws: Sequence[Raw], tally: Tally) -> None:
        # A sample is enough to tell that an argument exists; the exact count needs every dict.
        self.note_unknown(raws[:: max(1, len(raws) // 50)], tally)

    def note_unknown(self, raws: Sequence[Raw], tally: Tally) -> None:
        """Count the names of arguments that no table lists."""
        sample = _OBJECTS.decode(as_list(raws))
        for key in sorted(set().union(*sample) - self._known):
            tally.add_name("unmodelled_args", key)


def as_list(raws: Iterable[Raw]) -> bytes:
    """Raw values as the JSON of one list."""
    return b"".join((b"[", b",".join(raws), b"]"))


def _rows_with(marker: Callable[[Any], Raw], structs: Sequence[Any]) -> list[int]:
    """Where a key is given."""
    values = list(map(marker, structs))
    # `count` compares by identity first, so a column of nothing but the default costs little.
    if values.count(NO_RAW) == len(values):
        return []
    return [row for row, value in enumerate(values) if value is not NO_RAW]


def _first_given(candidates: list[list[Any]], absent: Any) -> list[Any] | None:
    """Where an argument has several names, the first that is given; None when none ever is."""
    present = [values for values in candidates if values.count(absent) < len(values)]
    if len(present) <= 1:
        return present[0] if present else None
    first, *rest = present
    for other in rest:
        first = [b if a is absent else a for a, b in zip(first, other, strict=True)]
    return first


def _to_column(values: Sequence[Any], kind: ValueType, vocabularies: Vocabularies) -> PieceColumn:
    if kind == "int":
        if values.count(None):
            values = [NULL_INT if value is None else value for value in values]
        return PieceColumn(np.array(values, np.int64))
    if kind == "float":
        return PieceColumn(np.array(values, np.float64))
    if kind == "lane":
        return PieceColumn(vocabularies.lanes.encode(values), "lanes")
    return PieceColumn(vocabularies.texts.encode(map(bytes, values)), "texts")


_Collective: Any = msgspec.defstruct(
    "Collective",
    [(to, Any, msgspec.field(name=key, default=UNSET)) for key, to in COLLECTIVE_KEYS.items()],
    gc=False,
)
_COLLECTIVES = msgspec.json.Decoder(list[_Collective])


def collective_rows(index: Int64Array, rare: Rare, texts: Vocabulary) -> Group:
    """One row per event that describes a collective, and a column for each argument."""
    described = _COLLECTIVES.decode(as_list(raw for _, raw in rare))

    def code_of(value: Any) -> int:
        """The code of a value as JSON."""
        return NULL_CODE if value is UNSET else texts[msgspec.json.encode(value)]

    # The same few values come again and again; those of a column that are lists are told anew.
    cached_code_of = lru_cache(None, typed=True)(code_of)
    codes: dict[str, Codes] = {}
    for column in COLLECTIVE_KEYS.values():
        values = list(map(attrgetter(column), described))
        is_plain = {list, dict}.isdisjoint(map(type, values))
        codes[column] = np.fromiter(map(cached_code_of if is_plain else code_of, values), np.int32)
    rows = np.array([row for row, _ in rare], np.intp)
    has_value = np.any([column != NULL_CODE for column in codes.values()], axis=0)
    return {
        "index": PieceColumn(index[rows[has_value]]),
        **{column: PieceColumn(values[has_value], "texts") for column, values in codes.items()},
    }


def other_rows(
    index: Int64Array, rare: Rare, keys: Collection[str], names: Vocabulary, texts: Vocabulary
) -> Group:
    """One row per other argument with one of the keys: its event, name and value as JSON."""
    argument_dicts = msgspec.json.decode(as_list(raw for _, raw in rare))
    rows = [
        (row, key, msgspec.json.encode(value))
        for (row, _), arguments in zip(rare, argument_dicts, strict=True)
        for key, value in arguments.items()
        if key in keys and key not in COLLECTIVE_KEYS
    ]
    return {
        "index": PieceColumn(index[np.array([row for row, _, _ in rows], np.intp)]),
        "key": PieceColumn(names.encode([key for _, key, _ in rows]), "names"),
        "value": PieceColumn(texts.encode([value for _, _, value in rows]), "texts"),
    }


class ChosenInputs:
    """Decodes inputs of the calls whose names are chosen; of the others there are none."""

    def __init__(self, is_chosen: IsChosen) -> None:
        self._is_chosen = is_chosen
        self._decoder = ArgumentDecoder(INPUTS, "inputs")
        self._known: list[bool] = []

    def of(self, names: Codes, raws: Sequence[Raw], words: Vocabularies) -> Group:
        """Columns of the inputs of calls by their names; their arguments are objects for sure."""
        unseen = words.names.words()[len(self._known) :]
        self._known += map(self._is_chosen, unseen)
        # The last entry answers the code of a missing name, which is -1.
        rows = np.flatnonzero(np.array([*self._known, False])[names]).tolist()
        group: Group = {}
        for key, column in self._decoder.columns([raws[row] for row in rows], words).items():
            codes = np.full(len(raws), NULL_CODE, np.int32)
            codes[rows] = column.values
            group[key] = PieceColumn(codes, column.vocabulary)
        return group


_NOT_SAMPLED = frozenset({"hostname"})
"""Arguments of counter events that say where, not how much."""
_SAMPLED = ("index", "phase", "category", "ts_ns", "pid", "tid")
"""What a sample takes over from its event."""


def samples(
    group: Group, raws: Sequence[Raw], words: Vocabularies, tally: Tally, *, of_ranges: bool = False
) -> Group:
    """Counter values of these events: one row per series.

    Ranges of a hardware profiler name their metrics in the arguments, beside ordinary ones.
    """
    names = words.names.words()
    codes = group["name"].values
    rows: list[tuple[int, str, float]] = []
    labels = ["" if code < 0 else str(names[code]) for code in codes.tolist()]
    for row, series in enumerate(load_each(raws, tally)):
        name = labels[row]
        if len(series) == 1 and type(series.get("value")) is float and not of_ranges:
            rows.append((row, name, series["value"]))  # as nearly all are
            continue
        skipped_keys = DEVICE.all_keys if of_ranges else _NOT_SAMPLED
        series_values = {key: value for key, value in series.items() if key not in skipped_keys}
        for key, value in series_values.items():
            is_single = len(series_values) == 1 or key == "value"
            counter = key if of_ranges else name if is_single else f"{name} {key}"
            try:
                # Numbers written as text count; true and false are no measurements.
                rows.append((row, counter, float("" if isinstance(value, bool) else value)))
            except (TypeError, ValueError, OverflowError):
                tally.add("bad_value", 1, f"counter {name}: {key} = {value!r}")
    where = np.array([row for row, _, _ in rows], np.intp)
    taken = {key: PieceColumn(group[key].values[where], group[key].vocabulary) for key in _SAMPLED}
    return {
        **taken,
        "counter": PieceColumn(words.names.encode(counter for _, counter, _ in rows), "names"),
        "value": PieceColumn(np.array([value for _, _, value in rows], np.float64)),
    }
