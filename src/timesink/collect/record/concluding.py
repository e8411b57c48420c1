"""Making a recording of what the program and the sampler have left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from timesink.collect.counters import Sampled
from timesink.collect.record.clock import shift_counters
from timesink.collect.record.notes import read_notes
from timesink.collect.record.places import Place
from timesink.collect.record.reasons import advice, why_partial
from timesink.collect.record.run_file import Session, describe, write_run_file
from timesink.collect.record.traces import collect_traces


@dataclass(frozen=True)
class Conclusion:
    """A recording that is finished: what run.json says, and what to try where it has no cycles."""

    run: dict[str, Any]
    advice: str


def conclude(session: Session, sampled: Sampled, place: Place) -> Conclusion:
    """Pack timelines, check the clock, describe the run, remove the notes."""
    processes = read_notes(place.control)
    recorded = collect_traces(processes, place)
    if recorded and recorded[0].offset is not None:
        shift_counters(place.counters, recorded[0].offset)
    why = why_partial(recorded, processes, session.plan)
    run = describe(session, recorded, processes, sampled, why)
    # The notes go first: where the disk is full they make room.
    place.clear_control()
    write_run_file(run, place)
    return Conclusion(run, advice(recorded, processes, session.plan))
