"""How often diagnoses are right, as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from timesink.lab.faults.fault import NORMAL
from timesink.lab.scoring.answer import INCOMPARABLE, NONE, DiagnosisAnswer, first_name, misses
from timesink.lab.scoring.expected import Expected, heads
from timesink.lab.scoring.made import Made
from timesink.lab.scoring.rates import Rate, rate_of

SCHEMA = "timesink/lab-score/1"
BETWEEN_RUNS = " vs "
"""In the name of a pair without a fault."""


@dataclass(frozen=True)
class ScoredCase:
    """What was said about one pair of recordings, and what should have been."""

    workload: str
    name: str
    fault: str
    expected: Expected
    said: DiagnosisAnswer

    @property
    def is_right(self) -> bool:
        """Whether every list that is asked for has a sound name first; without a fault, none.

        Runs without a fault that cannot be judged are no success.
        """
        is_silent = self.is_normal and self.said.verdict == INCOMPARABLE
        return not misses(self.expected, self.said) and not is_silent

    @property
    def named(self) -> str:
        """The name that is met first, or `none`, or `no verdict`."""
        return first_name(self.expected, self.said)

    @property
    def is_normal(self) -> bool:
        """Whether neither run has a fault."""
        return self.expected.is_nothing


@dataclass(frozen=True)
class LabScore:
    """All cases of a folder of recordings."""

    source: str
    about: Mapping[str, Any]
    """How the recordings were to be made."""
    cases: tuple[ScoredCase, ...]
    left_out: tuple[str, ...] = ()
    """Recordings that could not be compared, and why."""
    made: Made = field(default_factory=Made)
    """Where and how they were made, by their own account."""

    @property
    def faults(self) -> tuple[ScoredCase, ...]:
        """Pairs of which one has a fault."""
        return tuple(one for one in self.cases if not one.is_normal)

    @property
    def normals(self) -> tuple[ScoredCase, ...]:
        """Pairs without a fault."""
        return tuple(one for one in self.cases if one.is_normal)

    @property
    def confusion(self) -> dict[str, Counter[str]]:
        """For every fault that was put in, how often which name was met first."""
        table: dict[str, Counter[str]] = {}
        for one in (*self.faults, *self.normals):
            table.setdefault(one.fault if not one.is_normal else NORMAL, Counter())[one.named] += 1
        return table

    @property
    def sound(self) -> dict[str, set[str]]:
        """For every row of the confusion table, the names that are sound."""
        names: dict[str, set[str]] = {NORMAL: {NONE}}
        for one in self.faults:
            wanted = (one.expected.anomaly, one.expected.cause)
            found = {name for each in wanted if each for name in each.split("|")}
            names.setdefault(one.fault, set()).update(found)
        return names

    @property
    def rates(self) -> dict[str, Rate]:
        """The figures that sum it up, by what they count."""
        faults = self.faults
        return {
            "right": rate_of(one.is_right for one in faults),
            "anomaly_first": rate_of(
                heads(one.expected.anomaly, one.said.anomalies)
                for one in faults
                if one.expected.anomaly
            ),
            "cause_first": rate_of(
                heads(one.expected.cause, one.said.causes) for one in faults if one.expected.cause
            ),
            "anomaly_beside_code_fault": rate_of(
                bool(one.said.anomalies) for one in faults if not one.expected.anomaly
            ),
            "named_without_fault": rate_of(
                any(one.said.names_something for one in pair) for pair in self._normal_pairs()
            ),
            "verdict_without_fault": rate_of(
                any(one.said.has_changed for one in pair) for pair in self._normal_pairs()
            ),
        }

    def _normal_pairs(self) -> Iterable[list[ScoredCase]]:
        """Pairs without a fault, with what was said of them in either order: they count once."""
        pairs: dict[tuple[str, frozenset[str]], list[ScoredCase]] = {}
        for one in self.normals:
            runs = frozenset(one.name.split(BETWEEN_RUNS))
            pairs.setdefault((one.workload, runs), []).append(one)
        return pairs.values()

    def right_by(self, what: str) -> dict[str, Rate]:
        """How often faults are named right: for each `fault`, or for each `workload`."""
        names = [str(getattr(one, what)) for one in self.faults]
        return {
            name: rate_of(
                one.is_right for one, own in zip(self.faults, names, strict=True) if own == name
            )
            for name in dict.fromkeys(names)
        }

    def to_dict(self) -> dict[str, Any]:
        """The whole score, ready for JSON."""
        return {
            "schema": SCHEMA,
            "source": self.source,
            "about": dict(self.about),
            "recorded": asdict(self.made),
            **{
                what: {name: _plain_rate(one) for name, one in rates.items()}
                for what, rates in (
                    ("rates", self.rates),
                    ("by_fault", self.right_by("fault")),
                    ("by_workload", self.right_by("workload")),
                )
            },
            "confusion": {fault: dict(named) for fault, named in self.confusion.items()},
            "pairs": [_plain_case(one) for one in self.cases],
            "left_out": list(self.left_out),
        }


def _plain_rate(rate: Rate) -> dict[str, Any]:
    interval = rate.interval
    return {
        "hits": rate.hits,
        "trials": rate.trials,
        "share": rate.share,
        "ci95": None if interval is None else list(interval),
    }


def _plain_case(one: ScoredCase) -> dict[str, Any]:
    wanted, said = one.expected, one.said
    return {
        "workload": one.workload,
        "name": one.name,
        "fault": one.fault,
        "expected": {"anomaly": wanted.anomaly, "cause": wanted.cause, "verdict": wanted.verdict},
        "verdict": said.verdict,
        "change_pct": said.change_pct,
        "anomalies": list(said.anomalies),
        "causes": list(said.causes),
        "explained_us": said.explained_ns / 1e3,
        "unexplained_us": said.unexplained_ns / 1e3,
        "named": one.named,
        "right": one.is_right,
    }
