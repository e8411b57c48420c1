"""Whether a comparison passes, as plain data: the checks of a gate, and how much is allowed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from timesink.errors import UsageError
from timesink.model import units
from timesink.model.diagnosis import Diagnosis
from timesink.model.findings import Finding
from timesink.model.health import RULES
from timesink.readers.discover import sayable

REGRESSION = "regression"
PASSED, FAILED, UNJUDGED = "passed", "failed", "unjudged"
_CODES = {PASSED: 0, FAILED: 3, UNJUDGED: 1}


@dataclass(frozen=True, slots=True)
class Limit:
    """What fails: any certain slow-down, or one by more than some percent in its best estimate.

    Certain is that cycles became longer at all, not that they did by more than that.
    """

    allowed_pct: float | None = None
    """None where nothing is allowed."""

    @classmethod
    def of(cls, text: str) -> Limit:
        """The limit of an option."""
        if text.strip().lower() == REGRESSION:
            return cls()
        number, is_pct = text.strip().removesuffix("%"), text.strip().endswith("%")
        try:
            allowed = float(number)
        except ValueError:
            allowed = math.nan
        # 0.05 may be meant as a share: what is in percent has to say so.
        if not is_pct or not 0 <= allowed < math.inf:
            raise UsageError(
                f"--fail-on {text!r}: neither a regression nor a percentage",
                "try --fail-on regression, or --fail-on 5%",
            )
        return cls(allowed)

    def is_exceeded(self, change_pct: float | None) -> bool:
        """Whether a certain slow-down is too much, by its best estimate."""
        return self.allowed_pct is None or (change_pct or 0.0) > self.allowed_pct

    @property
    def text(self) -> str:
        """As it is written on the command line."""
        return REGRESSION if self.allowed_pct is None else f"{self.allowed_pct:g}%"


def gate_check(
    kind: str,
    name: str,
    outcome: str,
    sentence: str,
    *,
    counts: bool = True,
    is_empty: bool = False,
    time_ns: float = 0.0,
) -> Finding:
    """One thing that was looked at; `time_ns` is what was measured in the new run."""
    return Finding(
        kind,
        sentence,
        cost_ns=time_ns,
        name=name,
        outcome=outcome,
        counts=counts,
        is_empty=is_empty,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Gate:
    """Whether a run passes: it fails where one check does, and passes only where all do."""

    subject: str
    """What was compared: `normal vs python_stall`."""
    asked: str
    """Options that ask for it: `--fail-on 5% --budget limits.toml`; empty where none do."""
    checks: tuple[Finding, ...]
    why: Diagnosis | None = None
    """The diagnosis behind the cycle time that is told first: one that failed, if any did."""
    unseen: str = ""
    """Which changes these runs cannot show, in a sentence."""
    doubts: tuple[str, ...] = ()
    """Recordings that ended early, and why."""
    notes: tuple[str, ...] = ()
    """What to know of the recordings."""
    command: tuple[str, ...] = ()
    """The command line that says it again."""

    @property
    def outcome(self) -> str:
        """`passed`, `failed` or `unjudged`; a failure is said whatever else cannot be judged."""
        found = {check.outcome for check in self.checks if check.counts}
        return next((one for one in (FAILED, UNJUDGED) if one in found), PASSED)

    @property
    def exit_code(self) -> int:
        """0 passed, 3 failed, 1 cannot be judged."""
        return _CODES[self.outcome]

    @property
    def reasons(self) -> list[str]:
        """Why it does not pass: what failed, then what cannot be judged; empty where it does."""
        return [
            one.sentence
            for outcome in (FAILED, UNJUDGED)
            for one in self.checks
            if one.counts and one.outcome == outcome
        ]

    @property
    def kept(self) -> str:
        """How many budgets are kept, and how many had nothing to keep; empty without any."""
        passed = [one for one in self.of_kind("budget") if one.outcome == PASSED]
        empty = sum(one.is_empty for one in passed)
        kept = len(passed) - empty
        told = [f"{units.counted(kept, 'budgets')} kept"] if kept else []
        if empty:
            number = units.count(empty) if told else units.counted(empty, "budgets")
            told.append(f"{number} matched nothing (optional)")
        return f"{'; '.join(told)}." if told else ""

    def of_kind(self, kind: str) -> list[Finding]:
        """Checks of one kind, those that do not pass first."""
        return sorted((one for one in self.checks if one.kind == kind), key=lambda one: one.urgency)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "outcome": self.outcome,
            "asked": sayable(self.asked),
            "unseen": sayable(self.unseen),
            "checks": [
                {
                    "kind": one.kind,
                    "name": sayable(one.name),
                    "outcome": one.outcome,
                    "counts": one.counts,
                    "sentence": sayable(one.sentence),
                }
                for one in self.checks
            ],
        }


_ENDED_EARLY = tuple(RULES[code].title for code in ("lost_recording", "partial_recording"))


def doubts_of(notes: Iterable[str]) -> tuple[str, ...]:
    """The notes that say a recording ended early and holds less than was asked, each once."""
    return tuple(dict.fromkeys(one for one in notes if any(said in one for said in _ENDED_EARLY)))
