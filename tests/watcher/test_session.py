"""What a watcher does with cycles as they come, without processes beside it."""

from __future__ import annotations

import json
import time
from functools import cache
from pathlib import Path

import msgspec
import polars as pl
import pytest
from msgspec.structs import replace

from live_cycles import MadeCycles
from timesink.errors import TimesinkError
from timesink.recorder.watch_plan import WatchPlan
from timesink.watcher import incident_desk, journal, program, recordings, session
from timesink.watcher.expected.model import learn_live
from timesink.watcher.journal import WatchFolder, obey_commands
from timesink.watcher.tasks import _learn_rows
from timesink.watcher.thresholds import SessionLimits


class Task:
    """A task that has ended when it is looked at, unless recordings are said to take longer."""

    is_ready = True
    records = staticmethod(lambda: {"error": "no profiler here"})

    def __init__(self, kind: str, *_: object, **facts: dict[str, object]) -> None:
        self.kind = kind
        if kind == "record":
            Path(facts["record"]["folder"]).mkdir(parents=True)

    def answer(self):
        return Task.records() if self.kind == "record" else {"error": "not asked"}

    def end_soon(self):
        pass

    kill = end_soon


@cache
def usual_model() -> bytes:
    """What was learned of cycles as they usually are; many sessions begin with it."""
    learner = MadeCycles()
    learner.put(600)
    (batch,) = learner.read(0)
    rows = pl.DataFrame(
        {
            "job_name": "4711.0",
            "start_ts": [at / 1e6 for at in batch.start_us],
            "duration_us": [ns / 1e3 for ns in batch.duration_ns],
            "batch_size": 8.0,
        }
    )
    return learn_live(rows).to_json()


@pytest.fixture
def watch(tmp_path, monkeypatch):
    """Begins a session with a model; gives it, what it says, and where its cycles come from."""
    for module in (session, incident_desk, recordings):
        monkeypatch.setattr(module, "WatchTask", Task)
    monkeypatch.setattr(recordings, "is_alive", lambda _: True)
    monkeypatch.setattr(SessionLimits, "settles_s", -1e6)
    cycles = MadeCycles()
    model = tmp_path / "model.json"
    model.write_bytes(usual_model())
    messages = []

    def begin(**options: object) -> session.WatchSession:
        plan = WatchPlan(tmp_path / "watch", model=model, skip=0, **options)
        place = WatchFolder(plan.folder)
        place.prepare()
        watch_session = session.WatchSession(plan, cycles, messages.append)
        watch_session.begin(4711)
        return watch_session

    return begin, cycles, messages


def pass_on(watcher, cycles, count, times=1.0, at_once=10):
    """So many cycles, judged a few at a time."""
    for _ in range(count // at_once):
        cycles.put(at_once, times)
        watcher.intake.put(cycles.read(0))
        watcher._due = dict.fromkeys(watcher._due, 0.0)
        watcher.tick()


def json_of(watcher, name):
    return json.loads((watcher.place.folder / name).read_bytes())


def test_an_alarm_becomes_an_incident_and_closes(watch):
    begin, cycles, messages = watch
    watcher = begin(gap_s=0)
    pass_on(watcher, cycles, 100, at_once=50)
    assert json_of(watcher, "status.json")["state"] == "watching"
    pass_on(watcher, cycles, 20, times=1.5)
    status = json_of(watcher, "status.json")
    assert status["state"] == "alarm"
    assert status["alarms"]["raised"] == 1
    assert any("take" in line and "longer" in line for line in messages)
    pass_on(watcher, cycles, 100, at_once=50)
    watcher.end(None, lambda: False)
    (incident_row,) = json_of(watcher, "status.json")["incidents"]
    incident = json_of(watcher, f"{incident_row['folder']}/incident.json")
    assert incident["state"] == "closed"
    assert incident["observed_us"] / incident["expected_us"] > 1.2
    assert incident["lost_us"] > 50_000
    assert "Not recorded: no profiler here." in incident["remarks"]
    events = (watcher.place.folder / "alarms.jsonl").read_text().splitlines()
    first, second, *_, last = map(json.loads, events)
    assert (first["event"], first["incident"]) == ("alarm", incident_row["id"])
    assert (second["event"], second["cause"]) == ("incident", "none found")
    assert last["event"] == "closed"
    rows = pl.read_csv(watcher.place.folder / "cycles.csv")
    assert rows.height == 220
    assert json_of(watcher, "status.json")["state"] == "ended"


def recording_of(cycles):
    """A recording that begins and ends with the cycles of now."""
    at_us = cycles.now_us
    return {"cycles": 20, "started_us": at_us - 1000, "ended_us": at_us}


def test_slow_cycles_are_no_reference_but_the_recording_of_their_incident(watch, monkeypatch):
    begin, cycles, _ = watch
    monkeypatch.setattr(Task, "records", staticmethod(lambda: None))
    watcher = begin(gap_s=3600)
    pass_on(watcher, cycles, 10)
    assert watcher.desk.recorder.current.incident is None
    monkeypatch.setattr(Task, "records", staticmethod(lambda: recording_of(cycles)))
    pass_on(watcher, cycles, 20, times=1.5)
    (incident,) = watcher.desk.incidents.entries
    assert (watcher.desk.references.taken, incident.recording["cycles"]) == ([], 20)
    assert (incident.folder / "new").is_dir()
    assert incident.recorded_as[1] == {"batch_size": 8.0}
    watcher.end(None, lambda: False)


def test_an_incident_that_has_to_wait_is_recorded_while_it_is_slow(watch, monkeypatch):
    begin, cycles, _ = watch
    monkeypatch.setattr(Task, "records", staticmethod(lambda: recording_of(cycles)))
    watcher = begin(gap_s=3600)
    pass_on(watcher, cycles, 50)
    pass_on(watcher, cycles, 50, times=2)
    (incident,) = watcher.desk.incidents.entries
    assert incident.wants_recording
    assert "the last recording began" in watcher.desk.recorder.why_not
    watcher.desk.recorder._begun_s -= 3600
    pass_on(watcher, cycles, 20, times=2)
    assert incident.recording["cycles"] == 20
    watcher.end(None, lambda: False)


@pytest.mark.parametrize(("comes_back", "waits"), [(True, False), (False, True)])
def test_a_workload_that_has_a_reference_is_waited_for(watch, monkeypatch, comes_back, waits):
    begin, cycles, _ = watch
    monkeypatch.setattr(Task, "records", staticmethod(lambda: recording_of(cycles)))
    watcher = begin(gap_s=0)
    pass_on(watcher, cycles, 50)
    (reference,) = watcher.desk.references.taken
    watcher.desk.references.taken[0] = replace(reference, workload={"batch_size": 99.0})
    pass_on(watcher, cycles, 10, times=2)
    (incident,) = watcher.desk.incidents.entries
    assert incident.waits is not None
    if comes_back:
        watcher.desk.references.taken[0] = reference
    pass_on(watcher, cycles, 20, times=2)
    assert (incident.recording is None) == waits
    if waits:
        pass_on(watcher, cycles, 60, times=2)
        assert incident.recording is not None
    watcher.end(None, lambda: False)


def test_alarms_that_come_and_go_are_one_incident(watch):
    begin, cycles, messages = watch
    watcher = begin(is_recording=False)
    for _ in range(2):
        pass_on(watcher, cycles, 50, at_once=50)
        pass_on(watcher, cycles, 30, times=2, at_once=30)
    pass_on(watcher, cycles, 50, at_once=50)
    assert watcher.desk.raised == 2
    (incident,) = watcher.desk.incidents.entries
    assert incident.is_open
    incident.calm_since_s = time.monotonic() - 11
    pass_on(watcher, cycles, 10)
    assert sum("is over" in line for line in messages) == 1
    assert incident.ended_us < cycles.now_us - 500_000
    pass_on(watcher, cycles, 30, times=2, at_once=30)
    assert len(watcher.desk.incidents.entries) == 2
    watcher.end(None, lambda: False)


def test_an_incident_is_recorded_again_where_healthy_cycles_were(watch, monkeypatch):
    begin, cycles, _ = watch
    monkeypatch.setattr(Task, "records", staticmethod(lambda: recording_of(cycles)))
    watcher = begin(gap_s=0)
    pass_on(watcher, cycles, 50)
    monkeypatch.setattr(Task, "records", staticmethod(lambda: None))
    pass_on(watcher, cycles, 20, times=2)
    pass_on(watcher, cycles, 50)
    monkeypatch.setattr(Task, "records", staticmethod(lambda: recording_of(cycles)))
    pass_on(watcher, cycles, 10)
    (incident,) = watcher.desk.incidents.entries
    missed = incident.recording
    assert missed is not None
    pass_on(watcher, cycles, 50, times=2)
    assert incident.recording["started_us"] > missed["started_us"]
    assert len(watcher.desk.incidents.entries) == 1
    watcher.end(None, lambda: False)


def test_series_have_one_value_per_second(watch):
    begin, cycles, _ = watch
    watcher = begin()
    pass_on(watcher, cycles, 60, at_once=20)
    series = json_of(watcher, "series.json")
    (phase,) = series["phases"].values()
    assert len({len(column) for column in phase.values()}) == 1
    assert sum(phase["cycles"]) == 60
    assert set(series["workload"]) == {"t_s", "batch_size"}
    watcher.end(None, lambda: False)


def test_off_ends_watching(watch):
    begin, cycles, _ = watch
    watcher = begin()
    pass_on(watcher, cycles, 50, at_once=50)
    (watcher.place.commands / "1.off").touch()
    pass_on(watcher, cycles, 10)
    pass_on(watcher, cycles, 50, times=3, at_once=50)
    status = json_of(watcher, "status.json")
    assert (status["state"], status["alarms"]["raised"]) == ("off", 0)
    assert json.loads((watcher.place.control / "4711.order").read_text())["what"] == "leave"
    watcher.end(None, lambda: False)


def test_beyond_the_most_incidents_alarms_are_only_counted(watch):
    begin, cycles, _ = watch
    watcher = begin(most_incidents=1)
    watcher.desk.incidents._begun_s.append(session.time.monotonic())
    pass_on(watcher, cycles, 50, at_once=50)
    pass_on(watcher, cycles, 50, times=2, at_once=50)
    status = json_of(watcher, "status.json")
    assert (status["alarms"]["raised"], status["incidents"]) == (1, [])
    assert "--most-incidents" in status["recorder"]["why_not"]
    watcher.end(None, lambda: False)


def test_a_full_disk_is_said_once(watch, monkeypatch):
    begin, cycles, messages = watch
    watcher = begin()

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(journal.os, "write", full)
    pass_on(watcher, cycles, 60)
    assert sum("cannot be written (No space left" in line for line in messages) == 1
    assert watcher.journal.failed >= 5
    monkeypatch.undo()
    watcher.end(None, lambda: False)


@pytest.mark.parametrize(
    ("notes", "why"),
    [
        ([], "no Python process loaded the agent"),
        ([{"event": "python"}], "torch was never imported"),
        ([{"event": "torch"}], "decode_step was never called"),
        ([{"event": "torch"}, {"event": "remark", "text": "a coroutine"}], ": a coroutine"),
    ],
)
def test_why_there_is_no_cycle_is_said_once(watch, notes, why):
    begin, _, messages = watch
    watcher = begin(marker="decode_step")
    lines = "".join(json.dumps(note) + "\n" for note in notes)
    if notes:
        (watcher.place.control / "4711.jsonl").write_text(lines)
    watcher.end(None, lambda: False)
    assert sum(why in line for line in messages) == 1
    assert [why in text for text in json_of(watcher, "status.json")["remarks"]] == [True]


def test_what_could_not_be_told_of_the_workload_is_counted(watch):
    begin, cycles, messages = watch
    watcher = begin(is_recording=False)
    pass_on(watcher, cycles, 50, at_once=50)
    watcher.intake.processes[4711].failed = 12
    note = {"event": "remark", "text": "the workload of a step could not be read (KeyError: 'x')"}
    (watcher.place.control / "4711.jsonl").write_text(json.dumps(note) + "\n")
    watcher.end(None, lambda: False)
    text = "the workload of 12 of 50 steps could not be read (KeyError: 'x')"
    assert json_of(watcher, "status.json")["remarks"] == [text]
    assert messages.count(text) == 1


def ask(watcher, what):
    """What the watcher answers to a request."""
    (watcher.place.commands / f"1.{what}").touch()
    obey_commands(watcher.place.commands, watcher._obey)
    return json.loads((watcher.place.commands / "1.answer").read_text())


def test_requests_that_cannot_be_met_are_refused(watch):
    begin, cycles, messages = watch
    watcher = begin()
    pass_on(watcher, cycles, 50, at_once=50)
    assert "learns from the latest steps" in ask(watcher, "accept")["done"]
    assert "it is learning already" in ask(watcher, "accept")["refused"]
    pass_on(watcher, cycles, 10)
    assert "the model is unchanged, the present steps were not learned: not asked" in messages
    watcher._judge = None
    assert "it has not learned yet" in ask(watcher, "accept")["refused"]
    assert "off" in ask(watcher, "off")["done"]
    for what in ("off", "accept", "reference"):
        assert ask(watcher, what)["refused"] == "watching is off"
    watcher.end(None, lambda: False)


def while_recorded(watched, monkeypatch, packs_s: float):
    """A session whose healthy cycles are being recorded."""
    begin, cycles, _ = watched
    for module in (session, incident_desk):
        monkeypatch.setattr(module, "PACKS_S", packs_s)
    monkeypatch.setattr(Task, "records", staticmethod(lambda: None))
    watcher = begin(gap_s=3600)
    pass_on(watcher, cycles, 20)
    return watcher, cycles


def test_cycles_beside_a_recording_raise_no_alarm(watch, monkeypatch):
    watcher, cycles = while_recorded(watch, monkeypatch, 10.0)
    watcher.desk.recorder.current.begun_us = cycles.now_us
    pass_on(watcher, cycles, 50, times=3)
    monkeypatch.setattr(Task, "records", staticmethod(lambda: recording_of(cycles)))
    monkeypatch.setattr(SessionLimits, "settles_s", 10 + cycles.now_us / 1e6 - time.time())
    pass_on(watcher, cycles, 20, times=3)
    assert (watcher.desk.raised, len(watcher.desk.references.taken)) == (0, 1)
    pass_on(watcher, cycles, 200, times=3, at_once=50)
    # So slow cycles may have been recorded.
    assert (watcher.desk.raised, watcher.desk.references.taken) == (1, [])
    # Not even then is the profiler there twice within the gap: the incident waits.
    (incident,) = watcher.desk.incidents.entries
    assert (incident.wants_recording, watcher.desk.recorder.current) == (True, None)
    watcher.end(None, lambda: False)


def test_cycles_beside_a_recording_are_judged_where_there_are_cores_enough(watch, monkeypatch):
    watcher, cycles = while_recorded(watch, monkeypatch, 0.0)
    assert watcher.desk.recorder.current.incident is None
    pass_on(watcher, cycles, 20, times=3)
    assert watcher.desk.raised == 1
    watcher.end(None, lambda: False)


@pytest.mark.parametrize(
    ("times", "first", "is_more"), [(1.0, 100, True), (1.0, 300, True), (1.05, 100, False)]
)
def test_more_cycles_are_learned_from_once_unless_they_are_slow(
    watch, monkeypatch, times, first, is_more
):
    begin, cycles, messages = watch
    learned = []

    class Learned(Task):
        def __init__(self, kind: str, *more: object, learn: dict, **facts: dict) -> None:
            super().__init__(kind, *more, **facts)
            learned.append(learn)

        def answer(self) -> dict:
            try:
                return _learn_rows(**learned[-1])
            except TimesinkError as error:
                return {"error": error.message}

    monkeypatch.setattr(session, "WatchTask", Learned)
    watcher = begin(learn=50, is_recording=False)
    watcher._is_refined = False
    watcher._model, last = msgspec.structs.replace(watcher._model, cycles=first), max(200, first)
    pass_on(watcher, cycles, last - 10, times, at_once=last - 10)
    assert learned == []
    pass_on(watcher, cycles, 10, times)
    pass_on(watcher, cycles, 90, times, at_once=30)
    assert [facts["last"] for facts in learned] == [last]
    assert watcher.desk.raised == 0
    assert any("learned once more from" in line for line in messages) is is_more
    refused = "not learned: they take 5 % longer (timesink watch accept)"
    assert any(refused in line for line in messages) is not is_more
    watcher.end(None, lambda: False)


@pytest.mark.parametrize(
    ("source", "renamed", "why"),
    [
        ("decode_step", "batch_size", "come from decode_step, these from optimizer step SGD"),
        ("", "tokens", "have tokens, which these lack"),
    ],
)
def test_a_model_of_another_program_is_not_used(watch, tmp_path, source, renamed, why):
    begin, cycles, messages = watch
    cycles_before = MadeCycles()
    cycles_before.put(300)
    lasted = [ns / 1e3 for ns in cycles_before.read(0)[0].duration_ns]
    rows = pl.DataFrame({"job_name": "1.0", "duration_us": lasted, renamed: 8.0})
    (tmp_path / "model.json").write_bytes(learn_live(rows, source=source).to_json())
    watcher = begin(is_recording=False)
    pass_on(watcher, cycles, 50, times=3, at_once=50)
    assert any(why in line and "learning instead" in line for line in messages)
    assert (watcher.state, watcher.desk.raised) == ("learning", 0)
    watcher.end(None, lambda: False)


def test_a_clock_that_was_set_back_does_not_end_judging(watch):
    begin, cycles, _ = watch
    watcher = begin(is_recording=False)
    later_s = time.time() + 3600
    watcher._recorded_s, watcher.desk.settled_us = later_s, round(1e6 * (later_s + 2))
    pass_on(watcher, cycles, 100, times=3, at_once=50)
    assert watcher.desk.raised == 1
    watcher.end(None, lambda: False)


def test_incidents_of_an_earlier_watch_are_not_told_again(watch):
    begin, cycles, _ = watch
    watcher = begin(is_recording=False)
    pass_on(watcher, cycles, 50, at_once=50)
    pass_on(watcher, cycles, 50, times=2, at_once=50)
    watcher.end(None, lambda: False)
    events = watcher.place.folder / "alarms.jsonl"
    before = events.read_text()
    assert before.count('"event":"incident"') == 1
    watcher.desk.incidents.entries[:] = program.earlier_incidents(watcher.place.incidents)
    watcher.desk.kill()
    assert events.read_text() == before


def test_a_fault_of_the_watcher_ends_watching_and_is_said(watch, monkeypatch):
    begin, cycles, messages = watch
    watcher = begin()
    pass_on(watcher, cycles, 50, at_once=50)
    guarded = program._Guarded(watcher, messages.append)
    monkeypatch.setattr(watcher.series, "close_second", lambda: 1 / 0)
    watcher._due["second"] = 0.0
    guarded()
    guarded()
    assert [line for line in messages if "watching has failed" in line] == [
        "watching has failed (ZeroDivisionError: division by zero)"
    ]
    assert json_of(watcher, "status.json")["state"] == "off"
    assert json.loads((watcher.place.control / "4711.order").read_text())["what"] == "leave"
    guarded.end(None, lambda: False)
    assert sum("watching has failed" in line for line in messages) == 1


def test_an_alarm_of_a_process_that_is_gone_is_over(watch, monkeypatch):
    begin, cycles, _ = watch
    watcher = begin(is_recording=False)
    pass_on(watcher, cycles, 50, at_once=50)
    pass_on(watcher, cycles, 50, times=2, at_once=50)
    assert watcher.state == "alarm"
    # As if its last cycle were long ago.
    monkeypatch.setattr(SessionLimits, "silent_s", time.time() - cycles.now_us / 1e6 - 1)
    other = MadeCycles(4712)
    pass_on(watcher, other, 50, at_once=50)
    assert (watcher.state, json_of(watcher, "status.json")["alarms"]["open"]) == ("watching", [])
    watcher.desk.incidents.open.calm_since_s -= 60
    pass_on(watcher, other, 10)
    (incident_row,) = json_of(watcher, "status.json")["incidents"]
    assert incident_row["state"] == "closed"
    watcher.end(None, lambda: False)


def test_secrets_of_the_command_are_not_written(watch):
    begin, _, _ = watch
    watcher = begin(command=("serve", "--api-key", "sk-1234567890abcdefgh"))
    assert json_of(watcher, "watch.json")["command"] == ["serve", "--api-key", "***"]
    watcher.end(None, lambda: False)


def test_the_quota_is_kept_without_recordings_and_cycles_are_let_go(watch):
    begin, cycles, _ = watch
    watcher = begin(is_recording=False, quota_bytes=1)
    for _ in range(2):
        pass_on(watcher, cycles, 50, at_once=50)
        pass_on(watcher, cycles, 50, times=2, at_once=50)
        (incident,) = watcher.desk.incidents.entries
        assert pl.read_csv(incident.folder / "cycles.csv").height >= 50
        watcher.desk.close_open("")
        assert watcher.desk._around == []
        assert (incident.folder / "cycles.csv").exists()
    assert watcher.desk.incidents.removed == 1
    watcher.end(None, lambda: False)


def test_cycles_beside_learning_are_not_judged(watch, tmp_path):
    begin, cycles, _ = watch
    watcher = begin(is_recording=False)
    pass_on(watcher, cycles, 50, at_once=50)
    (watcher.place.tasks / "model.json").write_bytes((tmp_path / "model.json").read_bytes())
    watcher._learned({"cycles": 600})
    cycles._start_us -= 3_600_000_000
    pass_on(watcher, cycles, 100, times=3, at_once=50)
    assert watcher.desk.raised == 0
    cycles._start_us += 3_600_000_000
    pass_on(watcher, cycles, 100, times=3, at_once=50)
    assert watcher.desk.raised == 1
    watcher.end(None, lambda: False)


def test_what_the_workload_explains_is_told_to_the_comparison(watch, monkeypatch):
    begin, cycles, _ = watch
    comparisons = []

    class CapturedTask(Task):
        def __init__(self, kind: str, *more: object, **facts: dict[str, object]) -> None:
            super().__init__(kind, *more, **facts)
            comparisons.extend([facts["compare"]] if kind == "compare" else [])

    monkeypatch.setattr(incident_desk, "WatchTask", CapturedTask)
    monkeypatch.setattr(Task, "records", staticmethod(lambda: recording_of(cycles)))
    watcher = begin(gap_s=0)
    pass_on(watcher, cycles, 50)
    pass_on(watcher, cycles, 50, times=2)
    assert set(comparisons[0]["explains"]) == {"workload_change", "kernel_choice"}
    assert comparisons[0]["slower_us"] == pytest.approx(100_000, rel=0.1)
    watcher.end(None, lambda: False)
