"""Events of a Perfetto trace as those of Chrome JSON: slices, marks, samples, arrows, GPU work."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np
import polars as pl

from timesink.formats.chrome.columns import NULL_INT
from timesink.formats.chrome.writer import DEVICE_CATEGORIES, HOST_CATEGORIES
from timesink.formats.perfetto import numbers as n
from timesink.formats.perfetto.annotations import arguments_of, read_annotations
from timesink.formats.perfetto.packets import Packets, count_broken
from timesink.formats.perfetto.slices import pair_slices
from timesink.formats.perfetto.tracks import Lane, TraceTracks
from timesink.formats.wire import LENGTH, Fields, Integers, split_messages
from timesink.model import vendors
from timesink.model.arrays import run_starts
from timesink.model.health import HealthEntry
from timesink.model.schema import BUSY_KINDS
from timesink.patterns import regex

_NO_ARGUMENTS = msgspec.Raw(b"{}")
_LEGACY_SLICE, _LEGACY_MARK = ord("X"), ord("i")
LAUNCH, FORWARD_BACKWARD, OTHER = "ac2g", "fwdbwd", "flow"
"""Categories of arrows, as Kineto has them."""
FLOW_KIND_BITS = {1 << 62: FORWARD_BACKWARD, 1 << 61: OTHER}
"""Marks in the numbers of arrows that say what they are, where timesink wrote them."""
_NUMBER = regex(r"\d{1,9}")


Places = Sequence[tuple[Lane, Lane | None]]
"""Process and lane of each event."""


class PacketEvents(msgspec.Struct):
    """Events as the columns of a list in Chrome JSON."""

    phase: list[str] = msgspec.field(default_factory=list)
    category: list[str | None] = msgspec.field(default_factory=list)
    name: list[str | None] = msgspec.field(default_factory=list)
    pid: list[Lane] = msgspec.field(default_factory=list)
    tid: list[Lane | None] = msgspec.field(default_factory=list)
    flow_id: list[int | None] = msgspec.field(default_factory=list)
    arguments: list[msgspec.Raw] = msgspec.field(default_factory=list)
    ts_ns: list[int] = msgspec.field(default_factory=list)
    dur_ns: list[int] = msgspec.field(default_factory=list)

    def __len__(self) -> int:
        return len(self.phase)

    def add(self, phase: str | Sequence[str], places: Places, **columns: Any) -> None:
        """Add events, column by column; `ts_ns` is one that all have."""
        count = len(places)
        self.phase += [phase] * count if isinstance(phase, str) else phase
        self.pid += [pid for pid, _ in places]
        self.tid += [tid for _, tid in places]
        for column, missing in _MISSING.items():
            values = columns.get(column)
            getattr(self, column).extend([missing] * count if values is None else values)


_MISSING = {
    "category": None,
    "name": None,
    "ts_ns": 0,
    "dur_ns": NULL_INT,
    "arguments": _NO_ARGUMENTS,
    "flow_id": None,
}
"""What a column holds of events that have nothing for it."""


class _TrackEvents(msgspec.Struct, frozen=True):
    """Track events of all sorts, as columns."""

    packet: Integers
    fields: Fields
    time_ns: Integers
    type: Integers
    track: Integers
    name: pl.Series
    category: pl.Series

    def __len__(self) -> int:
        return len(self.packet)


def read_events(packets: Packets, time_ns: Integers, default_track: Integers) -> PacketEvents:
    """All events of a trace, on the clock of the trace."""
    rows = PacketEvents()
    tracks = TraceTracks(packets)
    events = _track_events(packets, time_ns, default_track)
    stages = _add_stages(packets, time_ns, rows)
    _add_slices(packets, events, tracks, stages, rows)
    _add_samples(events, tracks, rows)
    _add_gpu_samples(packets, time_ns, rows)
    lanes = tracks.lane_rows()
    rows.add(
        "M",
        [(pid, tid) for _, pid, tid, *_ in lanes],
        name=[name for name, *_ in lanes],
        arguments=[msgspec.Raw(msgspec.json.encode({key: text})) for *_, key, text in lanes],
    )
    return rows


def _track_events(packets: Packets, time_ns: Integers, default_track: Integers) -> _TrackEvents:
    packet, fields = packets.of(n.TRACK_EVENT)
    count = len(packet)
    track = fields.numbers(n.TRACK, count)
    track = np.where(track == 0, default_track[packet], track)
    track = np.where(track == 0, -packets.sequence[packet] - 1, track)
    names = _names(packets, packet, fields, (n.NAME_IID, n.NAME, n.EVENT_NAMES))
    categories = _names(packets, packet, fields, (n.CATEGORY_IIDS, n.CATEGORY, n.CATEGORIES))
    kind = fields.numbers(n.TYPE, count)
    times = time_ns[packet]
    owner, starts, ends = fields.submessages(n.LEGACY)
    if len(owner):
        legacy = split_messages(packets.data, starts, ends)
        phases = legacy.numbers(n.LEGACY_PHASE, len(owner))
        is_open = kind[owner] == 0
        begin_or_end = {ord("B"): n.SLICE_BEGIN, ord("E"): n.SLICE_END}
        for phase, event_type in {**begin_or_end, _LEGACY_MARK: n.INSTANT}.items():
            kind[owner[is_open & (phases == phase)]] = event_type
    return _TrackEvents(packet, fields, times, kind, track, names, categories)


def _names(
    packets: Packets, packet: Integers, fields: Fields, numbers: tuple[int, int, int]
) -> pl.Series:
    """The name of each event: written with it, or the first that its numbers refer to."""
    by_number, written, table = numbers
    count = len(packet)
    texts = pl.Series("name", fields.text_of(written, count), dtype=pl.String)
    message, iids = fields.packed(by_number)
    # The last value of a field counts, of a list the first.
    iid = np.zeros(count, np.int64)
    iid[message[::-1]] = iids[::-1]
    numbered = np.flatnonzero(iid)
    if not len(numbered):
        return texts
    looked_up = packets.look_up(packets.names(table), packet[numbered], iid[numbered])
    return texts.scatter(numbered, looked_up).alias("name") if texts.null_count() else texts


def _add_slices(
    packets: Packets,
    events: _TrackEvents,
    tracks: TraceTracks,
    stages: dict[int, int],
    rows: PacketEvents,
) -> None:
    """Slices with their arguments, marks, and the arrows between them."""
    is_edge = (events.type == n.SLICE_BEGIN) | (events.type == n.SLICE_END)
    edges = np.flatnonzero(is_edge)
    paired = pair_slices(
        events.track[edges], events.time_ns[edges], events.type[edges] == n.SLICE_BEGIN
    )
    begin = np.concatenate([edges[paired.begin], edges[paired.open]])
    length = np.zeros(len(begin), np.int64)
    length[: len(paired.begin)] = (
        events.time_ns[edges[paired.end]] - events.time_ns[edges[paired.begin]]
    )
    for lost, what in ((paired.open, "a begin"), (paired.stray, "an end")):
        if len(lost):
            name = events.name[int(edges[lost[0]])] or ""
            health = HealthEntry("unpaired_begin_end", len(lost), f"{what} of {name!r}")
            packets.health.append(health)
    marks = np.flatnonzero(events.type == n.INSTANT)
    legacy, legacy_ns = _legacy_slices(packets, events)
    is_read = is_edge | (events.type == n.COUNTER) | (events.type == n.INSTANT)
    is_read[legacy] = True
    if not is_read.all():
        example = f"track events of type {events.type[~is_read][0]}"
        packets.health.append(HealthEntry("unknown_phase", int((~is_read).sum()), example))
    begin = np.concatenate([begin, legacy])
    length = np.concatenate([length, legacy_ns])
    order = np.argsort(begin, kind="stable")
    begin, length = begin[order], length[order]
    annotations = read_annotations(packets, events.packet, events.fields)
    arguments = arguments_of(annotations, len(events))
    is_known_track = {t: tracks.place(t) for t in np.unique(events.track).tolist()}
    places = [
        (place.pid, place.tid) for place in map(is_known_track.get, events.track.tolist()) if place
    ]
    chosen = begin.tolist()
    names, categories = events.name.to_list(), events.category.to_list()
    slice_arguments = [arguments[row] for row in chosen]
    slice_categories = infer_categories(
        [categories[row] for row in chosen], [names[row] for row in chosen], slice_arguments
    )
    first_row = len(rows)
    rows.add(
        "X",
        [places[row] for row in chosen],
        category=slice_categories,
        name=[names[row] or "" for row in chosen],
        ts_ns=events.time_ns[begin].tolist(),
        dur_ns=length.tolist(),
        arguments=slice_arguments,
    )
    nameless = sum(1 for row in chosen if not names[row])
    if nameless:
        packets.health.append(HealthEntry("missing_name", nameless, "a slice without a name"))
    marked = marks.tolist()
    rows.add(
        "i",
        [places[row] for row in marked],
        category=[categories[row] for row in marked],
        name=[names[row] or "" for row in marked],
        ts_ns=events.time_ns[marks].tolist(),
        arguments=[arguments[row] for row in marked],
    )
    row_of = np.full(len(events), -1, np.int64)
    row_of[begin] = first_row + np.arange(len(begin))
    _add_arrows(packets, events, row_of, stages, rows)


def _legacy_slices(packets: Packets, events: _TrackEvents) -> tuple[Integers, Integers]:
    """Slices in one event, as old recorders write them, and their lengths."""
    owner, starts, ends = events.fields.submessages(n.LEGACY)
    legacy = split_messages(packets.data, starts, ends)
    phases = legacy.numbers(n.LEGACY_PHASE, len(owner))
    lengths = legacy.numbers(n.LEGACY_US, len(owner))
    chosen = (phases == _LEGACY_SLICE) & (events.type[owner] == 0)
    return owner[chosen], lengths[chosen] * 1000


_SYNC_ARGUMENT = vendors.NVIDIA.rare_arguments[0][0].encode()
_WORK_ARGUMENTS = (
    (regex(rb'"(?:copy kind|src kind|dst kind)":'), DEVICE_CATEGORIES["memcpy"]),
    (regex(b'"%b":' % _SYNC_ARGUMENT), DEVICE_CATEGORIES["sync"]),
    (regex(rb'"grid":.*"stream":|"stream":.*"grid":'), DEVICE_CATEGORIES["kernel"]),
    (
        regex(rb'"memory kind":|"value":.*"bytes":.*"stream":'),
        DEVICE_CATEGORIES["memset"],
    ),
    (regex(rb'"(?:overhead|cost)":'), HOST_CATEGORIES["overhead"]),
    (regex(rb'"Python id":'), HOST_CATEGORIES["python_function"]),
    (regex(rb'"cbid":'), HOST_CATEGORIES["runtime"]),
    (
        regex(rb'"(?:External id|Record function id|Sequence number)":'),
        HOST_CATEGORIES["operator"],
    ),
)
"""What PyTorch's first writer, which has no categories, says of each sort of event."""
_DRIVER_NAME = regex(r"[a-z]{2}[A-Z]")
"""Drivers have prefixes of two letters, runtimes longer ones."""


_DIGITS = b"0123456789"
_MAX_SHAPES = 100_000
"""Shapes of arguments whose category is kept."""


def _category_of_arguments(text: bytes) -> str | None:
    """What the arguments of a slice say that it is."""
    return next((kind for mark, kind in _WORK_ARGUMENTS if mark.search(text)), None)


def infer_categories(
    categories: list[str | None], names: list[str | None], arguments: list[msgspec.Raw]
) -> list[str | None]:
    """The categories of slices; where none is written, what their arguments tell."""
    # Most events of a sort differ in numbers alone.
    category_of: dict[bytes, str | None] = {}
    for row, written in enumerate(categories):
        text = b"{}" if written else bytes(arguments[row]).translate(None, _DIGITS)
        if text == b"{}":
            continue
        if text not in category_of and len(category_of) < _MAX_SHAPES:
            category_of[text] = _category_of_arguments(text)
        category = category_of[text] if text in category_of else _category_of_arguments(text)
        if category == HOST_CATEGORIES["runtime"] and _DRIVER_NAME.match(names[row] or ""):
            category = HOST_CATEGORIES["driver"]
        categories[row] = category
    return categories


def _add_arrows(
    packets: Packets,
    events: _TrackEvents,
    row_of: Integers,
    stages: dict[int, int],
    rows: PacketEvents,
) -> None:
    """Arrows between slices with one number, in the order of time, as starts, steps and ends."""
    parts = []
    for number in (n.FLOWS, n.OLD_FLOWS, n.ENDING_FLOWS, n.OLD_ENDING_FLOWS):
        message, ids = events.fields.packed(number)
        if number in (n.FLOWS, n.ENDING_FLOWS):
            message, ids = _read_fixed(packets, events.fields, number)
        is_end = number in (n.ENDING_FLOWS, n.OLD_ENDING_FLOWS)
        parts.append((message, ids, np.full(len(ids), is_end)))
    message, ids, ending = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    at = row_of[message]
    drawn = at >= 0
    at, ids, ending = at[drawn], ids[drawn], ending[drawn]
    starts, launched = _launches(packets, events, stages)
    starts_at = row_of[starts]
    linked = starts_at >= 0
    stage_ids = np.array([(1 << 60) + place for place in range(int(linked.sum()))], np.int64)
    at = np.concatenate([at, starts_at[linked], launched[linked]])
    ids = np.concatenate([ids, stage_ids, stage_ids])
    ending = np.concatenate([ending, np.zeros(len(stage_ids), bool), np.ones(len(stage_ids), bool)])
    if not len(at):
        return
    ts_ns = np.array(rows.ts_ns, np.int64)[at]
    # A pair of a start and an end is one, whatever its clocks say.
    _, group, sizes = np.unique(ids, return_inverse=True, return_counts=True)
    ends = np.bincount(group, ending, minlength=len(sizes))
    is_pair = ((sizes == 2) & (ends == 1))[group]
    order = np.lexsort((at, ending, np.where(is_pair, 0, ts_ns), ids))
    at, ids, ending, ts_ns = at[order], ids[order], ending[order], ts_ns[order]
    # A number may come again after its arrow ended.
    chain = np.cumsum(np.concatenate([[True], (ids[1:] != ids[:-1]) | ending[:-1]])) - 1
    first = run_starts(chain)
    last = np.append(first[1:] - 1, len(chain) - 1)
    phase = np.full(len(at), "t", object)
    phase[last] = "f"
    phase[first] = "s"
    # An arrow with one end alone is that end.
    lone_ends = first[(first == last) & ending[first]]
    phase[lone_ends] = "f"
    categories = _arrow_categories(rows, at, ids, chain)
    for bit in FLOW_KIND_BITS:
        ids = np.where((ids & bit) != 0, ids & ~bit, ids)
    rows.add(
        phase.tolist(),
        [(rows.pid[row], rows.tid[row]) for row in at.tolist()],
        category=categories,
        ts_ns=ts_ns.tolist(),
        flow_id=ids.tolist(),
    )


def _read_fixed(packets: Packets, fields: Fields, number: int) -> tuple[Integers, Integers]:
    """Numbers of eight bytes, one by one or packed."""
    rows = fields.select(number)
    is_packed = fields.wire_type[rows] == LENGTH
    single = rows[~is_packed]
    messages, values = [fields.message[single]], [fields.value[single]]
    for row in rows[is_packed].tolist():
        start, size = int(fields.value[row]), int(fields.length[row]) // 8 * 8
        inside = packets.data[start : start + size].copy().view(np.int64)
        messages.append(np.full(len(inside), fields.message[row], np.int64))
        values.append(inside)
    return np.concatenate(messages), np.concatenate(values)


def _launches(
    packets: Packets, events: _TrackEvents, stages: dict[int, int]
) -> tuple[Integers, Integers]:
    """Calls that say which work of a GPU they launched: the event, and the row of the work."""
    owner, starts, ends = events.fields.submessages(n.GPU_CORRELATION)
    message, ids = split_messages(packets.data, starts, ends).packed(1)
    pairs = [
        (int(owner[at]), stages[work])
        for at, work in zip(message.tolist(), ids.tolist(), strict=True)
        if work in stages
    ]
    columns = np.array(pairs, np.int64).reshape(-1, 2)
    return columns[:, 0], columns[:, 1]


def _arrow_categories(
    rows: PacketEvents, at: Integers, ids: Integers, chain: Integers
) -> list[str]:
    """What each arrow is: as its number says, else a launch where an end launches or is work."""
    marked = np.zeros(len(at), np.int64)
    for bit in FLOW_KIND_BITS:
        marked = np.where((ids & bit) != 0, bit, marked)
    on_device = np.array([_is_launch(rows.category[row]) for row in at.tolist()], np.bool_)
    launches = np.zeros(int(chain[-1]) + 1, np.bool_)
    launches[chain[on_device]] = True
    return [
        FLOW_KIND_BITS[bit] if bit else LAUNCH if is_launch else OTHER
        for bit, is_launch in zip(marked.tolist(), launches[chain].tolist(), strict=True)
    ]


@lru_cache(maxsize=4096)
def _is_launch(category: str | None) -> bool:
    """Whether events of a category launch device work, or are such."""
    word = (category or "").lower()
    kinds = (vendors.HOST_CATEGORIES.get(word), vendors.DEVICE_CATEGORIES.get(word))
    return kinds[0] in ("runtime", "driver") or kinds[1] in BUSY_KINDS


# Samples of counters, and work of a GPU.


def _add_samples(events: _TrackEvents, tracks: TraceTracks, rows: PacketEvents) -> None:
    chosen = np.flatnonzero(events.type == n.COUNTER)
    if not len(chosen):
        return
    values = np.full(len(events), np.nan)
    for number in (n.COUNTER_VALUE, n.COUNTER_DOUBLE):
        at = events.fields.select(number)
        of = events.fields.message[at]
        is_real = number == n.COUNTER_DOUBLE
        values[of] = events.fields.doubles(at) if is_real else events.fields.value[at]
    values = values[chosen]
    track = events.track[chosen]
    names, places = [], []
    for number in np.unique(track).tolist():
        described = tracks.tracks.get(number)
        mask = track == number
        if described is not None:
            values[mask] *= described.unit
            if described.is_incremental:
                values[mask] = np.cumsum(values[mask])
    for number in track.tolist():
        described, place = tracks.tracks.get(number), tracks.place(number)
        names.append((described.name if described else None) or place.name or "counter")
        # Counters are of their process.
        places.append((place.pid, None))
    rows.add(
        "C",
        places,
        name=names,
        ts_ns=events.time_ns[chosen].tolist(),
        arguments=_values(values),
    )


def _values(values: Any) -> list[msgspec.Raw]:
    numbers = np.where(np.isfinite(values), values, 0.0).tolist()
    rows = [msgspec.Raw(b'{"value":' + repr(value).encode() + b"}") for value in numbers]
    for row in np.flatnonzero(~np.isfinite(values)).tolist():
        rows[row] = msgspec.Raw(b'{"value":null}')
    return rows


def _add_gpu_samples(packets: Packets, time_ns: Integers, rows: PacketEvents) -> None:
    """Counters of GPUs, whose names stand in a description of their own."""
    packet, fields = packets.of(n.GPU_COUNTERS)
    if not len(packet):
        return
    entries, interned, at = packets.interned(n.COUNTER_DESCRIPTORS)
    described = _counter_names(packets, interned, len(at))
    gpus = interned.numbers(3, len(at))
    entry = packets.look_up(
        entries, packet, fields.numbers(n.GPU_DESCRIPTOR_IID, len(packet))
    ).to_list()
    written = _counter_names(packets, fields, len(packet), n.GPU_DESCRIPTOR)
    gpu_written = fields.numbers(n.GPU_NUMBER, len(packet), -1).tolist()
    of, starts, ends = fields.submessages(n.GPU_SAMPLES)
    samples = split_messages(packets.data, starts, ends)
    count_broken(samples, "a sample", packets.health)
    ids = samples.numbers(1, len(of)).tolist()
    values = samples.numbers(2, len(of)).astype(np.float64)
    reals = samples.select(3)
    values[samples.message[reals]] = samples.doubles(reals)
    names: list[str | None] = []
    places: list[tuple[Lane, Lane | None]] = []
    is_read: dict[int, str] = {}
    for event, number in zip(of.tolist(), ids, strict=True):
        is_read |= written[event]
        place = entry[event]
        specs = is_read if place is None else described[place]
        gpu = gpu_written[event] if gpu_written[event] >= 0 or place is None else int(gpus[place])
        names.append(specs.get(number, f"counter {number}"))
        places.append((f"GPU {max(gpu, 0)} Counters", None))
    times = time_ns[packet[of]].tolist()
    rows.add("C", places, name=names, ts_ns=times, arguments=_values(values))


def _counter_names(
    packets: Packets, owners: Fields, count: int, number: int = 2
) -> list[dict[int, str]]:
    """Names of counters by their number, for each description."""
    owner, starts, ends = owners.submessages(number)
    descriptors = split_messages(packets.data, starts, ends)
    of, spec_starts, spec_ends = descriptors.submessages(1)
    specs = split_messages(packets.data, spec_starts, spec_ends)
    names: list[dict[int, str]] = [{} for _ in range(count)]
    ids, texts = specs.numbers(1, len(of)).tolist(), specs.text_of(2, len(of))
    for place, counter, text in zip(of.tolist(), ids, texts, strict=True):
        names[int(owner[place])][counter] = text or f"counter {counter}"
    return names


_STAGE_KINDS = (
    (regex("mem(?:ory)?[ _]?(?:cpy|copy)|copy|transfer", re.IGNORECASE), "memcpy"),
    (regex("mem(?:ory)?[ _]?set|fill", re.IGNORECASE), "memset"),
    (regex("sync|wait|event|barrier", re.IGNORECASE), "sync"),
    (regex("annotation|range|nvtx", re.IGNORECASE), "annotation"),
)


@lru_cache(maxsize=4096)
def _stage_category(sort: str) -> str:
    """The category of work by what its writer calls its sort."""
    kind = next((kind for mark, kind in _STAGE_KINDS if mark.search(sort)), "kernel")
    return DEVICE_CATEGORIES[kind]


@lru_cache(maxsize=4096)
def _stream_of(queue: str) -> Lane:
    """The number of a stream in the name of its queue, else the name."""
    digits = _NUMBER.search(queue)
    return int(digits[0]) if digits else queue


def _add_stages(packets: Packets, time_ns: Integers, rows: PacketEvents) -> dict[int, int]:
    """Work of GPUs; the row of each piece of work by its number."""
    packet, fields = packets.of(n.GPU_STAGE)
    count = len(packet)
    is_work = fields.has(n.STAGE_LENGTH, count)
    if not is_work.any():
        return {}
    specifications = packets.names(n.STAGES)

    def look_up(number: int, table: pl.DataFrame) -> list[str | None]:
        iids = fields.numbers(number, count)
        return packets.look_up(table, packet, iids).to_list()

    queues, sorts = look_up(n.STAGE_QUEUE, specifications), look_up(n.STAGE_SORT, specifications)
    kernels = look_up(n.STAGE_KERNEL, packets.names(n.KERNELS, n.DEMANGLED_NAME))
    plain = look_up(n.STAGE_KERNEL, packets.names(n.KERNELS))
    labels = look_up(n.STAGE_NAME_IID, packets.names(n.EVENT_NAMES))
    written = fields.text_of(n.STAGE_NAME, count)
    gpus = fields.numbers(n.STAGE_GPU, count).tolist()
    numbers = fields.numbers(n.STAGE_ID, count).tolist()
    queue_numbers = fields.numbers(n.STAGE_QUEUE, count).tolist()
    arguments = _stage_arguments(packets, packet, fields)
    chosen = np.flatnonzero(is_work).tolist()
    names: list[str | None] = []
    categories: list[str | None] = []
    places: list[tuple[Lane, Lane | None]] = []
    texts: list[msgspec.Raw] = []
    stages: dict[int, int] = {}
    encode = msgspec.json.Encoder().encode
    for row in chosen:
        sort = sorts[row] or ""
        queue = queues[row] or f"queue {queue_numbers[row]}"
        stages[numbers[row]] = len(rows) + len(names)
        kernel = kernels[row] or plain[row]
        names.append(kernel or labels[row] or written[row] or sort)
        categories.append(DEVICE_CATEGORIES["kernel"] if kernel else _stage_category(sort))
        places.append((gpus[row], queue))
        values = {"device": gpus[row], "stream": _stream_of(queue), **arguments[row]}
        texts.append(msgspec.Raw(encode(values)))
    rows.add(
        "X",
        places,
        category=categories,
        name=names,
        ts_ns=time_ns[packet[is_work]].tolist(),
        dur_ns=fields.numbers(n.STAGE_LENGTH, count)[is_work].tolist(),
        arguments=texts,
    )
    return stages


def _stage_arguments(packets: Packets, packet: Integers, fields: Fields) -> list[dict[str, Any]]:
    """What is said of each piece of work: its geometry, and values by their names."""
    arguments: list[dict[str, Any]] = [{} for _ in range(len(packet))]
    of, starts, ends = fields.submessages(n.STAGE_LAUNCH)
    launches = split_messages(packets.data, starts, ends)
    for number, key in ((n.GRID, "grid"), (n.BLOCK, "block")):
        launch, part_starts, part_ends = launches.submessages(number)
        axes = split_messages(packets.data, part_starts, part_ends)
        sizes = np.stack([axes.numbers(axis, len(launch), 1) for axis in (1, 2, 3)], axis=1)
        for place, size in zip(of[launch].tolist(), sizes.tolist(), strict=True):
            arguments[place][key] = size
    launch, part_starts, part_ends = launches.submessages(n.ARGUMENTS)
    values = split_messages(packets.data, part_starts, part_ends)
    iids = values.numbers(1, len(launch))
    table = packets.names(n.KERNEL_ARGUMENTS)
    interned = packets.look_up(table, packet[of[launch]], iids).to_list()
    written = values.text_of(2, len(launch))
    numbers = _argument_values(values, len(launch))
    for place, spelled, name, value in zip(
        of[launch].tolist(), written, interned, numbers, strict=True
    ):
        if (spelled or name) and value is not None:
            arguments[place][spelled or name or ""] = value
    of, starts, ends = fields.submessages(n.STAGE_EXTRA)
    extra = split_messages(packets.data, starts, ends)
    texts = zip(extra.text_of(1, len(of)), extra.text_of(2, len(of)), strict=True)
    for place, (label, text) in zip(of.tolist(), texts, strict=True):
        if label and text is not None:
            arguments[place][label] = _number_or_text(text)
    return arguments


def _argument_values(fields: Fields, count: int) -> list[Any]:
    """The value of each argument of a launch, of whatever sort."""
    values: list[Any] = list(fields.text_of(6, count))
    for number in (3, 4, 5):
        rows = fields.select(number)
        column = fields.doubles(rows) if number == 5 else fields.value[rows]
        for at, value in zip(fields.message[rows].tolist(), column.tolist(), strict=True):
            values[at] = value
    return values


@lru_cache(65536)
def _number_or_text(text: str) -> int | float | str:
    """A number where the text is one that is written as numbers are."""
    if text.removeprefix("-").isascii() and text.removeprefix("-").isdigit():
        return int(text) if len(text) < 19 else text
    try:
        return float(text) if text[:1].isdigit() and "_" not in text else text
    except ValueError:
        return text
