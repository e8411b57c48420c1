"""The numbers that decide which capture a replay is of: unit, meaning, source.

Chosen on the recordings of docs/accuracy/graphs.md.
"""

from __future__ import annotations

from timesink.model.limits import Limits


class MatchingLimits(Limits):
    """`captures.matching`."""

    min_fit = 0.5
    """Part of the work of replay and capture together that must match: with less the replay is of
    another graph."""
    min_eager_share = 0.5
    """Part of a replay that an eager recording must have in the same order."""
    window_slack = 0.25
    """Part of the length of a replay by which the stretch of an eager recording may be longer."""


class CaptureTraceLimits(Limits):
    """`captures.capture_traces`."""

    max_frames = 128
    """Python functions of a call stack, from the innermost on."""
