"""What is done about alarms: incidents are opened, recorded, compared and closed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl

from timesink.errors import reason_of
from timesink.model import units
from timesink.recorder.places import write_whole
from timesink.recorder.watch_plan import REFERENCES, WatchPlan
from timesink.runtime.workers import usable_cores
from timesink.watcher.cycles import CycleIntake, WatchedSeries, medians
from timesink.watcher.expected.live import LiveAlarm
from timesink.watcher.incidents import (
    EARLY,
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
from timesink.watcher.journal import Journal, remove_folder
from timesink.watcher.notices import AlarmCommand
from timesink.watcher.recordings import OrderedRecording, Recorder
from timesink.watcher.tasks import WatchTask
from timesink.watcher.thresholds import IncidentDeskLimits, IncidentsLimits

_MAX_AROUND = 20_000
_TASK_S = 900.0
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
        self._alarm_s = -IncidentDeskLimits.calm_s

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
        for incident in self.incidents.entries:
            self._conclude(incident)

    def close_open(self, why: str) -> None:
        """Close the incident that is open."""
        incident = self.incidents.open
        if incident is not None:
            self._close(incident, why)

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
            incident, task = self._comparing
            answer = task.answer()
            if answer is not None:
                self._comparing = None
                self._compared(incident, answer)
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
        incident = self.incidents.open
        if incident is None:
            self.references.see(judged, rows)
            return
        if sum(table.height for table in self._around) < _MAX_AROUND:
            self._around.append(rows)
        if incident.waits is not None:
            until_s, cycles = incident.waits
            incident.waits = until_s, cycles - rows.height
            phase, workload = dominant_phase(judged), medians(rows)
            if _is_alike(self.references.nearest(phase, workload)):
                incident.waits, incident.recorded_as = None, (phase, workload)

    def raise_alarm(self, alarm: LiveAlarm) -> None:
        """An alarm: the beginning of an incident, or part of the one that is open."""
        self.raised += 1
        self.last_alarm = alarm
        self._say(alarm_line(alarm))
        self._alarm_s = time.monotonic()
        open_incident = self.incidents.open
        if (
            open_incident is not None
            and (open_incident.last_end_s or alarm.since_s) + IncidentsLimits.same_s < alarm.since_s
        ):
            self._close(open_incident, "")
            open_incident = None
        why = "" if open_incident is not None else self.incidents.why_not(time.monotonic())
        is_new = open_incident is None and not why
        if is_new:
            open_incident = self.incidents.begin(alarm, time.monotonic())
            self.incidents.make_room()
        incident = None if open_incident is None else open_incident.id
        self.journal.event("alarm", alarm=alarm_told(alarm), incident=incident)
        if open_incident is not None and not is_new:
            open_incident.is_to_repeat = open_incident.is_to_repeat or open_incident.is_missed
            open_incident.alarms[alarm.number] = alarm
            open_incident.calm_since_s = None
            self._use_references(alarm, open_incident)
            self._write_incident(open_incident)
            return
        if open_incident is None:
            self._use_references(alarm, None)
            self.journal.event("refused", alarm=alarm.number, why=why)
            self.recorder.why_not = why
            return
        open_incident.process = self._process_of(alarm.stream)
        recent = self.series.recent()
        self._around = [] if recent is None else [recent]
        self._tell("alarm", open_incident)
        self._use_references(alarm, open_incident)
        if open_incident.wants_recording:
            near = self.references.nearest(alarm.phase, alarm.workload)
            if near is not None and not near.is_alike:
                open_incident.waits = time.monotonic() + _WAITS_S, _WAITS_CYCLES
            else:
                self._record_incident(open_incident)
        self._write_incident(open_incident)

    def _use_references(self, alarm: LiveAlarm, incident: Incident | None) -> None:
        """What was recorded while cycles were slow already is no reference, but the incident's."""
        for reference in list(self.references.taken):
            if reference.ended_us > 1e6 * alarm.since_s:
                if self._give(reference, reference.recording, incident):
                    self.references.taken.remove(reference)
                else:
                    self.references.drop(reference)

    def _give(
        self,
        capture: Reference | OrderedRecording,
        recording: Mapping[str, Any],
        incident: Incident | None,
    ) -> bool:
        """Have a recording be that of an incident, where all its cycles were slow."""
        if incident is None or incident.recording is not None or self._is_recorded_now(incident):
            return False
        if not incident.wants_recording or recording["started_us"] < incident.since_us:
            return False
        try:
            capture.folder.replace(incident.folder / "new")
        except OSError:
            return False
        incident.wants_recording, incident.recording = False, dict(recording)
        incident.recorded_as = capture.phase or incident.first.phase, capture.workload
        self._to_compare.append(incident)
        self._write_incident(incident)
        return True

    def _process_of(self, stream: str) -> dict[str, Any]:
        for process in self.intake.processes.values():
            if stream in {process.stream_name(number) for number in process.streams}:
                return {"process": process.pid, "rank": process.rank, "source": process.source}
        return {"process": None, "rank": None, "source": ""}

    def _conclude(self, incident: Incident) -> None:
        """Say what its cause is, once, or that none was found."""
        if not incident.is_concluded:
            incident.is_concluded = True
            facts = {"alarm": incident.first.number, "cause": incident.cause or _NO_CAUSE}
            self.journal.event("incident", incident=incident.id, **facts)
            self._tell("incident", incident)

    def _tell(self, event: str, incident: Incident) -> None:
        alarm = incident.first
        facts = {
            "incident": incident.id, "phase": alarm.phase,
            "stream": alarm.stream, "rule": alarm.rule,
            "expected_us": alarm.expected_us, "observed_us": alarm.observed_us,
            "lost_us": incident.lost_us, "since_us": incident.since_us,
            "cause": incident.cause or (_NO_CAUSE if incident.is_concluded else ""),
        }  # fmt: skip
        self.command.run(event, incident.folder, facts)

    def refresh(self, going_on: Sequence[LiveAlarm], ended: Sequence[LiveAlarm]) -> None:
        """Open incidents go with their alarms."""
        incident = self.incidents.open
        if incident is None:
            return
        for alarm in (*going_on, *ended):
            if alarm.number in incident.alarms:
                incident.alarms[alarm.number] = alarm
        if {alarm.number for alarm in going_on} & incident.alarms.keys():
            incident.calm_since_s = None
        elif incident.calm_since_s is None:
            incident.calm_since_s = time.monotonic()

    def close_if_over(self) -> None:
        """Close the incident that no alarm followed on."""
        incident = self.incidents.open
        since_s = None if incident is None else incident.calm_since_s
        if (
            incident is not None
            and since_s is not None
            and time.monotonic() - since_s > IncidentsLimits.same_s
        ):
            self._close(incident, "")

    def _close(self, incident: Incident, why: str) -> None:
        last_s = incident.last_end_s
        incident.ended_us = time.time_ns() // 1000 if last_s is None else round(1e6 * last_s)
        incident.remark(why)
        if incident.recording is None and not self._is_recorded_now(incident):
            if incident.wants_recording:
                incident.remark("It ended before it could be recorded.")
            incident.wants_recording = False
            self._conclude(incident)
        self.journal.event("closed", incident=incident.id, lost_us=incident.lost_us)
        lost = units.brief_ns(1e3 * max(incident.lost_us, 0.0))
        self._say(f"incident {incident.id} is over; {lost} lost")
        self._write_incident(incident)
        self._around = []
        self._tell("closed", incident)

    def _is_recorded_now(self, incident: Incident) -> bool:
        return self.recorder.current is not None and self.recorder.current.incident is incident

    def _write_incident(self, incident: Incident) -> None:
        if not incident.folder.is_dir():
            return
        if self._around and incident is self.incidents.entries[-1]:
            table = pl.concat(self._around, how="diagonal")
            with suppress(OSError):
                write_whole(incident.folder / "cycles.csv", table.write_csv().encode())
            with suppress(OSError):
                write_whole(incident.folder / "counters.csv", self._counters.read_bytes())
        self.journal.replace(f"incidents/{incident.id}/incident.json", incident.json)

    def _record_incident(self, incident: Incident) -> None:
        why = self.recorder.refusal()
        if not why and not self.incidents.make_room():
            why = f"the folder is larger than {units.brief_bytes(self.plan.quota_bytes)} (--quota)"
        if not why:
            alarm = incident.first
            phase, workload = incident.recorded_as or (alarm.phase, alarm.workload)
            why = self.recorder.begin(
                incident.folder / "new",
                self.intake.processes.values(),
                phase=phase,
                workload=workload,
                cycle_us=alarm.observed_us,
                incident=incident,
            )
        if why and why != self.recorder.why_not:
            self.recorder.why_not = why
            self.journal.event("refused", incident=incident.id, why=why)
        incident.wants_recording = bool(why) and self.plan.is_recording
        if why and not self.plan.is_recording:
            incident.remark(f"Not recorded: {why}.")

    def record_slow(self) -> None:
        """The recording an incident still waits for, as soon as it may be, while it is slow."""
        incident = self.incidents.open
        if incident is None or incident.calm_since_s is not None:
            return
        is_compared = incident in self._to_compare or (
            self._comparing and self._comparing[0] is incident
        )
        if incident.is_to_repeat and not is_compared and not self.recorder.refusal():
            incident.forget_recording()
        if not incident.wants_recording:
            return
        if (
            incident.waits is not None
            and time.monotonic() < incident.waits[0]
            and incident.waits[1] > 0
        ):
            return
        if not self.recorder.refusal():
            self._record_incident(incident)

    def record_healthy(self) -> None:
        """Cycles of a common workload that has no recording."""
        is_calm = time.monotonic() - self._alarm_s > IncidentDeskLimits.calm_s
        if self.incidents.open is not None or not is_calm or self.recorder.refusal():
            return
        rows, judged = self.series.recent(), self.series.recent_judged()
        if rows is None or judged is None:
            return
        phase, workload = dominant_phase(judged), medians(rows)
        if self.references.is_wanted(phase, workload):
            self.references.tried(phase, workload)
            self._record_reference(rows, phase)

    def _recorded(self, capture: OrderedRecording, answer: dict[str, Any]) -> None:
        incident = capture.incident
        if incident is None:
            self._keep_reference(capture, answer)
            return
        incident.wants_recording = False
        if "error" in answer:
            self._give_up(incident, f"Not recorded: {answer['error']}.")
            return
        incident.recording = answer
        incident.recorded_as = capture.phase, capture.workload
        if incident.ended_us is not None and incident.ended_us < answer["started_us"]:
            incident.remark("The recorded steps were back to normal.")
        self._to_compare.append(incident)
        self._write_incident(incident)

    def _keep_reference(self, capture: OrderedRecording, answer: dict[str, Any]) -> None:
        if "error" in answer:
            remove_folder(capture.folder)
            if capture.has_program:
                self.remark = f"no reference was recorded: {answer['error']}"
            return
        incident = self.incidents.open
        if incident is not None or self._alarm_s > capture.begun_s:
            # Cycles were slow meanwhile, or at least not known to be healthy.
            if not self._give(capture, answer, incident):
                remove_folder(capture.folder)
            return
        kind = EARLY if capture.is_early else kind_of(capture.phase, capture.workload)
        # What is slow once cycles are judged again may have been slow before.
        known_us = (
            max(self.settled_us, answer["ended_us"]) + 1_000_000 + round(3 * capture.cycle_us)
        )
        known_us = 0 if capture.is_early else known_us
        taken = Reference(
            capture.folder.name, capture.folder, capture.phase, kind, capture.workload,
            answer["started_us"], max(answer["ended_us"], known_us), answer,
        )  # fmt: skip
        self.references.add(taken)
        self.journal.event("reference", reference=taken.name, workload=dict(taken.workload))

    def _compare(self, incident: Incident) -> None:
        alarm = incident.first
        incident.likeness = self.references.nearest(
            *incident.recorded_as or (alarm.phase, alarm.workload)
        )
        if incident.likeness is None:
            self._give_up(incident, "There is no reference recording to compare with.")
            return
        incident.remark(incident.likeness.remark)
        base = incident.folder / "base"
        try:
            linked_copy(incident.likeness.reference.folder, base)
            facts = {
                "base": str(base), "new": str(incident.folder / "new"), "to": str(incident.folder),
                "slower_us": alarm.observed_us - alarm.expected_us,
                "explains": _OF_WORKLOAD if alarm.workload else (),
            }  # fmt: skip
            self._comparing = incident, WatchTask("compare", self._tasks, _TASK_S, compare=facts)
        except OSError as error:
            self._give_up(incident, f"Not compared: {reason_of(error)}.")

    def _give_up(self, incident: Incident, why: str) -> None:
        """Nobody will know more of it."""
        incident.remark(why)
        self._write_incident(incident)
        self._conclude(incident)

    def _compared(self, incident: Incident, answer: dict[str, Any]) -> None:
        if "error" in answer:
            incident.remark(f"Not compared: {answer['error']}.")
        else:
            incident.compared = answer
        self._write_incident(incident)
        cause = incident.cause or answer.get("reason") or "no cause was found"
        self._say(f"incident {incident.id}: {cause}")
        self._say(f"incident {incident.id}: see {incident.folder}")
        self._conclude(incident)


def _is_alike(near: Likeness | None) -> bool:
    return near is not None and near.is_alike


def _median_us(rows: pl.DataFrame) -> float:
    value = rows["duration_us"].median()
    return float(value) if isinstance(value, int | float) else 0.0
