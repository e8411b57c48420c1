"""What the trace view asks for: tracks, slices and curves of a window, arrows, ranges."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, TypeAlias

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.names import short_kernel_name
from timesink.analyses.timeline.lanes import Lanes
from timesink.analyses.timeline.levels import (
    Level,
    MergedSlices,
    joined_ranges,
    own_time,
    stretches,
    visible,
    visible_points,
)
from timesink.analyses.timeline.tracks import ANNOTATION, HOST
from timesink.answers.plugin.query import Query
from timesink.answers.timeline.opening import OVERLAYS, Place, Timeline, place_of, places_of
from timesink.answers.timeline.requests import (
    asked_pixels,
    asked_range,
    asked_slice,
    asked_tracks,
    clock,
    evenly_chosen,
    other_clock,
    pack_arrays,
    path,
)
from timesink.answers.views import listed_table
from timesink.formats.chrome import writer as names
from timesink.formats.chrome.writer import json_texts
from timesink.model.intervals import Flags, Ints
from timesink.model.trace import Trace
from timesink.model.units import brief_ns, size_bytes
from timesink.output.blocks import Sort, Table

_NAME_LENGTH = 160
_OF_TRACK = ("id", "kind", "group", "name", "rows", "events", "unit", "lowest", "highest")


def tracks(timeline: Timeline, _query: Query) -> dict[str, Any]:
    """The tracks of a recording and its steps."""
    layout = timeline.layout
    return {
        "start_ns": str(layout.start_ns),
        "length_ns": layout.length_ns,
        "events": len(layout.lanes.slices),
        "tracks": [
            {name: getattr(track, name) for name in _OF_TRACK} for track in layout.lanes.tracks
        ],
        "steps": [asdict(step) for step in layout.steps],
    }


def slices(timeline: Timeline, query: Query) -> bytes:
    """The slices of a window, merged below a pixel, as arrays."""
    answer = _window(timeline, query, timeline.layout.levels)
    # The first picture is there: time to make the next ones quick.
    timeline.finish()
    return answer


def overlay(timeline: Timeline, query: Query) -> bytes:
    """Parts of slices that are drawn over them in a window, as slices are told."""
    name = query.choice("of", *OVERLAYS) or OVERLAYS[0]
    return _window(timeline, query, timeline.overlay(name).levels)


def _window(timeline: Timeline, query: Query, levels: Sequence[Level[MergedSlices]]) -> bytes:
    lanes = timeline.layout.lanes
    first, last = asked_range(query, timeline)
    lane_ids = lanes.lanes_of(asked_tracks(query, timeline, curves=False))
    window = visible(levels, lane_ids, first, last, pixels=asked_pixels(query))
    pieces = window.pieces
    lane = np.repeat(lane_ids, np.diff(pieces.first))
    track = np.searchsorted(lanes.first_lane, lane, side="right") - 1
    codes = [code for code in np.unique(pieces.label).tolist() if code < len(lanes.names)]
    head = {
        "slices": len(pieces),
        "names": {str(code): lanes.names[code][:_NAME_LENGTH] for code in codes},
        "short": {
            str(code): short[:_NAME_LENGTH]
            for code in codes
            if lanes.kinds[code] in _KERNELS
            and (short := short_kernel_name(lanes.names[code])) != lanes.names[code]
        },
        "resolution_ns": window.resolution,
    }
    arrays: dict[str, NDArray[Any]] = {
        "track": track.astype(np.uint16),
        "row": (lane - lanes.first_lane[track]).astype(np.uint16),
        "start": pieces.start.astype(np.float64),
        "dur": pieces.dur.astype(np.float64),
        "name": pieces.label,
        "count": pieces.count,
        "busy": pieces.busy.astype(np.float64),
        "id": pieces.id,
    }
    return pack_arrays(head, arrays)


def counters(timeline: Timeline, query: Query) -> dict[str, Any]:
    """The curves of a window, about a point per pixel."""
    layout = timeline.layout
    first, last = asked_range(query, timeline)
    pixels = asked_pixels(query)
    wanted = asked_tracks(query, timeline, curves=True)
    curve_of = {track: curve for curve, track in enumerate(layout.curve_tracks)}
    tracks = []
    for track in wanted:
        points = visible_points(layout.curves, curve_of[track], first, last, pixels=pixels)
        tracks.append(
            {
                "track": track,
                **{of: getattr(points, of).tolist() for of in ("x", "low", "mean", "high")},
            }
        )
    return {"tracks": tracks}


def flows(timeline: Timeline, query: Query) -> dict[str, Any]:
    """Arrows that start or end in a range, evenly chosen where they are too many."""
    lanes, arrows = timeline.layout.lanes, timeline.full_layout.arrows
    arrow_ids = arrows.between(*asked_range(query, timeline))
    is_selected = np.zeros(len(lanes.tracks), dtype=np.bool_)
    is_selected[asked_tracks(query, timeline, curves=False)] = True
    if not is_selected.all():
        for ends in (arrows.tail, arrows.head):
            track, _ = lanes.lanes_at(lanes.place[ends[arrow_ids]])
            arrow_ids = arrow_ids[is_selected[track]]
    chosen = evenly_chosen(arrow_ids)
    return {
        "total": len(arrow_ids),
        "from": places_of(timeline, arrows.tail[chosen]),
        "to": places_of(timeline, arrows.head[chosen]),
    }


MAX_HITS = 1000
MAX_FOUND = 200


def search(timeline: Timeline, query: Query) -> dict[str, Any]:
    """Slices whose name holds a text, whatever its case; hits are those that start in the range."""
    lanes = timeline.layout.lanes
    wanted = query.text("q").strip().lower()
    matches = np.array([wanted in name.lower() for name in lanes.names] or [False])
    if not wanted or not matches.any():
        return {"total": 0, "names": [], "hits": []}
    labels = np.flatnonzero(matches)
    # Ids of the slices that match and start in the range, the earliest.
    slices = timeline.layout.lanes.slices
    first, last = asked_range(query, timeline)
    places = np.flatnonzero(matches[slices.label])
    start = slices.start[places]
    if "from" in query.params or "to" in query.params:
        inside = np.flatnonzero((start >= first) & (start <= last))
        places, start = places[inside], start[inside]
    if len(places) > MAX_HITS:
        earliest = np.argpartition(start, MAX_HITS - 1)[:MAX_HITS]
        places, start = places[earliest], start[earliest]
    return {
        "total": int(timeline.full_layout.calls[labels].sum()),
        "names": _names(timeline, labels.tolist()),
        "hits": places_of(timeline, slices.id[places[np.argsort(start, kind="stable")]]),
    }


def _names(timeline: Timeline, labels: list[int]) -> list[dict[str, Any]]:
    """The names that match, those that take most time first; kinds of one name are one."""
    layout = timeline.full_layout
    entries: dict[str, dict[str, Any]] = {}
    for label in labels:
        name = layout.lanes.names[label]
        entry = entries.setdefault(name, {"name": name, "count": 0, "total_ns": 0})
        entry["count"] += int(layout.calls[label])
        entry["total_ns"] += int(layout.total_ns[label])
    return sorted(entries.values(), key=lambda entry: -entry["total_ns"])[:MAX_FOUND]


# Arguments of one event as text, under the names they were recorded by.

_BYTES = ("bytes", "shared_memory_bytes")


def facts_of(timeline: Timeline, slice_id: int) -> Iterator[tuple[str, str]]:
    """Label and value of everything recorded with an event."""
    hosts = timeline.layout.host_rows
    table, place = ("host", slice_id) if slice_id < hosts else ("device", slice_id - hosts)
    row = _row(timeline.trace.lazy(table).slice(place, 1))
    if row["category"]:
        yield "category", row["category"]
    if table == "host":
        yield from _label_values(row, names.HOST_JSON_ARGUMENTS)
        yield from _label_values(row, names.HOST_ARGUMENTS)
    else:
        if row["stream"] is not None:
            yield "stream", row["stream"]
        for shape in ("grid", "block"):
            if row[f"{shape}_x"] is not None:
                yield shape, ", ".join(str(row[f"{shape}_{axis}"]) for axis in "xyz")
        if row["copy_direction"] is not None:
            yield "direction", row["copy_direction"]
        yield from _label_values(row, names.DEVICE_ARGUMENTS)
    of_event = pl.col("index") == row["index"]
    collective = timeline.trace.lazy("collectives").filter(of_event).head(1)
    yield from _label_values(_row(collective), names.COLLECTIVE_ARGUMENTS)
    rare = timeline.trace.lazy("event_args").filter(of_event)
    yield from rare.select(pl.col("key").cast(pl.String), "value").collect().iter_rows()


def _label_values(row: dict[str, Any], labels: dict[str, str]) -> Iterator[tuple[str, str]]:
    for key, label in labels.items():
        value = row.get(key)
        if value is not None:
            plain = f"{value:g}" if isinstance(value, float) else str(value)
            yield label, size_bytes(value) if key in _BYTES else plain


def _row(frame: pl.LazyFrame) -> dict[str, Any]:
    """The only row of a frame; nothing where it has none."""
    plain = frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String)).collect()
    return next(plain.iter_rows(named=True), {})


_MAX_FLOWS = 100
_PAGES = {"operator": "operators", "module": "modules"}
_KERNELS = ("kernel", "collective", "memcpy", "memset")


def details(timeline: Timeline, query: Query) -> dict[str, Any]:
    """A slice with its arguments, what is around it, and where its arrows lead."""
    number = asked_slice(query, timeline)
    lanes = timeline.layout.lanes
    place = place_of(timeline, number)
    kind = kind_of(lanes, number)
    is_host = number < timeline.layout.host_rows
    around = _around(timeline, place)
    flows: list[dict[str, Any]] = [
        {"kind": what, "direction": direction, "place": place_of(timeline, other)}
        for what, direction, other in timeline.full_layout.arrows.at(number)
    ]
    callers = around
    if not is_host:
        # What was going on where the work was launched, the outermost first.
        launches = [flow["place"] for flow in flows if flow["direction"] == "from"]
        callers = _around(timeline, launches[0]) if launches else []
    return {
        **place,
        "self_ns": _self_ns(lanes, place) if is_host else place["dur_ns"],
        "kind": kind,
        "facts": [*_about(timeline, place, kind, callers), *facts_of(timeline, number)],
        "around": around,
        "flows": flows[:_MAX_FLOWS],
        "links": list(_links(lanes, place, kind, callers)),
    }


def kind_of(lanes: Lanes, slice_id: int) -> str:
    return lanes.kinds[int(lanes.slices.label[lanes.place[slice_id]])]


def _around(timeline: Timeline, place: Place) -> list[Place]:
    """Slices of the same track that hold this one, the outermost first."""
    lanes = timeline.layout.lanes
    if lanes.tracks[place["track"]].kind != HOST:
        return []
    first = int(lanes.first_lane[place["track"]])
    end = place["from_ns"] + place["dur_ns"]
    slice_ids: list[int] = []
    above = np.arange(first, first + place["row"])
    for low, high in stretches(lanes.slices, above, place["from_ns"], place["from_ns"] + 1):
        places = np.arange(low, high)
        holds = lanes.slices.start[places] + lanes.slices.dur[places] >= end
        slice_ids.extend(lanes.slices.id[places[holds]].tolist())
    return places_of(timeline, np.array(slice_ids, dtype=np.int64))


def _self_ns(lanes: Lanes, place: Place) -> int:
    """Time not in the slices on the row below."""
    track, begin = place["track"], place["from_ns"]
    below = int(lanes.first_lane[track]) + place["row"] + 1
    if below >= int(lanes.first_lane[track + 1]):
        return int(place["dur_ns"])
    end = begin + place["dur_ns"]
    [(low, high)] = stretches(lanes.slices, np.array([below]), begin, end)
    start = lanes.slices.start[low:high]
    inside = np.minimum(start + lanes.slices.dur[low:high], end) - np.maximum(start, begin)
    return int(place["dur_ns"] - inside.sum())


def _about(
    timeline: Timeline, place: Place, kind: str, callers: list[Place]
) -> Iterator[tuple[str, str]]:
    lanes = timeline.layout.lanes
    track = lanes.tracks[place["track"]]
    yield "where", f"{track.group}, {track.name}"
    parts = ("module",) if kind == "operator" else ("operator", "module")
    for part in parts:
        inner = [caller["name"] for caller in callers if kind_of(lanes, caller["id"]) == part]
        if inner:
            yield part, inner[-1]


def _links(lanes: Lanes, place: Place, kind: str, callers: list[Place]) -> Iterator[dict[str, str]]:
    """Pages that say more: of the slice itself, and of what it is part of."""
    if kind in _KERNELS and lanes.tracks[place["track"]].kind != HOST:
        yield {"label": place["name"], "page": "kernels", "search": place["name"]}
    chain = [*callers, place]
    for wanted, page in _PAGES.items():
        names = [item["name"] for item in chain if kind_of(lanes, item["id"]) == wanted]
        if names:
            yield {"label": names[-1], "page": page, "search": names[-1]}


MAX_NAMES = 1000


class Aggregate(msgspec.Struct, frozen=True, eq=False):
    """Names in a range by the time they take there, the most first."""

    from_ns: int
    to_ns: int
    names: int
    """How many there are; the table holds at most `MAX_NAMES`."""
    table: pl.DataFrame
    """`name`, `kind`, `calls`, `self_ns`, `total_ns`, `share_pct`, `mean_ns`, `longest_ns`."""


def aggregate(timeline: Timeline, query: Query) -> Aggregate:
    """Slices of a range by name, cut at its edges; calls around all of it are not part of it.

    A call inside one of its name counts once.  Shares are of the time on all tracks a name is on,
    without what it called: work that fills two streams has 100 %.
    """
    lanes = timeline.layout.lanes
    first, last = asked_range(query, timeline)
    slices, labels = lanes.slices, len(lanes.names)
    all_calls, longest, tracks = np.zeros((3, labels), dtype=np.int64)
    all_self, all_total, added_up = np.zeros((3, labels))
    for track in asked_tracks(query, timeline, curves=False):
        place = joined_ranges(stretches(slices, lanes.lanes_of([track]), first, last))
        place = place[~_is_enclosing(lanes, track, place, first, last)]
        label, start = slices.label[place], np.maximum(slices.start[place], first)
        end = np.minimum(slices.start[place] + slices.dur[place], last)
        inside = self_ns = once = end - start
        if lanes.tracks[track].kind == ANNOTATION:
            self_ns = np.zeros_like(inside)
        elif lanes.tracks[track].kind == HOST and len(place):
            self_ns, once = own_time(lanes.lanes_at(place)[1], start, end, label.astype(np.int64))
        here = np.bincount(label)
        all_calls[: len(here)] += here
        for sums, spent in ((all_self, self_ns), (all_total, once), (added_up, inside)):
            sums[: len(here)] += np.bincount(label, spent)
        tracks[: len(here)] += here > 0
        np.maximum.at(longest, label, inside)
    # What frames the recording is in every range, and says nothing about any.
    tells = np.array([kind != "trace" for kind in lanes.kinds], dtype=np.bool_)
    name_codes = np.flatnonzero((all_calls > 0) & tells)
    name_codes = name_codes[np.lexsort((-all_total[name_codes], -all_self[name_codes]))]
    chosen = name_codes[:MAX_NAMES]
    calls, self_ns = all_calls[chosen], all_self[chosen]
    table = pl.DataFrame(
        {
            "name": [lanes.names[code] for code in chosen.tolist()],
            "kind": [lanes.kinds[code] for code in chosen.tolist()],
            "calls": calls,
            "self_ns": self_ns.astype(np.int64),
            "total_ns": all_total[chosen].astype(np.int64),
            "share_pct": 100 * self_ns / (max(last - first, 1) * tracks[chosen]),
            "mean_ns": added_up[chosen] / calls,
            "longest_ns": longest[chosen],
        },
        schema_overrides={"name": pl.String, "kind": pl.String},
    )
    return Aggregate(first, last, len(name_codes), table)


def _is_enclosing(lanes: Lanes, track: int, place: Ints, first: int, last: int) -> Flags:
    """Which slices only frame a range: they hold all of it, and something happens inside them."""
    start = lanes.slices.start[place]
    around = (start <= first) & (start + lanes.slices.dur[place] >= last)
    kind = lanes.tracks[track].kind
    if kind not in (HOST, ANNOTATION) or not around.any():
        return np.zeros(len(place), dtype=np.bool_)
    if kind == HOST and around.all():
        # A range within one call is about that call.
        around[np.argmax(place)] = False
    return np.asarray(around)


# A trace, or a range of it, as a file that other viewers open.

_SLICES = ("host", "device")
_MOMENTS = ("memory", "flows")
_ARGUMENTS = ("collectives", "event_args")


def export(timeline: Timeline, query: Query) -> Iterator[bytes]:
    """Chrome-format JSON, text by text; of a range everything that overlaps it."""
    trace = timeline.drawn
    if "from" in query.params or "to" in query.params:
        start = timeline.layout.start_ns
        first, last = asked_range(query, timeline)
        trace = between(trace, start + first, start + last)
    return json_texts(trace)


def between(trace: Trace, start_ns: int, end_ns: int) -> Trace:
    """The events of a trace that overlap a range, with all their arguments."""
    ts, end = pl.col("ts_ns"), pl.col("ts_ns") + pl.col("dur_ns")
    inside = ts.is_between(start_ns, end_ns)
    frames = {
        **{
            name: trace.lazy(name).filter((ts <= end_ns) & (end >= start_ns)).collect().lazy()
            for name in _SLICES
        },
        **{name: trace.lazy(name).filter(inside) for name in _MOMENTS},
    }
    index_frame = pl.concat([frames[name].select("index") for name in _SLICES])
    for name in _ARGUMENTS:
        frames[name] = trace.lazy(name).join(index_frame, on="index", how="semi")
    of_slices = trace.lazy("counters").join(index_frame, on="index", how="semi")
    sampled = trace.lazy("counters").filter(inside & (pl.col("source") != "profiler_range"))
    of_slices = of_slices.filter(pl.col("source") == "profiler_range")
    frames["counters"] = pl.concat([sampled, of_slices])
    return replace(trace, frames={**trace.frames, **frames})


def aggregate_block(aggregate: Aggregate) -> Table:
    """The names in a range by the time they take, as a table."""
    title = f"Selected: {brief_ns(aggregate.to_ns - aggregate.from_ns)}"
    return listed_table(
        "range", "range", title, aggregate.table, total_rows=aggregate.names, sort=Sort("self_ns")
    )


TimelineAnswer: TypeAlias = Callable[[Timeline, Query], Any]

ROUTES: Mapping[str, TimelineAnswer] = {
    "tracks": tracks,
    "slices": slices,
    "overlay": overlay,
    "clock": clock,
    "other_clock": other_clock,
    "path": path,
    "counters": counters,
    "slice": details,
    "flows": flows,
    "aggregate": aggregate,
    "search": search,
}
"""Values JSON can hold, but `bytes` for slices and an `Aggregate` for the table of a range."""
