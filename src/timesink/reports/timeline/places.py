"""Slices as answers name them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesink.reports.timeline.opening import Timeline

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
