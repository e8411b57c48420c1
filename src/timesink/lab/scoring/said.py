"""The part of a diagnosis that is right or wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from timesink.analyses.comparison.pair import Pair
from timesink.analyses.diagnosis.diagnosing import diagnose
from timesink.analyses.diagnosis.diagnosis import Diagnosis
from timesink.analyses.diagnosis.together import diagnose_together
from timesink.lab.scoring.expected import Expected, heads

NOTHING = "nothing"
"""What is named where no name is given."""
_QUIET = ("no_change", "incomparable")


@dataclass(frozen=True)
class Said:
    """What a diagnosis says."""

    verdict: str
    change_pct: float | None
    anomalies: tuple[str, ...]
    causes: tuple[str, ...]
    explained_ns: float
    unexplained_ns: float
    total_ns: float
    sum_error: float
    """How far the components are from adding up to the change, as a part of the change."""

    @property
    def is_alarm(self) -> bool:
        """Whether anything is said to have changed."""
        return self.verdict not in _QUIET or self.names_something

    @property
    def names_something(self) -> bool:
        """Whether any name is given."""
        return bool(self.anomalies or self.causes)


def told(pairs: Sequence[Pair]) -> Diagnosis:
    """What is said about a case: of one process, or of all ranks together."""
    return diagnose(pairs[0]) if len(pairs) == 1 else diagnose_together(pairs)


def said_of(found: Diagnosis) -> Said:
    """What of a diagnosis is judged."""
    times = found.cycle_time
    total = times.new_ns - times.base_ns
    parts = sum(one.delta_ns for one in found.attribution)
    return Said(
        found.verdict,
        times.change_pct,
        tuple(dict.fromkeys(one.cause for one in found.anomalies)),
        tuple(dict.fromkeys(one.cause for one in found.causes)),
        sum(one.explained_ns for one in found.causes),
        found.unexplained_ns,
        total,
        abs(parts - total) / max(abs(total), 1.0) if found.attribution else 0.0,
    )


def misses(wanted: Expected, said: Said) -> int:
    """How many of the answers are wrong; for a run without a fault, whether any is given."""
    wrong_verdict = wanted.verdict is not None and said.verdict != wanted.verdict
    if wanted.is_nothing:
        return int(said.names_something) + int(wrong_verdict)
    wrong_anomaly = not heads(wanted.anomaly, said.anomalies)
    wrong_cause = not heads(wanted.cause, said.causes)
    return int(wrong_anomaly) + int(wrong_cause) + int(wrong_verdict)


def first_name(wanted: Expected, said: Said) -> str:
    """The name a reader meets first, in the list that should have it, else in the other.

    >>> quiet = Said("no_change", 0.1, (), ("host_code",), 0, 0, 0, 0)
    >>> first_name(Expected(cause="host_code"), quiet), first_name(Expected(), quiet)
    ('host_code', 'host_code')
    """
    around = said.anomalies[:1]
    inside = said.causes[:1]
    asks_inside = wanted.anomaly is None and wanted.cause is not None
    return [*(inside + around if asks_inside else around + inside), NOTHING][0]
