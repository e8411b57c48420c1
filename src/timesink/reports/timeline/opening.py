"""Opening the timeline of a trace: as it was kept with the trace, or laid out and kept."""

from __future__ import annotations

from dataclasses import dataclass

from timesink.analyses.once import once_per_trace
from timesink.analyses.timeline.layout import Layout, layout_of
from timesink.model.trace import Trace
from timesink.reports.timeline.keeping import from_arrays, to_arrays
from timesink.store.answers import KeptAnswer
from timesink.store.arrays import array_blocks, arrays_in
from timesink.store.opening import kept_as

_WORTH_KEEPING = 50_000
"""Slices; fewer are laid out faster than anybody notices."""


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """A trace, and how it is drawn."""

    trace: Trace
    layout: Layout


def open_timeline(trace: Trace) -> Timeline:
    """The timeline of a trace; the second time it is there at once.

    >>> import timesink
    >>> timeline = open_timeline(timesink.open(timesink.sample()))
    >>> timeline.layout.lanes.tracks[0].name
    'thread 1525 (python3)'
    """
    return Timeline(trace, _layout(trace))


@once_per_trace
def _layout(trace: Trace) -> Layout:
    place = _place_for(trace)
    layout = None if place is None else _kept_at(place)
    if layout is not None:
        return layout
    layout = layout_of(trace)
    if place is None or len(layout.lanes.slices) < _WORTH_KEEPING:
        return layout
    arrays = to_arrays(layout)
    place.save_only(array_blocks(arrays.about, arrays.arrays))
    # What is mapped can leave memory again.
    return _kept_at(place) or layout


def _kept_at(place: KeptAnswer) -> Layout | None:
    content = place.map()
    kept = None if content is None else arrays_in(content)
    return None if kept is None else from_arrays(kept)


def _place_for(trace: Trace) -> KeptAnswer | None:
    kept = kept_as(trace)
    return None if kept is None else KeptAnswer.about(*kept, ["timeline"], sort="timeline")
