"""The verdict on a recording: what of it can be answered, before any answer is."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from timesink.analyses.columns import once_per_trace
from timesink.model.fitness import Fitness, Reason
from timesink.model.trace import Trace

_CHECKS: tuple[Callable[[Trace], Iterator[Reason]], ...] = ()


@once_per_trace
def recording_fitness(trace: Trace) -> Fitness:
    """What a recording can answer, and why it cannot answer the rest."""
    return Fitness(tuple(reason for check in _CHECKS for reason in check(trace)))
