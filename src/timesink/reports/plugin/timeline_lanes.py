"""Slices that cross others of their lane, moved to lanes of their own.

Viewers show one slice of a lane inside another or beside it; of two that cross they drop one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import polars as pl

from timesink.model.trace import Trace
from timesink.readers.chrome.container import cut_pieces, split_end
from timesink.writers.chrome_json import Event
from timesink.writers.lanes import number_lanes

_CROSSING = "overlapping_slices"
_MOVABLE = frozenset({"X", "f"})


@dataclass(frozen=True)
class Moves:
    """Which events go to which lane, and what these lanes are called."""

    lanes: Mapping[int, str] = field(default_factory=dict)
    """The new lane of an event, by its position in the file."""
    tracks: Sequence[Event] = ()
    """Events that name the new lanes."""


def find_moves(trace: Trace) -> Moves:
    """Lanes for the slices that cross others, and for the ends of the arrows to them."""
    if all(entry.code != _CROSSING for entry in trace.health):
        return Moves()
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
    return Moves(dict(lanes.iter_rows()), list(_tracks(moved, trace)))


def moved_text(events: Iterable[bytes], moves: Moves, *, bare: bool) -> Iterator[bytes]:
    """The text of an event list and what follows it, with the moved events on their new lanes."""
    if not moves.lanes:
        yield from events
        return
    first = 0
    for piece in cut_pieces(events):
        parts = split_end(piece.text, bare=bare) if piece.last else None
        listed, rest = parts or (piece.text, b"")
        moved, count = _move(listed, first, moves.lanes)
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
    known = trace.tracks.select("pid", "tid", "sort_index")
    ordered = lanes.join(known, on=["pid", "tid"], how="left").sort("number", "lane")
    for row in ordered.cast({pl.Categorical: pl.String}).iter_rows(named=True):
        lane = {"ph": "M", "pid": _number(row["pid"]), "tid": row["lane"]}
        name = f"stream {row['stream'] or row['tid']} (overlap {row['number']})"
        yield {**lane, "name": "thread_name", "args": {"name": name}}
        if row["sort_index"] is not None:
            place = {"sort_index": row["sort_index"]}
            yield {**lane, "name": "thread_sort_index", "args": place}


def _number(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdigit() else text
