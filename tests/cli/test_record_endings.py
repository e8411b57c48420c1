"""`timesink record`, and the ways programs end and folders get lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from forked_programs import host_of_programs
from recorded import (
    FOREVER,
    SOURCES,
    TIMESINK,
    Recording,
    environment,
    needs_torch,
    plain,
    record,
    wait_for,
    write,
)
from timesink.recorder.processes import is_alive

pytestmark = pytest.mark.whole

STUBBORN = """
import os, signal, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
with open("pid", "w") as file:
    file.write(str(os.getpid()))
open("running", "w").close()
while True:
    time.sleep(0.1)
"""

KILLED_IN_ITS_BLOCK = """
import os, time, torch, timesink
with timesink.record("run", cycles=9, skip=1, plain=0, counters="cpu", interval_ms=20) as recording:
    for _ in range(4):
        recording.step()
        time.sleep(0.1)
    os.kill(os.getpid(), 9)
"""


def start_recording(folder: Path, text: str, *options: str) -> subprocess.Popen[str]:
    """A recording under way."""
    command = [*TIMESINK, "record", "-o", "run", *options, "--", sys.executable]
    process = subprocess.Popen(
        [*command, write(folder, text)], env=environment(),
        cwd=folder, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    wait_for(folder / "running")
    return process


@needs_torch
def test_interruption_keeps_what_was_recorded(tmp_path: Path):
    """Sent to the recorder alone, which passes it on."""
    process = start_recording(
        tmp_path, FOREVER, "--cycles", "1000000", "--skip", "2", "--plain", "0", "--counters", "cpu"
    )
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    assert "timesink: stopping; what was recorded is kept" in err
    recording = Recording(tmp_path / "run", 130, "", err)
    assert recording.files == ["counters.csv", "run.json", "trace.json.gz"]
    assert recording.run["why_partial"].startswith("the program was interrupted, after ")
    assert recording.run["exit"] == {"code": None, "signal": "SIGINT"}
    assert recording.run["cycles"]["recorded"] >= 2
    assert recording.marks()[-1] != "ProfilerStep#2"


def test_program_without_torch(tmp_path: Path):
    recording = plain(tmp_path, "import time\ntime.sleep(0.3)\nprint('here')")
    assert (recording.code, recording.out) == (0, "here\n")
    assert recording.files == ["counters.csv", "run.json"]
    assert (recording.run["complete"], recording.run["cycles"]["recorded"]) == (True, 0)
    assert "timesink: the program did not import torch: counters only\n" in recording.err
    assert recording.run["counters"]["samples"] > 0
    assert "Next:" not in recording.err


def test_program_that_is_killed(tmp_path: Path):
    recording = plain(tmp_path, "import os\nos.kill(os.getpid(), 9)", "--counters", "none")
    assert recording.code == 137
    assert recording.run["exit"] == {"code": None, "signal": "SIGKILL"}


def test_python_that_takes_nothing_from_its_environment(tmp_path: Path):
    recording = record(
        tmp_path / "run", ["--counters", "none"], [sys.executable, "-I", "-c", "exit(3)"]
    )
    assert recording.code == 3
    assert "-I, -E or -S" in recording.run["why_partial"]
    assert "PYTHONPATH was replaced" in recording.run["why_partial"]


def test_own_sitecustomize_is_loaded_and_ours_is_not_seen(tmp_path: Path):
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.mine = True\n")
    text = "import sys\nprint(sys.mine, [place for place in sys.path if 'record' in place])"
    env = environment(PYTHONPATH=os.pathsep.join([SOURCES, str(tmp_path)]))
    folder = tmp_path / "work"
    folder.mkdir()
    recording = plain(folder, text, "--counters", "none", env=env)
    assert (recording.code, recording.out) == (0, "True []\n")


def test_second_ctrl_c_stops_at_once(tmp_path: Path):
    process = start_recording(tmp_path, STUBBORN, "--counters", "none")
    program = int((tmp_path / "pid").read_text())
    while is_alive(program):
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(1)
    _, err = process.communicate()
    assert process.returncode == 137
    assert err.count("stopping; what was recorded is kept (once more: stop at once)") == 1
    recording = Recording(tmp_path / "run", 137, "", err)
    assert recording.files == ["run.json"]
    assert recording.run["exit"] == {"code": None, "signal": "SIGKILL"}


@needs_torch
def test_keeper_whose_program_is_killed(tmp_path: Path):
    """Nobody ends the block: the process beside it does."""
    command = host_of_programs().command(write(tmp_path, KILLED_IN_ITS_BLOCK))
    ended = subprocess.run(command, cwd=tmp_path, env=environment(), check=False)
    assert ended.returncode == -signal.SIGKILL
    wait_for(tmp_path / "run/run.json")
    recording = Recording(tmp_path / "run", 137, "", "")
    why = "the program was killed before its recording was written"
    assert (recording.run["complete"], recording.run["why_partial"]) == (False, why)
    assert recording.run["counters"]["samples"] > 0


def test_folder_that_the_program_removes(tmp_path: Path):
    recording = plain(tmp_path, "import shutil\nshutil.rmtree('run')", "--counters", "memory")
    assert recording.code == 1
    assert f"{tmp_path}/run/run.json: cannot be written" in recording.err
    assert "Traceback" not in recording.err
