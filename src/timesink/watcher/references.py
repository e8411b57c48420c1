"""Recordings of healthy cycles: which workloads have one, and which is nearest to another."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from timesink.analyses.expected.workload import BATCH, INPUT, OUTPUT
from timesink.recorder.folder import write_whole
from timesink.watcher.journal import removed
from timesink.watcher.series import LEARNING, medians

EARLY = "early"
_MOST_KINDS, _MOST_TRIES = 500, 3
_FIRST_CYCLES = 200
"""So many tell which workloads are common."""
_UNLIKE = 1.5
"""Workloads that differ by more than this factor are not alike."""


@dataclass(frozen=True)
class Reference:
    """Healthy cycles, and what they had to do."""

    name: str
    folder: Path
    phase: str
    kind: str
    workload: Mapping[str, float]
    taken_us: int
    ended_us: int = 0
    recording: Mapping[str, Any] = field(default_factory=dict)
    """What came of recording it."""
    is_stale: bool = False
    """Whether it is to be taken anew; it stays until that is done."""

    @property
    def is_early(self) -> bool:
        """Whether it was taken before anything was learned."""
        return self.kind == EARLY

    def told(self) -> dict[str, Any]:
        return {
            "name": self.name, "phase": self.phase, "workload": dict(self.workload),
            "taken_us": self.taken_us,
        }  # fmt: skip


@dataclass(frozen=True)
class Likeness:
    """A reference beside a workload."""

    reference: Reference
    factor: float
    """By how much the column differs that differs most."""
    column: str
    same_phase: bool

    def told(self) -> dict[str, Any]:
        return {
            **self.reference.told(), "same_phase": self.same_phase,
            "differs_most": self.column or None, "factor": round(self.factor, 3),
        }  # fmt: skip

    @property
    def is_alike(self) -> bool:
        """Whether what differs comes from elsewhere."""
        return self.same_phase and self.factor <= _UNLIKE

    @property
    def remark(self) -> str:
        """What to know where workloads differ."""
        if not self.same_phase:
            return f"The reference is of {self.reference.phase} cycles: there is no nearer one."
        if self.factor > _UNLIKE:
            return (
                f"Workloads differ: {self.column} of the reference is {self.factor:.2g} times "
                "as large or small. Part of the change may come from that."
            )
        return ""


def dominant_phase(judged: pl.DataFrame) -> str:
    """The phase most cycles are in."""
    return str(judged["phase"].mode().sort()[0]) if judged.height else ""


def kind_of(phase: str, workload: Mapping[str, float]) -> str:
    """Workloads of about the same size are of one kind."""
    sizes = (
        f"{name}{round(math.log2(1 + max(value, 0.0)))}" for name, value in _sizes(workload).items()
    )
    return " ".join([phase, *sorted(sizes)])


def _sizes(workload: Mapping[str, float]) -> Mapping[str, float]:
    """What workloads are told apart by: of sequences, how many there are and all they hold.

    How long each is, and how much of that was written, makes little difference beside.
    """
    if not {BATCH, INPUT, OUTPUT} <= workload.keys():
        return workload
    held = workload[BATCH] * (workload[INPUT] + workload[OUTPUT])
    others = {name: value for name, value in workload.items() if not name.endswith("put_length")}
    return {**others, "kv": held}


@dataclass
class References:
    """All of a watched program."""

    folder: Path
    most: int
    taken: list[Reference] = field(default_factory=list)
    _kinds: Counter[str] = field(default_factory=Counter)
    _tries: Counter[str] = field(default_factory=Counter)

    def see(self, judged: pl.DataFrame, rows: pl.DataFrame) -> None:
        """Count what is common among healthy cycles."""
        phase = dominant_phase(judged)
        if phase and phase != LEARNING:
            self._kinds[kind_of(phase, medians(rows))] += rows.height
            if len(self._kinds) > _MOST_KINDS:
                self._kinds = Counter(dict(self._kinds.most_common(_MOST_KINDS // 2)))

    def is_wanted(self, phase: str, workload: Mapping[str, float]) -> bool:
        """Whether cycles as those now have no recording, and none that are commoner have none."""
        fresh = [one for one in self.taken if not one.is_stale]
        if not fresh:
            return True
        have = {one.kind for one in fresh if not one.is_early}
        common = self._kinds.most_common(self.most)
        # Loads may shift between the look and the recording: it is of another kind then.
        done = have | {kind for kind, tries in self._tries.items() if tries >= _MOST_TRIES}
        left = {kind: cycles for kind, cycles in common if kind not in done}
        if len(have) >= self.most or self._kinds.total() < _FIRST_CYCLES:
            return False
        kind = kind_of(phase, workload)
        return 2 * left.get(kind, 0) >= max(left.values(), default=1)

    def tried(self, phase: str, workload: Mapping[str, float]) -> None:
        """A recording of such cycles was begun."""
        self._tries[kind_of(phase, workload)] += 1

    def place(self) -> Path:
        """Where the next one goes."""
        number = 1
        while (self.folder / f"{number:02d}").exists():
            number += 1
        return self.folder / f"{number:02d}"

    def add(self, reference: Reference) -> None:
        """Keep one; one of the same kind goes, and the early one once two others are there."""
        others = sum(not one.is_early for one in self.taken)
        for old in list(self.taken):
            if old.kind == reference.kind or (old.is_early and (others or old.is_stale)):
                self.drop(old)
        self.taken.append(reference)
        stale = [one for one in self.taken if one.is_stale]
        for old in stale[: max(0, len(self.taken) - self.most)]:
            self.drop(old)
        with suppress(OSError):
            told = json.dumps(reference.told())
            write_whole(reference.folder / "workload.json", told.encode())

    def drop(self, reference: Reference) -> None:
        """One that is healthy no longer, or was not; its folder may be elsewhere by now."""
        self.taken.remove(reference)
        removed(reference.folder)

    def forget(self) -> None:
        """Take all of them anew; each stays until another has its place."""
        self.taken[:] = [replace(one, is_stale=True) for one in self.taken]
        self._kinds.clear()
        self._tries.clear()

    def nearest(self, phase: str, workload: Mapping[str, float]) -> Likeness | None:
        """The one whose phase and workload are most alike; None without any.

        >>> from pathlib import Path
        >>> few = Reference("01", Path("01"), "decode", "", {"batch_size": 4.0}, 0)
        >>> many = Reference("02", Path("02"), "decode", "", {"batch_size": 32.0}, 0)
        >>> found = References(Path(), 4, [few, many]).nearest("decode", {"batch_size": 16.0})
        >>> found.reference.name, found.factor
        ('02', 2.0)
        """
        found = [_likeness(one, phase, workload) for one in self.taken]
        return min(found, key=_distance, default=None)


def _distance(one: Likeness) -> tuple[bool, bool, bool, bool, float]:
    of = one.reference
    return not one.same_phase, one.factor > _UNLIKE, of.is_stale, of.is_early, one.factor


def _likeness(one: Reference, phase: str, workload: Mapping[str, float]) -> Likeness:
    worst, column = 1.0, ""
    ours, theirs = _sizes(one.workload), _sizes(workload)
    for name in {*ours} & {*theirs}:
        low, high = sorted((max(ours[name], 0.0), max(theirs[name], 0.0)))
        factor = high / low if low else (1.0 + high)
        if factor > worst:
            worst, column = factor, name
    # Of one that was taken before anything was learned no phase is known.
    return Likeness(one, worst, column, one.phase in {"", phase})
