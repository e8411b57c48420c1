"""Calls put together: one group per cycle, function and device."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from timesink.analyses.behaviour.calls import Calls
from timesink.analyses.behaviour.classes import FUNCTION_CLASSES
from timesink.analyses.behaviour.functions import ON_CPU
from timesink.analyses.behaviour.samples import Spans
from timesink.analyses.sums import sums_by
from timesink.model.arrays import Ints


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Cycle, function, class and device of each group, and what its calls come to."""

    row: Ints
    """Row in the table of cycles."""
    function: Ints
    function_class: NDArray[np.int8]
    device: Ints
    time: Ints
    calls: Ints
    members: Calls
    group_of: Ints
    """For each of `members`: its group."""

    def __len__(self) -> int:
        return len(self.row)


def grouped(calls: Calls) -> Groups:
    """Group calls by cycle, function, class and device."""
    device, device_code = np.unique(calls.device, return_inverse=True)
    functions = int(calls.function.max(initial=0)) + 1
    key = (calls.row * functions + calls.function) * len(FUNCTION_CLASSES) + calls.function_class
    key = key * max(len(device), 1) + device_code
    _, example, group = np.unique(key, return_index=True, return_inverse=True)
    return Groups(
        row=calls.row[example],
        function=calls.function[example],
        function_class=calls.function_class[example],
        device=calls.device[example],
        time=sums_by(group, calls.time, len(example)),
        calls=sums_by(group, calls.calls, len(example)),
        members=calls,
        group_of=group,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Alike:
    """Groups that read the same counters: of one process, class and device."""

    process: int
    function_class: int
    device: int
    groups: Ints
    """Places in `Groups`."""
    spans: Spans
    """Of their calls; groups are places in `groups`."""


def alike(groups: Groups, process_of_row: Ints, unread: int) -> Iterator[Alike]:
    """Groups by process, class and device; those of the function `unread` read no counters."""
    keys = np.stack([process_of_row[groups.row], groups.function_class, groups.device])
    kinds, kind = np.unique(keys, axis=1, return_inverse=True)
    kind = kind.reshape(-1)
    kind_of_call = kind[groups.group_of]
    reads = groups.members.function != unread
    local = np.zeros(len(groups), dtype=np.int64)
    for number, (process, function_class, device) in enumerate(kinds.T.tolist()):
        mine = np.flatnonzero(kind == number)
        local[mine] = np.arange(len(mine))
        rows = np.flatnonzero((kind_of_call == number) & reads)
        group = local[groups.group_of[rows]]
        calls = groups.members.take(rows)
        spans = Spans(group, calls.start, calls.end, calls.time, len(mine))
        if function_class == ON_CPU:
            spans = merged(spans)
        yield Alike(process, function_class, device, mine, spans)


def merged(spans: Spans) -> Spans:
    """Spans of a group that overlap as one; those that only touch stay apart.

    Threads of a process run at the same time: what counters read then counts once.
    """
    if not len(spans):
        return spans
    order = np.lexsort((spans.start, spans.group))
    group, start, end = spans.group[order], spans.start[order], spans.end[order]
    # Groups side by side on one line, so that one running maximum serves them all.
    earliest = start.min()
    length = int(end.max() - earliest) + 1
    offset = group * length - earliest
    reached = np.maximum.accumulate(end + offset)
    opens = np.concatenate([[True], (start + offset)[1:] >= reached[:-1]])
    first = np.flatnonzero(opens)
    last_end = reached[np.append(first[1:], len(start)) - 1] - offset[first]
    return Spans(group[first], start[first], last_end, last_end - start[first], spans.groups)
