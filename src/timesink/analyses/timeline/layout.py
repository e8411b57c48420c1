"""The timeline of a recording: what a first picture needs, then all of it.

Laying out a large recording takes a while.  Tracks, lanes and steps come first: any window can be
drawn from them.  Levels, which make that quick, and arrows follow.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import pairwise

import numpy as np

from timesink.analyses.memory.curve import recording_start
from timesink.analyses.names import device_word
from timesink.analyses.steps import find_steps
from timesink.analyses.timeline.arrows import Arrows, find_arrows
from timesink.analyses.timeline.curves import (
    CurveLevel,
    Samples,
    coarser_curves,
    points_of,
    sampled,
)
from timesink.analyses.timeline.lanes import Lanes, lay_out
from timesink.analyses.timeline.levels import Level, coarser_levels
from timesink.analyses.timeline.slices import Side, device_side, host_side, within
from timesink.analyses.timeline.tracks import Naming, ranked
from timesink.model.arrays import Ints
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
    levels: tuple[Level, ...]
    """The slices themselves, then ever coarser ones."""
    curve_tracks: tuple[int, ...]
    """The track of each curve."""
    curves: tuple[CurveLevel, ...]
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
    samples = list(sampled(trace, naming))
    span = _span(trace, sides, samples)
    sides = [within(side, *span) for side in sides]
    tracks, ids = ranked(
        [
            *(track for side in sides for track in side.tracks),
            *(one.track for one in samples),
        ]
    )
    ends = np.cumsum([0, *(len(side.tracks) for side in sides)]).tolist()
    of_sides = [np.array(ids[first:last], dtype=np.int64) for first, last in pairwise(ends)]
    lanes = lay_out(sides, tracks, of_sides, span[0])
    start_ns = span[0]
    marked = find_steps(trace).filter("marked").select("name", "start_ns", "end_ns")
    return Layout(
        start_ns=span[0],
        length_ns=span[1] - span[0],
        host_rows=len(sides[0].start),
        steps=tuple(Step(name, a - start_ns, b - start_ns) for name, a, b in marked.iter_rows()),
        lanes=lanes,
        levels=(Level(0, lanes.slices),),
        curve_tracks=tuple(ids[ends[-1] :]),
        curves=(CurveLevel(0, points_of(samples, span[0])),),
    )


def whole_layout(trace: Trace, layout: Layout) -> WholeLayout:
    """All of the layout of a trace."""
    lanes, length = layout.lanes, layout.length_ns
    label = lanes.slices.label
    given = {field.name: getattr(layout, field.name) for field in fields(layout)}
    finest, samples = layout.levels[0], layout.curves[0]
    return WholeLayout(
        **given
        | {
            "levels": (finest, *coarser_levels(finest.pieces, length)),
            "curves": (samples, *coarser_curves(samples.points, length)),
        },
        arrows=find_arrows(trace, lanes, layout.host_rows),
        calls=np.bincount(label, minlength=len(lanes.names)),
        total_ns=np.bincount(label, lanes.slices.dur, len(lanes.names)).astype(np.int64),
    )


def _span(trace: Trace, sides: list[Side], samples: list[Samples]) -> tuple[int, int]:
    """From the start of the recording to the end of its last work; marks alone do not count."""
    start = recording_start(trace)
    works = [_ends_of_work(side) for side in sides]
    last = max((int(ends.max()) for ends in works if len(ends)), default=start)
    if last <= start and samples:
        start = min(int(one.ts_ns.min()) for one in samples)
        last = max(int(one.ts_ns.max()) for one in samples)
    return start, max(last, start + 1)


def _ends_of_work(side: Side) -> Ints:
    works = np.array([kind not in {"trace", "instant"} for _, kind in side.labels] or [False])
    chosen = np.flatnonzero(works[side.label])
    return np.asarray(side.start[chosen] + side.dur[chosen])
