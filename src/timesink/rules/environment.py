"""What is different in the environment of two runs, each resource of each device once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from timesink.analyses.anatomy.anatomy import Anatomy
from timesink.analyses.comparison.pair import Pair
from timesink.analyses.statistics.ranks import ALPHA
from timesink.model.findings import Evidence, Finding
from timesink.model.units import amount, amounts, change
from timesink.rules.counter_levels import (
    CounterReading,
    chances,
    corrected,
    derived,
    harmful_chances,
    readings,
    without_impossible,
)
from timesink.rules.registry import catalogue, rules_for
from timesink.rules.resource_load import Context, capacity, ground, of_others, severity

_NOTABLE = 0.02
"""Own load is told where it is this part of what was counted."""
_LEAST_PART = 0.2
"""Part of the larger level by which a symptom changes at least ..."""
_LEAST_CHANGE = {"%": 5.0, "% of a core": 20.0, "C": 10.0, "B/s": 1e9}
"""... and by this much, in units that have a scale."""
_TOLD = ("symptom", "context", "exogenous")


@dataclass(frozen=True, slots=True, eq=False)
class Suspect:
    """A counter that moved in its harmful direction, before it is believed."""

    cause: str
    reading: CounterReading
    """As counted."""
    others: CounterReading
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


def find_anomalies(
    pair: Pair, base: Anatomy, new: Anatomy
) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """Resources that are less there for the process than they were, most severe first.

    Counters of what the process itself does, and those that another one or the trace speaks
    against, are symptoms.  Values that cannot be are left out: `impossible_levels` tells of them.
    """
    base, new = without_impossible(base), without_impossible(new)
    found = readings(pair, base, new)
    found += derived(pair, found)
    context = Context(pair, base, new, found)
    suspects = _suspects(context)
    for check in rules_for("environment"):
        suspects = check(suspects, context)
    believed = [one for one in suspects if one.refuted is None]
    anomalies = tuple(_anomaly(group, context) for group in _ranked(believed))
    refuted = [one for one in suspects if one.refuted is not None]
    return anomalies, _symptoms(found, refuted, believed)


def _suspects(context: Context) -> list[Suspect]:
    """Counters of shared resources that moved in their harmful direction, by enough to matter."""
    counted = [one for one in context.readings if one.resource.role == "exogenous"]
    others = [of_others(one, context) for one in counted]
    grounds = [ground(one, context) for one in others]
    q_values = corrected(harmful_chances(others, grounds)).tolist()
    found = []
    for one, rest, q in zip(counted, others, q_values, strict=True):
        lost, least = severity(rest, context), one.resource.hurts_from
        high = least is None or one.new_mean >= least
        if high and q < ALPHA and lost >= one.resource.floor:
            found.append(Suspect(one.resource.cause, one, rest, lost, q, capacity(one, context)))
    return found


def _ranked(suspects: Iterable[Suspect]) -> list[list[Suspect]]:
    """Suspects of one cause on one device together; most severe first, and effects after causes."""
    groups: dict[tuple[str, str], list[Suspect]] = {}
    for one in sorted(
        suspects, key=lambda one: (-one.severity, one.cause, one.device, one.reading.metric)
    ):
        groups.setdefault((one.cause, one.device), []).append(one)
    waiting = list(groups.values())
    done: list[list[Suspect]] = []
    while waiting:
        # What follows from another one waits for it, unless both wait for each other.
        ready = next((one for one in waiting if not _blocked(one, waiting)), waiting[0])
        waiting.remove(ready)
        done.append(ready)
    return done


def _blocked(group: Sequence[Suspect], waiting: Iterable[Sequence[Suspect]]) -> bool:
    before = {cause for one in group for cause in one.after}
    return any(
        other is not group and other[0].cause in before and other[0].device == group[0].device
        for other in waiting
    )


# -- in words --------------------------------------------------------------------------------------


def _anomaly(group: Sequence[Suspect], context: Context) -> Finding:
    """The strongest of several counters that tell the same, with the others as evidence."""
    first = group[0]
    reading, texts = first.reading, catalogue()["causes"][first.cause]
    base, new, unit = reading.base_mean, reading.new_mean, reading.unit
    others = first.others.new_mean
    # What others have of it, where that is another number.
    own = new > 0 and new - others >= _NOTABLE * new
    limit = first.capacity
    proofs = [counter_evidence(one.reading, context) for one in group]
    proofs += [proof for one in group for proof in one.evidence]
    said: dict[str, Evidence] = {}
    for proof in proofs:
        said.setdefault(proof.text, proof)
    return Finding(
        first.cause,
        texts["sentence"].format(
            device=first.device,
            metric=reading.metric,
            amounts=amounts(base, new, unit),
            change=change(base, new),
            own=f", {amount(others, unit)} of it by others" if own else "",
            capacity="" if limit is None else f", of {amount(limit, unit)} it can carry",
        ),
        texts["advice"],
        share=first.severity,
        evidence=tuple(said.values()),
        device=first.device,
        metric=reading.metric,
        unit=unit or None,
        base=base,
        new=new,
        q_value=first.q_value,
    )


def counter_evidence(reading: CounterReading, context: Context | None = None) -> Evidence:
    """A counter on both sides; with a context, also the cycle that shows it best."""
    base, new, cycle = reading.base_mean, reading.new_mean, None
    span: tuple[int | None, int | None] = None, None
    if context is not None and len(reading.cycles) and len(reading.cycles) == len(reading.new):
        # The cycle of NEW in which it is farthest in the harmful direction.
        farthest = np.argmin if reading.resource.harm == "down" else np.argmax
        cycle = int(reading.cycles[int(farthest(reading.new))])
        span = context.new.span(cycle)
    told = f"{amounts(base, new, reading.unit)} ({change(base, new)})"
    return Evidence(
        "counter",
        f"{reading.metric} of {reading.device}: {told}",
        None if cycle is None else "new",
        cycle,
        *span,
        device=reading.device,
        metric=reading.metric,
        unit=reading.unit or None,
        base=base,
        new=new,
    )


def _symptoms(
    found: Sequence[CounterReading], refuted: Sequence[Suspect], believed: Sequence[Suspect]
) -> tuple[Finding, ...]:
    """Counters that changed and explain nothing: the process's own use, and what was not believed.

    Those that were suspected first, then the others by how much they changed.
    """
    suspected = {_key(one.reading) for one in (*refuted, *believed)}
    told = [one for one in found if one.resource.role in _TOLD and _key(one) not in suspected]
    q_values = corrected(chances(told))
    moved = [one for one, q in zip(told, q_values, strict=True) if q < ALPHA and _is_large(one)]
    moved.sort(key=lambda one: (-_part(one), *_key(one)))
    first = (_symptom(one.reading, one.refuted) for one in refuted)
    return (*first, *(_symptom(one) for one in moved))


def _key(one: CounterReading) -> tuple[str, str]:
    return one.device, one.metric


def _part(one: CounterReading) -> float:
    largest = max(abs(one.base_mean), abs(one.new_mean))
    return abs(one.rise) / largest if largest else 0.0


def _is_large(one: CounterReading) -> bool:
    return _part(one) >= _LEAST_PART and abs(one.rise) >= _LEAST_CHANGE.get(one.unit, 0.0)


def _symptom(one: CounterReading, refuted: str | None = None) -> Finding:
    """That a counter changed, and why that is no reason."""
    base, new = one.base_mean, one.new_mean
    told = f"{one.metric} of {one.device} changed {amounts(base, new, one.unit)}"
    because = f"; no anomaly: {refuted}." if refuted else "."
    return Finding(
        "symptom",
        f"{told} ({change(base, new)}){because}",
        device=one.device,
        metric=one.metric,
        unit=one.unit or None,
        base=base,
        new=new,
        why=refuted,
    )
