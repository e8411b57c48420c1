"""Findings as the JSON of an answer has them, units in the keys."""

from __future__ import annotations

import msgspec

from timesink.model.findings import Evidence, RunFinding

_DIGITS = 6
"""Decimals of numbers that were divided: beyond them is only noise."""


class FindingJson(msgspec.Struct, frozen=True):
    """A finding of a run."""

    rule: str
    severity: str
    title: str
    sentence: str
    share_of_step: float
    gain_us_per_step: float
    gain_us_together: float
    gain_us_between_steps: float
    max_gain_us_per_step: float
    """The most it can save per step, where the recording does not show how much of that it does."""
    gain_basis: str
    saves_nothing: str
    """Why mending it alone saves nothing; empty where it does."""
    unknown_saving: str
    overlaps: list[str]
    """Empty: earlier versions listed findings here, and did not say what these save together."""
    evidence: list[dict[str, str | float]]
    """Kind and name of each, and what was measured, under names with the unit."""
    advice: str

    @classmethod
    def of(cls, finding: RunFinding) -> FindingJson:
        return cls(
            rule=finding.id,
            severity=finding.severity,
            title=finding.title,
            sentence=finding.sentence,
            share_of_step=round(finding.share, _DIGITS),
            gain_us_per_step=round(finding.cost_ns / 1000, _DIGITS),
            gain_us_together=round(finding.together_ns / 1000, _DIGITS),
            gain_us_between_steps=round(finding.between_ns / 1000, _DIGITS),
            max_gain_us_per_step=round(finding.most_ns / 1000, _DIGITS),
            gain_basis=finding.gain_basis,
            saves_nothing=finding.no_saving,
            unknown_saving=finding.unknown_saving,
            overlaps=[],
            evidence=[evidence_json(evidence) for evidence in finding.evidence],
            advice=finding.advice,
        )


def evidence_json(evidence: Evidence) -> dict[str, str | float]:
    """What it is of, and what was measured."""
    numbers = {key: round(value, _DIGITS) for key, value in evidence.numbers.items()}
    return {"kind": evidence.kind, "name": evidence.name, **numbers}
