"""References, incidents' room, metrics and notices of a watcher."""

from __future__ import annotations

import http.client
import json
import re
import socketserver
import sys
import threading
import time
import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from msgspec import to_builtins

from live_cycles import MadeCycles
from timesink.errors import CollectError, UnreadableError, UsageError
from timesink.output.terminal import to_text
from timesink.recorder.cycle_channel import CycleBatch
from timesink.sources.watch_folder import STATUS_SCHEMA
from timesink.watcher import cycles, journal, notices, recordings
from timesink.watcher.cycles import (
    CycleIntake,
    WatchedSeries,
    learned_sentence,
    unjudged_rows,
)
from timesink.watcher.expected.live import LiveAlarm, LiveJudge
from timesink.watcher.expected.model import learn_live, live_model_from
from timesink.watcher.incidents import (
    Incident,
    Incidents,
    Reference,
    References,
    kind_of,
    linked_copy,
)
from timesink.watcher.journal import Journal, WatchFolder
from timesink.watcher.notices import (
    AlarmCommand,
    MetricsServer,
    SharedStatus,
    metrics_of,
    prometheus_text,
)
from timesink.watcher.status import place_document, status_document, status_of
from timesink.watcher.tasks import WatchTask, _learn_rows
from timesink.watcher.watch_json import LearnedJson


def alarm(number=1):
    return LiveAlarm(
        number=number, stream="1.0", phase="decode", rule="lasting", since_s=1e9, raised_s=1e9 + 1,
        ended_s=None, cycles=5, expected_us=1e4, observed_us=2e4, lost_us=5e4, workload={},
    )  # fmt: skip


def test_the_nearest_reference_has_the_phase_and_workload(tmp_path):
    references = References(tmp_path, 4)
    for name, phase, batch in (("a", "decode", 4.0), ("b", "decode", 64.0), ("c", "prefill", 16.0)):
        folder = tmp_path / name
        folder.mkdir()
        references.add(Reference(name, folder, phase, name, {"batch_size": batch}, 0))
    nearest = references.nearest("decode", {"batch_size": 40.0})
    assert (nearest.reference.name, nearest.remark == "") == ("b", False)
    assert references.nearest("prefill", {"batch_size": 17.0}).remark == ""
    assert "has decode steps" in references.nearest("mixed", {"batch_size": 4.0}).remark


def test_common_workloads_are_wanted_once(tmp_path):
    references = References(tmp_path, 2)
    rows = pl.DataFrame({"duration_us": [1.0] * 9, "batch_size": [8.0] * 9})
    judged = pl.DataFrame({"phase": ["decode"] * 9})
    references.see(judged, rows)
    assert references.is_wanted("decode", {"batch_size": 8.0})
    kind = references._kinds.most_common(1)[0][0]
    references.taken.append(Reference("1", tmp_path, "decode", kind, {}, 0))
    assert not references.is_wanted("decode", {"batch_size": 8.0})
    assert not references.is_wanted("decode", {"batch_size": 99.0})


def test_the_oldest_incidents_go_first_but_not_while_they_are_compared(tmp_path):
    incidents = Incidents(tmp_path / "incidents", 9, quota_bytes=1500)
    for number in (1, 2, 3):
        incident = incidents.begin(alarm(number), 0.0)
        (incident.folder / "trace").write_bytes(b"x" * 1000)
        incident.ended_us, incident.is_concluded = 1 if number < 3 else None, number == 2
    assert not incidents.make_room()
    first, last = incidents.entries
    assert (first.is_open, last.is_open) == (False, True)
    first.is_concluded = True
    assert incidents.make_room()
    assert incidents.entries == [last]
    assert incidents.removed == 2


@pytest.fixture
def _ends_soon(monkeypatch) -> None:
    """Servers look often whether they are to end."""
    monkeypatch.setattr(socketserver.BaseServer.serve_forever, "__defaults__", (0.01,))


@pytest.mark.usefixtures("_ends_soon")
def test_metrics_are_served():
    server = MetricsServer(("127.0.0.1", 0))
    server.status = {
        "state": "alarm", "cycles": 7, "phases": [
            {"phase": 'de"code', "observed_us": 2e4, "expected_us": 1e4, "limit_us": None,
             "residual_pct": 100.0}],
        "incidents": [{"ended_us": None}, {"ended_us": 7}], "incidents_begun": 5,
    }  # fmt: skip
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics") as answer:
        text = answer.read().decode()
    # A page of another site has made its name lead here.
    url = f"http://127.0.0.1:{server.port}/metrics"
    with pytest.raises(urllib.error.HTTPError, match="403") as refused:
        urllib.request.urlopen(urllib.request.Request(url, headers={"Host": "evil.example"}))
    assert refused.value.read() == b"unknown host name in the request\n"
    refused.value.close()
    server.close()
    assert text == prometheus_text(server.status)
    assert "timesink_cycles_total 7\n" in text
    assert 'timesink_cycle_seconds{phase="de\\"code"} 0.02\n' in text
    assert 'timesink_cycle_residual_ratio{phase="de\\"code"} 1\n' in text
    assert 'timesink_watch_state{state="alarm"} 1\n' in text
    assert "timesink_incidents_total 5\n" in text
    assert "timesink_incidents_open 1\n" in text


def test_dashboards_and_rules_name_metrics_there_are():
    numbers = dict.fromkeys(("observed_us", "expected_us", "limit_us", "residual_pct"), 1.0)
    status = {
        "phases": [{"phase": "decode", **numbers}], "workload": {"batch_size": 2.0},
        "durations": {"at_most_us": [1e3], "phases": {"decode": {"sum_us": 9.0, "counts": [1, 0]}}},
        "counters": {"host_cpu_usage": 3.0}, "own": {"cpu_pct": 1.0, "rss_bytes": 9},
    }  # fmt: skip
    served = {name for name, *_ in metrics_of(status)}
    for path in sorted((Path(__file__).parents[2] / "docs/grafana").iterdir()):
        named = {*re.findall(r"timesink_\w+", path.read_text())}
        assert named
        assert not named - served, path.name


def test_durations_are_a_histogram():
    """Quantiles of any time can be asked for later, and those of several hosts together."""
    series = WatchedSeries(0)
    took = [90.0, 101.0, 140.0, 150e6]
    rows = pl.DataFrame({"job_name": "1.0", "start_ts": 0.0, "duration_us": took})
    for _ in range(2):
        series.add(unjudged_rows(rows), rows)
        series.close_second()
    text = prometheus_text({"durations": to_builtins(series.durations())})
    lines = [line for line in text.splitlines() if "duration" in line]
    name, of = "timesink_cycle_duration_seconds", 'phase="learning"'
    assert lines[:3] == [
        f"# HELP {name} times of all steps", f"# TYPE {name} histogram",
        f'{name}_bucket{{{of},le="0.0001"}} 2',
    ]  # fmt: skip
    assert lines[-4:] == [
        f'{name}_bucket{{{of},le="100"}} 6', f'{name}_bucket{{{of},le="+Inf"}} 8',
        f"{name}_count{{{of}}} 8", f"{name}_sum{{{of}}} 300.000662",
    ]  # fmt: skip
    assert f'{name}_bucket{{{of},le="0.000158"}} 6' in lines


def test_the_command_of_an_alarm_gets_folder_and_facts(tmp_path):
    code = "import os,sys; open(sys.argv[1]+'/said','w').write(os.environ['TIMESINK_CAUSE'])"
    messages = []
    command = AlarmCommand((sys.executable, "-I", "-S", "-c", code), messages.append)
    command.run("alarm", tmp_path, {"cause": "$(echo no shell); x"})
    until = time.monotonic() + 10
    while not (tmp_path / "said").exists() and time.monotonic() < until:
        time.sleep(0.01)
    while command.is_running and time.monotonic() < until:
        time.sleep(0.01)
    assert (tmp_path / "said").read_text() == "$(echo no shell); x"
    AlarmCommand(("no-such-program-here",), messages.append).run("alarm", tmp_path, {})
    assert "cannot be started" in messages[0]


def test_statuses_of_many_watchers_lie_in_one_place(tmp_path):
    summary = SharedStatus(str(tmp_path / "all"), print)
    status = {"schema": STATUS_SCHEMA, "state": "alarm", "time_us": time.time_ns() // 1000}
    slow = {"cause": "a collective", "slow_rank": 3}
    summary.put(json.dumps({**status, "incidents": [slow]}).encode())
    summary.finish()
    (tmp_path / "all" / "other.json").write_text("{}")
    place = str(tmp_path / "all")
    text = to_text(place_document(place, status_of(place)))
    assert "1 watcher, 1 with an alarm. The others wait for rank 3." in text
    assert "a collective" in text


def test_references_stay_until_others_have_their_place(tmp_path):
    references = References(tmp_path, 2)
    for name, kind in (("a", "early"), ("b", "few"), ("c", "many")):
        (tmp_path / name).mkdir()
        references.taken.append(Reference(name, tmp_path / name, "", kind, {}, 0))
    references.forget()
    assert [reference.name for reference in references.taken] == ["a", "b", "c"]
    assert references.is_wanted("decode", {})
    (tmp_path / "d").mkdir()
    references.add(Reference("d", tmp_path / "d", "", "few", {}, 0))
    assert [reference.name for reference in references.taken] == ["c", "d"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c", "d"]


def test_a_watcher_answers_what_it_is_asked(tmp_path, monkeypatch):
    journal.WatchFolder(tmp_path / "w").prepare()
    monkeypatch.setattr(journal, "is_watch", lambda _: True)
    monkeypatch.setattr(journal, "_TAKEN_S", 0.05)
    place = journal.WatchFolder(tmp_path / "w").commands
    with pytest.raises(CollectError, match="does not answer"):
        journal.ask_watcher(tmp_path / "w", "off")
    assert list(place.iterdir()) == []
    monkeypatch.setattr(journal, "_TAKEN_S", 5.0)

    def refuse(_: str) -> str:
        raise journal.Refused("watching is off")

    for obey in (str.upper, refuse):
        until = threading.Timer(0.05, journal.obey_commands, (place, obey))
        until.start()
        if obey is refuse:
            with pytest.raises(CollectError, match="off is not possible: watching is off"):
                journal.ask_watcher(tmp_path / "w", "off")
        else:
            assert journal.ask_watcher(tmp_path / "w", "off") == "OFF"
        until.join()


def test_commands_of_alarms_run_in_order_and_end_with_the_watcher(tmp_path, monkeypatch):
    monkeypatch.setattr(notices, "_LAST_S", 0.1)
    monkeypatch.setattr(notices, "_ENDS_S", 0.1)
    messages, log = [], tmp_path / "log"
    code = (
        "import os, time, signal; signal.signal(15, signal.SIG_IGN); "
        "event = os.environ['TIMESINK_EVENT']; "
        f"open({str(log)!r}, 'a').write(event + ' '); "
        "event == 'closed' and time.sleep(60)"
    )
    # Without what Python loads for whoever has installed more.
    command = AlarmCommand((sys.executable, "-I", "-S", "-c", code), messages.append)
    for event in ("alarm", "incident", "closed", "alarm"):
        command.run(event, tmp_path, {})
    until = time.monotonic() + 20
    while log.exists() is False or "closed" not in log.read_text():
        command.look()
        assert time.monotonic() < until
        time.sleep(0.01)
    process = command._running[1]
    command.close()
    assert log.read_text().split() == ["alarm", "incident", "closed"]
    assert process.poll() is not None
    assert messages == ["--on-alarm: ended with the watcher, 1 more not run"]


@pytest.mark.usefixtures("_ends_soon")
def test_metrics_are_served_by_the_family_of_the_address():
    try:
        server = MetricsServer(("::1", 0))
    except UsageError:
        pytest.skip("no IPv6 here")
    asking = http.client.HTTPConnection("::1", server.port)
    asking.request("HEAD", "/metrics")
    answer = asking.getresponse()
    assert (answer.status, answer.read()) == (200, b"")
    asking.close()
    with pytest.raises(UsageError, match=r"\[::1\]") as used:
        MetricsServer(("::1", server.port))
    assert "another port" in used.value.hint
    server.close()
    with pytest.raises(UsageError) as foreign:
        MetricsServer(("192.0.2.1", 0))
    assert "address of this machine" in foreign.value.hint


@pytest.mark.parametrize(
    ("status", "headline"),
    [
        ({"state": "learning", "learned": {"cycles": 2841, "of": 150, "seconds_left": 12.2}},
         "Learning step times: 2 841 steps, 12 s left (--learn-seconds)."),
        ({"state": "ended", "exit": {"code": None, "signal": "SIGKILL"}},
         "The program ended by SIGKILL: 0 steps, no incident."),
        ({"state": "ended", "exit": {"code": 7, "signal": ""}},
         "The program ended with code 7: 0 steps, no incident."),
    ],
)  # fmt: skip
def test_how_a_program_does_in_a_sentence(status, headline):
    assert status_document({**status, "time_us": 0}, None, now_us=0).headline == headline


# However long a program runs, what is kept of it is bounded, and what is new is not lost.


@pytest.fixture
def references_folder(tmp_path):
    place = WatchFolder(tmp_path / "watch")
    place.prepare()
    return Journal(place, print)


def test_rows_are_kept_whatever_they_tell(references_folder):
    for number in range(6):
        workload = {"batch_size": 8.0} if number % 2 else {"output": 3.0, "batch_size": 8.0}
        rows = pl.DataFrame({"job_name": "1.0", "duration_us": 1.5, **workload})
        references_folder.add_rows(pl.concat([rows] * 10))
    old, new = references_folder.place.rows
    table = pl.read_csv(new)
    assert (table.height, old.exists()) == (60, False)
    assert table["output"].drop_nulls().to_list() == [3.0] * 30
    references_folder.add_rows(rows.with_columns(tokens=2.0))
    table = pl.read_csv(new)
    assert table["tokens"].to_list() == [None] * 60 + [2.0]
    assert table["output"].sum() == 90


def test_events_are_bounded(references_folder, monkeypatch):
    monkeypatch.setattr(journal, "_MAX_EVENT_BYTES", 200)
    for number in range(30):
        references_folder.event("alarm", alarm=number)
    sizes = [path.stat().st_size for path in references_folder.place.folder.glob("alarms*.jsonl")]
    assert len(sizes) == 2
    assert max(sizes) < 300
    last = (references_folder.place.folder / "alarms.jsonl").read_text().splitlines()[-1]
    assert json.loads(last)["alarm"] == 29


def test_processes_that_have_ended_count_together(monkeypatch):
    monkeypatch.setattr(cycles, "_MAX_PROCESSES", 5)
    monkeypatch.setattr(cycles, "is_alive", lambda pid: pid == 20)
    intake = CycleIntake(MadeCycles(), skip=0)
    for pid in range(1, 21):
        cycles_made = MadeCycles(pid)
        cycles_made.put(10)
        intake.put(cycles_made.read(0))
        intake.rows()
    assert len(intake.processes) <= 6
    assert intake.cycles == 200


@pytest.mark.parametrize(
    ("usual", "slow", "is_urgent"), [(4, 3, True), (4, 2, False), (300, 20, False), (300, 40, True)]
)
def test_cycles_are_judged_at_once_where_more_than_a_few_are_slow(usual, slow, is_urgent):
    """Of thousands a second some always are: judging each time takes more than all else."""
    cycles_made, intake = MadeCycles(), CycleIntake(MadeCycles(), skip=0)
    cycles_made.put(usual)
    cycles_made.put(slow, times=2)
    (batch, _) = batches = cycles_made.read(0)
    intake.put(batches)
    assert intake.has_slow(1.5 * batch.duration_ns[0] / 1000, 3) is is_urgent


def test_rows_tell_how_many_of_their_sizes_came_first():
    """Libraries choose and compile for a size when it comes first; skipped cycles had theirs."""
    workload = {
        "batch_size": [2.0, 2.0, 3.0, 3.0, 2.0], "max_output_length": [5.0, 6.0, 7.0, 8.0, 9.0],
        "forward_mode": [3.0, 2.0, 2.0, 3.0, 3.0], "tokens": [92.0, 2.0, 3.0, 93.0, 93.0],
    }  # fmt: skip
    batch = CycleBatch(7, 0, [*range(5)], [9] * 5, workload, 5, 0)
    intake = CycleIntake(MadeCycles(), skip=1)
    intake.put([batch])
    assert intake.rows()["first_sizes"].to_list() == [1.0, 1.0, 0.0, 1.0]
    intake.put([replace(batch, workload={})])
    assert "first_sizes" not in intake.rows().columns


def test_a_process_that_floods_leaves_room_for_others(monkeypatch):
    monkeypatch.setattr(cycles, "_MAX_ROWS", 100)
    cycles_made, flood = MadeCycles(), MadeCycles(pid=4712)
    intake = CycleIntake(cycles_made, skip=0)
    cycles_made.put(1)
    real = cycles_made.read(0)
    intake.put(real)
    assert intake.rows().height == 1
    for _ in range(30):
        flood.put(10)
        intake.put(flood.read(0))
        intake.put(real)
    rows = intake.rows()
    assert dict(rows["job_name"].value_counts().iter_rows()) == {"4711.0": 30, "4712.0": 50}
    assert intake.lost == 250


def test_rows_that_nobody_takes_are_counted(monkeypatch):
    monkeypatch.setattr(cycles, "_MAX_ROWS", 25)
    cycles_made, intake = MadeCycles(), CycleIntake(MadeCycles(), skip=0)
    for _ in range(4):
        cycles_made.put(10)
        intake.put(cycles_made.read(0))
    assert (intake.rows().height, intake.lost) == (20, 20)
    cycles_made.put(10)
    intake.put(cycles_made.read(0))
    assert intake.rows().height == 10


def test_notes_of_very_many_processes_go_when_they_were_read(tmp_path, monkeypatch):
    monkeypatch.setattr(recordings, "_MAX_PROCESSES", 3)
    monkeypatch.setattr(recordings, "is_alive", lambda pid: pid == 2)
    for pid in (1, 2, 3, 4):
        (tmp_path / f"{pid}.jsonl").write_text('{"event": "remark", "text": "odd"}\n')
    assert recordings.agent_remarks(recordings.notes_in(tmp_path)) == ["odd"]
    assert [path.name for path in tmp_path.iterdir()] == ["2.jsonl"]


def test_the_last_status_arrives_after_a_slow_one(tmp_path, monkeypatch):
    summary, go, sent = SharedStatus(str(tmp_path), print), threading.Event(), []
    monkeypatch.setattr(summary, "_send", lambda content: (go.wait(10), sent.append(content)))
    for content in (b"1", b"2", b"3"):
        summary.put(content)
        time.sleep(0.02)
    go.set()
    summary.finish()
    assert sent == [b"1", b"3"]


def test_the_last_task_that_failed_leaves_what_it_said(tmp_path):
    for _ in range(2):
        task = WatchTask("learn", tmp_path, 60.0, learn={"nonsense": 1})
        until = time.monotonic() + 60
        while (answer := task.answer()) is None and time.monotonic() < until:
            time.sleep(0.02)
        assert "learn: ended with code 1" in answer["error"]
    assert [path.name for path in tmp_path.iterdir()] == ["learn.log"]
    assert "nonsense" in (tmp_path / "learn.log").read_text()


def test_what_a_program_sends_at_its_end_is_taken():
    cycles_made = MadeCycles()
    intake = CycleIntake(cycles_made, skip=0)
    intake.start()
    intake._is_over = True
    time.sleep(0.02)
    cycles_made.put(10)
    intake.stop()
    assert intake.rows().height == 10


def test_files_that_are_no_status_are_let_be(tmp_path):
    (tmp_path / "gone.json").symlink_to(tmp_path / "nowhere")
    with pytest.raises(UnreadableError, match="no watch in this folder"):
        status_of(str(tmp_path))


# What is on disk is whole, and belongs to one.


def test_a_file_that_cannot_be_written_stays_as_it_was(tmp_path, monkeypatch):
    file = tmp_path / "report.html"
    journal.write_whole(file, b"before")

    def killed(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(journal.Path, "replace", killed)
    with pytest.raises(OSError, match="No space"):
        journal.write_whole(file, b"after")
    assert file.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [file]


def test_a_reference_is_never_written_through_a_link_to_it(tmp_path):
    for name in ("01", "02"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "trace").write_text(name)
        linked_copy(tmp_path / name, tmp_path / "base")
    texts = [(tmp_path / name / "trace").read_text() for name in ("01", "02", "base")]
    assert texts == ["01", "02", "02"]


def test_incidents_of_an_earlier_watcher_count_for_their_hour(tmp_path):
    incidents = Incidents(tmp_path, 2, quota_bytes=0)
    ages_s = (7200, 1800, 60)
    earlier = [
        Incident(
            str(age),
            tmp_path,
            {1: replace(alarm(), raised_s=time.time() - age)},
            ended_us=1,
        )
        for age in ages_s
    ]
    incidents.take_over(earlier)
    assert "there were 2 incidents" in incidents.why_not(time.monotonic())
    assert incidents.why_not(time.monotonic() + 1900) == ""
    assert len(incidents.entries) == 3


def test_references_are_alike_by_batch_and_what_it_holds(tmp_path):
    def sequences(batch: float, read: float, written: float) -> dict[str, float]:
        lengths = {"avg_input_length": read, "avg_output_length": written}
        return {"batch_size": batch, **lengths, "max_input_length": 9 * read}

    early, late = sequences(8.0, 600.0, 40.0), sequences(8.0, 40.0, 600.0)
    assert kind_of("decode", early) == kind_of("decode", late)
    assert kind_of("decode", early) != kind_of("decode", sequences(8.0, 6000.0, 40.0))
    references = References(tmp_path, 4)
    for name, workload in (("a", sequences(2.0, 40.0, 600.0)), ("b", early)):
        references.taken.append(Reference(name, tmp_path, "decode", name, workload, 0))
    nearest = references.nearest("decode", late)
    assert (nearest.reference.name, nearest.is_alike, nearest.factor) == ("b", True, 1.0)
    assert references.nearest("decode", sequences(8.0, 4000.0, 40.0)).column == "kv"


def test_cycles_beside_learning_are_not_learned_from(tmp_path):
    """The process that learns may begin late: what came meanwhile had to share processors."""
    start_s = [number / 100 for number in range(400)]
    took = [9000.0 + number % 7 for number in range(300)] + [50_000.0] * 100
    rows = pl.DataFrame({"job_name": "1.0", "start_ts": start_s, "duration_us": took})
    rows.write_csv(tmp_path / "cycles.csv")
    facts = {"last": 250, "earlier": "", "source": "", "alarms_per_hour": 0.1, "at_least": 0.1}
    learned, to = [str(tmp_path / "cycles.csv")], tmp_path / "model.json"
    assert _learn_rows(learned, until_s=3.0, to=str(to), **facts) == {"cycles": 250}
    table = LiveJudge(live_model_from(to.read_bytes(), "")).judge(rows.head(9)).table
    assert table["limit_us"].max() < 20_000


def test_a_restless_start_is_said_and_limits_are_those_of_alarms():
    took = 20_000 * np.exp(np.random.default_rng(0).standard_normal(600))
    start_s = time.time() - 0.01 * np.arange(600)[::-1]
    rows = pl.DataFrame({"job_name": "1.0", "start_ts": start_s, "duration_us": took})
    model = learn_live(rows)
    assert " while steps took " in learned_sentence(model, is_more=False)
    judged = LiveJudge(model).judge(rows.with_columns(duration_us=pl.lit(20_000.0))).table
    series = WatchedSeries(0)
    series.add(judged, rows)
    [remark] = series.calmer_remarks(model, [])
    assert "now they take 20.0 to 20.0 ms, so limits are too wide" in remark
    assert series.calmer_remarks(model, ["an alarm"]) == []
    [phase] = series.phases(model.limits.lasting)
    assert phase["expected_us"] < phase["lasting_us"] < phase["limit_us"]
    learned = to_builtins(LearnedJson.of_model(model, 600, 600))
    status = {"state": "watching", "time_us": 0, "learned": learned, "phases": [phase]}
    text = to_text(status_document(status, None, now_us=0))
    assert "step times while learning" in text
    assert "limit if it lasts" in text
