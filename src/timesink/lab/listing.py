"""What the lab can record, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator

from timesink.lab.faults.fault import Fault
from timesink.lab.faults.registry import FAULTS
from timesink.lab.workloads.registry import WORKLOADS


def as_text() -> str:
    """Workloads, then faults, a line each and what should be said about them."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    width = max(len(one.name) for one in (*WORKLOADS, *FAULTS)) + 2
    yield "workloads"
    for workload in WORKLOADS:
        cycle = f"one call of {workload.marker}" if workload.marker else "a step of the optimizer"
        yield f"  {workload.name:{width}}{workload.summary}; a cycle is {cycle}"
    yield "faults"
    for fault in FAULTS:
        yield f"  {fault.name:{width}}{fault.summary}: {fault.strength}"
        yield f"  {'':{width}}{_expected(fault)}{_needs(fault)}"


def _expected(fault: Fault) -> str:
    named = [f"{what} {names.replace('|', ' or ')}" for what, names in fault.expected.items()]
    return f"should be called {', '.join(named)}"


def _needs(fault: Fault) -> str:
    return f"; needs a {' and a '.join(fault.needs)}" if fault.needs else ""


def as_json() -> str:
    """The same as JSON."""
    told = {
        "workloads": [
            {"name": one.name, "summary": one.summary, "marker": one.marker or None}
            for one in WORKLOADS
        ],
        "faults": [
            {
                "name": one.name,
                "kind": one.kind,
                "summary": one.summary,
                "strength": one.strength,
                "needs": list(one.needs),
                **one.expected,
            }
            for one in FAULTS
        ],
    }
    return json.dumps(told, indent=1)
