"""Begins and ends of slices, brought together track by track."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from timesink.formats.wire import Integers
from timesink.model.arrays import grouped_cumsum, is_run_start, run_starts

Flags = npt.NDArray[np.bool_]


class PairedSlices(msgspec.Struct, frozen=True):
    """Rows of begins and of their ends, and rows without the other one."""

    begin: Integers
    end: Integers
    open: Integers
    """Begins without an end."""
    stray: Integers
    """Ends without a begin."""


def pair_slices(track: Integers, time_ns: Integers, is_begin: Flags) -> PairedSlices:
    """Bring begins and ends together: an end closes the innermost slice of its track.

    Rows are in the order of the file.  Of a track that is not in the order of time, where ends
    follow begins in groups of one length, the first end belongs to the first begin: so they are
    written by those who have columns instead of a stack.

    >>> paired = pair_slices(np.array([1, 1, 1, 1]), np.array([0, 2, 3, 9]), np.array([1, 1, 0, 0]))
    >>> paired.begin.tolist(), paired.end.tolist()
    ([0, 1], [3, 2])
    """
    order = np.argsort(track, kind="stable")
    tracks, times, begins = track[order], time_ns[order], is_begin[order].astype(np.bool_)
    first = run_starts(tracks)
    number = np.cumsum(is_run_start(tracks)) - 1
    backwards = np.zeros(len(order), np.bool_)
    backwards[1:] = (times[1:] < times[:-1]) & (tracks[1:] == tracks[:-1])
    unsorted = np.zeros(len(first), np.bool_)
    unsorted[number[backwards]] = True
    in_groups = unsorted & _come_in_groups(tracks, begins, number, len(first))
    grouped = in_groups[number]
    # A begin and its end are one group apart.
    runs = np.cumsum(is_run_start(tracks, begins)) - 1
    lengths = np.bincount(runs, minlength=1)
    chosen = np.flatnonzero(grouped & begins)
    partner = chosen + lengths[runs[chosen]] if len(chosen) else chosen
    stacked = np.flatnonzero(~grouped)
    # At one time, ends come before begins where the order of the file says nothing.
    late = (unsorted[number] & begins).astype(np.int64)
    by_time = stacked[np.lexsort((stacked, late[stacked], times[stacked], tracks[stacked]))]
    begin, end, opened, stray = _match_stack(tracks[by_time], begins[by_time])
    return PairedSlices(
        np.concatenate([order[chosen], order[by_time[begin]]]),
        np.concatenate([order[partner], order[by_time[end]]]),
        order[by_time[opened]],
        order[by_time[stray]],
    )


def _come_in_groups(tracks: Integers, begins: Flags, number: Integers, count: int) -> Flags:
    """Which tracks consist of groups of begins, each followed by as many ends."""
    if not len(tracks):
        return np.zeros(count, np.bool_)
    starts = run_starts(tracks, begins)
    lengths = np.diff(starts, append=len(tracks))
    of_track = number[starts]
    opens = begins[starts]
    fits = np.ones(len(starts), np.bool_)
    same_track = of_track[1:] == of_track[:-1]
    # Each group of begins is followed by one of ends, as long.
    followed = np.zeros(len(starts), np.bool_)
    followed[:-1] = same_track & (lengths[1:] == lengths[:-1])
    fits[opens] = followed[opens]
    # Ends follow begins: none comes first.
    leads = np.ones(len(starts), np.bool_)
    leads[1:] = ~same_track
    fits[~opens & leads] = False
    broken = np.zeros(count, np.bool_)
    broken[of_track[~fits]] = True
    return ~broken


def _match_stack(tracks: Integers, begins: Flags) -> tuple[Integers, Integers, Integers, Integers]:
    """Begins and ends by the depth they are at; rows are in the order of time."""
    step = np.where(begins, 1, -1)
    depth = grouped_cumsum(step, run_starts(tracks))
    # An end below anything before it has no begin.
    lowest = np.minimum(0, _running_least(depth, tracks))
    before = np.zeros(len(depth), np.int64)
    before[1:] = np.where(tracks[1:] == tracks[:-1], lowest[:-1], 0)
    is_stray = ~begins & (depth < before)
    matched = np.flatnonzero(~is_stray)
    level = grouped_cumsum(step[matched], run_starts(tracks[matched]))
    level = np.where(begins[matched], level, level + 1)
    order = np.lexsort((matched, level, tracks[matched]))
    rows, levels = matched[order], level[order]
    is_pair = np.zeros(len(rows), np.bool_)
    is_pair[:-1] = (
        begins[rows[:-1]]
        & ~begins[rows[1:]]
        & (levels[:-1] == levels[1:])
        & (tracks[rows[:-1]] == tracks[rows[1:]])
    )
    begin = np.flatnonzero(is_pair)
    is_open = begins[rows].copy()
    is_open[begin] = False
    return rows[begin], rows[begin + 1], rows[is_open], np.flatnonzero(is_stray)


def _running_least(values: Integers, tracks: Integers) -> Integers:
    """The least value so far, anew in each track."""
    if not len(values):
        return values
    # Each track lies lower than all before it by more than values differ.
    spread = int(values.max()) - int(values.min()) + 1
    number = np.cumsum(is_run_start(tracks)) - 1
    shifted = values - number * spread
    return np.asarray(np.minimum.accumulate(shifted) + number * spread)
