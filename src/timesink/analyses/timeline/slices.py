"""Everything with a start and a length, host and device alike, as plain arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.columns import (
    device_columns,
    device_names,
    host_columns,
    host_lanes,
    host_names,
)
from timesink.analyses.names import is_collective_kernel
from timesink.analyses.texts import Codes, Texts, encode
from timesink.analyses.timeline.tracks import (
    ANNOTATION,
    COMMUNICATION,
    DEVICE,
    HOST,
    Naming,
    Track,
)
from timesink.model.arrays import Flags, Ints
from timesink.model.schema import DEVICE_KINDS, HOST_KINDS
from timesink.model.trace import Trace

_FRAMING = ("trace", "instant")
"""Host kinds that frame or mark a recording."""
_AIDING = ("memcpy", "memset", "sync")
"""Device kinds that compute nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """The events of the host or of the devices; arrays have one entry per row of the table."""

    start: Ints
    """On the clock of the trace."""
    dur: Ints
    label: Ints
    """Place in `labels`."""
    labels: Sequence[tuple[str, str]]
    """Names with the kinds of what is called so."""
    track: Codes
    """Place in `tracks`; -1 for what is left out."""
    tracks: Sequence[Track]


def host_side(trace: Trace, naming: Naming) -> Side:
    """Host calls on their threads."""
    host = host_columns(trace)
    kind = host["kind"].to_physical().to_numpy()
    track, lanes = host_lanes(trace)
    events = np.bincount(track, minlength=len(lanes)).tolist()
    operators = _count(track, kind == HOST_KINDS.index("operator"), len(lanes))
    frames = _count(track, _is_any(kind, _FRAMING, HOST_KINDS), len(lanes))
    tracks = [
        naming.thread(
            *lane,
            ANNOTATION if frames[number] == events[number] else HOST,
            operators=operators[number],
            events=events[number],
        )
        for number, lane in enumerate(lanes)
    ]
    label, labels = _labels(host_names(trace), kind, HOST_KINDS)
    return Side(host["ts_ns"].to_numpy(), host["dur_ns"].to_numpy(), label, labels, track, tracks)


def device_side(trace: Trace, naming: Naming) -> Side:
    """Work on the streams of devices; annotations on devices have tracks of their own."""
    device = device_columns(trace)
    kind = device["kind"].to_physical().to_numpy()
    label, labels = _labels(device_names(trace), kind, DEVICE_KINDS)
    annotates = kind == DEVICE_KINDS.index("annotation")
    track, places = _device_places(trace, annotates)
    events = np.bincount(track, minlength=len(places)).tolist()
    talks = np.array([_communicates(*pair) for pair in labels] or [False], dtype=np.bool_)
    talking = _count(track, talks[label], len(places))
    aiding = _count(track, _is_any(kind, _AIDING, DEVICE_KINDS), len(places))
    computing = {
        place.stream_of
        for number, place in enumerate(places)
        if not place.annotates and aiding[number] < events[number]
    }
    tracks = [
        naming.stream(
            place.pid,
            place.device,
            place.stream,
            kind=_device_kind(place, mostly_talks=2 * talking[number] > events[number]),
            computes=place.stream_of in computing,
            events=events[number],
        )
        for number, place in enumerate(places)
    ]
    return Side(
        device["ts_ns"].to_numpy(), device["dur_ns"].to_numpy(), label, labels, track, tracks
    )


def within(side: Side, start_ns: int, end_ns: int) -> Side:
    """A side without what lies wholly outside a span, and without the tracks that leaves empty.

    Marks of a profiler may be hours away from the work.
    """
    inside = (side.start + side.dur >= start_ns) & (side.start <= end_ns)
    events = np.bincount(side.track[inside], minlength=len(side.tracks))
    number = np.append(np.where(events > 0, np.cumsum(events > 0) - 1, -1), -1)
    left = [
        replace(track, events=int(count))
        for track, count in zip(side.tracks, events, strict=True)
        if count
    ]
    return replace(side, track=np.where(inside, number[side.track], -1), tracks=left)


def _communicates(name: str, kind: str) -> bool:
    return kind == "collective" or (kind == "kernel" and is_collective_kernel(name))


class _DevicePlace(NamedTuple):
    pid: str
    device: int | None
    stream: str
    annotates: bool

    @property
    def stream_of(self) -> tuple[str, int | None, str]:
        return self.pid, self.device, self.stream


def _device_kind(place: _DevicePlace, *, mostly_talks: bool) -> str:
    if place.annotates:
        return ANNOTATION
    return COMMUNICATION if mostly_talks else DEVICE


def _is_any(kind: NDArray[np.uint8], wanted: Sequence[str], kinds: Sequence[str]) -> Flags:
    """Which events are of one of some kinds."""
    return np.array([name in wanted for name in kinds])[kind]


def _count(track: Codes, chosen: Flags, tracks: int) -> list[int]:
    counts: list[int] = np.bincount(track[chosen], minlength=tracks).tolist()
    return counts


def _device_places(trace: Trace, annotates: Flags) -> tuple[Codes, list[_DevicePlace]]:
    """A number per device event for where it is drawn, and process, device, stream of each."""
    stream = pl.coalesce("stream", "tid").alias("stream")
    frame = trace.lazy("device").select("pid", "device", stream).collect()
    pid, pids = encode(frame["pid"])
    streams, stream_names = encode(frame["stream"])
    number = frame["device"].fill_null(-1).to_numpy().astype(np.int64) + 1
    device_count = int(number.max(initial=0)) + 1
    joint = ((pid * device_count + number) * len(stream_names) + streams) * 2 + annotates
    found, track = np.unique(joint, return_inverse=True)
    places = []
    for code in found.tolist():
        rest, annotation = divmod(code, 2)
        rest, which = divmod(rest, len(stream_names))
        process, device = divmod(rest, device_count)
        name = stream_names[which] or ""
        places.append(
            _DevicePlace(
                pids[process] or "", device - 1 if device else None, name, bool(annotation)
            )
        )
    return track.reshape(-1), places


def _labels(
    named: Texts, kind: NDArray[np.uint8], kinds: Sequence[str]
) -> tuple[Ints, list[tuple[str, str]]]:
    """A number per event for its name and kind, and what each number stands for."""
    joint = named.codes * len(kinds) + kind
    seen = np.zeros(len(named.texts) * len(kinds), dtype=np.bool_)
    seen[joint] = True
    pairs = [divmod(code, len(kinds)) for code in np.flatnonzero(seen).tolist()]
    labels = [(named.texts[name], kinds[which]) for name, which in pairs]
    return (np.cumsum(seen) - 1)[joint], labels
