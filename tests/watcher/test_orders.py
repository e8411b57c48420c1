"""What the watcher asks of agents, and what becomes of it where they cannot."""

from __future__ import annotations

import json
import os
from types import SimpleNamespace

import pytest

from timesink.recorder.folder import Notebook, RecordingFolder
from timesink.recorder.watch_plan import WatchPlan
from timesink.watcher import recordings, tasks
from timesink.watcher.recordings import Recorder


class Waiting:
    """A task that waits for agents until it is to end."""

    is_ready = True

    def __init__(self, *_: object, **__: object) -> None:
        self.is_to_end = False

    def end_soon(self) -> None:
        self.is_to_end = True

    def answer(self):
        return {"error": "the watcher ended"} if self.is_to_end else None


@pytest.fixture
def begin_recorder(tmp_path, monkeypatch):
    """Begins the recording of some processes."""
    monkeypatch.setattr(recordings, "WatchTask", Waiting)
    monkeypatch.setattr(recordings, "_NOTES_S", 0.0)
    monkeypatch.setattr(recordings, "is_alive", lambda _: True)
    control = tmp_path / "control"
    control.mkdir()

    def begin(*pids: int, **plan: object) -> Recorder:
        recorder = Recorder(WatchPlan(tmp_path, **plan), control, tmp_path)
        watched = [SimpleNamespace(pid=pid, last_us=2e18, cycles=5) for pid in pids]
        recorder.begin(tmp_path / "new", watched, phase="decode", workload={}, cycle_us=1e4)
        return recorder

    return begin


def note(recorder: Recorder, pid: int, **facts: object) -> None:
    with (recorder.control / f"{pid}.jsonl").open("a") as file:
        file.write(json.dumps({"event": "order", **facts}) + "\n")


@pytest.mark.parametrize(("plain", "seconds"), [(10, 2.0), (0, 0.0)])
def test_cycles_without_the_profiler_last_for_slow_samplers(begin_recorder, plain, seconds):
    recorder = begin_recorder(1, plain=plain)
    recorder.look({})
    order = json.loads((recorder.control / "1.order").read_text())
    assert (order["plain"], order["plain_s"], order["id"]) == (plain, seconds, 1)


def test_an_agent_that_could_not_begin_is_not_waited_for(begin_recorder):
    recorder = begin_recorder(1, 2)
    assert recorder.look({}) is None
    note(recorder, 1, id=1, state="failed", why="OSError: no room")
    note(recorder, 2, id=1, state="begun")
    assert recorder.look({}) is None
    assert not recorder.current.task.is_to_end
    note(recorder, 2, id=1, state="ended")
    _, answer = recorder.look({})
    assert answer["error"] == recorder.why_not == "OSError: no room"
    assert list(recorder.control.glob("*.order")) == []


def test_orders_that_cannot_be_written_end_the_recording(begin_recorder):
    recorder = begin_recorder(1)
    recorder.control.rmdir()
    _, answer = recorder.look({})
    assert answer["error"] == "process 1 could not be asked (No such file or directory)"
    assert recorder.why_not == answer["error"]


def test_an_order_to_leave_is_the_last_one(begin_recorder):
    recorder = begin_recorder(1)
    recorder.look({})
    recorder.leave([1])
    note(recorder, 1, id=1, state="ended", workload={"batch_size": 4.0})
    recorder.current.task.end_soon()
    recording, _ = recorder.look({})
    assert recording.workload == {"batch_size": 4.0}
    assert json.loads((recorder.control / "1.order").read_text())["what"] == "leave"


def test_nobody_is_asked_to_record_after_leaving(begin_recorder):
    recorder = begin_recorder(1)
    recorder.leave([1])
    assert recorder.look({}) is not None
    assert json.loads((recorder.control / "1.order").read_text())["what"] == "leave"


def test_why_an_agent_failed_is_why_nothing_was_recorded(tmp_path, monkeypatch):
    monkeypatch.setattr(tasks, "be_nice", lambda: None)
    place = RecordingFolder(tmp_path / "new")
    facts = {
        "folder": str(place.folder), "pids": [os.getpid()], "cycles": 2, "plain": 0, "marker": "",
        "extras": [], "counters": [], "command": [], "timesink": "", "patience_s": 60.0,
        "is_healthy": False,
    }  # fmt: skip
    files = SimpleNamespace(
        facts={"record": facts},
        say_ready=lambda: Notebook(place.control).add("failed", why="the profiler is in use"),
    )
    answer = tasks.record_cycles(files)
    assert answer == {"error": "the profiler is in use"}
    assert not place.folder.exists()
