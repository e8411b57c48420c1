"""`timesink record`, on real programs; those with torch run once for many questions."""

from __future__ import annotations

import csv
import statistics
import sys
from pathlib import Path

import pytest

from forked_programs import host_of_programs, record_fork
from recorded import Recording, environment, made_once, needs_torch, record, write

pytestmark = pytest.mark.whole

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

# -- a training loop nobody edited ---------------------------------------------------------------


@pytest.fixture(scope="module")
def training_run(common_cache: Path) -> Recording:
    options = ["--cycles", "6", "--skip", "2", "--plain", "4", "--interval", "20"]
    options += ["--with", "shapes"]

    def make(place: Path) -> Recording:
        # Secrets live in the environment and on the command line.
        program = write(place.parent, TRAIN, as_it_is=True)
        command = [sys.executable, program, "--hf-token", "correct.horse"]
        return record(place, options, command, environment(MY_KEY="correct.horse"))

    return made_once(common_cache.parent / "training-recorded" / "run", make)


@needs_torch
class TestTraining:
    """Steps of the optimizer are cycles."""

    def test_folder_holds_a_recording_and_nothing_else(self, training_run: Recording):
        assert (training_run.code, training_run.out) == (0, "trained\n")
        assert training_run.files == ["counters.csv", "run.json", "trace.json.gz"]
        assert "Recorded 6 steps (by optimizer step AdamW)" in training_run.err
        assert training_run.err.splitlines()[-1] == f"Next: timesink analyze {training_run.folder}"

    def test_cycles_are_those_asked_for(self, training_run: Recording):
        run = training_run.run
        assert (run["complete"], run["why_partial"]) == (True, "")
        assert run["cycles"] == {
            "by": "optimizer step", "name": "AdamW", "asked": 6, "skipped": 3, "recorded": 6,
            "plain": 4,
        }  # fmt: skip
        marks = [name for name in training_run.marks() if name.startswith("ProfilerStep")]
        assert marks == [f"ProfilerStep#{number}" for number in range(7, 13)]
        steps = [name for name in training_run.marks() if name.startswith("Optimizer.step")]
        assert len(steps) == 6

    def test_run_is_described(self, training_run: Recording):
        run = training_run.run
        assert run["schema"] == "timesink/run/1"
        assert run["command"][0] == sys.executable
        assert run["exit"] == {"code": 0, "signal": ""}
        (process,) = run["processes"]
        assert process["trace"] == "trace.json.gz"
        assert run["versions"]["torch"]
        assert run["options"].items() >= {"shapes": True, "stack": False, "where": False}.items()
        overhead = run["overhead"]
        # The first cycle ends with the first step, and in the last the profiler warms up.
        assert len(overhead["plain_cycles_us"]) == len(overhead["plain_probe_us"]) == 5
        assert len(overhead["profiled_cycles_us"]) == 6
        # At most one probe in five milliseconds.
        assert all(probe_us is None or probe_us > 0 for probe_us in overhead["plain_probe_us"])
        middle_us = statistics.median(overhead["plain_cycles_us"][1:])
        assert overhead["cycle_us"] == pytest.approx(middle_us, abs=0.001)
        assert run["started_us"] < overhead["plain_started_us"] < run["ended_us"]
        assert overhead["cycle_profiled_us"] > 0
        assert "correct.horse" not in (training_run.folder / "run.json").read_text()

    def test_counters_and_timeline_share_a_clock(self, training_run: Recording):
        assert abs(training_run.run["clock"]["offset_us"]) < 1000
        with (training_run.folder / "counters.csv").open() as file:
            rows = list(csv.DictReader(file))
        assert list(rows[0]) == ["timestamp_us", "counter", "device", "value"]
        times_us = [int(row["timestamp_us"]) for row in rows]
        assert training_run.run["started_us"] <= min(times_us)
        assert max(times_us) <= training_run.run["ended_us"]

    def test_own_marks_are_taken_out(self, training_run: Recording):
        assert not [name for name in training_run.marks() if "timesink" in name]

    def test_timeline_is_well_formed(self, training_run: Recording):
        """Viewers drop calls that overlap others without lying within them."""
        spans = [event for event in training_run.events() if event["ph"] == "X"]
        threads = {(event["pid"], event["tid"]) for event in spans}
        for thread in threads:
            thread_spans = [event for event in spans if (event["pid"], event["tid"]) == thread]
            assert overlap_names(thread_spans) == []

    def test_other_commands_read_it(self, training_run: Recording, run):
        for words in (["info"], ["analyze"], ["cycles"], ["compare", training_run.folder]):
            command, *more = words
            outcome = run(command, *more, training_run.folder)
            assert (outcome.code, outcome.err) == (0, "")
        assert run("cycles", training_run.folder).out.startswith("6 steps of ")

    def test_it_is_not_overwritten(self, training_run: Recording, decline):
        message, hint = decline("record", "-o", training_run.folder, "--", sys.executable, "-V")
        assert message == f"{training_run.folder}: already exists"
        assert "--force" in hint


def overlap_names(spans: list[dict[str, object]]) -> list[object]:
    """Names of spans that begin in another and end after it, by more than rounding."""
    names, open_ends = [], []
    for span in sorted(spans, key=lambda span: (span["ts"], -float(str(span["dur"])))):
        start = float(str(span["ts"]))
        end = start + float(str(span["dur"]))
        while open_ends and open_ends[-1] <= start + 0.01:
            open_ends.pop()
        if open_ends and end > open_ends[-1] + 0.01:
            names.append(span["name"])
        open_ends.append(end)
    return names


# -- other kinds of cycles -----------------------------------------------------------------------


@needs_torch
def test_function_as_marker_in_a_program_that_fails(tmp_path: Path):
    recording = record(
        tmp_path / "run",
        ["--marker", "next_token", "--skip", "2", "--plain", "0", "--counters", "none"],
        host_of_programs().command(write(tmp_path, DECODE)),
    )
    # The tenth call is under way when it fails: it began the eighth recorded cycle.
    assert (recording.code, recording.out) == (1, "(model, x, *, scale=0.5)\n")
    assert recording.err.count("ValueError: boom") == 1
    assert recording.files == ["run.json", "trace.json.gz"]
    run = recording.run
    assert run["cycles"]["by"] == "function"
    assert run["cycles"]["recorded"] == 7
    assert run["why_partial"] == "the program ended with ValueError, after 7 of 20 steps"
    assert (run["complete"], run["exit"]["code"]) == (False, 1)
    marks = recording.marks()
    assert marks[:3] == ["ProfilerStep#2", "next_token", "pass"]
    assert marks[-3:] == ["unfinished cycle", "next_token", "pass"]
    assert "the recording is partial: the program ended with ValueError" in recording.err


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
    recording = record_fork(
        tmp_path, OWN_PROFILER, "--skip", "2", "--plain", "0", "--counters", "none"
    )
    assert (recording.code, recording.out) == (0, "True\n")
    why = "the program started torch.profiler itself, after 4 of 20 steps"
    assert recording.run["why_partial"] == why
    assert len(recording.events()) > 100


PLAIN = """
import os, time, torch
optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=0.1)
for _ in range(9):
    optimizer.step()
    time.sleep(0.001)
"""


@needs_torch
def test_plain_cycles_alone(tmp_path: Path, run, decline):
    options = ["--plain-only", "--skip", "2", "--plain", "5", "--counters", "none"]
    recording = record_fork(tmp_path, PLAIN, *options)
    assert (recording.files, recording.run["complete"]) == (["run.json"], True)
    assert recording.run["cycles"]["plain"] == 7
    assert "profiler" not in recording.err
    last_line = recording.err.splitlines()[-1]
    assert last_line.startswith("Recorded 7 unprofiled steps of ")
    assert last_line.endswith(f"(median), no timeline in {recording.folder}")
    info = " ".join(run("info", recording.folder).out.split())
    assert "7 unprofiled steps by optimizer step SGD, 2 before them skipped, complete" in info
    assert "No problems found" in info
    message, hint = decline("analyze", recording.folder)
    assert message == f"{recording.folder}: 7 unprofiled steps without a timeline"
    assert "timesink info" in hint


@needs_torch
@pytest.mark.parametrize(
    ("end", "why"),
    [
        ("os.kill(os.getpid(), 9)", "the program was killed, after 4 of 5 unprofiled steps"),
        ("os._exit(1)", "the program ended with os._exit, after 4 of 5 unprofiled steps"),
    ],
)
def test_program_that_ends_among_its_plain_cycles(tmp_path: Path, end: str, why: str):
    """What is killed has written them some time ago."""
    text = PLAIN.replace("range(9)", "range(6)").replace("0.001", "0.3 * (_ == 4)") + end
    options = ["--plain-only", "--skip", "2", "--plain", "5", "--counters", "none"]
    assert record_fork(tmp_path, text, *options).run["why_partial"] == why


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
        (["--plain-only", "--where", "--", "x"], "--plain-only and --where"),
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
    outcome = run("record", *words, "--", "x")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("usage: timesink record")
