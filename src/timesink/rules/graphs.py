"""Graphs of a run: why the program could not capture what it would replay."""

from __future__ import annotations

from timesink.model import units
from timesink.model.findings import Evidence, RunFinding
from timesink.model.graph_facts import GraphFacts
from timesink.model.trace import Trace
from timesink.rules.register import make_finding

_MAX_REASONS = 3


def failed_captures(trace: Trace) -> list[RunFinding]:
    """Captures that failed, as the recorder saw them, the most frequent first; one finding.

    >>> import timesink
    >>> failed_captures(timesink.open(timesink.sample()))
    []
    """
    failures = (trace.metadata.graphs or GraphFacts()).failures
    ordered = sorted(failures, key=lambda failure: -failure.times)
    if not ordered:
        return []
    first = ordered[0]
    times = sum(failure.times for failure in ordered)
    place = f" at {first.place}" if first.place else ""
    often = units.count_noun(times, "times")
    return [
        make_finding(
            "graph-capture-failed",
            f"The program could not capture a graph {often}, mostly because of {first.reason}"
            f"{place}.",
            evidence=tuple(
                Evidence("call", failure.place or failure.reason, numbers={"times": failure.times})
                for failure in ordered[:_MAX_REASONS]
            ),
        )
    ]
