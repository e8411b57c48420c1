"""The timeline of a trace behind the trace view: what is visible, what it is, where else it is."""

from __future__ import annotations

from timesink.reports.timeline.export import export
from timesink.reports.timeline.opening import Timeline, open_timeline
from timesink.reports.timeline.routes import ROUTES

__all__ = ["ROUTES", "Timeline", "export", "open_timeline"]
