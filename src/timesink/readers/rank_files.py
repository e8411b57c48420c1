"""Several files of one rank: spans of it, or ranks of other hosts, or not to be told."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from timesink.model.ordering import natural
from timesink.readers.names import without_rank
from timesink.readers.recording import Recording
from timesink.readers.run_folders import RankOf

_NUMBERS = re.compile(r"[0-9]+")
_MONTHS = re.compile(r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)", re.IGNORECASE)
_HOST = re.compile(r"(?:^|(?<=[^a-z]))(?:host|node|machine)[-_. ]?[0-9]+", re.IGNORECASE)


def numbered(recordings: Iterable[Recording], rank_of: RankOf) -> list[Recording]:
    """Spans as 1, 2, ...: timestamps are compared as numbers, so that 10 follows 9.

    Files without a timestamp come first and have no number; equal timestamps are one span.
    """
    of_worker: defaultdict[tuple[Path, str], list[Recording]] = defaultdict(list)
    for recording in _told_apart_in_rank(recordings, rank_of):
        of_worker[recording.path.parent, recording.worker].append(recording)
    found = []
    for key in sorted(of_worker, key=lambda key: (natural(str(key[0])), natural(key[1]))):
        own = sorted(of_worker[key], key=lambda r: (r.span is not None, r.span or 0))
        stamps = sorted({recording.span for recording in own if recording.span is not None})
        number: dict[int | None, int] = {stamp: place for place, stamp in enumerate(stamps, 1)}
        found += [replace(recording, span=number.get(recording.span)) for recording in own]
    return found


def _told_apart_in_rank(recordings: Iterable[Recording], rank_of: RankOf) -> list[Recording]:
    """Recordings of which those of one rank and one folder are what they are: mostly spans."""
    of_rank: defaultdict[tuple[Path, int | None], list[Recording]] = defaultdict(list)
    for recording in recordings:
        of_rank[recording.path.parent, recording.rank].append(recording)
    told: list[Recording] = []
    has_spans = False
    for (_, rank), own in of_rank.items():
        is_told = rank is None or len({one.worker for one in own}) == 1
        apart = own if is_told else _of_one_rank(own, rank_of)
        has_spans |= apart[0].worker != own[0].worker
        told += apart
    # Where one rank has several, the only file of another is its first.
    return [_as_span(one, one.span or 0) if has_spans else one for one in told]


def _of_one_rank(own: list[Recording], rank_of: RankOf) -> list[Recording]:
    stated = [rank_of(one) for one in own]
    if len(set(stated)) == len(own):
        # The names have the rank of something else, such as the host.
        return [replace(one, rank=rank) for one, rank in zip(own, stated, strict=True)]
    names = {one: without_rank(one.path.name) for one in own}
    if len({_HOST.sub("", name) for name in names.values()}) == 1 < len(set(names.values())):
        return [replace(one, rank=None) for one in own]
    if len({_without_numbers(name) for name in names.values()}) > 1:
        return own  # of several runs, as it seems
    places = {name: place for place, name in enumerate(sorted(set(names.values()), key=natural))}
    return [_as_span(one, places[names[one]]) for one in own]


def _as_span(recording: Recording, span: int) -> Recording:
    if recording.rank is None:
        return recording
    return replace(recording, worker=f"rank{recording.rank}", span=span)


def _without_numbers(name: str) -> str:
    """What of a name is the same in the files of every step and time."""
    return _MONTHS.sub("", _NUMBERS.sub("", name))
