"""Runs of two versions in turn, until it is decided what differs or the time is used up."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any, Protocol

import numpy as np

from timesink import __version__
from timesink.analyses.statistics.repeats import Decision, TimedRun, decide, next_sides
from timesink.errors import CollectError, TimesinkError
from timesink.recorder.counter_probes import wanted
from timesink.recorder.folder import DEFAULT_INTERVAL_MS, RecordingFolder, RecordPlan
from timesink.recorder.recording import Request, record_program
from timesink.recorder.run_file import ProgramEnd
from timesink.recorder.versions import Version
from timesink.sources.ab_folder import SIDES, AbLook, AbPlan, AbRun, AbRuns, write_ab
from timesink.sources.sidecars import run_file_in

LOG_FILE = "output.txt"
UNDECIDED = "undecided"

# One run.

Make = Callable[[str, str, bool], AbRun]
"""Make a run of a side in a folder, with or without a timeline; one that failed says why."""


@dataclass(frozen=True)
class RecordedTurn:
    """Makes runs with the recorder."""

    root: Path
    versions: Mapping[str, Version]
    plan: AbPlan
    say: Callable[[str], None]
    interruptions: list[int]
    shows_output: bool = False

    def __call__(self, side: str, folder: str, timeline: bool) -> AbRun:  # noqa: FBT001 - as `Make`
        version, place = self.versions[side], self.root / folder
        request = Request(
            command=version.command,
            plan=self._plan(timeline=timeline),
            place=RecordingFolder(place),
            counters=wanted(self.plan.counters if timeline else "none"),
            interval_ms=DEFAULT_INTERVAL_MS,
            timesink=__version__,
            directory=version.directory,
            environment=version.environment,
            log=None if self.shows_output else place / LOG_FILE,
            is_alone=True,
        )
        told, _, ended = record_program(request, self.say, self.interruptions)
        why = "interrupted" if self.interruptions else _why_failed(told, ended, timeline=timeline)
        return AbRun(
            side, folder, told["started_us"], told["ended_us"], ended.status, why, timeline
        )

    def _plan(self, *, timeline: bool) -> RecordPlan:
        plan = RecordPlan(plain=self.plan.plain, marker=self.plan.marker, stop=True)
        if self.plan.skip is not None:
            plan = replace(plan, skip=self.plan.skip)
        return plan if timeline else replace(plan, plain_s=self.plan.plain_s, plain_only=True)


def _why_failed(told: Mapping[str, Any], ended: ProgramEnd, *, timeline: bool) -> str:
    if ended.status:
        return f"killed by {ended.signal}" if ended.signal else f"exit code {ended.status}"
    if told["cycles"]["recorded" if timeline else "plain"]:
        return ""
    return told["why_partial"] or "no cycle was timed"


# Their plain cycles.


def timed_run(run: AbRun, folder: Path) -> TimedRun | None:
    """The plain cycles of a run; None where there are none."""
    found = run_file_in(folder / run.folder)
    if found is None or found.run is None or not found.run.plain_ns:
        return None
    cycles_ns = np.asarray(found.run.plain_ns, dtype=np.float64)
    overhead = found.run.overhead
    probes_us = [one for one in overhead.plain_probe_us[-len(cycles_ns) :] if one is not None]
    speed_ns = 1000 * median(probes_us) if probes_us else None
    started_us = overhead.plain_started_us or run.started_us
    return TimedRun(run.side, cycles_ns, started_us, speed_ns, run.folder)


def timed_runs(ab: AbRuns, folder: Path) -> list[TimedRun]:
    """The plain cycles of all runs that are compared, in the order in which they ran."""
    return [timed for run in ab.counted if (timed := timed_run(run, folder)) is not None]


# All of them.


class Onlooker(Protocol):
    """Is told how it goes."""

    def begins(self, folder: str, what: str) -> None:
        """A run begins: `warm-up`, `timeline` or one that counts."""

    def failed(self, run: AbRun) -> None:
        """A run failed; it is kept, and others go on."""

    def looked(self, ab: AbRuns, decision: Decision) -> None:
        """What is known after another pair of runs."""


class _StoppedError(Exception):
    """Somebody wants it to end."""


_IN_A_ROW = 3
"""So many failures of a side one after the other are no accident."""
_AT_FIRST = 2
"""So many where no run of the side has worked."""


@dataclass
class Turns:
    """Makes runs of both sides, looks after each pair, and keeps `ab.json` true all the time."""

    ab: AbRuns
    folder: Path
    make: Make
    onlooker: Onlooker
    is_stopped: Callable[[], bool]
    now_s: Callable[[], float] = time.monotonic
    _timed: list[TimedRun] = field(default_factory=list)
    _took_s: dict[str, list[float]] = field(default_factory=dict)
    """Of this sitting, for each side."""
    _worked: dict[str, list[bool]] = field(default_factory=dict)
    """The same: whether each run did."""

    def to_the_end(self) -> Decision | None:
        """Make runs until it is decided, or the budget is used up; None without a pair.

        One that was begun before is gone on with.  What stops it early is in `ab.why_partial`.
        """
        decision = None
        try:
            self._drop_half_pair()
            self._timed = timed_runs(self.ab, self.folder)
            decision = self._decision()
            if not is_decided(decision):
                decision = self._measure(decision)
            self._add_timelines()
        except _StoppedError:
            self._write(complete=False, why_partial="interrupted")
        except TimesinkError as error:
            self._write(complete=False, why_partial=error.message)
            raise
        else:
            self._write(complete=True, why_partial="")
        return decision

    def _drop_half_pair(self) -> None:
        """A run whose neighbour would come after the pause is not compared."""
        if len(self.ab.counted) % 2:
            lone = self.ab.counted[-1]
            runs = (replace(one, warm_up=True) if one is lone else one for one in self.ab.runs)
            self.ab = replace(self.ab, runs=tuple(runs))
        self._write(complete=False, why_partial="it has not ended")

    def _measure(self, decision: Decision | None) -> Decision | None:
        """Pairs of runs, after one of each side that compiles and fills caches."""
        until_s = self.now_s() + self.ab.budget_s
        for side in SIDES:
            self._take(side, warm_up=True)
        sides = islice(next_sides(self.ab.seed), len(self.ab.counted), None)
        most = self.ab.plan.most_runs
        while not is_decided(decision):
            pair = list(islice(sides, 2))
            # Half a pair would be of no use.
            if self.now_s() + sum(median(self._took_s[side]) for side in pair) > until_s:
                break
            if most is not None and len(self.ab.counted) >= 2 * most:
                break
            for side in pair:
                self._take(side)
            decision = self._look()
        return decision

    def _add_timelines(self) -> None:
        """One run more of each side, with a timeline: where that fails the times are still good."""
        for side in SIDES if self.ab.plan.has_timeline else ():
            if side not in self.ab.timelines():
                self._take(side, timeline=True)

    def _take(self, side: str, *, warm_up: bool = False, timeline: bool = False) -> None:
        """Make a run; one that fails is made again, and again, unless it always fails."""
        while True:
            if self.is_stopped():
                raise _StoppedError
            folder = f"{side}/{1 + sum(run.side == side for run in self.ab.runs):02d}"
            self.onlooker.begins(folder, "timeline" * timeline or "warm-up" * warm_up)
            begun_s = self.now_s()
            run = replace(self.make(side, folder, timeline), warm_up=warm_up)
            self._took_s.setdefault(side, []).append(self.now_s() - begun_s)
            self.ab = replace(self.ab, runs=(*self.ab.runs, run))
            timed = timed_run(run, self.folder) if run.counts else None
            self._timed += [] if timed is None else [timed]
            self._write()
            if self.is_stopped():
                raise _StoppedError
            if run.failed:
                self.onlooker.failed(run)
            if not run.failed or timeline:
                self._worked.setdefault(side, []).append(True)
                return
            self._worked.setdefault(side, []).append(False)
            self._check_failures(run)

    def _check_failures(self, run: AbRun) -> None:
        worked = self._worked[run.side]
        if any(worked[-_IN_A_ROW:]) or len(worked) < (_IN_A_ROW if any(worked) else _AT_FIRST):
            return
        in_a_row = len(worked) - max((n for n, one in enumerate(worked, 1) if one), default=0)
        log = self.folder / run.folder / LOG_FILE
        hint = "name what a cycle is with --marker NAME; " * (not run.exit)
        hint += f"what it said is in {log}" if log.exists() else "run it by itself"
        raise CollectError(f"{run.side}: {in_a_row} runs in a row failed ({run.failed})", hint)

    def _look(self) -> Decision | None:
        decision = self._decision()
        if decision is not None:
            typical = decision.typical
            look = AbLook(decision.pairs, typical.change_pct, typical.interval_pct)
            self.ab = replace(self.ab, history=(*self.ab.history, look))
            self._write()
            self.onlooker.looked(self.ab, decision)
        return decision

    def _decision(self) -> Decision | None:
        if {run.side for run in self._timed} < set(SIDES):
            return None
        return decide(self._timed, self.ab.detect_pct)

    def _write(self, **facts: Any) -> None:
        self.ab = replace(self.ab, **facts)
        write_ab(self.ab, self.folder)


def is_decided(decision: Decision | None) -> bool:
    """Whether more runs would say nothing more."""
    return decision is not None and decision.outcome != UNDECIDED
