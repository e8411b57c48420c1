"""What is done about alarms: incidents are opened, recorded, compared and closed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl

from timesink.analyses.expected.live import LiveAlarm
from timesink.errors import reason_of
from timesink.model import units
from timesink.recorder.folder import write_whole
from timesink.recorder.watch_plan import REFERENCES, WatchPlan
from timesink.runtime import usable_cores
from timesink.watcher.cycles import CycleIntake, WatchedSeries, medians
from timesink.watcher.incidents import (
    EARLY,
    SAME_S,
    Incident,
    Incidents,
    Likeness,
    Reference,
    References,
    alarm_line,
    alarm_told,
    dominant_phase,
    kind_of,
    linked_copy,
)
from timesink.watcher.journal import Journal, removed
from timesink.watcher.notices import AlarmCommand
from timesink.watcher.recordings import OrderedRecording, Recorder
from timesink.watcher.tasks import WatchTask

_MOST_AROUND = 20_000
_TASK_S = 900.0
_CALM_S = 10.0
"""Healthy cycles are recorded so long after the last alarm at the soonest."""
_WAITS_S, _WAITS_CYCLES = 5.0, 50
"""So long slow cycles may take to come to a workload that has a reference."""
_ROOMY = 4
PACKS_S = 10.0 if usable_cores() < _ROOMY else 0.0
"""On few cores packing and comparing disturb the program; no longer than that it is not judged."""
_NO_CAUSE = "none found"
_OF_WORKLOAD = ("workload_change", "kernel_choice")
"""What follows from the workload, as other kernels for other sizes do, was expected."""


class IncidentDesk:
    """Keeps incidents, references and the recordings of both."""

    def __init__(
        self,
        plan: WatchPlan,
        journal: Journal,
        intake: CycleIntake,
        series: WatchedSeries,
        *,
        counters: Path,
        say: Callable[[str], None],
    ) -> None:
        place = journal.place
        self.plan = plan
        self.journal = journal
        self.intake = intake
        self.series = series
        self.references = References(place.references, REFERENCES)
        self.incidents = Incidents(place.incidents, plan.most_incidents, plan.quota_bytes)
        self.recorder = Recorder(plan, place.control, place.tasks)
        self.command = AlarmCommand(plan.on_alarm, say)
        self.raised = 0
        self.settled_us = 0
        """From when on cycles are not disturbed by what is done beside the program."""
        self.busy_us: int | None = None
        """Since when a recording is packed or compared."""
        self.last_alarm: LiveAlarm | None = None
        self.remark = ""
        """Why there is no reference."""
        self._counters = counters
        self._say = say
        self._tasks = place.tasks
        self._comparing: tuple[Incident, WatchTask] | None = None
        self._to_compare: list[Incident] = []
        self._around: list[pl.DataFrame] = []
        self._alarm_s = -_CALM_S

    @property
    def is_busy(self) -> bool:
        """Whether an incident still waits for what was recorded of it."""
        current = self.recorder.current
        return bool(self._comparing or self._to_compare or (current and current.incident))

    def end_soon(self) -> None:
        """The program has ended."""
        if self.recorder.current is not None:
            self.recorder.current.task.end_soon()

    def kill(self) -> None:
        """Break off what is under way."""
        if self.recorder.current is not None:
            self.recorder.current.task.kill()
        if self._comparing is not None:
            self._comparing[1].kill()
        for one in self.incidents.known:
            self._conclude(one)

    def close_open(self, why: str) -> None:
        """Close the incident that is open."""
        one = self.incidents.open
        if one is not None:
            self._close(one, why)

    def record_early(self, rows: pl.DataFrame) -> bool:
        """Record once before learning; whether that is under way.

        A profiler that has been there leaves its hooks behind, and cycles take a little longer from
        then on: those are what is learned from.
        """
        if self.recorder.current is not None:
            return True
        if self.recorder.refusal() or self.references.taken:
            return False
        return not self._record_reference(rows, "", is_early=True)

    def _record_reference(self, rows: pl.DataFrame, phase: str, *, is_early: bool = False) -> str:
        """Record cycles as these, which are healthy; why that cannot be, or nothing."""
        return self.recorder.begin(
            self.references.place(),
            self.intake.processes.values(),
            phase=phase,
            workload=medians(rows),
            cycle_us=_median_us(rows),
            is_early=is_early,
        )

    def follow(self, settles_s: float = 0.0) -> OrderedRecording | None:
        """See what has come of recordings and comparisons; a recording that has ended."""
        self.command.look()
        done = self.recorder.look(self.intake.processes)
        if done is not None:
            if done[0].incident is None and not done[0].is_early:
                self._settle(done[0].through_us, settles_s)
            self._recorded(*done)
        if self._comparing is None and self._to_compare:
            self._compare(self._to_compare.pop(0))
        if self._comparing is not None:
            one, task = self._comparing
            answer = task.answer()
            if answer is not None:
                self._comparing = None
                self._compared(one, answer)
        current = self.recorder.current
        is_busy = self._comparing is not None or (current and current.through_us) is not None
        if is_busy and self.busy_us is None:
            self.busy_us = time.time_ns() // 1000
        elif not is_busy and self.busy_us is not None:
            self._settle(self.busy_us, settles_s)
            self.busy_us = None
        return None if done is None else done[0]

    def _settle(self, since_us: int | None, settles_s: float) -> None:
        """What was done beside the program since then is over."""
        if not PACKS_S:
            return
        now_us = time.time_ns() // 1000
        until_us = min(now_us, (since_us or now_us) + round(1e6 * PACKS_S))
        self.settled_us = max(self.settled_us, until_us + round(1e6 * settles_s))

    def see(self, judged: pl.DataFrame, rows: pl.DataFrame) -> None:
        """Cycles that came."""
        one = self.incidents.open
        if one is None:
            self.references.see(judged, rows)
            return
        if sum(each.height for each in self._around) < _MOST_AROUND:
            self._around.append(rows)
        if one.waits is not None:
            until_s, cycles = one.waits
            one.waits = until_s, cycles - rows.height
            phase, workload = dominant_phase(judged), medians(rows)
            if _is_alike(self.references.nearest(phase, workload)):
                one.waits, one.recorded_as = None, (phase, workload)

    def raise_alarm(self, alarm: LiveAlarm) -> None:
        """An alarm: the beginning of an incident, or part of the one that is open."""
        self.raised += 1
        self.last_alarm = alarm
        self._say(alarm_line(alarm))
        self._alarm_s = time.monotonic()
        one = self.incidents.open
        if one is not None and (one.last_end_s or alarm.since_s) + SAME_S < alarm.since_s:
            self._close(one, "")
            one = None
        why = "" if one is not None else self.incidents.why_not(time.monotonic())
        is_new = one is None and not why
        if is_new:
            one = self.incidents.begin(alarm, time.monotonic())
            self.incidents.make_room()
        incident = None if one is None else one.id
        self.journal.event("alarm", alarm=alarm_told(alarm), incident=incident)
        if one is not None and not is_new:
            one.is_to_repeat = one.is_to_repeat or one.is_missed
            one.alarms[alarm.number] = alarm
            one.calm_since_s = None
            self._use_references(alarm, one)
            self._write_incident(one)
            return
        if one is None:
            self._use_references(alarm, None)
            self.journal.event("refused", alarm=alarm.number, why=why)
            self.recorder.why_not = why
            return
        one.process = self._process_of(alarm.stream)
        recent = self.series.recent()
        self._around = [] if recent is None else [recent]
        self._tell("alarm", one)
        self._use_references(alarm, one)
        if one.wants_recording:
            near = self.references.nearest(alarm.phase, alarm.workload)
            if near is not None and not near.is_alike:
                one.waits = time.monotonic() + _WAITS_S, _WAITS_CYCLES
            else:
                self._record_incident(one)
        self._write_incident(one)

    def _use_references(self, alarm: LiveAlarm, one: Incident | None) -> None:
        """What was recorded while cycles were slow already is no reference, but the incident's."""
        for reference in list(self.references.taken):
            if reference.ended_us > 1e6 * alarm.since_s:
                if self._give(reference, reference.recording, one):
                    self.references.taken.remove(reference)
                else:
                    self.references.drop(reference)

    def _give(
        self, made: Reference | OrderedRecording, recording: Mapping[str, Any], one: Incident | None
    ) -> bool:
        """Have a recording be that of an incident, where all its cycles were slow."""
        if one is None or one.recording is not None or self._is_recorded_now(one):
            return False
        if not one.wants_recording or recording["started_us"] < one.since_us:
            return False
        try:
            made.folder.replace(one.folder / "new")
        except OSError:
            return False
        one.wants_recording, one.recording = False, dict(recording)
        one.recorded_as = made.phase or one.first.phase, made.workload
        self._to_compare.append(one)
        self._write_incident(one)
        return True

    def _process_of(self, stream: str) -> dict[str, Any]:
        for one in self.intake.processes.values():
            if stream in {one.stream_name(each) for each in one.streams}:
                return {"process": one.pid, "rank": one.rank, "source": one.source}
        return {"process": None, "rank": None, "source": ""}

    def _conclude(self, one: Incident) -> None:
        """Say what its cause is, once, or that none was found."""
        if not one.is_concluded:
            one.is_concluded = True
            facts = {"alarm": one.first.number, "cause": one.cause or _NO_CAUSE}
            self.journal.event("incident", incident=one.id, **facts)
            self._tell("incident", one)

    def _tell(self, event: str, one: Incident) -> None:
        alarm = one.first
        facts = {
            "incident": one.id, "phase": alarm.phase, "stream": alarm.stream, "rule": alarm.rule,
            "expected_us": alarm.expected_us, "observed_us": alarm.observed_us,
            "lost_us": one.brief()["lost_us"], "since_us": one.since_us,
            "cause": one.cause or (_NO_CAUSE if one.is_concluded else ""),
        }  # fmt: skip
        self.command.run(event, one.folder, facts)

    def refresh(self, going_on: Sequence[LiveAlarm], ended: Sequence[LiveAlarm]) -> None:
        """Open incidents go with their alarms."""
        one = self.incidents.open
        if one is None:
            return
        for alarm in (*going_on, *ended):
            if alarm.number in one.alarms:
                one.alarms[alarm.number] = alarm
        if {alarm.number for alarm in going_on} & one.alarms.keys():
            one.calm_since_s = None
        elif one.calm_since_s is None:
            one.calm_since_s = time.monotonic()

    def close_if_over(self) -> None:
        """Close the incident that no alarm followed on."""
        one = self.incidents.open
        since_s = None if one is None else one.calm_since_s
        if one is not None and since_s is not None and time.monotonic() - since_s > SAME_S:
            self._close(one, "")

    def _close(self, one: Incident, why: str) -> None:
        last_s = one.last_end_s
        one.ended_us = time.time_ns() // 1000 if last_s is None else round(1e6 * last_s)
        one.remark(why)
        if one.recording is None and not self._is_recorded_now(one):
            if one.wants_recording:
                one.remark("It was over before it could be recorded.")
            one.wants_recording = False
            self._conclude(one)
        self.journal.event("closed", incident=one.id, lost_us=one.brief()["lost_us"])
        lost = units.duration_ns(1e3 * max(one.brief()["lost_us"], 0.0))
        self._say(f"incident {one.id} is over; {lost} lost")
        self._write_incident(one)
        self._around = []
        self._tell("closed", one)

    def _is_recorded_now(self, one: Incident) -> bool:
        return self.recorder.current is not None and self.recorder.current.incident is one

    def _write_incident(self, one: Incident) -> None:
        if not one.folder.is_dir():
            return
        if self._around and one is self.incidents.known[-1]:
            table = pl.concat(self._around, how="diagonal")
            with suppress(OSError):
                write_whole(one.folder / "cycles.csv", table.write_csv().encode())
            with suppress(OSError):
                write_whole(one.folder / "counters.csv", self._counters.read_bytes())
        self.journal.replace(f"incidents/{one.id}/incident.json", one.told())

    def _record_incident(self, one: Incident) -> None:
        why = self.recorder.refusal()
        if not why and not self.incidents.make_room():
            why = f"the folder is larger than {units.size_bytes(self.plan.quota_bytes)} (--quota)"
        if not why:
            alarm = one.first
            phase, workload = one.recorded_as or (alarm.phase, alarm.workload)
            why = self.recorder.begin(
                one.folder / "new",
                self.intake.processes.values(),
                phase=phase,
                workload=workload,
                cycle_us=alarm.observed_us,
                incident=one,
            )
        if why and why != self.recorder.why_not:
            self.recorder.why_not = why
            self.journal.event("refused", incident=one.id, why=why)
        one.wants_recording = bool(why) and self.plan.is_recording
        if why and not self.plan.is_recording:
            one.remark(f"Not recorded: {why}.")

    def record_slow(self) -> None:
        """The recording an incident still waits for, as soon as it may be, while it is slow."""
        one = self.incidents.open
        if one is None or one.calm_since_s is not None:
            return
        is_compared = one in self._to_compare or (self._comparing and self._comparing[0] is one)
        if one.is_to_repeat and not is_compared and not self.recorder.refusal():
            one.forget_recording()
        if not one.wants_recording:
            return
        if one.waits is not None and time.monotonic() < one.waits[0] and one.waits[1] > 0:
            return
        if not self.recorder.refusal():
            self._record_incident(one)

    def record_healthy(self) -> None:
        """Cycles of a common workload that has no recording."""
        is_calm = time.monotonic() - self._alarm_s > _CALM_S
        if self.incidents.open is not None or not is_calm or self.recorder.refusal():
            return
        rows, judged = self.series.recent(), self.series.recent_judged()
        if rows is None or judged is None:
            return
        phase, workload = dominant_phase(judged), medians(rows)
        if self.references.is_wanted(phase, workload):
            self.references.tried(phase, workload)
            self._record_reference(rows, phase)

    def _recorded(self, made: OrderedRecording, answer: dict[str, Any]) -> None:
        one = made.incident
        if one is None:
            self._keep_reference(made, answer)
            return
        one.wants_recording = False
        if "error" in answer:
            self._give_up(one, f"Not recorded: {answer['error']}.")
            return
        one.recording = answer
        one.recorded_as = made.phase, made.workload
        if one.ended_us is not None and one.ended_us < answer["started_us"]:
            one.remark("The recorded steps were back to normal.")
        self._to_compare.append(one)
        self._write_incident(one)

    def _keep_reference(self, made: OrderedRecording, answer: dict[str, Any]) -> None:
        if "error" in answer:
            removed(made.folder)
            if made.has_program:
                self.remark = f"no reference was recorded: {answer['error']}"
            return
        one = self.incidents.open
        if one is not None or self._alarm_s > made.begun_s:
            # Cycles were slow meanwhile, or at least not known to be healthy.
            if not self._give(made, answer, one):
                removed(made.folder)
            return
        kind = EARLY if made.is_early else kind_of(made.phase, made.workload)
        # What is slow once cycles are judged again may have been slow before.
        known_us = max(self.settled_us, answer["ended_us"]) + 1_000_000 + round(3 * made.cycle_us)
        known_us = 0 if made.is_early else known_us
        taken = Reference(
            made.folder.name, made.folder, made.phase, kind, made.workload,
            answer["started_us"], max(answer["ended_us"], known_us), answer,
        )  # fmt: skip
        self.references.add(taken)
        self.journal.event("reference", reference=taken.name, workload=dict(taken.workload))

    def _compare(self, one: Incident) -> None:
        alarm = one.first
        one.likeness = self.references.nearest(*one.recorded_as or (alarm.phase, alarm.workload))
        if one.likeness is None:
            self._give_up(one, "There is no reference recording to compare with.")
            return
        one.remark(one.likeness.remark)
        base = one.folder / "base"
        try:
            linked_copy(one.likeness.reference.folder, base)
            facts = {
                "base": str(base), "new": str(one.folder / "new"), "to": str(one.folder),
                "slower_us": alarm.observed_us - alarm.expected_us,
                "explains": _OF_WORKLOAD if alarm.workload else (),
            }  # fmt: skip
            self._comparing = one, WatchTask("compare", self._tasks, _TASK_S, compare=facts)
        except OSError as error:
            self._give_up(one, f"Not compared: {reason_of(error)}.")

    def _give_up(self, one: Incident, why: str) -> None:
        """Nobody will know more of it."""
        one.remark(why)
        self._write_incident(one)
        self._conclude(one)

    def _compared(self, one: Incident, answer: dict[str, Any]) -> None:
        if "error" in answer:
            one.remark(f"Not compared: {answer['error']}.")
        else:
            one.compared = answer
        self._write_incident(one)
        cause = one.cause or answer.get("reason") or "no cause was found"
        self._say(f"incident {one.id}: {cause}")
        self._say(f"incident {one.id}: see {one.folder}")
        self._conclude(one)


def _is_alike(near: Likeness | None) -> bool:
    return near is not None and near.is_alike


def _median_us(rows: pl.DataFrame) -> float:
    value = rows["duration_us"].median()
    return float(value) if isinstance(value, int | float) else 0.0
