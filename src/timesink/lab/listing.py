"""What the lab can record, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TypeVar

from timesink.errors import UsageError
from timesink.lab.faults.catalogue import FAULTS
from timesink.lab.faults.fault import Fault
from timesink.lab.ranks.kinds import SLOWNESS
from timesink.lab.workloads.registry import WORKLOADS, LabWorkload

_Thing = TypeVar("_Thing", LabWorkload, Fault)


def workloads_named(names: Sequence[str] | None) -> tuple[LabWorkload, ...]:
    """The workloads of these names; all where none is named."""
    return _chosen("workload", names, WORKLOADS)


def faults_named(names: Sequence[str] | None) -> tuple[Fault, ...]:
    """The faults of these names; all where none is named."""
    return _chosen("fault", names, FAULTS)


def _chosen(
    what: str, names: Sequence[str] | None, known: tuple[_Thing, ...]
) -> tuple[_Thing, ...]:
    """Those of the known things that are named, each once and in the order of the known ones."""
    if names is None:
        return known
    unknown = [name for name in names if name not in [one.name for one in known]]
    if unknown:
        raise UsageError(
            f"no {what} is called {unknown[0]!r}", f"known: {', '.join(one.name for one in known)}"
        )
    return tuple(one for one in known if one.name in names)


def as_text() -> str:
    """Workloads, faults, kinds of slow ranks, and what should be said about them."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    width = max(len(one.name) for one in (*WORKLOADS, *FAULTS, *SLOWNESS)) + 2
    yield "workloads"
    for workload in WORKLOADS:
        cycle = f"one call of {workload.marker}" if workload.marker else "a step of the optimizer"
        yield f"  {workload.name:{width}}{workload.summary}; a cycle is {cycle}"
    yield "faults"
    for fault in FAULTS:
        yield f"  {fault.name:{width}}{fault.summary}: {fault.strength}"
        named = [f"{what} {names.replace('|', ' or ')}" for what, names in fault.expected.items()]
        needs = f"; needs a {' and a '.join(fault.needs)}" if fault.needs else ""
        yield f"  {'':{width}}should be called {', '.join(named)}{needs}"
    yield "slowness of ranks, for `timesink lab ranks --straggler KIND:RANK`"
    for kind in SLOWNESS:
        yield f"  {kind.name:{width}}{kind.summary}; should be called {kind.cause}"


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
        "slowness": [
            {"name": one.name, "summary": one.summary, "cause": one.cause} for one in SLOWNESS
        ],
    }
    return json.dumps(told, indent=1)
