"""Work of the accelerators with its place, time and launch: what timeline analyses start from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.analyses.columns import device_columns, host_columns
from timesink.analyses.device.numbers import device_numbers
from timesink.analyses.links import link_launches
from timesink.analyses.once import once_per_trace
from timesink.analyses.sums import sums_by
from timesink.analyses.texts import encode
from timesink.model.arrays import Flags, Ints
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Trace

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
