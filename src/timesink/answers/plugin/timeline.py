"""The trace file itself with counters of the devices' utilisation, as text in blocks.

A file that is valid JSON is passed through: what is added goes in front of its events, and only
slices that cross others on their lane are touched.  A damaged file, and one of another format, is
written anew from the tables.
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import polars as pl

from timesink.analyses.columns import memoize_per_trace
from timesink.analyses.device_utilisation import SM_EFFICIENCY, UTILISATION, utilisation_counters
from timesink.analyses.names import device_word
from timesink.answers.plugin.query import Query
from timesink.errors import UnreadableError
from timesink.formats.chrome.container import cut_pieces, split_end, split_head
from timesink.formats.chrome.writer import Event, as_number, number_lanes, write_chrome_json
from timesink.formats.source_file import Damage, SourceFile, open_source
from timesink.model.trace import Trace

# Utilisation over time as counter events of the Chrome format.


def counter_events(trace: Trace) -> Iterator[Event]:
    """The counters of every device, on the clock of the trace's file."""
    word = device_word(trace)
    quantities = {UTILISATION: f"{word} Utilization", SM_EFFICIENCY: "Est. SM Efficiency"}
    titles = {UTILISATION: "Utilization", SM_EFFICIENCY: "Est. SM Efficiency"}
    offset = trace.metadata.clock_offset_ns
    for ts_ns, device, counter, value in utilisation_counters(trace).iter_rows():
        yield {
            "ph": "C",
            "name": f"{word} {device} {titles[counter]}",
            "pid": device,
            "ts": _microseconds(ts_ns - offset),
            "args": {quantities[counter]: value},
        }


def _microseconds(ns: int) -> int | Decimal:
    """Exact: times since 1970 in microseconds with decimals do not fit a float."""
    quotient, rest = divmod(ns, 1000)
    return Decimal(ns).scaleb(-3) if rest else quotient


# Slices that cross others of their lane, moved to lanes of their own.
#
# Viewers show one slice of a lane inside another or beside it; of two that cross they drop one.

_CROSSING = "overlapping_slices"
_MOVABLE = frozenset({"X", "f"})


def find_moves(trace: Trace) -> tuple[dict[int, str], list[Event]]:
    """Lanes for the slices that cross others, and for the ends of the arrows to them.

    They are by the position of an event in the file; beside them are events that name the lanes.
    """
    if all(entry.code != _CROSSING for entry in trace.health):
        return {}, []
    columns = ("index", "pid", "tid", "stream", "ts_ns", "dur_ns", "correlation")
    device = trace.lazy("device").select(columns).collect()
    number = number_lanes(device)
    beside = pl.format("{} (overlap {})", pl.col("tid").cast(pl.String), pl.col("number"))
    moved = device.with_columns(number=number).filter(number > 0).with_columns(lane=beside)
    ends = trace.lazy("flows").filter(pl.col("phase") == "end").collect()
    at_slice = {"flow_id": "correlation", "pid": "pid", "tid": "tid", "ts_ns": "ts_ns"}
    targets = moved.select(*at_slice.values(), "lane").unique(list(at_slice.values()))
    arrows = ends.join(targets, left_on=list(at_slice), right_on=list(at_slice.values()))
    lanes = pl.concat([moved.select("index", "lane"), arrows.select("index", "lane")])
    return dict(lanes.iter_rows()), list(_tracks(moved, trace))


def moved_text(events: Iterable[bytes], lanes: Mapping[int, str], *, bare: bool) -> Iterator[bytes]:
    """The text of an event list and what follows it, with the moved events on their new lanes."""
    if not lanes:
        yield from events
        return
    first = 0
    for piece in cut_pieces(events):
        parts = split_end(piece.text, bare=bare) if piece.last else None
        listed, rest = parts or (piece.text, b"")
        moved, count = _move(listed, first, lanes)
        separator = b",\n" if piece.number else b""
        inside = moved[1:] if piece.last else moved[1:-1]
        yield separator + inside + rest
        first += count


def _move(listed: bytes, first: int, lanes: Mapping[int, str]) -> tuple[bytes, int]:
    """A list of events with those that move on their lanes, and how many events it holds."""
    try:
        events = msgspec.json.decode(listed, type=list[msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError):
        # Fields behind the events may be long enough for pieces of their own.
        return listed, 0
    places = [place for place in range(first, first + len(events)) if place in lanes]
    for place in places:
        events[place - first] = _on_lane(events[place - first], lanes[place])
    return (b"[" + b",\n".join(events) + b"]" if places else listed), len(events)


def _on_lane(event: msgspec.Raw, lane: str) -> msgspec.Raw:
    fields = msgspec.json.decode(event, type=dict[str, msgspec.Raw])
    if "tid" not in fields or msgspec.json.decode(fields.get("ph", b"null")) not in _MOVABLE:
        return event
    fields["tid"] = msgspec.Raw(msgspec.json.encode(lane))
    return msgspec.Raw(msgspec.json.encode(fields))


def _tracks(moved: pl.DataFrame, trace: Trace) -> Iterator[Event]:
    """Names of the new lanes, and their place beside the lanes they belong to."""
    lanes = moved.select("pid", "tid", "stream", "number", "lane").unique(["pid", "lane"])
    tracks = trace.tracks.select("pid", "tid", "sort_index")
    ordered = lanes.join(tracks, on=["pid", "tid"], how="left").sort("number", "lane")
    for row in ordered.cast({pl.Categorical: pl.String}).iter_rows(named=True):
        lane = {"ph": "M", "pid": as_number(row["pid"]), "tid": row["lane"]}
        name = f"stream {row['stream'] or row['tid']} (overlap {row['number']})"
        yield {**lane, "name": "thread_name", "args": {"name": name}}
        if row["sort_index"] is not None:
            place = {"sort_index": row["sort_index"]}
            yield {**lane, "name": "thread_sort_index", "args": place}


# The text of a Chrome-format file: whether it is JSON, and as proper UTF-8.

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def text_blocks(source: SourceFile, damage: Damage | None = None) -> Iterator[bytes]:
    """The content of a file; bytes that are not UTF-8 become replacement characters."""
    decoder = getincrementaldecoder("utf-8")("replace")
    for block in source.blocks(damage):
        inside_character, _ = decoder.getstate()
        plain = block.isascii() and not inside_character
        yield block if plain else decoder.decode(block).encode()
    yield decoder.decode(b"", final=True).encode()


def without_mark(head: bytes) -> bytes:
    r"""The start of a file without the byte order mark, which is no part of JSON."""
    return head.removeprefix(_BYTE_ORDER_MARK)


def is_valid_json(source: SourceFile) -> bool:
    """Whether the content is one JSON document with a list of events, looked at piece by piece.

    Readers mend more than they report: a comma too few or too many costs no event.
    """
    damage = Damage()
    parts = split_head(text_blocks(source, damage))
    if parts is None:
        return False
    head, bare, events = parts
    if not bare and not _is_json(without_mark(head) + b"]}"):
        return False
    for piece in cut_pieces(events):
        ending = split_end(piece.text, bare=bare) if piece.last else (piece.text, b"")
        if ending is None or not _is_json(ending[0]):
            return False
    return not damage


def _is_json(text: bytes) -> bool:
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True


_CHROME_FORMATS = ("kineto", "chrome")
_BATCH = 10_000
_BETWEEN = b",\n"

_encode = msgspec.json.Encoder(decimal_format="number").encode


def trace_view(trace: Trace, _query: Query) -> Iterator[bytes]:
    """The trace with utilisation counters in front of its events, as JSON text in blocks."""
    added = counter_events(trace)
    if _can_pass_through(trace):
        lanes, tracks = find_moves(trace)
        source = open_source(Path(trace.metadata.source))
        blocks = _with_events(source, chain(added, tracks), lanes)
    else:
        blocks = _written_anew(trace, added)
    # What cannot be opened or written shows before the first block is given out.
    return chain([next(blocks)], blocks)


@memoize_per_trace
def _can_pass_through(trace: Trace) -> bool:
    """Whether the file is JSON as it stands; health tells only of damage that cost something."""
    return (
        trace.metadata.format in _CHROME_FORMATS
        and Path(trace.metadata.source).is_file()
        and is_valid_json(open_source(Path(trace.metadata.source)))
    )


def _written_anew(trace: Trace, added: Iterable[Event]) -> Iterator[bytes]:
    with TemporaryDirectory(prefix="timesink-") as folder:
        file = Path(folder) / "trace.json.gz"
        write_chrome_json(trace, file)
        yield from _with_events(open_source(file), added, {})


def _with_events(
    source: SourceFile, added: Iterable[Event], lanes: Mapping[int, str]
) -> Iterator[bytes]:
    parts = split_head(text_blocks(source))
    if parts is None:
        raise UnreadableError.damaged(
            source.path, "its list of events is gone", "it changed after it was read; try again"
        )
    head, bare, events = parts
    waiting = iter(added)
    # Many at once.
    batches = iter(lambda: list(islice(waiting, _BATCH)), [])
    texts = (_BETWEEN.join(map(_encode, batch)) for batch in batches)
    first = next(texts, b"")
    yield without_mark(head) + first
    for text in texts:
        yield _BETWEEN + text
    # Blocks up to the first that is not white space.
    start = b""
    for block in events:
        start += block
        if start.strip():
            break
    if first and not start.lstrip().startswith(b"]"):
        yield _BETWEEN
    yield from moved_text(chain([start], events), lanes, bare=bare)
