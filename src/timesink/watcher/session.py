"""The watcher: what it does with cycles as they come, from waiting to watching and alarms."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
import polars as pl

from timesink.analyses.expected.live import LiveAlarm, LiveJudge, LiveModel, live_model_from
from timesink.answers.watch import model_content
from timesink.errors import TimesinkError
from timesink.model import units
from timesink.recorder.counter_sampler import Sampler
from timesink.recorder.run_file import ProgramEnd
from timesink.watcher.commands import taken_commands
from timesink.watcher.cycle_intake import CycleIntake, Receiver
from timesink.watcher.incidents import Incident, Incidents, alarm_line, alarm_told, linked_copy
from timesink.watcher.journal import (
    SERIES_SCHEMA,
    STATUS_SCHEMA,
    WATCH_SCHEMA,
    Journal,
    WatchFolder,
    removed,
)
from timesink.watcher.metrics import MetricsServer, OpenTelemetry
from timesink.watcher.notices import AlarmCommand, Summary
from timesink.watcher.own_cost import OwnCost
from timesink.watcher.recordings import OrderedRecording, Recorder
from timesink.watcher.references import Reference, References, dominant_phase, kind_of
from timesink.watcher.series import CounterTail, WatchedSeries, medians, unjudged
from timesink.watcher.tasks import WatchTask
from timesink.watcher.watch_plan import REFERENCES, WatchPlan

_JUDGES_S = 0.25
_SERIES_S = 2.0
_TRIMS_S = 60.0
_COUNTERS_KEPT_S = 600.0
_COUNTER_INTERVAL_MS = 1000.0
_SUMMARY_S = 5.0
_MOST_ROWS = 100_000
_MOST_AROUND = 20_000
_TASK_S = 900.0
_AGAIN_S = 30.0
_FINISHES_S = 60.0
_INCIDENTS_SHOWN = 20


class WatchSession:
    """All that is known of a program that is watched; `tick` is to be called often."""

    def __init__(self, plan: WatchPlan, receiver: Receiver, say: Callable[[str], None]) -> None:
        """What cannot be, as a model that is none, is refused here: nothing has begun yet."""
        self.plan = plan
        self._pids: frozenset[int] = frozenset()
        self.place = WatchFolder(plan.folder)
        self._say = say
        self._started_us = time.time_ns() // 1000
        self.journal = Journal(self.place, say)
        self.intake = CycleIntake(receiver, plan.skip)
        self.series = WatchedSeries(self._started_us)
        self.references = References(self.place.references, REFERENCES)
        self.incidents = Incidents(self.place.incidents, plan.most_incidents, plan.quota_bytes)
        self.recorder = Recorder(plan, self.place.control, self.place.tasks)
        self._command = AlarmCommand(plan.on_alarm, say)
        self._summary = Summary(plan.summary, say)
        self._otel = OpenTelemetry() if plan.otel else None
        self._cost = OwnCost()
        self._model: LiveModel | None = None
        self._judge: LiveJudge | None = None
        self._ready: tuple[int, float] | None = None
        """Cycles and time since which may be learned from."""
        self._learning: WatchTask | None = None
        self._learns_after_s = 0.0
        self._comparing: tuple[Incident, WatchTask] | None = None
        self._to_compare: list[Incident] = []
        self._unsaved: list[pl.DataFrame] = []
        self._around: list[pl.DataFrame] = []
        self._cycles = self._judged = self._outside = self._raised = 0
        self._last_alarm: LiveAlarm | None = None
        self._is_off = False
        self._ended: ProgramEnd | None = None
        self._is_over = False
        self._remarks: list[str] = []
        self._due = dict.fromkeys(("judge", "second", "series", "trim", "summary"), 0.0)
        self._tail = CounterTail(self._counters)
        self._sampler = Sampler(
            self._counters,
            wanted=plan.counters,
            interval_ms=_COUNTER_INTERVAL_MS,
            pids=lambda: self._pids | {*self.intake.processes},
        )
        if plan.model is not None:
            content = model_content(plan.model)
            self._use(live_model_from(content, str(plan.model)))
            self.journal.replace(self.place.model.name, content)
        self._server = None if plan.metrics is None else MetricsServer(plan.metrics)

    @property
    def _counters(self) -> Any:
        return self.place.control / "counters.csv"

    # -- beginning and end -----------------------------------------------------------------------

    def begin(self, pid: int) -> None:
        """From here on cycles are taken."""
        self._pids = frozenset({pid})
        self._write_watch()
        try:
            self._sampler.start()
        except (OSError, RuntimeError, TimesinkError) as error:
            self.remark(f"counters are not sampled: {error}")
        self.intake.start()
        self.tick()

    def _write_watch(self) -> None:
        ended = self._ended
        content = {
            "schema": WATCH_SCHEMA, "timesink": self.plan.timesink, "command": self.plan.command,
            "options": self.plan.options(), "pid": os.getpid(), "started_us": self._started_us,
            "ended_us": time.time_ns() // 1000 if self._is_over else None,
            "exit": {"code": ended.code, "signal": ended.signal} if ended else None,
        }  # fmt: skip
        self.journal.replace("watch.json", content)

    def end(self, ended: ProgramEnd | None, is_hurried: Callable[[], bool]) -> None:
        """The program has ended: finish what is under way, unless that is broken off."""
        self._ended = ended
        self.intake.stop()
        self._take(time.monotonic())
        if self.recorder.current is not None:
            self.recorder.current.task.end_soon()
        one = self.incidents.open
        if one is not None:
            self._close(one, "The program ended.")
        until, has_said = time.monotonic() + _FINISHES_S, False
        while self._is_busy and time.monotonic() < until and not is_hurried():
            if not has_said:
                has_said = True
                self._say("packing what was recorded (once more: stop at once)")
            self._follow_tasks()
            time.sleep(0.1)
        for task in (
            self._learning,
            self._comparing and self._comparing[1],
            self.recorder.current and self.recorder.current.task,
        ):
            if task:
                task.kill()
        self._is_over = True
        self._sampler.stop()
        self._second(time.monotonic())
        self._write_series()
        self._write_watch()
        self._summary.finish()
        for closing in (self._server, self._otel):
            if closing is not None:
                closing.close()
        self._tell_end()

    @property
    def _is_busy(self) -> bool:
        current = self.recorder.current
        return bool(self._comparing or self._to_compare or (current and current.incident))

    def _tell_end(self) -> None:
        seen = units.counted(self._cycles, "cycles")
        if not self._cycles:
            self._say("no cycle was seen; name what marks one with --marker, or --preset")
        alarms = units.counted(self._raised, "alarms") if self._raised else "no alarm"
        kept = [one for one in self.incidents.known if one.folder.is_dir()]
        more = f", {units.counted(len(kept), 'incidents')}" if kept else ""
        self._say(f"watched {seen}: {alarms}{more}; see  timesink watch status {self.plan.folder}")

    def remark(self, text: str) -> None:
        """What is to be known of the watch as a whole; said once."""
        if text not in self._remarks:
            self._remarks.append(text)
            self._say(text)

    # -- now and then ----------------------------------------------------------------------------

    def tick(self) -> None:
        """Do what is due; never anything that takes long."""
        now = time.monotonic()
        if self._is_due("judge", now, _JUDGES_S):
            self._take(now)
        self._follow_tasks()
        if self._is_due("second", now, 1.0):
            self._second(now)
        if self._is_due("series", now, _SERIES_S):
            self._write_series()
        if self._is_due("trim", now, _TRIMS_S):
            self._sampler.keep_from(round(1e6 * (time.time() - _COUNTERS_KEPT_S)))

    def _is_due(self, name: str, now: float, every_s: float) -> bool:
        if now < self._due[name]:
            return False
        self._due[name] = now + every_s
        return True

    def _second(self, now: float) -> None:
        if self.intake.trouble:
            self.remark(self.intake.trouble)
        for what in taken_commands(self.place.commands):
            self._obey(what)
        rows, self._unsaved = self._unsaved, []
        if rows:
            self.journal.add_rows(pl.concat(rows, how="diagonal"))
        self.series.close_second()
        self.series.add_counters(self._tail.read())
        self._command.look()
        if not (self._is_off or self._is_over):
            self._learn_if_due(now)
            self._record_if_due()
        status = self.status()
        self.journal.replace("status.json", status)
        if self._server is not None:
            self._server.status = status
        if self._otel is not None:
            self._otel.show(status)
        if self.plan.summary and (self._is_over or self._is_due("summary", now, _SUMMARY_S)):
            self._summary.put(msgspec.json.encode(status))

    def _write_series(self) -> None:
        alarms = [
            {"since_us": one.since_us, "ended_us": one.ended_us, "incident": one.id}
            for one in self.incidents.known
        ]
        self.journal.replace("series.json", {"schema": SERIES_SCHEMA, **self.series.told(alarms)})

    # -- cycles ----------------------------------------------------------------------------------

    def _take(self, now: float) -> None:
        rows = self.intake.rows()
        self._cycles = sum(one.cycles for one in self.intake.processes.values())
        if rows is None or self._is_off:
            return
        self._unsaved.append(rows)
        if self._judge is None:
            self.series.add(unjudged(rows), rows)
            if self._ready is None and not self._may_record_early(rows):
                self._ready = (0, now)
            if self._ready is not None:
                self._ready = (self._ready[0] + rows.height, self._ready[1])
            return
        found = self._judge.judge(rows)
        self._judged += found.table.height
        self._outside += int(found.table["outside"].sum())
        self.series.add(found.table, rows)
        one = self.incidents.open
        if one is None:
            if not found.raised:
                self.references.see(found.table, rows)
        else:
            self._keep_around(rows)
        for alarm in found.raised:
            self._raise(alarm)
        self._refresh(found.ended)

    def _keep_around(self, rows: pl.DataFrame) -> None:
        if sum(each.height for each in self._around) < _MOST_AROUND:
            self._around.append(rows)

    def _may_record_early(self, rows: pl.DataFrame) -> bool:
        """Record once before learning.

        A profiler that has been there leaves its hooks behind, and cycles take a little longer from
        then on: those are what is learned from.
        """
        if self.recorder.current is not None:
            return True
        if self.recorder.refusal() or self.references.taken:
            return False
        return not self.recorder.begin(
            self.references.place(),
            self.intake.processes.values(),
            phase="",
            workload=medians(rows),
            cycle_us=_median_us(rows),
            is_early=True,
        )

    # -- learning --------------------------------------------------------------------------------

    def _learn_if_due(self, now: float) -> None:
        if self._judge is None and self._ready is not None and self._learning is None:
            cycles, since = self._ready
            enough = cycles >= self.plan.learn and now - since >= self.plan.learn_s
            if enough and now >= self._learns_after_s:
                self._begin_learning(min(cycles, _MOST_ROWS))

    def _begin_learning(self, last: int) -> None:
        facts = {
            "rows": [str(path) for path in self.place.rows], "last": last,
            "to": str(self.place.tasks / "model.json"), "at_least": self.plan.at_least,
            "alarms_per_hour": self.plan.alarms_per_hour,
        }  # fmt: skip
        try:
            self._learning = WatchTask("learn", self.place.tasks, _TASK_S, learn=facts)
        except OSError as error:
            self.remark(f"learning cannot be started ({error.strerror or error})")
            self._learns_after_s = time.monotonic() + _AGAIN_S

    def _learned(self, answer: dict[str, Any]) -> None:
        path = self.place.tasks / "model.json"
        try:
            if "error" in answer:
                raise TimesinkError(answer["error"])  # noqa: TRY301
            content = path.read_bytes()
            model = live_model_from(content, str(path))
        except (OSError, TimesinkError) as error:
            self.remark(f"nothing was learned yet: {error}")
            self._learns_after_s = time.monotonic() + _AGAIN_S
            return
        is_again = self._judge is not None
        if is_again:
            stamp = time.strftime("%Y%m%d-%H%M%S")
            with suppress(OSError):
                self.place.model.replace(self.place.folder / f"model-{stamp}.json")
            one = self.incidents.open
            if one is not None:
                self._close(one, "Its cycles were accepted as usual.")
            self.references.forget()
        self.journal.replace(self.place.model.name, content)
        self._use(model)
        event = "accepted" if is_again else "learned"
        self.journal.event(event, time.time_ns() // 1000, cycles=model.cycles)
        learned = units.counted(model.cycles, "cycles")
        self._say(f"learned from {learned}; from now on slower ones raise an alarm")

    def _use(self, model: LiveModel) -> None:
        self._model, self._judge = model, LiveJudge(model)

    # -- alarms and incidents --------------------------------------------------------------------

    def _raise(self, alarm: LiveAlarm) -> None:
        self._raised += 1
        self._last_alarm = alarm
        now_us = time.time_ns() // 1000
        self.journal.event("alarm", now_us, alarm=alarm_told(alarm))
        self._say(alarm_line(alarm))
        # What was recorded while cycles were slow already is no reference.
        for reference in list(self.references.taken):
            if reference.ended_us > 1e6 * alarm.since_s:
                self.references.drop(reference)
        one = self.incidents.open
        if one is not None:
            one.alarms[alarm.number] = alarm
            return
        why = self.incidents.why_not(time.monotonic())
        if why:
            self.journal.event("refused", now_us, alarm=alarm.number, why=why)
            self.recorder.why_not = why
            return
        one = self.incidents.begin(alarm, time.monotonic())
        one.process = self._process_of(alarm.stream)
        recent = self.series.recent()
        self._around = [] if recent is None else [recent]
        self.journal.event("incident", now_us, incident=one.id, alarm=alarm.number)
        self._tell("alarm", one)
        self._record_incident(one)
        self._write_incident(one)

    def _process_of(self, stream: str) -> dict[str, Any]:
        for one in self.intake.processes.values():
            if stream in {one.stream_name(each) for each in one.streams}:
                return {"process": one.pid, "rank": one.rank, "source": one.source}
        return {"process": None, "rank": None, "source": ""}

    def _tell(self, event: str, one: Incident) -> None:
        alarm = one.first
        facts = {
            "incident": one.id, "phase": alarm.phase, "stream": alarm.stream, "rule": alarm.rule,
            "expected_us": alarm.expected_us, "observed_us": alarm.observed_us,
            "lost_us": one.brief()["lost_us"], "since_us": one.since_us, "cause": one.cause,
        }  # fmt: skip
        self._command.run(event, one.folder, facts)

    def _refresh(self, ended: tuple[LiveAlarm, ...]) -> None:
        """Open incidents go with their alarms."""
        one = self.incidents.open
        if one is None or self._judge is None:
            return
        going_on = {alarm.number: alarm for alarm in self._judge.open_alarms}
        for alarm in (*going_on.values(), *ended):
            if alarm.number in one.alarms:
                one.alarms[alarm.number] = alarm
        if not going_on.keys() & one.alarms.keys():
            self._close(one, "")

    def _close(self, one: Incident, why: str) -> None:
        one.ended_us = time.time_ns() // 1000
        one.remark(why)
        if one.wants_recording and one.recording is None and not self._is_recorded_now(one):
            one.wants_recording = False
            one.remark("It was over before it could be recorded.")
        self.journal.event("closed", one.ended_us, incident=one.id, lost_us=one.brief()["lost_us"])
        lost = units.duration_ns(1e3 * max(one.brief()["lost_us"], 0.0))
        self._say(f"incident {one.id} is over; {lost} lost")
        self._write_incident(one)
        self._tell("closed", one)

    def _is_recorded_now(self, one: Incident) -> bool:
        return self.recorder.current is not None and self.recorder.current.incident is one

    def _write_incident(self, one: Incident) -> None:
        if not one.folder.is_dir():
            return
        if self._around and one is self.incidents.known[-1]:
            table = pl.concat(self._around, how="diagonal")
            with suppress(OSError):
                (one.folder / "cycles.csv").write_text(table.write_csv())
            with suppress(OSError):
                shutil.copyfile(self._counters, one.folder / "counters.csv")
        self.journal.replace(f"incidents/{one.id}/incident.json", one.told())

    # -- recordings ------------------------------------------------------------------------------

    def _record_incident(self, one: Incident) -> None:
        why = self.recorder.refusal()
        if not why and not self.incidents.make_room():
            why = f"the folder is larger than {units.size_bytes(self.plan.quota_bytes)} (--quota)"
        if not why:
            alarm = one.first
            why = self.recorder.begin(
                one.folder / "new",
                self.intake.processes.values(),
                phase=alarm.phase,
                workload=alarm.workload,
                cycle_us=alarm.observed_us,
                incident=one,
            )
        if why and why != self.recorder.why_not:
            self.recorder.why_not = why
            now_us = time.time_ns() // 1000
            self.journal.event("refused", now_us, incident=one.id, why=why)
        one.wants_recording = bool(why) and self.plan.is_recording
        if why and not self.plan.is_recording:
            one.remark(f"Nothing was recorded: {why}.")

    def _record_if_due(self) -> None:
        """A recording that an incident still waits for, or of healthy cycles that have none."""
        one = self.incidents.open
        if one is not None:
            if one.wants_recording and not self.recorder.refusal():
                self._record_incident(one)
            return
        if self._judge is None or self._judge.open_alarms or self.recorder.refusal():
            return
        rows, judged = self.series.recent(), self.series.recent_judged()
        if rows is None or judged is None:
            return
        phase, workload = dominant_phase(judged), medians(rows)
        if self.references.is_wanted(phase, workload):
            self.recorder.begin(
                self.references.place(),
                self.intake.processes.values(),
                phase=phase,
                workload=workload,
                cycle_us=_median_us(rows),
            )

    def _follow_tasks(self) -> None:
        done = self.recorder.look(self.intake.processes)
        if done is not None:
            self._recorded(*done)
        if self._learning is not None and (answer := self._learning.answer()) is not None:
            self._learning = None
            self._learned(answer)
        if self._comparing is None and self._to_compare:
            self._compare(self._to_compare.pop(0))
        if self._comparing is not None:
            one, task = self._comparing
            answer = task.answer()
            if answer is not None:
                self._comparing = None
                self._compared(one, answer)

    def _recorded(self, made: OrderedRecording, answer: dict[str, Any]) -> None:
        if made.is_early and self._ready is None:
            self._ready = (0, time.monotonic())
        one = made.incident
        if one is None:
            self._keep_reference(made, answer)
            return
        one.wants_recording = False
        if "error" in answer:
            one.remark(f"Nothing was recorded: {answer['error']}.")
            self._write_incident(one)
            return
        one.recording = answer
        if one.ended_us is not None and one.ended_us < answer["started_us"]:
            one.remark("Cycles were back to normal when they were recorded.")
        self._to_compare.append(one)
        self._write_incident(one)

    def _keep_reference(self, made: OrderedRecording, answer: dict[str, Any]) -> None:
        if "error" in answer:
            removed(made.folder)
            self.remark(f"no reference was recorded: {answer['error']}")
            return
        if self.incidents.open is not None:
            # Cycles were slow meanwhile, or at least not known to be healthy.
            removed(made.folder)
            return
        kind = "early" if made.is_early else kind_of(made.phase, made.workload)
        taken = Reference(
            made.folder.name, made.folder, made.phase, kind, made.workload,
            answer["started_us"], answer["ended_us"],
        )  # fmt: skip
        if not made.is_early:
            # A better one is there now.
            for old in [each for each in self.references.taken if each.kind == "early"]:
                self.references.drop(old)
        self.references.add(taken)
        now_us = time.time_ns() // 1000
        self.journal.event("reference", now_us, reference=taken.name, workload=dict(taken.workload))

    def _compare(self, one: Incident) -> None:
        alarm = one.first
        one.likeness = self.references.nearest(alarm.phase, alarm.workload)
        if one.likeness is None:
            one.remark("There is no recording of healthy cycles to compare with.")
            self._write_incident(one)
            return
        one.remark(one.likeness.remark)
        base = one.folder / "base"
        try:
            linked_copy(one.likeness.reference.folder, base)
            facts = {"base": str(base), "new": str(one.folder / "new"), "to": str(one.folder)}
            self._comparing = one, WatchTask("compare", self.place.tasks, _TASK_S, compare=facts)
        except OSError as error:
            one.remark(f"It was not compared: {error.strerror or error}.")
            self._write_incident(one)

    def _compared(self, one: Incident, answer: dict[str, Any]) -> None:
        if "error" in answer:
            one.remark(f"It was not compared: {answer['error']}.")
        else:
            one.compared = answer
        self._write_incident(one)
        cause = one.cause or answer.get("reason") or "no cause was found"
        self._say(f"incident {one.id}: {cause}")
        self._say(f"incident {one.id}: see {one.folder}")
        self._tell("incident", one)

    # -- what others ask for, and are told ---------------------------------------------------------

    def _obey(self, what: str) -> None:
        if what == "off":
            self.recorder.leave(self.intake.processes)
            self._is_off = True
            one = self.incidents.open
            if one is not None:
                self._close(one, "Watching was switched off.")
            self._say("switched off; the program goes on")
        elif what == "reference":
            self.references.forget()
        elif what == "accept" and self._judge is not None and self._learning is None:
            self._begin_learning(min(self.plan.learn, _MOST_ROWS))

    @property
    def state(self) -> str:
        """What it does now, in a word."""
        if self._is_over:
            return "ended"
        if self._is_off:
            return "off"
        if self._judge is not None:
            return "alarm" if self._judge.open_alarms else "watching"
        return "learning" if self._cycles else "waiting"

    def status(self) -> dict[str, Any]:
        """The content of status.json."""
        model, ready = self._model, self._ready or (0, 0.0)
        taken, judge = self.recorder, self._judge
        alarms = [alarm_told(each) for each in (judge.open_alarms if judge else ())]
        remarks = list(self._remarks)
        if self.journal.failed:
            remarks.append(f"{units.counted(self.journal.failed, 'writes')} failed")
        if self.incidents.removed:
            gone = units.counted(self.incidents.removed, "incidents")
            remarks.append(f"{gone} removed to keep to the quota")
        kind = None if model is None else model.model.kind
        error = None if model is None else model.model.error_pct[0]
        return {
            "schema": STATUS_SCHEMA,
            "state": self.state,
            "time_us": time.time_ns() // 1000,
            "started_us": self._started_us,
            "cycles": self._cycles,
            "dropped": self.intake.dropped,
            "outside": self._outside,
            "learned": {
                "cycles": ready[0] if model is None else model.cycles,
                "of": self.plan.learn,
                "kind": kind,
                "error_pct": error,
            },
            "processes": [one.told() for one in self.intake.processes.values()],
            "phases": self.series.phases(),
            "workload": self.series.workload(),
            "counters": self.series.last_counters(),
            "alarms": {
                "raised": self._raised,
                "open": alarms,
                "last": None if self._last_alarm is None else alarm_told(self._last_alarm),
            },
            "incidents": [one.brief() for one in self.incidents.known[-_INCIDENTS_SHOWN:]],
            "recorder": {
                "on": taken.current is not None,
                "last_us": taken.last_us,
                "why_not": taken.why_not or None,
            },
            "own": self._cost.told(self._judged, self._cycles),
            "references": [one.told() for one in self.references.taken],
            "remarks": remarks,
        }


def _median_us(rows: pl.DataFrame) -> float:
    value = rows["duration_us"].median()
    return float(value) if isinstance(value, int | float) else 0.0
