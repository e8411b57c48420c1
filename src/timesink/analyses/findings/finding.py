"""What a rule has to say: a cause, its numbers, the events it rests on, what to try."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

HIGH, MEDIUM, LOW = "high", "medium", "low"
SEVERITIES = (HIGH, MEDIUM, LOW)

_HIGH_SHARE, _MEDIUM_SHARE = 0.2, 0.05
_DIGITS = 6
"""Decimals of numbers that were divided: beyond them is only noise."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One event or group of events a finding rests on, with its numbers; units are in the keys."""

    kind: str
    """`step`, `operator`, `kernel`, `call`, `copy`, `gap`, `device` or `worker`."""
    name: str
    numbers: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        numbers = {key: _without_noise(value) for key, value in self.numbers.items()}
        return {"kind": self.kind, "name": self.name, **numbers}


@dataclass(frozen=True, slots=True)
class Finding:
    """One cause of lost time, or one doubt about the recording."""

    rule: str
    """Stable id of the rule, to filter by."""
    title: str
    sentence: str
    """What was measured, with its numbers."""
    advice: str
    share: float
    """Part of the step time it concerns, 0 to 1; between steps, of the time from first to last."""
    gain_ns: float = 0.0
    """What mending it may save of an average step; an estimate, 0 where there is none."""
    gain_basis: str = ""
    """What the estimate assumes."""
    between_ns: float = 0.0
    """What mending it may save between two steps, beside what it saves in them."""
    evidence: tuple[Evidence, ...] = ()
    least_severity: str = LOW
    """Severity whatever the share; a warning about the recording has no share."""
    marked: bool = True
    """Whether the steps it speaks of are marked; else the whole recording counts as one."""

    @property
    def severity(self) -> str:
        """How grave it is: `high`, `medium` or `low`.

        >>> Finding("rule", "Title", "Sentence.", "Advice.", share=0.3).severity
        'high'
        """
        by_share = HIGH if self.share >= _HIGH_SHARE else MEDIUM
        by_share = by_share if self.share >= _MEDIUM_SHARE else LOW
        return min(by_share, self.least_severity, key=SEVERITIES.index)

    def to_dict(self) -> dict[str, Any]:
        """As plain data, units in the keys."""
        return {
            "rule": self.rule,
            "severity": self.severity,
            "title": self.title,
            "sentence": self.sentence,
            "share_of_step": _without_noise(self.share),
            "gain_us_per_step": _without_noise(self.gain_ns / 1000),
            "gain_us_between_steps": _without_noise(self.between_ns / 1000),
            "gain_basis": self.gain_basis,
            "evidence": [item.to_dict() for item in self.evidence],
            "advice": self.advice,
        }


def _without_noise(value: float) -> float:
    return round(value, _DIGITS)
