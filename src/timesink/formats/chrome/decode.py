"""Pieces of the event list to columns: envelope first, then arguments kind by kind."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import compress
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Raw
from msgspec.structs import replace

from timesink.formats.chrome import arguments
from timesink.formats.chrome.arguments import TextEnvelope
from timesink.formats.chrome.columns import (
    NO_TIME,
    NULL_CODE,
    NULL_INT,
    Codes,
    Group,
    Int64Array,
    Piece,
    PieceColumn,
    Tally,
    Vocabularies,
    exact_times,
    flow_ids,
)
from timesink.formats.chrome.container import PieceText, split_end
from timesink.formats.chrome.repair import mend_piece, mend_text
from timesink.formats.read_options import IsChosen
from timesink.model.vendors import DEVICE_CATEGORIES, FLOW_CATEGORIES, HOST_CATEGORIES
from timesink.runtime.native import is_native, native_module

Fields = list[tuple[Any, ...]]
"""One tuple per field of the envelope, in the order of its fields."""
_TIMES = slice(5, 7)
"""Where `ts` and `dur` stand among the fields."""

_CAPITALISED = ("Operator", "Runtime", "Kernel", "Memcpy", "Memset", "Python", "Trace")
_CATEGORIES = (
    *HOST_CATEGORIES,
    *DEVICE_CATEGORIES,
    *FLOW_CATEGORIES,
    *_CAPITALISED,
    "cpu_instant_event",
)
# Decoding a known text gives the one string that stands for it: nothing is allocated, and its hash
# is known.  An unknown text makes the piece take the next envelope.
_KnownPhase: Any = Literal["X", "s", "t", "f", "i", "M", "C"]
_KnownCategory: Any = Literal[_CATEGORIES]


def _decoder(name: str, phase: Any, category: Any, time: Any) -> msgspec.json.Decoder[Any]:
    """A decoder of lists of events that differ from `TextEnvelope` in these types."""
    overrides: dict[str, Any] = {"ph": (phase | None, None), "cat": (category | None, None)}
    overrides |= {"ts": (time, NO_TIME), "dur": (time, NO_TIME)}
    fields = msgspec.structs.fields(TextEnvelope)
    struct: Any = msgspec.defstruct(
        name,
        [
            (
                field_info.name,
                *overrides.get(field_info.name, (field_info.type, field_info.default)),
            )
            for field_info in fields
        ],
        gc=False,
    )
    return msgspec.json.Decoder(list[struct])


ENVELOPES: tuple[msgspec.json.Decoder[Any], ...] = (
    _decoder("FamiliarEnvelope", _KnownPhase, _KnownCategory, float),
    _decoder("Envelope", str, str, float),
    # Whole microseconds since 1970 fit no float64 with decimals, but they are integers.
    _decoder("FamiliarNumberEnvelope", _KnownPhase, _KnownCategory, int | float),
    _decoder("NumberEnvelope", str, str, int | float),
    msgspec.json.Decoder(list[TextEnvelope]),
)
"""From the fastest to the most general; a piece takes the first that is exact for it."""


def transpose(envelopes: Sequence[Any]) -> Fields:
    """Fields of the events, each as one tuple; empty when there are no events."""
    return list(zip(*map(msgspec.structs.astuple, envelopes), strict=True))


def append(groups: dict[str, Group], name: str, more: Group) -> None:
    """Add rows to a group that several kinds of events feed."""
    if not len(more["index"].values):
        return
    existing = groups.get(name)
    if existing is None:
        groups[name] = more
        return
    groups[name] = {
        key: PieceColumn(
            np.concatenate((existing[key].values, more[key].values)), more[key].vocabulary
        )
        for key in more
    }


MEMORY_NAME = "[memory]"

_ARGUMENTS = {
    "operator": arguments.OPERATOR,
    "python": arguments.PYTHON,
    "runtime": arguments.RUNTIME,
    "device": arguments.DEVICE,
    "ranges": arguments.DEVICE,
    "untyped": arguments.DEVICE,
    "nested": arguments.OPERATOR,
    "instant": arguments.OPERATOR,
    "memory": arguments.MEMORY,
    "metadata": arguments.LANE_METADATA,
}

GROUPS = ("dropped", "flow", "counter", *_ARGUMENTS)
"""Where an event can go; each group has its own columns."""
_DROPPED, _FLOW = GROUPS.index("dropped"), GROUPS.index("flow")
_GROUP_OF_PHASE = {
    **dict.fromkeys("stf", "flow"),
    "C": "counter",
    "M": "metadata",
    **dict.fromkeys("BE", "nested"),
    **dict.fromkeys("iIRn", "instant"),
}
_FROM_TEXT = ("counter", "ranges")
"""Groups whose values are series of samples: taken from the text of their arguments."""
_UNTIMED_GROUPS = ("dropped", "metadata")
# What a group has no use for is not carried along.
_UNUSED_BY_SLICES = frozenset({"phase"})
_UNUSED_COLUMNS = {
    "flow": frozenset({"name", "dur_ns"}),
    "counter": frozenset({"dur_ns"}),
    "ranges": frozenset[str](),
    "nested": frozenset[str](),
    "memory": frozenset({"phase", "category", "name", "dur_ns"}),
    "metadata": frozenset({"phase", "category", "ts_ns", "dur_ns"}),
}
_ONLY_TIMES = frozenset({"phase", "category", "name", "pid", "tid", "dur_ns"})
_UNUSED_IN_BRIEF = {**_UNUSED_COLUMNS, "flow": _ONLY_TIMES, "memory": _ONLY_TIMES}


@cache
def _argument_decoder(group: str, *, brief: bool) -> arguments.ArgumentDecoder:
    return arguments.ArgumentDecoder(_ARGUMENTS[group], group, brief=brief)


def group_of_category(category: str | None) -> str:
    """Which group of columns a duration event goes to, by its category."""
    if not category:
        return "untyped"
    lowered = category.lower()
    kind = DEVICE_CATEGORIES.get(lowered)
    if kind is not None:
        return "ranges" if kind == "profiler_range" else "device"
    kind = HOST_CATEGORIES.get(lowered, "other")
    if kind in ("runtime", "driver"):
        return "runtime"
    return "python" if kind == "python_function" else "operator"


# Pieces by the native scanner, where the package was built with it; else there is none.
#
# The scanner takes clean pieces, which nearly all are.  What it refuses, the Python path decodes
# into the same vocabularies, so that both give the same tables.

_scanner = native_module()
VOCABULARIES = tuple(Vocabularies.__slots__)
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
    """A vocabulary that the scanner holds, with the face of `Vocabulary`."""

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


class ScannedGroup(msgspec.Struct, frozen=True):
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


class ScannedPiece(msgspec.Struct, frozen=True):
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


class RunPiece(msgspec.Struct, frozen=True):
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


class PieceDecoder:
    """Decodes pieces one after another; texts are numbered in vocabularies they share."""

    def __init__(self, brief: IsChosen | None = None) -> None:
        self._brief = brief is not None
        self._scanner = piece_scanner(brief=self._brief) if is_native() else None
        self.vocabularies: Vocabularies = (
            self._scanner.vocabularies if self._scanner else Vocabularies()
        )
        self._envelope = 0
        self._unused = _UNUSED_IN_BRIEF if self._brief else _UNUSED_COLUMNS
        self._inputs = None if brief is None else arguments.ChosenInputs(brief)
        self.runs: list[Piece] = []
        """Columns of pieces that followed one another, under the number of the first."""
        self._first, self._next = 0, -1

    def decode(self, number: int, text: bytes) -> Piece:
        """Columns of a piece of valid JSON: a list of events in brackets.

        Raises msgspec.DecodeError or UnicodeDecodeError when the piece needs repair.
        """
        scanned = self._scan(number, text)
        if isinstance(scanned, RunPiece):
            return self._piece_of_run(number, text, scanned)
        if scanned is not None:
            return self._scanned_columns(number, text, scanned)
        if not text.isascii():
            text.decode("utf-8")  # arguments stay raw, and would bring bad bytes to light too late
        for place in range(self._envelope, len(ENVELOPES)):
            try:
                fields = transpose(ENVELOPES[place].decode(text))
            except msgspec.ValidationError:
                continue
            times = exact_times(fields[_TIMES])
            if times is not None:
                # The pieces of one trace are alike: the next one starts where this one ended.
                self._envelope = place
                return self._columns(number, fields, times, Tally())
        raise msgspec.DecodeError("no envelope fits")

    def _scan(self, number: int, text: bytes) -> ScannedPiece | RunPiece | None:
        if self._scanner is None:
            return None
        if number != self._next:
            self.end_run()
        # A brief reading looks at names before it takes arguments.
        scanned = self._scanner.scan(text, to_run=not self._brief)
        if isinstance(scanned, RunPiece):
            if self._next < 0:
                self._first = number
            self._next = number + 1
        return scanned

    def end_run(self) -> None:
        """Take over the columns of the run under way."""
        if self._scanner is None or self._next < 0:
            return
        groups: dict[str, Group] = {}
        for name, scanned in zip(GROUPS, self._scanner.end_run(), strict=False):
            if scanned is None:
                continue
            envelope, columns = scanned
            groups[name] = {
                key: PieceColumn(values, _VOCABULARY_OF_COLUMN.get(key, ""))
                for key, values in envelope.items()
            }
            if name in _ARGUMENTS:
                groups[name] |= _argument_columns(name, columns, brief=False)
        self.runs.append(Piece(self._first, 0, groups, Tally()))
        self._next = -1

    def _piece_of_run(self, number: int, text: bytes, scanned: RunPiece) -> Piece:
        """What a piece holds beside the columns of its run: rare arguments, and counts."""
        tally, groups = Tally(), dict[str, Group]()
        for name, seen in zip(GROUPS, scanned.groups, strict=True):
            if seen is not None:
                raws = RawArguments(text, seen, seen.rows)
                self._note_unknown(name, raws, tally)
                rare = [(row, raws[row]) for row in seen.marked.tolist()]
                self._add_rare(groups, name, {"index": PieceColumn(seen.rows)}, rare)
        return Piece(number, scanned.count, groups, tally, self._named_phases(scanned.phases))

    def columns_of(self, number: int, events: Sequence[TextEnvelope], tally: Tally) -> Piece:
        """Columns of events decoded one by one; what is odd about them goes to the tally."""
        fields = transpose(events)
        return self._columns(number, fields, exact_times(fields[_TIMES]) or (), tally)

    def columns_at(self, number: int, fields: Fields, times: Sequence[Int64Array]) -> Piece:
        """Columns of events whose fields stand in columns already, with exact times in ns."""
        return self._columns(number, fields, times, Tally())

    def _columns(
        self, number: int, fields: Fields, times: Sequence[Int64Array], tally: Tally
    ) -> Piece:
        if not fields:
            return Piece(number, 0, {}, tally)
        phase, category, name, pid, tid, _, _, flow_id, args = fields
        ts_ns, dur_ns = times
        count = len(phase)
        words = self.vocabularies
        base: Group = {
            "index": PieceColumn(np.arange(count, dtype=np.int64)),
            "phase": PieceColumn(words.phases.encode(phase), "phases"),
            "category": PieceColumn(words.categories.encode(category), "categories"),
            "name": PieceColumn(words.names.encode(name), "names"),
            "pid": PieceColumn(words.lanes.encode(pid), "lanes"),
            "tid": PieceColumn(words.lanes.encode(tid), "lanes"),
            "ts_ns": PieceColumn(ts_ns),
            "dur_ns": PieceColumn(dur_ns),
        }
        groups: dict[str, Group] = {}
        for group_name, rows in self._place(base, self._groups_of(base), tally):
            group = self._taken(base, group_name, rows)
            mask = np.zeros(count, bool)
            mask[rows] = True
            if group_name == "flow":
                groups["flow"] = group
                if not self._brief:
                    group["flow_id"] = flow_ids(list(compress(flow_id, mask)))
            elif group_name == "counter":
                values = arguments.samples(group, list(compress(args, mask)), words, tally)
                append(groups, "samples", values)
            else:
                raws = list(compress(args, mask))
                self._add_arguments(groups, group_name, group, raws, tally)
        return Piece(number, count, groups, tally, self._phase_counts(base))

    def _scanned_columns(self, number: int, text: bytes, scanned: ScannedPiece) -> Piece:
        """The piece that the scanner saw, with what is odd or rare in it decoded here."""
        tally, groups = Tally(), dict[str, Group]()
        if not scanned.count:
            return Piece(number, 0, groups, tally)
        base: Group = {
            "index": PieceColumn(np.arange(scanned.count, dtype=np.int64)),
            "phase": PieceColumn(scanned.phase, "phases"),
            "category": PieceColumn(scanned.category, "categories"),
            "name": PieceColumn(scanned.name, "names"),
            "pid": PieceColumn(scanned.pid, "lanes"),
            "tid": PieceColumn(scanned.tid, "lanes"),
            "ts_ns": PieceColumn(scanned.ts_ns),
            "dur_ns": PieceColumn(scanned.dur_ns),
        }
        for group_name, rows in self._place(base, scanned.places.copy(), tally):
            group = self._taken(base, group_name, rows)
            seen = scanned.groups[GROUPS.index(group_name)]
            if seen is None:
                raise AssertionError(group_name)
            raws = RawArguments(text, seen, rows)
            if group_name == "flow":
                groups["flow"] = group
                if not self._brief:
                    group["flow_id"] = PieceColumn(scanned.ids[rows])
            elif group_name == "counter":
                values = arguments.samples(group, raws.all(), self.vocabularies, tally)
                append(groups, "samples", values)
            elif seen.is_odd or len(rows) != len(seen.rows):
                self._add_arguments(groups, group_name, group, raws.all(), tally)
            else:
                self._add_scanned(groups, group_name, group, raws, tally)
        return Piece(number, scanned.count, groups, tally, self._phase_counts(base))

    def _add_scanned(
        self, groups: dict[str, Group], name: str, group: Group, raws: RawArguments, tally: Tally
    ) -> None:
        """Arguments of a group in the columns that the scanner made."""
        seen = raws.seen
        columns = _argument_columns(name, seen.columns, brief=self._brief)
        self._note_unknown(name, raws, tally)
        if self._inputs is not None and _ARGUMENTS[name] is arguments.OPERATOR:
            columns |= self._inputs.of(group["name"].values, raws, self.vocabularies)
        groups[name] = {**group, **columns}
        rare = [(row, raws[row]) for row in seen.marked.tolist()]
        self._add_rare(groups, name, group, rare)
        if name == "ranges":
            values = arguments.samples(group, raws.all(), self.vocabularies, tally, of_ranges=True)
            append(groups, "samples", values)

    def _note_unknown(self, name: str, raws: RawArguments, tally: Tally) -> None:
        seen = raws.seen
        sampled = set(range(0, len(seen.rows), max(1, len(seen.rows) // 50)))
        unknown = [raws[row] for row in seen.unknown.tolist() if row in sampled]
        _argument_decoder(name, brief=self._brief).note_unknown(unknown, tally)

    def _taken(self, base: Group, group_name: str, rows: npt.NDArray[np.intp]) -> Group:
        """The rows of a group, without the columns that it has no use for."""
        unused = self._unused.get(group_name, _UNUSED_BY_SLICES)
        return {
            key: PieceColumn(column.values[rows], column.vocabulary)
            for key, column in base.items()
            if key not in unused
        }

    def _phase_counts(self, base: Group) -> dict[str, int]:
        return self._named_phases(np.bincount(base["phase"].values + 1))

    def _named_phases(self, counts: npt.NDArray[Any]) -> dict[str, int]:
        names = ["", *self.vocabularies.phases.words()]
        return {name: int(n) for name, n in zip(names, counts, strict=False) if n}

    def _slices(self, base: Group) -> npt.NDArray[np.bool_]:
        """Events with a duration; one that lost its phase still counts."""
        phases = base["phase"].values
        slices: npt.NDArray[np.bool_] = phases == self.vocabularies.phases.get("X", -2)
        slices |= (phases == NULL_CODE) & (base["dur_ns"].values != NULL_INT)
        return slices

    def _place(
        self, base: Group, places: npt.NDArray[np.int8], tally: Tally
    ) -> list[tuple[str, npt.NDArray[np.intp]]]:
        """Rows of each group, in file order; unusable events are counted and left out."""
        slices = self._slices(base)
        unplaced = places == _DROPPED
        tally.add("unknown_phase", unplaced.sum(), self._describe(base, unplaced))
        timeless = base["ts_ns"].values == NULL_INT
        for untimed in _UNTIMED_GROUPS:
            timeless &= places != GROUPS.index(untimed)
        tally.add("missing_ts", timeless.sum(), self._describe(base, timeless))
        places[timeless] = _DROPPED

        slices &= ~timeless
        durations: Int64Array = base["dur_ns"].values
        missing = slices & (durations == NULL_INT)
        negative = slices & (durations < 0) & ~missing
        tally.add("missing_duration", missing.sum(), self._describe(base, missing))
        tally.add("negative_duration", negative.sum(), self._describe(base, negative))
        durations[missing | negative] = 0
        nameless = slices & (base["name"].values == NULL_CODE)
        tally.add("missing_name", nameless.sum(), self._describe(base, nameless))
        order = np.argsort(places, kind="stable")
        bounds = np.searchsorted(places[order], np.arange(len(GROUPS) + 1))
        return [
            (name, order[bounds[code] : bounds[code + 1]])
            for code, name in enumerate(GROUPS)
            if code != _DROPPED and bounds[code] < bounds[code + 1]
        ]

    def _groups_of(self, base: Group) -> npt.NDArray[np.int8]:
        words = self.vocabularies
        slices = self._slices(base)
        by_phase = [
            GROUPS.index(_GROUP_OF_PHASE.get(phase, "dropped")) for phase in words.phases.words()
        ]
        by_category = [
            GROUPS.index(group_of_category(category)) for category in words.categories.words()
        ]
        # The last entry stands for a missing value, whose code is -1.
        of_phase = np.array([*by_phase, _DROPPED], np.int8)
        of_category = np.array([*by_category, GROUPS.index("untyped")], np.int8)
        places: npt.NDArray[np.int8] = np.where(
            slices, of_category[base["category"].values], of_phase[base["phase"].values]
        )
        is_memory = (places == GROUPS.index("instant")) & (
            base["name"].values == words.names.get(MEMORY_NAME, -2)
        )
        places[is_memory] = GROUPS.index("memory")
        return places

    def _describe(self, base: Group, rows: npt.NDArray[np.bool_]) -> str:
        """The first of these events, for a health entry."""
        if not rows.any():
            return ""
        row = int(np.flatnonzero(rows)[0])
        names, phases = self.vocabularies.names.words(), self.vocabularies.phases.words()
        name, phase = base["name"].values[row], base["phase"].values[row]
        return (
            f"event {row} of its piece, name {names[name] if name >= 0 else None!r}, "
            f"phase {phases[phase] if phase >= 0 else None!r}"
        )

    def _add_arguments(
        self, groups: dict[str, Group], name: str, group: Group, raws: list[Raw], tally: Tally
    ) -> None:
        words = self.vocabularies
        decoder = _argument_decoder(name, brief=self._brief)
        decoded = decoder.decode(raws, words, tally)
        columns, rare = decoded or decoder.decode_forgiving(raws, words, tally)
        if decoded and self._inputs is not None and _ARGUMENTS[name] is arguments.OPERATOR:
            columns |= self._inputs.of(group["name"].values, raws, words)
        groups[name] = {**group, **columns}
        self._add_rare(groups, name, group, rare)
        if name == "ranges":
            append(groups, "samples", arguments.samples(group, raws, words, tally, of_ranges=True))

    def _add_rare(
        self, groups: dict[str, Group], name: str, group: Group, rare: arguments.Rare
    ) -> None:
        words, index = self.vocabularies, group["index"].values
        if rare:
            append(groups, "collectives", arguments.collective_rows(index, rare, words.texts))
        if rare and not self._brief:
            other_arguments = arguments.other_rows(
                index, rare, _ARGUMENTS[name].rare_keys, words.names, words.texts
            )
            append(groups, "event_args", other_arguments)


class RawArguments(Sequence[Raw]):
    """Arguments of the rows of a group as they stand in the text of a piece."""

    def __init__(self, text: bytes, seen: ScannedGroup, rows: npt.NDArray[Any]) -> None:
        self._text, self.seen = text, seen
        places = slice(None) if len(rows) == len(seen.rows) else np.searchsorted(seen.rows, rows)
        self._starts, self._ends = seen.starts[places], seen.ends[places]

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, row: Any) -> Any:
        start = int(self._starts[row])
        if start < 0:
            return arguments.NO_ARGUMENTS
        return Raw(self._text[start : int(self._ends[row])])

    def all(self) -> list[Raw]:
        """Those of every row."""
        return [
            Raw(self._text[start:end]) if start >= 0 else arguments.NO_ARGUMENTS
            for start, end in zip(self._starts.tolist(), self._ends.tolist(), strict=True)
        ]


_VOCABULARY_OF = {"lane": "lanes", "text": "texts"}
_VOCABULARY_OF_COLUMN = {
    "phase": "phases",
    "category": "categories",
    "name": "names",
    "pid": "lanes",
    "tid": "lanes",
}


def _argument_columns(
    name: str, columns: Sequence[npt.NDArray[Any] | None], *, brief: bool
) -> Group:
    """Columns of the kept arguments of a group, as the scanner numbers them."""
    kept = _argument_decoder(name, brief=brief).kept_arguments
    return {
        argument.column: PieceColumn(values, _VOCABULARY_OF.get(argument.type, ""))
        for argument, values in zip(kept, columns, strict=False)
        if values is not None
    }


_SCANNED_TYPES = {"int": INT, "float": FLOAT, "lane": LANE, "text": TEXT}


def piece_scanner(*, brief: bool) -> PieceScanner:
    """A scanner of all groups of events, by the tables of their arguments."""
    plans = [_plan_of(name, brief=brief) for name in GROUPS]
    numbers = {name: number for number, name in enumerate(GROUPS)}
    known_categories = {*HOST_CATEGORIES, *DEVICE_CATEGORIES}
    special = tuple(
        numbers[name] for name in ("operator", "untyped", "dropped", "instant", "memory", "flow")
    )
    return PieceScanner(
        plans,
        [(category, numbers[group_of_category(category)]) for category in known_categories],
        [(phase, numbers[name]) for phase, name in _GROUP_OF_PHASE.items()],
        special,  # type: ignore[arg-type]
        MEMORY_NAME,
    )


def _plan_of(name: str, *, brief: bool) -> GroupPlan:
    unused = (_UNUSED_IN_BRIEF if brief else _UNUSED_COLUMNS).get(name, _UNUSED_BY_SLICES)
    envelope = bits_of(
        ("flow_id",) * (name == "flow")
        + tuple(
            column for column in (*_VOCABULARY_OF_COLUMN, "ts_ns", "dur_ns") if column not in unused
        )
    )
    details = envelope, name in _UNTIMED_GROUPS, name in _FROM_TEXT
    if name not in _ARGUMENTS:
        return name, False, [], [], *details
    argument_set, decoder = _ARGUMENTS[name], _argument_decoder(name, brief=brief)
    # What is only checked comes last, where nobody looks for it.
    kept = [*decoder.kept_arguments, *decoder.checked_arguments]
    columns = {argument.column: place for place, argument in enumerate(kept)}
    keys: dict[str, tuple[str, int, int, int]] = {
        key: (key, IGNORED, -1, 0) for key in argument_set.all_keys
    }
    for argument in argument_set.arguments:
        for rank, key in enumerate(argument.keys):
            if argument.column in columns:
                kind = _SCANNED_TYPES[argument.type]
                keys[key] = (key, kind, columns[argument.column], rank)
    for family in argument_set.rare:
        keys[family[0]] = (family[0], MARKER, -1, 0)
    keys[arguments.PACKED_ARGUMENTS] = (arguments.PACKED_ARGUMENTS, PACKED, -1, 0)
    types = [_SCANNED_TYPES[argument.type] for argument in kept]
    return name, True, list(keys.values()), types, *details


class Share(msgspec.Struct, frozen=True):
    """What one process decoded."""

    pieces: list[Piece]
    words: dict[str, list[Any]]
    head: bytes
    bare: bool
    has_events: bool
    """Whether there is an event list at all."""
    damage: list[str] = msgspec.field(default_factory=list)


def decode_cut(decoder: PieceDecoder, cut: PieceText, *, bare: bool) -> Piece:
    """A piece by the fastest way it allows: as it is, mended as a whole, event by event."""
    piece = _decode_whole(decoder, cut, bare=bare)
    if piece is not None:
        return piece
    tally = Tally()
    text = mend_text(cut.text, tally)
    piece = _decode_whole(decoder, replace(cut, text=text), bare=bare) if tally.counts else None
    if piece is not None:
        piece.tally.update(tally)
        return piece
    tally = Tally()
    envelopes, rest = mend_piece(cut.text, tally, last=cut.last)
    piece = decoder.columns_of(cut.number, envelopes, tally)
    return replace(piece, rest=rest or b"", closed=rest is not None)


def _decode_whole(decoder: PieceDecoder, cut: PieceText, *, bare: bool) -> Piece | None:
    text, rest = cut.text, b""
    if cut.last:
        ended = split_end(text, bare=bare)
        if ended is None:
            return None
        text, rest = ended
    try:
        piece = decoder.decode(cut.number, text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return replace(piece, rest=rest, closed=cut.last)
