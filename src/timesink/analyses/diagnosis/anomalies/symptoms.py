"""Counters that changed and explain nothing: the process's own use, and what was not believed."""

from __future__ import annotations

from collections.abc import Sequence

from timesink.analyses.diagnosis.anomalies.comparing_levels import chances, corrected
from timesink.analyses.diagnosis.anomalies.readings import Reading
from timesink.analyses.diagnosis.anomalies.suspect import Suspect
from timesink.analyses.diagnosis.anomalies.wording import symptom_sentence
from timesink.analyses.diagnosis.diagnosis import Symptom
from timesink.analyses.statistics.discovery import ALPHA

_LEAST_PART = 0.2
"""Part of the larger level by which a symptom changes at least ..."""
_LEAST_CHANGE = {"%": 5.0, "% of a core": 20.0, "C": 10.0, "B/s": 1e9}
"""... and by this much, in units that have a scale."""
_TOLD = ("symptom", "context", "exogenous")


def symptoms(
    found: Sequence[Reading], refuted: Sequence[Suspect], believed: Sequence[Suspect]
) -> tuple[Symptom, ...]:
    """Those that were suspected first, then the others by how much they changed."""
    suspected = {_key(one.reading) for one in (*refuted, *believed)}
    told = [one for one in found if one.resource.role in _TOLD and _key(one) not in suspected]
    q_values = corrected(chances(told))
    moved = [one for one, q in zip(told, q_values, strict=True) if q < ALPHA and _is_large(one)]
    moved.sort(key=lambda one: (-_part(one), *_key(one)))
    return (
        *(_symptom(one.reading, one.refuted) for one in refuted),
        *(_symptom(one) for one in moved),
    )


def _key(one: Reading) -> tuple[str, str]:
    return one.device, one.metric


def _symptom(one: Reading, refuted: str | None = None) -> Symptom:
    return Symptom(
        one.device,
        one.metric,
        one.unit or None,
        one.base_mean,
        one.new_mean,
        symptom_sentence(one, refuted),
        why=refuted,
    )


def _part(one: Reading) -> float:
    largest = max(abs(one.base_mean), abs(one.new_mean))
    return abs(one.rise) / largest if largest else 0.0


def _is_large(one: Reading) -> bool:
    return _part(one) >= _LEAST_PART and abs(one.rise) >= _LEAST_CHANGE.get(one.unit, 0.0)
