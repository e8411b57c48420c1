"""The part of a diagnosis that is right or wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from timesink.analyses.comparison.pair import Pair
from timesink.lab.scoring.expected import Expected, heads
from timesink.model.diagnosis import Diagnosis
from timesink.rules.diagnosis import diagnose
from timesink.rules.joint_diagnosis import diagnose_together

NONE = "none"
"""What is named where no name is given."""
NO_VERDICT = "no verdict"
"""The same where both runs cannot be judged at all."""
INCOMPARABLE = "incomparable"


@dataclass(frozen=True)
class DiagnosisAnswer:
    """What a diagnosis says."""

    verdict: str
    change_pct: float | None
    anomalies: tuple[str, ...]
    causes: tuple[str, ...]
    explained_ns: float
    unexplained_ns: float
    total_ns: float

    @property
    def has_changed(self) -> bool:
        """Whether cycles are said to take another time."""
        return self.verdict in ("regression", "improvement")

    @property
    def names_something(self) -> bool:
        """Whether any name is given."""
        return bool(self.anomalies or self.causes)


SILENT = DiagnosisAnswer(INCOMPARABLE, None, (), (), 0.0, 0.0, 0.0)
"""What is said of a recording in which no cycles can be found."""


def told(pairs: Sequence[Pair]) -> Diagnosis:
    """What is said about a case: of one process, or of all ranks together."""
    return diagnose(pairs[0]) if len(pairs) == 1 else diagnose_together(pairs)


def answer_of(found: Diagnosis) -> DiagnosisAnswer:
    """What of a diagnosis is judged."""
    times = found.cycle_time
    return DiagnosisAnswer(
        found.verdict,
        times.change_pct,
        tuple(dict.fromkeys(one.cause for one in found.anomalies)),
        tuple(dict.fromkeys(one.cause for one in found.causes)),
        sum(one.explained_ns for one in found.causes),
        found.unexplained_ns,
        times.new_ns - times.base_ns,
    )


def misses(wanted: Expected, said: DiagnosisAnswer) -> int:
    """How many of the answers are wrong; for a run without a fault, whether any name is given."""
    wrong_verdict = wanted.verdict is not None and said.verdict != wanted.verdict
    if wanted.is_nothing:
        return int(said.names_something) + int(wrong_verdict)
    wrong_anomaly = not heads(wanted.anomaly, said.anomalies)
    wrong_cause = not heads(wanted.cause, said.causes)
    return int(wrong_anomaly) + int(wrong_cause) + int(wrong_verdict)


def first_name(wanted: Expected, said: DiagnosisAnswer) -> str:
    """The name a reader meets first, in the list that should have it, else in the other."""
    around = said.anomalies[:1]
    inside = said.causes[:1]
    asks_inside = wanted.anomaly is None and wanted.cause is not None
    unnamed = NO_VERDICT if said.verdict == INCOMPARABLE else NONE
    return [*(inside + around if asks_inside else around + inside), unnamed][0]
