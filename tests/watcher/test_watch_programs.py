"""`timesink watch` around whole programs."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import pytest

from forked_programs import host_of_programs
from recorded import needs_torch, write
from timesink.recorder.processes import is_alive

pytestmark = [pytest.mark.whole, needs_torch]
LOOP = """
import os, sys, time, torch
torch.set_num_threads(1)
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
until = time.monotonic() + float(sys.argv[1])
while time.monotonic() < until and not os.path.exists("stop"):
    model(torch.ones(4, 8)).sum().backward()
    optimizer.step()
    time.sleep(0.05 if os.path.exists("slow") else 0.01)
sys.exit(7)
"""

WATCHER = """
import sys
from timesink.cli import main
from timesink.watcher.thresholds import IncidentsLimits
# An incident is over after so many seconds without an alarm: nobody waits for ten of them.
IncidentsLimits.same_s = 2.0
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def watch(tmp_path):
    """Starts `timesink watch` around the loop, in a folder of its own."""
    program = write(tmp_path, LOOP)
    started = []

    def start(*options: str, seconds: float = 30) -> subprocess.Popen[str]:
        command = [
            *(sys.executable, "-c", WATCHER, "watch", "--counters", "none", *options),
            *("--", *host_of_programs().command(program, str(seconds))),
        ]
        process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield start
    (tmp_path / "stop").touch()
    for process in started:
        process.communicate(timeout=60)


def wait_for(folder, is_so, seconds=120):
    """The status, once something is so."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        file = folder / "timesink-watch" / "status.json"
        status = json.loads(file.read_bytes()) if file.exists() else {"state": ""}
        if is_so(status):
            return status
        time.sleep(0.1)
    pytest.fail(f"not so after {seconds} s: {status}")


def test_a_fault_while_it_runs_becomes_an_incident(watch, tmp_path):
    short = ("--learn", "100", "--learn-seconds", "1", "--gap", "1", "--at-least", "50%")
    process = watch(*short, "--cycles", "5", "--plain", "5", seconds=300)
    wait_for(tmp_path, lambda status: status["state"] == "watching" and status["references"])
    (tmp_path / "slow").touch()
    folder = tmp_path / "timesink-watch"
    reports = "incidents/*/report.html"
    wait_for(tmp_path, lambda _: any(folder.glob(reports)))
    (tmp_path / "slow").unlink()
    wait_for(tmp_path, lambda status: status["incidents"][-1]["state"] == "closed")
    (tmp_path / "stop").touch()
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 7
    assert "take" in errors
    # Others may keep the machine busy: there may be more incidents than that of the fault, and what
    # a comparison decides is no subject of this test.
    every = [
        json.loads((path.parent / "incident.json").read_bytes()) for path in folder.glob(reports)
    ]
    incident = max(every, key=lambda fact: fact["observed_us"] / fact["expected_us"])
    assert incident["observed_us"] > 1.3 * incident["expected_us"]
    assert incident["verdict"]
    assert incident["source"] == "optimizer step SGD"
    assert {"base", "new", "comment.md", "cycles.csv"} <= {*incident["files"]}
    assert not (folder / ".timesink-recording").exists()


def test_a_watcher_that_is_killed_does_not_end_the_program(watch, tmp_path):
    process = watch(seconds=20)
    status = wait_for(tmp_path, lambda status: status.get("processes"))
    pid = status["processes"][0]["pid"]
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(3)
    assert is_alive(pid)
    ask = [sys.executable, "-m", "timesink", "watch", "status"]
    output = subprocess.run(ask, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert output.startswith("The watcher has ended")
    (tmp_path / "stop").touch()
