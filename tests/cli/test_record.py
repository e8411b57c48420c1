"""`timesink record`, on real programs; those with torch run once for many questions."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from recorded import (
    SOURCES,
    TIMESINK,
    Recording,
    environment,
    made_once,
    needs_torch,
    record,
    wait_for,
)

TRAIN = """
import os, torch
from torch.utils.data import DataLoader, TensorDataset

def main():
    os.chdir("/")
    data = TensorDataset(torch.randn(300, 16), torch.randn(300, 1))
    model = torch.nn.Linear(16, 1)
    optimizer = torch.optim.AdamW(model.parameters())
    for x, y in DataLoader(data, batch_size=10, num_workers=1):
        loss = torch.nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("trained")

if __name__ == "__main__":
    main()
"""

DECODE = """
import inspect, torch

class Decoder(torch.nn.Linear):
    pass

@torch.no_grad()
def next_token(model, x, *, scale=0.5):
    with torch.profiler.record_function("pass"):
        return model(x) * scale

model, x = Decoder(8, 8), torch.randn(1, 8)
for token in range(20):
    x = next_token(model, x, scale=0.25)
    if token == 9:
        print(inspect.signature(next_token))
        raise ValueError("boom")
"""

FOREVER = """
import time, torch
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
step = 0
while True:
    model(torch.randn(2, 8)).sum().backward()
    optimizer.step()
    step += 1
    if step == 5:
        open("running", "w").close()
    time.sleep(0.01)
"""


def write(folder: Path, text: str) -> str:
    path = folder / "program.py"
    path.write_text(text)
    return str(path)


def plain(folder: Path, text: str, *options: str, env: dict[str, str] | None = None) -> Recording:
    """A recording of a program that takes no time."""
    command = [sys.executable, write(folder, text)]
    return record(folder / "run", ["--interval", "20", *options], command, env)


# -- a training loop nobody edited ---------------------------------------------------------------


@pytest.fixture(scope="module")
def training(common_cache: Path) -> Recording:
    options = ["--cycles", "6", "--skip", "4", "--interval", "20", "--with", "shapes"]

    def make(place: Path) -> Recording:
        return record(place, options, [sys.executable, write(place.parent, TRAIN)])

    return made_once(common_cache.parent / "training-recorded" / "run", make)


@needs_torch
class TestTraining:
    """Steps of the optimizer are cycles."""

    def test_folder_holds_a_recording_and_nothing_else(self, training: Recording):
        assert (training.code, training.out) == (0, "trained\n")
        assert training.files == ["counters.csv", "run.json", "trace.json.gz"]
        assert "Recorded 6 cycles (by optimizer step of AdamW)" in training.err
        assert training.err.splitlines()[-1] == f"Next: timesink analyze {training.folder}"

    def test_cycles_are_those_asked_for(self, training: Recording):
        run = training.run
        assert (run["complete"], run["why_partial"]) == (True, "")
        assert run["cycles"] == {
            "by": "optimizer step", "name": "AdamW", "asked": 6, "skipped": 4, "recorded": 6,
        }  # fmt: skip
        marks = [name for name in training.marks() if name.startswith("ProfilerStep")]
        assert marks == [f"ProfilerStep#{number}" for number in range(4, 10)]
        steps = [name for name in training.marks() if name.startswith("Optimizer.step")]
        assert len(steps) == 6

    def test_run_is_described(self, training: Recording):
        run = training.run
        assert run["schema"] == "timesink/run/1"
        assert run["command"][0] == sys.executable
        assert run["exit"] == {"code": 0, "signal": ""}
        (process,) = run["processes"]
        assert process["trace"] == "trace.json.gz"
        assert run["versions"]["torch"]
        assert run["overhead"]["cycle_us"] > 0
        assert run["overhead"]["cycle_profiled_us"] > 0
        # Secrets live there.
        assert "PATH" not in (training.folder / "run.json").read_text().replace("PATHS", "")

    def test_counters_and_timeline_share_a_clock(self, training: Recording):
        assert abs(training.run["clock"]["offset_us"]) < 1000
        with (training.folder / "counters.csv").open() as file:
            rows = list(csv.DictReader(file))
        assert list(rows[0]) == ["timestamp_us", "counter", "device", "value"]
        times_us = [int(row["timestamp_us"]) for row in rows]
        assert training.run["started_us"] <= min(times_us)
        assert max(times_us) <= training.run["ended_us"]

    def test_own_marks_are_taken_out(self, training: Recording):
        assert not [name for name in training.marks() if "timesink" in name]

    def test_timeline_is_well_formed(self, training: Recording):
        """Viewers drop calls that overlap others without lying within them."""
        spans = [event for event in training.events() if event["ph"] == "X"]
        threads = {(event["pid"], event["tid"]) for event in spans}
        for thread in threads:
            own = [event for event in spans if (event["pid"], event["tid"]) == thread]
            assert overlapping(own) == []

    def test_other_commands_read_it(self, training: Recording, run):
        for words in (["info"], ["analyze"], ["cycles"], ["compare", training.folder]):
            command, *more = words
            told = run(command, *more, training.folder)
            assert (told.code, told.err) == (0, "")
        assert "6 cycles" in run("cycles", training.folder).out

    def test_it_is_not_overwritten(self, training: Recording, decline):
        message, hint = decline("record", "-o", training.folder, "--", sys.executable, "-V")
        assert message == f"{training.folder}: already exists"
        assert "--force" in hint


def overlapping(spans: list[dict[str, object]]) -> list[object]:
    """Names of spans that begin in another and end after it, by more than rounding."""
    found, open_ends = [], []
    for span in sorted(spans, key=lambda span: (span["ts"], -float(str(span["dur"])))):
        start = float(str(span["ts"]))
        end = start + float(str(span["dur"]))
        while open_ends and open_ends[-1] <= start + 0.01:
            open_ends.pop()
        if open_ends and end > open_ends[-1] + 0.01:
            found.append(span["name"])
        open_ends.append(end)
    return found


# -- other kinds of cycles -----------------------------------------------------------------------


@needs_torch
def test_function_as_marker_in_a_program_that_fails(tmp_path: Path):
    told = record(
        tmp_path / "run",
        ["--marker", "next_token", "--skip", "2", "--counters", "none"],
        [sys.executable, write(tmp_path, DECODE)],
    )
    # The tenth call is under way when it fails: it began the eighth recorded cycle.
    assert (told.code, told.out) == (1, "(model, x, *, scale=0.5)\n")
    assert told.err.count("ValueError: boom") == 1
    assert told.files == ["run.json", "trace.json.gz"]
    run = told.run
    assert run["cycles"]["by"] == "function"
    assert run["cycles"]["recorded"] == 7
    assert run["why_partial"] == "the program ended with ValueError, after 7 of 20 cycles"
    assert (run["complete"], run["exit"]["code"]) == (False, 1)
    marks = told.marks()
    assert marks[:3] == ["ProfilerStep#2", "next_token", "pass"]
    assert marks[-3:] == ["unfinished cycle", "next_token", "pass"]
    assert "the recording is partial: the program ended with ValueError" in told.err


@needs_torch
def test_workers_and_stop(tmp_path: Path):
    """Every rank has a timeline of its own; all of them end once they are recorded."""
    program = write(tmp_path, FOREVER)
    both = tmp_path / "both.py"
    both.write_text(f"""
import os, subprocess, sys
ranks = [{{**os.environ, "RANK": str(rank), "WORLD_SIZE": "2"}} for rank in range(2)]
started = [subprocess.Popen([sys.executable, {program!r}], env=rank) for rank in ranks]
sys.exit(sum(process.wait() for process in started))
""")
    options = ["--cycles", "3", "--skip", "2", "--stop", "--counters", "cpu"]
    told = record(tmp_path / "run", options, [sys.executable, str(both)])
    assert told.code == 0
    traces = ["trace.rank0.json.gz", "trace.rank1.json.gz"]
    assert told.files == ["counters.csv", "run.json", *traces]
    assert [process["rank"] for process in told.run["processes"]] == [0, 1]
    assert [process["cycles"] for process in told.run["processes"]] == [3, 3]
    assert told.run["complete"] is True
    assert "of 2 processes" in told.err


OWN_PROFILER = """
import torch
from torch.profiler import ProfilerActivity, profile
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def step():
    model(torch.randn(2, 8)).sum().backward()
    optimizer.step()
for _ in range(6):
    step()
with profile(activities=[ProfilerActivity.CPU]) as profiler:
    step()
print(any(event.name.startswith("Optimizer.step") for event in profiler.events()))
"""


@needs_torch
def test_profiler_of_the_program_goes_first(tmp_path: Path):
    told = plain(tmp_path, OWN_PROFILER, "--skip", "2", "--counters", "none")
    assert (told.code, told.out) == (0, "True\n")
    why = "the program started torch.profiler itself, after 4 of 20 cycles"
    assert told.run["why_partial"] == why
    assert len(told.events()) > 100


BLOCK = """
import threading, torch, timesink
model = torch.nn.Linear(8, 8)
with timesink.record("run", cycles=3, skip=1, counters="cpu", interval_ms=20) as recording:
    for _ in range(6):
        model(torch.randn(2, 8))
        recording.step()
print(sorted(path.name for path in recording.path.iterdir()))
try:
    with timesink.record("broken", cycles=3, skip=0, counters="none") as recording:
        recording.step()
        model(torch.randn(2, 8))
        raise ValueError
except ValueError:
    print(recording.path.name)

def in_thread():
    recording = timesink.record("thread", cycles=9, skip=0, counters="none").__enter__()
    recording.step()
    left_open.append(recording)

left_open = []
thread = threading.Thread(target=in_thread)
thread.start()
thread.join()
left_open[0].__exit__(None, None, None)
"""


@needs_torch
def test_block_of_a_program(tmp_path: Path):
    command = [sys.executable, write(tmp_path, BLOCK)]
    out = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True,
                         check=True).stdout  # fmt: skip
    assert out.splitlines() == ["['counters.csv', 'run.json', 'trace.json.gz']", "broken"]
    whole = Recording(tmp_path / "run", 0, "", "")
    assert whole.run["complete"] is True
    assert whole.run["cycles"]["by"] == "step()"
    assert whole.marks() == ["ProfilerStep#1", "ProfilerStep#2", "ProfilerStep#3"]
    broken = Recording(tmp_path / "broken", 0, "", "")
    why = "the recorded block ended with ValueError, after 1 of 3 cycles"
    assert broken.run["why_partial"] == why
    assert broken.marks() == ["ProfilerStep#0", "unfinished cycle"]
    # Another thread cannot end it: the process would go with it.
    thread = Recording(tmp_path / "thread", 0, "", "")
    assert thread.run["why_partial"] == "the thread that was recorded ended, after 1 of 9 cycles"
    assert thread.marks() == ["ProfilerStep#0", "unfinished cycle"]


# -- endings -------------------------------------------------------------------------------------


@needs_torch
def test_interruption_keeps_what_was_recorded(tmp_path: Path):
    """Sent to the recorder alone, which passes it on."""
    command = [sys.executable, write(tmp_path, FOREVER)]
    options = ["-o", "run", "--cycles", "1000000", "--skip", "2", "--counters", "cpu"]
    process = subprocess.Popen(
        [*TIMESINK, "record", *options, "--", *command], env=environment(),
        cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    wait_for(tmp_path / "running")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    assert "timesink: stopping; what was recorded is kept" in err
    told = Recording(tmp_path / "run", 130, "", err)
    assert told.files == ["counters.csv", "run.json", "trace.json.gz"]
    assert told.run["why_partial"].startswith("the program was interrupted, after ")
    assert told.run["exit"] == {"code": None, "signal": "SIGINT"}
    assert told.run["cycles"]["recorded"] >= 2
    assert told.marks()[-1] != "ProfilerStep#2"


def test_program_without_torch(tmp_path: Path):
    told = plain(tmp_path, "import time\ntime.sleep(0.3)\nprint('here')")
    assert (told.code, told.out) == (0, "here\n")
    assert told.files == ["counters.csv", "run.json"]
    assert told.run["why_partial"] == "the program did not import torch: counters only"
    assert told.run["cycles"]["recorded"] == 0
    assert told.run["counters"]["samples"] > 0
    assert "Next:" not in told.err


def test_program_that_is_killed(tmp_path: Path):
    told = plain(tmp_path, "import os\nos.kill(os.getpid(), 9)", "--counters", "none")
    assert told.code == 137
    assert told.run["exit"] == {"code": None, "signal": "SIGKILL"}


def test_python_that_takes_nothing_from_its_environment(tmp_path: Path):
    told = record(tmp_path / "run", ["--counters", "none"], [sys.executable, "-I", "-c", "exit(3)"])
    assert told.code == 3
    assert "-I, -E or -S" in told.run["why_partial"]


def test_own_sitecustomize_is_loaded_and_ours_is_not_seen(tmp_path: Path):
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.mine = True\n")
    text = "import sys\nprint(sys.mine, [place for place in sys.path if 'record' in place])"
    env = environment(PYTHONPATH=os.pathsep.join([SOURCES, str(tmp_path)]))
    folder = tmp_path / "work"
    folder.mkdir()
    told = plain(folder, text, "--counters", "none", env=env)
    assert (told.code, told.out) == (0, "True []\n")


# -- usage ---------------------------------------------------------------------------------------


def test_folder_with_other_things_is_kept(tmp_path: Path, run):
    folder = tmp_path / "run"
    baselines = folder / ".timesink/baselines"
    baselines.mkdir(parents=True)
    for name in ("mine.txt", "trace.json.gz", "trace.rank7.json.gz"):
        (folder / name).write_text("old")
    words = ["-o", folder, "--counters", "none", "--", sys.executable, "-c", ""]
    assert run("record", *words).code == 1
    assert run("record", "--force", *words).code == 0
    assert sorted(path.name for path in folder.iterdir()) == [".timesink", "mine.txt", "run.json"]
    assert baselines.is_dir()


def test_no_program(decline, tmp_path: Path):
    message, _ = decline("record", "-o", tmp_path / "run", "--", "nosuch")
    assert message.startswith("nosuch: ")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "no program to record"),
        (["--whole", "--marker", "a", "--", "x"], "--whole and --marker"),
        (["--counters", "zork", "--", "x"], "zork"),
    ],
)
def test_wrong_combinations(decline, words: list[str], problem: str):
    assert problem in decline("record", *words, code=2)[0]


@pytest.mark.parametrize(
    "words",
    [["--cycles", "0"], ["--skip", "-1"], ["--interval", "0"], ["--with", "colour"], ["--zork"]],
)
def test_wrong_usage(run, words: list[str]):
    told = run("record", *words, "--", "x")
    assert (told.code, told.out) == (2, "")
    assert told.err.startswith("usage: timesink record")
