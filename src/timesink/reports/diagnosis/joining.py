"""One diagnosis of all processes of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from timesink.analyses.diagnosis.diagnosis import CycleTime, Diagnosis
from timesink.analyses.diagnosis.together import diagnose_together
from timesink.reports.diagnosis.telling import how_many_slow

if TYPE_CHECKING:
    from timesink.reports.diagnosis.report import Within


def together(processes: Sequence[Within]) -> Diagnosis:
    """The diagnosis of all processes; those without slow cycles add nothing."""
    slow = [one for one in processes if one.pair is not None]
    if len(slow) <= 1:
        return (slow or list(processes))[0].diagnosis
    pairs = [one.pair for one in slow if one.pair is not None]
    found = diagnose_together(pairs, [one.diagnosis for one in slow])
    return replace(by_length(found), reason=f"{how_many_slow(processes)}.", notes=())


def by_length(found: Diagnosis) -> Diagnosis:
    """Slow cycles were chosen for their length: that they are longer is not for a test to say."""
    lengths = found.cycle_time
    base, new = lengths.base_ns, lengths.new_ns
    change = 100 * (new - base) / base if base else None
    return replace(found, verdict="regression", cycle_time=CycleTime(base, new, change, None, None))
