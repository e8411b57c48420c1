"""Anomalies and symptoms in a sentence, and what to check next: ``causes.csv``."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from timesink.analyses.diagnosis.anomalies.readings import Reading
from timesink.analyses.diagnosis.anomalies.resources import table
from timesink.analyses.diagnosis.anomalies.suspect import Suspect
from timesink.model.amounts import amount, amounts, change

_DATA = Path(__file__).with_name("causes.csv")
_NOTABLE = 0.02
"""Own load is told where it is this part of what was counted."""


def sentence(one: Suspect) -> str:
    """What an anomaly is, with numbers and their units."""
    base, new, unit = one.reading.base_mean, one.reading.new_mean, one.reading.unit
    return _texts()[one.cause]["sentence"].format(
        device=one.device,
        metric=one.reading.metric,
        amounts=amounts(base, new, unit),
        change=change(base, new),
        own=_own(one),
        capacity=_capacity(one),
    )


def advice(cause: str) -> str:
    """What to check next.

    >>> advice("gpu_clock").startswith("See `nvidia-smi -q -d CLOCK,PERFORMANCE`")
    True
    """
    return _texts()[cause]["advice"]


def symptom_sentence(reading: Reading, refuted: str | None = None) -> str:
    """That a counter changed, and why that is no reason."""
    base, new = reading.base_mean, reading.new_mean
    told = f"{reading.metric} of {reading.device} changed {amounts(base, new, reading.unit)}"
    return f"{told} ({change(base, new)})" + (f"; no anomaly: {refuted}." if refuted else ".")


def _own(one: Suspect) -> str:
    """What others have of it, where that is another number."""
    counted, others = one.reading.new_mean, one.others.new_mean
    if counted <= 0 or counted - others < _NOTABLE * counted:
        return ""
    return f", {amount(others, one.reading.unit)} of it by others"


def _capacity(one: Suspect) -> str:
    if one.capacity is None:
        return ""
    return f", of {amount(one.capacity, one.reading.unit)} it can carry"


@lru_cache(maxsize=1)
def _texts() -> dict[str, dict[str, str]]:
    return {row["cause"]: row for row in table(_DATA)}
