"""How a trace is drawn, kept beside it: arrays that are mapped when it is opened again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, TypeVar

from numpy.typing import NDArray

from timesink.analyses.timeline.arrows import Arrows
from timesink.analyses.timeline.curves import CurveLevel, Points, as_points
from timesink.analyses.timeline.lanes import Lanes
from timesink.analyses.timeline.layout import Step, WholeLayout
from timesink.analyses.timeline.levels import Level, Pieces, single
from timesink.analyses.timeline.tracks import Track
from timesink.store.arrays import Arrays

_Columns = TypeVar("_Columns", Pieces, Points, Arrows)
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
        **_prefixed("arrows", layout.arrows),
        **{f"level0.{name}": getattr(lanes.slices, name) for name in _SINGLE},
    }
    for number, level in enumerate(layout.levels[1:], 1):
        arrays.update(_prefixed(f"level{number}", level.pieces))
    points = layout.curves[0].points
    arrays |= {"curve0.first": points.first, "curve0.x": points.x, "curve0.value": points.low}
    for number, curve in enumerate(layout.curves[1:], 1):
        arrays.update(_prefixed(f"curve{number}", curve.points))
    return Arrays(about, arrays)


def from_arrays(kept: Arrays) -> WholeLayout:
    """The layout that was kept; its arrays are those given."""
    about, arrays = kept.about, kept.arrays
    slices = single(*(arrays[f"level0.{name}"] for name in _SINGLE))
    samples = as_points(*(arrays[f"curve0.{name}"] for name in ("first", "x", "value")))
    levels = [
        Level(resolution, _gathered(Pieces, f"level{number}", arrays))
        for number, resolution in enumerate(about["levels"][1:], 1)
    ]
    curves = [
        CurveLevel(resolution, _gathered(Points, f"curve{number}", arrays))
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
        curves=(CurveLevel(0, samples), *curves),
        arrows=_gathered(Arrows, "arrows", arrays),
        calls=arrays["calls"],
        total_ns=arrays["total_ns"],
    )


def _prefixed(prefix: str, columns: Pieces | Points | Arrows) -> dict[str, NDArray[Any]]:
    return {f"{prefix}.{field.name}": getattr(columns, field.name) for field in fields(columns)}


def _gathered(sort: type[_Columns], prefix: str, arrays: Mapping[str, NDArray[Any]]) -> _Columns:
    return sort(**{field.name: arrays[f"{prefix}.{field.name}"] for field in fields(sort)})
