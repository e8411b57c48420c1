"""From columns of many pieces, decoded by several processes, to the tables of the model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from timesink.formats.chrome.arguments import FLOW_PHASE_NAMES
from timesink.formats.chrome.columns import NULL_CODE, NULL_INT, Group, Piece, Tally
from timesink.formats.chrome.decode import Share
from timesink.formats.counters import HOST_OF_PROCESS, device_of_lane, with_processes_apart
from timesink.formats.finish import address_of
from timesink.model import vendors
from timesink.model.schema import (
    COPY_DIRECTIONS,
    DEVICE,
    DEVICE_KINDS,
    FLOW_KINDS,
    FLOW_PHASES,
    HOST,
    HOST_KINDS,
    LINE_PREFIX,
    MODULE_PREFIX,
    TABLES,
)
from timesink.patterns import regex

# Columns of the pieces, joined in the order of the stream.

Array = npt.NDArray[Any]
BoolArray = npt.NDArray[np.bool_]


class TraceWords:
    """Every text of the trace, numbered once for all shares."""

    def __init__(self, shares: Sequence[Share]) -> None:
        numbers_of: dict[str, dict[Any, int]] = {}
        self.remaps: list[dict[str, npt.NDArray[np.int32] | None]] = [{} for _ in shares]
        for share, remap in zip(shares, self.remaps, strict=True):
            for name, words in share.words.items():
                numbers = numbers_of.setdefault(name, {})
                codes = [numbers.setdefault(word, len(numbers)) for word in words]
                # The last entry answers the code of a missing word, which is -1.
                is_same = codes == list(range(len(codes)))
                remap[name] = None if is_same else np.array([*codes, NULL_CODE], np.int32)
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

    def words_as(self, key: str, function: Callable[[str], Any], dtype: pl.DataType) -> pl.Series:
        """The same for numbers that may be missing, as a series."""
        values: list[Any] = [None] * (len(self.words.texts[self.vocabularies[key]]) + 1)
        for code in self._occurring(key):
            values[code] = function(self.words.texts[self.vocabularies[key]][code])
        return pl.Series(key, values, dtype=dtype)[self.arrays[key]]

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
            words = self.words.categories[vocabulary]
            # The code of a missing word is -1: the largest number, and the last of the words.
            places = np.minimum(values.astype(np.uint32), np.uint32(len(words) - 1))
            return words[places].alias(key)
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
        self._names: dict[str, list[str]] = {}

    def join(self, name: str) -> Joined:
        """One group over all pieces, which give it up; an absent one is empty."""
        parts = [
            (piece.groups.pop(name), share, offset)
            for piece, share, offset in self._placed
            if name in piece.groups
        ]
        if not parts:
            return Joined({"index": np.empty(0, np.int64)}, {"index": ""}, self.words)
        joined = self._join(parts)
        if "name" in joined:
            self._names[name] = joined.distinct("name")
        return joined

    def names_in(self, group: str) -> list[str]:
        """The names of events in a group that was joined."""
        return self._names.get(group, [])

    def _join(self, parts: list[tuple[Group, int, int]]) -> Joined:
        vocabularies: dict[str, str] = {}
        types: dict[str, np.dtype[Any]] = {}
        counts = [len(group["index"].values) for group, _, _ in parts]
        for group, _, _ in parts:
            for key, column in group.items():
                vocabularies[key] = column.vocabulary
                types[key] = column.values.dtype
        arrays: dict[str, Array] = {}
        for key in vocabularies:
            columns = [
                self._part(key, types[key], count, part)
                for count, part in zip(counts, parts, strict=True)
            ]
            arrays[key] = columns[0] if len(columns) == 1 else np.concatenate(columns)
        return Joined(arrays, vocabularies, self.words)

    def _part(
        self, key: str, dtype: np.dtype[Any], count: int, part: tuple[Group, int, int]
    ) -> Array:
        group, share, offset = part
        # Memory of the piece is freed column by column.
        column = group.pop(key, None)
        if column is None:
            # A column some pieces lack is filled with nothing.
            missing = {"f": np.nan, "i": NULL_INT if dtype.itemsize == 8 else NULL_CODE}
            return np.full(count, missing[dtype.kind], dtype)
        if key == "index":
            index: Array = np.add(column.values, offset, dtype=np.int64)
            return index
        remap = self.words.remaps[share][column.vocabulary] if column.vocabulary else None
        # Codes of one share become the common ones.
        codes: Array = column.values if remap is None else remap[column.values]
        return codes


# Tables of the model.

_DEVICE_IN_LANE = regex(r"\bdevice:?\s*(\d+)", re.IGNORECASE)
_STREAM_IN_LANE = r"(?i)\bstream:?\s*(\w+)"
_DEVICE_NUMBER = regex(r"^[0-9]{1,9}$")
_COPY_WORD = regex(r"[A-Za-z0-9_]+")
_MAX_DIGITS = 18
_LARGEST_DEVICE_PID = 4096
"""Device lanes use the device number as pid; a larger pid is a process."""
_AS_RECORDED = tuple(c for c in DEVICE.schema if c not in ("kind", "device", "stream"))


def device_frame(
    joined: Joined, tracks: pl.DataFrame, tally: Tally, kinds: Array | None = None
) -> pl.DataFrame:
    if not len(joined):
        return pl.DataFrame()
    if kinds is None:
        kinds = joined.kinds(vendors.DEVICE_CATEGORIES, DEVICE_KINDS)
    named = joined.map_words("direction", _direction_number, NULL_CODE)
    from_name = joined.map_words("name", _direction_number, NULL_CODE)
    other = COPY_DIRECTIONS.index("other")
    directions = np.where(named >= 0, named, np.where(from_name >= 0, from_name, other))
    copies = (kinds == DEVICE_KINDS.index("kernel")) & (named >= 0)
    kinds = np.where(copies, DEVICE_KINDS.index("memcpy"), kinds)
    is_copy = kinds == DEVICE_KINDS.index("memcpy")
    return joined.frame(_AS_RECORDED).with_columns(
        enum_series(kinds, DEVICE_KINDS),
        nullable(_device_numbers(joined, tracks, tally)).alias("device").cast(pl.Int32),
        _stream_texts(joined),
        *_geometry(joined),
        enum_series(np.where(is_copy, directions, NULL_CODE), COPY_DIRECTIONS, "copy_direction"),
    )


def _direction_number(text: str) -> int:
    for word in _COPY_WORD.findall(text):
        direction = vendors.COPY_DIRECTION_WORDS.get(word.lower().removeprefix("copy"))
        if direction is not None:
            return COPY_DIRECTIONS.index(direction)
    return NULL_CODE


def _device_numbers(joined: Joined, tracks: pl.DataFrame, tally: Tally) -> Array:
    """Device of each row: as recorded, else from its lane, its process label or its pid."""
    numbers = joined.map_words("device", _device_number, NULL_INT)
    if (numbers != NULL_INT).all():
        return numbers
    strange = joined.map_words(
        "device", lambda text: _device_number(text) == NULL_INT, missing=False
    )
    tally.add("bad_value", strange.sum(), ", ".join(joined.take(strange).distinct("device")[:3]))
    labels = _device_of_process(tracks)

    def of_lane(tid: str) -> int:
        match = _DEVICE_IN_LANE.search(tid)
        return _device_number(match.group(1)) if match else NULL_INT

    def of_process(pid: str) -> int:
        number = _device_number(pid)
        return labels.get(pid, number if number < _LARGEST_DEVICE_PID else NULL_INT)

    by_lane = joined.map_words("tid", of_lane, NULL_INT)
    by_process = joined.map_words("pid", of_process, NULL_INT)
    by_lane = np.where(by_lane != NULL_INT, by_lane, by_process)
    return np.where(numbers != NULL_INT, numbers, by_lane)


def _device_of_process(tracks: pl.DataFrame) -> dict[str, int]:
    """Device numbers that process labels such as `GPU 3` name."""
    devices_by_pid: dict[str, int] = {}
    for pid, label in device_labels(tracks):
        devices_by_pid.setdefault(pid, _device_number(label[2]))
    for pid, name in process_names(tracks).items():
        if name in vendors.DEVICE_PROCESSES:
            # The pid of a process that is named for what it shows is not a device number.
            devices_by_pid.setdefault(pid, NULL_INT)
    return devices_by_pid


def device_labels(tracks: pl.DataFrame) -> Iterator[tuple[str, re.Match[str]]]:
    """Processes and the labels, such as `GPU 3`, that name their device."""
    if not tracks["tid"].null_count():
        return
    processes = tracks.filter(pl.col("tid").is_null())[["pid", "labels", "name"]]
    for pid, *texts in processes.iter_rows():
        for text in texts:
            if match := vendors.DEVICE_LABEL.match(text or ""):
                yield pid, match


def process_names(tracks: pl.DataFrame) -> dict[str, str]:
    """What processes are called, in small letters."""
    processes = tracks.filter(pl.col("tid").is_null() & pl.col("name").is_not_null())
    return {pid: str(name).lower() for pid, name in processes.select("pid", "name").iter_rows()}


def _device_number(text: str) -> int:
    return int(text) if _DEVICE_NUMBER.match(text) else NULL_INT


def _stream_texts(joined: Joined) -> pl.Series:
    """Stream of each row: as recorded, else what its lane is called."""
    recorded = joined.series("stream") if "stream" in joined else None
    if recorded is not None and not recorded.null_count():
        return recorded
    lanes = joined.series("tid").cast(pl.String)
    from_lane = lanes.str.extract(_STREAM_IN_LANE).fill_null(lanes)
    if recorded is None:
        return from_lane.cast(pl.Categorical).alias("stream")
    return recorded.cast(pl.String).fill_null(from_lane).cast(pl.Categorical).alias("stream")


def _geometry(joined: Joined) -> list[pl.Series]:
    return [
        nullable(joined.map_words(key, partial(_coordinate, axis), NULL_INT)).alias(
            f"{key}_{letter}"
        )
        for key in ("grid", "block")
        if key in joined
        for axis, letter in enumerate("xyz")
    ]


def _coordinate(axis: int, text: str) -> int:
    numbers = re.findall(r"-?\d+", text)
    if len(numbers) <= axis or len(numbers[axis]) > _MAX_DIGITS:
        return NULL_INT
    return int(numbers[axis])


def with_launch_geometry(device: pl.DataFrame, runtime: Joined) -> pl.DataFrame:
    """Some profilers write the launch geometry on the runtime call; copy it to the kernel."""
    if device.is_empty() or "correlation" not in device.columns:
        return device
    if "grid" not in runtime or "correlation" not in runtime:
        return device
    launches = (
        runtime.frame(["correlation"])
        .with_columns(*_geometry(runtime))
        .drop_nulls()
        .unique("correlation", keep="first")
    )
    columns = launches.columns[1:]
    # The device table may have none of its own.
    absent = [
        pl.lit(None, pl.Int64).alias(column) for column in columns if column not in device.columns
    ]
    joined = device.with_columns(absent).join(
        launches, on="correlation", how="left", suffix="_launch", maintain_order="left"
    )
    of_launch = pl.when(pl.col("kind") == "kernel")
    return joined.with_columns(
        pl.coalesce(column, of_launch.then(pl.col(f"{column}_launch"))).alias(column)
        for column in columns
    ).select(pl.exclude(r"^.*_launch$"))


# The smaller tables: memory, flows, counters, collectives, rare arguments, tracks.
#
# Groups have rows, except for tracks: who asks leaves out those without.


def memory_frame(joined: Joined) -> pl.DataFrame:
    frame = joined.frame(c for c in TABLES["memory"].schema if c != "address")
    if "address" in joined:
        # Decimal or hexadecimal.
        frame = frame.with_columns(joined.words_as("address", address_of, pl.UInt64()))
    return frame


def flow_frame(joined: Joined) -> pl.DataFrame:
    kinds = joined.kinds(vendors.FLOW_CATEGORIES, FLOW_KINDS)
    phases = joined.map_words("phase", lambda p: FLOW_PHASES.index(FLOW_PHASE_NAMES[p]), NULL_CODE)
    columns = ("index", "flow_id", "category", "pid", "tid", "ts_ns")
    return joined.frame(columns).with_columns(
        enum_series(kinds, FLOW_KINDS), enum_series(phases, FLOW_PHASES, "phase")
    )


def counter_frame(joined: Joined) -> pl.DataFrame:
    sampled = joined.map_words("phase", lambda phase: phase == "C", missing=False)
    # Counter tracks of accelerators name the device in the lane, others in the process.
    named_lane = joined.map_words("tid", lambda tid: not tid.isdigit(), missing=False)
    source = pl.Series("source", np.where(sampled, "trace", "profiler_range")).cast(pl.Categorical)
    columns = ("ts_ns", "counter", "value", "index", "category", "pid", "tid")
    frame = joined.frame(columns).cast({"category": pl.String, "pid": pl.String, "tid": pl.String})
    named = pl.when(pl.Series(named_lane)).then("tid")
    # The device by its lane, else by the category, else the process as recorded.
    lanes = {
        text: device_of_lane(text)
        for column in ("category", "tid")
        for text in frame[column].unique().drop_nulls()
    }
    by_category = pl.col("category").replace_strict(
        {text: label for text, label in lanes.items() if label != text}, default=None
    )
    by_lane = pl.coalesce(named.replace(lanes), by_category)
    hosts = frame["pid"].unique().str.extract(HOST_OF_PROCESS, 1).drop_nulls()
    if hosts.n_unique() > 1:
        # One trace of several machines: each has a device 0 of its own.
        host = pl.col("pid").str.extract(HOST_OF_PROCESS, 1)
        by_lane = pl.coalesce(pl.format("{} on {}", by_lane, host), by_lane)
    # PyTorch's samples of hardware counters are in a process `GPU 3 Counters`.
    of_process = {
        text: f"{match[1]} {match[2]}"
        for text in frame["pid"].unique().drop_nulls()
        if text.endswith(" Counters") and (match := vendors.DEVICE_LABEL.match(text))
    }
    by_process = pl.col("pid").replace(of_process)
    placed = frame.with_columns(source, device=pl.coalesce(by_lane, by_process))
    return with_processes_apart(placed.drop("category", "pid", "tid"))


def collective_frame(joined: Joined) -> pl.DataFrame:
    schema = TABLES["collectives"].schema
    columns = [column for column, dtype in schema.items() if dtype == pl.Int64()]
    texts = joined.frame(schema)
    columns = [column for column in columns if column in texts.columns]
    texts = texts.with_columns(pl.col(columns).cast(pl.String))
    return texts.with_columns(
        pl.coalesce(
            # Whole numbers keep every digit; ids of 64 bits may be larger than a signed one.
            pl.col(column).cast(pl.Int64, strict=False),
            pl.col(column).cast(pl.UInt64, strict=False).reinterpret(signed=True),
            pl.col(column).cast(pl.Float64, strict=False).cast(pl.Int64, strict=False),
        ).alias(column)
        for column in columns
    )


def track_frame(joined: Joined) -> pl.DataFrame:
    """Names, labels and order of lanes; the last word on each counts."""
    if not len(joined):
        return TABLES["tracks"].empty()
    of_process = joined.map_words("name", lambda name: name.startswith("process_"), missing=False)
    columns = {"lane_name": pl.Categorical(), "labels": pl.Categorical(), "sort_index": pl.Int64()}
    frame = joined.frame(("pid", "tid", *columns)).with_columns(
        pl.lit(None, dtype).alias(key) for key, dtype in columns.items() if key not in joined
    )
    frame = frame.with_columns(tid=pl.when(~pl.Series(of_process)).then(pl.col("tid")))
    last_values = frame.group_by("pid", "tid", maintain_order=True).agg(
        pl.col(*columns).drop_nulls().last()
    )
    return last_values.rename({"lane_name": "name"})


_KIND = {name: number for number, name in enumerate(HOST_KINDS)}
LEFT_OUT_IN_BRIEF = ("memory", "flows", "event_args")
"""Tables of which a brief reading has nothing but times, which tell of the clock."""


_SIDE_TABLES = {
    "memory": ("memory", memory_frame),
    "counters": ("samples", counter_frame),
    "flows": ("flow", flow_frame),
    "collectives": ("collectives", collective_frame),
    "event_args": ("event_args", lambda joined: joined.frame(("index", "key", "value"))),
}
"""Tables of one group of events each."""


def build_tables(
    assembly: Assembly, tally: Tally, *, brief: bool = False
) -> dict[str, pl.DataFrame]:
    """All tables that come from the events themselves; brief ones may hold times alone."""
    tracks = track_frame(assembly.join("metadata"))
    untyped, host_untyped = _split_untyped(assembly.join("untyped"), tracks, tally)
    # What a group took is free for the next one.
    operators = assembly.join("operator")
    _note_unknown_categories(operators, tally)
    of_operators = _host_frame(operators, _operator_kinds(operators))
    del operators
    python = assembly.join("python")
    modules = python.arrays.get("python_module_id", np.full(len(python), NULL_INT)) != NULL_INT
    of_python = _host_frame(python, np.where(modules, _KIND["module"], _KIND["python_function"]))
    del python
    nested, device_nested = _split_nested(assembly.join("nested"), tracks, tally)
    device = [device_frame(assembly.join(group), tracks, tally) for group in ("device", "ranges")]
    runtime, instants = assembly.join("runtime"), assembly.join("instant")
    host = [
        of_operators,
        of_python,
        _host_frame(runtime),
        _host_frame(instants.with_lengths(0), np.full(len(instants), _KIND["instant"])),
        nested,
        host_untyped,
    ]
    tables = {
        "host": _stack(host),
        "device": with_launch_geometry(_stack([*device, device_nested, untyped]), runtime),
        "tracks": tracks,
    }
    for name, (group, frame_of) in _SIDE_TABLES.items():
        rows = assembly.join(group)
        if len(rows):
            only_times = brief and name in LEFT_OUT_IN_BRIEF and name != "event_args"
            tables[name] = rows.frame(("ts_ns",)) if only_times else frame_of(rows)
    return tables


def _operator_kinds(joined: Joined) -> Array:
    """Kinds by category, but of ranges that say where calls come from."""
    kind_codes = joined.map_words("name", _told_kind, -1)
    return np.where(kind_codes >= 0, kind_codes, joined.kinds(vendors.HOST_CATEGORIES, HOST_KINDS))


def _told_kind(name: str) -> int:
    if name.startswith(MODULE_PREFIX):
        return _KIND["module"]
    return _KIND["annotation"] if name.startswith(LINE_PREFIX) else -1


def _host_frame(joined: Joined, kinds: Array | None = None) -> pl.DataFrame:
    """Rows of `host`; their kinds are those of their categories where none are given."""
    if not len(joined):
        return pl.DataFrame()
    if kinds is None:
        kinds = joined.kinds(vendors.HOST_CATEGORIES, HOST_KINDS)
    return joined.frame(HOST.schema).with_columns(enum_series(kinds, HOST_KINDS))


def _stack(frames: list[pl.DataFrame]) -> pl.DataFrame:
    filled = [frame for frame in frames if frame.height]
    return pl.concat(filled, how="diagonal") if filled else pl.DataFrame()


def _split_nested(
    joined: Joined, tracks: pl.DataFrame, tally: Tally
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Host and device rows of events recorded as begin and end."""
    if not len(joined):
        return pl.DataFrame(), pl.DataFrame()
    paired = _pair_begins_and_ends(joined, tally)
    on_device: BoolArray = paired.map_words(
        "category", lambda text: text.lower() in vendors.DEVICE_CATEGORIES, missing=False
    )
    host = paired.take(~on_device)
    _note_unknown_categories(host, tally)
    return _host_frame(host), device_frame(paired.take(on_device), tracks, tally)


def _pair_begins_and_ends(joined: Joined, tally: Tally) -> Joined:
    """Begins (`ph` B) with the duration up to their end; the innermost open one closes first."""
    begins = joined.map_words("phase", lambda phase: phase == "B", missing=False)
    ts_ns = joined.arrays["ts_ns"]
    durations = np.zeros(len(joined), np.int64)
    open_rows: dict[tuple[int, int], list[int]] = {}
    stray_ends = 0
    for row in np.argsort(ts_ns, kind="stable").tolist():
        lane = (int(joined.arrays["pid"][row]), int(joined.arrays["tid"][row]))
        stack = open_rows.setdefault(lane, [])
        if begins[row]:
            stack.append(row)
        elif stack:
            begin = stack.pop()
            durations[begin] = ts_ns[row] - ts_ns[begin]
        else:
            stray_ends += 1
    unclosed = sum(map(len, open_rows.values()))
    tally.add("unpaired_begin_end", stray_ends + unclosed, f"{unclosed} begins, {stray_ends} ends")
    return joined.with_lengths(durations).take(begins)


def _note_unknown_categories(joined: Joined, tally: Tally) -> None:
    is_listed = joined.map_words(
        "category", lambda text: text.lower() in vendors.HOST_CATEGORIES, missing=True
    )
    unknown = joined.take(~is_listed) if len(joined) else joined
    if len(unknown):
        tally.add("unknown_category", len(unknown), ", ".join(unknown.distinct("category")[:8]))


def _split_untyped(
    joined: Joined, tracks: pl.DataFrame, tally: Tally
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Device and host rows of events without a category, told apart by the process they are in."""
    if not len(joined):
        return pl.DataFrame(), pl.DataFrame()
    names = process_names(tracks)
    on_device: BoolArray = joined.map_words(
        "pid", lambda pid: names.get(pid, "") in vendors.DEVICE_PROCESSES, missing=False
    )
    device, host = joined.take(on_device), joined.take(~on_device)
    host_kinds = host.map_words(
        "pid",
        lambda pid: _KIND[vendors.HOST_PROCESSES.get(names.get(pid, ""), "other")],
        _KIND["other"],
    )
    placeless = host.map_words(
        "pid", lambda pid: names.get(pid, "") not in vendors.HOST_PROCESSES, missing=True
    )
    if len(host):
        example = ", ".join(host.take(placeless).distinct("name")[:3]) if placeless.any() else ""
        tally.add("missing_category", int(placeless.sum()), example)
    # A task that is no kernel says so; else the process tells.
    tasks = {task: DEVICE_KINDS.index(kind) for task, kind in vendors.TASK_KINDS.items()}
    by_task = device.map_words("task_type", lambda task: tasks.get(task, NULL_CODE), NULL_CODE)
    by_process = device.map_words(
        "pid",
        lambda pid: DEVICE_KINDS.index(vendors.DEVICE_PROCESSES[names[pid]]),
        DEVICE_KINDS.index("other"),
    )
    kinds = np.where(by_task >= 0, by_task, by_process)
    return device_frame(device, tracks, tally, kinds), _host_frame(host, host_kinds)
