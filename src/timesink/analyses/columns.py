"""The columns most analyses need, loaded once per trace; row for row those of its tables."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Mapping, Sequence
from functools import partial, wraps
from threading import Lock
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar
from weakref import WeakKeyDictionary, ref

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.model.arrays import Places, densify, narrow, new_coverage, run_starts
from timesink.model.intervals import Flags, IntervalSet, Ints
from timesink.model.schema import DEVICE_KINDS, HOST_KINDS
from timesink.model.trace import Trace

# Work that several analyses share is done once per trace.

Options = ParamSpec("Options")
Result = TypeVar("Result")
Subject = TypeVar("Subject")
"""What is asked about: a trace, or two runs beside each other.  Both are frozen."""


_Note: TypeAlias = tuple[Lock, list[Any]]
"""One answer about one trace, behind the lock under which it is found."""

_notebooks: WeakKeyDictionary[Any, dict[Any, _Note]] = WeakKeyDictionary()
_opening = Lock()


def seed_memo(trace: Trace, analysis: Callable[[Trace], Result], answer: Result) -> None:
    """Set what an analysis found for a trace that was made from another."""
    _note_of(trace, (inspect.unwrap(analysis), (), ()))[1][:] = [answer]


def _note_of(subject: object, question: Any) -> _Note:
    with _opening:
        return _notebooks.setdefault(subject, {}).setdefault(question, (Lock(), []))


def memoize_per_trace(
    analysis: Callable[Concatenate[Subject, Options], Result],
) -> Callable[Concatenate[Subject, Options], Result]:
    """Remember what an analysis found for as long as its trace, or pair of runs, is alive.

    Both are frozen, so an answer never goes stale; it goes away with its subject.  Threads that
    ask for the same answer wait for the first of them.
    """

    @wraps(analysis)
    def remembered(subject: Subject, /, *args: Options.args, **options: Options.kwargs) -> Result:
        lock, answers = _note_of(subject, (analysis, args, tuple(sorted(options.items()))))
        with lock:
            if not answers:
                answers.append(analysis(subject, *args, **options))
        answer: Result = answers[0]
        return answer

    return remembered


_tables: dict[int, tuple[ref[pl.DataFrame], dict[Any, Any]]] = {}


def memoize_per_table(
    analysis: Callable[Concatenate[pl.DataFrame, Options], Result],
) -> Callable[Concatenate[pl.DataFrame, Options], Result]:
    """The same for a table, which nobody changes once it is handed on."""

    @wraps(analysis)
    def remembered(table: pl.DataFrame, /, *args: Options.args, **more: Options.kwargs) -> Result:
        number = id(table)
        entry = _tables.get(number)
        if entry is None or entry[0]() is not table:
            gone = partial(_tables.pop, number, None)
            entry = _tables[number] = ref(table, lambda _: gone()), {}
        question = (analysis, args, tuple(more.items()))
        if question not in entry[1]:
            entry[1][question] = analysis(table, *args, **more)
        answer: Result = entry[1][question]
        return answer

    return remembered


@memoize_per_trace
def recording_of(timeline: Trace) -> ref[Trace]:
    """How to get at the recording that a timeline was moved from; it is one itself by default."""
    return ref(timeline)


def memoize_structure(
    analysis: Callable[Concatenate[Trace, Options], Result],
) -> Callable[Concatenate[Trace, Options], Result]:
    """The same for what does not depend on a clock: found once, for a recording.

    A timeline that was moved from a recording has its rows, in its order and with its texts, and
    calls that lie in one another as theirs do.
    """
    remembered = memoize_per_trace(analysis)

    @wraps(remembered)
    def shared(trace: Trace, /, *args: Options.args, **options: Options.kwargs) -> Result:
        return remembered(recording_of(trace)() or trace, *args, **options)

    return shared


# Tests on text columns, made once per distinct text instead of once per row.

Codes: TypeAlias = Places

_MAX_ROWS_COMPARED_DIRECTLY = 128
"""Rows whose texts are compared sooner than Polars is asked for their numbers."""


def encode(column: pl.Series) -> tuple[Codes, list[str | None]]:
    """A number (64 bits) per row and the text each number stands for; texts in no order."""
    if len(column) <= _MAX_ROWS_COMPARED_DIRECTLY:
        read = column.cast(pl.String).to_list()
        texts = dict.fromkeys(sorted(read, key=lambda text: text is None))
        place = {text: at for at, text in enumerate(texts)}
        return np.array([place[text] for text in read], dtype=np.int64), list(place)
    if not isinstance(column.dtype, pl.Categorical | pl.Enum):
        column = column.cast(pl.Categorical)
    physical = column.to_physical()
    if not physical.null_count():
        codes, rows = _dense_codes(physical.to_numpy())
        return codes, column[rows].cast(pl.String).to_list()
    # Numbers of texts are small: as floats they are exact, and null is NaN.
    sparse = physical.to_numpy()
    present = np.flatnonzero(~np.isnan(sparse))
    dense, rows = _dense_codes(sparse[present].astype(np.int64))
    codes = np.full(len(column), len(rows), dtype=np.int64)
    codes[present] = dense
    return codes, [*column[present[rows]].cast(pl.String).to_list(), None]


def _dense_codes(numbers: NDArray[Any]) -> tuple[Codes, NDArray[np.intp]]:
    """Numbers without holes, and a row for each of them: a table is far faster than sorting."""
    if not len(numbers) or numbers.min() == numbers.max():
        return np.zeros(len(numbers), dtype=np.int64), np.arange(min(1, len(numbers)))
    row_of = np.full(int(numbers.max()) + 1, -1, dtype=np.intp)
    row_of[numbers] = np.arange(len(numbers))
    place_of = np.cumsum(row_of >= 0) - 1
    return place_of[numbers], row_of[row_of >= 0]


def among(column: pl.Series, wanted: Container[str | None]) -> Flags:
    """Which rows of a text column hold one of the texts wanted.

    >>> among(pl.Series(["a", None, "b"]), {"b", "c"}).tolist()
    [False, False, True]
    """
    codes, texts = encode(column)
    return np.array([text in wanted for text in texts] or [False], dtype=np.bool_)[codes]


class Texts(msgspec.Struct, frozen=True, eq=False):
    """A text column as numbers and what they stand for."""

    codes: Codes
    texts: Sequence[str]

    def matching(self, test: Callable[[str], bool]) -> Flags:
        """Which rows hold a text that passes the test."""
        passed = np.array([test(text) for text in self.texts], dtype=np.bool_)
        if not passed.any():
            return np.zeros(len(self.codes), dtype=np.bool_)
        return passed[self.codes]

    def renamed(self, rename: Callable[[str], str]) -> Texts:
        """The same rows by other texts; those that get the same one share its number."""
        place: dict[str, int] = {}
        codes = [place.setdefault(rename(text), len(place)) for text in self.texts]
        return Texts(np.array(codes or [0], dtype=np.int64)[self.codes], list(place))

    def among(self, *texts: str) -> Flags:
        """Which rows hold one of these texts."""
        return self.matching(set(texts).__contains__)

    def rows(self, test: Callable[[str], bool]) -> NDArray[np.intp]:
        """Numbers of the rows that hold a text that passes the test."""
        return np.flatnonzero(self.matching(test))


Rows: TypeAlias = NDArray[Any] | slice
"""Which rows of a table: places or flags."""

_EVENT = ("kind", "name", "pid", "ts_ns", "dur_ns", "external_id", "correlation")


@memoize_per_trace
def host_columns(trace: Trace) -> pl.DataFrame:
    """What, where and when of every host event, and the ids that link it."""
    return trace.lazy("host").select(*_EVENT, "category", "tid").collect(engine="in-memory")


@memoize_per_trace
def device_columns(trace: Trace) -> pl.DataFrame:
    """What, where and when of every device event, and the ids that link it."""
    return trace.lazy("device").select(*_EVENT, "device", "stream").collect(engine="in-memory")


@memoize_structure
def host_copies(trace: Trace) -> Flags:
    """Which rows of `trace.device` copy something from or to the host."""
    column = trace.lazy("device").select("kind", "copy_direction").collect(engine="in-memory")
    of_host = column["copy_direction"].cast(pl.String).is_in(["HtoD", "DtoH"])
    return np.asarray((of_host & (column["kind"] == "memcpy")).fill_null(value=False).to_numpy())


@memoize_structure
def host_kinds(trace: Trace) -> Texts:
    """Kinds of the host events, in the numbers of `HOST_KINDS`."""
    return Texts(host_columns(trace)["kind"].to_physical().to_numpy().astype(np.int32), HOST_KINDS)


@memoize_structure
def device_kinds(trace: Trace) -> Texts:
    """Kinds of the device events, in the numbers of `DEVICE_KINDS`."""
    return Texts(
        device_columns(trace)["kind"].to_physical().to_numpy().astype(np.int32), DEVICE_KINDS
    )


def start_and_end(events: pl.DataFrame, rows: Rows = slice(None)) -> tuple[Ints, Ints]:
    """When each event began and ended, or each in some rows of them."""
    start = events["ts_ns"].to_numpy()[rows]
    return start, start + events["dur_ns"].to_numpy()[rows]


def event_ranges(events: pl.DataFrame, rows: Rows = slice(None)) -> IntervalSet:
    """The same as ranges of time."""
    return np.stack(start_and_end(events, rows)).T


def numbers(column: pl.Series) -> Ints:
    """Ids and amounts, 0 where there is none."""
    nothing = column.null_count()
    if nothing == len(column) and not column.dtype.is_float():
        return np.zeros(len(column), dtype=np.int64)
    return (column.fill_null(0) if nothing else column).to_numpy()


@memoize_structure
def host_names(trace: Trace) -> Texts:
    """Names of the host events; absent ones are empty."""
    codes, texts = encode(host_columns(trace)["name"])
    return Texts(narrow(codes, len(texts)), [text or "" for text in texts])


@memoize_structure
def host_processes(trace: Trace) -> Texts:
    """Processes of the host events; absent ones are empty."""
    codes, texts = encode(host_columns(trace)["pid"])
    return Texts(codes, [text or "" for text in texts])


@memoize_structure
def host_lanes(trace: Trace) -> tuple[Codes, list[tuple[str, str]]]:
    """A number per host event for its process and thread, and what each number stands for."""
    codes, lanes = lane_codes(host_columns(trace))
    return narrow(codes, len(lanes)), lanes


def lane_codes(events: pl.DataFrame) -> tuple[Codes, list[tuple[str, str]]]:
    """A number per event for its process and thread, and what each number stands for."""
    pid, pids = encode(events["pid"])
    tid, tids = encode(events["tid"])
    if len(pids) * len(tids) == 1:
        return pid, [(pids[0] or "", tids[0] or "")]
    joint = pid * len(tids) + tid
    seen = np.zeros(len(pids) * len(tids), dtype=np.bool_)
    seen[joint] = True
    lanes = [divmod(code, len(tids)) for code in np.flatnonzero(seen).tolist()]
    return (np.cumsum(seen) - 1)[joint], [(pids[p] or "", tids[t] or "") for p, t in lanes]


@memoize_structure
def device_names(trace: Trace) -> Texts:
    """Names of the device events; absent ones are empty."""
    codes, texts = encode(device_columns(trace)["name"])
    return Texts(narrow(codes, len(texts)), [text or "" for text in texts])


UNKNOWN_DEVICE = -1


@memoize_structure
def device_numbers(trace: Trace) -> Ints:
    """The device of each row of `trace.device`; -1 where nothing tells.

    Readers take it from the event's arguments, else from its lane, its process's label or its
    pid; any number is fine.
    """
    recorded = device_columns(trace)["device"]
    return np.asarray(recorded.fill_null(UNKNOWN_DEVICE).cast(int).to_numpy())


def in_schema(table: pl.DataFrame, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """The columns of a schema, of its types; without a query, which takes long for small tables.

    >>> in_schema(pl.DataFrame({"a": [1], "b": [2]}), {"b": pl.Float64()}).to_dict(as_series=False)
    {'b': [2.0]}
    """
    return pl.DataFrame([table[name].cast(dtype) for name, dtype in schema.items()])


# -- columns as arrays -----------------------------------------------------------------------------


def stack_tables(
    tables: Mapping[Any, pl.DataFrame], column: str = "rank", dtype: pl.DataType | None = None
) -> pl.DataFrame:
    """The rows of all tables, and in one more column whose each is: a rank, or a name.

    A single query is far faster than one for each rank.
    """
    whose = pl.Series(column, list(tables), dtype=dtype or pl.Int64())
    place = np.repeat(np.arange(len(tables)), [table.height for table in tables.values()])
    return pl.concat(tables.values()).with_columns(whose.gather(place))


def dense_codes(column: pl.Series) -> Ints:
    """A number for each row that equal values share; absent ones are equal, too."""
    if column.dtype == pl.String:
        column = column.cast(pl.Categorical)
    if isinstance(column.dtype, pl.Categorical | pl.Enum):
        column = column.to_physical()
    if column.null_count() == len(column):
        return np.zeros(len(column), dtype=np.int64)
    values = column.cast(pl.Int64)
    least = int(values.min())  # type: ignore[arg-type]
    return densify((values - least + 1).fill_null(0).to_numpy())


def union_length_by_group(key: Ints, start: Ints, end: Ints, many: int) -> pl.Series:
    """Time covered by the ranges with each of so many keys; null where there are none."""
    order = np.lexsort((start, key))
    key = key[order]
    first = run_starts(key)
    added = new_coverage(start[order], end[order], first)
    place = np.full(many, -1)
    place[key[first]] = np.arange(len(first))
    return values_at(pl.Series(np.add.reduceat(added, first) if len(first) else added), place)


def values_at(column: pl.Series, places: Ints) -> pl.Series:
    """The values at these places; null at -1."""
    if not (places < 0).any():
        return column.gather(places)
    indices = pl.Series(places, dtype=pl.Int64).replace(-1, None)
    return column.gather(indices.cast(pl.UInt32))
