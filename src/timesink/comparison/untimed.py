"""Sides of a comparison without a timeline: memory snapshots, and logs of collectives."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from timesink.comparison.collective_logs import LogSide
from timesink.comparison.snapshots import SnapshotSide
from timesink.sources.opening import open_trace
from timesink.sources.untimed import LOG, SNAPSHOT

UntimedSide: TypeAlias = SnapshotSide | LogSide

SIDES: dict[str, type[SnapshotSide | LogSide]] = {SNAPSHOT: SnapshotSide, LOG: LogSide}
"""By kind."""


def untimed_side(path: str | Path, kind: str, *, cache: bool = True) -> UntimedSide:
    """The side of a comparison that a path of this kind is."""
    return SIDES[kind].of(open_trace(path, cache=cache))
