"""What changed between two runs without a timeline, as a document."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from timesink.answers.comparison.collective_logs import logs_document
from timesink.answers.comparison.snapshots import snapshots_document
from timesink.comparison.collective_logs import LogPair, LogSide
from timesink.comparison.snapshots import SnapshotPair, SnapshotSide
from timesink.comparison.untimed import untimed_side
from timesink.errors import UsageError
from timesink.output.blocks import Document
from timesink.sources.untimed import WORDS, untimed_kind


def untimed_document(places: Sequence[Path], *, cache: bool = True) -> Document | None:
    """The comparison of two snapshots, or of two folders of logs; None where neither is one.

    >>> untimed_document((Path("/no/such"), Path("/place")))
    """
    kinds = [untimed_kind(place) for place in places]
    kind = next(filter(None, kinds), None)
    if kind is None:
        return None
    if len(places) != 2 or set(kinds) != {kind}:
        words = WORDS[kind]
        raise UsageError(f"a {words} is compared with one other {words}", "choose two of one kind")
    base, new = (untimed_side(place, kind, cache=cache) for place in places)
    names = places[0].name, places[1].name
    if isinstance(base, SnapshotSide) and isinstance(new, SnapshotSide):
        return snapshots_document(SnapshotPair(base, new, names), None)
    if isinstance(base, LogSide) and isinstance(new, LogSide):
        return logs_document(LogPair(base, new, names), None)
    return None
