"""Cycles and the program's own ranges, one within the other.

A step of an optimizer often lies in a range the program marks itself, which ends a little later.
The cycle ends with that range: viewers drop what overlaps without lying within.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from timesink.collect.record.marks import STEP_MARK


@dataclass(frozen=True)
class Range:
    """A named range of a thread, as the timeline has it, in nanoseconds."""

    name: str
    thread: str
    start_ns: int
    end_ns: int


def nested(ranges: Iterable[Range]) -> Mapping[Range, Range]:
    """The ranges that have to change, and what they become."""
    threads: dict[str, list[Range]] = defaultdict(list)
    for one in ranges:
        threads[one.thread].append(one)
    changed: dict[Range, Range] = {}
    for own in threads.values():
        changed |= _nested_in_thread(own)
    return changed


def _nested_in_thread(ranges: Sequence[Range]) -> dict[Range, Range]:
    steps = sorted(
        (one for one in ranges if one.name.startswith(STEP_MARK)), key=lambda one: one.start_ns
    )
    if not steps:
        return {}
    others = [one for one in ranges if not one.name.startswith(STEP_MARK)]
    starts_ns = _starts_ns(steps, others)
    # Where a cycle begins later, the one before it ends later.
    ends_ns = [
        step.end_ns if start_ns == after.start_ns else start_ns
        for step, after, start_ns in zip(steps, steps[1:], starts_ns[1:], strict=False)
    ]
    wanted = [
        replace(step, start_ns=start_ns, end_ns=end_ns)
        for step, start_ns, end_ns in zip(
            steps, starts_ns, [*ends_ns, steps[-1].end_ns], strict=True
        )
    ]
    last = steps[-1]
    # Ranges that the end of the recording has cut end with its last cycle.
    cut = {
        one: replace(one, end_ns=last.end_ns)
        for one in others
        if last.start_ns <= one.start_ns < last.end_ns < one.end_ns
    }
    changed = dict(zip(steps, wanted, strict=True)) | cut
    return {old: new for old, new in changed.items() if old != new}


def _starts_ns(steps: Sequence[Range], others: Sequence[Range]) -> list[int]:
    """Where cycles begin: after the ranges that were open, where these end in the cycle."""
    marked_ns = [step.start_ns for step in steps]
    starts_ns = list(marked_ns)
    for one in others:
        index = bisect_left(marked_ns, one.end_ns) - 1
        if index > 0 and one.start_ns < marked_ns[index] and one.end_ns <= steps[index].end_ns:
            starts_ns[index] = max(starts_ns[index], one.end_ns)
    return starts_ns
