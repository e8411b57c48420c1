"""Watching logs of collectives that grow, without a profiler and without a program."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from collective_logs import entry, inspected, write_dumps
from timesink.formats.collective_logs import folder
from timesink.model.trace import Trace
from timesink.recorder.watch_plan import plan_of
from timesink.watcher.collective_logs import LogWatch, log_watch_status, watch_logs


class Job:
    """Four ranks that log collectives, and the watch of their logs."""

    def __init__(self, tmp_path: Path) -> None:
        self.logs, self.said, self.now_s, self._number = tmp_path / "logs", [], 0.0, 0
        self.logs.mkdir()
        plan = plan_of(tmp_path / "watch", {"learn": 100, "skip": 5})
        plan.folder.mkdir()
        self.folder, self._plan = plan.folder, plan
        self.watch = self.anew()

    def anew(self) -> LogWatch:
        return LogWatch(self._plan, self.logs, self.said.append, lambda: self.now_s)

    def run(self, many: int, us: int = 1000, late: int | None = None) -> None:
        for rank in range(4):
            waits = 0 if late in (None, rank) else 500
            lines = [
                json.dumps(inspected(rank, n, us + n % 7 + waits))
                for n in range(self._number, self._number + many)
            ]
            with (self.logs / f"node1-pid{100 + rank}.log").open("a") as stream:
                stream.write("".join(f"{line}\n" for line in lines))
        self._number += many
        self.now_s += 1.0
        self.watch.look()

    @property
    def alarms(self) -> list[str]:
        return [line for line in self.said if line.startswith("alarm")]


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


def test_equal_collectives_are_no_alarm(job: Job):
    for _ in range(12):
        job.run(50)
    assert job.said == ["learned from 145 collectives"]


def test_a_slower_operation_is_an_alarm_until_it_is_over(job: Job):
    job.run(150)
    job.run(100, us=1300)
    assert len(job.alarms) == 1
    assert "AllReduce of 1.0 MiB takes 29.9 % longer" in job.alarms[0]
    (incident,) = (job.folder / "incidents").iterdir()
    assert {file.name for file in incident.iterdir()} == {
        "incident.json", "comparison.json", "report.html",
    }  # fmt: skip
    job.run(50)
    assert job.said[-1].startswith("over: AllReduce")
    status = log_watch_status(job.folder)
    assert status.alarms[0].ended_us is not None
    events = [json.loads(line) for line in (job.folder / "alarms.jsonl").read_text().splitlines()]
    assert [event["event"] for event in events] == ["alarm", "closed"]


def test_one_window_alone_is_none(job: Job):
    job.run(150)
    job.run(50, us=1300)
    job.run(50)
    assert not job.alarms


def test_a_late_rank_is_an_alarm(job: Job):
    job.run(150)
    job.run(100, late=2)
    assert len(job.alarms) == 1
    assert "Rank 2 of 0x7f8c49 comes 500 us late" in job.alarms[0]


def test_silence_is_an_alarm(job: Job):
    job.run(150)
    with (job.logs / "node1-pid100.log").open("a") as stream:
        stream.write(json.dumps(inspected(0, 150)) + "\n")
    job.watch.look()
    job.now_s += 61
    job.watch.look()
    assert (
        "No collective was logged for 61 s. AllReduce #150 of 0x7f8c49 is not logged by ranks"
        in (job.alarms[0])
    )
    job.run(50)
    assert job.said[-1].startswith("over: No collective")


def test_a_silence_that_was_an_alarm_is_not_what_is_usual(job: Job):
    for _ in range(2):
        job.run(50)
        job.now_s += 90
        job.watch.look()
    assert len(job.alarms) == 2


def test_dumps_from_before_the_watch_and_logs_beside_dumps_are_not_read(
    job: Job, monkeypatch: pytest.MonkeyPatch
):
    calls = {rank: [entry(rank, n) for n in range(20)] for rank in range(4)}
    calls[0].append(entry(0, 20, "started"))
    write_dumps(job.logs, calls)
    watch, read = job.anew(), []
    assert job.said == ["4 dumps of the flight recorder from before the watch: not looked at"]

    def read_logs(source: str, files: Iterable[Path]) -> Trace:
        read.append({file.name for file in files})
        return folder.read_logs(source, files)

    monkeypatch.setattr("timesink.watcher.collective_logs.read_logs", read_logs)
    for _ in range(3):
        watch.look()
    assert not read
    job.run(10)
    write_dumps(job.logs, {rank: [*calls[rank], entry(rank, 21, "started")] for rank in (0, 1)})
    for _ in range(3):
        watch.look()
    assert read == [{"nccl_trace_rank_0", "nccl_trace_rank_1"}]


def test_dumps_that_appear_are_read(job: Job):
    calls = {rank: [entry(rank, n) for n in range(20)] for rank in range(4)}
    calls[0].append(entry(0, 20, "started"))
    write_dumps(job.logs, calls)
    job.watch.look()
    assert not job.alarms
    job.watch.look()  # nothing was written meanwhile
    assert "Ranks 1, 2, 3 never entered all_reduce #20" in job.alarms[0]
    calls[1].append(entry(1, 20, "started"))
    write_dumps(job.logs, calls)
    job.watch.look()
    job.watch.look()
    assert job.said[-2].startswith("over: Ranks 1, 2, 3 never entered")
    assert "Ranks 2, 3 never entered all_reduce #20" in job.alarms[1]


def test_half_a_line_waits_for_the_rest(job: Job):
    line = json.dumps(inspected(0, 0))
    file = job.logs / "node1-pid100.log"
    file.write_text(line + "\n" + line[:30])
    job.watch.look()
    with file.open("a") as stream:
        stream.write(line[30:] + "\nnot JSON\n")
    job.watch.look()
    assert log_watch_status(job.folder).lines_lost == 1


def test_a_program_is_told_where_to_log(tmp_path: Path):
    code = "import os; open(os.environ['NCCL_INSPECTOR_DUMP_DIR'] + '/x', 'w'); raise SystemExit(7)"
    plan = plan_of(tmp_path / "watch", {}, command=(sys.executable, "-c", code))
    assert watch_logs(plan, tmp_path / "logs", lambda _: None, poll_s=0.05) == 7
    assert (tmp_path / "logs" / "x").exists()
    assert log_watch_status(plan.folder).state == "ended"
