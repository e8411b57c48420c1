"""A process that the others wait for, where nothing better is known about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from timesink.analyses.diagnosis.diagnosis import Cause, Evidence
from timesink.analyses.diagnosis.merging import Member
from timesink.model.units import brief_ns

_FEWEST = 3
"""Processes that are needed to tell the one that is not like the others."""
_LEAST_SHARE = 0.01
_MOST_OF_IT = 0.5
_WAITS = frozenset({"exposed_communication", "synchronisation"})


def stragglers(
    members: Sequence[Member], causes: Sequence[Cause], change_ns: float
) -> Iterator[Cause]:
    """The process whose own work gained far more than that of the others, who wait for it."""
    if len(members) < _FEWEST or change_ns <= 0:
        return
    own = [_own_rise(each) for each in members]
    last = max(range(len(own)), key=lambda each: own[each])
    others = [each for place, each in enumerate(members) if place != last]
    beyond = own[last] - median(own)
    waiting = median(_wait_rise(each) for each in others)
    cycle_ns = members[last].diagnosis.cycle_time.base_ns
    least = max(_LEAST_SHARE * cycle_ns, _MOST_OF_IT * change_ns)
    name = members[last].process
    if beyond < least or waiting < least or _is_known(causes, name, beyond):
        return
    ns = min(beyond, change_ns)
    yield Cause(
        "straggler",
        ns,
        None,
        f"{name.capitalize()} works {brief_ns(beyond)} per cycle longer than before and than the "
        f"others do, who wait {brief_ns(waiting)} longer in their collectives.",
        f"Compare {name} alone: its kernels, its host, its counters and its share of the data.",
        (Evidence("cycle", f"{name} arrives last", base=0.0, new=beyond, unit="ns"),),
        (("exposed_communication", ns),),
        process=name,
    )


def _own_rise(member: Member) -> float:
    parts = member.diagnosis.attribution
    return sum(part.delta_ns for part in parts if part.part not in _WAITS)


def _wait_rise(member: Member) -> float:
    parts = member.diagnosis.attribution
    return sum(part.delta_ns for part in parts if part.part in _WAITS)


def _is_known(causes: Sequence[Cause], process: str, ns: float) -> bool:
    """Whether causes that only this process has explain most of it."""
    known = sum(each.explained_ns for each in causes if each.process == process)
    return known >= _MOST_OF_IT * ns
