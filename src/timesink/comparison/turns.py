"""Runs of two versions in turn, until it is decided what differs or the time is used up."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any, Protocol

import msgspec
from msgspec import structs

from timesink.comparison.repeated_runs import Decision, TimedRun, decide, next_sides, timed_runs
from timesink.comparison.thresholds import TurnsLimits
from timesink.errors import CollectError, TimesinkError
from timesink.model.diagnosis import SIDES, UNDECIDED
from timesink.recorder.counter_probes import wanted_counters
from timesink.recorder.folder import DEFAULT_INTERVAL_MS, RecordingFolder, RecordPlan
from timesink.recorder.recording import TIMED_OUT, Request, record_program
from timesink.recorder.run_file import ProgramEnd
from timesink.recorder.versions import Version
from timesink.sources.ab_folder import AbLook, AbPlan, AbRun, AbRuns, write_ab
from timesink.sources.sidecars import recorded_at
from timesink.version import __version__

LOG_FILE = "output.txt"

# One run.

WARM_UP, MEASURED, TIMELINE = "warm-up", "", "timeline"
"""What a run is for."""

Make = Callable[[str, str, str], AbRun]
"""Make a run of a side, in a folder, for something; one that failed says why."""


class RecordedTurn(msgspec.Struct, frozen=True):
    """Makes runs with the recorder."""

    root: Path
    versions: Mapping[str, Version]
    plan: AbPlan
    say: Callable[[str], None]
    interruptions: list[int]
    shows_output: bool = False
    limit_s: float | None = None
    """One run may take so long: it may hang."""

    def __call__(self, side: str, folder: str, what: str) -> AbRun:
        """Run the program, leave a recording."""
        timeline = what == TIMELINE
        version, place = self.versions[side], self.root / folder
        request = Request(
            command=version.command,
            plan=self._plan(timeline=timeline),
            place=RecordingFolder(place),
            counters=wanted_counters(self.plan.counters if timeline else "none"),
            interval_ms=DEFAULT_INTERVAL_MS,
            timesink=__version__,
            directory=version.directory,
            environment=version.environment,
            log=None if self.shows_output else place / LOG_FILE,
            is_alone=True,
            limit_s=self.limit_s,
        )
        facts, _, ended = record_program(request, self.say, self.interruptions)
        why = "interrupted" if self.interruptions else _why_failed(facts, ended, timeline=timeline)
        return AbRun(side, folder, facts["started_us"], facts["ended_us"], ended.status, why)

    def _plan(self, *, timeline: bool) -> RecordPlan:
        plan = RecordPlan(plain=self.plan.plain, marker=self.plan.marker, stop=True)
        if self.plan.skip is not None:
            plan = replace(plan, skip=self.plan.skip)
        return plan if timeline else replace(plan, plain_s=self.plan.plain_s, plain_only=True)


_NO_CYCLE = "no step was timed"
_ENDLESS = f"{_NO_CYCLE} within the time budget"


def _why_failed(facts: Mapping[str, Any], ended: ProgramEnd, *, timeline: bool) -> str:
    if ended.status == TIMED_OUT and ended.code != TIMED_OUT:
        timed = facts["cycles"]["recorded" if timeline else "plain"]
        return "took longer than the time budget" if timed else _ENDLESS
    if ended.status:
        return f"killed by {ended.signal}" if ended.signal else f"exit code {ended.status}"
    if len(facts["processes"]) > 1 and not timeline:
        return f"{len(facts['processes'])} processes were timed: ab needs a program of one process"
    if facts["cycles"]["recorded" if timeline else "plain"]:
        return ""
    return facts["why_partial"] or _NO_CYCLE


# Their plain cycles.


def timed_run(run: AbRun, folder: Path) -> TimedRun | None:
    """The unprofiled steps of a run; None where there are none."""
    return next(iter(timed_runs(recorded_at(folder / run.folder), run.folder, run.side)), None)


def runs_of(ab: AbRuns, folder: Path) -> list[TimedRun]:
    """The unprofiled steps of all runs that are compared, in the order in which they ran."""
    return [timed for run in ab.counted if (timed := timed_run(run, folder)) is not None]


# All of them.


class Onlooker(Protocol):
    """Is told how it goes."""

    def begins(self, folder: str, what: str) -> None:
        """A run begins; `what` it is for is empty where it counts."""

    def failed(self, run: AbRun) -> None:
        """A run failed; it is kept, and others go on."""

    def looked(self, ab: AbRuns, decision: Decision) -> None:
        """What is known after another pair of runs."""


class _StoppedError(Exception):
    """Somebody wants it to end."""


class Turns(msgspec.Struct):
    """Makes runs of both sides, looks after each pair, and keeps `ab.json` true all the time."""

    ab: AbRuns
    folder: Path
    make: Make
    onlooker: Onlooker
    is_stopped: Callable[[], bool]
    allowed_pct: float | None = None
    """A limit that is to be decided as well."""
    now_s: Callable[[], float] = time.monotonic
    _timed: list[TimedRun] = msgspec.field(default_factory=list)
    _until_s: float = 0.0
    _took_s: dict[str, list[float]] = msgspec.field(default_factory=dict)
    """Of this sitting, for each side."""
    _worked: dict[str, list[bool]] = msgspec.field(default_factory=dict)
    """The same: whether each run did."""

    def to_the_end(self) -> Decision | None:
        """Make runs until it is decided, or the budget is used up; None without a pair.

        One that was begun before is gone on with.  What stops it early is in `ab.why_partial`.
        """
        decision = None
        self._until_s = self.now_s() + self.ab.budget_s
        try:
            self._drop_half_pair()
            self._timed = runs_of(self.ab, self.folder)
            decision = self._decision()
            if not self._is_decided(decision):
                decision = self._measure(decision)
            if self.ab.pairs:
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
            runs = (
                structs.replace(run, warm_up=True) if run is lone else run for run in self.ab.runs
            )
            self.ab = structs.replace(self.ab, runs=tuple(runs))
        self._write(complete=False, why_partial="it has not ended")

    def _measure(self, decision: Decision | None) -> Decision | None:
        """Pairs of runs, after one of each side that compiles and fills caches."""
        for side in SIDES:
            self._take(side, WARM_UP)
        sides = islice(next_sides(self.ab.seed), len(self.ab.counted), None)
        most = self.ab.plan.most_runs
        while not self._is_decided(decision):
            pair = list(islice(sides, 2))
            # Half a pair would be of no use.
            if self._would_be_late(*pair):
                break
            if most is not None and len(self.ab.counted) >= 2 * most:
                break
            for side in pair:
                self._take(side)
            decision = self._look()
        return decision

    def _would_be_late(self, *sides: str) -> bool:
        """Whether runs of these sides would probably end after the budget."""
        took_s = sum(median(self._took_s[side]) for side in sides if side in self._took_s)
        return self.now_s() + took_s > self._until_s

    def _add_timelines(self) -> None:
        """One run more of each side, with a timeline: where that fails the times are still good."""
        for side in SIDES if self.ab.plan.has_timeline else ():
            if side not in self.ab.timelines():
                self._take(side, TIMELINE)

    def _take(self, side: str, what: str = MEASURED) -> None:
        """Make a run; one that fails is made again, and again, unless it always fails."""
        while True:
            if self.is_stopped():
                raise _StoppedError
            folder = f"{side}/{1 + sum(run.side == side for run in self.ab.runs):02d}"
            is_late = what == TIMELINE and self._would_be_late(side)
            self.onlooker.begins(folder, f"{what}{', beyond the budget' * is_late}")
            begun_s = self.now_s()
            attempt = self.make(side, folder, what)
            run = structs.replace(attempt, warm_up=what == WARM_UP, timeline=what == TIMELINE)
            self._took_s.setdefault(side, []).append(self.now_s() - begun_s)
            self.ab = structs.replace(self.ab, runs=(*self.ab.runs, run))
            timed = timed_run(run, self.folder) if run.counts else None
            self._timed += [] if timed is None else [timed]
            self._write()
            if self.is_stopped():
                raise _StoppedError
            if run.failed:
                self.onlooker.failed(run)
            if not run.failed or run.timeline:
                self._worked.setdefault(side, []).append(True)
                return
            self._worked.setdefault(side, []).append(False)
            self._check_failures(run)

    def _check_failures(self, run: AbRun) -> None:
        worked = self._worked[run.side]
        at_first = 1 if run.failed == _ENDLESS else TurnsLimits.at_first
        if any(worked[-TurnsLimits.in_a_row :]) or len(worked) < (
            TurnsLimits.in_a_row if any(worked) else at_first
        ):
            return
        in_a_row = len(worked) - max(
            (n for n, has_worked in enumerate(worked, 1) if has_worked), default=0
        )
        log = self.folder / run.folder / LOG_FILE
        unseen = not run.exit or run.failed.startswith(_NO_CYCLE)
        hint = "name what begins a step with --marker NAME; " * unseen
        hint += f"its output is in {log}" if log.exists() else "run it by itself"
        runs = "the first run" if in_a_row == 1 else f"{in_a_row} runs in a row"
        raise CollectError(f"{run.side}: {runs} failed ({run.failed})", hint)

    def _look(self) -> Decision | None:
        decision = self._decision()
        if decision is not None:
            typical = decision.typical
            interval_pct = typical.interval_pct if self.ab.pairs >= TurnsLimits.min_pairs else None
            look = AbLook(self.ab.pairs, typical.change_pct, interval_pct)
            self.ab = structs.replace(self.ab, history=(*self.ab.history, look))
            self._write()
            self.onlooker.looked(self.ab, decision)
        return decision

    def _decision(self) -> Decision | None:
        if {run.side for run in self._timed} < set(SIDES):
            return None
        return decide(self._timed, self.ab.detect_pct)

    def _write(self, **facts: Any) -> None:
        self.ab = structs.replace(self.ab, **facts)
        write_ab(self.ab, self.folder)

    def _is_decided(self, decision: Decision | None) -> bool:
        """Whether more runs would say nothing more, of a limit either."""
        if decision is None or decision.outcome == UNDECIDED:
            return False
        return self.allowed_pct is None or decision.is_beyond(self.allowed_pct) is not None
