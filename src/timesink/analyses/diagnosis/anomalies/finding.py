"""What is different in the environment of two runs, each resource of each device once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from timesink.analyses.anatomy.anatomy import Anatomy
from timesink.analyses.comparison.pair import Pair
from timesink.analyses.diagnosis.anomalies.checks import checked
from timesink.analyses.diagnosis.anomalies.comparing_levels import corrected, harmful_chances
from timesink.analyses.diagnosis.anomalies.context import Context
from timesink.analyses.diagnosis.anomalies.derived import derived
from timesink.analyses.diagnosis.anomalies.evidence import counter_evidence
from timesink.analyses.diagnosis.anomalies.impossible import without_impossible
from timesink.analyses.diagnosis.anomalies.own_load import of_others
from timesink.analyses.diagnosis.anomalies.ranking import ranked
from timesink.analyses.diagnosis.anomalies.readings import readings
from timesink.analyses.diagnosis.anomalies.severity import capacity, ground, severity
from timesink.analyses.diagnosis.anomalies.suspect import Suspect
from timesink.analyses.diagnosis.anomalies.symptoms import symptoms
from timesink.analyses.diagnosis.anomalies.wording import advice, sentence
from timesink.analyses.diagnosis.diagnosis import Anomaly, Evidence, Symptom
from timesink.analyses.statistics.discovery import ALPHA


def find_anomalies(
    pair: Pair, base: Anatomy, new: Anatomy
) -> tuple[tuple[Anomaly, ...], tuple[Symptom, ...]]:
    """Resources that are less there for the process than they were, most severe first.

    Counters of what the process itself does, and those that another one or the trace speaks
    against, are symptoms.  Values that cannot be are left out: `impossible_levels` tells of them.
    """
    base, new = without_impossible(base), without_impossible(new)
    found = readings(pair, base, new)
    found += derived(pair, found)
    context = Context(pair, base, new, found)
    suspects = checked(_suspects(context), context)
    believed = [one for one in suspects if one.refuted is None]
    anomalies = tuple(_anomaly(group, context) for group in ranked(believed))
    refuted = [one for one in suspects if one.refuted is not None]
    return anomalies, symptoms(found, refuted, believed)


def _suspects(context: Context) -> list[Suspect]:
    """Counters of shared resources that moved in their harmful direction, by enough to matter."""
    counted = [one for one in context.readings if one.resource.role == "exogenous"]
    others = [of_others(one, context) for one in counted]
    grounds = [ground(one, context) for one in others]
    q_values = corrected(harmful_chances(others, grounds))
    found = (
        Suspect(
            one.resource.cause, one, rest, severity(rest, context), float(q), capacity(one, context)
        )
        for one, rest, q in zip(counted, others, q_values, strict=True)
    )
    return [one for one in found if _matters(one)]


def _matters(one: Suspect) -> bool:
    least = one.reading.resource.hurts_from
    high = least is None or one.reading.new_mean >= least
    return high and one.q_value < ALPHA and one.severity >= one.reading.resource.floor


def _anomaly(group: Sequence[Suspect], context: Context) -> Anomaly:
    """The strongest of several counters that tell the same, with the others as evidence."""
    first = group[0]
    return Anomaly(
        cause=first.cause,
        device=first.device,
        metric=first.reading.metric,
        unit=first.reading.unit or None,
        base=first.reading.base_mean,
        new=first.reading.new_mean,
        severity=first.severity,
        q_value=first.q_value,
        sentence=sentence(first),
        advice=advice(first.cause),
        evidence=_evidence(group, context),
    )


def _evidence(group: Sequence[Suspect], context: Context) -> tuple[Evidence, ...]:
    own = [counter_evidence(one.reading, context) for one in group]
    more = (proof for one in group for proof in one.evidence)
    return tuple(_once([*own, *more]))


def _once(evidence: Iterable[Evidence]) -> Iterable[Evidence]:
    told = set()
    for one in evidence:
        if one.text not in told:
            told.add(one.text)
            yield one
