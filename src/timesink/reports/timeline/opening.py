"""Opening the timeline of a trace: as it was kept with the trace, or laid out and kept."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from timesink.analyses.once import once_per_trace, remember
from timesink.analyses.timeline.layout import Layout, WholeLayout, layout_of, whole_layout
from timesink.model.trace import Trace
from timesink.reports.timeline.keeping import from_arrays, to_arrays
from timesink.store.answers import KeptAnswer
from timesink.store.arrays import array_blocks, arrays_in
from timesink.store.opening import kept_as

_WORTH_KEEPING = 50_000
"""Slices; fewer are laid out faster than anybody notices."""
_aside = ThreadPoolExecutor(max_workers=1, thread_name_prefix="timesink-timeline")
"""Lays out the rest of large recordings while their first picture is looked at."""


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """A trace, and how it is drawn: at first what a picture needs, soon all of it."""

    trace: Trace

    @property
    def layout(self) -> Layout:
        """What there is to draw from just now."""
        return _layout(self.trace)

    @property
    def whole(self) -> WholeLayout:
        """All there is; waits for it."""
        return _whole(self.trace).result()

    def finish(self) -> None:
        """Begin to lay out the rest; waits for nothing."""
        _whole(self.trace)


def open_timeline(trace: Trace) -> Timeline:
    """The timeline of a trace; the second time it is there at once."""
    timeline = Timeline(trace)
    if len(timeline.layout.lanes.slices) < _WORTH_KEEPING:
        timeline.finish()
    return timeline


@once_per_trace
def _layout(trace: Trace) -> Layout:
    place = _place_for(trace)
    kept = None if place is None else _kept_at(place)
    return kept or layout_of(trace)


@once_per_trace
def _whole(trace: Trace) -> Future[WholeLayout]:
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
    whole, place = whole_layout(trace, layout), _place_for(trace)
    if place is not None:
        arrays = to_arrays(whole)
        place.save_only(array_blocks(arrays.about, arrays.arrays))
        # What is mapped can leave memory again.
        whole = _kept_at(place) or whole
    return _drawn_from(trace, whole)


def _drawn_from(trace: Trace, whole: WholeLayout) -> WholeLayout:
    """From now on pictures of the trace are drawn from all there is."""
    layout: Layout = whole
    remember(trace, _layout, layout)
    return whole


def _kept_at(place: KeptAnswer) -> WholeLayout | None:
    content = place.map()
    kept = None if content is None else arrays_in(content)
    return None if kept is None else from_arrays(kept)


def _place_for(trace: Trace) -> KeptAnswer | None:
    kept = kept_as(trace)
    return None if kept is None else KeptAnswer.about(*kept, ["timeline"], sort="timeline")
