"""Work of the accelerators with its place, time and launch: what timeline analyses start from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.analyses import names
from timesink.analyses.arrays import sums_by, values_at
from timesink.analyses.columns import (
    device_columns,
    device_numbers,
    encode,
    host_columns,
    host_lanes,
    host_names,
    once_per_trace,
    start_and_end,
)
from timesink.analyses.links import link_launches
from timesink.model.arrays import Flags, Ints
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Trace

# Which accelerator each device event ran on.


NO_CALL = -1


@dataclass(frozen=True, eq=False)
class Activities:
    """Kernels, copies, sets and collectives of a trace; arrays have one entry per activity."""

    row: Ints
    """Row in `trace.device`."""
    device: Ints
    lane: Ints
    """Place in `lanes`: activities of one stream of one device share it."""
    start: Ints
    end: Ints
    call: Ints
    """Row in `trace.host` of the launching call, `NO_CALL` where it is not in the trace."""
    call_start: Ints
    """Start of that call; of the activity itself where there is none, and so `call_end`."""
    call_end: Ints
    lanes: pl.DataFrame
    """`device` and `stream` of every lane, streams in the order of their numbers."""

    def __len__(self) -> int:
        return len(self.row)

    @property
    def launched(self) -> Flags:
        """Which activities have a launching call."""
        return np.asarray(self.call != NO_CALL)


@once_per_trace
def device_activities(trace: Trace) -> Activities:
    """Where and when the devices worked, and which calls made them."""
    columns = device_columns(trace)
    row = np.flatnonzero(columns["kind"].is_in(BUSY_KINDS).to_numpy())
    start = columns["ts_ns"].to_numpy()[row]
    device = device_numbers(trace)[row]
    lane, lanes = _lanes(device, columns["stream"][row])
    call = link_launches(trace).call_row[row]
    call_start, call_end = _call_times(trace, call, start)
    return Activities(
        row=row,
        device=device,
        lane=lane,
        start=start,
        end=start + columns["dur_ns"].to_numpy()[row],
        call=call,
        call_start=call_start,
        call_end=call_end,
        lanes=lanes,
    )


def _call_times(trace: Trace, call: Ints, start: Ints) -> tuple[Ints, Ints]:
    call_start, call_end = start.copy(), start.copy()
    known = np.flatnonzero(call != NO_CALL)
    host = host_columns(trace)
    call_start[known] = host["ts_ns"].to_numpy()[call[known]]
    call_end[known] = call_start[known] + host["dur_ns"].to_numpy()[call[known]]
    return call_start, call_end


def _lanes(device: Ints, stream: pl.Series) -> tuple[Ints, pl.DataFrame]:
    """A number per device and stream, and what each stands for."""
    code, texts = encode(stream)
    devices = np.sort(pl.Series(device).unique().to_numpy())
    joint = np.searchsorted(devices, device) * max(len(texts), 1) + code
    used = np.flatnonzero(np.bincount(joint, minlength=1))
    numbers = [int(devices[pair // len(texts)]) for pair in used]
    streams = [texts[pair % len(texts)] for pair in used]
    # Streams by number where they have one (7 before 13), then those with other names.

    def key(place: int) -> tuple[int, bool, int, str]:
        text = streams[place] or ""
        number = int(text) if text.isdecimal() else -1
        return (numbers[place], number < 0, number, text)

    order = sorted(range(len(numbers)), key=key)
    place = np.zeros(len(devices) * len(texts), dtype=np.int64)
    place[used[order]] = np.arange(len(used))
    lanes = {"device": [numbers[i] for i in order], "stream": [streams[i] for i in order]}
    return place[joint], pl.DataFrame(
        lanes, schema={"device": pl.Int64(), "stream": pl.Categorical()}
    )


# -- gaps ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Gaps:
    """Stretches in which nothing of a group ran, between two of its activities."""

    start: Ints
    end: Ints
    before: Ints
    """The activity whose end begins the gap."""
    after: Ints
    """The activity whose start ends it."""

    @property
    def length(self) -> Ints:
        return self.end - self.start

    def longest(self, count: int) -> Gaps:
        """The longest ones, of equal ones the earliest first."""
        length = self.length
        beaten = max(len(length) - count, 0)
        least = np.partition(length, beaten)[beaten] if count and len(length) else 0
        chosen = np.flatnonzero(length >= least)
        chosen = chosen[np.lexsort((self.start[chosen], -length[chosen]))][:count]
        return Gaps(self.start[chosen], self.end[chosen], self.before[chosen], self.after[chosen])


def find_gaps(group: Ints, start: Ints, end: Ints) -> Gaps:
    """Gaps in the union of the activities of each group, group by group."""
    by_start, by_end = _grouped(start, group), _grouped(end, group)
    # Where as many activities have ended as have started none is running: a gap lies between the
    # i-th end and the next start, if these are in order.
    before, after = by_end[:-1], by_start[1:]
    apart = np.flatnonzero((end[before] < start[after]) & (group[before] == group[after]))
    before, after = before[apart], after[apart]
    return Gaps(end[before], start[after], before, after)


def spans_by(group: Ints, start: Ints, end: Ints, groups: int) -> Ints:
    """From the first start to the last end of each group; zero for a group without activities."""
    first = np.full(groups, np.iinfo(np.int64).max)
    last = first.copy()
    np.minimum.at(first, group, start)
    last[group] = first[group]
    np.maximum.at(last, group, end)
    return np.asarray(last - first)


def busy_by(group: Ints, start: Ints, end: Ints, groups: int) -> Ints:
    """How long at least one activity of each group ran."""
    gaps = find_gaps(group, start, end)
    return spans_by(group, start, end, groups) - sums_by(group[gaps.after], gaps.length, groups)


def _grouped(times: Ints, group: Ints) -> Ints:
    order = np.argsort(times, kind="stable")
    return order[np.argsort(group[order], kind="stable")]


# Whether a recording holds any work of a device.


@once_per_trace
def has_device_work(trace: Trace) -> bool:
    """Whether a kernel, copy, memset or collective ran; annotations and ranges are no work."""
    return bool(device_columns(trace)["kind"].is_in(BUSY_KINDS).any())


# Device work by what the user called it: the annotations around its launches.


def kernels_by_annotation(trace: Trace) -> pl.DataFrame:
    """Device time by the innermost user annotation around the launching call, on its thread.

    Marks of steps do not count as annotations.  Work launched outside of every annotation has no
    name; what was launched by a call that is not in the trace is a row of its own, not `launched`.
    `device_ns` adds up the lengths of the activities, `busy_ns` is the time in which at least one
    of them ran.
    """
    work = device_activities(trace)
    name = values_at(host_columns(trace)["name"], _annotation_of(trace, work))
    code, texts = encode(name)
    group = 2 * code + work.launched
    size = 2 * len(texts)
    labels = [text for text in texts for _ in range(2)]
    return (
        pl.DataFrame(
            {
                "annotation": pl.Series(labels, dtype=pl.String),
                "launched": np.arange(size) % 2 == 1,
                "activities": np.bincount(group, minlength=size).astype(np.int64),
                "device_ns": sums_by(group, work.end - work.start, size),
                "busy_ns": busy_by(group, work.start, work.end, size),
            }
        )
        .filter(pl.col("activities") > 0)
        .sort(
            "device_ns", "annotation", "launched", descending=[True, False, True], nulls_last=True
        )
    )


def _annotation_of(trace: Trace, work: Activities) -> Ints:
    """Row in `trace.host` of the annotation each activity was launched in, -1 for none."""
    host, (thread, _) = host_columns(trace), host_lanes(trace)
    # Annotations, and the operators that old profilers recorded in their stead.
    kind, called = host_columns(trace)["kind"], host_names(trace)
    in_their_stead = (kind == "operator").to_numpy() & called.matching(_annotates)
    steps = called.matching(names.is_profiler_step)
    notes = np.flatnonzero(((kind == "annotation").to_numpy() | in_their_stead) & ~steps)
    start, end = start_and_end(host, notes)
    found = np.full(len(work), -1, dtype=np.int64)
    launched = np.flatnonzero(work.launched)
    for number in np.unique(thread[notes]):
        mine = np.flatnonzero(thread[notes] == number)
        mine = mine[np.lexsort((-end[mine], start[mine]))]
        here = launched[thread[work.call[launched]] == number]
        latest = np.searchsorted(start[mine], work.call_start[here], side="right") - 1
        around = _latest_reaching(end[mine], latest, work.call_end[here])
        found[here[around >= 0]] = notes[mine[around[around >= 0]]]
    return found


def _annotates(name: str) -> bool:
    return names.is_data_loader(name) or names.is_wrapper(name)


def _latest_reaching(ends: Ints, latest: Ints, wanted: Ints) -> Ints:
    """The last place up to `latest` whose end is not before the wanted one; -1 without any."""
    # Entry i of maxima[k] is the largest of the 2**k ends up to i.
    maxima, width = [ends], 1
    while 2 * width <= len(ends):
        wider = maxima[-1].copy()
        np.maximum(wider[width:], maxima[-1][:-width], out=wider[width:])
        maxima.append(wider)
        width *= 2
    place = latest.copy()
    for exponent, largest in reversed(list(enumerate(maxima))):
        too_early = (place >= 0) & (largest[place] < wanted)
        place -= np.where(too_early, 1 << exponent, 0)
    return np.maximum(place, -1)
