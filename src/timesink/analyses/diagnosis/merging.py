"""Causes of several processes as causes of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from timesink.analyses.diagnosis.diagnosis import Cause, Component, Diagnosis
from timesink.model.units import brief_ns, listed

WAITS = ("exposed_communication", "synchronisation", "idle", "host_cpu")
"""Where a process waits for others: in a collective, or wherever its host waits for one."""
_LINKS = frozenset({"nvlink_contention", "network"})


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """One process among those read together."""

    process: str
    diagnosis: Diagnosis
    host: str | None = None


def merged_causes(members: Sequence[Member], change_ns: float) -> list[Cause]:
    """Each cause once, with the processes that have it."""
    groups: dict[tuple[str, ...], list[Cause]] = {}
    for each in members:
        own: dict[tuple[str, ...], list[Cause]] = {}
        for cause in each.diagnosis.causes:
            own.setdefault(_key(cause), []).append(replace(cause, process=each.process))
        for key, causes in own.items():
            groups.setdefault(key, []).append(_summed(causes))
    link_ns = _transfer_rise(members)
    merged = [_merged(group, len(members), change_ns) for group in groups.values()]
    # A link explains what a transfer gained, and not what others wait for it.
    capped = [
        _scaled(cause, min(cause.explained_ns, link_ns)) if cause.cause in _LINKS else cause
        for cause in merged
    ]
    return [cause for cause in capped if cause.explained_ns]


def _key(cause: Cause) -> tuple[str, ...]:
    """What makes causes of two processes the same one."""
    first = cause.evidence[0] if cause.evidence else None
    if first is None or cause.cause != "host_code":
        return (cause.cause,)
    return cause.cause, first.kind, first.function or ""


def _summed(causes: list[Cause]) -> Cause:
    """Several causes of one sort that a process has, as one: most time first."""
    first, *others = sorted(causes, key=lambda each: -abs(each.explained_ns))
    if not others:
        return first
    claims: dict[str, float] = {}
    for name, ns in (claim for each in causes for claim in each.claims):
        claims[name] = claims.get(name, 0.0) + ns
    ends = [each.interval_ns for each in causes if each.interval_ns is not None]
    known = len(ends) == len(causes)
    more = sum(each.explained_ns for each in others)
    return replace(
        first,
        explained_ns=first.explained_ns + more,
        interval_ns=(sum(low for low, _ in ends), sum(high for _, high in ends)) if known else None,
        sentence=f"{first.sentence} {_more_told(len(others), more)}",
        evidence=tuple(proof for each in (first, *others) for proof in each.evidence),
        claims=tuple(sorted(claims.items(), key=lambda each: -abs(each[1]))),
    )


def _more_told(others: int, ns: float) -> str:
    what = "One more change of this sort adds" if others == 1 else f"{others} more add"
    return f"{what} {'-' if ns < 0 else '+'}{brief_ns(abs(ns))} per cycle."


def _transfer_rise(members: Sequence[Member]) -> float:
    """What collectives gained for the process that waits least in them: that is no waiting.

    The others wait for it, and who that is changes from run to run.
    """
    talking = [
        [part for part in each.diagnosis.attribution if part.part == "exposed_communication"]
        for each in members
    ]
    base = min(sum(part.base_ns for part in parts) for parts in talking)
    new = min(sum(part.new_ns for part in parts) for parts in talking)
    return max(0.0, new - base)


def _merged(group: list[Cause], processes: int, change_ns: float) -> Cause:
    """What all have is meant as it is on average; what some have holds up all as it does them."""
    worst = max(group, key=lambda each: abs(each.explained_ns))
    if len(group) >= processes:
        ns = fmean(each.explained_ns for each in group)
        return _scaled(replace(worst, process=None), ns)
    names = list(dict.fromkeys(each.process or "" for each in group))
    who = listed(names)
    told = replace(worst, process=who, sentence=f"{who.capitalize()}: {worst.sentence}")
    # Others may have waited there anyway: no more is lost than cycles gained.
    return _scaled(told, _within(change_ns, worst.explained_ns) or worst.explained_ns)


def _scaled(cause: Cause, ns: float) -> Cause:
    share = ns / cause.explained_ns if cause.explained_ns else 0.0
    ends = sorted(end * share for end in cause.interval_ns or ())
    return replace(
        cause,
        explained_ns=ns,
        interval_ns=(ends[0], ends[1]) if ends else None,
        claims=tuple((name, share * part) for name, part in cause.claims),
    )


def waits_left(
    parts: Sequence[Component], causes: Sequence[Cause]
) -> tuple[tuple[str, float], ...]:
    """What of the mean change of each component no cause explains, largest first.

    A cause that one process has shows as waiting in the others.
    """
    left = {part.name: part.delta_ns for part in parts}
    for cause in causes:
        missing = 0.0
        for name, ns in cause.claims:
            found = _within(left.get(name, 0.0), ns)
            left[name] = left.get(name, 0.0) - found
            missing += ns - found
        for name in WAITS:
            found = _within(left.get(name, 0.0), missing)
            left[name] = left.get(name, 0.0) - found
            missing -= found
        if cause.claims:
            first = cause.claims[0][0]
            left[first] = left.get(first, 0.0) - missing
    some = [(name, ns) for name, ns in left.items() if ns]
    return tuple(sorted(some, key=lambda each: -abs(each[1])))


def _within(there: float, wanted: float) -> float:
    """What of an amount is there, of the same sign."""
    if there * wanted <= 0:
        return 0.0
    return min(there, wanted) if wanted > 0 else max(there, wanted)
