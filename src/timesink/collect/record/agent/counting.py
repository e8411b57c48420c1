"""Counting cycles, and what is due between one and the next."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from enum import Enum

from timesink.collect.record.plan import RecordPlan

_FOLLOWED_AT_MOST = 20
"""So many cycles after the recording show how fast the program is without it."""


class Due(Enum):
    """What to do between two cycles."""

    NOTHING = "nothing"
    PREPARE = "prepare the profiler"
    START = "start recording"
    NEXT = "mark the next cycle"
    FINISH = "end the recording"
    FORGET = "stop counting"


class Counting:
    """Counts the cycles of one program and says what is due after each.

    Some marks end a cycle (a step of an optimizer), some begin one (a call of a function): the
    first of those that begin one has no cycle before it.
    """

    def __init__(self, plan: RecordPlan, *, begins: bool, since_ns: int | None = None) -> None:
        self._plan = plan
        self._completed = 0 if begins else 1
        self._last_ns = since_ns
        self._is_prepared = False
        self.skipped: int | None = None
        self.before_ns: list[int] = []
        self.recorded_ns: list[int] = []
        self.after_ns: list[int] = []
        self.had_to_wait = False
        """Whether something was in the way of the recording."""
        self._is_over = False

    def boundary(self, now_ns: int, *, is_plain: bool = True) -> Due:
        """Count the cycle that ends now; how long it took tells something only if it is plain."""
        lasted_ns = now_ns - self._last_ns if self._last_ns is not None and is_plain else None
        self._last_ns = now_ns
        if self._is_over:
            if lasted_ns is not None:
                self.after_ns.append(lasted_ns)
            return Due.NOTHING if len(self.after_ns) < _FOLLOWED_AT_MOST else Due.FORGET
        if self.skipped is None:
            return self._before(lasted_ns)
        self.recorded_ns.append(lasted_ns or 0)
        if len(self.recorded_ns) < self._plan.cycles:
            return Due.NEXT
        self._is_over = True
        return Due.FINISH

    def resume(self, now_ns: int) -> None:
        """Leave the time a profiler took to start or to write out of the cycles."""
        self._last_ns = now_ns

    def skip_nothing(self) -> None:
        """Recording has begun with the very first cycle."""
        self.skipped = 0

    @property
    def seen(self) -> int:
        """Cycles that have ended before the recording, in it and after it."""
        recorded = len(self.recorded_ns) + len(self.after_ns)
        return (self._completed - 1 if self.skipped is None else self.skipped) + recorded

    def end(self) -> None:
        """The recording is over, whether it has its cycles or not."""
        self._is_over = True

    def wait_longer(self) -> None:
        """Something was in the way of the recording: what was due is due again."""
        self.skipped = None
        self._is_prepared = False
        self.had_to_wait = True

    def _before(self, lasted_ns: int | None) -> Due:
        if lasted_ns is not None and not self._is_prepared:
            self.before_ns.append(lasted_ns)
        completed, self._completed = self._completed, self._completed + 1
        if completed >= self._plan.skip:
            self.skipped = completed
            return Due.START
        if completed == self._plan.skip - 1:
            self._is_prepared = True
            return Due.PREPARE
        return Due.NOTHING


@dataclass
class CycleSource:
    """What tells one cycle from the next, and on which thread."""

    by: str
    name: str
    counting: Counting
    _thread: int = field(default_factory=threading.get_ident)
    _elsewhere: int = 0
    """Marks of the same kind that other threads made."""

    @property
    def number(self) -> int:
        """The cycle that begins now, counted from the first of the program, 0."""
        return (self.counting.skipped or 0) + len(self.counting.recorded_ns)

    @property
    def is_here(self) -> bool:
        """Whether it is this thread that counts."""
        return threading.get_ident() == self._thread

    def hears(self, by: str, name: str) -> bool:
        """Whether a mark of this kind and name, on this thread, tells cycles apart."""
        is_same = (self.by, self.name) == (by, name)
        self._elsewhere += is_same and not self.is_here
        return is_same and self.is_here

    @property
    def pace(self) -> dict[str, object]:
        """How many cycles there were, how long they took without the profiler, what disturbed."""
        return {
            "seen": self.counting.seen,
            "before_ns": self.counting.before_ns,
            "after_ns": self.counting.after_ns,
            "elsewhere": self._elsewhere,
            "own_profiler": self.counting.had_to_wait,
        }
