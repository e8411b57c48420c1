"""The two clocks of a timeline, and the path that decides how long it takes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from timesink.analyses.replay.own_clock import own_clock
from timesink.analyses.timeline.overlays import recording_costs
from timesink.answers.plugin import Query
from timesink.answers.timeline import Place, Timeline, places_of
from timesink.answers.timeline.requests import MOST_ARROWS, asked_range
from timesink.model.arrays import Ints


def clock(timeline: Timeline, _query: Query) -> dict[str, Any]:
    """How long a cycle takes by itself, and what of the host's time was spent on recording."""
    costs = recording_costs(timeline.trace)
    return {
        **own_clock(timeline.trace).to_dict(),
        "recording_ns": int((costs.end - costs.start).sum()),
    }


def other_clock(timeline: Timeline, query: Query) -> dict[str, Any]:
    """Where a range is on the other clock: as far into the host call that began last before it."""
    here, there = timeline.layout, replace(timeline, own=not timeline.own).layout
    slices, others = here.lanes.slices, there.lanes.slices
    # What frames the recording began before anything, and tells nothing.
    of_host = np.flatnonzero((slices.id < here.host_rows) & (slices.start >= 0))
    found = []
    for moment in asked_range(query, timeline):
        before = of_host[slices.start[of_host] <= moment]
        if not len(before):
            found.append(moment)
            continue
        last = before[np.argmax(slices.start[before])]
        place = there.lanes.place[slices.id[last]]
        since, dur = moment - int(slices.start[last]), int(slices.dur[last])
        inside = int(min(since / max(dur, 1), 1.0) * others.dur[place])
        found.append(int(others.start[place]) + inside + max(since - dur, 0))
    return {"from_ns": found[0], "to_ns": max(found)}


def path(timeline: Timeline, query: Query) -> dict[str, Any]:
    """What led from one slice of the critical path to the next, in a range; as `flows`."""
    lanes, pieces = timeline.layout.lanes, timeline.overlay("path").pieces
    if pieces is None or not len(pieces):
        return {"total": 0, "from": [], "to": []}
    first, last = asked_range(query, timeline)
    number = pieces.row + np.where(pieces.of_device, timeline.layout.host_rows, 0)
    start, end = (one - timeline.layout.start_ns for one in (pieces.start, pieces.end))
    # From one row of a stream or thread to the same, time itself leads.
    head = np.flatnonzero(pieces.way[1:] > 0) + 1
    head = head[(lanes.place[number[head]] >= 0) & (lanes.place[number[head - 1]] >= 0)]
    tracks = (lanes.lanes_at(lanes.place[number[one]])[0] for one in (head - 1, head))
    head = head[np.not_equal(*tracks) & (end[head] >= first) & (start[head - 1] <= last)]
    most = min(len(head), MOST_ARROWS)
    chosen = head[np.linspace(0, len(head) - 1, most).round().astype(np.int64)]

    def places(which: Ints) -> list[Place]:
        found = places_of(timeline, number[which])
        spans = zip(start[which].tolist(), end[which].tolist(), strict=True)
        return [
            {**one, "from_ns": low, "dur_ns": high - low}
            for one, (low, high) in zip(found, spans, strict=True)
        ]

    return {"total": len(head), "from": places(chosen - 1), "to": places(chosen)}
