"""The watcher: what it does with cycles as they come, from waiting to watching and alarms."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import polars as pl

from timesink.errors import TimesinkError, reason_of
from timesink.formats.small_files import encode_json, plain_values
from timesink.model import units
from timesink.recorder.counter_sampler import Sampler
from timesink.recorder.processes import mask_secrets
from timesink.recorder.run_file import ProgramEnd
from timesink.recorder.watch_plan import WatchPlan
from timesink.sources.watch_folder import (
    SERIES_FILE,
    STATUS_FILE,
    STATUS_SCHEMA,
    WATCH_FILE,
    WATCH_SCHEMA,
)
from timesink.watcher.cycles import (
    LEARNING,
    CounterTail,
    CycleIntake,
    Receiver,
    WatchedSeries,
    learned_sentence,
    unjudged_rows,
)
from timesink.watcher.durations import model_content
from timesink.watcher.expected.live import LiveJudge
from timesink.watcher.expected.model import LiveModel, live_model_from
from timesink.watcher.incident_desk import PACKS_S, IncidentDesk
from timesink.watcher.incidents import dominant_phase
from timesink.watcher.journal import Journal, Refused, WatchFolder, obey_commands
from timesink.watcher.notices import MetricsServer, OpenTelemetry, OwnCost, SharedStatus
from timesink.watcher.recordings import UNTOLD, agent_remarks, notes_in, why_no_cycle
from timesink.watcher.tasks import WatchTask
from timesink.watcher.thresholds import SessionLimits
from timesink.watcher.watch_json import AlarmsJson, LearnedJson, RecorderJson, StatusJson, WatchJson

_LOOKS_S = 0.25
_SEVERAL, _SLOWER = 3, 1.25
_SERIES_S = 5.0
_TRIMS_S = 60.0
_COUNTERS_KEPT_S = 600.0
_COUNTER_INTERVAL_MS = 1000.0
_CALM_INTERVAL_MS = 2000.0
"""While nothing is recorded: drivers take much longer to tell counters than the rest takes here."""
_SUMMARY_S = 5.0
_MAX_ROWS = 100_000
_TASK_S = 900.0
_AGAIN_S = 30.0
_FINISHES_S = 60.0
_INCIDENTS_SHOWN = 20
_SHOWN_ROWS = 100
_NOTES_S = 5.0
_ANY_SOURCE = ("", "timesink watch")


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
        self._counters = self.place.control / "counters.csv"
        self.desk = IncidentDesk(
            plan, self.journal, self.intake, self.series, counters=self._counters, say=say
        )
        self._summary = SharedStatus(plan.summary, say)
        self._otel = OpenTelemetry() if plan.otel else None
        self._cost = OwnCost()
        self._model: LiveModel | None = None
        self._judge: LiveJudge | None = None
        self._ready: tuple[int, float] | None = None
        """Cycles and time since which may be learned from."""
        self._slow_us = math.inf
        """More than any of the cycles that were judged last should take."""
        self._recorded_s = 0.0
        """When the last recording of healthy cycles began."""
        self._learning: WatchTask | None = None
        self._learning_us, self._is_refining, self._is_refined = 0, False, plan.model is not None
        self._usual = 0
        """Cycles since the last one that was slow or disturbed."""
        self._is_model_known = plan.model is None
        """Whether it is known to fit the program."""
        self._table = pl.DataFrame({"phase": []}, schema={"phase": pl.String})
        """Of the cycles that were judged last."""
        self._learns_after_s = 0.0
        self._unsaved: list[pl.DataFrame] = []
        self._cycles = self._judged = self._outside = self._brief = 0
        self._is_off = False
        self._ended: ProgramEnd | None = None
        self._is_ending = self._is_over = False
        self._remarks: dict[str, str] = {}
        """By what they are about: there is one of each at a time."""
        whats = ("look", "judge", "second", "series", "trim", "summary", "notes")
        self._due = dict.fromkeys(whats, 0.0)
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
        content = WatchJson(
            schema=WATCH_SCHEMA,
            timesink=self.plan.timesink,
            command=mask_secrets(self.plan.command),
            options=self.plan.options(),
            pid=os.getpid(),
            started_us=self._started_us,
            ended_us=time.time_ns() // 1000 if self._is_over else None,
            exit=None if self._ended is None else self._ended.json_fields,
        )
        self.journal.replace(WATCH_FILE, content)

    def end(self, ended: ProgramEnd | None, is_hurried: Callable[[], bool]) -> None:
        """The program has ended: finish what is under way, unless that is broken off."""
        self._ended = ended
        self._is_ending = True
        if self._learning is not None:
            self._learning.kill()
            self._learning = None
        self.intake.stop()
        self._take(time.monotonic())
        self.desk.end_soon()
        self.desk.close_open("The program ended.")
        until, has_said = time.monotonic() + _FINISHES_S, False
        while self.desk.is_busy and time.monotonic() < until and not is_hurried():
            if not has_said:
                has_said = True
                self._say("packing what was recorded (once more: stop at once)")
            self._follow_tasks()
            time.sleep(0.1)
        self.desk.kill()
        self.desk.command.close(is_hurried)
        self._read_notes()
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

    def give_up(self, why: str) -> None:
        """A fault of ours: the agents leave, nothing is read any more, what there is stays."""
        self._is_off = True
        self.desk.recorder.leave(self.intake.processes)
        self.intake.stop()
        self._sampler.stop()
        self.remark(why)
        self._tell(time.monotonic())

    def _tell_end(self) -> None:
        seen = units.count_noun(self._cycles, "steps")
        alarms = units.count_noun(self.desk.raised, "alarms") if self.desk.raised else "no alarm"
        incidents = [
            incident for incident in self.desk.incidents.entries if incident.folder.is_dir()
        ]
        more = f", {units.count_noun(len(incidents), 'incidents')}" if incidents else ""
        self._say(f"watched {seen}: {alarms}{more}; see  timesink watch status {self.plan.folder}")

    def remark(self, text: str, about: str = "") -> None:
        """What is to be known of the watch as a whole; what is said of a thing is said once."""
        if (about or text) not in self._remarks:
            self._say(text)
        self._remarks[about or text] = text

    def _read_notes(self) -> None:
        """Pass on what the agent remarks, and why there is no cycle where it knows."""
        notes = notes_in(self.place.control)
        remarks = agent_remarks(notes)
        for text in remarks:
            if not text.startswith(UNTOLD):
                self.remark(text)
        failed = self.intake.failed
        if failed:
            of = units.count_noun(self.intake.cycles, "steps")
            why = next((text[len(UNTOLD) :] for text in remarks if text.startswith(UNTOLD)), "")
            text = f"the workload of {units.count(failed)} of {of} could not be read{why}"
            self.remark(text, "workload")
        late = time.time_ns() // 1000 - self._started_us > 1e6 * SessionLimits.no_cycle_s
        if self._cycles or self._is_off:
            self._remarks.pop("no cycle", None)
        elif self._is_ending or late:
            so_far = "" if self._is_ending else " so far"
            why = why_no_cycle(notes, self.plan)
            self._remarks.pop(why, None)
            text = f"no step was seen{so_far}: {why}"
            if text != self._remarks.pop("no cycle", None):
                self._say(text)
            self._remarks["no cycle"] = text

    # -- now and then ----------------------------------------------------------------------------

    def tick(self) -> None:
        """Do what is due; never anything that takes long."""
        now = time.monotonic()
        self._follow_tasks()
        if self._is_due("look", now, _LOOKS_S):
            if self._is_due("judge", now, SessionLimits.judges_s) or self._is_unusual():
                self._take(now)
            self.desk.record_slow()
            is_calm = self.desk.recorder.current is None and self.desk.incidents.open is None
            self._sampler.pace(_CALM_INTERVAL_MS if is_calm else _COUNTER_INTERVAL_MS)
        if self._is_due("second", now, 1.0):
            self._second(now)
        if self._is_due("series", now, _SERIES_S):
            self._write_series()
        if self._is_due("trim", now, _TRIMS_S):
            self._sampler.keep_from(round(1e6 * (time.time() - _COUNTERS_KEPT_S)))

    def _follow_tasks(self) -> None:
        ended = self.desk.follow(SessionLimits.settles_s)
        if ended is not None and ended.incident is None:
            self._recorded_s = ended.begun_us / 1e6
        if ended is not None and ended.is_early and self._ready is None:
            self._ready = (0, time.monotonic())
        if self._learning is not None and (answer := self._learning.answer()) is not None:
            self._learning = None
            self._learned(answer)

    def _is_due(self, name: str, now: float, every_s: float) -> bool:
        if now < self._due[name]:
            return False
        self._due[name] = now + every_s
        return True

    def _second(self, now: float) -> None:
        if self.intake.trouble:
            self.remark(self.intake.trouble)
        if not self._is_over and self._is_due("notes", now, _NOTES_S):
            self._read_notes()
        obey_commands(self.place.commands, self._obey)
        rows, self._unsaved = self._unsaved, []
        if rows:
            self.journal.add_rows(pl.concat(rows, how="diagonal"))
        self.series.close_second()
        self.series.add_counters(self._tail.read())
        if self.desk.remark:
            self.remark(self.desk.remark)
        if self._judge is not None and (
            gone := self._judge.end_silent(time.time() - SessionLimits.silent_s)
        ):
            self.desk.refresh(self._judge.open_alarms, gone)
        if not (self._is_off or self._is_over):
            self._learn_if_due(now)
            self.desk.close_if_over()
            if self._judge is not None and not self._judge.is_slow and self._learning is None:
                self.desk.record_healthy()
        self._tell(now)

    def _tell(self, now: float) -> None:
        """Say how it does to whoever wants to know."""
        status = self.status()
        self.journal.replace(STATUS_FILE, status)
        if self._server is not None:
            self._server.status = status
        if self._otel is not None:
            self._otel.show(status)
        if self.plan.summary and (self._is_over or self._is_due("summary", now, _SUMMARY_S)):
            self._summary.put(encode_json(status))

    def _write_series(self) -> None:
        alarms = [
            {"since_us": incident.since_us, "ended_us": incident.ended_us, "incident": incident.id}
            for incident in self.desk.incidents.entries
        ]
        self.journal.replace(SERIES_FILE, self.series.json(alarms))

    # -- cycles ----------------------------------------------------------------------------------

    def _is_unusual(self) -> bool:
        """Whether cycles are slow, or several of those that wait may be."""
        if self._judge is None:
            return False
        return self._judge.is_slow or self.intake.has_slow(self._slow_us, _SEVERAL)

    def _take(self, now: float) -> None:
        rows = self.intake.rows()
        self._cycles = self.intake.cycles
        if rows is None or self._is_off:
            return
        self._unsaved.append(rows)
        if self._judge is not None and not self._is_model_known:
            self._is_model_known = True
            self._check_model(rows)
        if self._judge is None:
            self.series.add(unjudged_rows(rows), rows)
            if self._ready is None and not self.desk.record_early(rows):
                self._ready = (0, now)
            if self._ready is not None:
                self._ready = (self._ready[0] + rows.height, self._ready[1])
            return
        rows, disturbed = self._undisturbed(rows)
        if disturbed.height:
            self._usual = 0
            phase = dominant_phase(self._table) or LEARNING
            self.series.add(unjudged_rows(disturbed).with_columns(phase=pl.lit(phase)), disturbed)
        if not rows.height:
            return
        judgement = self._judge.judge(rows)
        self._usual = 0 if self._judge.open_alarms else self._usual + rows.height
        self._table = judgement.table.tail(_SHOWN_ROWS)
        self._judged += judgement.table.height
        self._outside += int(judgement.table["outside"].sum())
        self._brief += judgement.brief
        expected_us = judgement.table["expected_us"].max()
        if isinstance(expected_us, float):
            self._slow_us = _SLOWER * expected_us
        self.series.add(judgement.table, rows)
        self.desk.see(judgement.table, rows)
        for alarm in judgement.raised:
            self.desk.raise_alarm(alarm)
        self.desk.refresh(self._judge.open_alarms, judgement.ended)

    def _undisturbed(self, rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Cycles that can be judged, and those that are disturbed by what is done here."""
        current, busy_us = self.desk.recorder.current, self.desk.busy_us
        starts, ends = rows["start_ts"], rows["start_ts"] + rows["duration_us"] / 1e6
        # A clock that was set back does not make cycles those of a recording long ago.
        near = (ends >= self._recorded_s) & (starts < self.desk.settled_us / 1e6)
        if PACKS_S and current is not None and current.incident is None:
            # Agents tell no cycle that the profiler slows; on few cores, whoever packs slows, too.
            in_recording = ends >= current.begun_us / 1e6
            if current.through_us is not None:
                in_recording &= starts < current.through_us / 1e6 + SessionLimits.settles_s
            near |= in_recording
        if PACKS_S and self._learning is not None:
            near |= ends >= self._learning_us / 1e6
        if busy_us is not None and self._judge is not None and not self._judge.open_alarms:
            near |= (ends >= busy_us / 1e6) & (starts < busy_us / 1e6 + PACKS_S)
        return rows.filter(~near), rows.filter(near)

    def _sources(self) -> str:
        return ", ".join(sorted({process.source for process in self.intake.processes.values()}))

    def _check_model(self, rows: pl.DataFrame) -> None:
        """Do without a model of another program: whatever it expects is wrong here."""
        if self._model is None:
            return
        model, source = self._model, self._sources()
        missing = sorted({*model.model.columns} - {*rows.columns})
        why = f"its steps have {', '.join(missing)}, which these lack" if missing else ""
        if model.source not in (*_ANY_SOURCE, source):
            why = f"its steps come from {model.source}, these from {source}"
        if why:
            self._model, self._judge, self._is_refined = None, None, False
            with suppress(OSError):
                self.place.model.unlink()
            self.remark(f"--model {self.plan.model}: does not fit, {why}; learning instead")

    # -- learning --------------------------------------------------------------------------------

    def _learn_if_due(self, now: float) -> None:
        if self._learning is not None or now < self._learns_after_s:
            return
        cycles, since = self._ready or (0, math.inf)
        more = max(
            SessionLimits.refines * self.plan.learn, self._model.cycles if self._model else 0
        )
        if self._judge is None:
            if cycles >= self.plan.learn and now - since >= self.plan.learn_s:
                self._begin_learning(cycles)
        elif not self._is_refined and self._usual >= more:
            self._begin_learning(self._usual, str(self.place.model))

    def _learns_for_s(self) -> float | None:
        """Until so many seconds from now cycles are gathered, however many there are."""
        if self._ready is None:
            return None
        return round(max(0.0, self.plan.learn_s - (time.monotonic() - self._ready[1])), 1)

    def _begin_learning(self, last: int, earlier: str = "") -> bool:
        facts = {
            "rows": [str(path) for path in self.place.rows], "last": min(last, _MAX_ROWS),
            "to": str(self.place.tasks / "model.json"), "at_least": self.plan.at_least,
            "alarms_per_hour": self.plan.alarms_per_hour, "source": self._sources(),
            "earlier": earlier, "until_s": self.intake.last_us / 1e6,
        }  # fmt: skip
        self._is_refining, self._learning_us = bool(earlier), time.time_ns() // 1000
        try:
            self._learning = WatchTask("learn", self.place.tasks, _TASK_S, learn=facts)
        except OSError as error:
            self.remark(f"learning cannot be started ({reason_of(error)})", "learning")
            self._learns_after_s = time.monotonic() + _AGAIN_S
        return self._learning is not None

    def _learned(self, answer: dict[str, Any]) -> None:
        path, more = self.place.tasks / "model.json", self._is_refining
        is_again = self._judge is not None and not more
        try:
            if "error" in answer or (more and self._judge is not None and self._judge.is_slow):
                raise TimesinkError(answer.get("error", "they are slow"))  # noqa: TRY301
            content = model_content(path)
            model = live_model_from(content, str(path))
        except (OSError, TimesinkError) as error:
            self._remarks.pop("learning", None)
            self._learns_after_s, self._usual = time.monotonic() + _AGAIN_S, 0
            stays = f"the model is unchanged, the present steps were not learned: {error}"
            none = f"not learned yet: {error}"
            self.remark(none if self._judge is None else stays, "learning")
            return
        self._remarks.pop("learning", None)
        self._is_refined = self._is_refined or more
        if is_again:
            stamp = time.strftime("%Y%m%d-%H%M%S")
            with suppress(OSError):
                self.place.model.replace(self.place.folder / f"model-{stamp}.json")
            self.desk.close_open("Its step times were accepted as normal.")
            self.desk.references.forget()
        self.journal.replace(self.place.model.name, content)
        self._use(model)
        # Cycles beside learning may have had to wait for it.
        self.desk.settled_us = time.time_ns() // 1000
        event = "accepted" if is_again else "learned"
        self.journal.event(event, cycles=model.cycles)
        self._say(learned_sentence(model, is_more=more))

    def _use(self, model: LiveModel) -> None:
        alarms = 0 if self._judge is None else self._judge.alarms
        self._model, self._judge = model, LiveJudge(model, alarms)

    # -- what others ask for, and are told ---------------------------------------------------------

    def _obey(self, what: str) -> str:
        """What is done about a request; `Refused` where it cannot apply."""
        if self._is_ending:
            raise Refused("the program has ended")
        if self._is_off:
            raise Refused("watching is off")
        if what == "off":
            self.desk.recorder.leave(self.intake.processes)
            self._is_off = True
            self.desk.close_open("Watching was switched off.")
            self._say("switched off; the program continues")
            return "Watching is off; the program continues."
        if what == "reference":
            if not self.plan.is_recording:
                raise Refused("recording is switched off (--no-record)")
            self.desk.references.forget()
            return "A new reference recording is made soon; the present ones stay until then."
        if self._learning is not None:
            raise Refused("it is learning already")
        if self._judge is None:
            raise Refused("it has not learned yet")
        if not self._begin_learning(min(self.plan.learn, _MAX_ROWS)):
            raise Refused(self._remarks["learning"])
        return "It learns from the latest steps; their times are normal from then on."

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
        model, ready, taken = self._model, self._ready or (0, 0.0), self.desk.recorder
        alarms = list(self._judge.open_alarms) if self._judge else []
        remarks = [
            *self._remarks.values(),
            *self.intake.remarks,
            *self.series.calmer_remarks(model, alarms),
        ]
        if self.journal.failed:
            remarks.append(f"{units.count_noun(self.journal.failed, 'writes')} failed")
        if self.desk.incidents.removed:
            gone = units.count_noun(self.desk.incidents.removed, "incidents")
            remarks.append(f"{gone} deleted to stay below --quota")
        learned_from = ready[0] if model is None else model.cycles
        seconds_left = self._learns_for_s() if model is None else None
        learned = LearnedJson.of_model(model, learned_from, self.plan.learn, seconds_left)
        status = StatusJson(
            schema=STATUS_SCHEMA,
            state=self.state,
            time_us=time.time_ns() // 1000,
            started_us=self._started_us,
            exit=None if self._ended is None else self._ended.json_fields,
            cycles=self._cycles,
            dropped=self.intake.dropped,
            invalid_messages=self.intake.invalid,
            outside=self._outside,
            learned=learned,
            processes=[process.json for process in self.intake.processes.values()],
            phases=self.series.phases(None if model is None else model.limits.lasting),
            durations=self.series.durations(),
            workload=self.series.workload(),
            counters=self.series.last_counters(),
            alarms=AlarmsJson(
                raised=self.desk.raised,
                brief=self._brief,
                open=alarms,
                last=self.desk.last_alarm,
            ),
            incidents=[
                incident.head for incident in self.desk.incidents.entries[-_INCIDENTS_SHOWN:]
            ],
            incidents_begun=len(self.desk.incidents.entries) + self.desk.incidents.removed,
            recorder=RecorderJson(
                on=taken.current is not None,
                last_us=taken.last_us,
                why_not=taken.why_not or None,
            ),
            own=self._cost.json(self._judged, self._cycles),
            references=[reference.json for reference in self.desk.references.taken],
            remarks=remarks,
        )
        return plain_values(status)
