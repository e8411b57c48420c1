"""What a recording can answer: a verdict on the recording itself, given before any answer.

A recording that starts in the middle of queued work, or misses work that the host waited for, still
has right sums; conclusions drawn from what is absent would be wrong.  Each reason says which
questions the recording cannot answer, what shows that, and what to record instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

import msgspec

Fit: TypeAlias = Literal["yes", "partly", "no"]

IDLE, STEP_TIME, CRITICAL_PATH = "idle", "step_time", "critical_path"
OVERHEAD, COMMUNICATION, RANKS, COMPARISON = "overhead", "communication", "ranks", "comparison"
QUESTIONS = (IDLE, STEP_TIME, CRITICAL_PATH, OVERHEAD, COMMUNICATION, RANKS, COMPARISON)
"""What may be asked: how idle a device is, how long a step takes, what decides it, what it takes
without profiler overhead, what communication costs, which rank others wait for, what changed."""


class Reason(msgspec.Struct, frozen=True):
    """One thing that a recording lacks or distorts."""

    code: str
    """Stable: `starts_with_backlog`, `work_not_recorded` ..."""
    sentence: str
    """What the recording shows, with its numbers."""
    record: str
    """What to record instead."""
    denies: tuple[str, ...]
    """The questions of `QUESTIONS` it cannot answer because of this."""
    evidence: Mapping[str, int | float | str] = msgspec.field(default_factory=dict)
    """What was measured; units are in the keys."""
    is_fatal: bool = False
    """Whether nothing that depends on time can be answered."""
    ranks: tuple[int, ...] = ()
    """Of a set of ranks: whose recordings show this; none where only all of them together do."""
    is_of_others: bool = False
    """Whether it is told of other ranks than the one in detail: what is told of that one holds."""


class Fitness(msgspec.Struct, frozen=True):
    """Whether a recording holds what answers need.

    >>> Fitness().fit
    'yes'
    >>> cut = Reason("step_cut", "The last step is cut.", "Record one more step.", (STEP_TIME,))
    >>> Fitness((cut,)).fit, Fitness((cut,)).answers(STEP_TIME), Fitness((cut,)).answers(IDLE)
    ('partly', False, True)
    """

    reasons: tuple[Reason, ...] = ()

    @property
    def fit(self) -> Fit:
        """`yes` without a reason against it, `no` where nothing about time can be answered."""
        if any(reason.is_fatal and not reason.is_of_others for reason in self.reasons):
            return "no"
        return "partly" if self.reasons else "yes"

    def answers(self, question: str) -> bool:
        """Whether the recording can answer one of `QUESTIONS`."""
        return not self.against(question)

    def against(self, *questions: str) -> tuple[Reason, ...]:
        """The reasons why it cannot answer any of some questions."""
        return tuple(
            reason
            for reason in self.reasons
            if not reason.is_of_others and any(name in reason.denies for name in questions)
        )

    def joined(self, more: Iterable[Reason]) -> Fitness:
        """The same with further reasons, each code once."""
        codes = {reason.code for reason in self.reasons}
        return Fitness((*self.reasons, *(reason for reason in more if reason.code not in codes)))


FIT = Fitness()
"""Of a recording that answers everything."""
