"""`timesink.watch` and its options, and a folder that is gone on with."""

from __future__ import annotations

import os
from dataclasses import replace

import polars as pl
import pytest

import timesink
from timesink.errors import CollectError, OutputError, UsageError
from timesink.recorder.processes import birth
from timesink.recorder.watch_plan import plan_in_place, plan_of
from timesink.watcher.expected.live import LiveAlarm
from timesink.watcher.expected.model import learn_live
from timesink.watcher.incidents import Reference
from timesink.watcher.journal import WatchFolder
from timesink.watcher.program import _session

ROWS = pl.DataFrame(
    {"job_name": "1.0", "start_ts": pl.int_range(200, eager=True) / 100, "duration_us": 9e3}
)
ALARM = LiveAlarm(
    number=1, stream="1.0", phase="decode", rule="lasting", since_s=1e9, raised_s=1e9 + 1,
    ended_s=None, cycles=5, expected_us=1e4, observed_us=2e4, lost_us=5e4, workload={},
)  # fmt: skip


def test_options_of_the_command_are_arguments_in_python(tmp_path):
    plan = timesink.watch(
        tmp_path, learn_seconds=2, gap=5, quota="1M", false_alarms=1, workload="mine:told",
        no_record=True, on_alarm="true 'a b'", metrics=9400, counters="none",
    )._plan  # fmt: skip
    assert (plan.learn_s, plan.gap_s, plan.quota_bytes, plan.is_recording) == (2, 5, 1 << 20, False)
    assert (plan.alarms_per_hour, plan.extractor, plan.counters) == (1, "mine:told", frozenset())
    assert (plan.on_alarm, plan.metrics) == (("true", "a b"), ("127.0.0.1", 9400))


@pytest.mark.parametrize(
    "options",
    [{"learn": -1}, {"learn": "many"}, {"preset": "foo"}, {"gap": None, "speed": 1}, {"span": 3}],
)
def test_what_cannot_be_meant_is_one_error_in_python(tmp_path, options):
    with pytest.raises(UsageError):
        timesink.watch(tmp_path / "w", **options)


def test_what_the_process_beside_refuses_is_raised(tmp_path, capfd):
    (tmp_path / "model.json").write_text("{}")
    watched = timesink.watch(tmp_path / "w", model=tmp_path / "model.json", counters="none")
    with pytest.raises(CollectError, match="not a model"):
        watched.__enter__()
    assert "Traceback" not in capfd.readouterr().err


def test_a_folder_is_gone_on_with(tmp_path):
    """What was learned and found by a watcher that was killed is there for the next one."""
    plan = plan_of(tmp_path / "w", {"counters": "none"}, command=("true",))
    place = WatchFolder(plan.folder)
    messages = []
    with _session(plan_in_place(plan, force=False), messages.append) as session_:
        session_.begin(1)
        place.model.write_bytes(learn_live(ROWS).to_json())
        open_incident = session_.desk.incidents.begin(ALARM, 0.0)
        session_.journal.replace(f"incidents/{open_incident.id}/incident.json", open_incident.json)
        healthy = Reference("01", place.references / "01", "decode", "", {"batch_size": 8.0}, 5)
        healthy.folder.mkdir()
        session_.desk.references.add(healthy)
    again = plan_in_place(plan, force=False)
    assert again.model == place.model
    with _session(again, messages.append) as session_:
        assert session_.state == "watching"
        assert [reference.name for reference in session_.desk.references.taken] == ["01"]
        [incident] = session_.status()["incidents"]
        assert (incident["id"], incident["state"]) == (open_incident.id, "closed")
        with pytest.raises(OutputError, match="is recording there"):
            plan_in_place(plan, force=False)
    assert messages == ["using the model in this folder (--force starts again)"]
    other = plan_in_place(replace(plan, command=("false",)), force=False)
    with _session(other, messages.append) as session_:
        assert session_.state == "waiting"
        assert (open_incident.folder / "incident.json").exists()
    assert "another command" in messages[-1]
    assert plan_in_place(plan, force=True).before == ""


def test_the_end_of_a_watcher_leaves_another_one_alone(tmp_path):
    """Its folder was deleted meanwhile, and another one watches there."""
    plan = plan_of(tmp_path / "w", {"counters": "none"}, command=("true",))
    control, other = WatchFolder(plan.folder).control, os.getppid()
    with _session(plan_in_place(plan, force=False), [].append):
        (control / "recorder.pid").write_text(f"{other} {birth(other)}")
    assert control.exists()
