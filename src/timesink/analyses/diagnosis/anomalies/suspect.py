"""A counter that moved in its harmful direction, before it is believed."""

from __future__ import annotations

from dataclasses import dataclass

from timesink.analyses.diagnosis.anomalies.readings import Reading
from timesink.analyses.diagnosis.diagnosis import Evidence


@dataclass(frozen=True, slots=True, eq=False)
class Suspect:
    """What a counter hints at."""

    cause: str
    reading: Reading
    """As counted."""
    others: Reading
    """Without the load of the process itself."""
    severity: float
    q_value: float
    capacity: float | None = None
    evidence: tuple[Evidence, ...] = ()
    """What else speaks for it."""
    refuted: str | None = None
    """Why it is not believed, as the end of a sentence; None while nothing speaks against it."""
    after: tuple[str, ...] = ()
    """Causes on the same device that it follows from, and after which it is told."""

    @property
    def device(self) -> str:
        return self.reading.device

    @property
    def resource(self) -> str:
        return self.reading.resource.resource
