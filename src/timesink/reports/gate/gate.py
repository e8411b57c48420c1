"""Whether a comparison passes, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from timesink.model import units
from timesink.readers.discover import sayable

if TYPE_CHECKING:
    from timesink.analyses.diagnosis.diagnosis import Diagnosis

PASSED, FAILED, UNJUDGED = "passed", "failed", "unjudged"
_CODES = {PASSED: 0, FAILED: 3, UNJUDGED: 1}


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    kind: str
    """`cycle time`, `budget` or `recordings`."""
    name: str
    """Unlike that of any other check: `cycle time`, `operators "aten::mm" max`."""
    outcome: str
    """`passed`, `failed` or `unjudged`."""
    sentence: str
    """Why, with figures."""
    counts: bool = True
    """Whether the gate is asked about it; what is only shown fails nothing."""
    is_empty: bool = False
    """Whether there was nothing to look at, which is allowed: an optional budget."""
    time_ns: float | None = None
    """What was measured in the new run, where that is a time."""

    @property
    def urgency(self) -> int:
        """The lower, the sooner it is told: what failed, what cannot be judged, what passed."""
        return (FAILED, UNJUDGED, PASSED).index(self.outcome)


@dataclass(frozen=True, slots=True, eq=False)
class Gate:
    """Whether a run passes: it fails where one check does, and passes only where all do."""

    subject: str
    """What was compared: `normal vs python_stall`."""
    asked: str
    """Options that ask for it: `--fail-on 5% --budget limits.toml`; empty where none do."""
    checks: tuple[Check, ...]
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
        """How many budgets are kept, and how many had nothing to keep; empty without any.

        >>> checks = [Check("budget", "", PASSED, "", is_empty=one) for one in (False, False, True)]
        >>> Gate("a vs b", "", tuple(checks)).kept
        '2 budgets kept; 1 matched nothing (optional).'
        """
        passed = [one for one in self.of_kind("budget") if one.outcome == PASSED]
        empty = sum(one.is_empty for one in passed)
        kept = len(passed) - empty
        told = [f"{units.counted(kept, 'budgets')} kept"] if kept else []
        if empty:
            number = units.count(empty) if told else units.counted(empty, "budgets")
            told.append(f"{number} matched nothing (optional)")
        return f"{'; '.join(told)}." if told else ""

    def of_kind(self, kind: str) -> list[Check]:
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
