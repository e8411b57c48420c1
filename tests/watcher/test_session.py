"""What a watcher does with cycles as they come, without processes beside it."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from functools import cache
from pathlib import Path

import msgspec
import polars as pl
import pytest

from live_cycles import MadeCycles
from timesink.analyses.expected.model import learn_live
from timesink.errors import TimesinkError
from timesink.recorder.watch_plan import WatchPlan
from timesink.watcher import incident_desk, journal, program, recordings, session
from timesink.watcher.journal import WatchFolder, obey_commands
from timesink.watcher.tasks import _learn_rows


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
def watched(tmp_path, monkeypatch):
    """Begins a session with a model; gives it, what it says, and where its cycles come from."""
    for module in (session, incident_desk, recordings):
        monkeypatch.setattr(module, "WatchTask", Task)
    monkeypatch.setattr(recordings, "is_alive", lambda _: True)
    monkeypatch.setattr(session, "_SETTLES_S", -1e6)
    cycles = MadeCycles()
    model = tmp_path / "model.json"
    model.write_bytes(usual_model())
    said = []

    def begin(**options: object) -> session.WatchSession:
        plan = WatchPlan(tmp_path / "watch", model=model, skip=0, **options)
        place = WatchFolder(plan.folder)
        place.prepare()
        one = session.WatchSession(plan, cycles, said.append)
        one.begin(4711)
        return one

    return begin, cycles, said


def pass_on(one, cycles, count, times=1.0, at_once=10):
    """So many cycles, judged a few at a time."""
    for _ in range(count // at_once):
        cycles.put(at_once, times)
        one.intake.put(cycles.read(0))
        one._due = dict.fromkeys(one._due, 0.0)
        one.tick()


def told(one, name):
    return json.loads((one.place.folder / name).read_bytes())


def test_an_alarm_becomes_an_incident_and_closes(watched):
    begin, cycles, said = watched
    one = begin(gap_s=0)
    pass_on(one, cycles, 100, at_once=50)
    assert told(one, "status.json")["state"] == "watching"
    pass_on(one, cycles, 20, times=1.5)
    status = told(one, "status.json")
    assert status["state"] == "alarm"
    assert status["alarms"]["raised"] == 1
    assert any("take" in line and "longer" in line for line in said)
    pass_on(one, cycles, 100, at_once=50)
    one.end(None, lambda: False)
    (kept,) = told(one, "status.json")["incidents"]
    incident = told(one, f"{kept['folder']}/incident.json")
    assert incident["state"] == "closed"
    assert incident["observed_us"] / incident["expected_us"] > 1.2
    assert incident["lost_us"] > 50_000
    assert "Not recorded: no profiler here." in incident["remarks"]
    events = (one.place.folder / "alarms.jsonl").read_text().splitlines()
    first, second, *_, last = map(json.loads, events)
    assert (first["event"], first["incident"]) == ("alarm", kept["id"])
    assert (second["event"], second["cause"]) == ("incident", "none found")
    assert last["event"] == "closed"
    rows = pl.read_csv(one.place.folder / "cycles.csv")
    assert rows.height == 220
    assert told(one, "status.json")["state"] == "ended"


def recorded(cycles):
    """A recording that begins and ends with the cycles of now."""
    at_us = cycles.now_us
    return {"cycles": 20, "started_us": at_us - 1000, "ended_us": at_us}


def test_slow_cycles_are_no_reference_but_the_recording_of_their_incident(watched, monkeypatch):
    begin, cycles, _ = watched
    monkeypatch.setattr(Task, "records", staticmethod(lambda: None))
    one = begin(gap_s=3600)
    pass_on(one, cycles, 10)
    assert one.desk.recorder.current.incident is None
    monkeypatch.setattr(Task, "records", staticmethod(lambda: recorded(cycles)))
    pass_on(one, cycles, 20, times=1.5)
    (incident,) = one.desk.incidents.known
    assert (one.desk.references.taken, incident.recording["cycles"]) == ([], 20)
    assert (incident.folder / "new").is_dir()
    assert incident.recorded_as[1] == {"batch_size": 8.0}
    one.end(None, lambda: False)


def test_an_incident_that_has_to_wait_is_recorded_while_it_is_slow(watched, monkeypatch):
    begin, cycles, _ = watched
    monkeypatch.setattr(Task, "records", staticmethod(lambda: recorded(cycles)))
    one = begin(gap_s=3600)
    pass_on(one, cycles, 50)
    pass_on(one, cycles, 50, times=2)
    (incident,) = one.desk.incidents.known
    assert incident.wants_recording
    assert "the last recording began" in one.desk.recorder.why_not
    one.desk.recorder._begun_s -= 3600
    pass_on(one, cycles, 20, times=2)
    assert incident.recording["cycles"] == 20
    one.end(None, lambda: False)


@pytest.mark.parametrize(("comes_back", "waits"), [(True, False), (False, True)])
def test_a_workload_that_has_a_reference_is_waited_for(watched, monkeypatch, comes_back, waits):
    begin, cycles, _ = watched
    monkeypatch.setattr(Task, "records", staticmethod(lambda: recorded(cycles)))
    one = begin(gap_s=0)
    pass_on(one, cycles, 50)
    (reference,) = one.desk.references.taken
    one.desk.references.taken[0] = replace(reference, workload={"batch_size": 99.0})
    pass_on(one, cycles, 10, times=2)
    (incident,) = one.desk.incidents.known
    assert incident.waits is not None
    if comes_back:
        one.desk.references.taken[0] = reference
    pass_on(one, cycles, 20, times=2)
    assert (incident.recording is None) == waits
    if waits:
        pass_on(one, cycles, 60, times=2)
        assert incident.recording is not None
    one.end(None, lambda: False)


def test_alarms_that_come_and_go_are_one_incident(watched):
    begin, cycles, said = watched
    one = begin(is_recording=False)
    for _ in range(2):
        pass_on(one, cycles, 50, at_once=50)
        pass_on(one, cycles, 30, times=2, at_once=30)
    pass_on(one, cycles, 50, at_once=50)
    assert one.desk.raised == 2
    (incident,) = one.desk.incidents.known
    assert incident.is_open
    incident.calm_since_s = time.monotonic() - 11
    pass_on(one, cycles, 10)
    assert sum("is over" in line for line in said) == 1
    assert incident.ended_us < cycles.now_us - 500_000
    pass_on(one, cycles, 30, times=2, at_once=30)
    assert len(one.desk.incidents.known) == 2
    one.end(None, lambda: False)


def test_an_incident_is_recorded_again_where_healthy_cycles_were(watched, monkeypatch):
    begin, cycles, _ = watched
    monkeypatch.setattr(Task, "records", staticmethod(lambda: recorded(cycles)))
    one = begin(gap_s=0)
    pass_on(one, cycles, 50)
    monkeypatch.setattr(Task, "records", staticmethod(lambda: None))
    pass_on(one, cycles, 20, times=2)
    pass_on(one, cycles, 50)
    monkeypatch.setattr(Task, "records", staticmethod(lambda: recorded(cycles)))
    pass_on(one, cycles, 10)
    (incident,) = one.desk.incidents.known
    missed = incident.recording
    assert missed is not None
    pass_on(one, cycles, 50, times=2)
    assert incident.recording["started_us"] > missed["started_us"]
    assert len(one.desk.incidents.known) == 1
    one.end(None, lambda: False)


def test_series_have_one_value_per_second(watched):
    begin, cycles, _ = watched
    one = begin()
    pass_on(one, cycles, 60, at_once=20)
    series = told(one, "series.json")
    (phase,) = series["phases"].values()
    assert len({len(column) for column in phase.values()}) == 1
    assert sum(phase["cycles"]) == 60
    assert set(series["workload"]) == {"t_s", "batch_size"}
    one.end(None, lambda: False)


def test_off_ends_watching(watched):
    begin, cycles, _ = watched
    one = begin()
    pass_on(one, cycles, 50, at_once=50)
    (one.place.commands / "1.off").touch()
    pass_on(one, cycles, 10)
    pass_on(one, cycles, 50, times=3, at_once=50)
    status = told(one, "status.json")
    assert (status["state"], status["alarms"]["raised"]) == ("off", 0)
    assert json.loads((one.place.control / "4711.order").read_text())["what"] == "leave"
    one.end(None, lambda: False)


def test_beyond_the_most_incidents_alarms_are_only_counted(watched):
    begin, cycles, _ = watched
    one = begin(most_incidents=1)
    one.desk.incidents._begun_s.append(session.time.monotonic())
    pass_on(one, cycles, 50, at_once=50)
    pass_on(one, cycles, 50, times=2, at_once=50)
    status = told(one, "status.json")
    assert (status["alarms"]["raised"], status["incidents"]) == (1, [])
    assert "--most-incidents" in status["recorder"]["why_not"]
    one.end(None, lambda: False)


def test_a_full_disk_is_said_once(watched, monkeypatch):
    begin, cycles, said = watched
    one = begin()

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(journal.os, "write", full)
    pass_on(one, cycles, 60)
    assert sum("cannot be written (No space left" in line for line in said) == 1
    assert one.journal.failed >= 5
    monkeypatch.undo()
    one.end(None, lambda: False)


@pytest.mark.parametrize(
    ("notes", "why"),
    [
        ([], "no Python process loaded the agent"),
        ([{"event": "python"}], "torch was never imported"),
        ([{"event": "torch"}], "decode_step was never called"),
        ([{"event": "torch"}, {"event": "remark", "text": "a coroutine"}], ": a coroutine"),
    ],
)
def test_why_there_is_no_cycle_is_said_once(watched, notes, why):
    begin, _, said = watched
    one = begin(marker="decode_step")
    lines = "".join(json.dumps(note) + "\n" for note in notes)
    if notes:
        (one.place.control / "4711.jsonl").write_text(lines)
    one.end(None, lambda: False)
    assert sum(why in line for line in said) == 1
    assert [why in text for text in told(one, "status.json")["remarks"]] == [True]


def test_what_could_not_be_told_of_the_workload_is_counted(watched):
    begin, cycles, said = watched
    one = begin(is_recording=False)
    pass_on(one, cycles, 50, at_once=50)
    one.intake.processes[4711].failed = 12
    note = {"event": "remark", "text": "the workload of a step could not be read (KeyError: 'x')"}
    (one.place.control / "4711.jsonl").write_text(json.dumps(note) + "\n")
    one.end(None, lambda: False)
    text = "the workload of 12 of 50 steps could not be read (KeyError: 'x')"
    assert told(one, "status.json")["remarks"] == [text]
    assert said.count(text) == 1


def ask(one, what):
    """What the watcher answers to a request."""
    (one.place.commands / f"1.{what}").touch()
    obey_commands(one.place.commands, one._obey)
    return json.loads((one.place.commands / "1.answer").read_text())


def test_requests_that_cannot_be_met_are_refused(watched):
    begin, cycles, said = watched
    one = begin()
    pass_on(one, cycles, 50, at_once=50)
    assert "learns from the latest steps" in ask(one, "accept")["done"]
    assert "it is learning already" in ask(one, "accept")["refused"]
    pass_on(one, cycles, 10)
    assert "not learned from the present steps, the model stays: not asked" in said
    one._judge = None
    assert "it has not learned yet" in ask(one, "accept")["refused"]
    assert "off" in ask(one, "off")["done"]
    for what in ("off", "accept", "reference"):
        assert ask(one, what)["refused"] == "watching is off"
    one.end(None, lambda: False)


def while_recorded(watched, monkeypatch, packs_s: float):
    """A session whose healthy cycles are being recorded."""
    begin, cycles, _ = watched
    for module in (session, incident_desk):
        monkeypatch.setattr(module, "PACKS_S", packs_s)
    monkeypatch.setattr(Task, "records", staticmethod(lambda: None))
    one = begin(gap_s=3600)
    pass_on(one, cycles, 20)
    return one, cycles


def test_cycles_beside_a_recording_raise_no_alarm(watched, monkeypatch):
    one, cycles = while_recorded(watched, monkeypatch, 10.0)
    one.desk.recorder.current.begun_us = cycles.now_us
    pass_on(one, cycles, 50, times=3)
    monkeypatch.setattr(Task, "records", staticmethod(lambda: recorded(cycles)))
    monkeypatch.setattr(session, "_SETTLES_S", 10 + cycles.now_us / 1e6 - time.time())
    pass_on(one, cycles, 20, times=3)
    assert (one.desk.raised, len(one.desk.references.taken)) == (0, 1)
    pass_on(one, cycles, 200, times=3, at_once=50)
    # So slow cycles may have been recorded.
    assert (one.desk.raised, one.desk.references.taken) == (1, [])
    # Not even then is the profiler there twice within the gap: the incident waits.
    (incident,) = one.desk.incidents.known
    assert (incident.wants_recording, one.desk.recorder.current) == (True, None)
    one.end(None, lambda: False)


def test_cycles_beside_a_recording_are_judged_where_there_are_cores_enough(watched, monkeypatch):
    one, cycles = while_recorded(watched, monkeypatch, 0.0)
    assert one.desk.recorder.current.incident is None
    pass_on(one, cycles, 20, times=3)
    assert one.desk.raised == 1
    one.end(None, lambda: False)


@pytest.mark.parametrize(
    ("times", "first", "is_more"), [(1.0, 100, True), (1.0, 300, True), (1.05, 100, False)]
)
def test_more_cycles_are_learned_from_once_unless_they_are_slow(
    watched, monkeypatch, times, first, is_more
):
    begin, cycles, said = watched
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
    one = begin(learn=50, is_recording=False)
    one._is_refined = False
    one._model, last = msgspec.structs.replace(one._model, cycles=first), max(200, first)
    pass_on(one, cycles, last - 10, times, at_once=last - 10)
    assert learned == []
    pass_on(one, cycles, 10, times)
    pass_on(one, cycles, 90, times, at_once=30)
    assert [facts["last"] for facts in learned] == [last]
    assert one.desk.raised == 0
    assert any("learned once more from" in line for line in said) is is_more
    refused = "the model stays: they take 5 % longer (timesink watch accept)"
    assert any(refused in line for line in said) is not is_more
    one.end(None, lambda: False)


@pytest.mark.parametrize(
    ("source", "renamed", "why"),
    [
        ("decode_step", "batch_size", "come from decode_step, these from optimizer step SGD"),
        ("", "tokens", "have tokens, which these lack"),
    ],
)
def test_a_model_of_another_program_is_not_used(watched, tmp_path, source, renamed, why):
    begin, cycles, said = watched
    made = MadeCycles()
    made.put(300)
    lasted = [ns / 1e3 for ns in made.read(0)[0].duration_ns]
    rows = pl.DataFrame({"job_name": "1.0", "duration_us": lasted, renamed: 8.0})
    (tmp_path / "model.json").write_bytes(learn_live(rows, source=source).to_json())
    one = begin(is_recording=False)
    pass_on(one, cycles, 50, times=3, at_once=50)
    assert any(why in line and "learning instead" in line for line in said)
    assert (one.state, one.desk.raised) == ("learning", 0)
    one.end(None, lambda: False)


def test_a_clock_that_was_set_back_does_not_end_judging(watched):
    begin, cycles, _ = watched
    one = begin(is_recording=False)
    later_s = time.time() + 3600
    one._recorded_s, one.desk.settled_us = later_s, round(1e6 * (later_s + 2))
    pass_on(one, cycles, 100, times=3, at_once=50)
    assert one.desk.raised == 1
    one.end(None, lambda: False)


def test_incidents_of_an_earlier_watch_are_not_told_again(watched):
    begin, cycles, _ = watched
    one = begin(is_recording=False)
    pass_on(one, cycles, 50, at_once=50)
    pass_on(one, cycles, 50, times=2, at_once=50)
    one.end(None, lambda: False)
    events = one.place.folder / "alarms.jsonl"
    before = events.read_text()
    assert before.count('"event":"incident"') == 1
    one.desk.incidents.known[:] = program.earlier_incidents(one.place.incidents)
    one.desk.kill()
    assert events.read_text() == before


def test_a_fault_of_the_watcher_ends_watching_and_is_said(watched, monkeypatch):
    begin, cycles, said = watched
    one = begin()
    pass_on(one, cycles, 50, at_once=50)
    guarded = program._Guarded(one, said.append)
    monkeypatch.setattr(one.series, "close_second", lambda: 1 / 0)
    one._due["second"] = 0.0
    guarded()
    guarded()
    assert [line for line in said if "watching has failed" in line] == [
        "watching has failed (ZeroDivisionError: division by zero)"
    ]
    assert told(one, "status.json")["state"] == "off"
    assert json.loads((one.place.control / "4711.order").read_text())["what"] == "leave"
    guarded.end(None, lambda: False)
    assert sum("watching has failed" in line for line in said) == 1


def test_an_alarm_of_a_process_that_is_gone_is_over(watched, monkeypatch):
    begin, cycles, _ = watched
    one = begin(is_recording=False)
    pass_on(one, cycles, 50, at_once=50)
    pass_on(one, cycles, 50, times=2, at_once=50)
    assert one.state == "alarm"
    # As if its last cycle were long ago.
    monkeypatch.setattr(session, "_SILENT_S", time.time() - cycles.now_us / 1e6 - 1)
    other = MadeCycles(4712)
    pass_on(one, other, 50, at_once=50)
    assert (one.state, told(one, "status.json")["alarms"]["open"]) == ("watching", [])
    one.desk.incidents.open.calm_since_s -= 60
    pass_on(one, other, 10)
    (kept,) = told(one, "status.json")["incidents"]
    assert kept["state"] == "closed"
    one.end(None, lambda: False)


def test_secrets_of_the_command_are_not_written(watched):
    begin, _, _ = watched
    one = begin(command=("serve", "--api-key", "sk-1234567890abcdefgh"))
    assert told(one, "watch.json")["command"] == ["serve", "--api-key", "***"]
    one.end(None, lambda: False)


def test_the_quota_is_kept_without_recordings_and_cycles_are_let_go(watched):
    begin, cycles, _ = watched
    one = begin(is_recording=False, quota_bytes=1)
    for _ in range(2):
        pass_on(one, cycles, 50, at_once=50)
        pass_on(one, cycles, 50, times=2, at_once=50)
        (incident,) = one.desk.incidents.known
        assert pl.read_csv(incident.folder / "cycles.csv").height >= 50
        one.desk.close_open("")
        assert one.desk._around == []
        assert (incident.folder / "cycles.csv").exists()
    assert one.desk.incidents.removed == 1
    one.end(None, lambda: False)


def test_cycles_beside_learning_are_not_judged(watched, tmp_path):
    begin, cycles, _ = watched
    one = begin(is_recording=False)
    pass_on(one, cycles, 50, at_once=50)
    (one.place.tasks / "model.json").write_bytes((tmp_path / "model.json").read_bytes())
    one._learned({"cycles": 600})
    cycles._start_us -= 3_600_000_000
    pass_on(one, cycles, 100, times=3, at_once=50)
    assert one.desk.raised == 0
    cycles._start_us += 3_600_000_000
    pass_on(one, cycles, 100, times=3, at_once=50)
    assert one.desk.raised == 1
    one.end(None, lambda: False)


def test_what_the_workload_explains_is_told_to_the_comparison(watched, monkeypatch):
    begin, cycles, _ = watched
    asked = []

    class Asked(Task):
        def __init__(self, kind: str, *more: object, **facts: dict[str, object]) -> None:
            super().__init__(kind, *more, **facts)
            asked.extend([facts["compare"]] if kind == "compare" else [])

    monkeypatch.setattr(incident_desk, "WatchTask", Asked)
    monkeypatch.setattr(Task, "records", staticmethod(lambda: recorded(cycles)))
    one = begin(gap_s=0)
    pass_on(one, cycles, 50)
    pass_on(one, cycles, 50, times=2)
    assert set(asked[0]["explains"]) == {"workload_change", "kernel_choice"}
    assert asked[0]["slower_us"] == pytest.approx(100_000, rel=0.1)
    one.end(None, lambda: False)
