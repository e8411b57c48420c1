"""What explains a change, as cards: causes and anomalies, with where their functions show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from timesink.model.diagnosis import Diagnosis
from timesink.model.findings import Finding
from timesink.render.comparison.words import short_names
from timesink.render.diagnosis import words
from timesink.render.document.blocks import CauseCard, Causes, Link

_MOST_EVIDENCE = 5
_MOST_LINKS = 3


@dataclass(frozen=True, slots=True)
class Functions:
    """Where functions of evidence are to be seen."""

    section: str
    label: Callable[[str], str]
    """What the tables of that section call a function."""


def causes_block(one: Diagnosis, functions: Functions | None = None) -> Causes:
    """Causes, most time first, then what else is different around it."""
    change = one.cycle_time.new_ns - one.cycle_time.base_ns
    cards = [_cause(each, change, functions) for each in one.causes]
    cards += [_anomaly(each, functions) for each in one.anomalies if not _is_told(each, one.causes)]
    return Causes(tuple(cards), "" if one.causes else words.no_cause(one))


def _is_told(anomaly: Finding, causes: Sequence[Finding]) -> bool:
    """Whether a cause says the same of the same device."""
    return any(
        (cause.cause, cause.process) == (anomaly.cause, anomaly.process)
        and (anomaly.sentence in cause.sentence or anomaly.device in cause.sentence)
        for cause in causes
    )


def _cause(one: Finding, change_ns: float, functions: Functions | None) -> CauseCard:
    share = one.explained_ns / change_ns if change_ns else None
    return CauseCard(
        one.cause,
        "cause",
        words.cause_title(one),
        short_names(words.cause_sentence(one)),
        one.explained_ns,
        "time_ns",
        share if share is not None and share > 0 else None,
        "of the change",
        one.advice,
        _evidence(one),
        _links(one, functions),
    )


def _anomaly(one: Finding, functions: Functions | None) -> CauseCard:
    return CauseCard(
        one.cause,
        "anomaly",
        words.cause_title(one),
        short_names(one.sentence),
        one.explained_ns or None,
        "time_ns",
        one.share,
        "severity",
        one.advice,
        _evidence(one),
        _links(one, functions),
    )


def _evidence(one: Finding) -> tuple[str, ...]:
    return tuple(short_names(line) for line in words.evidence_lines(one, _MOST_EVIDENCE))


def _links(one: Finding, functions: Functions | None) -> tuple[Link, ...]:
    """The functions of the evidence, in the tables that have them."""
    if functions is None:
        return ()
    named = [functions.label(each.function) for each in one.evidence if each.function]
    return tuple(
        Link(short_names(name), functions.section, name)
        for name in list(dict.fromkeys(named))[:_MOST_LINKS]
    )
