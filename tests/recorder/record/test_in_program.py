"""`timesink.record` in a program."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

import timesink
from forked_programs import host_of_programs
from recorded import Recording, environment, needs_torch, plain, write
from timesink.errors import CollectError, UsageError
from timesink.recorder import in_program
from timesink.recorder import in_program as beside
from timesink.recorder import in_program as joining
from timesink.recorder.folder import RecordingFolder, RecordPlan, write_plan

pytestmark = pytest.mark.whole

BLOCKS = """
import os, threading, torch, timesink

def workers(rank):
    told = {"WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2, "RANK": rank, "LOCAL_RANK": rank}
    os.environ.update({name: str(number) for name, number in told.items()})
    options = {"plain": 0, "counters": "none", "force": True}
    with timesink.record("ranks", cycles=2, skip=1, **options) as recording:
        os.write(entered, b".") if rank else os.read(has_entered, 1)
        for _ in range(4):
            step(torch.ones(2))
            recording.step()
    for name in told:
        del os.environ[name]

def step(x):
    return x + torch.ones(2)

has_entered, entered = os.pipe()
second = os.fork()
workers(0 if second else 1)
if not second:
    os._exit(0)
os.waitpid(second, 0)

read, write = os.pipe()
child = 0
with timesink.record("fork", cycles=3, skip=1, plain=0, counters="none") as recording:
    for _ in range(3):
        step(torch.ones(2))
        recording.step()
    child = os.fork()
    if child == 0:
        # As a worker that outlives the block, and holds all that was open.
        os.close(write)
        os.read(read, 1)
        os._exit(0)
    recording.step()
os.write(write, b".")
os.waitpid(child, 0)

with timesink.record("marker", cycles=2, skip=1, plain=0, marker="step", counters="none"):
    for _ in range(5):
        step(torch.ones(2))
with timesink.record("annotation", cycles=2, skip=1, plain=0, marker="part", counters="none"):
    for number in range(5):
        with torch.profiler.record_function(f"part {number}"):
            step(torch.ones(2))
with timesink.record("whole", whole=True, counters="none"):
    step(torch.ones(2))

model = torch.nn.Linear(8, 8)
with timesink.record("run", cycles=3, skip=1, plain=0, counters="cpu", interval_ms=20) as recording:
    for _ in range(6):
        model(torch.randn(2, 8))
        recording.step()
print(sorted(path.name for path in recording.path.iterdir()))
try:
    with timesink.record("broken", cycles=3, skip=0, plain=0, counters="none") as recording:
        recording.step()
        model(torch.randn(2, 8))
        raise ValueError
except ValueError:
    print(recording.path.name)

def in_thread():
    recording = timesink.record("thread", cycles=9, skip=0, plain=0, counters="none").__enter__()
    recording.step()
    left_open.append(recording)

left_open = []
thread = threading.Thread(target=in_thread)
thread.start()
thread.join()
left_open[0].__exit__(None, None, None)
"""

OUTER = """
import timesink
with timesink.record("elsewhere", cycles=2) as recording:
    import torch
    model = torch.nn.Linear(2, 2)
    for _ in range(8):
        # One that is gone after two steps, as that of an epoch.
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            model(torch.ones(2)).sum().backward()
            optimizer.step()
        recording.step()
print(recording.path.name)
"""


def left_by_a_killed_recorder(place: RecordingFolder) -> None:
    place.prepare()
    write_plan(RecordPlan(cycles=7, by_hand=True), place.control)
    (place.control / "recorder.pid").write_text(f"{os.getpid()} long ago")


@pytest.fixture(scope="module")
def blocks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("blocks")
    left_by_a_killed_recorder(RecordingFolder(folder / "ranks"))
    command = host_of_programs().command(write(folder, BLOCKS))
    with (folder / "said").open("w") as output:
        subprocess.run(
            command, cwd=folder, env=environment(), stdout=output, check=True, timeout=300
        )
    return folder


@needs_torch
@pytest.mark.parametrize(
    ("name", "by", "cycles", "marks"),
    [
        # Left while a child still ran that had inherited all there was.
        ("fork", "step()", 3, ["ProfilerStep#1", "ProfilerStep#2", "ProfilerStep#3"]),
        ("marker", "function", 2, ["ProfilerStep#1", "step", "ProfilerStep#2", "step"]),
        ("annotation", "annotation", 2, ["ProfilerStep#1", "part 1", "ProfilerStep#2", "part 2"]),
        ("whole", "whole program", None, []),
    ],
)
def test_block(blocks: Path, name: str, by: str, cycles: int | None, marks: list[str]):
    recording = Recording(blocks / name, 0, "", "")
    assert (recording.run["complete"], recording.run["why_partial"]) == (True, "")
    assert (recording.run["cycles"]["by"], recording.run["cycles"]["recorded"]) == (by, cycles)
    assert recording.marks() == marks
    assert "aten::add" in {event["name"] for event in recording.events()}


@needs_torch
def test_workers_of_one_machine_share_a_recording(blocks: Path):
    """Also where the folder holds what a killed one left, and the second comes first."""
    recording = Recording(blocks / "ranks", 0, "", "")
    assert (recording.run["complete"], recording.run["why_partial"]) == (True, "")
    assert [(process["rank"], process["cycles"]) for process in recording.run["processes"]] == [
        (0, 2),
        (1, 2),
    ]
    assert recording.files == ["run.json", "trace.rank0.json.gz", "trace.rank1.json.gz"]


@needs_torch
def test_ends_of_blocks(blocks: Path):
    lines = (blocks / "said").read_text().splitlines()
    assert lines == ["['counters.csv', 'run.json', 'trace.json.gz']", "broken"]
    full_run = Recording(blocks / "run", 0, "", "")
    assert full_run.run["complete"] is True
    assert full_run.run["cycles"]["by"] == "step()"
    assert full_run.marks() == ["ProfilerStep#1", "ProfilerStep#2", "ProfilerStep#3"]
    broken = Recording(blocks / "broken", 0, "", "")
    why = "the recorded block ended with ValueError, after 1 of 3 steps"
    assert broken.run["why_partial"] == why
    assert broken.marks() == ["ProfilerStep#0", "unfinished cycle"]
    # Another thread cannot end it: the process would go with it.
    thread = Recording(blocks / "thread", 0, "", "")
    assert thread.run["why_partial"] == "the thread that was recorded ended, after 1 of 9 steps"
    assert thread.marks() == ["ProfilerStep#0", "unfinished cycle"]


def test_worker_joins_no_recording_whose_recorder_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    left_by_a_killed_recorder(RecordingFolder(tmp_path))
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setattr(joining, "_FIRST_WORKER_S", 0)
    with pytest.raises(CollectError, match="does not record yet"), timesink.record(tmp_path):
        pytest.fail("entered")


@needs_torch
def test_block_of_a_program_that_is_recorded(tmp_path: Path):
    """One recording, in the folder of the command line, whose cycles end with `step()`."""
    recording = plain(
        tmp_path, OUTER, "--cycles", "3", "--skip", "2", "--plain", "0", "--counters", "none"
    )
    assert (recording.code, recording.out) == (0, "run\n")
    assert recording.files == ["run.json", "trace.json.gz"]
    assert recording.run["complete"] is True
    assert recording.run["cycles"]["by"] == "step()"
    assert sum(name.startswith("Optimizer.step") for name in recording.marks()) == 6
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("interval_ms", [0, -5, 1e9])
def test_interval_is_checked_at_once(tmp_path: Path, interval_ms: float):
    with pytest.raises(UsageError, match="interval_ms is from 1 to 60000 ms"):
        timesink.record(tmp_path / "run", interval_ms=interval_ms)
    assert not (tmp_path / "run").exists()


def test_block_is_not_entered_without_the_process_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(beside, "_KEEPER", "raise SystemExit(1)")
    with pytest.raises(CollectError, match="has failed"), timesink.record(tmp_path / "run"):
        pytest.fail("entered")
    assert not (tmp_path / "run").exists()


def test_recording_that_fails_at_its_end_is_no_exception(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(beside, "_KEEPER", "import sys; print('ready', flush=True); sys.exit(1)")
    monkeypatch.setitem(sys.modules, "torch", None)
    recording = timesink.record(tmp_path / "run")
    with pytest.warns(UserWarning, match="could not be finished"), recording:
        pass
    # Nobody records there any more.
    RecordingFolder(tmp_path / "run").check(force=True)


def test_block_is_not_entered_where_its_plan_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(in_program, "write_plan", fail)
    recording = timesink.record(tmp_path / "run", counters="memory", interval_ms=5)
    with pytest.raises(OSError, match="No space left"), recording:
        pytest.fail("entered")
    assert recording._keeper is not None
    assert recording._keeper.poll() is not None
    assert not (tmp_path / "run").exists()


def test_torch_that_cannot_be_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "torch.py").write_text("raise OSError('libcudart.so: cannot open')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    with timesink.record(tmp_path / "run", counters="none") as recording:
        recording.step()
    result = Recording(recording.path, 0, "", "")
    assert result.run["why_partial"] == "OSError: libcudart.so: cannot open"
    assert result.files == ["run.json"]
