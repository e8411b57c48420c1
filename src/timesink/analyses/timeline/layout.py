"""The timeline of a recording: what a first picture needs, then all of it.

Laying out a large recording takes a while.  Tracks, lanes and steps come first: any window can be
drawn from them.  Levels, which make that quick, and arrows follow.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import pairwise

import numpy as np

from timesink.analyses.memory_curve import recording_start
from timesink.analyses.names import device_word
from timesink.analyses.steps import find_steps
from timesink.analyses.timeline.arrows import Arrows, find_arrows
from timesink.analyses.timeline.lanes import Lanes, lay_out
from timesink.analyses.timeline.levels import (
    Level,
    MergedSlices,
    Points,
    coarser_levels,
    merge,
    points_of,
    sample_curves,
    thin,
)
from timesink.analyses.timeline.tracks import (
    Naming,
    device_side,
    host_side,
    rank_tracks,
    side_within,
)
from timesink.model.intervals import Ints
from timesink.model.trace import Trace


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the run, in ns since the start of the recording."""

    name: str
    from_ns: int
    to_ns: int


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """What a picture of the recording is drawn from."""

    start_ns: int
    length_ns: int
    host_rows: int
    """Ids below this are rows of `host`; the others, less this, rows of `device`."""
    steps: tuple[Step, ...]
    lanes: Lanes
    levels: tuple[Level[MergedSlices], ...]
    """The slices themselves, then ever coarser ones."""
    curve_tracks: tuple[int, ...]
    """The track of each curve."""
    curves: tuple[Level[Points], ...]
    """All samples, then ever fewer."""


@dataclass(frozen=True, slots=True, eq=False)
class WholeLayout(Layout):
    """With all levels, and with what else is asked about slices."""

    arrows: Arrows
    calls: Ints
    """How many slices each label has."""
    total_ns: Ints
    """How long the slices of each label take together."""


def layout_of(trace: Trace) -> Layout:
    """Lay out a trace; only the finest levels are there."""
    naming = Naming.of(trace, device_word(trace))
    sides = [host_side(trace, naming), device_side(trace, naming)]
    samples = list(sample_curves(trace, naming))
    # From the start of the recording to the end of its last work; marks alone do not count.
    start = recording_start(trace)
    last = start
    for side in sides:
        kinds = [kind not in {"trace", "instant"} for _, kind in side.labels]
        works = np.flatnonzero(np.array(kinds or [False])[side.label])
        last = int((side.start[works] + side.dur[works]).max(initial=last))
    if last <= start and samples:
        start = min(int(curve.ts_ns.min()) for curve in samples)
        last = max(int(curve.ts_ns.max()) for curve in samples)
    end = max(last, start + 1)
    sides = [side_within(side, start, end) for side in sides]
    drawn = [track for side in sides for track in side.tracks]
    tracks, ids = rank_tracks([*drawn, *(curve.track for curve in samples)])
    ends = np.cumsum([0, *(len(side.tracks) for side in sides)]).tolist()
    of_sides = [np.array(ids[first:last], dtype=np.int64) for first, last in pairwise(ends)]
    lanes = lay_out(sides, tracks, of_sides, start)
    marked = find_steps(trace).filter("marked").select("name", "start_ns", "end_ns")
    return Layout(
        start_ns=start,
        length_ns=end - start,
        host_rows=len(sides[0].start),
        steps=tuple(Step(name, a - start, b - start) for name, a, b in marked.iter_rows()),
        lanes=lanes,
        levels=(Level(0, lanes.slices),),
        curve_tracks=tuple(ids[ends[-1] :]),
        curves=(Level(0, points_of(samples, start)),),
    )


def whole_layout(trace: Trace, layout: Layout) -> WholeLayout:
    """All of the layout of a trace."""
    lanes, length = layout.lanes, layout.length_ns
    label = lanes.slices.label
    values = {field.name: getattr(layout, field.name) for field in fields(layout)}
    finest, samples = layout.levels[0], layout.curves[0]
    return WholeLayout(
        **values
        | {
            "levels": (finest, *coarser_levels(finest.pieces, merge, length)),
            "curves": (samples, *coarser_levels(samples.pieces, thin, length)),
        },
        arrows=find_arrows(trace, lanes, layout.host_rows),
        calls=np.bincount(label, minlength=len(lanes.names)),
        total_ns=np.bincount(label, lanes.slices.dur, len(lanes.names)).astype(np.int64),
    )
