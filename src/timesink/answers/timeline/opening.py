"""The timeline of a trace, opened: laid out once, kept in the cache, with its overlays."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, fields
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from timesink.analyses.columns import memoize_per_trace, seed_memo
from timesink.analyses.replay.own_clock import own_timeline
from timesink.analyses.timeline.arrows import Arrows
from timesink.analyses.timeline.lanes import Lanes
from timesink.analyses.timeline.layout import Layout, Step, WholeLayout, layout_of, whole_layout
from timesink.analyses.timeline.levels import Level, MergedSlices, Points, as_points, single
from timesink.analyses.timeline.overlays import (
    PathPieces,
    path_levels,
    path_pieces,
    recording_costs,
    recording_levels,
)
from timesink.analyses.timeline.tracks import Track
from timesink.model.trace import Trace
from timesink.sources.kept_answers import Arrays, KeptAnswer, array_blocks, arrays_in
from timesink.sources.opening import kept_as

# How a trace is drawn, kept beside it: arrays that are mapped when it is opened again.

_Columns = TypeVar("_Columns", MergedSlices, Points, Arrows)
_SINGLE = ("first", "start", "dur", "label", "id")
"""What is kept of slices as they were recorded; the rest follows from it."""


def to_arrays(layout: WholeLayout) -> Arrays:
    """A layout as arrays and plain data."""
    lanes = layout.lanes
    about = {
        "start_ns": layout.start_ns,
        "length_ns": layout.length_ns,
        "host_rows": layout.host_rows,
        "steps": [asdict(step) for step in layout.steps],
        # The id of a track says where it stands.
        "tracks": [
            {name: value for name, value in asdict(track).items() if name != "order"}
            for track in lanes.tracks
        ],
        "names": [name.encode("utf-8", "replace").decode() for name in lanes.names],
        "kinds": list(lanes.kinds),
        "levels": [level.resolution for level in layout.levels],
        "curve_tracks": list(layout.curve_tracks),
        "curves": [level.resolution for level in layout.curves],
    }
    arrays = {
        "first_lane": lanes.first_lane,
        "place": lanes.place,
        "calls": layout.calls,
        "total_ns": layout.total_ns,
        **_prefix_arrays("arrows", layout.arrows),
        **{f"level0.{name}": getattr(lanes.slices, name) for name in _SINGLE},
    }
    for number, level in enumerate(layout.levels[1:], 1):
        arrays.update(_prefix_arrays(f"level{number}", level.pieces))
    points = layout.curves[0].pieces
    arrays |= {"curve0.first": points.first, "curve0.x": points.x, "curve0.value": points.low}
    for number, curve in enumerate(layout.curves[1:], 1):
        arrays.update(_prefix_arrays(f"curve{number}", curve.pieces))
    return Arrays(about, arrays)


def from_arrays(content: Arrays) -> WholeLayout:
    """The layout that was kept; its arrays are those given."""
    about, arrays = content.about, content.arrays
    slices = single(*(arrays[f"level0.{name}"] for name in _SINGLE))
    samples = as_points(*(arrays[f"curve0.{name}"] for name in ("first", "x", "value")))
    levels = [
        Level(resolution, _columns_from(MergedSlices, f"level{number}", arrays))
        for number, resolution in enumerate(about["levels"][1:], 1)
    ]
    curves = [
        Level(resolution, _columns_from(Points, f"curve{number}", arrays))
        for number, resolution in enumerate(about["curves"][1:], 1)
    ]
    return WholeLayout(
        start_ns=about["start_ns"],
        length_ns=about["length_ns"],
        host_rows=about["host_rows"],
        steps=tuple(Step(**step) for step in about["steps"]),
        lanes=Lanes(
            tracks=tuple(Track(**track) for track in about["tracks"]),
            first_lane=arrays["first_lane"],
            slices=slices,
            place=arrays["place"],
            names=about["names"],
            kinds=about["kinds"],
        ),
        levels=(Level(0, slices), *levels),
        curve_tracks=tuple(about["curve_tracks"]),
        curves=(Level(0, samples), *curves),
        arrows=_columns_from(Arrows, "arrows", arrays),
        calls=arrays["calls"],
        total_ns=arrays["total_ns"],
    )


def _prefix_arrays(prefix: str, columns: MergedSlices | Points | Arrows) -> dict[str, NDArray[Any]]:
    return {f"{prefix}.{field.name}": getattr(columns, field.name) for field in fields(columns)}


def _columns_from(
    sort: type[_Columns], prefix: str, arrays: Mapping[str, NDArray[Any]]
) -> _Columns:
    return sort(**{field.name: arrays[f"{prefix}.{field.name}"] for field in fields(sort)})


_WORTH_KEEPING = 50_000
"""Slices; fewer are laid out faster than anybody notices."""
_aside = ThreadPoolExecutor(max_workers=1, thread_name_prefix="timesink-timeline")
"""Lays out the rest of large recordings while their first picture is looked at."""


class Timeline(msgspec.Struct, frozen=True, eq=False):
    """A trace, and how it is drawn: at first what a picture needs, soon all of it."""

    trace: Trace
    """As recorded."""
    is_corrected: bool = False
    """Whether it is drawn as the program runs by itself, as far as that is known."""

    @property
    def drawn(self) -> Trace:
        """The trace with the times that are drawn."""
        return own_timeline(self.trace) if self.is_corrected else self.trace

    @property
    def layout(self) -> Layout:
        """What there is to draw from just now."""
        return _layout(self.drawn)

    @property
    def full_layout(self) -> WholeLayout:
        """All there is; waits for it."""
        return _layout_future(self.drawn).result()

    def finish(self) -> None:
        """Begin to lay out the rest; waits for nothing."""
        _layout_future(self.drawn)

    def overlay(self, name: str) -> Overlay:
        """One of `OVERLAYS`; the first time that takes a while."""
        return _overlay(self.trace, is_corrected=self.is_corrected, name=name)


OVERLAYS = ("recording", "path")


class Overlay(msgspec.Struct, frozen=True, eq=False):
    """Parts of slices that are drawn over them."""

    levels: tuple[Level[MergedSlices], ...]
    pieces: PathPieces | None = None
    """Of a path: in order."""


@memoize_per_trace
def _overlay(trace: Trace, *, is_corrected: bool, name: str) -> Overlay:
    layout = Timeline(trace, is_corrected).layout
    if name == "path":
        pieces = path_pieces(trace, by_itself=is_corrected)
        return Overlay(path_levels(layout, pieces), pieces)
    # By itself the program records nothing.
    costs = recording_costs(trace)
    costs = costs.first(0) if is_corrected else costs
    return Overlay(recording_levels(layout, costs))


def open_timeline(trace: Trace, *, is_corrected: bool = False) -> Timeline:
    """The timeline of a trace; the second time it is there at once."""
    timeline = Timeline(trace, is_corrected)
    if len(timeline.layout.lanes.slices) < _WORTH_KEEPING:
        timeline.finish()
    return timeline


@memoize_per_trace
def _layout(trace: Trace) -> Layout:
    place = _place_for(trace)
    layout = None if place is None else _kept_at(place)
    return layout or layout_of(trace)


@memoize_per_trace
def _layout_future(trace: Trace) -> Future[WholeLayout]:
    layout = _layout(trace)
    if len(layout.lanes.slices) >= _WORTH_KEEPING and not isinstance(layout, WholeLayout):
        return _aside.submit(_finish, trace, layout)
    if not isinstance(layout, WholeLayout):
        layout = _drawn_from(trace, whole_layout(trace, layout))
    future: Future[WholeLayout] = Future()
    future.set_result(layout)
    return future


def _finish(trace: Trace, layout: Layout) -> WholeLayout:
    """Lay out the rest, and keep all of it."""
    full_layout, place = whole_layout(trace, layout), _place_for(trace)
    if place is not None:
        arrays = to_arrays(full_layout)
        place.save_only(array_blocks(arrays.about, arrays.arrays))
        # What is mapped can leave memory again.
        full_layout = _kept_at(place) or full_layout
    return _drawn_from(trace, full_layout)


def _drawn_from(trace: Trace, full_layout: WholeLayout) -> WholeLayout:
    """From now on pictures of the trace are drawn from all there is."""
    layout: Layout = full_layout
    seed_memo(trace, _layout, layout)
    return full_layout


def _kept_at(place: KeptAnswer) -> WholeLayout | None:
    content = place.map()
    arrays = None if content is None else arrays_in(content)
    return None if arrays is None else from_arrays(arrays)


def _place_for(trace: Trace) -> KeptAnswer | None:
    store_key = kept_as(trace)
    return (
        None if store_key is None else KeptAnswer.about(*store_key, ["timeline"], sort="timeline")
    )


Place = dict[str, Any]


def place_of(timeline: Timeline, slice_id: int) -> Place:
    """A slice: where it is drawn, when it was and what it is called."""
    return places_of(timeline, np.array([slice_id]))[0]


def places_of(timeline: Timeline, ids: NDArray[np.integer[Any]]) -> list[Place]:
    """Many slices at once."""
    lanes = timeline.layout.lanes
    where = lanes.place[ids]
    track, row = lanes.lanes_at(where)
    columns = {
        "id": ids.tolist(),
        "track": track.tolist(),
        "row": row.tolist(),
        "from_ns": lanes.slices.start[where].tolist(),
        "dur_ns": lanes.slices.dur[where].tolist(),
        "name": [lanes.names[label] for label in lanes.slices.label[where].tolist()],
    }
    return [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]


_MAX_PIXELS, _USUAL_PIXELS = 8192, 1920
