"""What to watch, and how much the watcher may do about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from timesink.recorder.folder import RecordPlan

DEFAULT_PLACE = Path("timesink-watch")
DEFAULT_LEARN = 1000
DEFAULT_LEARN_S = 30.0
DEFAULT_SKIP = 20
DEFAULT_CYCLES = 20
DEFAULT_PLAIN = 10
DEFAULT_INCIDENTS = 6
DEFAULT_QUOTA = 2 << 30
DEFAULT_GAP_S = 60.0
REFERENCES = 4
"""So many workloads get a recording of healthy cycles."""


@dataclass(frozen=True)
class WatchPlan:
    """What `timesink watch` was asked for."""

    folder: Path
    command: tuple[str, ...] = ()
    timesink: str = ""
    learn: int = DEFAULT_LEARN
    learn_s: float = DEFAULT_LEARN_S
    skip: int = DEFAULT_SKIP
    """Cycles of each process to let pass first."""
    model: Path | None = None
    alarms_per_hour: float = 0.1
    at_least: float = 0.05
    """Shifts below this share never are an alarm."""
    marker: str = ""
    preset: str = ""
    span: str = ""
    extractor: str = ""
    cycles: int = DEFAULT_CYCLES
    plain: int = DEFAULT_PLAIN
    extras: tuple[str, ...] = ()
    gap_s: float = DEFAULT_GAP_S
    """No two recordings begin within this time."""
    most_incidents: int = DEFAULT_INCIDENTS
    quota_bytes: int = DEFAULT_QUOTA
    counters: frozenset[str] = frozenset()
    on_alarm: tuple[str, ...] = ()
    metrics: tuple[str, int] | None = None
    otel: bool = False
    summary: str = ""
    """A URL or a folder; the status of every watcher is put there."""
    is_recording: bool = field(default=True)
    """Whether alarms and references may switch the profiler on."""

    @property
    def agent(self) -> RecordPlan:
        """What the agent in the program is told."""
        return RecordPlan(
            watch=True, marker=self.marker, preset=self.preset, span=self.span,
            extractor=self.extractor, extras=self.extras,
        )  # fmt: skip

    def options(self) -> dict[str, Any]:
        """What watch.json says of it."""
        names = (
            "learn", "learn_s", "skip", "alarms_per_hour", "at_least", "marker", "preset", "span",
            "extractor", "cycles", "plain", "gap_s", "most_incidents", "quota_bytes",
        )  # fmt: skip
        model = None if self.model is None else str(self.model)
        return {**{name: getattr(self, name) for name in names}, "model": model}
